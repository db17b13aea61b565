"""The loops over tables of three columns: counted, made to fit the pairs, and followed by rows that move."""

from __future__ import annotations

import numpy as np

from sfumato._compilation import compiled, compiled_lean
from sfumato.synthesis.private.layout import Codes, Floats, Ints, TripleLayout


@compiled
def count_triples(rows: Codes, layout: TripleLayout, out: Floats) -> None:
    """Add the tables of some rows to `out`, one triple after the other."""
    for t in range(len(layout.columns)):
        a, b, c = rows[layout.columns[t, 0]], rows[layout.columns[t, 1]], rows[layout.columns[t, 2]]
        far, near, start = layout.steps[t, 0], layout.steps[t, 1], layout.starts[t]
        for r in range(rows.shape[1]):
            out[np.uint64(start + a[r] * far + b[r] * near + c[r])] += 1


@compiled
def fit_triples(
    tables: Floats, layout: TripleLayout, sizes: Ints, edges: Ints, at: Ints, wanted: Floats, rounds: int
) -> None:
    """Scale every table in turn until it has the tables of its pairs, as far as its zeros let it.

    edges: (T, 3) the pair of the first and second column, of the first and third, of the second and third;
    -1 where there is none. at: where each pair begins in `wanted`.
    """
    most = sizes.max()
    shown = np.empty(most * most)
    for t in range(len(layout.columns)):
        own = sizes[layout.columns[t]]
        start, stop = layout.starts[t], layout.starts[t + 1]
        for number in range(3 * rounds):
            pair = edges[t, number % 3]
            if pair < 0:
                continue
            # The cell of the pair that a cell lies in: code of one column times this, of another times that.
            by = (own[1], 1, 0) if number % 3 == 0 else (own[2], 0, 1) if number % 3 == 1 else (0, own[2], 1)
            size = at[pair + 1] - at[pair]
            shown[:size] = 0.0
            for i in range(start, stop):
                b, c = (i - start) // own[2] % own[1], (i - start) % own[2]
                shown[(i - start) // (own[1] * own[2]) * by[0] + b * by[1] + c * by[2]] += tables[i]
            for place in range(size):
                shown[place] = wanted[at[pair] + place] / shown[place] if shown[place] > 0 else 0.0
            for i in range(start, stop):
                b, c = (i - start) // own[2] % own[1], (i - start) % own[2]
                tables[i] *= shown[(i - start) // (own[1] * own[2]) * by[0] + b * by[1] + c * by[2]]


@compiled_lean
def move_triples(
    row: Ints, new: Ints, block: Ints, width: int, layout: TripleLayout, cells: Floats, by: float
) -> float:
    """By how much F of the triples changes if a row becomes `new` in a block; with by = 1 it is moved.

    cells: (cells, 2) the count less what is wanted, and what a miss costs. As `_move` does it for pairs.
    """
    of, begin, step = layout.of, layout.begin, layout.step
    first, second, first_step, second_step = (
        layout.first,
        layout.second,
        layout.first_step,
        layout.second_step,
    )
    change = 0.0
    for v in range(width):
        column = block[v]
        if new[column] == row[column]:
            continue
        for e in range(of[column], of[column + 1]):
            a, b = first[e], second[e]
            if (a < column and new[a] != row[a]) or (b < column and new[b] != row[b]):
                continue  # a triple of which several columns move counts once, from the first of them
            i = np.uint64(begin[e] + row[column] * step[e] + row[a] * first_step[e] + row[b] * second_step[e])
            k = np.uint64(begin[e] + new[column] * step[e] + new[a] * first_step[e] + new[b] * second_step[e])
            change += (1 - 2 * cells[i, 0]) * cells[i, 1] + (1 + 2 * cells[k, 0]) * cells[k, 1]
            if by != 0:
                cells[i, 0] -= by
                cells[k, 0] += by
    return change
