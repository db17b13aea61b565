"""A variable's counts from all that was measured of it: its states and its coarser levels, put together.

Levels of a tree: from below, each level is the mean of what was measured of it and of the sum of its parts,
weighed by their noise; then from above, each part is made to fit its whole, and none is negative. So a group
of many rare codes keeps its total, which sixty codes each cut off at 0 would not.

Columns that cross (a first and a last day): the combinations are drawn towards what the columns alone would
give, and scaled until every column has its own counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.synthesis.constraints import Zero
from sfumato.synthesis.private.layout import Floats, Ints
from sfumato.synthesis.private.purse import Measurement
from sfumato.synthesis.private.tables import on_simplex, rake, shrink
from sfumato.synthesis.private.variables import Variable

_ROUNDS = 50
_FITS = 1e-3  # share of the rows by which margins may miss each other: rounds of scaling are few
_SEEN = 2.5  # standard deviations of noise that part of a number's cell has, to be more than none


def of_states(variable: Variable, own: Measurement, levels: Sequence[Measurement], rows: float) -> Floats:
    """The counts of the states, none negative, N in all."""
    if not levels:
        return on_simplex(_counts(own, rows), rows)
    if variable.nested:
        bins = 0 if variable.ends is None else len(np.unique(variable.states[0]))
        return _tree(variable.levels, own, levels, rows, bins)
    margins = [on_simplex(_counts(m, rows), rows) for m in levels]
    even = np.full(variable.size, rows / variable.size)
    alone = fitted(even, variable.levels, margins)
    return fitted(np.maximum(shrink(_counts(own, rows), alone, own.variance), 0.0), variable.levels, margins)


def fitted(counts: Floats, levels: Sequence[Ints], margins: Sequence[Floats]) -> Floats:
    """Counts scaled until each level has its margin, as far as the states let it."""
    scaled: Floats = counts + 1e-9
    for _ in range(_ROUNDS):
        for level, margin in zip(levels, margins, strict=True):
            scaled = scaled * (margin / np.maximum(np.bincount(level, scaled), 1e-12))[level]
    return scaled


def _counts(m: Measurement, rows: float) -> Floats:
    return np.asarray(m.residual + rows / len(m.values))


def _tree(
    levels: Sequence[Ints], own: Measurement, above: Sequence[Measurement], rows: float, bins: int = 0
) -> Floats:
    """levels: the cell of each state, the coarsest first. bins: of a number that is cut finer, how many."""
    cells = [*levels, np.arange(len(own.values))]
    found: list[Floats] = [_counts(own, rows)]
    spread: list[Floats] = [np.full(len(own.values), own.variance)]
    for m, fine, coarse in zip(reversed(above), reversed(cells[1:]), reversed(cells[:-1]), strict=True):
        parent = _parents(fine, coarse)
        sums, noise = np.bincount(parent, found[0]), np.bincount(parent, spread[0])
        weight = noise / (noise + m.variance)
        found.insert(0, weight * _counts(m, rows) + (1 - weight) * sums)
        spread.insert(0, weight * m.variance)
    whole = on_simplex(_believed(found[0], spread[0], rows) if bins == 1 else found[0], rows)
    for counts, error, coarse, fine in zip(found[1:], spread[1:], cells[:-1], cells[1:], strict=True):
        parent = _parents(fine, coarse)
        parts = np.zeros(len(counts))
        order = np.argsort(parent, kind="stable")
        ends = np.searchsorted(parent[order], np.arange(len(whole) + 1))
        for total, first, last in zip(whole, ends, ends[1:], strict=False):
            children = order[first:last]
            if total > 0:
                some = counts[children]
                some = _believed(some, error[children], float(total)) if bins else some
                parts[children] = on_simplex(some, float(total))
        whole = parts
    return whole


def _believed(parts: Floats, noise: Floats, total: float) -> Floats:
    """Of the parts of a number's cell, what noise alone does not explain.

    Parts that may as well be even are. Otherwise parts that may as well be empty are: a few people that
    noise invents far out in a wide range would move its mean by more than all others together.
    """
    even = np.full(len(parts), total / len(parts))
    misfit = float(((parts - even) ** 2 / noise).sum())
    if misfit <= len(parts) + 2 * (2 * len(parts)) ** 0.5:
        return even
    seen = parts >= _SEEN * np.sqrt(noise)
    return np.where(seen, parts, -total) if seen.any() else parts


def _sums(where: Ints, counts: Floats) -> Floats:
    return np.asarray(np.bincount(where, counts), np.float64)


def _parents(fine: Ints, coarse: Ints) -> Ints:
    """For each cell of a level, the cell above it."""
    out = np.zeros(int(fine.max()) + 1, np.int64)
    out[fine] = coarse
    return out


def reconciled(counts: Sequence[Floats], zeros: Sequence[Zero], rows: float) -> tuple[Floats, ...]:
    """Single columns that can be together: noise may give a level more than a constraint leaves room for.

    If all who give birth are women, no more can give birth than there are women. Only what lies on either
    side of a constraint's masks matters, so tables are of these parts. Where no table has both margins,
    scaling goes to and fro between one that has the first and one that has the second; halfway between the
    two is one that can be.
    """
    out = [np.asarray(c, np.float64) for c in counts]
    for pair in sorted({tuple(sorted(z.columns)) for z in zeros if len(z.columns) == 2}):
        masks = [
            z.masks if z.columns == pair else z.masks[::-1] for z in zeros if tuple(sorted(z.columns)) == pair
        ]
        parts = [
            np.unique(np.stack([m[side] for m in masks]), axis=1, return_inverse=True) for side in (0, 1)
        ]
        allowed = np.ones([known.shape[1] for known, _ in parts], bool)
        for number in range(len(masks)):
            allowed &= ~np.logical_and.outer(*(known[number] for known, _ in parts))
        own = [_sums(where.ravel(), out[j]) for j, (_, where) in zip(pair, parts, strict=True)]
        table = np.full(allowed.shape, rows / allowed.size)
        by_second = rake(table, own[0], own[1], allowed)
        by_first = rake(table.T, own[1], own[0], allowed.T).T
        if np.abs(by_second.sum(axis=1) - own[0]).sum() <= _FITS * rows:
            continue
        for side, j in enumerate(pair):
            half = (by_first.sum(axis=1 - side) + by_second.sum(axis=1 - side)) / 2
            ratio = half / np.maximum(own[side], 1e-12)
            out[j] = on_simplex(out[j] * ratio[parts[side][1].ravel()], rows)
    return tuple(out)
