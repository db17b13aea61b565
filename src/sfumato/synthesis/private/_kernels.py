"""The loops of the private synthesizer: pair counts, block Gibbs sweeps, and sweeps that meet the tables.

Rows are (columns, rows) arrays of codes. A model is a product of weights: w_j(x_j) for every column and
w_ij(x_i, x_j) = exp(theta_ij) for every edge, so a conditional is a product of table rows, without any exp.
Words of 64 bits come in from outside, addressed by row, so a row is the same wherever it is drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled
from sfumato.synthesis.private.layout import (
    MAX_WIDTH,
    Codes,
    Floats,
    GraphLayout,
    Ints,
    PotentialWeights,
    Targets,
)

Words = NDArray[np.uint64]


@compiled
def count_pairs(rows: Codes, first: Ints, second: Ints, sizes: Ints, starts: Ints, out: Ints) -> None:
    """The table of every pair, one after the other in `out`; cell (a, b) is at starts + a * levels + b."""
    out[:] = 0
    for p in range(len(first)):
        a = rows[first[p]]
        b = rows[second[p]]
        levels = sizes[second[p]]
        start = starts[p]
        for r in range(rows.shape[1]):
            out[start + a[r] * levels + b[r]] += 1


@compiled
def count_levels(rows: Codes, starts: Ints, out: Ints) -> None:
    """How often each level of each column occurs, one column after the other."""
    out[:] = 0
    for j in range(rows.shape[0]):
        for r in range(rows.shape[1]):
            out[starts[j] + rows[j, r]] += 1


@compiled
def _states(
    row: Ints, block: Ints, width: int, sizes: Ints, own_at: Ints, edges: Ints, outside: Ints, other: Ints,
    rows: Ints, own: Floats, far: Floats, inner: Floats, single: Floats, out: Floats,
) -> int:  # fmt: skip
    """The weight of every joint state of a block, given the rest of the row; how many states there are.

    single[v] is what the row outside the block says of its column v: w_j(x_j) prod over k of w_jk(x_j, x_k),
    scaled so that the largest is 1. inner: the weights of pairs within the block.
    The arrays come one by one: handing on the whole graph takes longer than the arithmetic.
    """
    for v in range(width):
        column = block[v]
        levels = sizes[column]
        start = own_at[column]
        for s in range(levels):
            single[v, s] = own[start + s]
        for e in range(edges[column], outside[column]):
            start = rows[e] + row[other[e]] * levels
            for s in range(levels):
                single[v, s] *= far[start + s]
        top = 0.0
        for s in range(levels):
            top = max(top, single[v, s])
        if top > 0:
            top = 1 / top
            for s in range(levels):
                single[v, s] *= top
    first = sizes[block[0]]
    i = 0
    if width == 1:
        for a in range(first):
            out[i] = single[0, a]
            i += 1
        return i
    second = sizes[block[1]]
    if width == 2:
        for a in range(first):
            for b in range(second):
                out[i] = single[0, a] * single[1, b] * inner[i]
                i += 1
        return i
    third = sizes[block[2]]
    for a in range(first):
        for b in range(second):
            both = single[0, a] * single[1, b]
            for c in range(third):
                out[i] = both * single[2, c] * inner[i]
                i += 1
    return i


@compiled
def _pick(weights: Floats, states: int, word: int) -> int:
    """A state in proportion to its weight; -1 if all are 0. The weights become their running sums."""
    total = 0.0
    for s in range(states):
        total += weights[s]
        weights[s] = total
    if not total > 0:
        return -1
    wanted = np.float64(word >> np.uint64(11)) * 2.0**-53 * total
    low = 0
    high = states - 1
    while low < high:
        middle = (low + high) >> 1
        if weights[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def _forbid(graph: GraphLayout, row: Ints, block: int, states: int, out: Floats) -> None:
    """Weight 0 for states that complete a structural zero."""
    for place in range(graph.zeros[block], graph.zeros[block + 1]):
        zero = graph.met[place]
        near = True  # whether the columns outside the block are all in their masks
        for c in range(graph.zero_columns.shape[1]):
            column = graph.zero_columns[zero, c]
            if column < 0:
                break
            inside = False
            for v in range(graph.widths[block]):
                inside |= graph.blocks[block, v] == column
            if not inside and not graph.masks[graph.zero_masks[zero, c] + row[column]]:
                near = False
                break
        if not near:
            continue
        for state in range(states):
            rest = state
            hit = True
            for v in range(graph.widths[block] - 1, -1, -1):
                column = graph.blocks[block, v]
                code = rest % graph.sizes[column]
                rest //= graph.sizes[column]
                for c in range(graph.zero_columns.shape[1]):
                    if graph.zero_columns[zero, c] == column:
                        hit &= graph.masks[graph.zero_masks[zero, c] + code]
            if hit:
                out[state] = 0.0


@compiled
def sweep(codes: Codes, words: Words, graph: GraphLayout, weights: PotentialWeights) -> None:
    """One sweep of block Gibbs: every block of every row drawn given the rest.  words: (rows, blocks)."""
    sizes, own_at, edges, outside = graph.sizes, graph.own, graph.edges, graph.outside
    other, rows, blocks, widths, inner_at = graph.other, graph.rows, graph.blocks, graph.widths, graph.inner
    own, far, inner, zeros = weights.own, weights.edges, weights.inner, graph.zeros
    d = len(sizes)
    row = np.empty(d, np.int64)
    single, out = np.empty((MAX_WIDTH, sizes.max())), np.empty(_room(graph))
    for r in range(codes.shape[1]):
        for j in range(d):
            row[j] = codes[j, r]
        for b in range(len(widths)):
            states = _states(
                row, blocks[b], widths[b], sizes, own_at, edges, outside, other, rows,
                own, far, inner[inner_at[b] :], single, out,
            )  # fmt: skip
            if zeros[b] < zeros[b + 1]:
                _forbid(graph, row, b, states, out)
            state = _pick(out, states, words[r, b])
            if state < 0:
                continue  # nothing is possible beside the rest of the row: it stays as it is
            for v in range(widths[b] - 1, -1, -1):
                column = blocks[b, v]
                row[column] = state % sizes[column]
                state //= sizes[column]
        for j in range(d):
            codes[j, r] = row[j]


@compiled
def _room(graph: GraphLayout) -> int:
    """How many states the largest block has."""
    most = 1
    for b in range(len(graph.widths)):
        states = 1
        for v in range(graph.widths[b]):
            states *= graph.sizes[graph.blocks[b, v]]
        most = max(most, states)
    return most


@compiled
def _move(
    row: Ints, new: Ints, block: Ints, width: int, own_at: Ints, edges: Ints, outside: Ints, other: Ints,
    table: Ints, step: Ints, far: Ints, pairs: Ints, own: Ints, by: int,
    wanted: Floats, costs: Floats, own_wanted: Floats, own_costs: Floats,
) -> float:  # fmt: skip
    """By how much F changes if a row becomes `new` in a block; with by = 1 the counts are moved as well.

    F = sum cost (count - wanted)^2. A row leaves one cell of each table and enters another: the change is
    cost (1 - 2 (count - wanted)) there and cost (1 + 2 (count - wanted)) here.
    """
    change = 0.0
    for v in range(width):
        column = block[v]
        if new[column] != row[column]:
            i = own_at[column] + row[column]
            k = own_at[column] + new[column]
            change += (1 - 2 * (own[i] - own_wanted[i])) * own_costs[i]
            change += (1 + 2 * (own[k] - own_wanted[k])) * own_costs[k]
            own[i] -= by
            own[k] += by
        for e in range(edges[column], edges[column + 1]):
            if e >= outside[column] and other[e] < column:
                continue  # a pair inside the block counts once, from its first column
            i = table[e] + row[column] * step[e] + row[other[e]] * far[e]
            k = table[e] + new[column] * step[e] + new[other[e]] * far[e]
            if i == k:
                continue
            change += (1 - 2 * (pairs[i] - wanted[i])) * costs[i]
            change += (1 + 2 * (pairs[k] - wanted[k])) * costs[k]
            pairs[i] -= by
            pairs[k] += by
    return change


@compiled
def calibrate(
    codes: Codes,
    words: Words,
    graph: GraphLayout,
    weights: PotentialWeights,
    targets: Targets,
    pairs: Ints,
    own: Ints,
    beta: float,
) -> int:
    """One sweep that proposes from the Gibbs conditional and accepts with min(1, exp(-beta dF)).

    words: (rows, 2 blocks), one to propose and one to accept; pairs, own: the counts of the rows, kept up to
    date. How many proposals were accepted.
    """
    sizes, own_at, edges, outside = graph.sizes, graph.own, graph.edges, graph.outside
    other, rows, blocks, widths, inner_at = graph.other, graph.rows, graph.blocks, graph.widths, graph.inner
    table, step, far_step, inner, zeros = graph.table, graph.step, graph.far, weights.inner, graph.zeros
    w_own, w_far = weights.own, weights.edges
    wanted, costs, own_wanted, own_costs = targets.pairs, targets.pair_costs, targets.own, targets.own_costs
    d = len(sizes)
    row, new = np.empty(d, np.int64), np.empty(d, np.int64)
    single, out = np.empty((MAX_WIDTH, sizes.max())), np.empty(_room(graph))
    taken = 0
    for r in range(codes.shape[1]):
        for j in range(d):
            row[j] = codes[j, r]
            new[j] = row[j]
        for b in range(len(widths)):
            states = _states(
                row, blocks[b], widths[b], sizes, own_at, edges, outside, other, rows,
                w_own, w_far, inner[inner_at[b] :], single, out,
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
                pairs, own, 0, wanted, costs, own_wanted, own_costs,
            )  # fmt: skip
            u = np.float64(words[r, 2 * b + 1] >> np.uint64(11)) * 2.0**-53
            accepted = change <= 0 or u < np.exp(-beta * change)
            if accepted:
                taken += 1
                _move(
                    row, new, blocks[b], widths[b], own_at, edges, outside, other, table, step, far_step,
                    pairs, own, 1, wanted, costs, own_wanted, own_costs,
                )  # fmt: skip
            for v in range(widths[b]):
                column = blocks[b, v]
                if accepted:
                    row[column] = new[column]
                else:
                    new[column] = row[column]
        for j in range(d):
            codes[j, r] = row[j]
    return taken
