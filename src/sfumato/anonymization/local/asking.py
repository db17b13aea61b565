"""Which classes satisfy a criterion, and whether rows alone decide."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.classes import classes_of
from sfumato.anonymization.problem import Problem
from sfumato.criteria import OWN_VALUE, Criterion, KAnonymity

Asked = Callable[[NDArray[np.int64], NDArray[np.int32]], NDArray[np.bool_]]


def rows_decide(problem: Problem, criterion: Criterion) -> bool:
    """Whether the criterion is: at least k rows in each class. Combinations may then be split."""
    return all(
        part.only_sizes
        or (isinstance(part, KAnonymity) and part.missing == OWN_VALUE and not _persons(problem, part))
        for part in criterion.parts
    )


def _persons(problem: Problem, part: KAnonymity) -> bool:
    return bool(part.persons) or (part.persons is None and problem.persons is not None)


def asked_of(problem: Problem, criterion: Criterion) -> Asked:
    """label, nodes -> (classes,), which satisfy. Classes are judged with all others of the table there.

    Nodes are counted with only where they matter: comparing all classes with each other takes long.
    """
    fits = problem.population is not None
    fits = fits or any(isinstance(c, KAnonymity) and c.missing != OWN_VALUE for c in criterion.parts)

    def ask(label: NDArray[np.int64], nodes: NDArray[np.int32]) -> NDArray[np.bool_]:
        return criterion.satisfied(classes_of(problem, label, nodes if fits else None))

    return ask
