"""Who a model was fitted on, one feature at a time, with noise: what later patients are held against.

A number is told in at most ten bins, whose edges are among the model's own thresholds, so that a fitted row
and one that is asked about fall into the same bin by the same rule. Levels have a bin each, so has missing.

Guarantee: of `counted`, grant.epsilon-DP.
Because:   a row is in one bin of each of F features: L1 sensitivity F, of a person with at most L rows L F;
           discrete Laplace noise. Bins follow from the public bounds and levels alone.
Tested by: tests/prediction/test_population.py
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.features.grid import Codes
from sfumato.features.inputs import Feature
from sfumato.privacy.grants import Grant
from sfumato.privacy.noise import laplace

BINS = 10  # of a number, between its public bounds, at most


@dataclass(frozen=True)
class FeatureBins:
    """The bins of one feature; the last is for missing. names: as people read them."""

    feature: str
    edges: tuple[float, ...]
    levels: tuple[Any, ...]

    @property
    def size(self) -> int:
        """How many bins there are, missing among them."""
        return (len(self.levels) or len(self.edges) + 1) + 1

    def place(self, value: object) -> int:
        """The bin of a value; what is not there, or not known, is missing."""
        if self.levels:
            return self.levels.index(value) if value in self.levels else self.size - 1
        if isinstance(value, bool) or not isinstance(value, int | float):
            return self.size - 1
        return bisect_right(self.edges, value)

    @property
    def names(self) -> list[str]:
        """The bins in words."""
        if self.levels:
            return [*map(str, self.levels), "missing"]
        if not self.edges:
            return ["any number", "missing"]
        marks = [f"{e:g}" for e in self.edges]
        inner = [f"{a} to {b}" for a, b in pairwise(marks)]
        return [f"below {marks[0]}", *inner, f"{marks[-1]} and above", "missing"]


def bins_of(features: Sequence[Feature]) -> tuple[FeatureBins, ...]:
    """The bins of a model's features; numbers without public bounds, and levels not told, have none."""
    found = []
    for f in features:
        if f.kind == "number":
            if f.low is not None and f.high is not None:
                found.append(FeatureBins(f.name, _edges(f, f.low, f.high), ()))
        elif getattr(f, "levels_told", True):
            found.append(FeatureBins(f.name, (), tuple(f.levels)))
    return tuple(found)


def _edges(feature: Feature, low: float, high: float) -> tuple[float, ...]:
    """Thresholds at about equal steps; where the model has none, equal steps."""
    own = getattr(feature, "thresholds", ())
    if own:
        codes = len(own) + 1
        return tuple(own[i - 1] for i in range(1, codes) if i * BINS // codes != (i - 1) * BINS // codes)
    step = (high - low) / BINS
    return tuple(low + step * i for i in range(1, BINS))


def counted(features: Sequence[Feature], codes: Codes, most: int, grant: Grant) -> dict[str, Any]:
    """The noisy counts of fitted rows, as a card holds them. codes: (features, rows), missing last."""
    parts = []
    known = {bins.feature: bins for bins in bins_of(features)}
    for feature, column in zip(features, codes, strict=True):
        if feature.name in known:
            to = _places(feature, known[feature.name])
            parts.append(np.bincount(to[column], minlength=known[feature.name].size))
    noisy = laplace(np.concatenate(parts).astype(np.int64), most * len(parts), grant)
    split = np.split(noisy.values, np.cumsum([len(p) for p in parts])[:-1])
    counts = {name: [int(v) for v in values] for name, values in zip(known, split, strict=True)}
    return {"epsilon": float(grant.loss), "noise_scale": float(noisy.scale), "counts": counts}


def _places(feature: Feature, bins: FeatureBins) -> Codes:
    """The bin of each code of a feature."""
    if bins.levels:
        inner = list(range(feature.bins))
    else:
        starts = [-np.inf, *feature.thresholds]
        inner = [bisect_right(bins.edges, s) for s in starts]
    return np.array([*inner, *([bins.size - 1] * feature.missing_allowed)], dtype=np.int64)


def told(
    card: Mapping[str, Any], features: Sequence[Feature]
) -> tuple[float, float, dict[str, list[int]]] | None:
    """Epsilon, scale and counts as a card holds them; None if it has none, or none that fit the features."""
    kept = card.get("population")
    if not isinstance(kept, Mapping):
        return None
    epsilon, scale, counts = (kept.get(k) for k in ("epsilon", "noise_scale", "counts"))
    numbers = (isinstance(v, int | float) and not isinstance(v, bool) and v > 0 for v in (epsilon, scale))
    if not all(numbers) or not isinstance(counts, Mapping):
        return None
    sizes = {b.feature: b.size for b in bins_of(features)}
    if set(counts) != set(sizes) or not all(
        isinstance(c, list) and len(c) == sizes[n] and all(type(v) is int for v in c)
        for n, c in counts.items()
    ):
        return None
    return float(epsilon), float(scale), {n: list(counts[n]) for n in sizes}  # type: ignore[arg-type]
