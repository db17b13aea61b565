"""Which columns hang together: the edges of the model, the blocks that are drawn at once, what cannot be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.synthesis.constraints import Zero
from sfumato.synthesis.private.layout import MAX_WIDTH, Bools, GraphLayout, Ints

Pair = tuple[int, int]

_STATES = 128  # of a block
_TIED = 0.05  # share of the rows that dependence moves, from which two columns may share a block


def starts(sizes: Sequence[int] | Ints) -> Ints:
    """Where each of several runs begins when they lie one after the other, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def blocks_of(
    ties: Mapping[Pair, float], sizes: Sequence[int], states: int = _STATES
) -> list[tuple[int, ...]]:
    """Columns put together, the strongest ties first: at most three to a block, and so many states.

    Sweeps that draw one column at a time stick where a cell of a table is (nearly) empty: a husband
    never becomes a wife by way of a male wife. Drawn together, they do not.
    """
    home: dict[int, tuple[int, ...]] = {j: (j,) for j in range(len(sizes))}
    for (a, b), tie in sorted(ties.items(), key=lambda item: (-item[1], item[0])):
        both = tuple(sorted({*home[a], *home[b]}))
        fits = len(both) <= MAX_WIDTH and math.prod(sizes[j] for j in both) <= states
        if tie >= _TIED and home[a] != home[b] and fits:
            home.update(dict.fromkeys(both, both))
    return list(dict.fromkeys(home[j] for j in range(len(sizes))))


def build(
    pairs: Sequence[Pair], blocks: Sequence[tuple[int, ...]], sizes: Sequence[int], zeros: Sequence[Zero] = ()
) -> GraphLayout:
    """The graph in flat arrays, for the kernels."""
    table = starts([sizes[a] * sizes[b] for a, b in pairs])
    edges, outside, other, rows, begin, step, far = [0], [], [], [], [], [], []
    room = 0
    for j in range(len(sizes)):
        mine = _edges_of(j, pairs, blocks)
        for q, k, _ in mine:
            wide = sizes[pairs[q][1]]
            other.append(k)
            rows.append(room)
            begin.append(int(table[q]))
            step.append(wide if j < k else 1)
            far.append(1 if j < k else wide)
            room += sizes[j] * sizes[k]
        outside.append(edges[-1] + sum(not within for _, _, within in mine))
        edges.append(len(other))
    padded = np.full((len(blocks), MAX_WIDTH), -1, np.int64)
    for b, columns in enumerate(blocks):
        padded[b, : len(columns)] = columns
    met = [[z for z, zero in enumerate(zeros) if {*zero.columns} & {*columns}] for columns in blocks]

    def whole(values: object) -> Ints:
        return np.array(values, np.int64)

    columns_of, mask_at, masks = _flat_zeros(zeros)
    return GraphLayout(
        sizes=whole(sizes),
        own=starts(sizes),
        edges=whole(edges),
        outside=whole(outside),
        other=whole(other),
        rows=whole(rows),
        table=whole(begin),
        step=whole(step),
        far=whole(far),
        blocks=padded,
        widths=whole([len(c) for c in blocks]),
        inner=starts([math.prod(sizes[j] for j in c) for c in blocks]),
        zeros=starts([len(m) for m in met]),
        met=whole([z for m in met for z in m]),
        zero_columns=columns_of,
        zero_masks=mask_at,
        masks=masks,
    )


def _flat_zeros(zeros: Sequence[Zero]) -> tuple[Ints, Ints, Bools]:
    width = max((len(z.columns) for z in zeros), default=1)
    columns, masks = np.full((len(zeros), width), -1, np.int64), np.zeros((len(zeros), width), np.int64)
    flat: list[bool] = []
    for z, zero in enumerate(zeros):
        for c, (column, mask) in enumerate(zip(zero.columns, zero.masks, strict=True)):
            columns[z, c], masks[z, c] = column, len(flat)
            flat += mask.tolist()
    return columns, masks, np.array(flat, np.bool_)


def _edges_of(
    column: int, pairs: Sequence[Pair], blocks: Sequence[tuple[int, ...]]
) -> list[tuple[int, int, bool]]:
    """The edges of a column: which pair, the other column, whether both are in one block; those last."""
    block = next(b for b in blocks if column in b)
    found = [(q, b if column == a else a) for q, (a, b) in enumerate(pairs) if column in (a, b)]
    return sorted(((q, k, k in block) for q, k in found), key=lambda edge: edge[2])


def table_order(pairs: Sequence[Pair], blocks: Sequence[tuple[int, ...]], sizes: Sequence[int]) -> Ints:
    """For each place among the edges' weights, its place among the pairs' tables."""
    table = starts([sizes[a] * sizes[b] for a, b in pairs])
    parts = []
    for j in range(len(sizes)):
        for q, k, _ in _edges_of(j, pairs, blocks):
            cells = np.arange(table[q], table[q + 1]).reshape([sizes[c] for c in pairs[q]])
            parts.append((cells.T if j < k else cells).ravel())
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
