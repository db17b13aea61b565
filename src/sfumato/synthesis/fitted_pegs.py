"""Rows from the building blocks of PeGS, what they cost, and how one came about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import BudgetError, ParameterError
from sfumato.privacy import Grant, Neighbours
from sfumato.privacy.base import ROW
from sfumato.privacy.rounding import exact
from sfumato.release import InternalRecord, Release
from sfumato.schema import Kind
from sfumato.seeds import Key
from sfumato.synthesis import promises
from sfumato.synthesis.blocks import Blocks
from sfumato.synthesis.checks import whole
from sfumato.synthesis.domain import WEIGHT_UNITS
from sfumato.synthesis.laws import LawBook, Prior
from sfumato.synthesis.perturbation import OrdinalSmoothing, Visit, cost, least_prior, total_cost
from sfumato.synthesis.sampler import CHUNK, Sampler, trace

if TYPE_CHECKING:
    from sfumato.synthesis.pegs import PeGS

_ORDERED = (Kind.ORDINAL, Kind.NUMERIC, Kind.DATE)


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
        if grant is not None:
            promised = promised.accounted(grant.account)
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
        codes = self.blocks.domain.split(np.stack(trace(sampler, row), axis=1))
        steps = ["seed"] + [b.column for b in self.blocks.blocks] * (
            (codes.shape[1] - 1) // len(self.blocks.blocks)
        )
        arrays = [book.decode(line) for book, line in zip(self.blocks.domain.released, codes, strict=True)]
        return pa.table([pa.array(steps), *arrays], names=["drawn", *self.blocks.domain.declared.names])

    # -- what it costs ---------------------------------------------------------------------------

    def units(self, rows: int) -> int:
        """How many times the laws are used from the beginning: once a row, or once a block."""
        return self.method.units(rows)

    def spends(self, rows: int) -> float | None:
        """The epsilon of so many rows, with what parents and prior cost; None where there is none."""
        method, before = self.method, self.method.before
        if not method.private or method.alpha is None:
            return method.total(rows)
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
        if method.epsilon is not None:
            each = (exact(method.epsilon) - method.before) / self.units(rows)
        else:
            each = exact(method.epsilon_per_row) * (method.block or 1)
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
