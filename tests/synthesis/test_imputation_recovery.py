"""Intervals from imputed data sets cover what the data were simulated from; and broken ones do not.

Coverage is counted over simulations: it is at least 95 in 100 up to an exact binomial bound at 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import stats

from sfumato.release import Release
from sfumato.schema import Column, Kind, Schema
from sfumato.seeds import Key
from sfumato.synthesis.imputation import draws
from sfumato.synthesis.imputation.engines import Linear
from sfumato.synthesis.imputation.missing_values import MissingValues
from sfumato.synthesis.imputation.multiple import MultipleImputation
from sfumato.synthesis.imputation.partial import PartialSynthesis
from sfumato.table import Table
from sfumato.workloads.combination import combine_estimates

FALSE_ALARM = 1e-6
ROWS, SETS, RUNS = 120, 5, 60
SLOPE = 1.5
NUMBERS = Schema((Column("x", Kind.NUMERIC), Column("y", Kind.NUMERIC)))

Estimate = Callable[[pa.Table], tuple[float, float]]


def simulated(draw: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x = draws.normals(draw, ROWS)
    return x, 1 + SLOPE * x + draws.normals(draw, ROWS)


def table_of(x: NDArray[np.float64], y: Any) -> Table:
    return Table.from_arrow(pa.table({"x": x, "y": y}), NUMBERS)


def slope(rows: pa.Table) -> tuple[float, float]:
    """Least squares, by the textbook."""
    x, y = (rows[n].to_numpy() for n in ("x", "y"))
    found = stats.linregress(x, y)
    return float(found.slope), float(found.stderr**2)


def mean(rows: pa.Table) -> tuple[float, float]:
    y = rows["y"].to_numpy()
    return float(y.mean()), float(y.var(ddof=1) / len(y))


def covers(releases: tuple[Release, ...], estimate: Estimate, rule: str, truth: float) -> bool:
    q, u = zip(*(estimate(r.data.to_arrow()) for r in releases), strict=True)
    low, high = combine_estimates(q, u, kind=rule).interval(0.95)
    return low <= truth <= high


def enough(hits: int, runs: int) -> bool:
    return bool(stats.binom.cdf(hits, runs, 0.95) > FALSE_ALARM)


def hits(one: Callable[[np.random.Generator, Key], bool]) -> int:
    keys = [Key.fresh() for _ in range(RUNS)]
    return sum(one(key.generator("data"), key.derive("method")) for key in keys)


def whole(estimate: Estimate, truth: float, **more: Any) -> Callable[[np.random.Generator, Key], bool]:
    def run(draw: np.random.Generator, key: Key) -> bool:
        fitted = MultipleImputation(**more).fit(table_of(*simulated(draw)))
        return covers(fitted.samples(SETS, ROWS, key=key), estimate, "fully", truth)

    return run


@pytest.mark.parametrize(("estimate", "truth"), [(slope, SLOPE), (mean, 1.0)])
def test_wholly_synthetic_sets_cover(estimate: Estimate, truth: float) -> None:
    assert enough(hits(whole(estimate, truth)), RUNS)


@pytest.mark.soak
def test_one_set_taken_for_the_data_does_not_cover() -> None:
    """Its variance is that of the data, of the parameters and of the draw; an analyst sees a third of it."""
    runs, hit = 300, 0
    for key in (Key.fresh() for _ in range(runs)):
        fitted = MultipleImputation().fit(table_of(*simulated(key.generator("data"))))
        q, u = slope(fitted.sample(ROWS, key=key).data.to_arrow())
        hit += abs(q - SLOPE) <= 1.96 * u**0.5
    assert not enough(hit, runs)


def test_parameters_of_linear_models_have_their_posterior_law() -> None:
    """Coefficients around their estimate by Student's t, the residuals' variance by an inverse chi-square."""
    draw = Key.fresh().generator("posterior")
    x, y = simulated(draw)
    learnt = Linear(penalty=1e-9).learn(x[:, None], y, None)
    laws = [learnt.law(draw) for _ in range(2_000)]
    full = np.column_stack([np.ones(ROWS), x])
    beta, rest = np.linalg.lstsq(full, y)[:2]
    spread = np.sqrt(float(rest[0]) / (ROWS - 2) * np.linalg.inv(full.T @ full).diagonal())
    for j in range(2):
        scaled = [(law.beta[j] - beta[j]) / spread[j] for law in laws]
        assert stats.kstest(scaled, stats.t(ROWS - 2).cdf).pvalue > FALSE_ALARM
    squares = [float(rest[0]) / law.sigma**2 for law in laws]
    assert stats.kstest(squares, stats.chi2(ROWS - 2).cdf).pvalue > FALSE_ALARM
    fixed = learnt.law(None)
    assert fixed.beta == pytest.approx(beta) and fixed.sigma**2 == pytest.approx(float(rest[0]) / (ROWS - 2))


def test_partially_synthetic_sets_cover() -> None:
    def run(draw: np.random.Generator, key: Key) -> bool:
        fitted = PartialSynthesis(["y"], engine="models").fit(table_of(*simulated(draw)))
        return covers(fitted.samples(SETS, key=key), slope, "partially", SLOPE)

    assert enough(hits(run), RUNS)


def with_holes(draw: np.random.Generator) -> Table:
    """y is missing where x is large, more often than not: at random, given x."""
    x, y = simulated(draw)
    gone = draw.random(ROWS) < 1 / (1 + np.exp(-2 * x))
    return table_of(x, pa.array(y, mask=gone))


@pytest.mark.parametrize("engine", ["models", Linear()])
def test_filled_gaps_cover_where_complete_rows_do_not(engine: Any) -> None:
    def run(draw: np.random.Generator, key: Key) -> bool:
        engines = {"engine": engine} if isinstance(engine, str) else {"engines": {"y": engine}}
        fitted = MissingValues(sweeps=1, **engines).fit(with_holes(draw))
        return covers(fitted.samples(SETS, key=key), mean, "missing", 1.0)

    def complete(draw: np.random.Generator, key: Key) -> bool:
        q, u = mean(with_holes(draw).to_arrow().drop_null())
        return abs(q - 1.0) <= 1.96 * u**0.5

    assert enough(hits(run), RUNS)
    assert not enough(hits(complete), RUNS)


@pytest.mark.soak
def test_multinomial_sets_cover() -> None:
    """A level's share given another column, by logistic models of both."""
    schema = Schema(
        (Column("g", Kind.FLAG, levels=("a", "b")), Column("c", Kind.NOMINAL, levels=("p", "q", "r")))
    )
    law = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])

    def estimate(rows: pa.Table) -> tuple[float, float]:
        cells = [c for g, c in zip(rows["g"].to_pylist(), rows["c"].to_pylist(), strict=True) if g == "b"]
        p = float(np.mean([c == "r" for c in cells]))
        return p, p * (1 - p) / len(cells)

    def run(draw: np.random.Generator, key: Key) -> bool:
        g = draw.integers(0, 2, 2 * ROWS)
        c = draws.places(draw, law[g])
        rows = pa.table({"g": np.array(["a", "b"])[g], "c": np.array(["p", "q", "r"])[c]})
        fitted = MultipleImputation().fit(Table.from_arrow(rows, schema))
        return covers(fitted.samples(SETS, 2 * ROWS, key=key), estimate, "fully", 0.5)

    runs = 24
    keys = [Key.fresh() for _ in range(runs)]
    assert enough(sum(run(k.generator("data"), k.derive("method")) for k in keys), runs)


def test_draws_have_their_laws() -> None:
    draw = Key.fresh().generator("draws")
    assert stats.kstest(draws.normals(draw, 5_000), "norm").pvalue > FALSE_ALARM
    squares = [draws.chi_square(draw, 7) for _ in range(2_000)]
    assert stats.kstest(squares, stats.chi2(7).cdf).pvalue > FALSE_ALARM
    shares = np.array([draws.bootstrap_weights(draw, 5) for _ in range(2_000)])
    assert np.allclose(shares.sum(axis=1), 5)
    assert stats.kstest(shares[:, 0] / 5, stats.beta(1, 4).cdf).pvalue > FALSE_ALARM
    counts = np.bincount(draws.places(draw, np.tile([0.2, 0.0, 0.8], (5_000, 1))), minlength=3)
    assert counts[1] == 0 and stats.binomtest(int(counts[0]), 5_000, 0.2).pvalue > FALSE_ALARM
