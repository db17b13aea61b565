"""How fine a private model may be, and when none is worth publishing: a rule of public numbers.

Everything here follows from the number of features, epsilon and a number of rows that was declared or
counted with noise. Nothing looks at the data, so nothing here costs anything.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

from sfumato.errors import NoisyWarning, ParameterError
from sfumato.prediction.basis import FeatureShape

_FINE = 400.0  # rows times epsilon for each feature, from which sixteen bins serve better than eight
_HOPELESS = 20.0  # evidence below which scores are hardly better than a coin
_QUADRATIC, _CUBIC = (
    400.0,
    1500.0,
)  # rows times epsilon for each coordinate, from which more shapes serve better
# Rows times epsilon for each coordinate, and for it and the root of all of them (so small errors add up
# to a score), below which a regression is hardly better than a coin.
_FAINT, _FAINT_SUM = 5.0, 0.5
_ROWS_PER_NOISE = 5 / 6  # of a leaf, for each feature
_BARREN = 50.0  # evidence below which a forest has nothing to say


@dataclass(frozen=True)
class AdditivePlan:
    """The bins of an ordered feature, and what the plan rests on.

    evidence: rows times epsilon over the root of the number of features. Each of F counts has F times the
        noise that one alone would have, and in a sum of F weights noise grows with the root of F only.
    """

    bins: int
    evidence: float

    @property
    def hopeless(self) -> bool:
        """Whether scores would hardly be better than a coin."""
        return self.evidence < _HOPELESS


def additive_plan(features: int, epsilon: float, rows: float, max_rows: int = 1) -> AdditivePlan:
    """The rule of the additive score."""
    worth = max(rows, 0.0) * epsilon / max_rows
    return AdditivePlan(8 if worth < _FINE * features else 16, worth / math.sqrt(features))


@dataclass(frozen=True)
class LogisticPlan:
    """What is made of ordered features. evidence: rows times epsilon for each of so many coordinates."""

    shape: FeatureShape
    evidence: float
    coordinates: int

    @property
    def hopeless(self) -> bool:
        """Whether scores would hardly be better than a coin."""
        return self.evidence < max(_FAINT, _FAINT_SUM * math.sqrt(self.coordinates))

    @property
    def sharpness(self) -> int:
        """Of the loss (loss.py): where noise is strong, twice the ridge loses less than curvature saves."""
        return 2 if self.shape is FeatureShape.CENTRED else 1


def logistic_plan(linear: int, one_hot: int, epsilon: float, rows: float, max_rows: int = 1) -> LogisticPlan:
    """The rule of the private logistic regression. linear, one_hot: d_l and F_b with quadratic features."""
    worth = max(rows, 0.0) * epsilon / max_rows
    wide = worth / linear
    shape = (
        FeatureShape.CENTRED
        if wide < _QUADRATIC
        else FeatureShape.QUADRATIC
        if wide < _CUBIC
        else FeatureShape.CUBIC
    )
    return LogisticPlan(shape, worth / (linear + one_hot), linear + one_hot)


def certain(rows: float, sigma: float) -> float:
    """What a noised number of rows is worth to the rules: a standard deviation less, not to hope on noise.

    sigma: of each of the two counts that it is the sum of.
    """
    return max(rows - math.sqrt(2) * sigma, 0.0)


def refuse(rows: float, epsilon: float) -> ParameterError:
    """The refusal of a hopeless fit, from the declared number of rows; nothing is spent yet."""
    return ParameterError(
        f"{_useless(f'{rows:.0f} rows (declared)', epsilon)} Nothing was spent.",
        hint="fewer features, more rows or a larger epsilon; anyway=True fits all the same",
    )


def warn(rows: float, epsilon: float) -> None:
    """Say of a model that is paid for already that it is hopeless: it is not thrown away.

    The number is noised already, so that the words tell nothing new of the data.
    """
    counted = f"{rows:.0f} rows (counted with noise, less its deviation)"
    warnings.warn(
        f"{_useless(counted, epsilon)} The epsilon is spent and the model was made; with declared_rows this "
        "is said before.",
        NoisyWarning,
        stacklevel=2,
    )


def _useless(number: str, epsilon: float) -> str:
    return f"nothing useful can be published of {number} at epsilon = {epsilon:g}: noise would outweigh them."


@dataclass(frozen=True)
class ForestPlan:
    """How many trees of which depth. evidence: as of the additive score."""

    trees: int
    depth: int
    evidence: float

    @property
    def hopeless(self) -> bool:
        """Whether splits would be chosen by noise and leaves hold more of it than rows."""
        return self.evidence < _BARREN


def forest_plan(features: int, epsilon: float, rows: float, max_rows: int = 1) -> ForestPlan:
    """The rule of the alpha-forest: the most trees that may have three levels, then the most levels.

    A level more is allowed as long as a leaf keeps, on average and for each feature, `_ROWS_PER_NOISE` times
    the scale of its noise, which is about 2 trees / epsilon; but no more than tell all bins apart. For each
    feature, because a split that noise has chosen is rarely a lucky one where most features tell little: the
    more there are, the more epsilon a choice needs, and the fewer can be made.
    """
    worth = max(rows, 0.0) * epsilon / max_rows
    evidence, deepest = worth / math.sqrt(features), min(7, 4 * features)
    for trees in (64, 32, 16, 8, 4):
        leaves = worth / (2 * trees * _ROWS_PER_NOISE * features)
        depth = int(math.log2(leaves)) if leaves >= 1 else 0
        if depth >= 3:
            return ForestPlan(trees, min(depth, deepest), evidence)
    return ForestPlan(4, 2, evidence)
