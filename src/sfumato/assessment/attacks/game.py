"""The game behind membership attacks: a coin for each target, a release, a guess at the coins.

Shadow rounds, whose coins the intruder tosses, teach what the features of a release look like when a
target's coin shows heads and when tails. The guess is a likelihood ratio of the two. Fresh rounds, whose
coins the intruder does not see, say how good it is; people whose coin shows tails are the control.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.attacks.success import mean_interval
from sfumato.assessment.audit import intervals
from sfumato.score import Score
from sfumato.seeds import Key

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Round = Callable[[Bools, Key], Floats]


@dataclass(frozen=True, eq=False)
class Game:
    """Guesses in fresh rounds: scores and coins, (rounds, targets), and scores of tails to set thresholds."""

    scores: Floats
    coins: Bools
    calibration: Floats
    shadows: int

    @property
    def heads(self) -> Floats:
        """Scores of targets whose coin showed heads."""
        return np.asarray(self.scores[self.coins])

    @property
    def tails(self) -> Floats:
        """Scores of the control."""
        return np.asarray(self.scores[~self.coins])


def play(run: Round, targets: int, *, shadows: int, trials: int, key: Key, label: str) -> Game:
    """Learn from shadow rounds, set thresholds on further ones, guess in fresh ones.

    run: `run(coins, key)` makes a release for these coins and gives features, (targets, features).
    """
    pairs = -(-shadows // 2)
    aside = max(2, pairs // 2)  # rounds that only set thresholds, so that those are not flattered
    total = 2 * (pairs + aside) + trials
    progress = iter(intervals.portions(total, 1, label))

    def rounds(role: str, coins: Sequence[Bools]) -> Floats:
        made = []
        for i, tossed in enumerate(coins):
            next(progress)
            made.append(run(tossed, key.derive(label, role, i)))
        return np.stack(made)

    taught, checked = _tossed(key, "shadow", pairs, targets), _tossed(key, "threshold", aside, targets)
    fresh = [key.generator("coins", "trial", i).random(targets) < 0.5 for i in range(trials)]
    guess = _likelihood_ratio(rounds("shadow", taught), np.stack(taught))
    calibration = guess(rounds("threshold", checked))[~np.stack(checked)]
    scores = guess(rounds("trial", fresh))
    for _ in progress:  # lets the last round be reported
        pass
    return Game(scores, np.stack(fresh), calibration, 2 * pairs)


def _tossed(key: Key, role: str, pairs: int, targets: int) -> list[Bools]:
    """Coins in opposite pairs of rounds, so that every target is seen as often with heads as with tails."""
    coins: list[Bools] = []
    for i in range(pairs):
        tossed = key.generator("coins", role, i).random(targets) < 0.5
        coins += [tossed, ~tossed]
    return coins


def _likelihood_ratio(features: Floats, coins: Bools) -> Callable[[Floats], Floats]:
    """A Gaussian log likelihood ratio for each target; what targets have in common is learnt from all.

    features: (rounds, targets, features). With few rounds the variances of a target are drawn towards
    those of all, and its shift towards the mean shift, by as much as the noise in it explains.
    """
    heads = np.where(coins[..., None], features, 0).sum(axis=0) / coins.sum(axis=0)[:, None]
    tails = np.where(~coins[..., None], features, 0).sum(axis=0) / (~coins).sum(axis=0)[:, None]
    rest = features - np.where(coins[..., None], heads, tails)
    n = len(features)
    own = (rest**2).sum(axis=0) / max(n - 2, 1)
    spread = np.sqrt((n * own + 4 * own.mean(axis=0)) / (n + 4) + 1e-8)
    standard = (rest / spread).reshape(-1, features.shape[2])
    correlation = 0.9 * (standard.T @ standard) / max(len(standard) * (n - 2) / n, 1)
    # Features that say the same (a count and a density) would otherwise have no inverse.
    correlation += np.diag(np.maximum(1 - np.diag(correlation), 0.1))
    shift = (heads - tails) / spread
    common = shift.mean(axis=0)
    variance = ((shift - common) ** 2).mean(axis=0)
    kept = np.clip(1 - (4 / n) / np.maximum(variance, 1e-12), 0, 1)
    weights = np.linalg.solve(correlation, (common + kept * (shift - common)).T).T
    middle = (heads + tails) / 2

    def guess(fresh: Floats) -> Floats:
        return np.asarray((((fresh - middle) / spread) * weights).sum(axis=-1))

    return guess


def judged(
    game: Game,
    *,
    name: str,
    knowledge: str,
    heads: str,
    confidence: float,
    rates: Sequence[float],
    key: Key,
    columns: tuple[str, ...] = (),
    details: Mapping[str, object] | None = None,
) -> list[Score]:
    """The game as scores: area under the curve, hits at few false alarms, and the advantage."""
    shared: dict[str, Any] = {
        "section": "attack",
        "better": "lower",
        "knowledge": knowledge,
        "confidence": confidence,
        "columns": columns,
        "details": {
            "shadow rounds": game.shadows,
            "fresh rounds": len(game.coins),
            "targets": game.coins.shape[1],
            **(details or {}),
        },
    }
    rounds = game if game.coins.shape[1] > 1 else None  # a single person is a round of their own
    return separation(
        game.heads, game.tails, game.calibration, 0.0, name, heads, rates, key, shared, rounds=rounds
    )


def separation(
    heads: Floats,
    tails: Floats,
    calibration: Floats,
    cut: float,
    name: str,
    words: str,
    rates: Sequence[float],
    key: Key,
    shared: dict[str, Any],
    rounds: Game | None = None,
) -> list[Score]:
    """How well a score tells heads from tails, at thresholds that were set on other scores.

    rounds: the game the scores come from. People of one round share a release, and are found or missed
    together: the intervals then take the rounds, not the people, for independent.
    """
    confidence = shared["confidence"]
    area, low, high = intervals.area(heads, tails, confidence, key.generator("pairs", name))
    if rounds is not None:
        area, low, high = _around(area, _each(rounds, _area), confidence)
    found = [
        Score(
            name=f"{name}, area under the curve",
            value=area,
            range=(0.0, 1.0),
            meaning=f"The chance that someone {words} is ranked above someone who is not; "
            "half is a coin toss.",
            low=low,
            high=high,
            baseline=0.5,
            control=0.5,
            **(shared if rounds else _counting(shared, min(len(heads), len(tails)))),
        )
    ]
    for alarm, said in alarms(calibration, rates):
        named, wrongly = alarm.named(heads), alarm.named(tails)
        value = float(named.mean())
        low, high = mean_interval(named, confidence)
        if rounds is not None:
            each = _each(rounds, functools.partial(_named, alarm))
            value, low, high = _around(value, each, confidence)
        rate = alarm.rate
        found.append(
            Score(
                name=f"{name}, found at {rate:.3g} false alarms",
                value=value,
                range=(0.0, 1.0),
                meaning=f"The share of people {words} whom the intruder names, when set to name wrongly "
                f"{rate:.2g} of the others{said}.",
                low=min(low, value),
                high=max(high, value),
                baseline=rate,
                control=float(wrongly.mean()) if len(tails) else None,
                **(shared if rounds else _counting(shared, len(heads), len(tails))),
            )
        )
    hits_, alarms_ = int((heads > cut).sum()), int((tails > cut).sum())
    value, low, high = intervals.difference((hits_, len(heads)), (alarms_, len(tails)), confidence)
    if rounds is not None:
        gaps = _each(rounds, lambda i, o: ((i > cut).mean() - (o > cut).mean() + 1) / 2)
        value, low, high = (2 * end - 1 for end in _around((value + 1) / 2, gaps, confidence))
    found.append(
        Score(
            name=f"{name}, advantage",
            value=value,
            range=(-1.0, 1.0),
            meaning=f"How much more often people {words} are named than others; "
            "0 is a coin toss, 1 is certain.",
            low=low,
            high=high,
            baseline=0.0,
            control=0.0,
            **shared,
        )
    )
    return found


@dataclass(frozen=True, eq=False)
class Alarm:
    """Who is named when so many of the others are to be named wrongly: the highest scores, ties tossed.

    scores: those of the others, on which the rate was set, largest first. Where several score the same, each
    draws a number, and so does whoever is judged: then no two are equal, and a fresh one of the others lies
    above the r-th largest of m with a chance of r / (m + 1), whatever the law of the scores. Of the
    (r - g)-th largest number of e that tie, g scores above them, a fresh number is larger with a chance of
    (r - g) / (e + 1). For a rate between two r, one of them is tossed.
    """

    scores: Floats
    rate: float

    def named(self, judged: Floats) -> Floats:
        """For each of the judged the chance to be named."""
        wanted = self.rate * (len(self.scores) + 1)
        whole = int(wanted + 1e-9)
        out = self._above(whole, judged)
        rest = wanted - whole
        return out if rest < 1e-9 else (1 - rest) * out + rest * self._above(whole + 1, judged)

    def _above(self, r: int, judged: Floats) -> Floats:
        if r > len(self.scores):
            return np.ones(len(judged))
        edge = self.scores[r - 1]
        above, at = int((self.scores > edge).sum()), int((self.scores == edge).sum())
        return np.where(judged > edge, 1.0, np.where(judged == edge, (r - above) / (at + 1), 0.0))


def _counting(shared: dict[str, Any], people: int, outside: int | None = None) -> dict[str, Any]:
    """What a score says of itself, with how many people (or pairs of them) its shares are of."""
    counted: dict[str, Any] = {"people": people, "fractions": True}
    if outside is not None:
        counted["control"] = {"people": outside}
    return {**shared, "details": {**shared["details"], **counted}}


def alarms(calibration: Floats, rates: Sequence[float]) -> list[tuple[Alarm, str]]:
    """For each wished rate of false alarms the rule that has it, and what is to be said of it.

    With m scores of others no rate below 1 / (m + 1) can be told from none: where less is wished, that is the
    rate, and it is stated.
    """
    order, m = np.sort(calibration)[::-1], len(calibration)
    out: dict[float, tuple[Alarm, str]] = {}
    for wished in rates:
        least = 1 / (m + 1)
        rate = max(wished, least)
        said = (
            ""
            if rate == wished
            else f", the fewest that {m} people outside can set; {wished:.3g} were wished"
        )
        out.setdefault(rate, (Alarm(order, rate), said))
    return list(out.values())


def _each(game: Game, measure: Callable[[Floats, Floats], float]) -> Floats:
    """A measure of heads and tails in each round that has both."""
    both = game.coins.any(axis=1) & ~game.coins.all(axis=1)
    pairs = zip(game.scores[both], game.coins[both], strict=True)
    return np.array([measure(scores[coins], scores[~coins]) for scores, coins in pairs])


def _around(value: float, rounds: Floats, confidence: float) -> tuple[float, float, float]:
    """A value over all people with the interval of its mean over rounds; widened to hold the value."""
    _, low, high = intervals.bounded_mean(rounds, confidence)
    return value, min(low, value), max(high, value)


def _named(alarm: Alarm, heads: Floats, tails: Floats) -> float:
    return float(alarm.named(heads).mean())


def _area(heads: Floats, tails: Floats) -> float:
    gaps = heads[:, None] - tails[None, :]
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean())
