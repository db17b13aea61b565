"""AdditiveScore: one noisy count for each bin and outcome, shrunk, and added up as log-odds.

    score = sf.AdditiveScore(epsilon=1.0, schema=schema).fit(X, y)
    score.predict_proba(X_new)                      # free, as often as you like
    score.save("diabetes.sfm", key)                 # what a service needs, and all of it

Guarantee: epsilon-DP, adding or removing one row (or one person with at most L rows).
Because:   all that is asked of the data is (1) the number of rows, unless declared, sensitivity L, for a
           twentieth of epsilon; (2) for each of F features the counts of its bins by outcome. A row is in one
           cell of each feature, so it changes the F tables together by F in L1, L rows by F L. Both are whole
           numbers with discrete Laplace noise of scale F L / share of epsilon. The bins follow from (1) and
           from what is public; the rest is arithmetic on the answers.
Assumes:   bounds, levels, outcomes and settings are public; no person has more than L rows. Rows with an
           undeclared level or outcome are refused before anything is spent, and that refusal is not covered:
           it is for who holds the data.
Tested by: tests/prediction/test_score_audit.py, tests/prediction/test_additive.py
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.prediction.estimator import Floats, PrivateClassifier, Training
from sfumato.prediction.grid import Codes
from sfumato.prediction.models import AdditiveModel, ReleasedModel
from sfumato.prediction.rule import AdditivePlan, additive_plan, refuse
from sfumato.prediction.shrinkage import log_odds_of, monotone_weights, totals
from sfumato.prediction.spending import Purse
from sfumato.privacy import Guarantee
from sfumato.privacy.noise import laplace
from sfumato.schema import Schema

ROWS_SHARE = Fraction(1, 20)

Ints = NDArray[np.int64]


class AdditiveScore(PrivateClassifier):
    """A differentially private risk score that adds up one number per feature.

    epsilon: of the whole fit; scoring afterwards is free.
    schema: public bounds and levels of the features, confirmed; or one pair (low, high) for all columns.
    rows: the number of rows, if it is public; otherwise a twentieth of epsilon counts it.
    bins: of an ordered feature, at most; None follows the rule of `rule.additive_plan`.
    classes: the two outcomes, the one that is scored last. (With a Table its schema says.)
    monotone: {feature: "increasing" or "decreasing"}: contributions in that order only.
    max_rows_per_person: L; with L > 1 the promise is to persons.
    anyway: fit although the rule says that nothing useful can come of it.
    """

    def __init__(
        self, epsilon: float = 1.0, schema: Schema | tuple[float, float] | None = None, *,
        rows: int | None = None, bins: int | None = None, classes: Sequence[Any] = (0, 1),
        monotone: Mapping[str, str] | None = None, max_rows_per_person: int = 1, anyway: bool = False,
    ) -> None:  # fmt: skip
        self.epsilon = epsilon
        self.schema = schema
        self.rows = rows
        self.bins = bins
        self.classes = classes
        self.monotone = monotone
        self.max_rows_per_person = max_rows_per_person
        self.anyway = anyway

    _purpose = "additive score"

    def _own_faults(self) -> list[str]:
        if self.bins is None or (isinstance(self.bins, int) and 2 <= self.bins <= 16):
            return []
        return ["bins is a whole number from 2 to 16, or None"]

    def _plan(self, features: int, rows: float) -> AdditivePlan:
        plan = additive_plan(features, float(self.epsilon), rows, self.max_rows_per_person)
        if plan.hopeless and not self.anyway:
            what = f"{plan.evidence:.1f} rows stand against the noise of each count"
            raise refuse(what, rows, float(self.epsilon), self.rows is not None)
        return plan if self.bins is None else AdditivePlan(self.bins, plan.evidence)

    def _plan_before(self, training: Training) -> None:
        if self.rows is not None:
            self._plan(len(training.grid.axes), self.rows)

    def _learn(self, training: Training, purse: Purse, guarantee: Guarantee) -> ReleasedModel:
        axes, most = training.grid.axes, self.max_rows_per_person
        left = Fraction(1)
        rows = float(self.rows or 0)
        if self.rows is None:
            counted = laplace(np.array([len(training.outcome)]), most, purse.share(ROWS_SHARE, "rows"))
            rows, left = float(max(counted.values[0], 1)), 1 - ROWS_SHARE
        plan = self._plan(len(axes), rows)
        groups = [a.groups(plan.bins) for a in axes]
        sizes = [int(g[-1]) + 1 for g in groups]
        counts = _counts(training, groups, sizes)
        noisy = laplace(counts, len(axes) * most, purse.share(left, "bins by outcome"))
        tables = np.split(noisy.values, np.cumsum([2 * k for k in sizes])[:-1])
        tables = [t.reshape(-1, 2) for t in tables]
        negative, positive = totals(tables, rows)
        weights = [
            log_odds_of(t, negative, positive, noisy.scale, a.ordered, bool(a.book.missing))
            for t, a in zip(tables, axes, strict=True)
        ]
        for i, axis in enumerate(axes):
            direction = (self.monotone or {}).get(axis.book.name)
            if direction:
                weights[i] = monotone_weights(weights[i], tables[i], direction, bool(axis.book.missing))
        self._groups = groups
        self.plan_ = plan
        self.noisy_rows_ = rows
        self._weights = weights
        self._base = math.log(positive / negative)
        return AdditiveModel(
            name=training.target, target=training.target, guarantee=guarantee,
            card=self._card(plan, rows, noisy.scale),
            features=tuple(a.feature(plan.bins) for a in axes), base=self._base,
            weights=tuple(tuple(float(v) for v in w) for w in weights),
        )  # fmt: skip

    def _card(self, plan: AdditivePlan, rows: float, scale: float) -> dict[str, Any]:
        return {
            "method": "additive score",
            "rows": {"number": rows, "source": "declared" if self.rows is not None else "counted with noise"},
            "plan": {"bins": plan.bins, "evidence": plan.evidence, "noise_scale": scale},
        }

    def _merged(self, codes: Codes) -> Codes:
        return np.stack([g[c] for g, c in zip(self._groups, codes, strict=True)])

    def _log_odds(self, codes: Codes) -> Floats:
        total = np.full(codes.shape[1], self._base)
        for weights, column in zip(self._weights, codes, strict=True):
            total += weights[column]
        return total


def _counts(training: Training, groups: Sequence[Ints], sizes: Sequence[int]) -> Ints:
    """The counts of each bin by outcome, all features one after another: each row is in F cells."""
    parts = [
        np.bincount(2 * g[c] + training.outcome, minlength=2 * k)
        for g, c, k in zip(groups, training.codes, sizes, strict=True)
    ]
    return np.concatenate(parts).astype(np.int64)
