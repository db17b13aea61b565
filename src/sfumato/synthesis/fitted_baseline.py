"""Rows from the counts of a baseline: of single columns, or of all at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import canonical_type
from sfumato.errors import BudgetError, ParameterError
from sfumato.privacy import Grant
from sfumato.privacy.account import UNACCOUNTED, Account
from sfumato.privacy.base import ROW
from sfumato.privacy.together import leaving_together
from sfumato.progress import report
from sfumato.release import InternalRecord, Release
from sfumato.seeds import Key
from sfumato.sources import BatchSource
from sfumato.synthesis.checks import whole
from sfumato.synthesis.domain import Domain
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.synthesis.baselines import ContingencyTable, MarginalBootstrap

_CHUNK = 131_072
_TRIES = 1_000  # of a row that breaks a constraint
_NONE = object()  # single columns have no prior


@dataclass(frozen=True, eq=False)
class FittedBaseline:
    """Counts to draw from: confidential, unless they were noised.

    groups: which columns each table is of. tables: flat, in the order of the codes. account: who has paid
        for noised counts.
    """

    method: MarginalBootstrap | ContingencyTable
    domain: Domain
    groups: tuple[tuple[int, ...], ...]
    tables: tuple[NDArray[np.int64], ...] = field(repr=False)
    possible: NDArray[np.bool_] | None = field(default=None, repr=False)
    account: Account = UNACCOUNTED

    def sample(
        self, rows: int, *, key: Key | None = None, seed: int | None = None, grant: Grant | None = None
    ) -> Release:
        """So many rows, drawn when they are read or saved; row r depends on the key and on r alone.

        grant: where the draw is what costs (a prior), for at least its total; used up first.
        """
        rows = whole("rows", rows)
        if key is not None and seed is not None:
            raise ParameterError("a key and a seed were given.", hint="give one of them")
        key = key or (Key.fresh() if seed is None else Key.from_seed(seed))
        if grant is not None:
            self._charge(grant, rows)
        promised = self.method.guarantee(self, rows)
        if key.seeded and self.method.epsilon is None:  # noised counts are not drawn with the key
            promised = promised.seeded()
        alpha = getattr(self.method, "alpha", _NONE)
        name = "marginals" if alpha is _NONE else "table"
        plan: dict[str, Any] = {
            "method": name, "rows": rows, "epsilon": self.method.epsilon,
            "columns": list(self.domain.declared.names),
        }  # fmt: skip
        plan |= {"constraints": [repr(c) for c in self.method.constraints], "weight": self.method.weight}
        if alpha is not _NONE:
            plan |= {"alpha": alpha}
        counts = {f"counts {i}": pa.table({"n": pa.array(t)}) for i, t in enumerate(self.tables)}
        return Release(
            self._table(rows, key),
            promised.accounted(self.account if grant is None else grant.account),
            InternalRecord(key=key, seed=seed, plan=plan, tables=counts),
            "Synthetic rows, each column drawn by itself." if name == "marginals"
            else "Synthetic rows, drawn from the full table of all columns.",
        )  # fmt: skip

    def samples(
        self, k: int, rows: int, *, key: Key | None = None, seed: int | None = None
    ) -> tuple[Release, ...]:
        """k data sets. Set number i is `sample` with `key.derive("set", i)`."""
        k, rows = whole("k", k), whole("rows", rows)
        if key is not None and seed is not None:
            raise ParameterError("a key and a seed were given.", hint="give one of them")
        key = key or (Key.fresh() if seed is None else Key.from_seed(seed))
        made = [self.sample(rows, key=key.derive("set", i)) for i in range(k)]
        if self.method.epsilon is not None:  # of counts that were noised once: no set adds anything
            return tuple(made)
        promised = leaving_together([r.guarantee for r in made])
        return tuple(replace(r, guarantee=g) for r, g in zip(made, promised, strict=True))

    def _charge(self, grant: Grant, rows: int) -> None:
        cost = self.method.spends(rows).epsilon
        if self.method.epsilon is not None or cost is None or grant.epsilon is None or grant.epsilon < cost:
            raise BudgetError(
                "the grant does not cover these rows.", hint="method.spends(rows) says how much"
            )
        if grant.budget.neighbours is not self.method.neighbours or grant.budget.unit != ROW:
            raise BudgetError("the grant is for other neighbours, or for persons.", hint="a grant for rows")
        grant.burn()

    def codes(self, rows: int, key: Key, first: int = 0) -> NDArray[np.int64]:
        """Rows first, first + 1, ...: (columns, rows). Exact: whole-number weights, whole-number draws."""
        weighed = self.method.weigh(self, key)
        out = self._drawn(weighed, rows, key, first, 0)
        for number in range(1, _TRIES):
            broken = self.domain.violations(out)
            if not broken.any():
                return out
            out[:, broken] = self._drawn(weighed, rows, key, first, number)[:, broken]
        raise ParameterError("the constraints leave hardly a row.", hint="fewer constraints")

    def _drawn(
        self, weighed: Sequence[NDArray[np.int64]], rows: int, key: Key, first: int, number: int
    ) -> NDArray[np.int64]:
        out = np.empty((len(self.domain.books), rows), np.int64)
        for group, weights in zip(self.groups, weighed, strict=True):
            upto = np.cumsum(weights)
            digest = hashlib.blake2b(np.ascontiguousarray(weights).data).hexdigest()
            stream = key.derive("baseline", group[0], digest)  # other weights, other words: see `Sampler`
            u = stream.integers(number, first, rows, int(upto[-1])).astype(np.int64)
            cells = np.searchsorted(upto, u, "right")
            out[list(group)] = np.unravel_index(cells, [self.domain.sizes[i] for i in group])
        return out

    def _table(self, rows: int, key: Key) -> Table:
        arrow = pa.schema([pa.field(b.name, canonical_type(b.column)) for b in self.domain.released])

        def open_(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
            for start in range(0, rows, _CHUNK):
                here = min(_CHUNK, rows - start)
                yield self.domain.decode(self.codes(here, key, start), key, start).select(list(names))
                report("synthesizing", start + here, rows)

        return Table(BatchSource(arrow, open_, rows=rows), self.domain.schema)
