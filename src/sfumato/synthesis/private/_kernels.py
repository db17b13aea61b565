"""The loops of the private synthesizer: pair counts, block Gibbs sweeps, and sweeps that meet the tables.

Rows are (columns, rows) arrays of codes. A model is a product of weights: w_j(x_j) for every column and
w_ij(x_i, x_j) = exp(theta_ij) for every edge, so a conditional is a product of table rows, without any exp.
Words of 64 bits come in from outside, addressed by row, so a row is the same wherever it is drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled, compiled_lean
from sfumato.synthesis.private._triple_kernels import move_triples
from sfumato.synthesis.private.layout import (
    MAX_WIDTH,
    SLACK,
    Codes,
    Floats,
    GraphLayout,
    Ints,
    PotentialWeights,
    Targets,
    TripleLayout,
)

Words = NDArray[np.uint64]
Places = NDArray[np.uint64]


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


@compiled_lean
def _states(
    row: Ints, block: Ints, width: int, sizes: Ints, own_at: Ints, edges: Ints, outside: Ints, other: Ints,
    rows: Ints, own: Floats, far: Floats, inner: Floats, inner_at: int,
    at: Places, single: Floats, out: Floats,
) -> int:  # fmt: skip
    """The weight of every joint state of a block, given the rest of the row; how many states there are.

    single[v] is what the row outside the block says of its column v: w_j(x_j) prod over k of w_jk(x_j, x_k),
    scaled so that the largest is 1. inner: the weights of pairs within the block, from inner_at on. at: room
    for where a column's edges begin.
    The arrays come one by one: handing on the whole graph takes longer than the arithmetic. Four levels are
    taken at once, beyond the last one if need be: what is read there (arrays are longer by `SLACK`) is used
    for nothing. Places are unsigned, or numba would look for negative ones, one level at a time.
    """
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    for v in range(width):
        column = block[v]
        levels = np.uint64(sizes[column])
        start = np.uint64(own_at[column])
        many = np.uint64(outside[column] - edges[column])
        for e in range(edges[column], outside[column]):
            at[e - edges[column]] = np.uint64(rows[e] + row[other[e]] * sizes[column])
        top = 0.0
        s = np.uint64(0)
        here = np.uint64(v)
        while s < levels:
            a, b = own[start + s], own[start + s + one]
            c, d = own[start + s + two], own[start + s + three]
            for e in range(many):
                i = at[e] + s
                a *= far[i]
                b *= far[i + one]
                c *= far[i + two]
                d *= far[i + three]
            single[here, s], single[here, s + one] = a, b
            single[here, s + two], single[here, s + three] = c, d
            s += four
        if width > 1:  # of one column, weights are drawn from as they are
            for i in range(levels):
                top = max(top, single[here, i])
            if top > 0:
                top = 1 / top
                for i in range(levels):
                    single[here, i] *= top
    zero = np.uint64(0)
    first = np.uint64(sizes[block[0]])
    if width == 1:
        for i in range(first):
            out[i] = single[zero, i]
        return int(sizes[block[0]])
    base = np.uint64(inner_at)
    second = np.uint64(sizes[block[1]])
    i = zero
    if width == 2:
        for k in range(first):
            weight = single[zero, k]
            s = zero
            while s < second:
                a, b = single[one, s] * inner[base + i + s], single[one, s + one] * inner[base + i + s + one]
                c = single[one, s + two] * inner[base + i + s + two]
                d = single[one, s + three] * inner[base + i + s + three]
                out[i + s], out[i + s + one] = weight * a, weight * b
                out[i + s + two], out[i + s + three] = weight * c, weight * d
                s += four
            i += second
        return int(sizes[block[0]] * sizes[block[1]])
    third = np.uint64(sizes[block[2]])
    for k in range(first):
        for j in range(second):
            weight = single[zero, k] * single[one, j]
            s = zero
            while s < third:
                a, b = single[two, s] * inner[base + i + s], single[two, s + one] * inner[base + i + s + one]
                c = single[two, s + two] * inner[base + i + s + two]
                d = single[two, s + three] * inner[base + i + s + three]
                out[i + s], out[i + s + one] = weight * a, weight * b
                out[i + s + two], out[i + s + three] = weight * c, weight * d
                s += four
            i += third
    return int(sizes[block[0]] * sizes[block[1]] * sizes[block[2]])


@compiled_lean
def _pick(weights: Floats, states: int, word: int) -> int:
    """A state in proportion to its weight; -1 if all are 0.  weights: longer than `states` by `SLACK`."""
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    size = np.uint64(states)
    weights[size], weights[size + one], weights[size + two], weights[size + three] = 0.0, 0.0, 0.0, 0.0
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    s = np.uint64(0)
    while s < size:
        a += weights[s]
        b += weights[s + one]
        c += weights[s + two]
        d += weights[s + three]
        s += four
    total = (a + b) + (c + d)
    if not total > 0:
        return -1
    wanted = np.float64(word >> np.uint64(11)) * 2.0**-53 * total
    before = 0.0
    last = np.uint64(0)
    s = np.uint64(0)
    while s < size:
        some = (weights[s] + weights[s + one]) + (weights[s + two] + weights[s + three])
        if some > 0:
            last = s
            if before + some > wanted:
                break
        before += some
        s += four
    # Within the four; rounding may leave nothing above, and then it is the last that can be.
    found = last
    for i in range(last, min(last + four, size)):
        if weights[i] > 0:
            found = np.uint64(i)
            before += weights[i]
            if before > wanted:
                break
    return int(np.int64(found))


@compiled_lean
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
    row, at = np.empty(len(graph.sizes), np.int64), np.empty(len(graph.other) + 1, np.uint64)
    single, out = np.empty((MAX_WIDTH, graph.sizes.max() + SLACK)), np.empty(_room(graph) + SLACK)
    _sweep(codes, words, graph, weights, row, at, single, out)


@compiled_lean
def _sweep(
    codes: Codes, words: Words, graph: GraphLayout, weights: PotentialWeights,
    row: Ints, at: Places, single: Floats, out: Floats,
) -> None:  # fmt: skip
    """`sweep` with room to work in."""
    sizes, own_at, edges, outside = graph.sizes, graph.own, graph.edges, graph.outside
    other, rows, blocks, widths, inner_at = graph.other, graph.rows, graph.blocks, graph.widths, graph.inner
    own, far, inner, zeros = weights.own, weights.edges, weights.inner, graph.zeros
    d = len(sizes)
    for r in range(codes.shape[1]):
        for j in range(d):
            row[j] = codes[j, r]
        for b in range(len(widths)):
            states = _states(
                row, blocks[b], widths[b], sizes, own_at, edges, outside, other, rows,
                own, far, inner, inner_at[b], at, single, out,
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


@compiled_lean
def _room(graph: GraphLayout) -> int:
    """How many states the largest block has."""
    most = 1
    for b in range(len(graph.widths)):
        states = 1
        for v in range(graph.widths[b]):
            states *= graph.sizes[graph.blocks[b, v]]
        most = max(most, states)
    return most


@compiled_lean
def _move(
    row: Ints, new: Ints, block: Ints, width: int, own_at: Ints, edges: Ints, outside: Ints, other: Ints,
    table: Ints, step: Ints, far: Ints, pairs: Floats, own: Floats, by: float,
) -> float:  # fmt: skip
    """By how much F changes if a row becomes `new` in a block; with by = 1 the row is moved as well.

    F = sum cost (count - wanted)^2. A row leaves one cell of each table and enters another: the change is
    cost (1 - 2 (count - wanted)) there and cost (1 + 2 (count - wanted)) here. pairs, own: as of `Targets`.
    """
    change = 0.0
    for v in range(width):
        column = block[v]
        if new[column] != row[column]:
            i = np.uint64(own_at[column] + row[column])
            k = np.uint64(own_at[column] + new[column])
            change += (1 - 2 * own[i, 0]) * own[i, 1] + (1 + 2 * own[k, 0]) * own[k, 1]
            if by != 0:
                own[i, 0] -= by
                own[k, 0] += by
        for e in range(edges[column], edges[column + 1]):
            if e >= outside[column] and other[e] < column:
                continue  # a pair inside the block counts once, from its first column
            i = np.uint64(table[e] + row[column] * step[e] + row[other[e]] * far[e])
            k = np.uint64(table[e] + new[column] * step[e] + new[other[e]] * far[e])
            if i == k:
                continue
            change += (1 - 2 * pairs[i, 0]) * pairs[i, 1] + (1 + 2 * pairs[k, 0]) * pairs[k, 1]
            if by != 0:
                pairs[i, 0] -= by
                pairs[k, 0] += by
    return change


@compiled
def calibrate(
    codes: Codes,
    words: Words,
    graph: GraphLayout,
    weights: PotentialWeights,
    targets: Targets,
    beta: float,
    triples: TripleLayout,
    cells: Floats,
) -> int:
    """One sweep that proposes from the Gibbs conditional and accepts with min(1, exp(-beta dF)).

    words: (rows, 2 blocks), one to propose and one to accept; targets, and cells, those of triples: kept up
    to date. How many proposals were accepted.
    """
    row, new = np.empty(len(graph.sizes), np.int64), np.empty(len(graph.sizes), np.int64)
    at = np.empty(len(graph.other) + 1, np.uint64)
    single, out = np.empty((MAX_WIDTH, graph.sizes.max() + SLACK)), np.empty(_room(graph) + SLACK)
    return _calibrate(codes, words, graph, weights, targets, beta, triples, cells,
                      row, new, at, single, out)  # fmt: skip


@compiled_lean
def _calibrate(
    codes: Codes, words: Words, graph: GraphLayout, weights: PotentialWeights, targets: Targets, beta: float,
    triples: TripleLayout, cells: Floats,
    row: Ints, new: Ints, at: Places, single: Floats, out: Floats,
) -> int:  # fmt: skip
    """`calibrate` with room to work in."""
    sizes, own_at, edges, outside = graph.sizes, graph.own, graph.edges, graph.outside
    other, rows, blocks, widths, inner_at = graph.other, graph.rows, graph.blocks, graph.widths, graph.inner
    table, step, far_step, inner, zeros = graph.table, graph.step, graph.far, weights.inner, graph.zeros
    w_own, w_far = weights.own, weights.edges
    d = len(sizes)
    taken = 0
    for r in range(codes.shape[1]):
        for j in range(d):
            row[j] = codes[j, r]
            new[j] = row[j]
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
            change += move_triples(row, new, blocks[b], widths[b], triples, cells, 0.0)
            u = np.float64(words[r, 2 * b + 1] >> np.uint64(11)) * 2.0**-53
            accepted = change <= 0 or u < np.exp(-beta * change)
            if accepted:
                taken += 1
                _move(
                    row, new, blocks[b], widths[b], own_at, edges, outside, other, table, step, far_step,
                    targets.pairs, targets.own, 1.0,
                )  # fmt: skip
                move_triples(row, new, blocks[b], widths[b], triples, cells, 1.0)
            for v in range(widths[b]):
                column = blocks[b, v]
                if accepted:
                    row[column] = new[column]
                else:
                    new[column] = row[column]
        for j in range(d):
            codes[j, r] = row[j]
    return taken
