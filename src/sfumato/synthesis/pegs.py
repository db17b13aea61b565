"""PeGS and PeGS.rs: rows drawn one variable after the other from counts with a prior (Park and Ghosh 2014).

    sf.PeGS(epsilon=1.0, parents=2)              # Eq. (8): epsilon for each released row
    sf.PeGS(epsilon=0.1, parents=2, block=10)    # PeGS.rs, Eq. (9): blocks of ten rows with resets
    sf.PeGS(total=2.0).fit(table).sample(5_000)  # epsilon 2 for all rows together: alpha follows
    sf.PeGS(log_l=0.5)                           # l-diverse laws instead

Epsilon is spent on every row, so n rows cost n times epsilon: the guarantee states the total. A method that
noises the counts once is the better choice for more than a few rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import BudgetError, ParameterError, listed
from sfumato.privacy import Grant, Neighbours
from sfumato.privacy.base import ROW
from sfumato.privacy.rounding import exact, up
from sfumato.release import InternalRecord, Release
from sfumato.schema import Kind
from sfumato.seeds import Key
from sfumato.synthesis import checks, promises
from sfumato.synthesis.blocks import Blocks
from sfumato.synthesis.checks import whole
from sfumato.synthesis.constraints import Constraint
from sfumato.synthesis.domain import WEIGHT_UNITS, Domain
from sfumato.synthesis.laws import LawBook, Prior
from sfumato.synthesis.marginals import noised_marginals
from sfumato.synthesis.models import check, learn
from sfumato.synthesis.perturbation import OrdinalSmoothing, Visit, cost, least_prior, total_cost
from sfumato.synthesis.sampler import CHUNK, Sampler, pool_codes, trace
from sfumato.table import Table

_MOST_SMOOTHED = 4096
_ORDERED = (Kind.ORDINAL, Kind.NUMERIC, Kind.DATE)


@dataclass(frozen=True, eq=False)
class PeGS:
    """The perturbed Gibbs sampler. One of epsilon, total, alpha and log_l says how much it perturbs.

    epsilon: of each released row. total: of all released rows together, with all that was spent before.
    alpha: the prior itself. log_l: the entropy that every law is lifted to; cap=True leaves columns that
        have too few levels for it at their most.
    parents: {column: parents}, or how many to choose, or "auto": as many as leave thirty rows a cell.
    choose: "privately", for parents_epsilon (by default a tenth of the total, or what a row costs); or
        "data", by mutual information as in the paper, which is not differentially private.
    declared_rows: a public number of rows for parents="auto"; otherwise n is noised for a part of that.
    block: rows from one seed with resets (PeGS.rs). sweeps: over all variables for each released row.
    seeds: "uniform"; a table that is public; or "data", which is not differentially private.
    prior: "uniform", or "marginal": in proportion to marginals noised for prior_epsilon, with prior_floor
        of it even.
    smoothing: the share of a row, in sixteenths, that is counted at the levels next to its own in ordered
        columns.
    models: {numeric column: "normal", "lognormal", "gamma" or "poisson"}: drawn from a generalized linear
        model of its parents instead of counts, noised once for models_epsilon.
    columns: by default all but identifiers, persons and weights. weight: the column to count rows by.
    domain: "public", or "data" for columns that nobody has confirmed: not differentially private.
    """

    epsilon: float | None = None
    total: float | None = None
    alpha: float | None = None
    log_l: float | None = None
    cap: bool = False
    parents: Mapping[str, Sequence[str]] | int | str = 2
    choose: str = "privately"
    parents_epsilon: float | None = None
    declared_rows: int | None = None
    block: int | None = None
    sweeps: int = 1
    seeds: str | Table = "uniform"
    prior: str = "uniform"
    prior_epsilon: float | None = None
    prior_floor: float = 0.5
    smoothing: int = 0
    models: Mapping[str, str] = field(default_factory=dict)
    models_epsilon: float | None = None
    columns: Sequence[str] | None = None
    constraints: Sequence[Constraint] = ()
    weight: str | None = None
    domain: str = "public"
    neighbours: Neighbours = Neighbours.ADD_REMOVE

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

    def spends(self, rows: int) -> float | None:
        """The epsilon of so many rows that was asked for; None where it is none, or follows from alpha."""
        if not self.private or self.alpha is not None:
            return None
        if self.total is not None:
            return float(self.total)
        assert self.epsilon is not None
        times = self.units(rows) * (self.block or 1)
        return up(exact(self.epsilon) * times + self.before)

    def _part(self, asked: float | None) -> float:
        if asked is not None:
            return float(asked)
        return float(self.total / 10 if self.total is not None else min(self.epsilon or 1.0, 1.0))

    def fit(self, table: Table) -> FittedPeGS:
        """Disintegrate the table. What is wrong with schema, parents or pool is said before data are read."""
        domain, pool = self.settled(table)
        blocks = Blocks.fit(
            table,
            domain,
            self.parents if not isinstance(self.parents, str) else None,
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


@dataclass(frozen=True, eq=False)
class FittedPeGS:
    """Building blocks to sample from. Each release from them with another key costs its epsilon again."""

    method: PeGS
    blocks: Blocks
    marginals: Mapping[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)
    pool: NDArray[Any] | None = field(default=None, repr=False)
    models: Mapping[str, NDArray[np.uint64]] = field(default_factory=dict, repr=False)

    def sample(
        self,
        rows: int,
        *,
        key: Key | None = None,
        seed: int | None = None,
        grant: Grant | None = None,
        chunk: int = CHUNK,
        threads: int = 1,
    ) -> Release:
        """So many rows, drawn when they are read or saved; the same whenever, for any chunk and threads.

        key: a secret one by default. seed: for tests and teaching; then nothing is promised.
        grant: from a ledger, for at least the total; it is used up before anything is drawn.
        """
        rows = whole("rows", rows)
        chunk, threads = whole("chunk", chunk), whole("threads", threads)
        if key is not None and seed is not None:
            raise ParameterError("a key and a seed were given.", hint="give one of them")
        spent = self.spends(rows)
        if grant is not None:
            self._charge(grant, spent)
        key = key or (Key.fresh() if seed is None else Key.from_seed(seed))
        sampler = self._sampler(rows, key)
        promised = promises.guarantee(self, rows, spent)
        record = InternalRecord(
            key=key, seed=seed, plan=promises.plan(self.method, rows), tables=_tables(self),
            extra={"rows counted": self.blocks.rows, "rows dropped": self.blocks.dropped,
                   "parents": {n: list(p) for n, p in self.blocks.parents.items()},
                   "alpha": self.alphas(rows)},
        )  # fmt: skip
        return Release(
            sampler.table(rows, chunk, threads),
            promised.seeded() if key.seeded else promised,
            record,
            promises.about(self),
        )

    def trace(self, row: int = 0, *, key: Key | None = None, rows: int = 1) -> pa.Table:
        """How one row came about, step by step (the paper's table 3): the seed, then a line for each draw.

        It shows what the sampler's secret is. For teaching, on data that may be shown.
        """
        sampler = self._sampler(max(rows, row + 1), key or Key.fresh())
        codes = np.stack(trace(sampler, row), axis=1)
        steps = ["seed"] + [b.column for b in self.blocks.blocks] * ((codes.shape[1] - 1) // len(codes))
        arrays = [book.decode(line) for book, line in zip(self.blocks.domain.books, codes, strict=True)]
        return pa.table([pa.array(steps), *arrays], names=["drawn", *self.blocks.domain.names])

    # -- what it costs ---------------------------------------------------------------------------

    def units(self, rows: int) -> int:
        """How many times the laws are used from the beginning: once a row, or once a block."""
        return self.method.units(rows)

    def spends(self, rows: int) -> float | None:
        """The epsilon of so many rows, with what parents and prior cost; None where there is none."""
        method, before = self.method, self.method.before
        if not method.private or method.alpha is None:
            return method.spends(rows)
        each = [cost(v, unit, a, both=self._both) for _, v, (unit, a) in self._paying(rows)]
        visits = self.units(rows) * (1 if method.block else method.sweeps)
        return total_cost([*each, before / visits], visits)

    def alphas(self, rows: int) -> dict[str, float]:
        """The prior of each variable in rows: what Eq. (6) calls alpha. Empty for l-diverse laws."""
        if self.method.log_l is not None:
            return {}
        return {name: a / (unit * v.mass) for name, v, (unit, a) in self._paying(rows)}

    def _paying(self, rows: int) -> list[tuple[str, Visit, tuple[int, int]]]:
        """The variables whose every visit costs: those drawn from counts, not those of models."""
        found = zip(self.blocks.blocks, self._visits, self._least(rows), strict=True)
        return [(b.column, v, least) for b, v, least in found if b.column not in self.models]

    @property
    def _spreads(self) -> list[OrdinalSmoothing]:
        domain = self.blocks.domain
        out = []
        for block in self.blocks.blocks:
            book = domain.books[domain.place(block.column)]
            ordered = book.column.kind in _ORDERED and block.column not in domain.details
            smooth = self.method.smoothing if ordered and self.method.log_l is None else 0
            out.append(
                OrdinalSmoothing.neighbours(book.size, len(book.levels), smooth)
                if smooth
                else OrdinalSmoothing.none()
            )
        return out

    @property
    def _visits(self) -> list[Visit]:
        domain = self.blocks.domain
        row = WEIGHT_UNITS if domain.weight is not None else 1
        smallest = domain.fewest
        few = len(domain.constraints) > len(domain.details)
        return [
            Visit(s.top * row, s.whole * row, 2 if few else max(2, smallest[b.column]))
            for s, b in zip(self._spreads, self.blocks.blocks, strict=True)
        ]

    @property
    def _both(self) -> bool:
        """Whether a visit may change in two ways at once; see `perturbation`."""
        domain = self.blocks.domain
        entangled = self.method.block is not None or bool(domain.zeros) or domain.weight is not None
        return self.method.neighbours is Neighbours.REPLACE and entangled

    def _least(self, rows: int) -> list[tuple[int, int]]:
        """(unit, a) of each variable."""
        method = self.method
        if method.alpha is not None:
            alpha = exact(method.alpha)
            return [(v.unit, math.ceil(alpha * v.unit * v.mass)) for v in self._visits]
        if method.total is not None:
            each = (exact(method.total) - method.before) / self.units(rows)
        else:
            each = exact(method.epsilon) * (method.block or 1)
        visits = (len(self.blocks.blocks) - len(self.models)) * (1 if method.block else method.sweeps)
        return [least_prior(v, Fraction(each) / visits, both=self._both) for v in self._visits]

    def _charge(self, grant: Grant, spent: float | None) -> None:
        if spent is None or grant.epsilon is None or grant.epsilon < spent:
            raise BudgetError(
                "the grant does not cover these rows.", hint="fitted.spends(rows) says how much"
            )
        if grant.budget.neighbours is not self.method.neighbours or grant.budget.unit != ROW:
            raise BudgetError(
                "the grant is for other neighbours, or for persons.",
                hint="PeGS(neighbours=...), by rows",
            )
        grant.burn()

    # -- laws ------------------------------------------------------------------------------------

    def laws(self, rows: int) -> LawBook:
        """The perturbed building blocks for a release of so many rows."""
        method = self.method
        if method.log_l is not None:
            plain = zip(self.blocks.blocks, self._spreads, strict=True)
            none = np.zeros(1, np.int64)
            return LawBook.of(
                self.blocks,
                tuple(Prior(1, none, s, method.log_l, self.models.get(b.column)) for b, s in plain),
            )
        least = zip(self.blocks.blocks, self._spreads, self._least(rows), strict=True)
        return LawBook.of(
            self.blocks,
            tuple(
                Prior(unit, self._added(b.column, a), s, model=self.models.get(b.column))
                for b, s, (unit, a) in least
            ),
        )

    def _added(self, column: str, a: int) -> NDArray[np.int64]:
        """a for every category; with a marginal prior more where the marginal has more, and never less."""
        share = self.marginals.get(column)
        if share is None:
            return np.full(1, a, np.int64)
        more = (1 - self.method.prior_floor) / self.method.prior_floor * len(share)
        return a + np.floor(a * more * share).astype(np.int64)

    def _sampler(self, rows: int, key: Key) -> Sampler:
        return Sampler(self.laws(rows), key, self.method.sweeps, self.method.block, self.pool)


def _tables(fitted: FittedPeGS) -> dict[str, pa.Table]:
    """The counts by codes and the laws of models, for the internal record: to draw the release again."""
    out = {f"model {n}": pa.table({str(j): w for j, w in enumerate(m.T)}) for n, m in fitted.models.items()}
    for block in fitted.blocks.blocks:
        names = [*block.parents, block.column]
        arrays = [pa.array(block.counts.codes[:, i]) for i in range(len(names))]
        out[f"block {block.column}"] = pa.table([*arrays, pa.array(block.counts.n)], names=[*names, "rows "])
    return out
