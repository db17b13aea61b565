"""Marginals for the prior of PeGS, noised for their own part of epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy import Budget, Ledger, Neighbours
from sfumato.privacy.noise import laplace
from sfumato.synthesis.blocks import Blocks

if TYPE_CHECKING:
    from sfumato.synthesis.pegs import PeGS


def noised_marginals(method: PeGS, blocks: Blocks) -> dict[str, NDArray[np.float64]]:
    """The share of each level, from noised counts.

    Guarantee: on_prior-DP in the method's neighbours.
    Because:   a row is in one cell of each of the marginals: the L1 sensitivity of all of them together is
               their number, and twice that for replacing a row.
    Assumes:   the domain is public.
    Tested by: tests/synthesis/test_pegs.py::test_a_marginal_prior_has_its_cost
    """
    apart = {*blocks.domain.details, *method.models}
    named = [b for b in blocks.blocks if b.column not in apart]
    tables = [b.counts.project(b.column).dense().astype(np.int64) for b in named]
    factor = 2 if method.neighbours is Neighbours.REPLACE else 1
    ledger = Ledger.in_memory(Budget(epsilon=method.on_prior, neighbours=method.neighbours))
    grant = ledger.grant(epsilon=ledger.budget.amount, purpose="marginals for the prior")
    noisy = laplace(np.concatenate(tables), factor * len(tables), grant).values
    out, start = {}, 0
    for block, table in zip(named, tables, strict=True):
        part = np.maximum(noisy[start : start + len(table)], 0).astype(np.float64)
        out[block.column] = part / part.sum() if part.sum() else np.full(len(part), 1 / len(part))
        start += len(table)
    return out
