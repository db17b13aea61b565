"""Intervals: they say how far noise moved a score, are paid for, and are missing where they were not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from score_tables import mixed

from sfumato.errors import ParameterError
from sfumato.prediction import objective
from sfumato.prediction.logistic import PrivateLogistic
from sfumato.prediction.models import LogisticModel
from sfumato.prediction.solver import LogisticObjective


def test_intervals_cover_the_fit_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40 fits at 90%: the mean over rows and fits is below 70% with a chance below one in a million."""
    real, without = objective.minimize, {}

    def both(problem: LogisticObjective, tolerance: Fraction) -> Any:
        silent = LogisticObjective(
            problem.basis, problem.codes, problem.outcome, problem.offset, problem.gamma,
            np.array([Fraction(0)] * len(problem.noise), dtype=object),
        )  # fmt: skip
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
