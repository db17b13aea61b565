"""What criteria ask of the contents of classes, as compiled loops over sparse histograms.

`Demands.of` translates a criterion, or says that it cannot (None): populations, survey weights, and missing
cells that match anything are counted by numpy, class by class. What a search finds is judged once more by the
criterion itself, which shares nothing with these loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.classes import classes_of
from sfumato.anonymization.problem import Problem, Sparse
from sfumato.criteria import (
    OWN_VALUE,
    AlphaK,
    Criterion,
    JAnonymity,
    KAnonymity,
    LDiversity,
    Spread,
    TCloseness,
)

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ClassCells:
    """The histogram of one column in each class: start (classes + 1,), then code and n of each cell."""

    start: NDArray[np.int64]
    code: NDArray[np.int32]
    n: NDArray[np.int64]

    def gathered(self, into: NDArray[np.int32], groups: int, room: NDArray[np.int64]) -> ClassCells:
        """Added up by the group that each class goes to; -1: to none. room: (levels,), all 0."""
        from sfumato.anonymization import _histogram_kernels as kernels

        start = np.empty(groups + 1, np.int64)
        code, n = np.empty(len(self.code), np.int32), np.empty(len(self.n), np.int64)
        cells = kernels.gather(into, groups, self.start, self.code, self.n, room, start, code, n)
        return ClassCells(start, code[:cells], n[:cells])

    def paired(self, a: NDArray[np.int64], b: NDArray[np.int64], room: NDArray[np.int64]) -> ClassCells:
        """Classes a[i] and b[i] as one, for each i."""
        from sfumato.anonymization import _histogram_kernels as kernels

        size = np.diff(self.start)
        most = int(size[a].sum() + size[b].sum())
        start = np.empty(len(a) + 1, np.int64)
        code, n = np.empty(most, np.int32), np.empty(most, np.int64)
        cells = kernels.gather_pairs(a, b, self.start, self.code, self.n, room, start, code, n)
        return ClassCells(start, code[:cells], n[:cells])


Check = Callable[[ClassCells, NDArray[np.int64], Mask], None]


@dataclass(frozen=True, eq=False)
class Demands:
    """What is asked of each class: at least k rows, and each check of the histogram it is about.

    columns: those whose histograms are needed. checks: (column, check), cheap ones first.
    """

    k: int
    columns: tuple[Sparse, ...]
    checks: tuple[tuple[int, Check], ...]

    @classmethod
    def of(cls, criterion: Criterion, problem: Problem) -> Demands | None:
        """A criterion as demands; None where there is no compiled loop for a part of it."""
        whole = classes_of(problem, np.zeros(problem.combinations, np.int64)).tables
        columns: dict[str, Sparse] = {}
        checks: list[tuple[int, str, Check]] = []  # how slow, of which column
        for part in criterion.parts:
            if isinstance(part, JAnonymity) and part.fraction is not None:
                continue
            if isinstance(part, KAnonymity) and part.missing == OWN_VALUE:
                if part.persons is False or (part.persons is None and problem.persons is None):
                    continue
                if problem.persons is None:
                    return None
                columns[""] = problem.persons
                checks.append((0, "", _different(part.k, problem.persons)))
            elif isinstance(part, LDiversity | AlphaK | TCloseness) and part.column in whole:
                columns[part.column] = problem.sensitive[part.column]
                slowness, check = _check(part, whole[part.column])
                checks.append((slowness, part.column, check))
            else:
                return None
        places = {name: i for i, name in enumerate(columns)}
        checks.sort(key=lambda check: check[0])
        return cls(criterion.k, tuple(columns.values()), tuple((places[c], check) for _, c, check in checks))

    def base(self) -> tuple[ClassCells, ...]:
        """The histograms of the combinations."""
        return tuple(ClassCells(c.start, c.code, c.n) for c in self.columns)

    def rooms(self) -> tuple[NDArray[np.int64], ...]:
        """What `gathered` needs, one for each column and thread."""
        return tuple(np.zeros(c.levels, np.int64) for c in self.columns)

    def good(self, rows: NDArray[np.int64], cells: Sequence[ClassCells]) -> Mask:
        """(classes,): which have what is asked. rows: (classes,)."""
        good: Mask = rows >= self.k
        for at, check in self.checks:
            check(cells[at], rows, good)
        return good

    def of_labels(self, into: NDArray[np.int32], groups: int, n: NDArray[np.int64]) -> Mask:
        """(groups,): which have what is asked, when combination i goes to into[i] (-1: to none)."""
        cells = [c.gathered(into, groups, r) for c, r in zip(self.base(), self.rooms(), strict=True)]
        kept = into >= 0
        return self.good(np.bincount(into[kept], n[kept], groups).astype(np.int64), cells)

    def weighed(
        self, rows: NDArray[np.int64], cost: NDArray[np.float64], cells: Sequence[ClassCells], lost: float
    ) -> tuple[int, float]:
        """The rows in classes without it, and what all rows cost, `lost` for each of those."""
        from sfumato.anonymization import _histogram_kernels as kernels

        small, total = kernels.weighed(rows, cost, self.good(rows, cells), lost)
        return int(small), float(total)


def _different(least: int, column: Sparse) -> Check:
    """So many different persons; rows that name nobody count as one, where nobody is named."""
    nobody = column.levels - 1 if column.missing else -1

    def check(cells: ClassCells, rows: NDArray[np.int64], good: Mask) -> None:
        from sfumato.anonymization import _histogram_kernels as kernels

        kernels.distinct(cells.start, cells.code, nobody, least, good)

    return check


def _check(part: LDiversity | AlphaK | TCloseness, whole: Spread) -> tuple[int, Check]:
    """How slow it is, and the loop with its numbers."""
    from sfumato.anonymization import _histogram_kernels as kernels

    if isinstance(part, TCloseness):
        return 3, _closeness(part, whole)
    if isinstance(part, AlphaK):
        alpha = float(part.alpha)
        return 1, lambda cells, rows, good: kernels.mixed(cells.start, cells.n, rows, alpha, good)
    if part.kind == "distinct":
        least = int(part.l)
        return 0, lambda cells, rows, good: kernels.distinct(cells.start, cells.code, -1, least, good)
    if part.kind == "entropy":
        bits = math.log(part.l)
        return 2, lambda cells, rows, good: kernels.entropic(cells.start, cells.n, rows, bits, good)
    assert part.c is not None
    c, rank = float(part.c), int(part.l)
    return 2, lambda cells, rows, good: kernels.recursive(cells.start, cells.n, c, rank, good)


def _closeness(part: TCloseness, whole: Spread) -> Check:
    from sfumato.anonymization import _histogram_kernels as kernels

    t = float(part.t)
    share = whole.whole / max(int(whole.whole.sum()), 1)
    if part.distance == "equal":
        return lambda cells, rows, good: kernels.equal_close(
            cells.start, cells.code, cells.n, rows, share, t, good
        )
    occurring = np.flatnonzero(whole.whole)
    if part.distance == "ordered":
        rank = np.zeros(whole.levels, np.int64)
        rank[occurring] = np.arange(len(occurring))
        q = share[occurring]
        return lambda cells, rows, good: kernels.ordered_close(
            cells.start, cells.code, cells.n, rows, rank, q, t, good
        )
    tree = part.tree(whole)[:-1]  # the root holds all of both
    above = np.zeros((len(tree), whole.levels), np.int32)
    above[:, occurring] = tree
    sizes = [int(level.max(initial=0)) + 1 for level in tree]
    first = np.cumsum([0, *sizes]).astype(np.int64)
    sums = [np.bincount(level, share[occurring], size) for level, size in zip(tree, sizes, strict=True)]
    nodes = np.concatenate([*sums, np.zeros(0)])
    return lambda cells, rows, good: kernels.tree_close(
        cells.start, cells.code, cells.n, rows, above, nodes, first, t, good
    )
