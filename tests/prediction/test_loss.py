"""What objective.py uses of the loss, line by line: loss.py, (a) to (d), and what floats make of it."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.prediction.loss import SteepLoss
from sfumato.prediction.rule import logistic_plan

EVERYWHERE = np.concatenate([np.linspace(-40, 40, 16_001), [-1e-9, 0.0, 1e-9, -700.0, 700.0]])
ORDERED = np.sort(EVERYWHERE)

both = pytest.mark.parametrize("m", [1, 2])


@both
def test_a_row_never_pulls_by_more_than_one_and_always_the_same_way(m: int) -> None:
    """(a)."""
    loss = SteepLoss(m)
    slope = loss.slope(ORDERED)
    assert (slope >= 0).all() and (slope <= 1).all() and (np.diff(slope) >= 0).all()
    assert loss.slope(np.array([-1e-12, 1e-12])) == pytest.approx(2 * m / (2 * m + 1), abs=1e-11)
    assert loss.curvature(np.array([-1e-12, 1e-12])) == pytest.approx(m / (2 * m + 1), abs=1e-11)
    step = 1e-6
    numeric = (loss.slope(ORDERED + step) - loss.slope(ORDERED - step)) / (2 * step)
    assert loss.curvature(ORDERED) == pytest.approx(numeric, abs=1e-6)


@both
def test_what_the_slope_leaves_the_curvature_takes(m: int) -> None:
    """(b), and that it is tight: a curvature of one hundredth more would break the proof."""
    loss = SteepLoss(m)
    slope, curvature = loss.slope(EVERYWHERE), loss.curvature(EVERYWHERE)
    assert (curvature >= 0).all() and (curvature <= m * (1 - slope) + 1e-15).all()
    at = (EVERYWHERE > 0) & (EVERYWHERE < 5)
    assert (1.01 * curvature[at] > m * (1 - slope[at])).all()


@both
def test_log_odds_are_what_it_finds(m: int) -> None:
    """(c): where the outcome is 1 with log-odds s, slopes cancel; off s they do not."""
    loss, scores = SteepLoss(m), np.linspace(-30, 30, 601)
    chance = 1 / (1 + np.exp(-scores))
    assert chance * loss.slope(-scores) == pytest.approx((1 - chance) * loss.slope(scores), rel=1e-12)
    beside = scores + 0.01
    assert ((1 - chance) * loss.slope(beside) > chance * loss.slope(-beside)).all()


@both
def test_curvature_has_the_bounds_that_solver_and_intervals_rest_on(m: int) -> None:
    """(d)."""
    loss = SteepLoss(m)
    assert loss.curvature(EVERYWHERE).max() <= 0.5
    usual, most = loss.usual_curvature(EVERYWHERE), float(loss.steepest_curvature)
    assert usual.max() <= most * (1 + 1e-15) and usual[EVERYWHERE == 0] == pytest.approx(most)
    chance = 1 / (1 + np.exp(-EVERYWHERE))
    expected = chance * loss.curvature(-EVERYWHERE) + (1 - chance) * loss.curvature(EVERYWHERE)
    assert usual == pytest.approx(expected, abs=1e-15)
    small = np.exp(-np.abs(EVERYWHERE))
    assert (usual >= small / (1 + small) ** 2 * (1 - 1e-14)).all()  # the log-loss's


@both
def test_floats_err_by_no_more_than_is_charged(m: int) -> None:
    loss = SteepLoss(m)
    at = np.random.default_rng(0).normal(0, 8, 2_000)
    found = loss.slope(at)
    with localcontext(prec=60):
        exact = [loss.exact_slope(Decimal(float(s))) for s in at]
        worst = max(abs(Decimal(float(f)) - e) for f, e in zip(found, exact, strict=True))
    assert worst <= 16 * Decimal(2) ** -53


def test_only_what_was_shown_is_taken() -> None:
    with pytest.raises(ParameterError, match="1 or 2"):
        SteepLoss(3)


def test_many_features_on_few_rows_are_hopeless() -> None:
    """Each of 200 features has 7 rows times epsilon, and their errors add up; with 12,000 not."""
    assert logistic_plan(401, 0, 1.0, 3_000).hopeless and not logistic_plan(401, 0, 1.0, 12_000).hopeless
    assert not logistic_plan(17, 0, 0.5, 384).hopeless and logistic_plan(17, 0, 0.5, 384, 4).hopeless
