"""Rows to be released: drawn from the model, then moved until their tables are the wanted ones.

Rows drawn one by one have sampling error on top of the noise. Here each proposal of a Gibbs sweep is accepted
with min(1, exp(-beta dF)), F = sum (count - T)^2 / (T + 5 + sigma^2 / 2), beta = 1, 2, 4, ... The recipe has
no sigma^2; with it a table that was measured with much noise is followed less closely: where others
contradict its noise, they are right.
"""

from __future__ import annotations

import numpy as np

from sfumato.progress import report
from sfumato.seeds import Key
from sfumato.synthesis.private.layout import Codes, Targets
from sfumato.synthesis.private.potentials import Potentials
from sfumato.synthesis.private.triples import none

WARM_UP = 2
ROUNDS = 6
_SLACK = 5.0
_DOUBT = 0.5


def calibrated(model: Potentials, rows: int, key: Key) -> Codes:
    """So many rows, (columns, rows), whose tables are the wanted ones up to what whole rows can do."""
    from sfumato.synthesis.private import _kernels

    wanted = model.wanted
    out = model.start(key, 0, rows)
    for number in range(WARM_UP):
        report("drawing rows", number, WARM_UP + ROUNDS)
        model.sweep(out, key.derive("warming up"), number)
    scale = rows / wanted.rows
    pairs, own = wanted.flat * scale, wanted.own_flat * scale
    doubt = _DOUBT * (wanted.cell_sigma * scale) ** 2
    graph = model.graph
    counts = wanted.counts(out)
    levels = np.empty(len(own), np.int64)
    _kernels.count_levels(out, graph.own, levels)
    targets = Targets(
        np.stack([counts - pairs, 1 / (pairs + _SLACK + doubt)], axis=1),
        np.stack([levels - own, 1 / (own + _SLACK)], axis=1),
    )
    triples = model.triples
    layout, cells = none(wanted.sizes)
    stream = key.derive("calibrating")
    for number in range(ROUNDS):
        report("drawing rows", WARM_UP + number, WARM_UP + ROUNDS)
        words = stream.words(number, 0, rows, 2 * model.blocks).reshape(rows, 2 * model.blocks)
        if triples is not None and number == ROUNDS - triples.rounds:
            layout, cells = triples.layout, triples.cells(out)
        _kernels.calibrate(out, words, graph, model.weights, targets, 2.0**number, layout, cells)
    return out
