"""The loop that moves rows of linked tables until their tables are the wanted ones, rows before included."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled
from sfumato.synthesis.private._kernels import _forbid, _move, _pick, _room, _states
from sfumato.synthesis.private.layout import (
    MAX_WIDTH,
    SLACK,
    Codes,
    GraphLayout,
    Ints,
    PotentialWeights,
    Targets,
)

Words = NDArray[np.uint64]


@compiled
def _copy(source: Ints, target: Ints, block: Ints, width: int, shift: int) -> None:
    """The columns of a block, or those so many further on."""
    for v in range(width):
        target[block[v] + shift] = source[block[v] + shift]


@compiled
def calibrate_chain(
    codes: Codes, words: Words, follows: NDArray[np.bool_], before: int, graph: GraphLayout,
    weights: PotentialWeights, targets: Targets, beta: float,
) -> int:  # fmt: skip
    """`private._kernels.calibrate` for rows that the next row knows: it changes with them.

    follows: (rows + 1,) whether a row stands after one of the same parent; before: column j of a row is
    column before + j of the next.
    """
    sizes, own_at, edges, outside = graph.sizes, graph.own, graph.edges, graph.outside
    other, rows, blocks, widths, inner_at = graph.other, graph.rows, graph.blocks, graph.widths, graph.inner
    table, step, far_step, inner, zeros = graph.table, graph.step, graph.far, weights.inner, graph.zeros
    w_own, w_far = weights.own, weights.edges
    d = len(sizes)
    row, new = np.empty(d, np.int64), np.empty(d, np.int64)
    near, there = np.empty(d, np.int64), np.empty(d, np.int64)
    shadow = np.empty(MAX_WIDTH, np.int64)
    single, out = np.empty((MAX_WIDTH, sizes.max() + SLACK)), np.empty(_room(graph) + SLACK)
    at = np.empty(len(other) + 1, np.uint64)
    taken = 0
    for r in range(codes.shape[1]):
        row[:] = codes[:, r]
        new[:] = row
        if follows[r + 1]:
            near[:] = codes[:, r + 1]
            there[:] = near
        for b in range(len(widths)):
            states = _states(
                row, blocks[b], widths[b], sizes, own_at, edges, outside, other, rows,
                w_own, w_far, inner, inner_at[b], at, single, out,
            )  # fmt: skip
            if zeros[b] < zeros[b + 1]:
                _forbid(graph, row, b, states, out)
            state = _pick(out, states, words[r, 2 * b])
            changed = False
            for v in range(widths[b] - 1, -1, -1):
                if state < 0:
                    break
                column = blocks[b, v]
                new[column] = state % sizes[column]
                state //= sizes[column]
                changed |= new[column] != row[column]
            if not changed:
                continue
            change = _move(
                row, new, blocks[b], widths[b], own_at, edges, outside, other, table, step, far_step,
                targets.pairs, targets.own, 0.0,
            )  # fmt: skip
            if follows[r + 1]:
                for v in range(widths[b]):
                    shadow[v] = blocks[b, v] + before
                    there[shadow[v]] = new[blocks[b, v]]
                change += _move(
                    near, there, shadow, widths[b], own_at, edges, outside, other, table, step, far_step,
                    targets.pairs, targets.own, 0.0,
                )  # fmt: skip
            u = np.float64(words[r, 2 * b + 1] >> np.uint64(11)) * 2.0**-53
            if change > 0 and u >= np.exp(-beta * change):
                _copy(row, new, blocks[b], widths[b], 0)
                if follows[r + 1]:
                    _copy(near, there, blocks[b], widths[b], before)
                continue
            taken += 1
            _move(
                row, new, blocks[b], widths[b], own_at, edges, outside, other, table, step, far_step,
                targets.pairs, targets.own, 1.0,
            )  # fmt: skip
            _copy(new, row, blocks[b], widths[b], 0)
            if follows[r + 1]:
                _move(
                    near, there, shadow, widths[b], own_at, edges, outside, other, table, step, far_step,
                    targets.pairs, targets.own, 1.0,
                )  # fmt: skip
                _copy(there, near, blocks[b], widths[b], before)
        codes[:, r] = row
        if follows[r + 1]:
            codes[:, r + 1] = near
    return taken
