"""What the private estimators share: rows in, one debit, a released model out, and scikit-learn's interface.

A fit spends its epsilon once. Everything after it (predict_proba, explain, save) is arithmetic on what was
released, and free, for any number of calls and callers.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import DataError, ParameterError, SchemaError, listed
from sfumato.features.grid import STEPS, Codes, FeatureGrid, bounded
from sfumato.features.inputs import Feature
from sfumato.methods.declaration import Spending
from sfumato.prediction.artefact import write
from sfumato.prediction.fit_budget import FitAndCard, FitBudget, budget_for, debit
from sfumato.prediction.models import ReleasedModel, ScoreExplanation, checked_name, plain_classes
from sfumato.prediction.persons import rows_that_count
from sfumato.prediction.rule import refuse, warn
from sfumato.prediction.sklearn_api import RowsLike, SklearnApi
from sfumato.privacy import Guarantee
from sfumato.privacy.ledger import Payer
from sfumato.privacy.signatures import SigningKey
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.schema.domains import ADVICE, grounds, search_cost, with_search
from sfumato.table import Table

if TYPE_CHECKING:
    from sklearn.utils import Tags

Floats = NDArray[np.float64]
_SMALLEST, _LARGEST = 0.001, 100.0


class Training(NamedTuple):
    """Rows as a fit sees them. grid: the features; codes: (features, rows), finest; outcome: 0 or 1.

    domains: the columns as the schema has them, with where their domains come from.
    by_person: whether the rows say whose they are, so that no person has too many.
    """

    grid: FeatureGrid
    codes: Codes
    outcome: Codes
    classes: tuple[Any, Any]
    target: str
    domains: tuple[Column, ...]
    by_person: bool = False


class PrivateClassifier(SklearnApi):
    """The common part of `PrivateLogistic`, `AdditiveScore` and `AlphaForest`; see there."""

    _learnt = "model_"
    epsilon: float
    schema: Schema | tuple[float, float] | None
    declared_rows: int | None
    classes: Sequence[Any]
    max_rows_per_person: int
    monotone: Mapping[str, str] | None
    anyway: bool

    # -- scikit-learn -----------------------------------------------------------------------------

    def spends(self, rows: int | None) -> Spending:
        """What the fit costs, however many rows are scored."""
        return Spending(epsilon=float(self.epsilon), claimed=True)

    def fit(self, X: RowsLike, y: ArrayLike | str, *, ledger: Payer | FitAndCard | None = None) -> Self:
        """Learn from the rows, once, for `epsilon` in all.

        X: a data frame whose columns the schema names; an array, in the schema's order; or a `Table`, which
            brings its own schema.
        y: the outcomes, each one of `classes`; with a `Table` the name of its column.
        ledger: debited with the whole epsilon before anything is drawn; refused if it does not cover it.
            A `FitAndCard` debits what the model card will cost in the same step.
        """
        faults = [*self._shared_faults(), *self._own_faults()]
        if faults:
            raise ParameterError(
                f"{'; '.join(faults)}.", hint=f"{type(self).__name__}(epsilon=1.0, schema=...)"
            )
        training = self._training(X, y)
        self._check_monotone(training.grid)
        self._plan_before(training)
        budget = budget_for(float(self.epsilon), self.max_rows_per_person)
        cost = search_cost(training.domains, budget.unit, budget.neighbours)
        grant = debit(ledger, budget, self._purpose)
        claim = grant.claim(*self._assumptions(training))
        guarantee = Guarantee.of(with_search(claim, cost), grant.account)
        model = self._learn(training, FitBudget(grant), guarantee)
        self.model_ = replace(model, card={**model.card, "classes": plain_classes(training.classes)})
        self.classes_ = np.array(training.classes)
        self.guarantee_ = guarantee
        self.n_features_in_ = len(training.grid.axes)
        self._grid = training.grid
        return self

    def _weigh(self, hopeless: bool, rows: float) -> None:
        """Refuse what is hopeless by the declared rows; without them it is known only when it is paid for."""
        if hopeless and not self.anyway:
            if self.declared_rows is not None:
                raise refuse(rows, float(self.epsilon))
            warn(rows, float(self.epsilon))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Scores are poor on data as small as scikit-learn's checks use, at an epsilon this strict.
        tags.classifier_tags.poor_score = tags.input_tags.string = tags.non_deterministic = True
        return tags

    def predict_proba(self, X: RowsLike) -> Floats:
        """The probabilities of the two classes, (rows, 2)."""
        p = 1 / (1 + np.exp(-self.decision_function(X)))
        return np.column_stack([1 - p, p])

    def decision_function(self, X: RowsLike) -> Floats:
        """The log-odds of the second class."""
        codes = self._merged(self._encoded(X))
        return self._log_odds(codes)

    def explain(self, X: RowsLike) -> list[ScoreExplanation]:
        """For each row, what each feature adds to the log-odds; free."""
        codes = self._merged(self._encoded(X))
        return [self.model_.contributions(column.tolist()) for column in codes.T]

    def save(
        self, path: str | Path, key: SigningKey, *, name: str = "", card: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> ReleasedModel:  # fmt: skip
        """Write the released model as a signed `.sfm` file; see `released`."""
        return write(self.released(name, card), path, key, overwrite=overwrite)

    def released(self, name: str = "", card: Mapping[str, Any] | None = None) -> ReleasedModel:
        """What was published. card: further entries of the model card, which must be public."""
        self._require_fit()
        model: ReleasedModel = self.model_
        return replace(
            model, name=checked_name(name) if name else model.name, card={**model.card, **(card or {})}
        )

    def features_of(self, table: Table, target: str) -> tuple[Feature, ...]:
        """What a row to be scored may hold, known from the schema before anything is learnt."""
        return tuple(axis.feature(2) for axis in FeatureGrid.of(table.schema, target=target).axes)

    # -- what each estimator does in its own way ---------------------------------------------------

    _purpose = ""
    _steps = STEPS  # of a number of which only the bounds are declared

    @abstractmethod
    def _own_faults(self) -> list[str]: ...

    @abstractmethod
    def _plan_before(self, training: Training) -> None:
        """Refuse, before anything is spent, what can be known to be useless from what is declared."""

    @abstractmethod
    def _learn(self, training: Training, purse: FitBudget, guarantee: Guarantee) -> ReleasedModel: ...

    @abstractmethod
    def _merged(self, codes: Codes) -> Codes:
        """The codes of the released model from the finest ones."""

    @abstractmethod
    def _log_odds(self, codes: Codes) -> Floats: ...

    # -- parameters --------------------------------------------------------------------------------

    def _shared_faults(self) -> list[str]:
        faults = []
        if not _number(self.epsilon) or not _SMALLEST <= self.epsilon <= _LARGEST:
            faults.append(
                f"epsilon is a number from {_SMALLEST} to {_LARGEST:g}: less tells nothing, more all"
            )
        if self.declared_rows is not None and (
            not _whole(self.declared_rows) or not 1 <= self.declared_rows <= 10**10
        ):
            faults.append("declared_rows is a whole number, at least 1: the public number of rows, or None")
        if not _whole(self.max_rows_per_person) or not 1 <= self.max_rows_per_person <= 1000:
            faults.append("max_rows_per_person is a whole number from 1 to 1000")
        if not isinstance(self.classes, Sequence) or isinstance(self.classes, str) or len(self.classes) != 2:
            faults.append("classes are the two public outcomes, the one that is scored last")
        if self.monotone is not None and not (
            isinstance(self.monotone, Mapping)
            and all(v in ("increasing", "decreasing") for v in self.monotone.values())
        ):
            faults.append("monotone is {feature: 'increasing' or 'decreasing'}")
        return faults

    def _check_monotone(self, grid: FeatureGrid) -> None:
        ordered = {a.book.name for a in grid.axes if a.ordered}
        wrong = [repr(n) for n in self.monotone or {} if n not in ordered]
        if wrong:
            raise ParameterError(
                f"monotone names features without an order: {listed(wrong)}.", hint="numbers and ordinals"
            )

    def _assumptions(self, training: Training) -> list[str]:
        assumptions = [
            *grounds(training.domains),
            "The two outcomes are public; numbers beyond the bounds count as the bound",
            "The features, epsilon and all other settings were chosen without looking at the data",
        ]
        if self.declared_rows is not None:
            assumptions.append("The declared number of rows is public")
        if self.max_rows_per_person > 1 and not training.by_person:
            assumptions.append(f"No person has more than {self.max_rows_per_person} rows in the data")
        return assumptions

    # -- rows --------------------------------------------------------------------------------------

    def _training(self, X: Any, y: Any) -> Training:
        from sklearn.utils.validation import validate_data

        if isinstance(X, Table):
            return self._of_table(X, y)
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")  # scikit-learn's own words
        classes = tuple(self.classes)
        if _is_frame(X):
            schema = self._schema_for([str(c) for c in X.columns])
            grid = FeatureGrid.of(schema, steps=self._steps)
            domains = tuple(schema.select(grid.names))
            validate_data(self, X, skip_check_array=True)
            codes = grid.encode(_scanned(X, grid.schema))
        else:
            X, y = validate_data(
                self, X, y, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=1
            )  # fmt: skip
            schema = self._schema_for([f"x{j}" for j in range(X.shape[1])])
            grid = FeatureGrid.of(schema, steps=self._steps)
            domains = tuple(schema.select(grid.names))
            codes = grid.encode_array(X)
        outcome = _outcomes(y, classes)
        if len(outcome) != codes.shape[1]:
            raise DataError("features and outcomes have different numbers of rows.", hint="one outcome a row")
        return Training(grid, codes, outcome, classes, str(getattr(y, "name", None) or "outcome"), domains)

    def _of_table(self, table: Table, target: object) -> Training:
        if not isinstance(target, str):
            raise ParameterError(
                "with a Table the target is the name of its column.", hint="fit(table, 'sick')"
            )
        column = table.schema[target]
        if column.levels is None or len(column.levels) != 2 or not column.public or column.kind is Kind.CODES:
            raise SchemaError(
                f"the target '{target}' needs two public levels: {column.origin}.",
                hint=ADVICE,
            )
        grid = FeatureGrid.of(table.schema, target=target, steps=self._steps)
        persons = table.schema.of_role(Role.PERSON)
        table = table.select(dict.fromkeys([*grid.names, target, *persons]))
        table = rows_that_count(table, self.max_rows_per_person)
        books = [*(a.book for a in grid.axes), *table.codebooks([target]).values()]
        coded = table.with_codebooks(books).encode([*grid.names, target]).codes.astype(np.int64)
        kept = coded[:, coded[-1] < 2]  # rows without an outcome count nowhere: each on its own
        domains = tuple(table.schema.select([*grid.names, target]))
        outcomes: Any = tuple(column.levels)
        return Training(grid, kept[:-1], kept[-1], outcomes, target, domains, bool(persons))

    def _schema_for(self, names: list[str]) -> Schema:
        if isinstance(self.schema, Schema):
            return self.schema
        if isinstance(self.schema, tuple) and len(self.schema) == 2 and all(map(_number, self.schema)):
            return bounded(names, self.schema)
        raise ParameterError(
            "bounds and levels are needed, and never read off the data.",
            hint="schema=Schema((Column('age', 'numeric', edges=(18, 90), provenance=...), ...))",
        )

    def _encoded(self, X: Any) -> Codes:
        from sklearn.utils.validation import validate_data

        self._require_fit()
        if isinstance(X, Table):
            return self._grid.encode(X)
        if _is_frame(X):
            validate_data(self, X, skip_check_array=True, reset=False)
            return self._grid.encode(_scanned(X, self._grid.schema))
        X = validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=False)
        return self._grid.encode_array(X)


def _scanned(frame: object, schema: Schema) -> Table:
    from sfumato.io import scan

    return scan(frame, schema)


def _is_frame(X: object) -> bool:
    return isinstance(X, pa.Table) or (hasattr(X, "columns") and hasattr(X, "__dataframe__"))


def _outcomes(y: ArrayLike, classes: tuple[Any, ...]) -> Codes:
    """0 for the first class, 1 for the second; anything else is refused, by number and not by value."""
    from sklearn.utils.validation import column_or_1d

    values = y.to_numpy() if isinstance(y, pa.Array | pa.ChunkedArray) else np.asarray(y)
    values = column_or_1d(values, warn=True)
    second = np.asarray(values == classes[1])
    known = second | np.asarray(values == classes[0])
    if known.shape != values.shape or not known.all():
        wrong = int((~known).sum()) if known.shape == values.shape else len(values)
        raise DataError(
            f"Unknown label type: {wrong} outcomes are none of the two declared classes.",
            hint="classes=('no', 'yes') declares them, the one that is scored last",
        )
    return second.astype(np.int64)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
