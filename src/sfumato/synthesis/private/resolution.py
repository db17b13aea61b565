"""How finely pairs are seen: the states of a large variable merged into classes, after it was measured.

A table of two columns of 700 codes has half a million cells, and noise in each of them. Codes that enough
people have stay by themselves; the others are put together with their neighbours, or with the rest of their
group, until each class has enough people for the noise of a pair's cell. Within a class a code is drawn by
the single column alone. Numbers have no rare cells to lose: their classes are so large that a cell of two of
them has enough people, since whoever adds up cells to bins adds up their noise. It is arithmetic on noisy
answers and costs nothing.
"""

from __future__ import annotations

import numpy as np

from sfumato.synthesis.private.layout import Floats, Ints
from sfumato.synthesis.private.variables import FINE, Variable

MAX_CLASSES = 128
_GROUPS = 64  # up to so many stay apart, however small
_NOISES = 8.0  # standard deviations of a pair's cell that a class should have
_CELLS = 2.0  # times so many, and not of a class but of a cell, where a number is cut finer than its bins


def least(pairs: int, variables: int, budget: float, most: int, pure: bool) -> float:
    """The fewest people of a class: several times a cell's noise, if the likely pairs share the budget."""
    shared = max(min(pairs, 4 * variables), 1)
    noise = 2**0.5 * shared / budget if pure else (shared / (2 * budget)) ** 0.5
    return _NOISES * most * noise


def classes_of(variable: Variable, counts: Floats, fewest: float) -> Ints | None:
    """The class of each state; None where every state is its own.  counts: (S,) as estimated."""
    finer = variable.ends is not None
    if variable.size <= FINE and not finer:
        return None
    # Two numbers of k classes share N people among k^2 cells: k is such that a cell has enough of them.
    wanted = max(fewest, (_CELLS * fewest * float(counts.sum())) ** 0.5) if finer else fewest
    for _ in range(60):
        found = _merged(variable, counts, wanted)
        if found.max() < MAX_CLASSES:
            break
        wanted = max(wanted * 1.3, 1e-9)
    return None if found.max() + 1 == variable.size else found


def _merged(variable: Variable, counts: Floats, fewest: float) -> Ints:
    branch = np.zeros(variable.size, np.int64) if variable.branch is None else variable.branch
    if not variable.single and not variable.nested:
        # Columns that cross: each merged along its own levels, a class is a combination of theirs.
        parts = [branch]
        for codes in variable.states:
            own = np.asarray(np.bincount(codes, counts), np.float64)
            parts.append(
                _neighbours(own, np.zeros(len(own), np.int64), fewest * len(variable.columns))[codes]
            )
        return _numbered(np.stack(parts))
    if variable.adjacent:
        return _neighbours(counts, branch, fewest)
    alone = counts >= fewest
    parts = [branch, np.where(alone, np.arange(variable.size) + 1, 0)]
    if variable.levels:
        group = variable.levels[0]
        rest = np.bincount(group, counts * ~alone)
        few = (len(rest) > _GROUPS) & (rest < fewest)  # of many groups, small ones are put together too
        parts.append(np.where(alone | few[group], 0, group + 1))
    return _numbered(np.stack(parts))


def _neighbours(counts: Floats, branch: Ints, fewest: float) -> Ints:
    """Runs of neighbours that have enough together, none beyond its branch."""
    out = np.zeros(len(counts), np.int64)
    number, held = 0, 0.0
    for i, count in enumerate(counts):
        if i and (branch[i] != branch[i - 1] or held >= fewest):
            number, held = number + 1, 0.0
        out[i] = number
        held += count
    return out


def _numbered(parts: Ints) -> Ints:
    """Numbers 0, 1, ... for the combinations of several partitions."""
    out = np.zeros(parts.shape[1], np.int64)
    for part in parts:
        out = np.unique(out * (part.max() + 1) + part, return_inverse=True)[1].astype(np.int64)
    return out
