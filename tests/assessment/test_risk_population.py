"""Estimators of population uniqueness, against populations that are known.

Each recovers its own model's truth within the stated tolerance, some six standard deviations of the error
over twelve seeds; if errors are normal, one seed in a million would fail. That they fail elsewhere is tested
too: who uses them should not learn it from a release.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato import samples
from sfumato.assessment import risk
from sfumato.assessment.risk.estimators import (
    Estimate,
    Sizes,
    _log_rising,
    chosen,
    estimates,
    log_normal,
    pitman,
    slide,
    zayatz,
)
from sfumato.table import Table

Labels = NDArray[np.int64]
N = 60_000


def pitman_population(rng: np.random.Generator, alpha: float, theta: float) -> Labels:
    """Members come one by one: a new class, or that of somebody there, fewer alpha per class."""
    labels, sizes = [0], [1]
    u, v = rng.random(N), rng.random((N, 2))
    for i in range(1, N):
        if u[i] * (theta + i) < theta + alpha * len(sizes):
            labels.append(len(sizes))
            sizes.append(1)
            continue
        pick, keep = v[i]
        while True:
            c = labels[int(pick * i)]
            if keep < 1 - alpha / sizes[c]:
                break
            pick, keep = rng.random(2)
        labels.append(c)
        sizes[c] += 1
    return np.array(labels)


def spread(sizes: NDArray[Any]) -> Labels:
    return np.repeat(np.arange(len(sizes)), sizes)


def log_normal_population(rng: np.random.Generator) -> Labels:
    return spread(rng.poisson(np.exp(rng.normal(0.0, 1.5, 20_000))))


def slide_population(rng: np.random.Generator) -> Labels:
    return spread(1 + rng.negative_binomial(0.3, 0.05, 9_000))


def drawn(labels: Labels, fraction: float, rng: np.random.Generator) -> tuple[Sizes, float]:
    """A sample's class sizes, and the share of its uniques that are population uniques."""
    everybody = np.bincount(labels)
    sample = np.bincount(labels[rng.random(len(labels)) < fraction], minlength=len(everybody))
    alone = sample == 1
    return Sizes.of(sample[sample > 0], len(labels)), float((everybody[alone] == 1).mean())


def recovery(
    make: Callable[[np.random.Generator], Labels],
    estimator: Callable[[Sizes], Estimate],
    fraction: float,
    seed: int,
) -> float:
    rng = np.random.default_rng(seed)
    sizes, truth = drawn(make(rng), fraction, rng)
    return estimator(sizes).probability - truth


CASES = [
    pytest.param(lambda r: pitman_population(r, 0.5, 500.0), pitman, 0.05, 0.10, id="pitman 5%"),
    pytest.param(lambda r: pitman_population(r, 0.5, 500.0), pitman, 0.3, 0.08, id="pitman 30%"),
    pytest.param(log_normal_population, log_normal, 0.1, 0.07, id="log-normal 10%"),
    pytest.param(log_normal_population, log_normal, 0.3, 0.06, id="log-normal 30%"),
    pytest.param(slide_population, slide, 0.1, 0.14, id="slide 10%"),
    pytest.param(slide_population, slide, 0.3, 0.10, id="slide 30%"),
]


@pytest.mark.parametrize(("make", "estimator", "fraction", "tolerance"), CASES)
def test_recovery(make: Any, estimator: Any, fraction: float, tolerance: float) -> None:
    assert abs(recovery(make, estimator, fraction, seed=7)) < tolerance


@pytest.mark.soak
@pytest.mark.parametrize(("make", "estimator", "fraction", "tolerance"), CASES)
def test_recovery_over_many_seeds(make: Any, estimator: Any, fraction: float, tolerance: float) -> None:
    errors = [recovery(make, estimator, fraction, seed) for seed in range(20)]
    assert max(map(abs, errors)) < tolerance
    assert abs(np.mean(errors)) < tolerance / 3  # no bias to speak of


MAKERS = [lambda r: pitman_population(r, 0.5, 500.0), log_normal_population, slide_population]


@pytest.mark.parametrize("make", MAKERS, ids=["pitman", "log-normal", "slide"])
def test_zayatz_is_good_for_large_samples_and_too_high_for_small_ones(make: Any) -> None:
    assert abs(recovery(make, zayatz, 0.7, seed=8)) < 0.05
    assert recovery(make, zayatz, 0.02, seed=8) > 0.2


def test_where_models_fail() -> None:
    rng = np.random.default_rng(9)
    even, truth = drawn(spread(np.full(15_000, 4)), 0.3, rng)
    assert truth == 0  # nobody is alone, and yet
    failing = pitman(even)
    assert failing.probability > 0.2 and "more even" in failing.failed
    assert zayatz(even).probability > 0.2
    everybody_differs = Sizes.of(np.ones(500), 10_000)
    assert math.isnan(pitman(everybody_differs).probability)
    heavy, truth = drawn(log_normal_population(rng), 0.05, rng)
    assert pitman(heavy).probability > truth + 0.05  # a log-normal tail is not Pitman's


def test_the_rule() -> None:
    answers = [
        Estimate("Pitman", 0.2),
        Estimate("Zayatz", 0.6),
        Estimate("slide negative binomial", 0.5),
        Estimate("Poisson-log-normal", 0.1),
    ]
    assert chosen(answers, 0.05).name == "Pitman"
    assert chosen(answers, 0.3).name == "slide negative binomial"
    assert chosen([Estimate("Pitman", math.nan), *answers[1:]], 0.05).name == "Zayatz"


def test_ends() -> None:
    assert [e.probability for e in estimates(Sizes.of(np.array([1, 1, 2]), 4))] == [1.0]
    assert [e.probability for e in estimates(Sizes.of(np.array([2, 2]), 100))] == [0.0]


def test_a_larger_population_leaves_fewer_alone() -> None:
    found = risk.classes(samples.discharges(2_000, seed=2), ["age", "sex", "zip", "race", "pay"])
    values: dict[str, list[float]] = {}
    for size in (3_000, 10_000, 100_000, 10_000_000):
        for score in risk.population_uniqueness(found, population_size=size)[1:]:
            values.setdefault(score.name, []).append(score.value)
    unique = risk.uniqueness(found)[0].value
    for name, shares in values.items():
        assert all(s <= unique + 1e-12 for s in shares), name
    for name in ("Pitman", "Zayatz"):
        shares = values[f"population uniqueness, {name}"]
        assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize("x", [0.5, 40.0, 0.999e6, 1.001e6, 1e9, 1e13])
@pytest.mark.parametrize("k", [1, 2, 1_000, 100_000])
def test_long_products(x: float, k: int) -> None:
    assert _log_rising(x, k) == pytest.approx(
        math.fsum(math.log(x + i) for i in range(1, k)), rel=1e-12, abs=1e-7
    )


@pytest.mark.parametrize("size", [3_000, 60_000])
def test_alone_in_the_population_is_what_a_journalist_is_sure_of(size: int) -> None:
    """A chance above 0.6 is a class of one: the two must not disagree, and the truth lies in the interval."""
    everybody = samples.discharges(size, seed=2)
    columns = ["age", "sex", "zip", "race", "pay"]
    rows = everybody.to_arrow()
    sample = Table.from_arrow(rows.slice(0, 2_000), everybody.schema)
    found = risk.classes(sample, columns)
    alone = risk.population_uniqueness(found, population_size=size)[0]
    sure = risk.intruders(found, population_size=size, threshold=0.6)
    journalist = next(s for s in sure if s.name == "journalist risk, above 0.6")
    assert (alone.value, alone.low, alone.high) == (journalist.value, journalist.low, journalist.high)
    truth = risk.intruders(found, population=everybody, threshold=0.6)
    counted = next(s for s in truth if s.name == "journalist risk, above 0.6").value
    assert alone.low is not None and alone.high is not None and alone.low <= counted <= alone.high


def test_a_fraction_is_a_size() -> None:
    found = risk.classes(samples.discharges(500, seed=2), ["age", "sex", "zip"])
    by_size = risk.population_uniqueness(found, population_size=5_000)
    by_fraction = risk.population_uniqueness(found, sampling_fraction=0.1)
    assert [s.value for s in by_size] == [s.value for s in by_fraction]
    assert by_size[0].details["chosen"] == "Pitman"
