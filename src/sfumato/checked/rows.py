"""Who is in which output: rows by their index, and how each output divides them.

Two tables are about the same people where their rows have the same index label. An axis is a way to divide
rows into groups; tables of one analysis that use the same column use the same axis, and a column that is
coarser than another one (age bands, age) is found to be so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

Index = NDArray[np.int64]

UNKNOWN, MISSING = -1, 0  # groups are numbered from 1
_TRIED = 2000  # rows on which a column that is no coarser one is mostly found out


@dataclass(eq=False)
class RowAxis:
    """A way to divide rows. labels: of groups 1, 2, ...  codes: of each row of the analysis."""

    name: str
    labels: list[object] = field(default_factory=list)
    codes: Index = field(default_factory=lambda: np.empty(0, np.int64))
    places: dict[object, int] = field(default_factory=dict)

    def number(self, label: object) -> int:
        """The group of a label, a new one if there is none."""
        if label not in self.places:
            self.labels.append(label)
            self.places[label] = len(self.labels)
        return self.places[label]

    def of(self, rows: Index) -> Index:
        """The groups of some rows."""
        return self.codes[rows]


class RowBook:
    """All rows that an analysis has looked at, and the axes that divide them."""

    def __init__(self) -> None:
        self._index: pd.Index | None = None
        self.axes: list[RowAxis] = []
        self.persons: Index | None = None
        self.edges: dict[str, set[float]] = {}  # of all histograms of a column

    @property
    def size(self) -> int:
        """How many rows are known."""
        return 0 if self._index is None else len(self._index)

    def number(self, index: pd.Index) -> Index:
        """The numbers of rows by their labels; rows that were not seen before get new ones."""
        if self._index is None:
            self._index = index
            return np.arange(len(index), dtype=np.int64)
        found = np.asarray(self._index.get_indexer(index), np.int64)
        new = np.flatnonzero(found < 0)
        if len(new):
            if self.persons is not None:
                raise DataError(
                    f"of {len(new)} rows nobody says whose they are.",
                    hint="give persons for all rows, with the same index",
                )
            found[new] = self.size + np.arange(len(new))
            self._index = self._index.append(index[new])
        return found

    def set_persons(self, persons: pd.Series) -> None:
        """Say whose rows they are."""
        import pandas as pd

        codes, _ = pd.factorize(persons)
        if (codes < 0).any():
            raise DataError(
                f"persons: {int((codes < 0).sum())} rows belong to nobody.", hint="leave them out"
            )
        rows = self.number(persons.index)
        self.persons = np.empty(len(codes), np.int64)
        self.persons[rows] = codes

    def people(self, rows: Index) -> Index:
        """Whose rows they are; each its own person where nobody says."""
        return rows if self.persons is None else self.persons[rows]

    def axis(self, name: str, rows: Index, values: pd.Series) -> tuple[int, bool]:
        """The axis of a column, and whether it contradicts one of the same name on the same rows."""
        import pandas as pd

        codes, found = pd.factorize(values)
        labels: list[object] = list(found)
        clash = False
        for number, axis in enumerate(self.axes):
            if axis.name != name:
                continue
            groups = np.array([MISSING, *(axis.places.get(label, UNKNOWN) for label in labels)])[codes + 1]
            before = self._stretched(axis)[rows]
            seen = before != UNKNOWN
            if (before[seen] == groups[seen]).all():
                self._extend(axis, rows, codes, labels)
                return number, clash
            clash = True
        self.axes.append(RowAxis(name))
        self._extend(self.axes[-1], rows, codes, labels)
        return len(self.axes) - 1, clash

    def _stretched(self, axis: RowAxis) -> Index:
        if len(axis.codes) < self.size:
            more = np.full(self.size - len(axis.codes), UNKNOWN, np.int64)
            axis.codes = np.concatenate([axis.codes, more])
        return axis.codes

    def _extend(self, axis: RowAxis, rows: Index, codes: Index, labels: list[object]) -> None:
        groups = np.array([MISSING, *(axis.number(label) for label in labels)], np.int64)
        self._stretched(axis)[rows] = groups[codes + 1]

    def groups(self, number: int) -> Index:
        """The group of every row by an axis."""
        return self._stretched(self.axes[number])

    def known(self, number: int) -> int:
        """The axis that says of which rows another one is not missing."""
        name = f"{self.axes[number].name} known"
        place = next(
            (i for i, a in enumerate(self.axes) if a.name == name and a.labels == [number]), len(self.axes)
        )
        if place == len(self.axes):
            self.axes.append(RowAxis(name, [number]))
        codes = self._stretched(self.axes[number])
        self.axes[place].codes = np.where(codes == UNKNOWN, UNKNOWN, (codes > MISSING).astype(np.int64))
        return place

    def coarser(self, fine: int, coarse: int) -> dict[int, int] | None:
        """Which group of one axis each group of another lies in; None if one is divided, or all are one."""
        a, b = (self._stretched(self.axes[i]) for i in (fine, coarse))
        both = np.flatnonzero((a != UNKNOWN) & (b != UNKNOWN))
        pairs = np.empty((0, 2), np.int64)
        for rows in (both[:_TRIED], both):
            pairs = np.unique(np.stack([a[rows], b[rows]], axis=1), axis=0)
            if len(np.unique(pairs[:, 0])) < len(pairs):
                return None
        return {a: b for a, b in pairs.tolist()} if len(np.unique(pairs[:, 1])) > 1 else None  # noqa: C416

    def covers(self, axis: int, rows: Index) -> bool:
        """The group of each of these rows is known."""
        return bool((self._stretched(self.axes[axis])[rows] != UNKNOWN).all())
