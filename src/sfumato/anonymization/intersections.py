"""What someone with several releases of the same people can tell apart, and what they learn there.

An *intersection* is a set of persons with the same class in each release; who is not in a release has a
class of their own there (-1). Whoever can link the releases knows for every intersection which sensitive
values its persons have, and even who cannot link them learns no more than that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.criteria import AlphaK, Classes, Criterion, LDiversity, Spread, TCloseness

Longs = NDArray[np.int64]
Demand = dict[str, Any]  # a criterion of variety as JSON


@dataclass(frozen=True, eq=False)
class ReleasedValues:
    """Released values of a sensitive column. who: the place of the person; code, n: how often which."""

    who: Longs
    code: Longs
    n: Longs
    levels: int


@dataclass(frozen=True, eq=False)
class RegisterEntry:
    """A release, as the register keeps it: who (a keyed pseudonym, or the number of a row), and the class.

    published: the columns of the file; None: not known (written by an earlier version). demands: what was
    asked of sensitive columns. values: what the file says in these columns; codes, not the values.
    """

    who: pa.Array
    classes: Longs
    k: int
    by: str
    published: tuple[str, ...] | None = None
    demands: tuple[Demand, ...] = ()
    values: Mapping[str, ReleasedValues] = field(default_factory=dict)

    def publishes(self, column: str) -> bool:
        """Whether the file has the column; taken so where it is not known."""
        return self.published is None or column in self.published


def demands_of(criterion: Criterion) -> tuple[Demand, ...]:
    """What is asked of sensitive columns. A hierarchical distance is not: it would need the hierarchy."""
    found: list[Demand] = []
    for part in criterion.parts:
        if isinstance(part, LDiversity):
            found.append({"of": "l", "column": part.column, "kind": part.kind, "c": part.c, "most": -part.l})
        elif isinstance(part, AlphaK):
            found.append({"of": "alpha", "column": part.column, "most": part.alpha})
        elif isinstance(part, TCloseness) and part.distance != "hierarchical":
            found.append({"of": "t", "column": part.column, "kind": part.distance, "most": part.t})
    return tuple(found)


def _criterion(demand: Demand) -> Criterion:
    column, most = demand["column"], demand["most"]
    if demand["of"] == "l":
        return LDiversity(-most, column, demand["kind"], demand["c"])
    return AlphaK(most, 1, column) if demand["of"] == "alpha" else TCloseness(most, column, demand["kind"])


def _alike(demand: Demand) -> tuple[object, ...]:
    return tuple(demand.get(name) for name in ("of", "column", "kind", "c"))


class Intersections:
    """The intersections of several releases. sizes: (intersections,), persons."""

    def __init__(self, entries: Sequence[RegisterEntry]) -> None:
        self.entries = list(entries)
        everyone = pc.unique(pa.chunked_array([e.who for e in entries])).drop_null()
        label = np.full((len(everyone), len(entries)), -1, np.int64)
        self._places = []
        for j, entry in enumerate(entries):
            place = pc.index_in(entry.who, value_set=everyone).to_numpy(zero_copy_only=False)
            label[place, j] = entry.classes
            self._places.append(place)
        present = (label >= 0).any(axis=1)  # in no release at all: nothing to find
        _, group, sizes = np.unique(label[present], axis=0, return_inverse=True, return_counts=True)
        self.sizes: Longs = sizes.astype(np.int64)
        self._group = np.full(len(everyone), -1, np.int64)
        self._group[present] = group.ravel()

    def common_demands(self) -> tuple[list[Criterion], list[str]]:
        """The weakest of what all releases that publish a column asked of it; and columns that nothing is
        promised of any more, because one of these asked nothing."""
        found, lost = [], []
        columns = dict.fromkeys(d["column"] for e in self.entries for d in e.demands)
        for column in columns:
            sides = [
                {_alike(d): d for d in e.demands if d["column"] == column}
                for e in self.entries
                if e.publishes(column)
            ]
            shared = [key for key in sides[0] if all(key in s for s in sides)] if sides else []
            found += [_criterion(max((s[key] for s in sides), key=lambda d: d["most"])) for key in shared]
            if not shared:
                lost.append(column)
        return found, lost

    def broken(self, asked: Criterion) -> int:
        """In how many intersections the values that some release tells do not satisfy."""
        (column,) = asked.sensitive
        bad = np.zeros(len(self.sizes), bool)
        for entry, place in zip(self.entries, self._places, strict=True):
            if column in entry.values:
                bad |= self._broken(asked, column, entry.values[column], place)
        return int(bad.sum())

    def _broken(
        self, asked: Criterion, column: str, values: ReleasedValues, place: Longs
    ) -> NDArray[np.bool_]:
        group = self._group[place[values.who]]
        whole = np.bincount(values.code, values.n, values.levels).astype(np.int64)
        spread = Spread.of(group, values.code, values.n, len(self.sizes), values.levels, whole)
        rows = spread.total()
        told = rows > 0  # persons who are not in this release tell nothing there
        found: NDArray[np.bool_] = told & ~asked.satisfied(Classes(rows, tables={column: spread}))
        return found


def gathered(parts: Iterable[pa.Table], who: pa.Array, column: str, levels: int) -> ReleasedValues:
    """Values by person from tables of who and a code, one row for each released row."""
    tables = [t.group_by(["who", column]).aggregate([([], "count_all")]) for t in parts]
    if not tables:
        nothing = np.empty(0, np.int64)
        return ReleasedValues(nothing, nothing, nothing, levels)
    found = pa.concat_tables(tables).group_by(["who", column]).aggregate([("count_all", "sum")])
    place = pc.index_in(found["who"].combine_chunks(), value_set=who).to_numpy(zero_copy_only=False)
    return ReleasedValues(
        place.astype(np.int64),
        found[column].to_numpy().astype(np.int64),
        found["count_all_sum"].to_numpy().astype(np.int64),
        levels,
    )
