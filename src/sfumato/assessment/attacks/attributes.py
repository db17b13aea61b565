"""Attribute inference: what the release tells about a person's sensitive value, found or not found.

Right guesses alone are no disclosure: a release that shows how age and disease hang together lets anyone
guess better, about people who are not in it too. What counts is the success above the control.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.assessment.attacks.beliefs import (
    Beliefs,
    believe,
    check_secret,
    class_values,
    histograms,
    in_turn,
    learnt_from,
    numbers_of,
    released_nodes,
    secrets,
)
from sfumato.assessment.attacks.intruder import Distinct, Floats, Ints, knows, look
from sfumato.assessment.attacks.success import CONFIDENCE, NothingToAttack, mean_interval, rate
from sfumato.assessment.reading.alignment import Pair
from sfumato.errors import DataError, ParameterError
from sfumato.score import Score
from sfumato.table import Table

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_WORK = 5_000_000  # steps of one round of fitting that are quick enough, some hundred times


def most_frequent(
    pair: Pair,
    known: Sequence[str],
    sensitive: str,
    *,
    control: Table | None = None,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """Guess the most frequent sensitive value among the matching records (PeGS 4.4), ties at random."""
    beliefs = believe(pair, known, sensitive)
    others = None if control is None else believe(pair, known, sensitive, control)
    return [
        rate(
            f"attribute inference, mode, {sensitive}",
            beliefs.mode_right(),
            meaning=f"Share of people whose {sensitive} is guessed right as the most frequent value among "
            "the released records that fit what the intruder knows.",
            knowledge=knows(known, pair=pair),
            columns=(*known, sensitive),
            baseline=beliefs.constant_guess(),
            control=None if others is None else others.mode_right(),
            confidence=confidence,
            details={"without_match": float((beliefs.total == 0).mean())},
        )
    ]


def mean_value(
    pair: Pair,
    known: Sequence[str],
    sensitive: str,
    *,
    control: Table | None = None,
    within: float = 0.05,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """Guess the mean of a numeric sensitive column over the matching records (PeGS 4.4).

    within: a guess counts as right if it is off by at most this share of the true value.
    """
    check_secret(known, sensitive)
    truth, released = numbers_of(pair.original, sensitive), numbers_of(pair.released, sensitive)
    if truth is None or released is None:
        raise DataError(f"column '{sensitive}' is not numeric in both files.", hint="use most_frequent")
    if np.isnan(truth).all() or np.isnan(released).all():
        raise DataError(f"column '{sensitive}' is missing in a whole file.", hint="name another column")
    plain = float(np.nanmean(released))
    guess, scale = _means(pair, known, released, None, plain), np.abs(truth)
    error, alone = np.abs(guess - truth), np.abs(plain - truth)
    there = ~np.isnan(truth)
    right, base = error <= within * scale, alone <= within * scale
    other_error = other_right = None
    if control is not None:
        secret = numbers_of(control, sensitive)
        if secret is None:
            raise DataError(f"column '{sensitive}' of the control is not numeric.", hint="correct its schema")
        gap = np.abs(_means(pair, known, released, control, plain) - secret)
        kept = ~np.isnan(secret)
        if not kept.any():
            raise DataError(f"column '{sensitive}' is missing in the control.", hint="leave the control out")
        other_error, other_right = float(gap[kept].mean()), (gap <= within * np.abs(secret))[kept]
    knowledge = knows(known, pair=pair)
    return [
        Score(
            name=f"attribute inference, mean error, {sensitive}",
            section="attack",
            value=float(error[there].mean()),
            range=(0.0, np.inf),
            better="higher",
            meaning=f"How far the mean {sensitive} of the fitting released records is from a person's own, "
            "on average; the baseline takes the mean of the whole release.",
            columns=(*known, sensitive),
            knowledge=knowledge,
            baseline=float(alone[there].mean()),
            control=other_error,
        ),
        rate(
            f"attribute inference, mean, {sensitive}",
            right[there],
            meaning=f"Share of people whose {sensitive} is guessed to within {within:.0%} as the mean of the "
            "released records that fit what the intruder knows.",
            knowledge=knowledge,
            columns=(*known, sensitive),
            baseline=float(base[there].mean()),
            control=other_right,
            confidence=confidence,
        ),
    ]


def _means(pair: Pair, known: Sequence[str], released: Floats, people: Table | None, plain: float) -> Floats:
    """The mean over matching records of each person; the overall mean where nobody matches."""
    view = look(pair, known, people)
    there = ~np.isnan(released)
    of, classes = view.classes.of, len(view.classes.rows)
    sums = np.bincount(of[there], released[there], minlength=classes)
    values = np.column_stack([sums, np.bincount(of[there], minlength=classes)])
    out = np.full(len(view.persons.rows), plain)
    for part, block in histograms(view, values):
        out[part] = np.where(block[:, 1] > 0, block[:, 0] / np.maximum(block[:, 1], 1), plain)
    return out[view.persons.of]


def learnt(
    pair: Pair,
    known: Sequence[str],
    sensitive: str,
    *,
    estimator: Any = None,
    control: Table | None = None,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """A model of the sensitive column, trained on the release, applied to the people.

    estimator: any scikit-learn classifier that takes sparse input; by default logistic regression, or naive
        Bayes where a hundred diagnoses or dates made general would keep it busy for minutes.
    A known column is one input per leaf: 1 for a person's value; for a generalized cell the shares of
    what it may stand for. Records whose sensitive cell is generalized are left out of the training.
    """
    check_secret(known, sensitive)
    view = look(pair, known)
    nodes = released_nodes(pair, sensitive)
    sharp = pair.spread[sensitive].max(axis=1) > 1 - 1e-9
    usable = sharp[nodes]
    target = pair.spread[sensitive].argmax(axis=1)[nodes]
    if len(np.unique(target[usable])) < 2:
        raise NothingToAttack(
            f"the release has fewer than two exact values of '{sensitive}' to learn from.",
            hint="use most_frequent",
        )
    tables = [_with_unseen(pair.spread[c]) for c in view.columns]
    counts = np.bincount(target[usable])
    values = int(np.count_nonzero(counts))
    used = np.flatnonzero(usable)
    used = used[learnt_from(len(used), values)] if estimator is None else used
    alike, weights = np.column_stack([view.released[used], target[used]]), {}
    if estimator is None:  # records that are alike are learnt from once, with their number
        kinds = Distinct.among(alike)
        alike, weights = kinds.rows, {"sample_weight": kinds.sizes.astype(np.float64)}
    inputs = _inputs(alike[:, :-1], tables)
    if estimator is None:
        estimator = _quick_enough(int(np.diff(inputs.indptr) @ kinds.sizes) * values)
    model = importlib.import_module("sklearn.base").clone(estimator)
    with warnings.catch_warnings():
        # An intruder who stops before the last digit guesses as well.
        warnings.simplefilter("ignore", importlib.import_module("sklearn.exceptions").ConvergenceWarning)
        model.fit(inputs, alike[:, -1], **weights)
    guess = partial(_predicted, model, tables)
    right = in_turn(guess, view.persons, values) == secrets(pair, sensitive)
    others = None
    if control is not None:
        strangers = look(pair, known, control).persons
        others = in_turn(guess, strangers, values) == secrets(pair, sensitive, control)
    return [
        rate(
            f"attribute inference, {type(model).__name__}, {sensitive}",
            right,
            meaning=f"Share of people whose {sensitive} is guessed right by a model trained on the release.",
            knowledge=knows(known, pair=pair),
            columns=(*known, sensitive),
            baseline=float((secrets(pair, sensitive) == counts.argmax()).mean()),
            control=others,
            confidence=confidence,
            details={"trained_on": len(used)},
        )
    ]


def _quick_enough(work: int) -> Any:
    """A model by the steps that one round of fitting takes: cells that are not 0, times classes."""
    if work <= _WORK:
        return importlib.import_module("sklearn.linear_model").LogisticRegression(max_iter=100, tol=1e-3)
    return importlib.import_module("sklearn.naive_bayes").MultinomialNB(alpha=0.5)


def _with_unseen(spread: Floats) -> Floats:
    return np.column_stack([spread, np.zeros(len(spread))])


def _inputs(nodes: Ints, tables: Sequence[Floats]) -> csr_matrix:
    from scipy import sparse

    return sparse.hstack([sparse.csr_matrix(t)[nodes[:, i]] for i, t in enumerate(tables)], format="csr")


def _predicted(model: Any, tables: Sequence[Floats], people: Ints) -> Ints:
    from scipy import sparse

    parts = [
        sparse.identity(t.shape[1], format="csr")[np.minimum(people[:, i], t.shape[1] - 1)]
        for i, t in enumerate(tables)
    ]
    return np.asarray(model.predict(sparse.hstack(parts, format="csr")), np.int64)


def homogeneity(
    pair: Pair,
    known: Sequence[str],
    sensitive: str,
    *,
    control: Table | None = None,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """People all of whose matching records share one sensitive value, which is theirs: k does not help."""
    beliefs = believe(pair, known, sensitive)
    others = None if control is None else believe(pair, known, sensitive, control)
    view = look(pair, known)
    per_class = class_values(pair, view, sensitive)
    alike = (np.diff(per_class.indptr) == 1) & (view.classes.sizes > 1)
    shares = beliefs.marginal / beliefs.marginal.sum()
    # By chance: all records that fit have the person's value, drawn from the release as a whole.
    chance = np.where(beliefs.total > 0, shares[beliefs.secret] ** np.maximum(beliefs.total, 1), 0.0)
    return [
        rate(
            f"homogeneity, {sensitive}",
            beliefs.certain(),
            meaning=f"Share of people whose {sensitive} is certain, because all released records that may be "
            "them have the same, true one.",
            knowledge=knows(known, pair=pair),
            columns=(*known, sensitive),
            baseline=float(chance.mean()),
            control=None if others is None else others.certain(),
            confidence=confidence,
            details={
                "classes": len(alike),
                "homogeneous_classes_of_two_or_more": int(alike.sum()),
                "records_in_them": int(view.classes.sizes[alike].sum()),
            },
        )
    ]


def background(
    pair: Pair,
    known: Sequence[str],
    sensitive: str,
    *,
    excluded: int = 1,
    control: Table | None = None,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """People whose value is certain for an intruder who can rule out so many wrong values about each.

    The worst case: the intruder happens to know just the values that help most ("he has no diabetes").
    """
    if isinstance(excluded, bool) or not isinstance(excluded, int) or excluded < 1:
        raise ParameterError("excluded is a whole number from 1 up.", hint="excluded=1")
    beliefs = believe(pair, known, sensitive)
    others = None if control is None else believe(pair, known, sensitive, control)
    return [
        rate(
            f"background knowledge of {excluded}, {sensitive}",
            beliefs.certain(excluded),
            meaning=f"Share of people whose {sensitive} is certain once the intruder rules out {excluded} "
            f"wrong value{'s' * (excluded > 1)} about them.",
            knowledge=knows(
                known, f", and {excluded} value{'s' * (excluded > 1)} each person does not have", pair
            ),
            columns=(*known, sensitive),
            baseline=float(beliefs.certain().mean()),
            control=None if others is None else others.certain(excluded),
            confidence=confidence,
        )
    ]


def link_gain(
    pair: Pair,
    known: Sequence[str],
    linked: Sequence[str],
    sensitive: str,
    *,
    control: Table | None = None,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """The link gain ratio (LUGS theorem 2): P(right | known, linked) / P(right | known).

    linked: columns that a second data set, linked on `known`, adds to what the intruder knows. The
    probability of a person is the share of fitting released records that have the true value.
    """
    both = [*known, *(c for c in linked if c not in known)]
    if len(both) == len(set(known)):
        raise ParameterError("the second data set adds no column.", hint="name columns not in known")
    half = 1 - (1 - confidence) / 2
    before = believe(pair, known, sensitive).confidence_in_truth()
    after = believe(pair, both, sensitive).confidence_in_truth()
    value = _gain(before, after)
    first, second = mean_interval(before, half), mean_interval(after, half)
    others = None
    if control is not None:
        outside: list[Beliefs] = [believe(pair, c, sensitive, control) for c in (known, both)]
        others = _gain(*(b.confidence_in_truth() for b in outside))
    with np.errstate(divide="ignore", invalid="ignore"):
        single = after[before > 0] / before[before > 0]
    marks = (0.05, 0.25, 0.5, 0.75, 0.95)
    low = second[0] / first[1]
    high = second[1] / first[0] if first[0] > 0 else np.inf
    return [
        Score(
            name=f"link gain, {sensitive}",
            section="attack",
            value=value,
            range=(0.0, np.inf),
            better="lower",
            meaning=f"By how much a second data set with {', '.join(linked)} multiplies the chance to name a "
            f"person's {sensitive}; 1 is no gain.",
            low=min(low, value),
            high=max(high, value),
            confidence=confidence,
            columns=(*both, sensitive),
            knowledge=knows(known, f", and from a linked data set {', '.join(linked)}", pair),
            baseline=1.0,
            control=others,
            details={
                "before": float(before.mean()),
                "after": float(after.mean()),
                "per_person": [{"share": m, "gain": float(np.quantile(single, m))} for m in marks]
                if len(single)
                else [],
            },
        )
    ]


def _gain(before: Floats, after: Floats) -> float:
    return float(after.mean() / before.mean()) if before.mean() > 0 else 1.0
