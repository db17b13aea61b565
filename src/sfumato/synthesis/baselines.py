"""The two ends of the scale: every column by itself, and all columns at once.

    sf.MarginalBootstrap().fit(table).sample(1_000)                 # keeps marginals, and nothing else
    sf.ContingencyTable(columns=["sex", "age"]).fit(table)          # keeps everything, people included
    sf.ContingencyTable(columns=[...], epsilon=1.0).fit(table)      # cells noised once: any number of rows

Without epsilon nothing is promised (a prior alpha promises a little for each row). With it the counts are
noised once, when the method is fitted, and all rows drawn later cost nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.methods.declaration import NOTHING, Declaration, Does, Need, Spending, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import Number
from sfumato.privacy import Budget, Guarantee, Ledger, Neighbours, NoGuarantee, PureDP
from sfumato.privacy.account import UNACCOUNTED, Account
from sfumato.privacy.debits import debit
from sfumato.privacy.ledger import Payer
from sfumato.privacy.noise import laplace
from sfumato.privacy.rounding import exact
from sfumato.schema.domains import READ_OFF, grounds, with_search
from sfumato.seeds import Key
from sfumato.synthesis.constraints import Constraint
from sfumato.synthesis.domain import WEIGHT_UNITS, Domain
from sfumato.synthesis.fitted_baseline import FittedBaseline
from sfumato.synthesis.joint_columns import joined
from sfumato.synthesis.parameters import (
    COLUMNS,
    CONSTRAINTS,
    DOMAIN,
    EPSILON,
    NEIGHBOURS,
    WEIGHT,
    count,
)
from sfumato.synthesis.perturbation import MAX_ROWS, Visit, cost, total_cost
from sfumato.table import Table

_MOST = 1000.0
_LARGEST = 2**22  # cells of a full table that are kept in memory
_SHARES = 2**40  # weights of a bootstrap become whole numbers out of about this
_ANY_TIE = (
    0.999999  # columns that a constraint of two is about are one: drawn apart, none would keep its shares
)
_ONCE = "The counts were noised once; any number of rows follows from them"


def _amount_faults(domain: str, neighbours: object, **amounts: Any) -> list[str]:
    faults = []
    for name, amount in amounts.items():
        real = isinstance(amount, (int, float)) and not isinstance(amount, bool) and math.isfinite(amount)
        if amount is not None and not (
            real and (0 < amount <= _MOST or (name == "alpha" and 0 <= amount <= 1e6))
        ):
            faults.append(f"{name} must be a number above 0")
    if domain not in ("public", "data"):
        faults.append("domain must be public or data")
    if neighbours not in tuple(Neighbours):
        faults.append(f"neighbours must be {' or '.join(Neighbours)}")
    if amounts.get("epsilon") is not None and domain == "data":
        faults.append("an epsilon needs public domains")
    return faults


@declares(
    Declaration(
        "marginals",
        Does.SYNTHESIZE,
        "Every column by itself: one-way tables are kept, and nothing else.",
        page="baselines.md",
        claims=("PureDP", "ApproxDP", "NoGuarantee"),
        needs=(Need.PUBLIC_DOMAIN, Need.KEY),
    )
)
@dataclass(frozen=True, eq=False)
class MarginalBootstrap:
    """Every column by itself: the Bayesian bootstrap of its marginal (shares from a Dirichlet law of the
    counts), or, with an epsilon, marginals that were noised once.

    Rows of the data that break a constraint do not count, and a drawn one is drawn again as a whole. Of
    weights, the last declared edge is the largest that counts.

    >>> people = sf.samples.members(200).select(["sex", "region"])
    >>> sf.synthesize(people, sf.MarginalBootstrap(epsilon=0.5), rows=100).guarantee.claims[0].title
    'differential privacy with epsilon = 0.5'
    """

    epsilon: Annotated[float | None, EPSILON] = None
    columns: Annotated[Sequence[str] | None, COLUMNS] = None
    constraints: Annotated[Sequence[Constraint], CONSTRAINTS] = ()
    weight: Annotated[str | None, WEIGHT] = None
    domain: Annotated[str, DOMAIN] = "public"
    neighbours: Annotated[Neighbours, NEIGHBOURS] = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        faults = _amount_faults(self.domain, self.neighbours, epsilon=self.epsilon)
        if faults:
            raise ParameterError(f"MarginalBootstrap: {'; '.join(faults)}.", hint="see docs/baselines.md")
        object.__setattr__(self, "neighbours", Neighbours(self.neighbours))
        object.__setattr__(self, "constraints", tuple(self.constraints))

    def spends(self, rows: int | None) -> Spending:
        """What any number of rows costs: the counts are noised once."""
        if self.epsilon is None or self.domain == "data":
            return NOTHING
        return Spending(epsilon=float(self.epsilon), claimed=True)

    def fit(self, table: Table, *, ledger: Payer | None = None) -> FittedBaseline:
        """Count each column, and noise the counts where an epsilon was given; a ledger pays before that.

        Guarantee: epsilon-DP in the method's neighbours.
        Because:   a row is in one cell of each marginal: the L1 sensitivity of all of them together is their
                   number, twice that for replacing a row; discrete Laplace noise. Where rows count by
                   weight, in whole parts of the largest, all of it is times the number of parts.
        Assumes:   the domain, the constraints and the largest weight are public.
        Tested by: tests/synthesis/test_baselines.py::test_noised_counts_have_the_stated_scale
        """
        domain = joined(_domain(self, table), share=_ANY_TIE, most=2**15, details=False)
        tabulated = domain.prepared(table)[0].tabulate([(n,) for n in domain.names], weight=self.weight)
        tables = [tabulated[(n,)].dense().astype(np.int64) for n in domain.names]
        _check(tables[0], even=self.epsilon is not None)
        account: Account = UNACCOUNTED
        if self.epsilon is not None:
            wanted = Budget(epsilon=self.epsilon, neighbours=self.neighbours)
            account = debit(ledger, wanted, "counts of a baseline")
            tables = _noised(tables, wanted, len(tables) * _unit(self))
        groups = tuple((i,) for i in range(len(tables)))
        return FittedBaseline(self, domain, groups, tuple(tables), account=account)

    def guarantee(self, fitted: FittedBaseline, rows: int) -> Guarantee:
        """The promise of so many rows."""
        if self.epsilon is not None:
            own = PureDP(float(self.epsilon), neighbours=self.neighbours)
            return _promised(own.assuming(_ONCE, *_shared(self, fitted.domain)), fitted.domain)
        detail = (
            "The share of each level is the data's, without noise. No row links two columns of a person, "
            "but a level that one person has can occur, and shares tell who is not there."
        )
        return Guarantee.of(NoGuarantee("marginals without noise", detail), *_of_domain(fitted.domain))

    def weigh(self, fitted: FittedBaseline, key: Key) -> tuple[NDArray[np.int64], ...]:
        """Shares from the Dirichlet law of the counts; noised counts as they are."""
        if self.epsilon is not None:
            return fitted.tables
        out = []
        for name, table in zip(fitted.domain.names, fitted.tables, strict=True):
            shares = np.zeros(len(table))
            there = table > 0
            shares[there] = key.generator("bootstrap", name).dirichlet(table[there] / _unit(self))
            out.append(np.rint(shares * _SHARES).astype(np.int64))
        return tuple(out)


@declares(
    Declaration(
        "table",
        Does.SYNTHESIZE,
        "All columns at once: the whole table of counts, which tells of people.",
        page="baselines.md",
        claims=("PureDP", "ApproxDP", "NoGuarantee"),
        needs=(Need.PUBLIC_DOMAIN, Need.KEY),
    )
)
@dataclass(frozen=True, eq=False)
class ContingencyTable:
    """All columns at once, from the table of all their combinations. Without epsilon and alpha it repeats
    the people; with an epsilon the cells are noised once, with an alpha each row is perturbed a little.

    >>> people = sf.samples.members(200).select(["sex", "region"])
    >>> sf.synthesize(people, sf.ContingencyTable(epsilon=1.0), rows=100).guarantee.claims[0].title
    'differential privacy with epsilon = 1'
    """

    epsilon: Annotated[float | None, EPSILON] = None
    alpha: Annotated[
        float | None,
        Parameter(Number("A prior for each cell instead; what rows cost follows from it.", 0, 1e6)),
    ] = None
    columns: Annotated[Sequence[str] | None, COLUMNS] = None
    constraints: Annotated[Sequence[Constraint], CONSTRAINTS] = ()
    weight: Annotated[str | None, WEIGHT] = None
    domain: Annotated[str, DOMAIN] = "public"
    neighbours: Annotated[Neighbours, NEIGHBOURS] = Neighbours.ADD_REMOVE
    most_cells: Annotated[int, count("A larger table is refused.", 1)] = 1_000_000

    def __post_init__(self) -> None:
        faults = _amount_faults(self.domain, self.neighbours, epsilon=self.epsilon, alpha=self.alpha)
        if self.epsilon is not None and self.alpha is not None:
            faults.append("give one of epsilon and alpha")
        size = self.most_cells
        if isinstance(size, bool) or not isinstance(size, int) or not 2 <= size <= _LARGEST:
            faults.append(f"most_cells must be a whole number from 2 to {_LARGEST:,}")
        if faults:
            raise ParameterError(f"ContingencyTable: {'; '.join(faults)}.", hint="see docs/baselines.md")
        object.__setattr__(self, "neighbours", Neighbours(self.neighbours))
        object.__setattr__(self, "constraints", tuple(self.constraints))

    @property
    def prior(self) -> tuple[int, int]:
        """(unit, a): what a count is multiplied by, and what is added to each cell, alpha rows' worth."""
        unit = self._visit.unit
        return (unit, math.ceil(exact(self.alpha) * unit * _unit(self))) if self.alpha else (1, 0)

    @property
    def _visit(self) -> Visit:
        return Visit(_unit(self), _unit(self), 2)

    def spends(self, rows: int | None) -> Spending:
        """What any number of rows costs where counts are noised once; with alpha so many rows."""
        if self.domain == "data" or (self.epsilon is None and not self.alpha):
            return NOTHING
        if self.epsilon is not None:
            return Spending(epsilon=float(self.epsilon), claimed=True)
        return Spending(epsilon=None if rows is None else self._drawn(rows), claimed=True)

    def _drawn(self, rows: int) -> float:
        """What rows cost that are drawn with a prior."""
        unit, a = self.prior
        both = self.weight is not None and self.neighbours is Neighbours.REPLACE
        return total_cost([cost(self._visit, unit, a, both=both)], rows)

    def fit(self, table: Table, *, ledger: Payer | None = None) -> FittedBaseline:
        """Count the full table, and noise it where an epsilon was given; a ledger pays before that.

        Guarantee: epsilon-DP in the method's neighbours.
        Because:   a row is in one cell: the L1 sensitivity is 1, and 2 for replacing a row; discrete
                   Laplace noise. Where rows count by weight, in whole parts of the largest, it is that many
                   times the number of parts.
        Assumes:   the domain, the constraints and the largest weight are public.
        Tested by: tests/synthesis/test_baselines.py::test_noised_counts_have_the_stated_scale
        """
        domain = _domain(self, table)
        size = math.prod(domain.sizes)
        if size > self.most_cells:
            raise ParameterError(
                f"the full table has {size:,} cells, more than {self.most_cells:,}.",
                hint="fewer columns or wider bins; PeGS and imputation need no full table",
            )
        if size * self.prior[1] >= 2**62:
            raise ParameterError("so large an alpha leaves nothing of the data.", hint="a smaller alpha")
        found = domain.prepared(table)[0].counts(*domain.names, weight=self.weight)
        counts = found.dense().astype(np.int64).ravel()
        _check(counts, even=bool(self.epsilon or self.alpha))
        codes = np.stack(np.unravel_index(np.arange(size), domain.sizes))
        possible = ~domain.violations(codes)
        account: Account = UNACCOUNTED
        if self.epsilon is not None:
            wanted = Budget(epsilon=self.epsilon, neighbours=self.neighbours)
            account = debit(ledger, wanted, "counts of a baseline")
            [counts] = _noised([counts], wanted, _unit(self), possible)
        return FittedBaseline(self, domain, (tuple(range(len(domain.sizes))),), (counts,), possible, account)

    def weigh(self, fitted: FittedBaseline, key: Key) -> tuple[NDArray[np.int64], ...]:
        """unit n + a for each cell that can be."""
        unit, a = self.prior
        assert fitted.possible is not None
        return (np.where(fitted.possible, unit * fitted.tables[0] + a, 0),)

    def guarantee(self, fitted: FittedBaseline, rows: int) -> Guarantee:
        """The promise of so many rows.

        Guarantee: with a prior, rows * log(1 + 1/alpha), adding, removing or replacing one row.
        Because:   one row more makes one weight larger by `unit` and the sum by as much: a cell's
                   probability grows by at most 1 + unit / a and shrinks by no more than that. Replacing a
                   row leaves the sum alone, unless rows are weighted: then a cell and the sum may change
                   against each other, and the price is that of both (`perturbation`). Rows are drawn
                   independently, so their losses add up.
        Assumes:   the domain and the constraints are public, and the key stays secret.
        Tested by: tests/synthesis/test_baselines.py::test_the_prior_costs_what_is_stated
        """
        shared = _shared(self, fitted.domain)
        if self.epsilon is not None:
            own = PureDP(float(self.epsilon), neighbours=self.neighbours)
            return _promised(own.assuming(_ONCE, *shared), fitted.domain)
        if self.alpha and fitted.domain.public:
            spent = self._drawn(rows)
            total = f"The total is for {rows:,} released rows, and grows with every row"
            more = "Further rows, drawn from the same data under another key, add to the total"
            claim = PureDP(spent, neighbours=self.neighbours).assuming(total, more, *shared)
            return _promised(claim, fitted.domain)
        found = _of_domain(fitted.domain)
        if not self.alpha:
            detail = (
                "Cells are drawn as often as people have them, without noise. Every row is the "
                "combination of some person: the release is a sample of the data with repetition, not "
                "protected in any way."
            )
            found = [NoGuarantee("rows of people", detail), *found]
        return Guarantee.of(*found)


def _domain(method: ContingencyTable | MarginalBootstrap, table: Table) -> Domain:
    if method.domain == "data":
        return Domain.of_data(table, method.columns, method.constraints, weight=method.weight)
    domain = Domain.of(table.schema, method.columns, method.constraints, weight=method.weight)
    domain.search_cost(method.neighbours)  # refused before anything is spent
    return domain


def _unit(method: ContingencyTable | MarginalBootstrap) -> int:
    """How much a row counts at most: 1, or the parts of the largest weight."""
    return 1 if method.weight is None else WEIGHT_UNITS


def _promised(claim: PureDP, domain: Domain) -> Guarantee:
    """The claim with what finding its domains cost."""
    return Guarantee.of(with_search(claim, domain.search_cost(claim.neighbours)))


def _shared(method: ContingencyTable | MarginalBootstrap, domain: Domain) -> list[str]:
    """What the promise rests on."""
    out = [*grounds(domain.columns)]
    if method.constraints:
        out.append("The combinations that cannot be were declared without looking at the data")
    if method.weight is not None:
        out.append("The largest weight that counts is public; weights above it count as that")
    return out


def _noised(
    tables: Sequence[NDArray[np.int64]], wanted: Budget, changed: int,
    possible: NDArray[np.bool_] | None = None,
) -> list[NDArray[np.int64]]:  # fmt: skip
    """Counts with noise, negative ones as zero; a table of which nothing is left is even.

    changed: how many cells one row is in.
    """
    factor = 2 if wanted.neighbours is Neighbours.REPLACE else 1
    ledger = Ledger.in_memory(wanted)
    grant = ledger.grant(epsilon=ledger.budget.amount, purpose="counts of a baseline")
    noisy = np.maximum(laplace(np.concatenate(tables), factor * changed, grant).values, 0).astype(np.int64)
    out, start = [], 0
    for table in tables:
        part = noisy[start : start + len(table)]
        if possible is not None:
            part = np.where(possible, part, 0)
        even = np.ones(len(table), np.int64) if possible is None else possible.astype(np.int64)
        out.append(part if part.sum() else even)
        start += len(table)
    return out


def _check(counts: NDArray[np.int64], *, even: bool) -> None:
    """even: a table without rows gives even cells, so that a promise is not broken by a refusal."""
    if not counts.sum() and not even:
        raise DataError(
            "no row is left to count.", hint="the table is empty, or its rows break the constraints"
        )
    if counts.sum() >= MAX_ROWS:
        raise DataError("more rows than the sampler's whole numbers hold.", hint="sample the table first")


def _of_domain(domain: Domain) -> list[NoGuarantee]:
    return [] if domain.public else [NoGuarantee("domain from the data", READ_OFF)]
