"""How far noise may have moved a fitted score: from sums that were paid for, never from rows for free.

A fit without noise would have had theta_0; the noise V moved it by about -H^-1 V, H the curvature of the
objective (objective.py), so that Var(theta) = H^-1 S H^-1 with S the known variances of V. H is private.
With w the loss's usual curvature at the published score, at most c = 1/3 or 2/5 (loss.py), what is bought of
it are, over rows, with cube noise, W = sum w, A_j = sum w x_j, and C_jk = sum w x_j x_k for coordinates of
the same feature, as far as they do not follow from W and A: a flag's square is 1, levels exclude each other.
H ~ gamma I + A A'/W + what each feature has of its own, C_f - A_f A_f'/W. Dependence between features is not
asked for (its noise would grow with the square of their number): `DEPENDENCE` stands for it, as a constant.

Guarantee: of `bought`, grant.epsilon-DP.
Because:   a row adds w x_j and w x_j x_k to the sums of coordinates that are not one-hot, each at most c in
           size: 2^10 c of the steps that are summed, and half a step for rounding; that is cube noise's.
           Of one-hot coordinates it adds at most c to one of each of F_b features: F_b (2^10 c + 1/2)
           steps in L1, Laplace noise's. L rows add L times as much. `cube_and_laplace` pays for both
           blocks. Which sums are asked for follows from the public basis.
Assumes:   that the coefficients were published before.
Tested by: tests/prediction/test_uncertainty.py
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.features.grid import Codes
from sfumato.prediction.basis import Basis
from sfumato.prediction.objective import Perturbation, PublishedFit
from sfumato.privacy.grants import Grant
from sfumato.privacy.lattice import cube_and_laplace

Floats = NDArray[np.float64]
DEPENDENCE = 0.905  # times the spread: most rows lie where features that go together have more curvature
_STEPS = 2**10  # of a row's term
_SQUARE, _SQUARE_SPREAD, _MEAN_SPREAD = 0.45, 0.3, 0.5  # of a coordinate in [-1, 1], usually
_FOLLOWS = 1e-9  # up to which a product follows from the coordinates


class _Product(NamedTuple):
    """Two coordinates j <= k of one feature. known: how their product follows from 1 and the feature's
    coordinates, (1 + coordinates,), if it does."""

    j: int
    k: int
    known: Floats | None


def bought(
    basis: Basis, codes: Codes, scores: Floats, law: Perturbation, found: PublishedFit, grant: Grant
) -> Floats:
    """The covariance of the coefficients, (d, d), from sums with noise. scores: the log-odds of each row."""
    hot = basis.is_one_hot
    products = [p for place, table in _features(basis, one_hot=False) for p in _products(place, table)]
    products = [p for p in products if p.known is None]
    first, second = [p.j for p in products], [p.k for p in products]
    weights = law.loss.usual_curvature(scores)
    linear = int((~hot).sum())
    sums = np.zeros(linear + len(products) + int(hot.sum()), dtype=np.int64)
    for place, x in basis.parts(codes):
        terms = weights[place, None] * np.hstack([x[:, ~hot], x[:, first] * x[:, second], x[:, hot]])
        sums += np.rint(terms * _STEPS).astype(np.int64).sum(axis=0)
    most_steps = law.most * (math.ceil(_STEPS * law.loss.steepest_curvature) + 1)
    cube, other = cube_and_laplace(
        (linear + len(products), int(hot.sum())),
        (most_steps, max(basis.one_hot_features, 1) * most_steps), law.share, grant,
    )  # fmt: skip
    noisy = (sums + np.concatenate([cube.values, other.values])).astype(np.float64) / _STEPS
    sigma = cube.sigma / _STEPS, other.sigma / _STEPS
    means = np.empty(basis.width)
    means[~hot], means[hot] = noisy[:linear], noisy[linear + len(products) :]
    squares = np.zeros((basis.width, basis.width))
    squares[first, second] = noisy[linear : linear + len(products)]
    curvature = law.gamma * np.eye(basis.width) + _believed(basis, means, squares, sigma)
    inverse = np.linalg.inv(curvature)
    covariance: Floats = DEPENDENCE**2 * inverse @ np.diag(found.sigma**2) @ inverse
    return covariance + np.eye(basis.width) * found.rounding**2


def _believed(basis: Basis, means: Floats, squares: Floats, sigma: tuple[float, float]) -> Floats:
    """The curvature of the losses that is believed after seeing the noisy sums.

    Each sum is drawn to what is usual by what its noise leaves it worth: a mean square of .45 +- .3, a
    mean of 0 +- .5, a product of 0 +- .3, of a level among K a K-th part, give or take as much. A sum that
    is mostly noise would else now and then say that there is hardly any curvature, and the interval would be
    endless. What a feature has of its own is never negative.
    """
    total, hot = max(float(means[0]), sigma[0], 1.0), basis.is_one_hot
    room, worth = (_MEAN_SPREAD * total) ** 2, (_SQUARE_SPREAD * total) ** 2
    drawn = np.where(hot, means, means * room / (room + sigma[0] ** 2))
    blocks: list[tuple[slice, Floats]] = []
    for place, table in _features(basis, one_hot=True):
        part = total / table.shape[1]  # usual, and its spread
        drawn[place] = (means[place] * part**2 + part * sigma[1] ** 2) / (part**2 + sigma[1] ** 2)
        blocks.append((place, np.diag(np.clip(drawn[place], 0.0, total))))
    drawn = np.clip(drawn, np.where(hot, 0.0, -total), total)
    drawn[0] = total
    for place, table in _features(basis, one_hot=False):
        block = np.empty((table.shape[1],) * 2)
        for j, k, known in _products(place, table):
            usual = _SQUARE * total if j == k else 0.0
            value = (squares[j, k] * worth + usual * sigma[0] ** 2) / (worth + sigma[0] ** 2)
            if known is not None:
                value = float(known @ np.append(total, drawn[place]))
            value = min(max(value, 0.0 if j == k else -total), total)
            block[j - place.start, k - place.start] = block[k - place.start, j - place.start] = value
        blocks.append((place, block))
    curvature = np.outer(drawn, drawn) / total
    for place, block in blocks:
        values, vectors = np.linalg.eigh(block - np.outer(drawn[place], drawn[place]) / total)
        curvature[place, place] += (vectors * np.maximum(values, 0.0)) @ vectors.T
    return curvature


def _features(basis: Basis, *, one_hot: bool) -> Iterator[tuple[slice, Floats]]:
    """Where the coordinates of each feature stand, and their table; of one kind of feature."""
    start = 1
    for table, hot in zip(basis.tables, basis.one_hot, strict=True):
        stop = start + int(table.shape[1])
        if hot is one_hot and stop > start:
            yield slice(start, stop), table
        start = stop


def _products(place: slice, table: Floats) -> Iterator[_Product]:
    """All products of two coordinates of a feature that is not one-hot."""
    span = np.hstack([np.ones((len(table), 1)), table])
    for j, k in combinations_with_replacement(range(table.shape[1]), 2):
        product = table[:, j] * table[:, k]
        known: Floats = np.linalg.lstsq(span, product, rcond=None)[0].astype(np.float64)
        follows = bool(np.abs(span @ known - product).max() < _FOLLOWS)
        yield _Product(place.start + j, place.start + k, known if follows else None)
