"""Inner loops of the trees: typed, free of I/O, imported when first needed.

Symbols and numbers of equations are those of chapter 5 of Park's dissertation. A contingency table is
written n11, n10, n01, n00: rows with (X = i, Y = j).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled


@compiled
def h(d: float, log_r: float) -> float:
    """(r^d - 1) / d, and log r at d = 0: one expression on both sides of the limits of Eq. (5.4), (5.6)."""
    return log_r if abs(d) < 1e-100 else math.expm1(d * log_r) / d  # below, the product loses digits


@compiled
def divergence_term(p: float, q: float, u: float, alpha: float) -> float:
    """One cell of Eq. (5.1): (alpha p + (1 - alpha) q - p^alpha q^(1 - alpha)) / (alpha (1 - alpha)).

    u = p/q - 1 is given by the caller, who has it without cancellation. With r = 1 + u the cell is
    q (h(alpha - 1, r) r - u) / alpha = q (u - h(alpha, r)) / (1 - alpha); the one is taken that divides by
    the number farther from 0, so that nothing is lost near alpha = 0 and alpha = 1.
    """
    if q == 0.0:
        return 0.0 if p == 0.0 else math.inf
    if p == 0.0:
        return q / alpha if alpha > 0.0 else math.inf
    log_r = math.log1p(u)
    if alpha >= 0.5:
        return q * ((1.0 + u) * h(alpha - 1.0, log_r) - u) / alpha
    return q * (u - h(alpha, log_r)) / (1.0 - alpha)


@compiled
def alpha_gain(n11: int, n10: int, n01: int, n00: int, alpha: float) -> float:
    """The alpha-gain of a table, D_alpha(P(X, Y) || P(X) P(Y)) by Eq. (5.1); 0 where a margin is empty.

    p/q - 1 = (n_ij n.. - n_i. n_.j) / (n_i. n_.j) in whole numbers, so independence gives exactly 0.
    """
    n = n11 + n10 + n01 + n00
    x1, x0, y1, y0 = n11 + n10, n01 + n00, n11 + n01, n10 + n00
    if x1 == 0 or x0 == 0 or y1 == 0 or y0 == 0:
        return 0.0
    total = 0.0
    for i in range(4):
        cell = n11 if i == 0 else n10 if i == 1 else n01 if i == 2 else n00
        margin = (x1 if i < 2 else x0) * (y1 if i % 2 == 0 else y0)
        u = float(cell * n - margin) / float(margin)
        total += divergence_term(cell / n, float(margin) / n / n, u, alpha)
    return max(total, 0.0)


@compiled
def gain_range(n11: int, n10: int, n01: int, n00: int, alpha: float) -> tuple[float, float]:
    """Algorithm 5's kappa and lambda: least and largest alpha-gain over the 8 cases of Table 5.1.

    A case that takes a row from an empty cell cannot happen and is left out.
    """
    kappa, lambda_ = math.inf, -math.inf
    for case in range(8):
        step = 1 if case < 4 else -1
        which = case % 4
        a, b = n11 + step * (which == 0), n10 + step * (which == 1)
        c, d = n01 + step * (which == 2), n00 + step * (which == 3)
        if min(min(a, b), min(c, d)) < 0:
            continue
        gain = alpha_gain(a, b, c, d, alpha)
        kappa, lambda_ = min(kappa, gain), max(lambda_, gain)
    return kappa, lambda_


@compiled
def passes(code: int, test: int, cuts: int, ordered: bool) -> bool:
    """Whether a row with this code goes right.

    ordered: codes 0..cuts are bins, cuts + 1 is missing. Tests 0..cuts-1 ask for a bin above, missing goes
    left; the next `cuts` tests let missing go right; the last asks for missing. Not ordered: test = code.
    """
    if not ordered:
        return code == test
    if test < cuts:
        return test < code <= cuts
    if test < 2 * cuts:
        return code > test - cuts
    return code == cuts + 1


@compiled
def candidates(
    codes: NDArray[np.int32],
    y: NDArray[np.uint8],
    rows: NDArray[np.int64],
    cuts: NDArray[np.int64],
    ordered: NDArray[np.bool_],
    missing: NDArray[np.bool_],
    alpha: float,
    min_leaf: int,
    test: NDArray[np.int64],
    gain: NDArray[np.float64],
    table: NDArray[np.int64],
) -> None:
    """Of each variable the test with the largest alpha-gain at a node; the first of equals.

    codes: (variables, n); rows: (m,), those at the node; cuts: (variables,), bins or levels less one. Out:
    test, -1 where none leaves min_leaf rows on both sides; gain; table: (variables, 4), n11 n10 n01 n00.
    """
    for v in range(codes.shape[0]):
        bins = cuts[v] + 2  # the last is missing
        counts = np.zeros((bins, 2), np.int64)
        whole = np.zeros(2, np.int64)
        for i in range(rows.shape[0]):
            counts[codes[v, rows[i]], y[rows[i]]] += 1
        for b in range(bins):
            whole[0] += counts[b, 0]
            whole[1] += counts[b, 1]
        gone = counts[bins - 1]
        tests = (2 * cuts[v] + 1 if missing[v] else cuts[v]) if ordered[v] else cuts[v] + 1 + missing[v]
        # A column of two levels is asked for the second alone: the first would say the same again.
        first = 1 if not ordered[v] and cuts[v] == 1 and not missing[v] else 0
        test[v], gain[v] = -1, -1.0
        low = np.zeros(2, np.int64)
        for t in range(first, tests):
            right0, right1 = counts[min(t, bins - 1), 0], counts[min(t, bins - 1), 1]
            if ordered[v]:
                if t % max(cuts[v], 1) == 0:
                    low[:] = 0
                if t < 2 * cuts[v]:
                    place = t if t < cuts[v] else t - cuts[v]
                    low += counts[place]
                    kept = 1 if t >= cuts[v] else 0
                    right0 = whole[0] - low[0] - (1 - kept) * gone[0]
                    right1 = whole[1] - low[1] - (1 - kept) * gone[1]
                else:
                    right0, right1 = gone[0], gone[1]
            left0, left1 = whole[0] - right0, whole[1] - right1
            if right0 + right1 < min_leaf or left0 + left1 < min_leaf:
                continue
            found = alpha_gain(right1, right0, left1, left0, alpha)
            if found > gain[v]:
                gain[v], test[v] = found, t
                table[v, 0], table[v, 1], table[v, 2], table[v, 3] = right1, right0, left1, left0


@compiled
def leaves(
    codes: NDArray[np.int32],
    variable: NDArray[np.int64],
    test: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    cuts: NDArray[np.int64],
    ordered: NDArray[np.bool_],
    out: NDArray[np.int64],
) -> None:
    """The leaf each row ends in.  codes: (variables, n); variable..right: (nodes,), variable -1 at a leaf."""
    for i in range(codes.shape[1]):
        node = 0
        while variable[node] >= 0:
            v = variable[node]
            node = right[node] if passes(codes[v, i], test[node], cuts[v], ordered[v]) else left[node]
        out[i] = node
