"""Models that columns are drawn from: linear with residual noise, multinomial, elastic net.

An engine learns from rows; what it learnt gives a law, with parameters at their estimate or drawn from their
posterior law ("proper" imputation, Rubin 1987); a law draws a cell for each row of features. Trees and
forests are in `trees`.
"""

from __future__ import annotations

import importlib
import inspect
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import Number
from sfumato.synthesis.imputation.draws import Draw, Floats, bootstrap_weights, chi_square, normals, places

if TYPE_CHECKING:
    from types import ModuleType


_PATH = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)  # shares of the penalty that leaves no coefficient
_FLOOR = 1e-9  # probability of a class that a fold has not seen


class ConditionalLaw(Protocol):
    """A model with its parameters at hand."""

    def draw(self, x: Floats, draw: Draw) -> Floats:
        """A number or code for each row.  x: (rows, p)."""
        ...


class Learned(Protocol):
    """What an engine learnt."""

    def law(self, draw: Draw | None) -> ConditionalLaw:
        """With parameters drawn from their posterior law, or at their estimate (None)."""
        ...


class Engine(Protocol):
    """A kind of model."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which columns it is for: "numbers", "levels"."""
        ...

    def learn(self, x: Floats, y: Floats, size: int | None, weights: Floats | None = None) -> Learned:
        """From features (rows, p) and cells (rows,). size: how many codes, None for numbers.

        weights: of rows, summing to the effective number of them; given only where rows are weighted.
        """
        ...


# -- numbers ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Linear:
    """A linear model with normal residuals.

    penalty: on the squared coefficients, as so many rows would pull. Flags that always go together in the
    data are then not told apart by numbers out of all proportion, which a drawn row that has one alone
    would show.
    """

    penalty: float = 0.1

    kinds = ("numbers",)

    def __post_init__(self) -> None:
        if not 0 < self.penalty < float("inf"):
            raise ParameterError("penalty must be above 0.", hint="Linear(penalty=0.1)")

    def learn(self, x: Floats, y: Floats, size: int | None, weights: Floats | None = None) -> LearnedLinear:
        """Least squares with the penalty; a row of weight w counts as w rows."""
        full, rows = np.column_stack([np.ones(len(x)), x]), float(len(y))
        if weights is not None:
            full, y, rows = full * np.sqrt(weights)[:, None], y * np.sqrt(weights), float(weights.sum())
        cross = full.T @ full
        rank = int(np.linalg.matrix_rank(cross, hermitian=True))
        inner = np.arange(1, len(cross))
        cross[inner, inner] += self.penalty
        root = np.linalg.cholesky(cross)
        beta = np.linalg.solve(root.T, np.linalg.solve(root, full.T @ y))
        rest = float(((y - full @ beta) ** 2).sum())
        return LearnedLinear(beta, root, rest, max(1, round(rows) - rank))


@dataclass(frozen=True, eq=False)
class LearnedLinear:
    """Coefficients (p + 1,), the root of X'X with the penalty, the residuals' sum of squares and freedom."""

    beta: Floats
    root: Floats
    rest: float
    freedom: int

    def law(self, draw: Draw | None) -> LinearLaw:
        """sigma^2 = rest / chi-square, then beta from a normal law around its estimate."""
        if draw is None:
            return LinearLaw(self.beta, float(np.sqrt(self.rest / self.freedom)))
        sigma = float(np.sqrt(self.rest / chi_square(draw, self.freedom)))
        return LinearLaw(
            self.beta + sigma * np.linalg.solve(self.root.T, normals(draw, len(self.beta))), sigma
        )


@dataclass(frozen=True, eq=False)
class LinearLaw:
    """A mean and a residual."""

    beta: Floats
    sigma: float

    def draw(self, x: Floats, draw: Draw) -> Floats:
        """The mean and a residual for each row."""
        mean: Floats = self.beta[0] + x @ self.beta[1:]
        return mean + self.sigma * normals(draw, len(x))


# -- levels ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Multinomial:
    """Multinomial logistic regression. penalty: on the squared coefficients, as so many rows would pull.

    Parameters are drawn by fitting again under the weights of a Bayesian bootstrap.
    """

    penalty: float = 0.1

    kinds = ("levels",)

    def __post_init__(self) -> None:
        if not 0 < self.penalty < float("inf"):
            raise ParameterError("penalty must be above 0.", hint="Multinomial(penalty=0.1)")

    def learn(self, x: Floats, y: Floats, size: int | None, weights: Floats | None = None) -> LearnedLogistic:
        """Keep the rows: they are fitted when a law is asked for."""
        assert size is not None
        return LearnedLogistic(x, y.astype(np.int64), size, 1 / self.penalty, 0.0, weights)


@dataclass(frozen=True)
class ElasticNet:
    """Multinomial logistic regression with an elastic net, its strength by cross-validation (PeGS section 4).

    Rows are dealt out to the folds in turn, as they come.
    """

    mix: Annotated[float, Parameter(Number("The share of the absolute penalty.", 0, 1))] = 0.5
    folds: Annotated[int, Parameter(Number("Folds of the cross-validation.", 2, whole=True))] = 5
    most_rows: Annotated[
        int, Parameter(Number("More rows than this are thinned evenly, for time.", 10, whole=True))
    ] = 20_000

    kinds = ("levels",)

    def __post_init__(self) -> None:
        faults = []
        if not 0 <= self.mix <= 1:
            faults.append("mix must be from 0 to 1")
        if isinstance(self.folds, bool) or not isinstance(self.folds, int) or self.folds < 2:
            faults.append("folds must be a whole number, at least 2")
        if isinstance(self.most_rows, bool) or not isinstance(self.most_rows, int) or self.most_rows < 10:
            faults.append("most_rows must be a whole number, at least 10")
        if faults:
            raise ParameterError(f"ElasticNet: {'; '.join(faults)}.", hint="ElasticNet(mix=0.5, folds=5)")

    def learn(self, x: Floats, y: Floats, size: int | None, weights: Floats | None = None) -> LearnedLogistic:
        """Choose the strength whose held-out rows are likeliest."""
        assert size is not None
        kept = np.arange(0, len(y), max(1, -(-len(y) // self.most_rows)))
        x, labels = x[kept], y[kept].astype(np.int64)
        own = np.ones(len(kept)) if weights is None else weights[kept]
        used = None if weights is None else own
        strongest = _strongest(x, labels, size, max(self.mix, 0.01))
        fold = np.arange(len(labels)) % self.folds
        losses = []
        for share in _PATH:
            c = 1 / (share * strongest * len(labels)) if strongest else 1.0
            loss = 0.0
            for f in range(self.folds):
                inside, outside = fold != f, fold == f
                if not inside.any() or not outside.any():
                    continue
                here = None if used is None else used[inside]
                law = fit_logistic(x[inside], labels[inside], size, c, self.mix, here)
                p = law.probabilities(x[outside])[np.arange(outside.sum()), labels[outside]]
                loss -= float(own[outside] @ np.log(p + _FLOOR))
            losses.append((loss, c))
        best = min(losses, key=lambda pair: pair[0])[1]  # of equals the strongest, which comes first
        return LearnedLogistic(x, labels, size, best, self.mix, used)


def _strongest(x: Floats, y: NDArray[np.int64], size: int, mix: float) -> float:
    """The penalty per row at which no coefficient is left: the largest gradient at none, over the mix."""
    if not x.shape[1]:
        return 0.0
    flags = (y[:, None] == np.arange(size)).astype(np.float64)
    gradient = (x - x.mean(axis=0)).T @ (flags - flags.mean(axis=0)) / len(y)
    return float(np.abs(gradient).max() / mix)


@dataclass(frozen=True, eq=False)
class LearnedLogistic:
    """Rows and a penalty to fit them with."""

    x: Floats
    y: NDArray[np.int64]
    size: int
    c: float
    mix: float
    weights: Floats | None = None

    def law(self, draw: Draw | None) -> Softmax:
        """Fitted to the rows, or to a Bayesian bootstrap of them."""
        weights = self.weights
        if draw is not None:
            weights = bootstrap_weights(draw, len(self.y)) * (1.0 if weights is None else weights)
        return fit_logistic(self.x, self.y, self.size, self.c, self.mix, weights)


@dataclass(frozen=True, eq=False)
class Softmax:
    """Pr(j | x) in proportion to exp(c_j + beta_j' x).  intercept: (C,), beta: (p, C); -inf: never."""

    intercept: Floats
    beta: Floats = field(repr=False)

    def probabilities(self, x: Floats) -> Floats:
        """(rows, C), rows summing to 1."""
        score = self.intercept + x @ self.beta
        score -= score.max(axis=1, keepdims=True)
        odds = np.exp(score)
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def draw(self, x: Floats, draw: Draw) -> Floats:
        """A code for each row."""
        return places(draw, self.probabilities(x)).astype(np.float64)


def fit_logistic(
    x: Floats, y: NDArray[np.int64], size: int, c: float, mix: float, weights: Floats | None = None
) -> Softmax:
    """Multinomial logistic regression; classes without a row are never drawn.

    c: one over the penalty, as scikit-learn counts it. mix: the share of the absolute penalty.
    """
    found = np.unique(y)
    intercept, beta = np.full(size, -np.inf), np.zeros((x.shape[1], size))
    if len(found) == 1 or not x.shape[1]:
        counts = np.bincount(y, weights, size)
        with np.errstate(divide="ignore"):
            return Softmax(np.log(counts / counts.sum()), beta)
    model = _logistic(c, mix)
    with warnings.catch_warnings():  # a fit that stopped early is a law like any other
        warnings.simplefilter("ignore")
        model.fit(x, y, sample_weight=weights)
    first, coefficients = np.atleast_1d(model.intercept_), np.atleast_2d(model.coef_)
    if len(found) == 2:  # one line of coefficients, for the second class
        first, coefficients = np.append(0.0, first), np.vstack([np.zeros_like(coefficients), coefficients])
    intercept[found], beta[:, found] = first, coefficients.T
    return Softmax(intercept, beta)


def _logistic(c: float, mix: float) -> Any:
    linear = importlib.import_module("sklearn.linear_model")
    if mix == 0:
        return linear.LogisticRegression(C=c, max_iter=300)
    return _saga(linear, c, mix)


def _saga(linear: ModuleType, c: float, mix: float) -> Any:
    settings: dict[str, Any] = {"C": c, "solver": "saga", "l1_ratio": mix, "max_iter": 200, "tol": 1e-3}
    known = inspect.signature(linear.LogisticRegression).parameters
    if "penalty" in known and known["penalty"].default != "deprecated":  # later ones read it off the ratio
        settings["penalty"] = "elasticnet"
    return linear.LogisticRegression(random_state=0, **settings)
