"""Tables of three columns that rows are made to follow: those of the model, not of the data.

Only pairs are measured. But a few ten thousand rows drawn from a model of pairs have sampling error in every
table of three columns, on top of what the model does not know. So the tables of three columns that many
particles show, made to fit the pairs, are followed too while rows are calibrated. It is arithmetic on
potentials, and costs nothing of the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sfumato.synthesis.private.graph import Pair, starts
from sfumato.synthesis.private.layout import Codes, Floats, TripleLayout

# Of particles whose tables are averaged, and of calibration that follows them: with much noise, with little.
_SWEEPS, _ROUNDS = (4, 8), (1, 3)
_CELLS = 2**18  # of all triples: so that they stay in the processor's cache
_EACH = 66  # triples of a column, on average; as many as 13 columns have
_SCALINGS = 3
_SLACK = 5.0
_WEIGHT = 0.2  # of a triple's cell beside a pair's: there are many more, and pairs are what was measured


@dataclass(frozen=True, eq=False)
class TripleTables:
    """What rows should show of three columns. tables: one after the other, for `rows` rows.

    rounds: the last so many of calibration follow them.
    """

    layout: TripleLayout
    tables: Floats
    rows: float
    rounds: int

    def cells(self, rows: Codes) -> Floats:
        """Of each cell, by how many rows it is above what is wanted, and what a miss costs."""
        from sfumato.synthesis.private import _triple_kernels

        wanted = self.tables * (rows.shape[1] / self.rows)
        shown = np.zeros(len(wanted))
        _triple_kernels.count_triples(rows, self.layout, shown)
        return np.ascontiguousarray(np.stack([shown - wanted, _WEIGHT / (wanted + _SLACK)], axis=1))


def none(sizes: Sequence[int]) -> tuple[TripleLayout, Floats]:
    """No triples, and no cells of them."""
    return layout_of([], sizes), np.zeros((1, 2))


def shown_by(
    particles: Codes,
    sweep: Callable[[Codes, int], None],
    pairs: Sequence[Pair],
    tables: Sequence[Floats],
    ties: Sequence[float],
    sizes: Sequence[int],
    sigma: Floats,
) -> TripleTables:
    """Tables of three columns from particles that go on being drawn, made to fit the tables of pairs.

    ties, sigma: of each pair, the share of rows that dependence moves, and the noise of a cell. Where that is
    less than the sampling error of rows, it is worth to be exact.
    """
    from sfumato.synthesis.private import _triple_kernels

    layout = layout_of(chosen(pairs, ties, sizes), sizes)
    rows, out = particles.copy(), np.zeros(int(layout.starts[-1]))
    many = float(tables[0].sum())
    little = float(np.median(sigma**2 * [t.size for t in tables])) < many
    sweeps, rounds = _SWEEPS[little], _ROUNDS[little]
    for number in range(sweeps):
        sweep(rows, number)
        _triple_kernels.count_triples(rows, layout, out)
    out *= many / (sweeps * rows.shape[1])
    place = {pair: q for q, pair in enumerate(pairs)}
    edges = [
        [place.get((a, b), -1), place.get((a, c), -1), place.get((b, c), -1)]
        for a, b, c in layout.columns.tolist()
    ]
    _triple_kernels.fit_triples(
        out, layout, np.array(sizes, np.int64), np.array(edges, np.int64).reshape(-1, 3),
        starts([t.size for t in tables]), np.concatenate([t.ravel() for t in tables]), _SCALINGS,
    )  # fmt: skip
    return TripleTables(layout, out, many, rounds)


def chosen(pairs: Sequence[Pair], worth: Sequence[float], sizes: Sequence[int]) -> list[tuple[int, int, int]]:
    """The triples that are followed: all, or those of the pairs that tie their columns most.

    worth: of each pair, the share of rows that dependence moves.
    """
    tie = np.zeros((len(sizes), len(sizes)))
    for (a, b), share in zip(pairs, worth, strict=True):
        tie[a, b] = tie[b, a] = share
    near = [(a, b) for a, b in combinations(range(len(sizes)), 2) if tie[a, b] > 0]
    few = len(sizes) * (len(sizes) - 1) * (len(sizes) - 2) / 6 <= _EACH * len(sizes) / 3
    found: dict[tuple[int, int, int], float] = {}
    for a, b in combinations(range(len(sizes)), 2) if few else near:
        for c in range(len(sizes)):
            if c not in (a, b):
                first, second, third = sorted((a, b, c))
                found[first, second, third] = tie[a, b] + tie[a, c] + tie[b, c]
    out, room = [], _CELLS
    for triple in sorted(found, key=lambda t: (-found[t], t))[: max(_EACH * len(sizes) // 3, 1)]:
        cells = int(np.prod([sizes[j] for j in triple]))
        if cells <= room:
            out.append(triple)
            room -= cells
    return sorted(out)


def layout_of(triples: Sequence[tuple[int, int, int]], sizes: Sequence[int]) -> TripleLayout:
    """The triples in flat arrays, for the kernels."""
    columns = np.array(triples, np.int64).reshape(-1, 3)
    begin = starts([sizes[a] * sizes[b] * sizes[c] for a, b, c in triples])
    wide = np.array(sizes, np.int64)[columns]
    steps = np.stack([wide[:, 1] * wide[:, 2], wide[:, 2], np.ones(len(columns), np.int64)], axis=1)
    place = np.concatenate([np.full(len(columns), v) for v in range(3)])
    triple = np.tile(np.arange(len(columns)), 3)
    own = columns[triple, place]
    order = np.argsort(own, kind="stable")
    place, triple = place[order], triple[order]
    others = (place + 1) % 3, (place + 2) % 3
    return TripleLayout(
        columns=columns,
        starts=begin,
        steps=np.ascontiguousarray(steps[:, :2]),
        of=np.searchsorted(own[order], np.arange(len(sizes) + 1)).astype(np.int64),
        begin=begin[triple],
        step=steps[triple, place],
        first=columns[triple, others[0]],
        second=columns[triple, others[1]],
        first_step=steps[triple, others[0]],
        second_step=steps[triple, others[1]],
    )
