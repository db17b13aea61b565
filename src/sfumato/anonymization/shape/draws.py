"""Random numbers that carry a promise: from the secret key's ChaCha20 stream, not from a simulation's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.seeds import Key, uniform

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Draws:
    """Streams of one key by name; the same name gives the same numbers."""

    key: Key

    def uniform(self, name: str, rows: int) -> Floats:
        """(rows,) numbers in [0, 1)."""
        return uniform(self.key.derive(name).words(0, 0, rows))

    def deviates(self, name: str, rows: int, columns: int) -> Floats:
        """(rows, columns) standard normal numbers, by the inverse of their CDF."""
        from scipy.special import ndtri

        words = self.key.derive(name).words(0, 0, rows, columns).reshape(rows, columns)
        out: Floats = ndtri(uniform(words) + 2.0**-54)  # the middle of each step: never 0 or 1
        return out

    def permutation(self, name: str, rows: int) -> Ints:
        """The numbers 0 .. rows - 1 in random order."""
        words = self.key.derive(name).words(0, 0, rows)
        return np.argsort(words, kind="stable").astype(np.int64)

    def shuffled_within(self, name: str, label: Ints) -> Ints:
        """(rows,): for each row another row of its cluster, every row once, all permutations alike likely."""
        words = self.key.derive(name).words(0, 0, len(label))
        here = np.argsort(label, kind="stable")
        there = np.lexsort((words, label))
        out = np.empty(len(label), np.int64)
        out[here] = there
        return out

    def drawn_within(self, name: str, label: Ints, weights: Floats) -> Ints:
        """(rows,): for each row a row of its cluster, with replacement, by the weights."""
        order = np.argsort(label, kind="stable")
        cumulative = np.append(0.0, np.cumsum(weights[order]))
        ends = np.cumsum(np.bincount(label))
        start, end = (ends - np.bincount(label))[label], ends[label]
        aim = cumulative[start] + self.uniform(name, len(label)) * (cumulative[end] - cumulative[start])
        place = np.searchsorted(cumulative, aim, side="right") - 1
        found: Ints = order[np.clip(place, start, end - 1)]
        return found
