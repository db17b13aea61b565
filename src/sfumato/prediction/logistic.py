"""PrivateLogistic: a jointly fitted risk score with pure epsilon.

    score = sf.PrivateLogistic(epsilon=1.0, schema=schema).fit(X, y)
    score.predict_proba(X_new)                      # free, as often as you like
    score.save("diabetes.sfm", key)                 # what a service needs, and all of it

Guarantee: epsilon-DP, adding or removing one row (or one person with at most L rows).
Because:   what is asked of the data, one after another, for shares of epsilon that add up to it at most:
           (1) the rows with each outcome, discrete Laplace: a row is in one of two, sensitivity L; where
               rows are few, by that answer, a second time;
           (2) where rows are few, the sums of the ordered features, cube noise: each sum changes by at
               most 2^10 whole steps, L rows by L 2^10;
           (3) the coefficients, by noise in the objective, and (4) their rounding: objective.py has the
               proof;
           (5) if asked, residuals by group: group_calibration.py; (6) if asked, curvature: uncertainty.py;
           (7) if asked, histograms of the features: population.py.
           What each asks depends on answers before it and on what is public; the rest is arithmetic on
           answers.
Assumes:   bounds, levels, outcomes and settings are public; no person has more than L rows. Rows with an
           undeclared level or outcome are refused before anything is spent, and that refusal is not
           covered: it is for who holds the data.
Tested by: tests/prediction/test_logistic_audit.py, tests/prediction/test_objective.py
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

import numpy as np

from sfumato.errors import NoisyWarning, ParameterError, listed
from sfumato.features.grid import Axis, Codes
from sfumato.methods.declaration import declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import Flag, ListOf, Text
from sfumato.prediction import parameters as declared
from sfumato.prediction.basis import Basis, FeatureShape, centred, places
from sfumato.prediction.estimator import Floats, PrivateClassifier, Training
from sfumato.prediction.fit_budget import FitBudget
from sfumato.prediction.group_calibration import shifts, table_of
from sfumato.prediction.models import LogisticModel, ReleasedModel, name_for
from sfumato.prediction.objective import Perturbation, published
from sfumato.prediction.population import counted
from sfumato.prediction.rule import LogisticPlan, certain, logistic_plan
from sfumato.prediction.shrinkage import monotone_weights
from sfumato.prediction.uncertainty import bought
from sfumato.privacy import Guarantee
from sfumato.privacy.grants import Grant
from sfumato.privacy.lattice import cube
from sfumato.privacy.noise import laplace
from sfumato.schema import Schema

# Of epsilon: each where it is asked for; the coefficients get the rest.
OUTCOMES, ROUNDING = Fraction(1, 40), Fraction(1, 500)
AGAIN, CENTRES = Fraction(1, 20), Fraction(1, 10)  # where rows are few
GROUPS, INTERVALS, POPULATION = Fraction(1, 10), Fraction(1, 10), Fraction(1, 20)
_CENTRE_STEPS = 2**10  # in which x is summed


@declares(
    declared.private_score(
        "logistic",
        "A private logistic regression: one jointly fitted risk score, explained per feature.",
        "private-logistic.md",
        first=True,
    )
)
class PrivateLogistic(PrivateClassifier):
    """A differentially private logistic regression, pure epsilon.

    >>> people = sf.samples.diabetes(600).drop(["id"])
    >>> score = sf.PrivateLogistic(epsilon=5.0, declared_rows=600).fit(people, "diabetes")
    >>> score.predict_proba(people).shape
    (600, 2)
    >>> score.guarantee_.claims[0].title
    'differential privacy with epsilon = 5'
    """

    shape: str | None
    groups: Sequence[str]
    intervals: bool
    population: bool

    def __init__(
        self,
        epsilon: Annotated[float, declared.EPSILON] = 1.0,
        schema: Annotated[Schema | tuple[float, float] | None, declared.SCHEMA] = None,
        *,
        declared_rows: Annotated[int | None, declared.DECLARED_ROWS] = None,
        shape: Annotated[
            str | None,
            Parameter(Text("What is made of an ordered feature; by default a rule.", tuple(FeatureShape))),
        ] = None,
        groups: Annotated[
            Sequence[str],
            Parameter(
                ListOf(Text(), "Features in whose levels the score is held; a tenth of epsilon."),
                columns=True,
            ),
        ] = (),
        intervals: Annotated[
            bool, Parameter(Flag("Let scores say how far noise may have moved them; a tenth of epsilon."))
        ] = False,
        population: Annotated[
            bool,
            Parameter(
                Flag("Keep noisy histograms of who it was fitted on, for drift; a twentieth of epsilon.")
            ),
        ] = False,
        classes: Annotated[Sequence[Any], declared.CLASSES] = (0, 1),
        monotone: Annotated[Mapping[str, str] | None, declared.MONOTONE] = None,
        max_rows_per_person: Annotated[int, declared.MAX_ROWS_PER_PERSON] = 1,
        anyway: Annotated[bool, declared.ANYWAY] = False,
    ) -> None:
        self._keep(locals())

    _purpose = "private logistic"
    _steps = 128

    def _own_faults(self) -> list[str]:
        faults = []
        if self.shape is not None and self.shape not in tuple(FeatureShape):
            faults.append(f"shape is one of {', '.join(FeatureShape)}, or None")
        if isinstance(self.groups, str) or not all(isinstance(g, str) for g in self.groups):
            faults.append("groups are names of features")
        elif len(set(self.groups)) < len(self.groups):
            faults.append("groups are named once each")
        if not isinstance(self.intervals, bool):
            faults.append("intervals is true or false")
        if not isinstance(self.population, bool):
            faults.append("population is true or false")
        return faults

    def _plan(self, training: Training, rows: float) -> LogisticPlan:
        wide = Basis.of(training.grid.axes, FeatureShape.QUADRATIC)
        plan = logistic_plan(
            wide.linear, wide.one_hot_features, float(self.epsilon), rows, self.max_rows_per_person
        )
        self._weigh(plan.hopeless, rows)
        return plan if self.shape is None else replace(plan, shape=FeatureShape(self.shape))

    def _plan_before(self, training: Training) -> None:
        axes = {a.book.name: a for a in training.grid.axes}
        wrong = [repr(g) for g in self.groups if g not in axes or axes[g].book.column.edges is not None]
        if wrong:
            raise ParameterError(
                f"groups are features with levels; these are not: {listed(wrong)}.",
                hint="a score can be held calibrated in what it is told of a row",
            )
        if self.declared_rows is not None:
            self._plan(training, self.declared_rows)

    def _learn(self, training: Training, purse: FitBudget, guarantee: Guarantee) -> ReleasedModel:
        axes, most = training.grid.axes, self.max_rows_per_person
        outcomes = _Outcomes.asked(training, most, purse.share(OUTCOMES, "rows by outcome"))
        rows = outcomes.rows if self.declared_rows is None else float(self.declared_rows)
        plan = self._plan(training, certain(rows, outcomes.sigma) if self.declared_rows is None else rows)
        few = plan.shape is FeatureShape.CENTRED
        if few:  # a base rate of one fortieth of epsilon would be mostly noise
            outcomes = outcomes.and_again(training, most, purse.share(AGAIN, "rows by outcome, again"))
        if not self.anyway:
            outcomes.warn_if_one_class()
        negative, positive = outcomes.positive_counts
        offset = math.log(positive / negative)
        centres = _centres(training, rows, most, purse) if few else {}
        basis = Basis.of(axes, plan.shape, centres)
        rest = 1 - OUTCOMES - ROUNDING - few * AGAIN - bool(centres) * CENTRES
        rest -= bool(self.groups) * GROUPS + self.intervals * INTERVALS + self.population * POPULATION
        grants = purse.share(rest, "coefficients"), purse.share(ROUNDING, "rounding of coefficients")
        law = Perturbation(
            basis.width, basis.linear, basis.one_hot_features, grants[0].loss, rows, most, plan.sharpness
        )
        found = published(basis, training.codes, training.outcome, offset, law, grants)
        self._base = offset + float(found.coefficients[0])
        self._weights = self._tables(axes, basis, found.coefficients)
        card = self._card(plan, rows, law, found.sigma)
        if self.groups:
            card["groups"] = self._hold(training, purse)
        covariance: Floats = np.empty((0, 0))
        if self.intervals:
            grant = purse.share(INTERVALS, "curvature")
            scores = self._log_odds(training.codes)
            covariance = bought(basis, training.codes, scores, law, found, grant)
        self.plan_ = plan
        features = tuple(a.feature(a.bins) for a in axes)
        if self.population:
            grant = purse.share(POPULATION, "who it was fitted on")
            card["population"] = counted(features, training.codes, most, grant)
        return LogisticModel(
            name=name_for(training.target), target=training.target, guarantee=guarantee, card=card,
            features=features, base=self._base,
            weights=tuple(tuple(float(v) for v in w) for w in self._weights),
            coordinates=tuple(tuple(map(tuple, t.tolist())) for t in basis.tables) if self.intervals else
            (), covariance=tuple(map(tuple, covariance.tolist())),
        )  # fmt: skip

    def _tables(self, axes: Sequence[Axis], basis: Basis, coefficients: Floats) -> list[Floats]:
        """The log-odds of each code of each feature, in the order that was asked for."""
        parts = zip(axes, basis.tables, basis.split(coefficients), strict=True)
        return [self._in_order(axis, table @ own) for axis, table, own in parts]

    def _in_order(self, axis: Axis, weights: Floats) -> Floats:
        """The log-odds of a feature's codes, rising or falling if that was asked for."""
        direction = (self.monotone or {}).get(axis.book.name)
        if not direction:
            return weights
        equal = np.ones((len(weights), 2), dtype=np.int64)
        return monotone_weights(weights, equal, direction, bool(axis.book.missing))

    def _hold(self, training: Training, purse: FitBudget) -> dict[str, Any]:
        """Move the levels of groups so that as many cases are predicted as there are: point 5 above."""
        names = list(training.grid.names)
        places_of = [names.index(g) for g in self.groups]
        sizes = {g: len(self._weights[j]) for g, j in zip(self.groups, places_of, strict=True)}
        found = shifts(
            [training.codes[j] for j in places_of], list(sizes.values()), self._log_odds(training.codes),
            training.outcome, self.max_rows_per_person, purse.share(GROUPS, "residuals by group"),
        )  # fmt: skip
        for j, shift in zip(places_of, found, strict=True):
            moved = self._weights[j] + shift.moves / len(places_of)
            self._weights[j] = self._in_order(training.grid.axes[j], moved)
        small = [f"'{g}' ({int((~s.enough).sum())} of {len(s.enough)} levels)"
                 for g, s in zip(self.groups, found, strict=True) if not s.enough.all()]  # fmt: skip
        if small:
            warnings.warn(
                f"groups too small to say whether the score holds there, by noised counts: {listed(small)}.",
                NoisyWarning,
                stacklevel=2,
            )
        return table_of(self.groups, sizes, found)

    def _card(self, plan: LogisticPlan, rows: float, law: Perturbation, sigma: Floats) -> dict[str, Any]:
        return {
            "method": "private logistic",
            "rows": {
                "number": rows,
                "source": "declared" if self.declared_rows is not None else "counted with noise",
            },
            "plan": {
                "shape": str(plan.shape), "evidence": plan.evidence, "ridge": law.gamma,
                "coefficients": law.width, "noise_sigma": float(sigma.max()),
            },
        }  # fmt: skip

    def _merged(self, codes: Codes) -> Codes:
        return codes

    def _log_odds(self, codes: Codes) -> Floats:
        total = np.full(codes.shape[1], self._base)
        for weights, column in zip(self._weights, codes, strict=True):
            total += weights[column]
        return total


def _centres(training: Training, rows: float, most: int, purse: FitBudget) -> dict[int, float]:
    """The means of ordered features, by their places: point 2 above; missing counts as 0, the middle."""
    asked = [j for j, axis in enumerate(training.grid.axes) if centred(axis)]
    if not asked:
        return {}
    sums = []
    for j in asked:
        steps = np.append(np.rint(places(training.grid.axes[j]) * _CENTRE_STEPS).astype(np.int64), 0)
        sums.append(int(steps[training.codes[j]].sum()))
    noisy = cube(np.array(sums), _CENTRE_STEPS * most, purse.share(CENTRES, "centres of features"))
    means = [float(Fraction(int(v), _CENTRE_STEPS)) / max(rows, 1.0) for v in noisy.values]
    return {j: min(max(m, -1.0), 1.0) for j, m in zip(asked, means, strict=True)}


class _Outcomes(NamedTuple):
    """The rows with each outcome, noised. sigma: of the noise in each."""

    counts: Floats
    sigma: float

    @classmethod
    def asked(cls, training: Training, most: int, grant: Grant) -> _Outcomes:
        """Point 1 above."""
        noisy = laplace(np.bincount(training.outcome, minlength=2), most, grant)
        return cls(noisy.values.astype(np.float64), noisy.sigma)

    def and_again(self, training: Training, most: int, grant: Grant) -> _Outcomes:
        """Asked a second time; both answers weighed by what they are worth."""
        other = _Outcomes.asked(training, most, grant)
        weights = np.array([self.sigma**-2, other.sigma**-2])
        counts = (weights[0] * self.counts + weights[1] * other.counts) / weights.sum()
        return _Outcomes(counts, float(weights.sum() ** -0.5))

    @property
    def positive_counts(self) -> tuple[float, float]:
        """Both, at least 1."""
        negative, positive = np.maximum(self.counts, 1.0)
        return float(negative), float(positive)

    @property
    def rows(self) -> float:
        """Both together."""
        return sum(self.positive_counts)

    def warn_if_one_class(self) -> None:
        """Say plainly, by noised counts, that an outcome hardly occurs."""
        if self.counts.min() < 2 * self.sigma:
            warnings.warn(
                "one of the two outcomes hardly occurs, by noised counts: scores say little but the rate.",
                NoisyWarning,
                stacklevel=2,
            )
