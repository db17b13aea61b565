"""Whether classes satisfy a criterion, and which rows can ever be in one class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.classes import fitting, persons_in
from sfumato.anonymization.greedy.flat import Flat
from sfumato.anonymization.problem import MISSING, Problem, Sparse
from sfumato.anonymization.recoding import Recoding
from sfumato.criteria import Classes, Criterion, KAnonymity, Spread
from sfumato.errors import ParameterError

Longs = NDArray[np.int64]


def bound(flat: Flat, members: Longs) -> NDArray[np.int32]:
    """The n-ary least upper bound over the original members: one node per column."""
    from sfumato.anonymization.greedy._kernels import bound_of

    nodes = np.empty(flat.columns, np.int32)
    bound_of(flat, members, nodes)
    return nodes


class ClassCheck:
    """A criterion, asked about classes made of combinations.

    only_size: class sizes are all that is asked; only then may rows that are alike be told apart. Where
    missing cells match anything, a class of k rows is more than enough. flat: not where posets have no
    levels; a population cannot be counted in then.
    """

    def __init__(self, problem: Problem, criterion: Criterion, flat: Flat | None) -> None:
        self.problem, self.criterion, self.flat = problem, criterion, flat
        self.k = max(1, int(criterion.k))
        self.only_size = all(_counts_rows(part, problem) for part in criterion.parts)

    def holds(self, of: Longs, n: Longs, label: Longs, classes: int) -> NDArray[np.bool_]:
        """(classes,): of, n, label: (pieces,), the combination, the rows and the class of each piece.

        Where more than sizes is asked, a piece is a whole combination. The whole that t-closeness compares
        with is the whole table, however few classes are asked about.
        """
        sizes = np.bincount(label, n, classes).astype(np.int64)
        if self.only_size:
            return np.asarray(sizes >= self.k)
        problem = self.problem
        tables = {name: _spread(sparse, of, label, classes) for name, sparse in problem.sensitive.items()}
        persons = population = None
        if problem.persons is not None:
            part, group = _restricted(problem.persons, of, label)
            persons = persons_in(part, group, classes)
        if problem.population is not None:
            assert self.flat is not None
            flat = self.flat
            order = np.argsort(label, kind="stable")
            members = np.split(of[order], np.cumsum(np.bincount(label, minlength=classes))[:-1])
            population = fitting(problem, np.stack([bound(flat, m) for m in members]))
        survey = {w: np.bincount(label, x[of], classes).astype(np.float64) for w, x in problem.survey.items()}
        return self.criterion.satisfied(Classes(sizes, persons, tables, survey, population))

    def all_hold(self, *members: Longs) -> bool:
        """Whether each of these classes of whole combinations satisfies the criterion."""
        if self.only_size:
            return all(int(self.problem.n[m].sum()) >= self.k for m in members)
        of = np.concatenate(members)
        label = np.repeat(np.arange(len(members)), [len(m) for m in members])
        return bool(self.holds(of, self.problem.n[of], label, len(members)).all())


def _counts_rows(part: Criterion, problem: Problem) -> bool:
    if not isinstance(part, KAnonymity):
        return part.only_sizes
    return part.persons is False or (part.persons is None and problem.persons is None)


def _restricted(sparse: Sparse, of: Longs, label: Longs) -> tuple[Sparse, Longs]:
    """The cells of some combinations only, and the class of each of these combinations."""
    lengths = np.diff(sparse.start)[of]
    start = np.append(0, np.cumsum(lengths))
    where = np.repeat(sparse.start[of] - start[:-1], lengths) + np.arange(start[-1])
    return replace(sparse, start=start, code=sparse.code[where], n=sparse.n[where]), label


def _spread(sparse: Sparse, of: Longs, label: Longs, classes: int) -> Spread:
    part, group = _restricted(sparse, of, label)
    return Spread.of(
        np.repeat(group, np.diff(part.start)),
        part.code.astype(np.int64),
        part.n,
        classes,
        sparse.levels,
        np.bincount(sparse.code, sparse.n, sparse.levels).astype(np.int64),
        (*sparse.names, MISSING) if sparse.missing else sparse.names,
    )


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


def checked(recoding: Recoding, check: ClassCheck) -> Recoding:
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
