"""Dithers: continuous noise around each cluster, and the way from it to uniform numbers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.shape.draws import Draws
from sfumato.errors import ParameterError
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import Number
from sfumato.progress import report

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_ROWS = 512


class DitherLaw(Protocol):
    """A continuous law that depends on the clusters only: `draw` around them, `uniforms` by its own CDFs."""

    def draw(self, label: Ints, draws: Draws) -> Floats:
        """(rows, variables): a dithered point for each row, drawn given its cluster."""
        ...

    def uniforms(self, dithered: Floats) -> Floats:
        """Rosenblatt's first half, Eq. (6): u_ij = F(x_j | x_1 .. x_(j-1)) under the mixture of clusters."""
        ...


class Dither(Protocol):
    """What makes a law from the standardized rows of each cluster."""

    def fit(self, points: Floats, label: Ints, weights: Floats) -> DitherLaw:
        """points: (rows, variables) in the order of the transformation; label: (rows,); weights: (rows,)."""
        ...


@dataclass(frozen=True)
class GaussianDither:
    """Section 3.2.2: N(mean_l, Sigma_l + loading I) for every cluster l.

    loading: keeps the covariance of few or equal rows regular; larger hides more and blurs more.

    >>> sf.ClusterDither(dither=sf.GaussianDither(loading=0.5)).dither
    GaussianDither(loading=0.5)
    """

    loading: Annotated[
        float,
        Parameter(Number("Keeps covariances regular; larger hides more and blurs more.", 0, above=True)),
    ] = 1 / 3

    def __post_init__(self) -> None:
        if not (np.isfinite(self.loading) and self.loading > 0):
            raise ParameterError(
                "loading must be a positive number: most clusters have too few rows for a covariance.",
                hint="GaussianDither(loading=1/3)",
            )

    def fit(self, points: Floats, label: Ints, weights: Floats) -> GaussianMixture:
        """Means, covariances and shares of the clusters."""
        mass = np.bincount(label, weights)
        d = points.shape[1]
        mean = np.stack([np.bincount(label, weights * x) / mass for x in points.T], axis=1)
        centred = points - mean[label]
        covariance = np.empty((len(mass), d, d))
        for i in range(d):
            for j in range(i + 1):
                both = np.bincount(label, weights * centred[:, i] * centred[:, j]) / mass
                covariance[:, i, j] = covariance[:, j, i] = both
        covariance += self.loading * np.eye(d)
        root = np.linalg.cholesky(covariance).astype(np.float64)
        return GaussianMixture(mean, root, mass / mass.sum())


@dataclass(frozen=True, eq=False)
class GaussianMixture:
    """The law of Gaussian dither. mean: (c, d); root: (c, d, d), lower Cholesky factors; share: (c,)."""

    mean: Floats
    root: Floats
    share: Floats

    def draw(self, label: Ints, draws: Draws) -> Floats:
        """mean_l + root_l z with z standard normal."""
        z = draws.deviates("dither", len(label), self.mean.shape[1])
        out: Floats = self.mean[label] + np.einsum("nij,nj->ni", self.root[label], z)
        return out

    def uniforms(self, dithered: Floats) -> Floats:
        """Eqs. (12) to (14), in parts, so that progress shows and Ctrl-C is heard."""
        from sfumato.anonymization.shape import _kernels

        tree = self._tree()
        out = np.empty_like(dithered)

        def part(start: int) -> int:
            rows = slice(start, start + _ROWS)
            _kernels.mixture_uniforms(dithered[rows], *tree, out[rows])
            return min(start + _ROWS, len(out))

        with ThreadPoolExecutor(2) as pool:
            for done in pool.map(part, range(0, len(out), _ROWS)):
                report("dithering", done, len(out))
        return out

    def _tree(self) -> tuple[Ints, Ints, Floats, Floats, Floats]:
        """The clusters as `mixture_uniforms` takes them: alike so far is looked at once.

        Where values are coarse most clusters have equal means and covariances, at least in the variables that
        come first.
        """
        clusters, d = self.mean.shape
        node = np.zeros(clusters, np.int64)  # of each cluster, within its level
        nodes = np.zeros((clusters, d), np.int64)  # of each cluster at each level, among all nodes
        first = np.zeros(d + 1, np.int64)
        line, mean, root, share = [], [], [], []
        for j in range(d):
            law = np.column_stack([node, self.mean[:, j].round(12), self.root[:, j, : j + 1].round(12)])
            _, one, node = np.unique(law, axis=0, return_index=True, return_inverse=True)
            node = node.ravel()
            nodes[:, j] = node + first[j]
            first[j + 1] = first[j] + len(one)
            line.append(nodes[one])
            mean.append(self.mean[one, j])
            root.append(self.root[one, j])
            share.append(np.bincount(node, self.share))
        whole = np.concatenate
        return first, whole(line), whole(mean), np.ascontiguousarray(whole(root)), np.log(whole(share))
