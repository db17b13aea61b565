"""What was seen when the data was looked at, and counts of any combination of columns, at once.

The codes lie on disk and are mapped, not read; a count touches the columns it is about.

    unique(columns)   rows that nobody else shares all of these columns with

Groups are made exactly: codes are put side by side in one number as long as it holds them, and renumbered in
between. What was counted before is remembered.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.studio.tasks.look import CODES, LEVELS, LOOK, MOST_VALUES

_ROOM = 2**63
_REMEMBERED = 1024  # counts
_STEPS, _TRIED = 5, 6  # of the search for what tells most
_DENSE = 8  # keys for each row up to which they are counted in place, and not sorted
MOST_SIZE = 100  # classes up to which size are told apart


@dataclass(frozen=True)
class ColumnLook:
    """What is known of a column from its counts alone; shares are of all rows.

    hierarchy: how it would be made more general if an intruder may know it, and why so.
    """

    name: str
    type: str = ""
    kind: str = ""
    levels: int = 0
    missing: float = 0.0
    unique: float = 0.0
    bits: float = 0.0
    identifying: float = 0.0
    bars: dict[str, Any] = field(default_factory=dict)
    hierarchy: object = "suppress"
    hierarchy_why: str = ""
    unreadable: bool = False


@dataclass(frozen=True)
class RowGroups:
    """Rows by what they share. classes: combinations that occur. smallest: rows of the rarest.

    by_size: how many rows are in classes of 0, 1, 2, ... rows, the last for all that are larger.
    """

    classes: int
    smallest: int
    by_size: tuple[int, ...]

    @property
    def unique(self) -> int:
        """Rows that are alone."""
        return self.by_size[1]

    def below(self, k: int) -> int:
        """Rows in classes of fewer than k; classes are told apart up to a size of `MOST_SIZE`."""
        return sum(self.by_size[: min(k, MOST_SIZE)])


@dataclass
class Look:
    """What was seen. reading: how a text file was read, in words. mark: of the data and how it is read."""

    place: Path
    rows: int
    columns: dict[str, ColumnLook]
    coded: list[str]
    reading: str
    mark: str
    memory: dict[str, Any] = field(default_factory=dict)  # what others have worked out from it
    _known: dict[frozenset[str], RowGroups] = field(default_factory=dict)
    _telling: dict[frozenset[str], list[tuple[tuple[str, ...], int]]] = field(default_factory=dict)

    @classmethod
    def read(cls, place: Path) -> Look:
        """What a task has left in its folder."""
        try:
            said = json.loads((place / LOOK).read_bytes())
            columns = {c["name"]: ColumnLook(**c) for c in said["columns"]}
            return cls(place, said["rows"], columns, said["coded"], said["reading"], said["mark"])
        except (OSError, ValueError, KeyError, TypeError):
            raise DataError("what was counted is not there any more.", hint="open the file again") from None

    @cached_property
    def _codes(self) -> NDArray[Any]:
        found: NDArray[Any] = np.load(self.place / CODES, mmap_mode="r", allow_pickle=False)
        return found

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        return np.array([int(row.max(initial=0)) + 1 for row in self._codes], np.int64)

    def levels(self, column: str) -> list[Any]:
        """What the codes of a column stand for, in order; missing comes after them. None of too many."""
        if not 0 < self.columns[column].levels <= MOST_VALUES:
            return []
        try:
            with pa.memory_map(str(self.place / LEVELS)) as file:
                found = pa.ipc.open_file(file).read_all()
                at = found.schema.names.index(column)
                levels: list[Any] = found.column(at)[0].as_py()
        except (OSError, pa.ArrowException, ValueError):
            raise DataError("what was counted is not there any more.", hint="open the file again") from None
        return levels

    def codes(self, column: str) -> NDArray[Any]:
        """The code of a column in each row."""
        found: NDArray[Any] = self._codes[self.coded.index(column)]
        return found

    def head(self, column: str, n: int) -> list[Any]:
        """What a column holds in the first rows; None where a value is missing."""
        levels = self.levels(column)
        return [levels[c] if c < len(levels) else None for c in self.codes(column)[:n].tolist()]

    def rows_of(self, column: str) -> NDArray[np.int64]:
        """How many rows have each level of a column, and last, how many have none."""
        n = self.columns[column].levels
        return np.bincount(self.codes(column), minlength=n + 1)[: n + 1].astype(np.int64)

    def countable(self, columns: Iterable[str]) -> list[str]:
        """Those of the columns that can be counted together here."""
        known = set(self.coded)
        return [c for c in columns if c in known]

    def groups(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """The number of each row's group."""
        keys = np.zeros(self.rows, np.int64)
        room = 1
        for name in columns:
            at = self.coded.index(name)
            size = int(self._sizes[at])
            if room * size >= _ROOM:
                keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
                room = int(keys.max(initial=0)) + 1
            keys = keys * size + self._codes[at].astype(np.int64)
            room *= size
        return keys

    def grouping(self, columns: Iterable[str]) -> RowGroups:
        """How rows fall together by these columns."""
        wanted = frozenset(self.countable(columns))
        if wanted not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.pop(next(iter(self._known)))
            self._known[wanted] = _groups_of(_sizes(self.groups(sorted(wanted))))
        return self._known[wanted]

    def telling(self, columns: Iterable[str]) -> list[tuple[tuple[str, ...], int]]:
        """From the column that tells most on, always with the one that singles out most: sets, rows alone.

        Few are tried in each step, those that tell most by themselves: it is to be seen at once.
        """
        wanted = frozenset(self.countable(columns))
        if wanted not in self._telling:
            ranked = sorted(wanted, key=lambda c: -self.columns[c].bits)
            self._telling[wanted] = self._steps(ranked)
        return self._telling[wanted]

    def _steps(self, ranked: Sequence[str]) -> list[tuple[tuple[str, ...], int]]:
        """The search of `telling`. Who is alone stays alone: only the others are counted on."""
        chosen: tuple[str, ...] = ()
        rows, label, alone = np.arange(self.rows), np.zeros(self.rows, np.int64), 0
        steps: list[tuple[tuple[str, ...], int]] = []
        while len(steps) < _STEPS and len(chosen) < len(ranked):
            left = [c for c in ranked if c not in chosen][: _TRIED if chosen else 1]
            tried = {c: self._finer(c, rows, label) for c in left}
            best = max(left, key=lambda c: tried[c][1])
            label, more = tried[best]
            alone += more
            kept = label >= 0
            rows, label = rows[kept], label[kept]
            chosen = (*chosen, best)
            steps.append((chosen, alone))
        return steps

    def _finer(
        self, column: str, rows: NDArray[np.int64], label: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], int]:
        """Groups of some rows divided by one more column: a number for each row, -1 if it is alone now; and
        how many are.
        """
        at = self.coded.index(column)
        size = int(self._sizes[at])
        keys = label * size + self._codes[at][rows]
        room = (int(label.max(initial=0)) + 1) * size
        if room <= _DENSE * max(len(rows), 1):
            n = np.bincount(keys, minlength=room)
            number = np.cumsum(n > 1) - 1
            return np.where(n[keys] > 1, number[keys], -1), int((n == 1).sum())
        order = np.argsort(keys)
        ordered = keys[order]
        first = np.append(True, ordered[1:] != ordered[:-1]) if len(keys) else np.zeros(0, bool)
        group = np.cumsum(first) - 1
        n = np.bincount(group)
        number = np.cumsum(n > 1) - 1
        found = np.empty(len(keys), np.int64)
        found[order] = np.where(n[group] > 1, number[group], -1)
        return found, int((n == 1).sum())


def _groups_of(n: NDArray[np.int64]) -> RowGroups:
    sizes = np.minimum(n, MOST_SIZE)
    rows = np.bincount(sizes, weights=n, minlength=MOST_SIZE + 1).astype(np.int64)
    smallest = int(n.min()) if len(n) else 0
    return RowGroups(len(n), smallest, tuple(rows.tolist()))


def _sizes(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many rows each group has."""
    if not len(keys):
        return np.zeros(0, np.int64)
    ordered = np.sort(keys)
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    return np.diff(ends, prepend=-1)
