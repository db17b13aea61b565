"""LUDIA's alternating minimization (dissertation, Algorithm 2) on sufficient statistics.

Every iterate is U = X B + A' K, so the loop holds B and K and needs only X'X, A X and A A': the number of
people never enters it. A A' is brought to diagonal form first, once; that also takes care of stacked,
rank-deficient A, for what it drops is what no y could produce.

Departures from the print, each shown by a test: V_x is the transpose of what is printed; v_y is weighted by
W = (A A')^+, as derived, not by A A'; where a matrix has no inverse its pseudo-inverse stands, which still
minimizes. Several masked columns share U: v_y, a row in the print, is V_y with a row for each.

Shapes: n people, d columns of X, q independent rows of A, k masked columns, r the rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]
Start = Literal["mp", "er", "random"]
Sharing = Literal["even", "scores", "loadings"]
Draw = Callable[[tuple[int, int]], Real]

_TINY = 1e-10  # of the largest: eigenvalues below it are rounding


@dataclass(frozen=True, eq=False)
class Statistics:
    """All that the loop sees of the data, with A turned so that its rows are orthogonal.

    xx: (d, d), X'X.  ax: (q, d), A X.  aa: (q,), the diagonal of A A', positive.  s: (q, k), A y.
    turn: (q, p), from the published rows to these; None where they are the same.
    """

    xx: Real
    ax: Real
    aa: Real
    s: Real
    turn: Real | None = None

    def back(self, rows: Real) -> Real:
        """Coefficients of the turned rows (q, k) as coefficients of the published rows (p, k)."""
        return rows if self.turn is None else self.turn.T @ rows


def diagonal(xx: Real, ax: Real, gram: Real, s: Real) -> tuple[Statistics, Real]:
    """The statistics with A A' diagonal, and what of s no y can produce, (p, k).

    gram: (p,) the diagonal of A A' for a partition, or (p, p) in general.
    """
    if gram.ndim == 1:
        return Statistics(xx, ax, gram, s), np.zeros_like(s)
    values, vectors = np.linalg.eigh(gram)
    kept = values > _TINY * max(values[-1], 0.0)
    turn = np.ascontiguousarray(vectors[:, kept].T)
    # With A = Q L^(1/2) R', Q'A has orthogonal rows; Pi outside the span of Q is zero in every iterate.
    return Statistics(xx, turn @ ax, values[kept], turn @ s, turn), s - turn.T @ (turn @ s)


@dataclass(frozen=True, eq=False)
class Iterate:
    """One iterate.  b: (d, r), k: (q, r), with U = X b + A' k.  pi: (q, r).  vx: (d, r).  vy: (k, r)."""

    b: Real
    k: Real
    pi: Real
    vx: Real
    vy: Real

    @property
    def slopes(self) -> Real:
        """beta = B v_y, (d, k): the part of U v_y that depends on the person."""
        return self.b @ self.vy.T

    @property
    def offsets(self) -> Real:
        """K v_y, (q, k): the part that depends on the group."""
        return self.k @ self.vy.T


# -- the updates -----------------------------------------------------------------------------------


def update_u(t: Statistics, pi: Real, vx: Real) -> tuple[Real, Real]:
    """Section 4.3.3: U V_x'V_x + A'A U = X V_x + A' Pi, solved for U = X B + A' K.

    With V_x'V_x = E D E', column j of U E is X f/d + A' (d + AA')^-1 (g - A X f/d), f = V_x e, g = Pi e.
    Unique exactly when V_x has full column rank; otherwise the smallest solution.
    """
    values, e = np.linalg.eigh(vx.T @ vx)
    sound = values > _TINY * max(values[-1], np.finfo(float).tiny)
    inverse = np.where(sound, 1.0 / np.where(sound, values, 1.0), 0.0)
    b = (vx @ e) * inverse
    k = (pi @ e - t.ax @ b) / (np.where(sound, values, 0.0) + t.aa[:, None])
    return b @ e.T, k @ e.T


def project_u(t: Statistics, b: Real, k: Real) -> Real:
    """A U = A X B + A A' K, (q, r)."""
    out: Real = t.ax @ b + t.aa[:, None] * k
    return out


def update_pi(t: Statistics, au: Real, vy: Real) -> Real:
    """Section 4.3.3: W Pi v_y'v_y + Pi = W s v_y + A U.  Always has exactly one solution."""
    values, e = np.linalg.eigh(vy.T @ vy)
    right = (t.s @ vy + t.aa[:, None] * au) @ e
    out: Real = (right / (t.aa[:, None] + np.maximum(values, 0.0))) @ e.T
    return out


def update_vx(t: Statistics, b: Real, k: Real) -> tuple[Real, Real, Real]:
    """Section 4.3.3: V_x' = (U'U)^+ U'X (printed as V_x).  Also gives U'U and U'X."""
    zk = t.ax.T @ k
    ux = b.T @ t.xx + zk.T
    uu = ux @ b + b.T @ zk + k.T @ (t.aa[:, None] * k)
    uu = (uu + uu.T) / 2
    return _solve(uu, ux).T, uu, ux


def update_vy(t: Statistics, pi: Real) -> Real:
    """Section 4.3.3: v_y' = (Pi'W Pi)^+ Pi'W s (Algorithm 2 prints A A' where W was derived)."""
    root = 1.0 / np.sqrt(t.aa)[:, None]
    out: Real = np.linalg.lstsq(root * pi, root * t.s, rcond=None)[0].T.astype(np.float64, copy=False)
    return out


def objective(t: Statistics, state: Iterate) -> float:
    """Equation 4.9, from the statistics alone."""
    _, uu, ux = update_vx(t, state.b, state.k)
    fit = np.trace(t.xx) - 2 * np.sum(ux * state.vx.T) + np.sum((state.vx @ uu) * state.vx)
    miss = t.s - state.pi @ state.vy.T
    gap = project_u(t, state.b, state.k) - state.pi
    return float(max(fit, 0.0) + np.sum(miss**2 / t.aa[:, None]) + np.sum(gap**2))


def _solve(square: Real, right: Real) -> Real:
    """The smallest solution of a symmetric system, whatever its rank."""
    scale = np.sqrt(np.maximum(np.diag(square), np.finfo(float).tiny))
    values, e = np.linalg.eigh(square / np.outer(scale, scale))
    sound = values > 1e-13 * max(values[-1], np.finfo(float).tiny)
    inverse = np.where(sound, 1.0 / np.where(sound, values, 1.0), 0.0)
    out: Real = ((e * inverse) @ (e.T @ (right / scale[:, None]))) / scale[:, None]
    return out


# -- the loop --------------------------------------------------------------------------------------


def rank_of(xx: Real) -> int:
    """The rank of X, from X'X with its columns brought to length one."""
    scale = np.sqrt(np.diag(xx))
    there = scale > 0
    if not there.any():
        return 0
    values = np.linalg.eigvalsh(xx[np.ix_(there, there)] / np.outer(scale[there], scale[there]))
    return int((values > _TINY * values[-1]).sum())


def ecological_slopes(t: Statistics, ridge: float = 0.0) -> Real:
    """ER: the smallest least-squares beta of s on A X, (d, k), groups weighted alike as printed."""
    if ridge:
        return _solve(t.ax.T @ t.ax + ridge * np.eye(t.ax.shape[1]), t.ax.T @ t.s)
    out: Real = np.linalg.lstsq(t.ax, t.s, rcond=1e-10)[0].astype(np.float64, copy=False)
    return out


def begin(t: Statistics, rank: int, start: Start, sharing: Sharing, draw: Draw | None = None) -> Iterate:
    """U and V by the SVD of [X y0], y0 from MP or ER; or drawn at random.  Pi = A U.

    sharing: singular values go half to U and half to V ("even"), all to U ("scores"), or all to V.
    """
    d, k = t.xx.shape[0], t.s.shape[1]
    if start == "random":
        assert draw is not None
        # A U of a standard normal U is normal with covariance A A': drawn without any U.
        vx, vy, pi = draw((d, rank)), draw((k, rank)), np.sqrt(t.aa)[:, None] * draw((len(t.aa), rank))
        b, kk = update_u(t, pi, vx)
        return Iterate(b, kk, pi, vx, vy)
    if start == "mp":  # y0 = A^+ s
        weight = t.s / t.aa[:, None]
        cross, own = t.ax.T @ weight, t.s.T @ weight
    else:  # y0 = X beta
        weight = ecological_slopes(t)
        cross, own = t.xx @ weight, weight.T @ t.xx @ weight
    gram = np.block([[t.xx, cross], [cross.T, own]])
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    order = np.argsort(values)[::-1][:rank]
    singular, v = np.sqrt(np.maximum(values[order], 0.0)), vectors[:, order]
    sound = singular > 1e-8 * max(singular[0], np.finfo(float).tiny)
    inverse = np.where(sound, 1.0 / np.where(sound, singular, 1.0), 0.0)
    power = {"even": 0.5, "scores": 1.0, "loadings": 0.0}[sharing]
    left = np.where(sound, singular**power, 0.0) * inverse  # U = [X y0] v left
    right = np.where(sound, singular ** (1.0 - power), 0.0)
    b, kk = v[:d] * left, np.zeros((len(t.aa), rank))
    if start == "mp":
        kk = weight @ (v[d:] * left)
    else:
        b = b + weight @ (v[d:] * left)
    return Iterate(b, kk, project_u(t, b, kk), v[:d] * right, v[d:] * right)


def iterate(t: Statistics, state: Iterate) -> Iterator[Iterate]:
    """Algorithm 2: U, Pi, V_x, v_y, each the exact minimizer given the others; without end."""
    while True:
        b, k = update_u(t, state.pi, state.vx)
        pi = update_pi(t, project_u(t, b, k), state.vy)
        vx, _, _ = update_vx(t, b, k)
        state = replace(state, b=b, k=k, pi=pi, vx=vx, vy=update_vy(t, pi))
        yield state
