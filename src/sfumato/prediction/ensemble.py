"""AlphaEnsemble: alpha-trees of several alphas, as many as are different."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.prediction.learner import Learner
from sfumato.prediction.structures import Stopping, Tree, alpha_tree
from sfumato.prediction.tree import real_alpha
from sfumato.prediction.variables import Bounds

if TYPE_CHECKING:
    from sfumato.report import Page

ALPHAS = tuple(round(0.1 * i, 1) for i in range(1, 31))  # 0.1, 0.2, ..., 3.0


def real_alphas(alphas: object) -> tuple[float, ...]:
    """Several alphas, each once, in the order given."""
    if isinstance(alphas, str) or not isinstance(alphas, Sequence | np.ndarray) or not len(alphas):
        raise ParameterError("alphas is a list of real numbers.", hint="alphas=(0.5, 1, 2)")
    return tuple(dict.fromkeys(real_alpha(a) for a in alphas))


def distinct(trees: Sequence[Tree]) -> tuple[Tree, ...]:
    """The trees whose structure no earlier tree has."""
    return tuple({t.structure: t for t in reversed(trees)}.values())[::-1]


class AlphaEnsemble(Learner):
    """The mean of alpha-trees over several alphas (Section 5.2.3 without the noise).

    Different alphas choose different splits; of those that give the same structure the first is kept.
    Other parameters as in `AlphaTree`. It promises nothing about the rows it was learnt from.

    Fitted: `trees_`, those that are kept, each with its alpha.
    """

    trees_: tuple[Tree, ...]

    def __init__(
        self,
        alphas: Sequence[float] = ALPHAS,
        *,
        max_depth: int | None = None,
        min_split: int = 2,
        min_leaf: int = 2,
        min_gain: float = 0.0,
        thresholds: int | None = None,
        bounds: Bounds = None,
    ) -> None:
        self.alphas = alphas
        self.max_depth = max_depth
        self.min_split = min_split
        self.min_leaf = min_leaf
        self.min_gain = min_gain
        self.thresholds = thresholds
        self.bounds = bounds

    def fit(self, x: Any, y: Any = None) -> Self:
        """Learn one tree for each alpha and keep those that differ."""
        alphas = real_alphas(self.alphas)
        stopping = Stopping(self.max_depth, self.min_split, self.min_leaf, self.min_gain)
        codes, labels = self._learn_from(x, y)
        self.trees_ = distinct([alpha_tree(codes, labels, self.variables_, a, stopping) for a in alphas])
        return self

    def predict_proba(self, x: Any) -> NDArray[np.float64]:
        """The mean over the trees of the shares in the leaf of each row."""
        codes = self._codes(x)
        return self._as_classes(np.mean([t.chances(codes) for t in self.trees_], axis=0))

    def text(self) -> str:
        """The trees as lines of text."""
        from sfumato.prediction.drawing import texts

        return texts(self.trees_, self.target_)

    def page(self, title: str = "Alpha-trees", stamp: str = "") -> Page:
        """The trees as an internal report."""
        from sfumato.prediction.drawing import tree_page

        return tree_page(self.trees_, self.target_, title, stamp)
