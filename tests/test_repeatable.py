"""The streams of CI have OpenDP's laws, are a test's own, and are the same in every run."""

from __future__ import annotations

import os

import numpy as np
import pytest
from repeatable import DRAWS, Draws, discrete_gaussian, discrete_laplace

import sfumato as sf

N = 400_000


@pytest.mark.parametrize("scale", [0.4, 1.0, 3.7])
@pytest.mark.parametrize("law", [discrete_laplace, discrete_gaussian])
def test_the_laws_are_those_of_opendp(law: object, scale: float) -> None:
    """Every number's share is within five standard errors of its probability (a fixed stream)."""
    x = np.arange(-60, 61)
    weight = np.exp(-np.abs(x) / scale if law is discrete_laplace else -(x**2) / (2 * scale**2))
    p = weight / weight.sum()
    drawn = law(np.random.default_rng(3), scale, N)  # type: ignore[operator]
    share = np.array([(drawn == value).mean() for value in x])
    assert (np.abs(share - p) <= 5 * np.sqrt(p / N) + 1e-5).all()


@pytest.mark.parametrize("pure", [True, False])
def test_the_best_score_is_taken_as_often_as_opendp_takes_it(pure: bool) -> None:
    from opendp import prelude as dp

    dp.enable_features("contrib")
    measure = dp.max_divergence() if pure else dp.zero_concentrated_divergence()
    genuine = dp.m.make_noisy_max(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64"), measure, scale=2.0
    )
    draws = Draws()
    draws.begin("scores", repeatable=True)
    ours, scores, n = draws.measurement(genuine, "noisy_max", pure, 2.0), [0, 1, 3], 20_000
    both = [np.bincount([take(scores) for _ in range(n)], minlength=3) / n for take in (ours, genuine)]
    assert np.abs(both[0] - both[1]).max() < 5 * np.sqrt(0.5 / n)  # one in a million, whatever OpenDP draws


def test_a_test_has_a_stream_of_its_own() -> None:
    draws = Draws()
    seen = []
    for name in ("a", "b", "a"):
        draws.begin(name, repeatable=True)
        seen.append(draws.token_bytes())
    assert seen[0] == seen[2] != seen[1]
    draws.begin("a", repeatable=False)
    assert (
        draws.token_bytes() != draws.token_bytes() and draws.measurement("genuine", "", True, 1) == "genuine"
    )


def test_keys_come_from_it_in_ci() -> None:
    assert (DRAWS.stream is not None) == bool(os.environ.get("CI") and not os.environ.get("SFUMATO_SOAK"))
    assert sf.Key.fresh().to_bytes() != sf.Key.fresh().to_bytes()
