"""What a predictive model loses when it is asked about generalized rows (thesis, p. 30 and 59).

A model sees a cell as the nodes it lies under: one number per node of the hierarchy, 1 if the cell lies
under it, the share of training rows if the node lies under the cell, else 0. A generalized cell is thus what
one would expect of it, any scikit-learn estimator can be asked about it, and a cell that was not generalized
is a row of the augmented table (p. 32).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.measure import Floats
from sfumato.anonymization.outcome import MOST, OutcomeCounts, outcome
from sfumato.anonymization.problem import Problem
from sfumato.anonymization.recoding import Recoding
from sfumato.errors import ParameterError
from sfumato.hierarchy import Hierarchy
from sfumato.hierarchy.augmentation import SUPPRESSED, implied
from sfumato.seeds import Key

if TYPE_CHECKING:
    from sfumato.methods.estimators import Estimator

_FINE = 400  # nodes on one level: finer levels are not shown to a model
_BATCH = 20_000  # rows predicted at once


class Model(Protocol):
    """Answers about generalized rows."""

    def predict(self, nodes: NDArray[np.int32]) -> Floats:
        """(rows, columns) nodes -> (rows, outputs): a number, or the probability of each outcome."""
        ...


@dataclass(frozen=True, eq=False)
class LearningTarget:
    """The outcome as a model learns it: numbers where all its levels are numbers, else classes.

    value: (outcomes,), the number of each; none for classes.
    """

    found: OutcomeCounts
    value: Floats | None

    @classmethod
    def of(cls, problem: Problem, name: str, estimator: object = None, most: int = MOST) -> LearningTarget:
        """Numbers are taken as they are, unless a classifier is to learn them; of classes at most `most`."""
        numbers = None if _classifies(estimator) else _numbers(problem, name)
        if numbers is None:
            return cls(outcome(problem, name, most), None)
        return cls(outcome(problem, name, None), numbers)

    def error(self, predicted: Floats, code: NDArray[np.int64], power: int) -> Floats:
        """|prediction - outcome|^power; for classes half the sum over the outcomes: 1 is the worst."""
        if self.value is not None:
            return np.asarray(np.abs(predicted[:, 0] - self.value[code]) ** power)
        apart = predicted.copy()
        apart[np.arange(len(code)), code] -= 1.0
        return np.asarray((np.abs(apart) ** power).sum(1) / 2)

    def change(self, one: Floats, other: Floats) -> Floats:
        """|difference| of two predictions; of two distributions, half the sum over the outcomes."""
        apart = np.abs(one - other).sum(-1)
        return np.asarray(apart if self.value is not None else apart / 2)


def _classifies(estimator: object) -> bool:
    if estimator is None or hasattr(estimator, "learn"):
        return False
    from sklearn.base import is_classifier

    return bool(is_classifier(estimator))


def _numbers(problem: Problem, name: str) -> Floats | None:
    """The numbers of the outcomes that occur, in the order `outcome` gives them; None if they are none."""
    if name not in problem.sensitive:
        return None
    sparse = problem.sensitive[name]
    try:
        levels = np.array([float(x) for x in sparse.names])
    except ValueError:
        return None
    seen = np.unique(sparse.code)
    if not len(levels) or int(seen.max(initial=0)) >= len(levels) or len(seen) < 3:
        return None  # missing outcomes, or two of them: yes and no
    return np.asarray(levels[seen], np.float64)


class Encoding:
    """Cells of the augmented table as features: 1 for the node an implied column tells, 0 for its others.

    An implied column that generalizing suppressed is what one would expect: the shares of the training rows.
    """

    def __init__(self, problem: Problem, rows: Floats) -> None:
        self.tables = [
            _features(h, np.bincount(problem.leaves[:, j], rows, len(h.leaves)))
            for j, h in enumerate(problem.hierarchies)
        ]

    def features(self, nodes: NDArray[np.int32]) -> Floats:
        """(rows, columns) -> (rows, features)."""
        return np.hstack([table[nodes[:, j]] for j, table in enumerate(self.tables)])


def _features(hierarchy: Hierarchy, rows: NDArray[Any]) -> Floats:
    """(nodes, features): P(under the feature's node | under the node), rows: (leaves,) to learn it from.

    Where no training row lies under a node, its leaves count alike.
    """
    cells = implied(hierarchy, np.arange(hierarchy.size))
    parts = []
    for level, names in enumerate(hierarchy.labels[:-1]):
        if len(names) > _FINE:
            continue
        place = hierarchy.ancestors[level]
        table, plain = (np.zeros((hierarchy.size, len(names))) for _ in range(2))
        for above in hierarchy.nodes[level + 1 :]:
            np.add.at(table, (above, place), rows)
            np.add.at(plain, (above, place), 1.0)
        found = np.where(table.sum(1, keepdims=True) > 0, table, plain)
        told = np.flatnonzero(cells[:, level] != SUPPRESSED)
        found[told] = 0.0
        found[told, cells[told, level] - hierarchy.offsets[level]] = 1.0
        parts.append(found / found.sum(1, keepdims=True))
    return np.hstack(parts) if parts else np.zeros((hierarchy.size, 0))


@dataclass(frozen=True, eq=False)
class FittedEstimator:
    """An estimator and how it reads nodes."""

    encoding: Encoding
    estimator: Any
    classes: int

    def predict(self, nodes: NDArray[np.int32]) -> Floats:
        """In batches; rows that are alike are asked about once."""
        unique, back = np.unique(nodes, axis=0, return_inverse=True)
        parts = [self._batch(unique[i : i + _BATCH]) for i in range(0, len(unique), _BATCH)]
        return np.asarray(np.concatenate(parts)[back.ravel()])

    def _batch(self, nodes: NDArray[np.int32]) -> Floats:
        seen = self.encoding.features(nodes)
        if not self.classes:
            return np.asarray(self.estimator.predict(seen), np.float64).reshape(len(nodes), 1)
        out = np.zeros((len(nodes), self.classes))
        out[:, self.estimator.classes_] = self.estimator.predict_proba(seen)
        return out


def halves(found: OutcomeCounts, share: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(entries,) each: rows to learn from, and rows held out."""
    learn = Key.from_seed(seed).generator("held out").binomial(found.n, share)
    return learn, found.n - learn


def learn(
    problem: Problem, target: LearningTarget, rows: NDArray[np.int64], estimator: object = None
) -> Model:
    """A model from some rows of a table, each as it stands. rows: (entries of the outcome,).

    estimator: any of scikit-learn's (a classifier needs predict_proba), or something with
    `learn(problem, target, rows)`, such as `HierarchyNetwork`. None: ridge (its penalty cross-validated) or
    logistic regression.
    """
    if hasattr(estimator, "learn"):
        return estimator.learn(problem, target, rows)  # type: ignore[no-any-return]
    from sklearn.base import clone
    from sklearn.utils.validation import has_fit_parameter

    if estimator is None:
        estimator = _plain(target)
    found, numeric = target.found, target.value is not None
    weights = np.bincount(found.of, rows, problem.combinations).astype(np.float64)
    encoding = Encoding(problem, weights)
    used = rows > 0
    seen = encoding.features(problem.leaves[found.of[used]])  # a leaf is the node of its own number
    wanted = target.value[found.code[used]] if target.value is not None else found.code[used]
    if not numeric and not hasattr(estimator, "predict_proba"):
        raise ParameterError("the outcome is a class, and the estimator gives no probabilities.")
    if not numeric and len(np.unique(wanted)) < 2:
        raise ParameterError(
            "all rows to learn from have the same outcome: there is nothing to predict.",
            hint="name another target; or, if the other outcomes are rare, learn from more rows",
        )
    fresh = clone(estimator)
    if has_fit_parameter(fresh, "sample_weight"):
        fresh.fit(seen, wanted, sample_weight=rows[used])
    else:
        fresh.fit(np.repeat(seen, rows[used], axis=0), np.repeat(wanted, rows[used]))
    return FittedEstimator(encoding, fresh, 0 if numeric else found.levels)


def _plain(target: LearningTarget) -> Estimator:
    from sklearn.linear_model import LogisticRegression, RidgeCV

    numeric = target.value is not None
    alphas = (0.1, 1.0, 10.0, 100.0, 1_000.0, 10_000.0)
    plain: Estimator = RidgeCV(alphas=alphas) if numeric else LogisticRegression(C=0.1, max_iter=300)
    return plain


@dataclass(frozen=True, eq=False)
class Degradation:
    """How much worse a model does on the released rows than on the original ones.

    A model learns from a random share of the rows as they are; the others are held out. The score is the
    mean error on the held-out rows as released, less that on the same rows as they were.
    error: 'squared' (default): the root mean squared error of numbers, in their unit, and Brier's score of
    classes, from 0 to 1. Both are best for who predicts what is expected. 'absolute' is the thesis': the mean
    of |prediction - outcome|. With it a model may look better the less it is told.
    against: 'outcome' (default), or 'prediction': the mean change of the prediction itself, which is never
    negative and does not look at held-out outcomes.
    Not monotone and not a sum over cells: it scores, and `ModelGuided` is the search it goes with. A score
    slightly below 0 is chance, or a model that learnt noise which generalizing took away.

    >>> from sfumato.anonymization.problem import compress
    >>> people, columns = sf.samples.members(100), ["sex", "insurance"]
    >>> ladders = {c: sf.Hierarchy.of_rows([(v, "*") for v in people.schema[c].levels]) for c in columns}
    >>> problem = compress(people, columns, ladders, sensitive=["diabetes"])
    >>> lost = sf.Degradation("diabetes").score(sf.Greedy().search(problem, sf.KAnonymity(5)))
    >>> -1 < lost < 1
    True
    """

    target: str
    estimator: Any = None
    against: Literal["outcome", "prediction"] = "outcome"
    error: Literal["squared", "absolute"] = "squared"
    share: float = 0.5
    seed: int = 0

    name = "degradation of a model"
    monotone = False
    better: ClassVar[Literal["lower"]] = "lower"
    reads_outcome = True

    def __post_init__(self) -> None:
        faults = [] if self.target else ["a target column must be named"]
        if not 0 < self.share < 1:
            faults.append("share must be between 0 and 1")
        if self.against not in ("outcome", "prediction"):
            faults.append("against must be 'outcome' or 'prediction'")
        if self.error not in ("squared", "absolute"):
            faults.append("error must be 'squared' or 'absolute'")
        if faults:
            raise ParameterError(f"{'; '.join(faults)}.", hint="Degradation(target='charge')")

    @property
    def needs(self) -> tuple[str, ...]:
        """The target."""
        return (self.target,)

    @property
    def range(self) -> tuple[float, float]:
        """Open below for outcomes."""
        return (0.0, math.inf) if self.against == "prediction" else (-math.inf, math.inf)

    def score(self, recoding: Recoding) -> float:
        """The mean error that releasing adds, over held-out rows."""
        return self.scores(recoding)[0]

    def scores(self, *recodings: Recoding) -> list[float]:
        """The score of several recodings of one problem: the model learns once."""
        problem = recodings[0].problem
        target = LearningTarget.of(problem, self.target, self.estimator)
        learnt, held = halves(target.found, self.share, self.seed)
        if not learnt.any() or not held.any():
            raise ParameterError("too few rows to learn from some and to hold out others.")
        model = learn(problem, target, learnt, self.estimator)
        before = model.predict(problem.leaves)
        return [self._added(r, target, held, model, before) for r in recodings]

    def _added(
        self,
        recoding: Recoding,
        target: LearningTarget,
        held: NDArray[np.int64],
        model: Model,
        before: Floats,
    ) -> float:
        """Held-out rows of a combination in several pieces: in proportion to the rows of each."""
        problem, found = recoding.problem, target.found
        roots = np.array([h.root for h in problem.hierarchies], np.int32)
        after = model.predict(np.where(recoding.suppressed[:, None], roots, recoding.nodes).astype(np.int32))
        share = recoding.n / problem.n[recoding.of]
        start = np.searchsorted(recoding.of, np.arange(problem.combinations + 1))
        pieces = np.diff(start)[found.of]
        entry = np.repeat(np.arange(len(found.of)), pieces)
        piece = np.repeat(start[found.of] - (np.cumsum(pieces) - pieces), pieces) + np.arange(len(entry))
        weight = held[entry] * share[piece]
        if self.against == "prediction":
            change = np.abs(after[piece] - before[found.of[entry]]).sum(1) / (
                1 if target.value is not None else 2
            )
            return float((change * weight).sum() / held.sum())
        code = found.code[entry]
        power = 2 if self.error == "squared" else 1
        means = [
            float((target.error(p, code, power) * weight).sum() / held.sum())
            for p in (after[piece], before[found.of[entry]])
        ]
        if power == 2 and target.value is not None:
            means = [math.sqrt(m) for m in means]
        return means[0] - means[1]
