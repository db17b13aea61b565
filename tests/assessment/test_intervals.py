"""Intervals and rates of membership attacks: they must not promise more than the draws hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from sfumato.assessment.attacks import game
from sfumato.assessment.audit import intervals
from sfumato.seeds import Key

ALARM = 1e-6


@pytest.mark.parametrize("law", ["fair coins", "narrow", "rare", "beta"])
def test_an_interval_of_a_bounded_mean_covers(law: str) -> None:
    generator = np.random.default_rng()
    draw, mean = {
        "fair coins": (lambda n: (generator.random(n) < 0.5).astype(float), 0.5),
        "narrow": (lambda n: generator.uniform(0.45, 0.55, n), 0.5),
        "rare": (lambda n: (generator.random(n) < 0.03).astype(float), 0.03),
        "beta": (lambda n: generator.beta(0.5, 1.5, n), 0.25),
    }[law]
    trials, confidence = 300, 0.9
    missed = 0
    for _ in range(trials):
        _, low, high = intervals.bounded_mean(draw(24), confidence)
        missed += not low <= mean <= high
    assert missed <= binom.isf(ALARM, trials, 1 - confidence)


def test_values_that_lie_close_together_give_a_narrow_interval() -> None:
    close = intervals.bounded_mean(np.full(32, 0.5), 0.95)
    apart = intervals.bounded_mean(np.tile([0.0, 1.0], 16), 0.95)
    assert close[2] - close[1] < 0.5 * (apart[2] - apart[1])
    assert intervals.bounded_mean(np.ones(64), 0.95)[1] > 0.9


def _game_of(scores: np.ndarray, coins: np.ndarray) -> game.Game:
    return game.Game(scores, coins, np.linspace(-1, 0, 99), 8)


def test_people_who_are_found_together_are_not_independent() -> None:
    """Half of the rounds give everybody away, the others nobody: 16 facts, not 320."""
    generator = np.random.default_rng(5)
    coins = generator.random((16, 20)) < 0.5
    leaks = np.repeat(np.arange(16) % 2 == 0, 20).reshape(16, 20)
    scores = np.where(leaks & coins, 1.0, -1.0)
    found = {
        s.name.partition(", ")[2]: s
        for s in game.judged(
            _game_of(scores, coins), name="game", knowledge="all", heads="in", confidence=0.95, rates=(0.1,),
            key=Key.from_seed(1),
        )
    }  # fmt: skip
    hits = found["found at 0.1 false alarms"]
    assert hits.low is not None and hits.high is not None
    naive = intervals.share(int((scores[coins] > 0).sum()), int(coins.sum()), 0.95)
    assert hits.value == naive[0]
    assert hits.high - hits.low > 2.5 * (naive[2] - naive[1])
    assert hits.low < 0.4 and hits.high > 0.6
    assert found["advantage"].low is not None and found["advantage"].low < 0.35


def test_a_single_target_needs_no_rounds() -> None:
    coins = np.array([[True], [False]] * 20)
    scores = np.where(coins, 1.0, -1.0)
    made = game.judged(
        _game_of(scores, coins), name="game", knowledge="all", heads="in", confidence=0.95, rates=(0.1,),
        key=Key.from_seed(1),
    )  # fmt: skip
    assert made[0].value == 1 and made[0].low is not None and made[0].low > 0.7


def test_false_alarms_are_stated_as_they_can_be_set() -> None:
    few = game.alarms(np.arange(19.0), (0.001, 0.01, 0.05, 0.1))
    assert [round(alarm.rate, 4) for alarm, _ in few] == [0.05, 0.1]  # 1 in 20 at best
    assert "19 people" in few[0][1] and not few[1][1]
    between = np.array([16.5, 17.5, 18.5])
    assert [alarm.named(between).tolist() for alarm, _ in few] == [[0, 0, 1], [0, 1, 1]]
    many = game.alarms(np.arange(999.0), (0.01, 0.1))
    assert [alarm.rate for alarm, _ in many] == [0.01, 0.1]
    assert [alarm.named(np.array([898.5, 899.5, 988.5, 989.5])).tolist() for alarm, _ in many] == [
        [0, 0, 0, 1], [0, 1, 1, 1],
    ]  # fmt: skip


def test_the_stated_rate_of_false_alarms_holds() -> None:
    """For a fresh score the chance to lie above the threshold is the stated rate, whatever was wished."""
    generator = np.random.default_rng()
    trials, alarms = 20_000, 0
    for _ in range(trials):
        drawn = generator.random(20)
        [(alarm, _)] = game.alarms(drawn[:19], (0.001,))
        alarms += int(alarm.named(drawn[19:])[0])
    rate = alarm.rate
    assert rate == pytest.approx(0.05)
    assert binom.cdf(alarms, trials, rate) > ALARM and binom.sf(alarms - 1, trials, rate) > ALARM
