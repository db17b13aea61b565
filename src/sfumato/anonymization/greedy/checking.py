"""Whether classes satisfy a criterion, and which rows can ever be in one class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.problem import Problem
from sfumato.anonymization.recoding import Recoding
from sfumato.criteria import KAnonymity
from sfumato.errors import ParameterError

Longs = NDArray[np.int64]


class Check:
    """A criterion, asked about classes made of combinations."""

    def __init__(self, problem: Problem, criterion: Any) -> None:
        self.problem, self.criterion = problem, criterion
        self.k = max(1, int(getattr(criterion, "k", 1)))
        self.only_size = isinstance(criterion, KAnonymity)

    def holds(self, of: Longs, n: Longs, label: Longs, classes: int) -> NDArray[np.bool_]:
        """(classes,): of, n, label: (pieces,), the combination, the rows and the class of each piece.

        Where the criterion looks at other columns, a piece is a whole combination.
        """
        sizes = np.bincount(label, n, classes).astype(np.int64)
        if self.only_size:
            return np.asarray(sizes >= self.k)
        from sfumato.criteria import Classes

        tables, whole = {}, {}
        for name, sparse in self.problem.sensitive.items():
            lengths = np.diff(sparse.start)
            where = np.repeat(sparse.start[:-1][of] - _before(lengths[of]), lengths[of]) + np.arange(
                int(lengths[of].sum())
            )
            key = np.repeat(label, lengths[of]) * sparse.levels + sparse.code[where]
            counted = np.bincount(key, sparse.n[where], classes * sparse.levels)
            tables[name] = counted.astype(np.int64).reshape(classes, sparse.levels)
            whole[name] = np.bincount(sparse.code, sparse.n, sparse.levels).astype(np.int64)
        return np.asarray(self.criterion.satisfied(Classes(sizes, tables, whole)))

    def all_hold(self, *members: Longs) -> bool:
        """Whether each of these classes of whole combinations satisfies the criterion."""
        if self.only_size:
            return all(int(self.problem.n[m].sum()) >= self.k for m in members)
        of = np.concatenate(members)
        label = np.repeat(np.arange(len(members)), [len(m) for m in members])
        return bool(self.holds(of, self.problem.n[of], label, len(members)).all())


def _before(lengths: Longs) -> Longs:
    """How many entries come before each run."""
    return np.asarray(np.cumsum(lengths) - lengths, np.int64)


def blocks(problem: Problem) -> list[Longs]:
    """Combinations that may share a class: alike on the highest level each column may be generalized to."""
    assert problem.max_level is not None
    if not problem.combinations:
        return []
    keys = [
        h.nodes[level][problem.leaves[:, j]]
        for j, (h, level) in enumerate(zip(problem.hierarchies, problem.max_level, strict=True))
        if level < h.height
    ]
    if not keys:
        return [np.arange(problem.combinations)]
    _, label = np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)
    order = np.argsort(label.ravel(), kind="stable")
    return np.split(order, np.cumsum(np.bincount(label.ravel()))[:-1])


def check_levels(problem: Problem) -> None:
    """Refuse highest levels that are not levels."""
    assert problem.max_level is not None
    wrong = [
        repr(c)
        for c, h, level in zip(problem.columns, problem.hierarchies, problem.max_level, strict=True)
        if not 0 <= level <= h.height
    ]
    if wrong:
        raise ParameterError(
            f"{len(wrong)} columns have a highest level their hierarchy does not have: {', '.join(wrong)}.",
            hint="0 (do not touch) to the height of the hierarchy",
        )


def checked(recoding: Recoding, check: Check) -> Recoding:
    """Count every class again, as the file will show it; rows of one that does not hold are suppressed.

    Guarantee: every class of the recoding satisfies the criterion.
    Because:   classes are counted by their nodes, whatever the search believed of them.
    Tested by: tests/anonymization/test_greedy.py::test_every_class_recounted_satisfies
    """
    label, sizes = recoding.classes()
    kept = ~recoding.suppressed
    if not kept.any():
        return recoding
    holds = check.holds(recoding.of[kept], recoding.n[kept], label[kept], len(sizes))
    if holds.all():
        return recoding
    broken = kept.copy()
    broken[kept] = ~holds[label[kept]]
    nodes = recoding.nodes.copy()
    nodes[broken] = [h.root for h in recoding.problem.hierarchies]
    return Recoding(
        recoding.problem, recoding.of, recoding.n, nodes, recoding.suppressed | broken, recoding.about
    )
