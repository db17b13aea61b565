"""Events that tell two laws apart, looked for in draws of both.

An event is a set of outputs. What is looked for is a set whose probability under one law is a large multiple
of that under the other, and large enough itself to be measured: the sets tried are those with the highest
estimated likelihood ratio (Neyman and Pearson), and plain thresholds. Nothing here has to be right for an
audit to be valid: the draws that confirm an event are others.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.audit.intervals import share_high, share_low
from sfumato.assessment.threads import one_thread

Floats = NDArray[np.float64]
Scoring = Callable[[Floats], Floats]
Bound = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], Floats]

MOST_DISTINCT = 65_536  # outputs that are tallied one by one
_BINS = 256
_LUCK = 1e-3  # the error for choosing, as a part of the error for confirming
_FITTED = 100_000  # rows of each law that a learnt score is fitted to
_MOST_SINGLE = 64  # features that are tried one by one


@dataclass(frozen=True, eq=False)
class Event:
    """A set of outputs, and which law makes it likelier: the data's, or the neighbour's."""

    contains: Callable[[Floats], NDArray[np.bool_]]
    towards_data: bool
    words: str
    promise: float


@dataclass
class OutputTally:
    """How often each distinct output occurred under the two laws, while there are few of them.

    n: (law, part, output). Every other draw belongs to the second part: sets are ordered by the first and
    chosen by the second, otherwise outputs that occurred once would look like the best of events.
    """

    rows: Floats | None = None
    n: NDArray[np.int64] = field(default_factory=lambda: np.zeros((2, 2, 0), np.int64))
    full: bool = False

    def add(self, features: Floats, side: int) -> None:
        """Count more draws of one law."""
        if self.full:
            return
        before = 0 if self.rows is None else len(self.rows)
        both = features if self.rows is None else np.concatenate([self.rows, features])
        _, first, place = np.unique(_keys(both), return_index=True, return_inverse=True)
        if len(first) > MOST_DISTINCT:
            self.rows, self.n, self.full = None, np.zeros((2, 2, 0), np.int64), True
            return
        n = np.zeros((2, 2, len(first)), np.int64)
        n[:, :, place[:before]] = self.n
        for part in (0, 1):
            n[side, part] += np.bincount(place[before + part :: 2], minlength=len(first))
        self.rows, self.n = both[first], n


def _keys(rows: Floats) -> NDArray[Any]:
    """One key to a row: the number itself, or the bytes of several (-0.0 became 0.0 before)."""
    if rows.shape[1] == 1:
        return rows[:, 0]
    whole = np.ascontiguousarray(rows)
    return whole.view(np.dtype((np.void, whole.itemsize * whole.shape[1])))[:, 0]


def projected(error: float, delta: float) -> Bound:
    """The bound on epsilon in the draws that look for events, for the first, first two, ... of ordered cells.

    Of many sets some look good by luck, rare ones above all; a small error guards against choosing them.
    """

    def bound(a: NDArray[np.int64], b: NDArray[np.int64], order: NDArray[np.int64]) -> Floats:
        draws = int(a.sum()), int(b.sum())
        trials = min(draws)
        # Two sides may have been kept to different lengths; the shares are put on the shorter one.
        hits = np.floor(np.cumsum(a[order]) * (trials / max(draws[0], 1)))
        others = np.ceil(np.cumsum(b[order]) * (trials / max(draws[1], 1)) - 1e-9)
        epsilon = epsilon_low(hits, others, trials, error * _LUCK, delta)
        # Where nothing is sure yet, the set on which the two differ most is the best bet.
        return np.where(epsilon > 0, epsilon, (hits - others) / max(trials, 1) - 1.0)

    return bound


def epsilon_low(hits: NDArray[Any], others: NDArray[Any], trials: int, error: float, delta: float) -> Floats:
    """log((P(E|D) - delta) / P(E|D')) from below, each probability at half the error."""
    p = share_low(hits, trials, error / 2) - delta
    q = share_high(others, trials, error / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, np.maximum(np.log(np.maximum(p, 1e-300) / q), 0.0), 0.0)


# -- the families ------------------------------------------------------------------------------------


def best_set(tally: OutputTally, bound: Bound) -> Event | None:
    """Of the distinct outputs, those that point most to one law; the number of them by the bound."""
    if tally.full or tally.rows is None:
        return None
    best: Event | None = None
    for side in (0, 1):
        (guide, a), (other, b) = tally.n[side], tally.n[1 - side]
        order = np.argsort(-_cautious_ratio(guide, other), kind="stable")
        # What the first part did not see has no place in the order, not even by its value.
        order = order[(guide + other)[order] > 0]
        values = bound(a, b, order)
        size = int(np.argmax(values)) + 1
        if best is None or values[size - 1] > best.promise:
            chosen = tally.rows[np.sort(order[:size])]
            words = f"one of {size} of {len(order)} distinct outputs"
            best = Event(_member_of(chosen), side == 0, words, float(values[size - 1]))
    return best


def best_threshold(scoring: Scoring, words: str, sample: tuple[Floats, Floats], bound: Bound) -> Event:
    """Thresholds on a score, from either end, and unions of its bins; cut on one part, chosen on another."""
    halves = [np.array_split(scoring(rows), 2) for rows in sample]
    cuts = _cuts(np.concatenate([halves[0][0], halves[1][0]]))
    train = [_binned(h[0], cuts) for h in halves]
    check = [_binned(h[1], cuts) for h in halves]
    best: Event | None = None
    for side in (0, 1):
        a, b = check[side], check[1 - side]
        orders = {
            "above": np.arange(len(a))[::-1],
            "below": np.arange(len(a)),
            "bins": np.argsort(-_cautious_ratio(train[side], train[1 - side]), kind="stable"),
        }
        for shape, order in orders.items():
            values = bound(a, b, order)
            size = int(np.argmax(values)) + 1
            if best is None or values[size - 1] > best.promise:
                inside = np.zeros(len(a), bool)
                inside[order[:size]] = True
                described = f"{words} {_described(shape, cuts, size)}"
                best = Event(_in_bins(scoring, cuts, inside), side == 0, described, float(values[size - 1]))
    assert best is not None
    return best


def scorings(sample: tuple[Floats, Floats], learn: bool) -> list[tuple[Scoring, str, tuple[Floats, Floats]]]:
    """Scores to cut: each feature, and with several features learnt likelihood ratios.

    Each comes with the draws its thresholds may be chosen on: for a learnt score, not those it was fitted to.
    """
    width = sample[0].shape[1]
    found: list[tuple[Scoring, str, tuple[Floats, Floats]]] = [
        (_column(i), f"feature {i + 1}" if width > 1 else "the output", sample)
        for i in range(min(width, _MOST_SINGLE))
    ]
    if learn and width > 1 and min(map(len, sample)) >= 200:
        n = min(min(map(len, sample)) // 2, _FITTED)
        rest = (sample[0][n:], sample[1][n:])
        for scoring, words in _learnt(sample[0][:n], sample[1][:n]):
            found.append((scoring, words, rest))
    return found


def _learnt(first: Floats, second: Floats) -> list[tuple[Scoring, str]]:
    """Likelihood ratios by boosted trees, and by a linear score; both are the same for the same draws."""
    # Loaded when first needed, and without types.
    ensemble, models, scaling = (
        importlib.import_module(f"sklearn.{n}") for n in ("ensemble", "linear_model", "preprocessing")
    )
    x = _tame(np.concatenate([first, second]))
    y = np.repeat([1, 0], [len(first), len(second)])
    scaler = scaling.StandardScaler().fit(x)
    linear = models.LogisticRegression(max_iter=200).fit(scaler.transform(x), y)
    trees = ensemble.HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=15, early_stopping=False, random_state=0
    )
    with one_thread():
        trees.fit(x, y)

    def straight(rows: Floats) -> Floats:
        return np.asarray(linear.decision_function(scaler.transform(_tame(rows))), np.float64)

    def grown(rows: Floats) -> Floats:
        with one_thread():
            return np.asarray(trees.decision_function(_tame(rows)), np.float64)

    return [(straight, "a learnt linear score"), (grown, "a learnt likelihood ratio")]


def _tame(rows: Floats) -> Floats:
    """Infinite features as very large ones, which the learners take."""
    return np.clip(rows, -1e30, 1e30)


def _described(shape: str, cuts: Floats, size: int) -> str:
    """The set of bins in words; with all bins in it, it is every output."""
    if size > len(cuts):
        return "whatever it is"
    if shape == "bins":
        return f"in {size} of {len(cuts) + 1} bins, of the highest likelihood ratio"
    cut = cuts[len(cuts) - size] if shape == "above" else cuts[size - 1]
    return f"at or above {cut:.4g}" if shape == "above" else f"below {cut:.4g}"


# -- parts -------------------------------------------------------------------------------------------


def _cautious_ratio(a: NDArray[np.int64], b: NDArray[np.int64]) -> Floats:
    """Log likelihood ratio less one standard error, so that luck with rare outputs does not lead."""
    scale = np.log(max(a.sum(), 1)) - np.log(max(b.sum(), 1))
    ratio: Floats = np.log(a + 0.5) - np.log(b + 0.5) - scale
    return ratio - np.sqrt(1 / (a + 0.5) + 1 / (b + 0.5))


def _cuts(scores: Floats) -> Floats:
    """Quantiles, closer in the tails, where the likelihood ratio is often highest."""
    tail = 0.5 ** np.arange(8, max(9, int(np.log2(max(len(scores), 2))) - 2))
    levels = np.concatenate([tail, np.linspace(0, 1, _BINS + 1)[1:-1], 1 - tail])
    return np.unique(np.quantile(scores, np.sort(levels), method="inverted_cdf"))


def _binned(scores: Floats, cuts: Floats) -> NDArray[np.int64]:
    return np.bincount(np.searchsorted(cuts, scores, side="right"), minlength=len(cuts) + 1)


def _in_bins(
    scoring: Scoring, cuts: Floats, inside: NDArray[np.bool_]
) -> Callable[[Floats], NDArray[np.bool_]]:
    def contains(features: Floats) -> NDArray[np.bool_]:
        return inside[np.searchsorted(cuts, scoring(features), side="right")]

    return contains


def _member_of(chosen: Floats) -> Callable[[Floats], NDArray[np.bool_]]:
    """Membership among some rows."""
    wanted = np.sort(_keys(chosen))

    def contains(features: Floats) -> NDArray[np.bool_]:
        rows = _keys(features)
        place = np.minimum(np.searchsorted(wanted, rows), len(wanted) - 1)
        return np.asarray(wanted[place] == rows, bool)

    return contains


def _column(i: int) -> Scoring:
    return lambda rows: rows[:, i]
