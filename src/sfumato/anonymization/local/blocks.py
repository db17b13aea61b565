"""Columns with a maximum level cut the table into blocks no class may cross."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.problem import Problem
from sfumato.errors import DataError, listed


def blocks_of(problem: Problem) -> NDArray[np.int64]:
    """(combinations,): the block of each, numbered from 0.

    Two combinations can share a class if and only if they agree, on each column's maximum level.
    """
    assert problem.max_level is not None
    limited = [j for j, h in enumerate(problem.hierarchies) if problem.max_level[j] < h.height]
    if not limited:
        return np.zeros(problem.combinations, np.int64)
    tops = [problem.hierarchies[j].ancestors[problem.max_level[j]][problem.leaves[:, j]] for j in limited]
    return np.unique(np.stack(tops, axis=1), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def refuse(problem: Problem, suppressed: NDArray[np.bool_], max_suppressed: float, what: str) -> None:
    """Refuse if more rows than allowed cannot be in any class."""
    rows = int(problem.n[suppressed].sum())
    if rows > max_suppressed * problem.rows:
        assert problem.max_level is not None
        limited = [
            f"'{c}'"
            for c, h, top in zip(problem.columns, problem.hierarchies, problem.max_level, strict=True)
            if top < h.height
        ]
        where = f" within the limits of {listed(limited)}" if limited else ""
        raise DataError(
            f"{rows} of {problem.rows} rows cannot be in a class with {what}{where}, "
            f"and {max_suppressed:.3g} of the rows may be suppressed.",
            hint="allow more with max_suppressed=, a higher level, or ask for less",
        )
