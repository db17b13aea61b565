"""The classes of a release, as criteria see them: how large, and what is in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Spread:
    """For each class, how often each level of a column occurs: the rows of a sparse matrix.

    start: (classes + 1,); code, n: the levels that occur and how often, each level once per class.
    levels: how many codes there are. whole: (levels,), how often each occurs in the whole release.
    names: (levels,), how each is written, where a hierarchy is to be asked.
    """

    start: NDArray[np.int64]
    code: NDArray[np.int64]
    n: NDArray[np.int64]
    levels: int
    whole: NDArray[np.int64]
    names: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        label: NDArray[np.int64],
        code: NDArray[np.int64],
        n: NDArray[np.int64],
        classes: int,
        levels: int,
        whole: NDArray[np.int64] | None = None,
        names: tuple[str, ...] = (),
    ) -> Spread:
        """From cells in any order: n rows of class `label` have level `code`; the same cell may come twice.

        whole: of the whole release, where it is more than these classes.
        """
        key = label.astype(np.int64) * levels + code
        found, back = np.unique(key, return_inverse=True)
        summed = np.bincount(back, n, len(found)).astype(np.int64)
        start = np.searchsorted(found, np.arange(classes + 1) * levels)
        codes = found % levels if levels else found
        if whole is None:
            whole = np.bincount(codes, summed, levels).astype(np.int64)
        return cls(start.astype(np.int64), codes, summed, levels, whole, names)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.start) - 1

    @property
    def label(self) -> NDArray[np.int64]:
        """(cells,): the class of each cell."""
        return np.repeat(np.arange(self.classes), np.diff(self.start))

    def total(self) -> NDArray[np.int64]:
        """(classes,): rows."""
        return np.bincount(self.label, self.n, self.classes).astype(np.int64)

    def distinct(self) -> NDArray[np.int64]:
        """(classes,): how many levels occur."""
        return np.diff(self.start)

    def largest(self) -> NDArray[np.int64]:
        """(classes,): the rows of the most frequent level."""
        most = np.zeros(self.classes, np.int64)
        np.maximum.at(most, self.label, self.n)
        return most

    def entropy(self) -> NDArray[np.float64]:
        """(classes,): of the levels, in natural logarithms."""
        label = self.label
        share = self.n / np.maximum(self.total(), 1)[label]
        return np.bincount(label, -share * np.log(share), self.classes).astype(np.float64)

    def dense(self) -> NDArray[np.float64]:
        """(classes, levels that occur in the whole release): the share of each within the class."""
        occurring = np.flatnonzero(self.whole)
        place = np.full(self.levels, -1, np.int64)
        place[occurring] = np.arange(len(occurring))
        table = np.zeros((self.classes, len(occurring)))
        label = self.label
        table[label, place[self.code]] = self.n / np.maximum(self.total(), 1)[label]
        return table

    def shares(self) -> NDArray[np.float64]:
        """(levels that occur,): the share of each in the whole release."""
        occurring = self.whole[self.whole > 0]
        return occurring / max(int(occurring.sum()), 1)


@dataclass(frozen=True, eq=False)
class Classes:
    """What criteria look at.

    sizes: (classes,), rows. persons: (classes,), different persons, where the table says whose rows they
    are. tables: what is in the classes, by sensitive column. weights: (classes,), summed survey weights, by
    column. population: (classes,), how many of a population fit. matching: (classes,), rows that cannot be
    told apart where a missing or withheld cell matches anything.
    """

    sizes: NDArray[np.int64]
    persons: NDArray[np.int64] | None = None
    tables: Mapping[str, Spread] = field(default_factory=dict)
    weights: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    population: NDArray[np.int64] | None = None
    matching: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    def table(self, column: str) -> Spread:
        """What is in the classes of a sensitive column."""
        if column not in self.tables:
            raise ParameterError(
                f"the classes were not counted by '{column}'.", hint="name it when the table is compressed"
            )
        return self.tables[column]
