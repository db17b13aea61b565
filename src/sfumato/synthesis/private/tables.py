"""From noisy residuals to tables that can be counts: shrunken, never negative, agreeing with each other."""

from __future__ import annotations

import numpy as np

from sfumato.synthesis.private.layout import Bools, Floats

_ROUNDS = 30
_SCALES = np.concatenate([[0.0], (0.02 * 2.0 ** np.arange(11)) ** 2])


def on_simplex(values: Floats, total: float) -> Floats:
    """The nearest (L2) numbers that are not negative and sum to the total."""
    falling = np.sort(values)[::-1]
    over = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(falling > over)[-1]
    return np.asarray(np.maximum(values - over[last], 0.0))


def rake(table: Floats, rows: Floats, columns: Floats, allowed: Bools | None = None) -> Floats:
    """The table scaled along both axes in turn until it has these margins, as far as its zeros let it."""
    raked: Floats = table + 1e-9
    if allowed is not None:
        raked = raked * allowed
    for _ in range(_ROUNDS):
        raked = raked * (rows / np.maximum(raked.sum(axis=1), 1e-12))[:, None]
        raked = raked * (columns / np.maximum(raked.sum(axis=0), 1e-12))
    return raked


def independent(first: Floats, second: Floats, rows: float, allowed: Bools | None = None) -> Floats:
    """m: the table of two columns that have nothing to do with each other, but for what cannot be."""
    table: Floats = np.outer(first, second) / rows
    return table if allowed is None else rake(table, first, second, allowed)


def shrink(table: Floats, towards: Floats, variance: float) -> Floats:
    """Each residual table - m drawn towards 0 by what the noise explains of it.

    The residual of a cell is taken to be N(0, v) with v = phi^2 m mean(m): as of a count, in proportion to m.
    (The recipe has v = (phi m)^2; the power 1 halved the error at epsilon 10, see docs/private.md.) phi is
    one of a grid, the share of each estimated from the table itself by EM; the answer is the posterior mean.
    """
    m = np.maximum(towards.ravel(), 1e-9)
    residual = table.ravel() - towards.ravel()
    v = _SCALES * (m * m.mean())[:, None] + variance
    log_likelihood = -0.5 * (np.log(v) + residual[:, None] ** 2 / v)
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    share = np.full(len(_SCALES), 1 / len(_SCALES))
    for _ in range(_ROUNDS):
        posterior = likelihood * share
        posterior /= posterior.sum(axis=1, keepdims=True)
        share = (posterior.sum(axis=0) + 1 / len(_SCALES)) / (len(m) + 1)
    posterior = likelihood * share
    posterior /= posterior.sum(axis=1, keepdims=True)
    kept = (posterior * (1 - variance / v)).sum(axis=1)
    return np.asarray(towards + (residual * kept).reshape(table.shape))


def estimate(
    residual: Floats,
    variance: float,
    first: Floats,
    second: Floats,
    rows: float,
    allowed: Bools | None = None,
    towards: Floats | None = None,
) -> Floats:
    """The table of a pair from its residual and the single columns: t = H t + what the margins fix.

    towards: what is likely without this table; independent columns if nothing else is known.
    """
    a, b = residual.shape
    table = residual + first[:, None] / b + second[None, :] / a - rows / (a * b)
    likely = independent(first, second, rows, allowed) if towards is None else towards
    shrunken = shrink(table, likely, variance)
    return rake(np.maximum(shrunken, 0.0), first, second, allowed)


def without(
    shown: Floats, potential: Floats, first: Floats, second: Floats, allowed: Bools | None = None
) -> Floats:
    """What a model would show of a pair if it had no potential of this pair: mu exp(-theta), raked.

    p(x) is a product, and a factor that depends on these two columns alone can be taken out of their table.
    shown: mu, the table that particles show. Where they show nobody, theta may have run far below: no cell
    can have more people than its row, or its column.
    """
    most = np.minimum.outer(first, second) + 0.5
    return rake(np.minimum((shown + 0.5) * np.exp(-potential), most), first, second, allowed)
