"""PeGS and PeGS.rs: rows drawn one variable after the other from counts with a prior (Park and Ghosh 2014).

    sf.PeGS(epsilon=2.0).fit(table).sample(5_000)        # epsilon 2 for all rows together: alpha follows
    sf.PeGS(epsilon=2.0, block=10)                       # PeGS.rs, Eq. (9): blocks of ten rows with resets
    sf.PeGS(epsilon_per_row=0.1)                         # Eq. (8): for each row; the total grows with them
    sf.PeGS(log_l=0.5)                                   # l-diverse laws instead

Epsilon is spent on every row, so n rows cost n times epsilon_per_row: the guarantee states the total. A
method that noises the counts once is the better choice for more than a few rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any

from numpy.typing import NDArray

from sfumato.errors import ParameterError, listed
from sfumato.methods.declaration import Declaration, Does, Need, Spending, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import Either, Flag, ListOf, Number, TableOf, Text
from sfumato.privacy import Neighbours
from sfumato.privacy.rounding import exact, up
from sfumato.schema import Kind
from sfumato.synthesis import checks
from sfumato.synthesis.blocks import Blocks
from sfumato.synthesis.constraints import Constraint
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.fitted_pegs import FittedPeGS
from sfumato.synthesis.joint_columns import joined
from sfumato.synthesis.marginals import noised_marginals
from sfumato.synthesis.models import FAMILIES, check, learn
from sfumato.synthesis.parameters import (
    COLUMNS,
    CONSTRAINTS,
    DOMAIN,
    EPSILON,
    EPSILON_PER_ROW,
    NEIGHBOURS,
    WEIGHT,
    amount,
    count,
)
from sfumato.synthesis.parents import of_variables
from sfumato.synthesis.sampler import pool_codes
from sfumato.table import Table

_MOST_SMOOTHED = 4096
_ORDERED = (Kind.ORDINAL, Kind.NUMERIC, Kind.DATE)


_OF_EPSILON = "by default a tenth of epsilon, or what a row costs"


@declares(
    Declaration(
        "pegs",
        Does.SYNTHESIZE,
        "The perturbed Gibbs sampler: drawing a row is its noise.",
        page="pegs.md",
        claims=("PureDP", "ApproxDP", "DiverseLaw", "NoGuarantee"),
        needs=(Need.PUBLIC_DOMAIN, Need.KEY),
        grid=(
            {"epsilon_per_row": 1.0, "parents": "auto"},
            {"alpha": 0.1, "parents": "auto", "choose": "data"},
        ),
    )
)
@dataclass(frozen=True, eq=False)
class PeGS:
    """The perturbed Gibbs sampler. One of epsilon, epsilon_per_row, alpha and log_l says how much.

    >>> people = sf.samples.members(300).select(["sex", "region", "diabetes"])
    >>> release = sf.synthesize(people, sf.PeGS(epsilon=5.0, parents=1), rows=20)
    >>> release.guarantee.claims[0].title
    'differential privacy with epsilon = 5'
    """

    epsilon: Annotated[float | None, EPSILON] = None
    epsilon_per_row: Annotated[float | None, EPSILON_PER_ROW] = None
    alpha: Annotated[float | None, Parameter(Number("The prior itself; 0 for none.", 0, 1e9))] = None
    log_l: Annotated[
        float | None,
        Parameter(Number("The entropy that every law is lifted to, instead of a promise of epsilon.", 0)),
    ] = None
    cap: Annotated[
        bool, Parameter(Flag("Columns with too few levels for log_l are drawn evenly, instead of refused."))
    ] = False
    parents: Annotated[
        Mapping[str, Sequence[str]] | int | str,
        Parameter(
            Either(
                (Number("", 0, 8, whole=True), Text("", ("auto",)), TableOf(ListOf(Text()))),
                "a whole number up to 8, 'auto', or a table of columns and their parents",
                "The columns each is drawn given: how many to choose, 'auto' for as many as leave thirty "
                "rows a cell, or a table of columns and their parents.",
            ),
            beginner=True,
        ),
    ] = 2
    choose: Annotated[
        str,
        Parameter(
            Text(
                "How parents are chosen: 'privately', for parents_epsilon; or by the 'data', as in the "
                "paper, which is not differentially private.",
                ("privately", "data"),
            )
        ),
    ] = "privately"
    parents_epsilon: Annotated[
        float | None, amount(f"The part of epsilon that chooses parents; {_OF_EPSILON}.")
    ] = None
    declared_rows: Annotated[
        int | None,
        count("The number of rows of the data, if it is public: for parents = 'auto'; otherwise noised.", 1),
    ] = None
    block: Annotated[int | None, count("Rows drawn from one seed with resets (PeGS.rs).", 1)] = None
    sweeps: Annotated[int, count("Sweeps over all columns for each released row.", 1)] = 1
    seeds: Annotated[
        str | Table,
        Parameter(
            Text(
                "Where a row starts: 'uniform'; 'data', which is not differentially private; in Python also "
                "a table that is public.",
                ("uniform", "data"),
            )
        ),
    ] = "uniform"
    prior: Annotated[
        str,
        Parameter(
            Text(
                "'uniform', or 'marginal': in proportion to marginals noised for prior_epsilon.",
                ("uniform", "marginal"),
            )
        ),
    ] = "uniform"
    prior_epsilon: Annotated[
        float | None, amount(f"The part of epsilon that noises the marginals of the prior; {_OF_EPSILON}.")
    ] = None
    prior_floor: Annotated[
        float, Parameter(Number("The share of a marginal prior that is even.", 0.01, 1))
    ] = 0.5
    smoothing: Annotated[
        int,
        Parameter(
            Number(
                "Sixteenths of a row counted at the levels next to its own, in ordered columns.",
                0,
                10,
                whole=True,
            )
        ),
    ] = 0
    models: Annotated[
        Mapping[str, str],
        Parameter(
            TableOf(
                Text("", FAMILIES),
                "Numeric columns drawn from a generalized linear model of their parents instead of counts, "
                "noised once for models_epsilon.",
            ),
            columns=True,
        ),
    ] = field(default_factory=dict)
    models_epsilon: Annotated[
        float | None, amount(f"The part of epsilon that noises the models; {_OF_EPSILON}.")
    ] = None
    columns: Annotated[Sequence[str] | None, COLUMNS] = None
    constraints: Annotated[Sequence[Constraint], CONSTRAINTS] = ()
    weight: Annotated[str | None, WEIGHT] = None
    domain: Annotated[str, DOMAIN] = "public"
    neighbours: Annotated[Neighbours, NEIGHBOURS] = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        faults = checks.faults(self)
        if faults:
            raise ParameterError(f"PeGS: {'; '.join(faults)}.", hint="see docs/pegs.md")
        object.__setattr__(self, "neighbours", Neighbours(self.neighbours))
        object.__setattr__(self, "constraints", tuple(self.constraints))

    @property
    def private(self) -> bool:
        """Whether the perturbation is one that differential privacy follows from."""
        return self.log_l is None and self.alpha != 0

    @property
    def on_parents(self) -> float:
        """The epsilon that parents are chosen with; 0 if they are declared or read off the data."""
        if isinstance(self.parents, Mapping) or self.parents == 0:
            return 0.0
        if self.choose == "data" or not self.private:
            return 0.0
        return self._part(self.parents_epsilon)

    @property
    def on_prior(self) -> float:
        """The epsilon that marginals for the prior are noised with."""
        if self.prior != "marginal":
            return 0.0
        return self._part(self.prior_epsilon)

    @property
    def on_models(self) -> float:
        """The epsilon that models are noised with; 0 where nothing is promised anyway."""
        return self._part(self.models_epsilon) if self.models and self.private else 0.0

    @property
    def before(self) -> Fraction:
        """What is spent once, before any row."""
        return exact(self.on_parents) + exact(self.on_prior) + exact(self.on_models)

    def units(self, rows: int) -> int:
        """How many times the laws are used from the beginning: once a row, or once a block."""
        return -(-rows // self.block) if self.block else rows

    def spends(self, rows: int | None) -> Spending:
        """What so many rows cost, known before the data are looked at unless it follows from alpha."""
        if not self.claimed or rows is None:
            return Spending(claimed=self.claimed)
        return Spending(epsilon=self.total(rows), claimed=True)

    @property
    def claimed(self) -> bool:
        """Whether an epsilon is claimed: nothing that it rests on is read off the data."""
        declared = isinstance(self.parents, Mapping) or self.parents == 0
        chosen = self.choose == "data" and not declared
        seeds = isinstance(self.seeds, str) and self.seeds == "data"
        return self.private and self.domain != "data" and not chosen and not seeds

    def total(self, rows: int) -> float | None:
        """The epsilon of so many rows that was asked for; None where it is none, or follows from alpha."""
        if not self.private or self.alpha is not None:
            return None
        if self.epsilon is not None:
            return float(self.epsilon)
        assert self.epsilon_per_row is not None
        times = self.units(rows) * (self.block or 1)
        return up(exact(self.epsilon_per_row) * times + self.before)

    def _part(self, asked: float | None) -> float:
        if asked is not None:
            return float(asked)
        return float(self.epsilon / 10 if self.epsilon is not None else min(self.epsilon_per_row or 1.0, 1.0))

    def fit(self, table: Table) -> FittedPeGS:
        """Disintegrate the table. What is wrong with schema, parents or pool is said before data are read."""
        domain, pool = self.settled(table)
        blocks = Blocks.fit(
            table,
            domain,
            self._parents(domain) if not isinstance(self.parents, str) else None,
            privately=self.on_parents,
            neighbours=self.neighbours,
            declared_rows=self.declared_rows,
        )
        if self.seeds == "data":
            pool = pool_codes(domain, domain.prepared(table)[0])
        return self._fitted(blocks, pool)

    def settled(self, table: Table) -> tuple[Domain, NDArray[Any] | None]:
        """The domain and the public pool of seeds; what is wrong with them is said."""
        make = Domain.of_data if self.domain == "data" else Domain.of
        source: Any = table if self.domain == "data" else table.schema
        domain = make(source, self.columns, self.constraints, weight=self.weight)
        self._check(domain)
        domain = joined(domain, apart=tuple(self.models))
        check(self.models, domain, self._parents(domain))
        domain.search_cost(self.neighbours)  # refused before anything is spent
        return domain, pool_codes(domain, self.seeds) if isinstance(self.seeds, Table) else None

    def fit_blocks(self, blocks: Blocks) -> FittedPeGS:
        """From building blocks that were made before, such as loaded ones; the data are not needed.

        What choosing their parents cost is part of the promise: parents_epsilon must cover it.
        """
        self._check(blocks.domain)
        checks.fits(self, blocks)
        pool = pool_codes(blocks.domain, self.seeds) if isinstance(self.seeds, Table) else None
        return self._fitted(blocks, pool)

    def _fitted(self, blocks: Blocks, pool: NDArray[Any] | None) -> FittedPeGS:
        marginals = noised_marginals(self, blocks) if self.prior == "marginal" else {}
        models = learn(self.models, blocks, self.on_models, self.neighbours)
        return FittedPeGS(self, blocks, marginals, pool, models)

    def _parents(self, domain: Domain) -> Any:
        return of_variables(domain, self.parents) if isinstance(self.parents, Mapping) else self.parents

    def _check(self, domain: Domain) -> None:
        check(self.models, domain, self.parents)
        long = [repr(b.name) for b in domain.books if b.size > _MOST_SMOOTHED and b.column.kind in _ORDERED]
        if self.smoothing and long:
            raise ParameterError(
                f"smoothing is for columns of up to {_MOST_SMOOTHED:,} levels, not for {listed(long)}.",
                hint="declare fewer, wider bins",
            )
        if self.log_l is None:
            return
        if len(domain.constraints) > len(domain.details):
            raise ParameterError("constraints can lower an entropy below log l.", hint="leave them out")
        narrow = [repr(n) for n, size in domain.fewest.items() if math.log(size) < self.log_l - 1e-12]
        if narrow and not self.cap:
            raise ParameterError(
                f"log l = {self.log_l} is above the logarithm of the levels of {listed(narrow)}.",
                hint="a smaller log_l; or cap=True, which draws these evenly and says so",
            )
