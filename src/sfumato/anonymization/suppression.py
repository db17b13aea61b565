"""From what a search proposes to what is written: every class of the file satisfies what was asked.

Suppressed rows are released with * in every quasi-identifier, as one class more. If that class does not
satisfy the criteria (there may be fewer than k such rows), its rows are left out of the file. Leaving rows
out changes what the whole file looks like, and with it t-closeness: so it is repeated until nothing moves.

Guarantee: the classes of the file, counted with the criterion itself, all satisfy it.
Because:   the loop ends only when `satisfied` is true of every class (or no row is left), and each round
           moves at least one piece one way: kept -> withheld -> left out.
Tested by: tests/anonymization/test_releases.py::test_every_release_recounted_satisfies_its_criteria
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.classes import classes_of
from sfumato.anonymization.problem import Problem
from sfumato.anonymization.recoding import Recoding
from sfumato.criteria import Classes, Criterion

Counter = Callable[["FinalClasses"], Classes]


@dataclass(frozen=True, eq=False)
class FinalClasses:
    """What is written. Pieces as in `Recoding`.

    of, n: (pieces,), the combination and the rows. nodes: (pieces, columns). label: (pieces,), the class,
    -1: left out of the file. class_nodes: (classes, columns). withheld: (pieces,), all cells are *.
    """

    problem: Problem
    of: NDArray[np.int64]
    n: NDArray[np.int64]
    nodes: NDArray[np.int32]
    label: NDArray[np.int64]
    class_nodes: NDArray[np.int32]
    withheld: NDArray[np.bool_]

    @property
    def left_out(self) -> int:
        """Rows that are not in the file."""
        return int(self.n[self.label < 0].sum())

    @property
    def suppressed(self) -> int:
        """Rows that are not in the file, or with * in every quasi-identifier."""
        return int(self.n[self.withheld].sum())

    @property
    def split(self) -> bool:
        """Whether rows that were alike go to different classes."""
        return len(self.of) > self.problem.combinations

    def for_writing(self) -> FinalClasses:
        """Without what only a search looks at: it travels to other processes."""
        slim = replace(self.problem, sensitive={}, persons=None, survey={}, population=None, codes=None)
        return replace(self, problem=slim)

    def classes(self, matching: bool = False) -> Classes:
        """The classes of the file. Not for split combinations: which rows go where is not settled here."""
        label = np.full(self.problem.combinations, -1, np.int64)
        label[self.of] = self.label
        return classes_of(self.problem, label, self.class_nodes, matching=matching)

    def loss(self) -> float:
        """The mean over rows and columns (weighted) of each cell's loss; a row not told loses all."""
        return Recoding(self.problem, self.of, self.n, self.nodes, self.withheld).loss()


def settle(recoding: Recoding, criterion: Criterion, count: Counter | None = None) -> FinalClasses:
    """Withhold, then leave out, what does not satisfy the criterion, until all that is left does."""
    root = np.array([h.root for h in recoding.problem.hierarchies], np.int32)
    withheld = recoding.suppressed.copy()
    gone = withheld.copy() if criterion.leaves_out else np.zeros(len(withheld), bool)
    while True:
        found = _labelled(recoding, withheld, gone, root)
        if not len(found.class_nodes):
            return found
        classes = found.classes(criterion.matching) if count is None else count(found)
        bad = ~criterion.satisfied(classes)
        if not bad.any():
            return found
        top = (found.class_nodes == root).all(axis=1)
        worst = bad & ~top if (bad & ~top).any() else bad
        moved = np.append(worst, False)[found.label]  # label -1 reads the last entry
        gone |= moved & withheld
        gone |= moved & top[np.maximum(found.label, 0)]  # rows at the root without being withheld
        withheld |= moved


def _labelled(
    recoding: Recoding, withheld: NDArray[np.bool_], gone: NDArray[np.bool_], root: NDArray[np.int32]
) -> FinalClasses:
    nodes = np.where(withheld[:, None], root, recoding.nodes).astype(np.int32)
    label = np.full(len(withheld), -1, np.int64)
    kept = ~gone
    classes = np.empty((0, len(root)), np.int32)
    if kept.any():
        key = np.ascontiguousarray(nodes[kept]).view([("", np.int32)] * len(root)).ravel()
        _, first, back = np.unique(key, return_index=True, return_inverse=True)
        label[kept] = back
        classes = nodes[kept][first]
    return FinalClasses(recoding.problem, recoding.of, recoding.n, nodes, label, classes, withheld | gone)
