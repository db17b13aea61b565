"""Random numbers of models: residuals, parameters, weights. None of them is privacy noise.

A model's draw says how uncertain the model is, and hides nobody: no promise rests on anything drawn here
(`sfumato.privacy.noise` is the room for that). Everything comes from uniform numbers of a generator that
hangs on the release's key, by the inverse of the distribution's function.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Draw = np.random.Generator


def normals(draw: Draw, shape: int | tuple[int, ...]) -> Floats:
    """Numbers from the standard normal law."""
    from scipy.special import ndtri

    found: Floats = ndtri(_inside(draw, shape))
    return found


def chi_square(draw: Draw, freedom: float) -> float:
    """A number from the chi-square law."""
    from scipy.special import gammaincinv

    return float(2 * gammaincinv(freedom / 2, _inside(draw, 1)[0]))


def bootstrap_weights(draw: Draw, rows: int) -> Floats:
    """The Bayesian bootstrap (Rubin 1981): weights from the flat Dirichlet law, summing to `rows`."""
    weights = -np.log(_inside(draw, rows))
    return np.asarray(weights * (rows / weights.sum()))


def places(draw: Draw, probabilities: Floats) -> NDArray[np.int64]:
    """For each row a place drawn by its probabilities.  probabilities: (rows, C)."""
    upto = np.cumsum(probabilities, axis=1)
    u = draw.random(len(upto))[:, None] * upto[:, -1:]
    found = (upto <= u).sum(axis=1)
    return np.asarray(np.minimum(found, upto.shape[1] - 1), np.int64)


def _inside(draw: Draw, shape: int | tuple[int, ...]) -> Floats:
    """Uniform on (0, 1), the ends left out."""
    return np.asarray((draw.integers(0, 2**53, shape) + 0.5) * 2.0**-53)
