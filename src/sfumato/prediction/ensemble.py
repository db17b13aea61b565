"""AlphaEnsemble: alpha-trees of several alphas, as many as are different."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from sfumato.errors import ParameterError
from sfumato.methods.declaration import declares
from sfumato.prediction import parameters as declared
from sfumato.prediction.tree import PlainTrees, real_alpha
from sfumato.prediction.variables import Bounds

ALPHAS = tuple(round(0.1 * i, 1) for i in range(1, 31))  # 0.1, 0.2, ..., 3.0


def real_alphas(alphas: object) -> tuple[float, ...]:
    """Several alphas, each once, in the order given."""
    if isinstance(alphas, str) or not isinstance(alphas, Sequence | np.ndarray) or not len(alphas):
        raise ParameterError("alphas is a list of real numbers.", hint="alphas=(0.5, 1, 2)")
    return tuple(dict.fromkeys(real_alpha(a) for a in alphas))


@declares(
    declared.shown_tree(
        "ensemble", "The mean of alpha-trees over several alphas; it promises nothing.", "alpha-tree.md"
    )
)
class AlphaEnsemble(PlainTrees):
    """The mean of alpha-trees over several alphas (Section 5.2.3 without the noise).

    Different alphas choose different splits; of those that give the same structure the first is kept.
    It promises nothing about the rows it was learnt from.

    Fitted: `trees_`, those that are kept, each with its alpha.

    >>> people = sf.samples.diabetes(300).select(["bmi", "glucose", "diabetes"])
    >>> model = sf.AlphaEnsemble((0.5, 1.0, 2.0), max_depth=2).fit(people, "diabetes")
    >>> model.predict_proba(people).shape
    (300, 2)
    """

    _title = "Alpha-trees"

    alphas: Sequence[float]

    def __init__(
        self,
        alphas: Annotated[Sequence[float], declared.ALPHAS] = ALPHAS,
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
        return real_alphas(self.alphas)
