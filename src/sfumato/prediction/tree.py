"""AlphaTree: a decision tree whose splitting rule is the alpha-divergence, for any real alpha."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.methods.declaration import declares
from sfumato.prediction import parameters as declared
from sfumato.prediction.learner import Learner
from sfumato.prediction.structures import GrownTree, Stopping, alpha_tree
from sfumato.prediction.variables import Bounds, Codes


def real_alpha(alpha: object) -> float:
    """alpha as a number, or a refusal."""
    if isinstance(alpha, bool) or not isinstance(alpha, int | float | np.number):
        raise ParameterError("alpha is a real number.", hint="alpha=1 is C4.5's information gain")
    if not math.isfinite(float(alpha)):
        raise ParameterError("alpha is a finite number.", hint="alpha=1 is C4.5's information gain")
    return float(alpha)


class PlainTrees(Learner):
    """What AlphaTree and AlphaEnsemble share: Algorithm 4 with its stopping rules."""

    max_depth: int | None
    min_split: int
    min_leaf: int
    min_gain: float

    def _check(self) -> None:
        self._stopping()

    def _stopping(self) -> Stopping:
        return Stopping(self.max_depth, self.min_split, self.min_leaf, self.min_gain)

    def _grown(self, codes: Codes, labels: NDArray[np.uint8], alpha: float) -> GrownTree:
        return alpha_tree(codes, labels, self.variables_, alpha, self._stopping())


@declares(
    declared.shown_tree(
        "tree", "A decision tree that splits by alpha-divergence; it promises nothing.", "alpha-tree.md"
    )
)
class AlphaTree(PlainTrees):
    """A decision tree for two classes that splits by alpha-divergence (Park 2014, Algorithm 4).

    A node is split on the test X with the largest D_alpha(P(X, Y) || P(X) P(Y)). alpha = 1 is the information
    gain of C4.5, 2 half of Pearson's chi-square over n, 1/2 the Hellinger distance, 0 the information gain
    with the two laws exchanged. For alpha <= 0 a test with an empty cell has infinite gain.

    It is an ordinary tree and promises nothing: it and its answers tell of the rows it was learnt from.

    Pure nodes are never split. Without `thresholds` they are the schema's inner edges, 19 between stated
    bounds, or 31 quantiles of the data where nothing is stated. bounds are {column: (low, high)}, or one pair
    for all, between which thresholds lie in equal steps.

    `fit(X, y)` takes arrays, data frames and tables; with a frame or table y may name its target column.
    Fitted: `tree_` (nodes in order), `variables_`, `classes_`; `predict_proba`, `predict`, `score`.

    >>> people = sf.samples.diabetes(300).select(["bmi", "glucose", "diabetes"])
    >>> tree = sf.AlphaTree(max_depth=1).fit(people, "diabetes")
    >>> print(tree.text())
    all rows: 36.0% diabetes of 300 rows
    ├─ bmi ≤ 32.5: 26.1% diabetes of 226 rows
    └─ bmi > 32.5: 66.2% diabetes of 74 rows
    """

    _title = "An alpha-tree"

    alpha: float

    def __init__(
        self,
        alpha: Annotated[float, declared.ALPHA] = 1.0,
        *,
        max_depth: Annotated[int | None, declared.MAX_DEPTH] = None,
        min_split: Annotated[int, declared.MIN_SPLIT] = 2,
        min_leaf: Annotated[int, declared.MIN_LEAF] = 2,
        min_gain: Annotated[float, declared.MIN_GAIN] = 0.0,
        thresholds: Annotated[int | None, declared.THRESHOLDS] = None,
        bounds: Annotated[Bounds, declared.BOUNDS] = None,
    ) -> None:
        self._keep(locals())

    def _alphas(self) -> tuple[float, ...]:
        return (real_alpha(self.alpha),)

    def text(self) -> str:
        """The tree as lines of text."""
        from sfumato.prediction.tree_figures import text

        return text(self.tree_, self.target_)
