"""AdditiveScore: one noisy count for each bin and outcome, shrunk, and added up as log-odds.

    score = sf.AdditiveScore(epsilon=1.0, schema=schema).fit(X, y)
    score.predict_proba(X_new)                      # free, as often as you like
    score.save("diabetes.sfm", key)                 # what a service needs, and all of it

Guarantee: epsilon-DP, adding or removing one row (or one person with at most L rows).
Because:   three things are asked of the data, each whole numbers with discrete Laplace noise, for shares of
           epsilon that add up to it: (1) the number of rows with each outcome: a row is in one of the two,
           sensitivity L; (2) for each of F features the counts of its bins by outcome: a row is in one cell
           of each feature, so it changes the F tables together by F in L1, L rows by F L; (3) the counts of
           eight bins of the sum of log-odds by outcome: a row is in one, sensitivity L. The bins of (2) come
           from (1), those of (3) from (1) and (2) and what is public; the rest is arithmetic on the answers.
Assumes:   bounds, levels, outcomes and settings are public; no person has more than L rows. Rows with an
           undeclared level or outcome are refused before anything is spent, and that refusal is not covered:
           it is for who holds the data.
Tested by: tests/prediction/test_score_audit.py, tests/prediction/test_scores.py
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.features.grid import Codes
from sfumato.methods.declaration import declares
from sfumato.prediction import parameters as declared
from sfumato.prediction.calibration import BINS, fitted, moments, where
from sfumato.prediction.estimator import Floats, PrivateClassifier, Training
from sfumato.prediction.fit_budget import FitBudget
from sfumato.prediction.models import AdditiveModel, ReleasedModel, name_for
from sfumato.prediction.rule import AdditivePlan, additive_plan, certain
from sfumato.prediction.shrinkage import log_odds_of, monotone_weights, totals
from sfumato.privacy import Guarantee
from sfumato.privacy.noise import laplace
from sfumato.schema import Schema

OUTCOMES, CALIBRATION = Fraction(1, 20), Fraction(1, 10)  # of epsilon; the bins get the rest
EXPECTED_SLOPE = 0.5  # features say the same thing twice

Ints = NDArray[np.int64]


@declares(
    declared.private_score(
        "additive", "A private risk score that adds up one number per feature.", "additive-score.md"
    )
)
class AdditiveScore(PrivateClassifier):
    """A differentially private risk score that adds up one number per feature.

    >>> people = sf.samples.diabetes(600).select(["bmi", "glucose", "diabetes"])
    >>> score = sf.AdditiveScore(epsilon=5.0, declared_rows=600).fit(people, "diabetes")
    >>> score.guarantee_.claims[0].title
    'differential privacy with epsilon = 5'
    """

    bins: int | None

    def __init__(
        self,
        epsilon: Annotated[float, declared.EPSILON] = 1.0,
        schema: Annotated[Schema | tuple[float, float] | None, declared.SCHEMA] = None,
        *,
        declared_rows: Annotated[int | None, declared.DECLARED_ROWS] = None,
        bins: Annotated[
            int | None, declared.count("Of an ordered feature, at most; by default a rule.", 2, 16)
        ] = None,
        classes: Annotated[Sequence[Any], declared.CLASSES] = (0, 1),
        monotone: Annotated[Mapping[str, str] | None, declared.MONOTONE] = None,
        max_rows_per_person: Annotated[int, declared.MAX_ROWS_PER_PERSON] = 1,
        anyway: Annotated[bool, declared.ANYWAY] = False,
    ) -> None:
        self._keep(locals())

    _purpose = "additive score"

    def _own_faults(self) -> list[str]:
        if self.bins is None or (isinstance(self.bins, int) and 2 <= self.bins <= 16):
            return []
        return ["bins is a whole number from 2 to 16, or None"]

    def _plan(self, features: int, rows: float) -> AdditivePlan:
        plan = additive_plan(features, float(self.epsilon), rows, self.max_rows_per_person)
        self._weigh(plan.hopeless, rows)
        return plan if self.bins is None else AdditivePlan(self.bins, plan.evidence)

    def _plan_before(self, training: Training) -> None:
        if self.declared_rows is not None:
            self._plan(len(training.grid.axes), self.declared_rows)

    def _learn(self, training: Training, purse: FitBudget, guarantee: Guarantee) -> ReleasedModel:
        axes, most = training.grid.axes, self.max_rows_per_person
        outcomes = laplace(
            np.bincount(training.outcome, minlength=2), most, purse.share(OUTCOMES, "rows by outcome")
        )
        rows = (
            float(max(outcomes.values.sum(), 1)) if self.declared_rows is None else float(self.declared_rows)
        )
        plan = self._plan(len(axes), certain(rows, outcomes.sigma) if self.declared_rows is None else rows)
        self._groups = [a.groups(plan.bins) for a in axes]
        codes = self._merged(training.codes)
        sizes = [int(g[-1]) + 1 for g in self._groups]
        noisy = laplace(
            _counts(codes, training.outcome, sizes),
            len(axes) * most,
            purse.share(1 - OUTCOMES - CALIBRATION, "bins by outcome"),
        )
        tables = [t.reshape(-1, 2) for t in np.split(noisy.values, np.cumsum([2 * k for k in sizes])[:-1])]
        negative, positive = totals(tables, noisy.scale, outcomes.values, outcomes.scale)
        self._base = math.log(positive / negative)
        self._weights = self._shrunk(training, tables, positive / (positive + negative), noisy.scale)
        self._calibrate(codes, training.outcome, tables, purse)
        self.plan_ = plan
        return AdditiveModel(
            name=name_for(training.target), target=training.target, guarantee=guarantee,
            card=self._card(plan, rows, noisy.scale), base=self._base,
            features=tuple(a.feature(plan.bins) for a in axes),
            weights=tuple(tuple(float(v) for v in w) for w in self._weights),
        )  # fmt: skip

    def _shrunk(
        self, training: Training, tables: Sequence[Ints], overall: float, scale: float
    ) -> list[Floats]:
        weights = []
        for axis, table in zip(training.grid.axes, tables, strict=True):
            missing = bool(axis.book.missing)
            own = log_odds_of(table, overall, scale, axis.ordered, missing)
            direction = (self.monotone or {}).get(axis.book.name)
            weights.append(monotone_weights(own, table, direction, missing) if direction else own)
        return weights

    def _calibrate(self, codes: Codes, outcome: Ints, tables: Sequence[Ints], purse: FitBudget) -> None:
        """Count the sums by outcome, and scale base and weights to what is found: point 3 above."""
        means, variances = moments([t.sum(axis=1) for t in tables], self._weights)
        # Sums spread more than independent features would let them.
        centre, spread = float(means.sum()), 1.5 * math.sqrt(float(variances.sum()))
        place = where(self._log_odds(codes) - self._base, centre, spread)
        counts = np.bincount(2 * place + outcome, minlength=2 * BINS).reshape(BINS, 2)
        noisy = laplace(counts, self.max_rows_per_person, purse.share(CALIBRATION, "scores by outcome"))
        self._base, slope = fitted(noisy.values, noisy.scale, centre, spread, self._base, EXPECTED_SLOPE)
        self._weights = [slope * w for w in self._weights]

    def _card(self, plan: AdditivePlan, rows: float, scale: float) -> dict[str, Any]:
        return {
            "method": "additive score",
            "rows": {
                "number": rows,
                "source": "declared" if self.declared_rows is not None else "counted with noise",
            },
            "plan": {"bins": plan.bins, "evidence": plan.evidence, "noise_scale": scale},
        }

    def _merged(self, codes: Codes) -> Codes:
        return np.stack([g[c] for g, c in zip(self._groups, codes, strict=True)])

    def _log_odds(self, codes: Codes) -> Floats:
        total = np.full(codes.shape[1], self._base)
        for weights, column in zip(self._weights, codes, strict=True):
            total += weights[column]
        return total


def _counts(codes: Codes, outcome: Ints, sizes: Sequence[int]) -> Ints:
    """The counts of each bin by outcome, all features one after another: each row is in F cells."""
    parts = [np.bincount(2 * c + outcome, minlength=2 * k) for c, k in zip(codes, sizes, strict=True)]
    return np.concatenate(parts).astype(np.int64)
