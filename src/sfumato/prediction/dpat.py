"""DPaT and EDPaT as the dissertation has them, with what they really guarantee: nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import BudgetError, ParameterError
from sfumato.methods.declaration import declares
from sfumato.prediction import parameters as declared
from sfumato.prediction.ensemble import ALPHAS, real_alphas
from sfumato.prediction.learner import Learner
from sfumato.prediction.perturbation import claim, noised, output
from sfumato.prediction.structures import GrownTree, Stopping, zero_diff_structure
from sfumato.prediction.tree import real_alpha
from sfumato.prediction.variables import Bounds, Codes
from sfumato.privacy import Guarantee
from sfumato.privacy.grants import UNIT
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.rounding import ceil_units, exact, up

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from sfumato.prediction.sklearn_api import RowsLike
    from sfumato.report import Page

_MOST = 1000  # the largest budget there is


class NoisyTrees(Learner):
    """What DPaT and EDPaT share: structures by Algorithm 5, and noise at each call."""

    epsilon_per_call: float | None
    max_depth: int | None
    _title = "A 0-DiffStructure"

    def _check(self) -> None:
        _check_epsilon(self.epsilon_per_call)
        Stopping(self.max_depth)

    def _grown(self, codes: Codes, labels: NDArray[np.uint8], alpha: float) -> GrownTree:
        return zero_diff_structure(codes, labels, self.variables_, alpha, Stopping(self.max_depth))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.epsilon_per_call is not None
        return tags

    @property
    def guarantee(self) -> Guarantee:
        """No guarantee, and why."""
        return claim(self.epsilon_per_call, getattr(self, "variables_", ()))

    def answer(self, X: RowsLike, ledger: Ledger | None = None) -> NDArray[np.float64]:
        """What the calls answer, one for each row: share plus Laplace noise; may lie outside [0, 1].

        ledger: debited the claimed epsilon of all rows, at once, before any noise is drawn; refused if it
            does not cover all. Without one nobody counts the calls, which is for experiments only.
        """
        codes = self._codes(X)
        reached = np.array([t.leaf_of(codes) for t in self.trees_])
        ways, which = np.unique(reached, axis=1, return_inverse=True)
        outputs = [output([t.nodes[i] for t, i in zip(self.trees_, way, strict=True)]) for way in ways.T]
        if self.epsilon_per_call is None:
            return np.array([o.chance for o in outputs])[which.ravel()]
        answers = np.empty(codes.shape[1])
        plan = list(self._payments(which.ravel(), len(outputs)))
        purse = None
        if ledger is not None and plan:  # one debit: others may spend of it while these are answered
            calls = codes.shape[1]
            whole = _affordable(ledger, [cost for _, _, cost in plan], calls)
            purse = Ledger.within(
                ledger.grant(epsilon=whole, purpose=f"{calls} calls of {type(self).__name__}")
            )
        for i, rows, cost in plan:
            book = purse if purse is not None else Ledger.in_memory(_MOST)
            grant = book.grant(epsilon=up(cost), purpose=f"{len(rows)} calls of {type(self).__name__}")
            answers[rows] = noised(outputs[i], len(rows), grant)
        return answers

    def _payments(
        self, which: NDArray[np.int64], ways: int
    ) -> Iterator[tuple[int, NDArray[np.int64], Fraction]]:
        """Rows that reach the same leaves, in parts that one grant can pay, and their cost, rounded up."""
        epsilon = exact(self.epsilon_per_call or 0)
        for i in range(ways):
            mine = np.flatnonzero(which == i)
            for rows in np.array_split(mine, math.ceil(len(mine) * epsilon / _MOST)):
                yield i, rows, Fraction(ceil_units(epsilon * len(rows), UNIT), UNIT)

    def predict_proba(self, X: RowsLike) -> NDArray[np.float64]:
        """The answers brought into [0, 1]; new noise at each call, and nobody counts the calls."""
        return self._as_classes(np.clip(self.answer(X), 0.0, 1.0))

    def save(self, path: str | Path, name: str = "", *, overwrite: bool = False) -> Path:
        """Write the confidential file (.dpat), for its owner alone: it holds true counts, no release."""
        from sfumato.prediction.confidential import write

        return write(self, self.epsilon_per_call, path, name, overwrite=overwrite)

    def page(self, title: str = "", stamp: str = "") -> Page:
        """An internal report: the promise, the structures, and gains at a split and a stop (figure 5.5)."""
        from sfumato.prediction.tree_figures import tree_page
        from sfumato.report import Promises, Section

        promise = Section("What is promised", (), [Promises(self.guarantee)])
        return tree_page(self.trees_, self.target_, title or self._title, stamp, [promise])


@declares(
    declared.shown_tree("dpat", "A noisy alpha-tree whose published claim of privacy is false.", "dpat.md")
)
class DPaT(NoisyTrees):
    """Park's differentially private alpha-tree, faithfully; it is **not** differentially private.

    The structure is Algorithm 5's 0-DiffStructure: a node is split on a variable whose gain stays ahead of
    all others' whichever single row comes or goes. Each call then adds Laplace noise to the share of
    positives in the leaf, scaled by the leaf's local sensitivity over epsilon.

    Why the claim fails. A deterministic function that is not constant is epsilon-differentially private
    for no epsilon, and 0-DiffStructure is one. With alpha = 2 and records (x1, x2; y),

        D  = 2 x (0, 0; 0), 2 x (0, 1; 1)     splits on x2,
        D' = D and one more row (0, 0; 1)     is a single leaf,

    so whoever sees two different answers for x2 = 0 and x2 = 1 knows that the row is not there. And with the
    structure fixed, the scale of the noise depends on the leaf: of n negative rows it is 1/((n + 1) epsilon),
    with one positive more 2/((n + 2) epsilon); the two laws differ by a factor without bound.

    Fitted: `tree_`, `variables_`, `classes_`; `answer`, `predict_proba` (new noise at each call), `save` (a
    confidential file: it holds true counts). Use `AdditiveScore` or `AlphaForest` for a promise that holds.

    Guarantee: none (`guarantee` says so).
    Tested by: tests/prediction/test_dpat_audit.py, where the claim is refuted.

    >>> people = sf.samples.diabetes(300).select(["bmi", "glucose", "diabetes"])
    >>> tree = sf.DPaT(epsilon_per_call=1.0, max_depth=2).fit(people, "diabetes")
    >>> tree.guarantee.claims[0].title
    'no guarantee (a claim of differential privacy that does not hold)'
    """

    tree_: GrownTree

    alpha: float

    def __init__(
        self,
        alpha: Annotated[float, declared.ALPHA] = 1.0,
        epsilon_per_call: Annotated[float | None, declared.EPSILON_PER_CALL] = 1.0,
        *,
        max_depth: Annotated[int | None, declared.MAX_DEPTH] = None,
        thresholds: Annotated[int | None, declared.THRESHOLDS] = None,
        bounds: Annotated[Bounds, declared.BOUNDS] = None,
    ) -> None:
        self._keep(locals())

    def _alphas(self) -> tuple[float, ...]:
        return (real_alpha(self.alpha),)


@declares(
    declared.shown_tree(
        "edpat", "Noisy alpha-trees of several alphas, whose published claim is false.", "dpat.md"
    )
)
class EDPaT(NoisyTrees):
    """The ensemble of DPaTs over several alphas (Section 5.2.3); it is **not** differentially private.

    Of the structures that the alphas give, those that differ are kept. A call answers the mean of their
    shares with one Laplace noise, scaled by the mean of their local sensitivities. The claim fails for the
    same reasons as `DPaT`'s, which see.

    Fitted: `trees_`, those that are kept, each with its alpha.

    Guarantee: none (`guarantee` says so).
    Tested by: tests/prediction/test_dpat_audit.py, where the claim is refuted.

    >>> people = sf.samples.diabetes(300).select(["bmi", "glucose", "diabetes"])
    >>> trees = sf.EDPaT((0.5, 1.0, 2.0), max_depth=2).fit(people, "diabetes")
    >>> trees.guarantee.claims[0].title
    'no guarantee (a claim of differential privacy that does not hold)'
    """

    alphas: Sequence[float]

    def __init__(
        self,
        alphas: Annotated[Sequence[float], declared.ALPHAS] = ALPHAS,
        epsilon_per_call: Annotated[float | None, declared.EPSILON_PER_CALL] = 1.0,
        *,
        max_depth: Annotated[int | None, declared.MAX_DEPTH] = None,
        thresholds: Annotated[int | None, declared.THRESHOLDS] = None,
        bounds: Annotated[Bounds, declared.BOUNDS] = None,
    ) -> None:
        self._keep(locals())

    def _alphas(self) -> tuple[float, ...]:
        return real_alphas(self.alphas)


def _affordable(ledger: Ledger, costs: Sequence[Fraction], calls: int) -> float:
    """What all calls cost; refused, before anything is debited, where that is more than is left."""
    if ledger.budget.kind != "epsilon":
        raise BudgetError("calls are paid in epsilon.", hint="a ledger with Budget(epsilon=...)")
    if sum(costs) > exact(ledger.left):
        raise BudgetError(
            f"{calls} calls cost more than what is left of the budget.", hint="ask for fewer rows"
        )
    return up(sum(costs, Fraction(0)))


def _check_epsilon(epsilon: object) -> None:
    number = isinstance(epsilon, int | float | np.number) and not isinstance(epsilon, bool)
    if epsilon is not None and not (number and 0 < float(epsilon) <= _MOST):  # type: ignore[arg-type]
        raise ParameterError(
            f"epsilon_per_call is a number above 0 and up to {_MOST}, or None for no noise.",
            hint="epsilon_per_call=1.0",
        )
