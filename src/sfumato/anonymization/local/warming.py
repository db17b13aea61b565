"""Compiling before the clock starts: once in a process every loop is run on a table of a few rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from sfumato.anonymization.problem import Problem
from sfumato.hierarchy import Hierarchy
from sfumato.progress import listening, report

Run = Callable[[Problem, bool], object]


@cache
def warm(run: Run) -> None:
    """run: what is to be compiled, by a problem and whether rows alone decide there."""
    pairs = Hierarchy.of_rows([[str(i), f"pair {i // 2}", "*"] for i in range(4)])
    leaves = np.array([[i, j] for i in range(4) for j in range(4)], np.int32)
    problem = Problem(("a", "b"), (pairs, pairs), leaves, np.ones(len(leaves), np.int64))
    report("compiling", 0, 2)
    for by_rows in (True, False):
        with listening(_nobody):  # the bar is about the search
            run(problem, by_rows)


def _nobody(label: str, done: int, total: int | None) -> None:
    """Hears nothing."""
