"""Which classes satisfy a criterion, and whether rows alone decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.classes import classes_of, paired
from sfumato.anonymization.histograms import Demands
from sfumato.anonymization.problem import Problem
from sfumato.criteria import OWN_VALUE, Criterion, KAnonymity

_CELLS = 20_000_000  # of pairs that are judged at once
Labels = NDArray[np.int64]
Judge = Callable[[Labels, Labels], NDArray[np.bool_]]


def rows_decide(problem: Problem, criterion: Criterion) -> bool:
    """Whether the criterion is: at least k rows in each class. Combinations may then be split."""
    return all(
        part.only_sizes
        or (isinstance(part, KAnonymity) and part.missing == OWN_VALUE and not _persons(problem, part))
        for part in criterion.parts
    )


def _persons(problem: Problem, part: KAnonymity) -> bool:
    return bool(part.persons) or (part.persons is None and problem.persons is not None)


@dataclass(frozen=True, eq=False)
class ClassQuery:
    """Which classes satisfy a criterion, with all other rows of the table there.

    members: (combinations,), the combinations that are asked about, where they are a block; the others then
    stand in one class of their own.
    """

    problem: Problem
    criterion: Criterion
    members: Labels | None = None

    @property
    def fits(self) -> bool:
        """Whether how classes are released matters. Only then are nodes looked at: it takes long."""
        matching = any(isinstance(c, KAnonymity) and c.missing != OWN_VALUE for c in self.criterion.parts)
        return self.problem.population is not None or matching

    def __call__(self, label: Labels, nodes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """(classes,): which satisfy, when combination i goes to class label[i], released as nodes."""
        count = len(nodes)
        if self._demands is not None:
            return self._demands.of_labels(self._into(label), count, self.problem.n)
        if self.members is not None:
            roots = np.array([[h.root for h in self.problem.hierarchies]], np.int32)
            nodes = np.concatenate([nodes, roots])
        found = classes_of(self.problem, self._whole(label, count), nodes if self.fits else None)
        return self.criterion.satisfied(found)[:count]

    def _whole(self, label: Labels, count: int) -> Labels:
        if self.members is None:
            return label
        full = np.full(self.problem.combinations, count, np.int64)
        full[self.members] = label
        return full

    @cached_property
    def _demands(self) -> Demands | None:
        """The criterion in compiled loops, where there are such."""
        return Demands.of(self.criterion, self.problem)

    def _into(self, label: Labels) -> NDArray[np.int32]:
        if self.members is None:
            return label.astype(np.int32)
        full = np.full(self.problem.combinations, -1, np.int32)
        full[self.members] = label
        return full

    def judge(self, label: Labels) -> Judge | None:
        """Asks which pairs of classes satisfy together; None where what is in two classes does not add up."""
        if self._demands is not None:
            return self._pair_judge(self._demands, label)
        if self.fits or self.problem.persons is not None:
            return None
        classes = classes_of(self.problem, self._whole(label, int(label.max(initial=-1)) + 1))

        def satisfied(a: Labels, b: Labels) -> NDArray[np.bool_]:
            return self.criterion.satisfied(paired(classes, a, b))

        return satisfied

    def _pair_judge(self, demands: Demands, label: Labels) -> Judge:
        into, count = self._into(label), int(label.max(initial=-1)) + 1
        rooms = demands.rooms()
        cells = [c.gathered(into, count, r) for c, r in zip(demands.base(), rooms, strict=True)]
        kept = into >= 0
        rows = np.bincount(into[kept], self.problem.n[kept], count).astype(np.int64)
        longest = max((len(c.code) for c in cells), default=0)
        step = max(1, _CELLS * max(count, 1) // max(2 * longest, 1))

        def satisfied(a: Labels, b: Labels) -> NDArray[np.bool_]:
            found = [np.zeros(0, bool)]
            for i in range(0, len(a), step):
                one, other = a[i : i + step], b[i : i + step]
                both = [c.paired(one, other, r) for c, r in zip(cells, rooms, strict=True)]
                found.append(demands.good(rows[one] + rows[other], both))
            return np.concatenate(found)

        return satisfied
