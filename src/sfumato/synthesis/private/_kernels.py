"""The loops of the private synthesizer: pair counts, block Gibbs sweeps, and sweeps that meet the tables.

Rows are (columns, rows) arrays of codes. A model is a product of weights: w_j(x_j) for every column and
w_ij(x_i, x_j) = exp(theta_ij) for every edge, so a conditional is a product of table rows, without any exp.
Words of 64 bits come in from outside, addressed by row, so a row is the same wherever it is drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compiled import compiled
from sfumato.synthesis.private.layout import MAX_WIDTH, Codes, Floats, Graph, Ints, Targets, Weights

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
def _one_column(graph: Graph, weights: Weights, row: Ints, block: int, column: int, out: Floats) -> None:
    """What the rest of the row says of one column of a block: w_j(x_j) prod over other k of w_jk(x_j, x_k)."""
    levels = graph.sizes[column]
    start = graph.own[column]
    for s in range(levels):
        out[s] = weights.own[start + s]
    for e in range(graph.edges[column], graph.edges[column + 1]):
        other = graph.other[e]
        inside = False
        for v in range(graph.widths[block]):
            inside |= graph.blocks[block, v] == other
        if inside:
            continue
        start = graph.rows[e] + row[other] * levels
        for s in range(levels):
            out[s] *= weights.edges[start + s]
    top = 0.0
    for s in range(levels):
        top = max(top, out[s])
    if top > 0:
        top = 1 / top
        for s in range(levels):
            out[s] *= top


@compiled
def _states(graph: Graph, weights: Weights, row: Ints, block: int, single: Floats, out: Floats) -> int:
    """The weight of every joint state of a block, given the rest of the row; how many states there are."""
    for v in range(graph.widths[block]):
        _one_column(graph, weights, row, block, graph.blocks[block, v], single[v])
    inner = graph.inner[block]
    width = graph.widths[block]
    i = 0
    for a in range(graph.sizes[graph.blocks[block, 0]]):
        if width == 1:
            out[i] = single[0, a]
            i += 1
            continue
        for b in range(graph.sizes[graph.blocks[block, 1]]):
            both = single[0, a] * single[1, b]
            if width == 2:
                out[i] = both * weights.inner[inner + i]
                i += 1
                continue
            levels = graph.sizes[graph.blocks[block, 2]]
            for c in range(levels):
                out[i + c] = both * single[2, c] * weights.inner[inner + i + c]
            i += levels
    return i


@compiled
def _forbid(graph: Graph, row: Ints, block: int, states: int, out: Floats) -> None:
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
def _propose(
    graph: Graph, weights: Weights, row: Ints, block: int, word: int, single: Floats, out: Floats, new: Ints
) -> bool:
    """Draw the block from its conditional into `new`; whether anything changed."""
    states = _states(graph, weights, row, block, single, out)
    _forbid(graph, row, block, states, out)
    total = 0.0
    for s in range(states):
        total += out[s]
        out[s] = total
    if not total > 0:
        return False  # nothing is possible beside the rest of the row: it stays as it is
    wanted = np.float64(word >> np.uint64(11)) * 2.0**-53 * total
    low = 0
    high = states - 1
    while low < high:
        middle = (low + high) >> 1
        if out[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    changed = False
    for v in range(graph.widths[block] - 1, -1, -1):
        column = graph.blocks[block, v]
        new[column] = low % graph.sizes[column]
        low //= graph.sizes[column]
        changed |= new[column] != row[column]
    return changed


@compiled
def sweep(rows: Codes, words: Words, graph: Graph, weights: Weights) -> None:
    """One sweep of block Gibbs: every block of every row drawn given the rest.  words: (rows, blocks)."""
    d = rows.shape[0]
    row = np.empty(d, np.int64)
    single, out = np.empty((MAX_WIDTH, graph.sizes.max())), np.empty(_room(graph))
    for r in range(rows.shape[1]):
        for j in range(d):
            row[j] = rows[j, r]
        for b in range(len(graph.widths)):
            _propose(graph, weights, row, b, words[r, b], single, out, row)
        for j in range(d):
            rows[j, r] = row[j]


@compiled
def _room(graph: Graph) -> int:
    """How many states the largest block has."""
    most = 1
    for b in range(len(graph.widths)):
        states = 1
        for v in range(graph.widths[b]):
            states *= graph.sizes[graph.blocks[b, v]]
        most = max(most, states)
    return most


@compiled
def _change(
    graph: Graph,
    targets: Targets,
    pairs: Ints,
    own: Ints,
    block: int,
    row: Ints,
    new: Ints,
    carry: bool,
) -> float:
    """By how much F changes if a row becomes `new` in a block; with `carry`, the counts are moved instead.

    F = sum (count - target)^2 * cost. A row leaves one cell of each table and enters another:
    the change is cost (1 - 2 (count - target)) there and cost (1 + 2 (count - target)) here.
    """
    change = 0.0
    for v in range(graph.widths[block]):
        column = graph.blocks[block, v]
        if new[column] != row[column]:
            i = graph.own[column] + row[column]
            k = graph.own[column] + new[column]
            if carry:
                own[i] -= 1
                own[k] += 1
            else:
                change += (1 - 2 * (own[i] - targets.own[i])) * targets.own_costs[i]
                change += (1 + 2 * (own[k] - targets.own[k])) * targets.own_costs[k]
        for e in range(graph.edges[column], graph.edges[column + 1]):
            other = graph.other[e]
            earlier = False  # a pair inside the block counts once
            for u in range(v):
                earlier |= graph.blocks[block, u] == other
            if earlier:
                continue
            i = graph.table[e] + row[column] * graph.step[e] + row[other] * graph.far[e]
            k = graph.table[e] + new[column] * graph.step[e] + new[other] * graph.far[e]
            if i == k:
                continue
            if carry:
                pairs[i] -= 1
                pairs[k] += 1
            else:
                change += (1 - 2 * (pairs[i] - targets.pairs[i])) * targets.pair_costs[i]
                change += (1 + 2 * (pairs[k] - targets.pairs[k])) * targets.pair_costs[k]
    return change


@compiled
def calibrate(
    rows: Codes,
    words: Words,
    graph: Graph,
    weights: Weights,
    targets: Targets,
    pairs: Ints,
    own: Ints,
    beta: float,
) -> int:
    """One sweep that proposes from the Gibbs conditional and accepts with min(1, exp(-beta dF)).

    words: (rows, 2 blocks), one to propose and one to accept; pairs, own: the counts of the rows, kept up to
    date. How many proposals were accepted.
    """
    d = rows.shape[0]
    row, new = np.empty(d, np.int64), np.empty(d, np.int64)
    single, out = np.empty((MAX_WIDTH, graph.sizes.max())), np.empty(_room(graph))
    taken = 0
    for r in range(rows.shape[1]):
        for j in range(d):
            row[j] = rows[j, r]
            new[j] = row[j]
        for b in range(len(graph.widths)):
            if not _propose(graph, weights, row, b, words[r, 2 * b], single, out, new):
                continue
            change = _change(graph, targets, pairs, own, b, row, new, False)
            u = np.float64(words[r, 2 * b + 1] >> np.uint64(11)) * 2.0**-53
            accepted = change <= 0 or u < np.exp(-beta * change)
            if accepted:
                taken += 1
                _change(graph, targets, pairs, own, b, row, new, True)
            for v in range(graph.widths[b]):
                column = graph.blocks[b, v]
                if accepted:
                    row[column] = new[column]
                else:
                    new[column] = row[column]
        for j in range(d):
            rows[j, r] = row[j]
    return taken
