"""In CI, draws that are the same in every run: what fails there is what the change broke.

Privacy noise and secret keys come from the operating system's entropy, so one test in ten thousand that
asks a little too much of them stops everything once in a while, whatever was changed. As hypothesis does
with its examples in CI, each test there gets a stream of its own, made from its name: noise of exactly
OpenDP's laws (`Draws`), and keys. At a desk, in the long runs, in tests of the noise itself (tests/privacy)
and in every other process that a test starts, all draws are genuine. `SFUMATO_DRAWS=7` in CI gives other
streams: a test that fails with any of them asks too much.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray


class Draws:
    """One stream of noise and key material; `begin` starts it anew for a test, or leaves draws genuine."""

    def __init__(self) -> None:
        self.stream: np.random.Generator | None = None

    def begin(self, test: str, repeatable: bool) -> None:
        """Start the stream of this test."""
        name = f"{os.environ.get('SFUMATO_DRAWS', '')} {test}".encode()
        digest = hashlib.blake2b(name, digest_size=16).digest()
        self.stream = np.random.default_rng(int.from_bytes(digest)) if repeatable else None

    def token_bytes(self, size: int = 32) -> bytes:
        """What `secrets.token_bytes` gives, or the stream's bytes."""
        return secrets.token_bytes(size) if self.stream is None else self.stream.bytes(size)

    def measurement(self, genuine: Any, mechanism: str, pure: bool, scale: float) -> Any:
        """A measurement that draws from the stream, by the same law; maps and costs stay OpenDP's."""
        stream = self.stream
        if stream is None:
            return genuine
        if mechanism == "noisy_max":
            # Permute-and-flip takes the largest score with exponential noise, the exponential mechanism of
            # those with Gumbel noise.
            noise = stream.exponential if pure else lambda b, n: stream.gumbel(0.0, b, n)
            return lambda scores: int(np.argmax(np.asarray(scores, float) + noise(scale, len(scores))))
        law = discrete_gaussian if mechanism == "_make_gaussian" else discrete_laplace
        return lambda values: added(np.asarray(values), law(stream, scale, len(values)))


def discrete_laplace(stream: np.random.Generator, scale: float, n: int) -> NDArray[np.int64]:
    """P(x) proportional to exp(-|x| / scale): the difference of two geometric numbers."""
    p = -math.expm1(-1 / scale)
    return stream.geometric(p, n) - stream.geometric(p, n)


def discrete_gaussian(stream: np.random.Generator, scale: float, n: int) -> NDArray[np.int64]:
    """P(x) proportional to exp(-x^2 / (2 scale^2)): discrete Laplace numbers, kept as often as the ratio
    says (Canonne, Kamath, Steinke 2020, algorithm 3)."""
    found = np.empty(0, np.int64)
    t = math.floor(scale) + 1
    while found.size < n:
        y = discrete_laplace(stream, t, 2 * n + 16)
        kept = stream.random(y.size) < np.exp(-((np.abs(y) - scale**2 / t) ** 2) / (2 * scale**2))
        found = np.concatenate([found, y[kept]])
    return found[:n]


def added(values: NDArray[np.int64], noise: NDArray[np.int64]) -> list[int]:
    """Sums that stop at the ends of 64 bits, as OpenDP's do."""
    ends = np.iinfo(np.int64)
    return [min(max(int(v) + int(z), ends.min), ends.max) for v, z in zip(values, noise, strict=True)]


DRAWS = Draws()


@contextmanager
def repeatable() -> Iterator[None]:
    """Noise and keys of this process come through `DRAWS`."""
    import sfumato.privacy.lattice
    import sfumato.privacy.noise as noise
    import sfumato.seeds

    affordable: Callable[..., tuple[Any, float]] = noise._affordable

    def through_draws(make: Callable[[float], Any], sensitivity: float, grant: Any, *rest: Any) -> Any:
        genuine, scale = affordable(make, sensitivity, grant, *rest)
        mechanism = make.__qualname__.partition(".")[0]
        return DRAWS.measurement(genuine, mechanism, grant.epsilon is not None, scale), scale

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "_affordable", through_draws)
        for module in (sfumato.seeds, sfumato.privacy.lattice):
            patch.setattr(module, "secrets", SimpleNamespace(token_bytes=DRAWS.token_bytes))
        yield
