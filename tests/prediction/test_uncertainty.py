"""Intervals: they say how far noise moved a score, are paid for, and are missing where they were not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from private_tables import grant
from score_tables import mixed

from sfumato.errors import ParameterError
from sfumato.prediction import objective
from sfumato.prediction.basis import Basis
from sfumato.prediction.logistic import PrivateLogistic
from sfumato.prediction.models import LogisticModel
from sfumato.prediction.objective import Perturbation, PublishedFit
from sfumato.prediction.solver import LogisticObjective
from sfumato.prediction.uncertainty import DEPENDENCE, _products, bought


def test_intervals_cover_the_fit_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40 fits at 90%: the mean over rows and fits is below 70% with a chance below one in a million."""
    real, without = objective.minimize, {}

    def both(problem: LogisticObjective, tolerance: Fraction) -> Any:
        silent = replace(problem, noise=np.array([Fraction(0)] * len(problem.noise), dtype=object))
        without["theta"] = real(silent, tolerance).astype(np.float64)
        without["basis"], without["offset"] = problem.basis, problem.offset
        return real(problem, tolerance)

    monkeypatch.setattr(objective, "minimize", both)
    table, covered = mixed(2000), []
    for _ in range(40):
        model = PrivateLogistic(1.0, intervals=True).fit(table, "sick")
        codes = model._encoded(mixed(50, 9))
        rows = without["basis"].rows(codes)
        spread = [model.released().spread(c.tolist()) for c in codes.T]
        miss = np.abs(model._log_odds(codes) - without["offset"] - rows @ without["theta"])
        covered.append((miss <= 1.645 * np.array(spread)).mean())
    assert np.mean(covered) > 0.7


def test_an_interval_holds_its_score_and_grows_with_confidence() -> None:
    model = PrivateLogistic(2.0, intervals=True).fit(mixed(800), "sick").released()
    assert isinstance(model, LogisticModel) and model.has_intervals
    row = mixed(1, 3).to_arrow().drop(["sick"]).to_pylist()[0]
    p = model.score([row])[0].probability
    (low, high), (lower, higher) = model.interval(row, 0.5), model.interval(row, 0.99)
    assert lower < low < p < high < higher
    assert len(model.spreads(model.inputs.codes(row, []))) == len(model.features)


def test_without_intervals_none_is_told() -> None:
    model = PrivateLogistic(2.0).fit(mixed(800), "sick").released()
    assert isinstance(model, LogisticModel) and not model.has_intervals and model.covariance == ()
    with pytest.raises(ParameterError, match="no intervals"):
        model.interval(mixed(1).to_arrow().drop(["sick"]).to_pylist()[0])


@pytest.mark.parametrize("levels", [False, True])
def test_what_is_bought_is_the_curvature(levels: bool) -> None:
    """At an epsilon of 100 noise is nothing: of one feature all there is to know is known."""
    random, axis = np.random.default_rng(0), np.linspace(-1, 1, 9)
    table = np.eye(9) if levels else np.stack([axis, 2 * axis**2 - 1], axis=1)
    basis = Basis((table,), (levels,))
    codes = np.minimum(*random.integers(0, 9, (2, 1, 4_000)))  # skewed: x and its square go together
    law = Perturbation(basis.width, basis.linear, int(levels), Fraction(1), 4_000.0)
    x = basis.rows(codes)
    scores = x @ random.normal(size=basis.width)
    found = PublishedFit(np.zeros(basis.width), np.full(basis.width, 2.0), 0.0)
    covariance = bought(basis, codes, scores, law, found, grant(epsilon=100.0))
    inverse = np.linalg.inv((x.T * law.loss.usual_curvature(scores)) @ x + law.gamma * np.eye(basis.width))
    assert covariance == pytest.approx(4 * DEPENDENCE**2 * inverse @ inverse, rel=0.05, abs=1e-6)


def test_nothing_is_bought_that_follows() -> None:
    """A flag's square is 1, with a missing value too its products follow; of nine steps only x^2 does."""
    axis, three = np.linspace(-1, 1, 9), np.array([-1.0, 0.0, 1.0])
    flag, open_flag = np.array([[-1.0], [1.0]]), np.array([[-1.0, -1.0], [1.0, -1.0], [0.0, 1.0]])
    few = np.stack([three, 2 * three**2 - 1], axis=1)
    many = np.stack([axis, 2 * axis**2 - 1], axis=1)
    follows = [[p.known is not None for p in _products(slice(1, 3), t)] for t in (flag, open_flag, few, many)]
    assert follows == [[True], [True] * 3, [True] * 3, [True, False, False]]
