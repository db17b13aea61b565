"""AlphaForest: private trees whose splits are chosen by alpha-impurity and whose leaves are noised once.

    forest = sf.AlphaForest(epsilon=1.0, schema=schema).fit(X, y)

Guarantee: epsilon-DP, adding or removing one row (or one person with at most L rows).
Because:   the number of rows with each outcome takes a share of epsilon (sensitivity L, discrete Laplace);
           each of T trees takes 1/T of the rest: one part for each of its levels and one for its leaves
           (`private_tree.py`). All trees see all rows, so their parts add up. T, depth and shares follow from
           the first answer and from what is public; the features each tree may use are drawn without the
           data; the values of nodes are arithmetic on the noisy leaves. Last, the counts of eight bins of the
           trees' mean by outcome take a share: a row is in one, sensitivity L.
Assumes:   bounds, levels, outcomes and settings are public; no person has more than L rows. Rows with an
           undeclared level or outcome are refused before anything is spent, and that refusal is not covered:
           it is for who holds the data.
Tested by: tests/prediction/test_score_audit.py, tests/prediction/test_scores.py
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from sfumato.features.grid import STEPS, Codes
from sfumato.methods.declaration import declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import Number
from sfumato.prediction import parameters as declared
from sfumato.prediction.calibration import BINS, fitted, moments, where
from sfumato.prediction.estimator import Floats, PrivateClassifier, Training
from sfumato.prediction.fit_budget import FitBudget
from sfumato.prediction.impurity import LARGEST_ALPHA, SMALLEST_ALPHA, Impurity
from sfumato.prediction.models import ForestModel, ReleasedModel, name_for
from sfumato.prediction.nodes import linked, node_values, ordered
from sfumato.prediction.private_tree import Candidates, PrivateTree, grow
from sfumato.prediction.rule import ForestPlan, certain, forest_plan
from sfumato.privacy import Guarantee
from sfumato.privacy.noise import laplace
from sfumato.progress import report
from sfumato.schema import Schema
from sfumato.seeds import Key

OUTCOMES, CALIBRATION = Fraction(1, 50), Fraction(1, 20)  # of epsilon; the trees get the rest
EXPECTED_SLOPE = 2.0  # a mean of shrunk trees is too shy


@declares(declared.private_score("forest", "A private forest of alpha-impurity trees.", "alpha-forest.md"))
class AlphaForest(PrivateClassifier):
    """A differentially private forest of alpha-impurity trees.

    >>> people = sf.samples.diabetes(600).select(["bmi", "glucose", "diabetes"])
    >>> score = sf.AlphaForest(epsilon=5.0, trees=5, depth=2, declared_rows=600).fit(people, "diabetes")
    >>> score.guarantee_.claims[0].title
    'differential privacy with epsilon = 5'
    """

    alpha: float
    trees: int | None
    depth: int | None
    structure: float

    def __init__(
        self,
        epsilon: Annotated[float, declared.EPSILON] = 1.0,
        schema: Annotated[Schema | tuple[float, float] | None, declared.SCHEMA] = None,
        *,
        alpha: Annotated[
            float,
            Parameter(
                Number("2 is Gini's impurity. The larger, the less noise and the blunter the score.", 1.01)
            ),
        ] = 4.0,
        trees: Annotated[int | None, declared.count("How many trees; by default a rule.")] = None,
        depth: Annotated[int | None, declared.count("Of each tree; by default a rule.")] = None,
        structure: Annotated[
            float,
            Parameter(Number("The share of epsilon that chooses splits; the leaves get the rest.", 0, 1)),
        ] = 0.5,
        declared_rows: Annotated[int | None, declared.DECLARED_ROWS] = None,
        classes: Annotated[Sequence[Any], declared.CLASSES] = (0, 1),
        monotone: Annotated[Mapping[str, str] | None, declared.MONOTONE] = None,
        max_rows_per_person: Annotated[int, declared.MAX_ROWS_PER_PERSON] = 1,
        anyway: Annotated[bool, declared.ANYWAY] = False,
    ) -> None:
        self._keep(locals())

    _purpose = "alpha forest"

    def _own_faults(self) -> list[str]:
        faults = []
        if not isinstance(self.alpha, int | float) or not SMALLEST_ALPHA <= self.alpha <= LARGEST_ALPHA:
            faults.append(f"alpha is a number from {SMALLEST_ALPHA:g} to {LARGEST_ALPHA:g}")
        if self.trees is not None and not (isinstance(self.trees, int) and 1 <= self.trees <= 200):
            faults.append("trees is a whole number from 1 to 200, or None")
        if self.depth is not None and not (isinstance(self.depth, int) and 1 <= self.depth <= 10):
            faults.append("depth is a whole number from 1 to 10, or None")
        if not isinstance(self.structure, int | float) or not 0.05 <= self.structure <= 0.95:
            faults.append("structure is a share from 0.05 to 0.95")
        return faults

    def _plan(self, features: int, rows: float) -> ForestPlan:
        plan = forest_plan(features, float(self.epsilon), rows, self.max_rows_per_person)
        self._weigh(plan.hopeless, rows)
        return ForestPlan(self.trees or plan.trees, self.depth or plan.depth, plan.evidence)

    def _plan_before(self, training: Training) -> None:
        Impurity.of(float(self.alpha))
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
        positive, negative = (max(float(v), outcomes.scale, 1.0) for v in outcomes.values[::-1])
        base = math.log(positive / negative)
        self._groups = [a.groups(STEPS) for a in axes]
        codes = self._merged(training.codes)
        trees = self._grown(training, codes, plan, purse)
        ups = [(self.monotone or {}).get(a.book.name) for a in axes]
        values = [ordered(t, node_values(t, base) / plan.trees, ups) for t in trees]
        sizes = [int(g[-1]) + 1 for g in self._groups]
        model = ForestModel(
            name=name_for(training.target), target=training.target, guarantee=guarantee,
            card=self._card(plan, rows), features=tuple(a.feature(STEPS) for a in axes), base=0.0,
            trees=tuple((linked(t, sizes), tuple(v.tolist())) for t, v in zip(trees, values, strict=True)),
        )  # fmt: skip
        base, slope = self._calibrated(model, codes, training.outcome, trees, values, base, purse)
        self.plan_ = plan
        scaled = tuple((nodes, tuple(slope * v for v in value)) for nodes, value in model.trees)
        return replace(model, base=base, trees=scaled)

    def _grown(
        self, training: Training, codes: Codes, plan: ForestPlan, purse: FitBudget
    ) -> list[PrivateTree]:
        candidates = Candidates.of(training.grid, STEPS)
        impurity = Impurity.of(float(self.alpha))
        each = (1 - OUTCOMES - CALIBRATION) / plan.trees
        structure = Fraction(self.structure).limit_denominator(1000)
        shares = (each * structure / plan.depth, each * (1 - structure))
        grown = []
        for place, features in enumerate(_choices(len(training.grid.axes), plan.trees)):
            report("growing trees", place, plan.trees)
            grown.append(
                grow(codes, training.outcome, candidates, features, impurity, plan.depth, purse, shares,
                     self.max_rows_per_person)
            )  # fmt: skip
        return grown

    def _calibrated(
        self, model: ForestModel, codes: Codes, outcome: Codes, trees: Sequence[PrivateTree],
        values: Sequence[Floats], base: float, purse: FitBudget,
    ) -> tuple[float, float]:  # fmt: skip
        """Base and slope from the counts of the sums by outcome: a row is in one of them."""
        leaves = [v[len(t.splits) :] for t, v in zip(trees, values, strict=True)]
        means, variances = moments([t.leaves.values.sum(axis=1) for t in trees], leaves)
        # Trees agree: their spreads add up, not their variances.
        centre, spread = float(means.sum()), float(np.sqrt(variances).sum())
        place = where(_sums(model, codes), centre, spread)
        counts = np.bincount(2 * place + outcome, minlength=2 * BINS).reshape(BINS, 2)
        noisy = laplace(counts, self.max_rows_per_person, purse.share(CALIBRATION, "scores by outcome"))
        return fitted(noisy.values, noisy.scale, centre, spread, base, EXPECTED_SLOPE)

    def _card(self, plan: ForestPlan, rows: float) -> dict[str, Any]:
        return {
            "method": "alpha forest",
            "rows": {
                "number": rows,
                "source": "declared" if self.declared_rows is not None else "counted with noise",
            },
            "plan": {"trees": plan.trees, "depth": plan.depth, "alpha": float(self.alpha)},
        }

    def _merged(self, codes: Codes) -> Codes:
        return np.stack([g[c] for g, c in zip(self._groups, codes, strict=True)])

    def _log_odds(self, codes: Codes) -> Floats:
        assert isinstance(self.model_, ForestModel)
        return _sums(self.model_, codes)


def _sums(model: ForestModel, codes: Codes) -> Floats:
    """The log-odds of all rows: what `ForestModel.log_odds` does for one."""
    total = np.full(codes.shape[1], model.base)
    every = np.arange(codes.shape[1])
    for nodes, values in model.trees:
        place = np.zeros(codes.shape[1], np.int64)
        feature = np.array([f for f, _ in nodes])
        widest = max(len(n) for _, n in nodes)
        following = np.array([(*n, *([0] * (widest - len(n)))) for _, n in nodes])
        while (inner := place < len(nodes)).any():
            at = place[inner]
            place[inner] = following[at, codes[feature[at], every[inner]]]
        total += np.array(values)[place]
    return total


def _choices(features: int, trees: int) -> list[list[int]]:
    """The features of each tree, drawn without looking at the data: half of them, at least three.

    Dealt out in turn from shuffled packs, so that none is forgotten.
    """
    wanted = min(features, max(3, math.ceil(features / 2)))
    key = Key.fresh()
    hands: list[list[int]] = []
    pack: list[int] = []
    while len(hands) < trees:
        if len(pack) < wanted:
            fresh = [
                int(j) for j in np.argsort(key.words(0, len(hands) * features, features).ravel()[:features])
            ]
            pack += [j for j in fresh if j not in pack]
        hands.append(sorted(pack[:wanted]))
        pack = pack[wanted:]
    return hands
