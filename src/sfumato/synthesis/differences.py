"""Of two ordered columns, the second as what it lies after the first: a stay instead of a day of discharge.

Two days that are a week apart in two years of days tell little of that week, however finely each is seen. So
`Ordered("admitted", "discharged")` is kept by drawing `admitted` and the difference "discharged - admitted",
which is never negative, and adding them up. Each row's difference follows from that row alone, so
neighbouring tables stay neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import Codebook
from sfumato.schema import Column, Draw, Kind
from sfumato.synthesis.bin_values import Drawn, ends
from sfumato.synthesis.constraints import Constraint, Ordered

_SECOND = 1_000_000  # microseconds


@dataclass(frozen=True, eq=False)
class OrderedDifference:
    """How far a column lies after another.

    first, second: the columns as declared; book: of the difference, in whole numbers, days or seconds. It is
    missing where the second is, and 0 in rows of the data that break the order.
    base: where the first may be missing, what stands for it: the second, in rows without a first. These have
    the difference `alone`, a bin of its own. So each of base and difference may go with any other.
    """

    first: Codebook
    second: Codebook
    book: Codebook
    base: Codebook | None = None

    @classmethod
    def of(cls, first: Codebook, second: Codebook) -> OrderedDifference | None:
        """None where one cannot be added up again: numbers that are not whole, or ranges that do not fit."""
        column = second.column
        plain = all(b.column.draw in (Draw.UNIFORM, Draw.INTEGER) for b in (first, second))
        if not plain or not _whole(first) or not _whole(second) or column.type != first.column.type:
            return None
        (low, high, _), (_, most, _) = ends(first), ends(second)
        outer = [e for b in (first, second) for e in (b.column.edges or ())[:: len(b.levels)]]
        longest = int(most[-1] - low[0]) // _unit(column) + 1
        if any(e in (float("inf"), float("-inf")) for e in outer) or high[-1] > most[-1] or longest < 2:
            return None
        edges = (0, longest + 1, longest + 2) if first.missing else (0, longest)
        name = f"{column.name} - {first.name}"
        gap = Column(name, Kind.NUMERIC, column.role, "integer", edges=edges, missing=second.missing)
        base = None
        if first.missing:
            base = Codebook.declared(
                replace(first.column, name=f"{first.name} or {column.name}", missing_codes=())
            )
        return cls(first, second, Codebook.declared(gap), base)

    @property
    def alone(self) -> int:
        """The difference of rows without a first."""
        return int((self.book.column.edges or (0, 0))[1])  # type: ignore[arg-type]

    def of_rows(self, first: pa.Array, second: pa.Array) -> dict[str, pa.Array]:
        """The difference of each row, and the base if there is one; values outside a domain are refused."""
        for book, array in ((self.first, first), (self.second, second)):
            book.encode(array)
        before, unknown = self.first.numbers(first)
        after, gaps = self.second.numbers(second)
        before, after = _inside(self.first, before), _inside(self.second, after)
        apart = np.maximum(after - before, 0) // _unit(self.second.column)
        found = {self.book.name: pa.array(np.where(unknown, self.alone, apart), pa.int64(), mask=gaps)}
        if self.base is not None:
            known = np.where(unknown, _inside(self.first, after), before)
            base = Drawn.of(self.base, known)
            base.gaps = unknown & gaps
            found[self.base.name] = base.arrow()
        return found

    def restore(self, drawn: dict[str, Drawn]) -> None:
        """Put both columns in place again, the second within its range, which ends as late as the first's."""
        apart = drawn.pop(self.book.name)
        first = drawn[self.first.name] if self.base is None else drawn.pop(self.base.name)
        alone = ~apart.gaps & (apart.numbers == self.alone) if self.base is not None else apart.gaps & False
        numbers = first.numbers + np.where(alone, 0, apart.numbers) * _unit(self.second.column)
        second = Drawn.of(self.second, _inside(self.second, numbers))
        second.gaps = apart.gaps | first.gaps
        drawn[self.second.name] = second
        if self.base is not None:
            drawn[self.first.name] = Drawn.of(self.first, first.numbers)
            drawn[self.first.name].gaps = first.gaps | alone


def _inside(book: Codebook, numbers: NDArray[Any]) -> NDArray[Any]:
    """Numbers within the range of a column."""
    low, high, _ = ends(book)
    return np.asarray(np.clip(numbers, low[0], high[-1]))


def _whole(book: Codebook) -> bool:
    """Whether its values are whole numbers or times."""
    column = book.column
    return column.edges is not None and (column.kind is Kind.DATE or column.type == "integer")


def _unit(column: Column) -> int:
    """What a difference of one is, in the numbers that bins compare."""
    return _SECOND if column.kind is Kind.DATE and column.type != "date" else 1


def differences(
    books: Sequence[Codebook], constraints: Sequence[Constraint]
) -> tuple[tuple[OrderedDifference, ...], tuple[Constraint, ...]]:
    """Which orders become differences, firsts before seconds, and the constraints that are left.

    Only where no constraint that is left is about the second column, nor about a first that may be missing,
    which no other order may share.
    """
    by_name = {b.name: b for b in books}
    found: dict[Ordered, OrderedDifference] = {}
    for order in [c for c in constraints if isinstance(c, Ordered)]:
        one = OrderedDifference.of(by_name[order.first], by_name[order.second])
        if one is not None and one.book.name not in by_name:
            found.setdefault(order, one)
    while True:
        left = tuple(c for c in constraints if not (isinstance(c, Ordered) and c in found))
        named = [name for c in (*left, *found) for name in c.columns]
        seconds = [order.second for order in found]
        bound = {name for c in left for name in c.columns} | {n for n in seconds if seconds.count(n) > 1}
        kept = {
            order: one
            for order, one in found.items()
            if order.second not in bound and (one.base is None or named.count(order.first) == 1)
        }
        if len(kept) == len(found):
            break
        found = kept
    out: list[OrderedDifference] = []
    while found:
        waiting = {order.second for order in found}
        ready = [order for order in found if order.first not in waiting]
        if not ready:  # a circle: every column equals the next
            return (), tuple(constraints)
        out += [found.pop(order) for order in ready]
    return tuple(out), left
