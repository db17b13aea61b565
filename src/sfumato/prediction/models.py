"""Released models: what was published, and nothing else. Scoring them is arithmetic on public numbers.

    model.score([{"glucose": 130, "bmi": 25}])     # probabilities, and which inputs were clamped
    model.explain({"glucose": 130, "bmi": 25})     # what each feature adds

Each model rests on its document alone (see artefact.py). Nothing here can reach the data it was learnt from.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.features.inputs import Fault, Feature, FeatureError, Inputs
from sfumato.privacy.guarantee import Guarantee

# A tree as it is written down: (feature, next nodes) of each inner node, and the values of all nodes.
StoredTree = tuple[tuple[tuple[int, tuple[int, ...]], ...], tuple[float, ...]]
_FARTHEST = 700.0  # log-odds beyond which exp overflows; the probability is 0 or 1 there to all digits


class Scored(NamedTuple):
    """One answer: the probability of the target, and the features that were clamped to public bounds."""

    probability: float
    clamped: tuple[str, ...]


class ScoreExplanation(NamedTuple):
    """Why a score is what it is, in log-odds: the base plus all contributions is the score's."""

    base: float
    contributions: tuple[tuple[str, float], ...]

    @property
    def log_odds(self) -> float:
        """The sum."""
        return self.base + math.fsum(c for _, c in self.contributions)


def probability(log_odds: float) -> float:
    """The probability of some log-odds."""
    z = min(max(log_odds, -_FARTHEST), _FARTHEST)
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


@lru_cache(64)
def _deviations(level: float) -> float:
    """How many standard deviations an interval of this level reaches."""
    return NormalDist().inv_cdf((1 + level) / 2)


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")  # what a service can answer under


def checked_name(name: str) -> str:
    """The name, if a service can answer under it: asked before a fit, and not when a model is served."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ParameterError(
            "a model's name is 1 to 64 letters, digits, '.', '_' or '-', a letter or digit first.",
            hint="give it another name",
        )
    return name


def name_for(target: str) -> str:
    """A name for a model of this target: its own, but for signs that no name has."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", target).lstrip("._-")[:64] or "model"


def plain_classes(classes: Sequence[Any]) -> list[Any]:
    """The outcomes as a model card holds them: plain values, texts for what JSON has no word for."""
    plain = [c.item() if hasattr(c, "item") else c for c in classes]
    return [c if isinstance(c, str | int | float) else str(c) for c in plain]


@dataclass(frozen=True, eq=False)
class ReleasedModel(ABC):
    """What all released models share.

    target: what a score is the probability of.
    card: the model card: plan, evaluation, limits; plain JSON.
    version: of the published content: another content has another version.
    versions: of the software that made it; empty stands for this one.
    signer: the public key (hex) whose signature was checked, or empty before the model was written.
    """

    name: str
    target: str
    features: tuple[Feature, ...]
    guarantee: Guarantee
    card: Mapping[str, Any]
    version: str = ""
    signer: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    kind: ClassVar[str] = ""
    noisy: ClassVar[bool] = False

    @cached_property
    def inputs(self) -> Inputs:
        """The features, prepared for reading rows."""
        return Inputs(self.features)

    @abstractmethod
    def log_odds(self, codes: Sequence[int]) -> float:
        """The log-odds for the codes of a row."""

    @abstractmethod
    def contributions(self, codes: Sequence[int]) -> ScoreExplanation:
        """What each feature adds to the log-odds."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What the document holds of this kind alone."""

    def score(self, rows: Sequence[Mapping[str, object]]) -> list[Scored]:
        """The probability for each row. If any breaks a rule, all that do are named and none is scored."""
        out: list[Scored] = []
        faults: list[Fault] = []
        read, log_odds = self.inputs.codes, self.log_odds
        for place, row in enumerate(rows):
            clamped: list[str] = []
            try:
                codes = read(row, clamped)
            except FeatureError as error:
                faults += [(place, name, rule) for _, name, rule in error.faults]
                continue
            if not faults:
                out.append(Scored(probability(log_odds(codes)), tuple(clamped)))
        if faults:
            raise FeatureError(faults)
        return out

    def explain(self, row: Mapping[str, object]) -> ScoreExplanation:
        """What each feature adds to the score of a row: arithmetic on what is public, and free."""
        return self.contributions(self.inputs.codes(row, []))


@dataclass(frozen=True, eq=False)
class AdditiveModel(ReleasedModel):
    """An additive score: a base, and for each feature one number per bin or level.

    weights: in log-odds, one tuple per feature, missing last where it is allowed.
    """

    base: float = 0.0
    weights: tuple[tuple[float, ...], ...] = field(default=())

    kind: ClassVar[str] = "additive score"

    def log_odds(self, codes: Sequence[int]) -> float:
        """The base and one weight per feature."""
        total = self.base
        for weights, code in zip(self.weights, codes, strict=True):
            total += weights[code]
        return total

    def contributions(self, codes: Sequence[int]) -> ScoreExplanation:
        """Each feature's weight."""
        return ScoreExplanation(
            self.base,
            tuple((f.name, w[c]) for f, w, c in zip(self.features, self.weights, codes, strict=True)),
        )

    def parameters(self) -> dict[str, Any]:
        """Base and weights."""
        return {"base": self.base, "weights": [list(w) for w in self.weights]}


@dataclass(frozen=True, eq=False)
class LogisticModel(AdditiveModel):
    """A private logistic regression: the log-odds of each code of each feature, and how sure they are.

    coordinates: of each feature and code the numbers that its coefficients were multiplied by.
    covariance: of all coefficients, the intercept's first: what noise may have done to them. Both are empty
        where no interval was paid for.
    """

    coordinates: tuple[tuple[tuple[float, ...], ...], ...] = field(default=())
    covariance: tuple[tuple[float, ...], ...] = field(default=())

    kind: ClassVar[str] = "private logistic"

    @property
    def has_intervals(self) -> bool:
        """Whether it can say how far noise may have moved a score."""
        return bool(self.covariance)

    def interval(self, row: Mapping[str, object], level: float = 0.9) -> tuple[float, float]:
        """The probabilities between which the fit without noise would have been, with this confidence."""
        codes = self.inputs.codes(row, [])
        middle, reach = self.log_odds(codes), _deviations(level) * self.spread(codes)
        return probability(middle - reach), probability(middle + reach)

    def contribution_intervals(
        self, row: Mapping[str, object], level: float = 0.9
    ) -> list[tuple[float, float]]:
        """The same of what each feature adds, in log-odds, in the order of the features."""
        codes, times = self.inputs.codes(row, []), _deviations(level)
        parts = (c for _, c in self.contributions(codes).contributions)
        return [(c - times * s, c + times * s) for c, s in zip(parts, self.spreads(codes), strict=True)]

    def spread(self, codes: Sequence[int]) -> float:
        """The standard deviation that noise gave the log-odds of a row."""
        base, tables = self._roots
        total = base.copy()
        for table, code in zip(tables, codes, strict=True):
            total += table[code]
        return math.sqrt(float(total @ total))

    def spreads(self, codes: Sequence[int]) -> list[float]:
        """The same of each feature's part."""
        _, tables = self._roots
        return [math.sqrt(float(t[c] @ t[c])) for t, c in zip(tables, codes, strict=True)]

    @cached_property
    def _roots(self) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
        """Coordinates times a root of the covariance, of the intercept and of each code: x'Cx = |x'R|^2."""
        if not self.covariance:
            raise ParameterError(
                "this model has no intervals.", hint="fit it with intervals: they take a tenth of epsilon"
            )
        whole = np.array(self.covariance)
        values, vectors = np.linalg.eigh((whole + whole.T) / 2)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        found, start = [], 1
        for table in self.coordinates:
            width = len(table[0])
            found.append(np.array(table).reshape(len(table), width) @ root[start : start + width])
            start += width
        return root[0], found

    def parameters(self) -> dict[str, Any]:
        """Base, weights, and what intervals rest on."""
        return {
            **super().parameters(),
            "coordinates": [[list(c) for c in t] for t in self.coordinates],
            "covariance": [list(r) for r in self.covariance],
        }


@dataclass(frozen=True, eq=False)
class ForestModel(ReleasedModel):
    """An alpha-forest: the mean of trees in log-odds.

    trees: of each the inner nodes, root first, and the values of all nodes. A node is (feature, next): the
        code of the feature says which node comes next. Nodes after the last inner one are leaves. The value
        of a leaf is its part of the score; that of an inner node is what was known of the row so far.
    """

    base: float = 0.0
    trees: tuple[StoredTree, ...] = field(default=())

    kind: ClassVar[str] = "alpha forest"

    def log_odds(self, codes: Sequence[int]) -> float:
        """The base and one leaf per tree."""
        total = self.base
        for nodes, values in self.trees:
            inner = len(nodes)
            place = 0
            while place < inner:
                feature, following = nodes[place]
                place = following[codes[feature]]
            total += values[place]
        return total

    def contributions(self, codes: Sequence[int]) -> ScoreExplanation:
        """Each step down a tree changes what is expected; the change is its feature's."""
        base = self.base
        changes = [0.0] * len(self.features)
        for nodes, values in self.trees:
            place = 0
            base += values[0]
            while place < len(nodes):
                feature, following = nodes[place]
                deeper = following[codes[feature]]
                changes[feature] += values[deeper] - values[place]
                place = deeper
        return ScoreExplanation(base, tuple((f.name, c) for f, c in zip(self.features, changes, strict=True)))

    def parameters(self) -> dict[str, Any]:
        """Base and trees."""
        return {
            "base": self.base,
            "trees": [
                {"nodes": [{"feature": f, "next": list(n)} for f, n in nodes], "values": list(values)}
                for nodes, values in self.trees
            ],
        }
