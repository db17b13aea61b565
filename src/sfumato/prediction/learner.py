"""What the four trees share: rows and labels in, one tree for each alpha, those that differ kept, words out.

Nothing here is private; see `estimator.py` for the estimators that are.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.prediction.sklearn_api import RowsLike, SklearnApi
from sfumato.prediction.structures import GrownTree, distinct
from sfumato.prediction.variables import Bounds, Codes, TreeVariable, variables_of
from sfumato.schema import Column, Kind, Schema
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.report import Page


class InputError(DataError, ValueError):
    """Rows or labels that cannot be learnt from; a ValueError too, as pipelines expect."""


class Learner(SklearnApi):
    """A classifier of two classes over binary features of columns. See `AlphaTree` for the parameters."""

    _learnt = "variables_"
    _title = ""  # of its report
    thresholds: int | None
    bounds: Bounds
    trees_: tuple[GrownTree, ...]
    tree_: GrownTree
    variables_: tuple[TreeVariable, ...]
    schema_: Schema
    named_: bool
    target_: str

    # -- what each of them does in its own way -----------------------------------------------------

    @abstractmethod
    def _alphas(self) -> tuple[float, ...]:
        """One tree is grown for each."""

    @abstractmethod
    def _check(self) -> None:
        """Refuse wrong parameters before a row is read."""

    @abstractmethod
    def _grown(self, codes: Codes, labels: NDArray[np.uint8], alpha: float) -> GrownTree:
        """The tree of one alpha."""

    # -- learning and answering --------------------------------------------------------------------

    def fit(self, X: RowsLike, y: ArrayLike | str | None = None) -> Self:
        """Learn from rows X and labels y, or from a table X and the name y of its target."""
        alphas = self._alphas()
        self._check()
        codes, labels = self._learn_from(X, y)
        self.trees_ = distinct([self._grown(codes, labels, alpha) for alpha in alphas])
        self.tree_ = self.trees_[0]
        return self

    def predict_proba(self, X: RowsLike) -> NDArray[np.float64]:
        """The shares of the two classes in the leaf of each row; of several trees their mean."""
        codes = self._codes(X)  # says so, if it is not fitted
        return self._as_classes(np.mean([t.chances(codes) for t in self.trees_], axis=0))

    def _as_classes(self, chance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Both columns from the chance of the second class; one column if only one class was seen."""
        if len(self.classes_) == 1:
            return np.ones((len(chance), 1))
        return np.column_stack([1.0 - chance, chance])

    def text(self) -> str:
        """The trees as lines of text."""
        from sfumato.prediction.tree_figures import texts

        return texts(self.trees_, self.target_)

    def svg(self) -> str:
        """The first tree as a drawing (SVG), as figures 5.3 and 5.4 of the chapter."""
        from sfumato.prediction.tree_figures import svg

        return svg(self.tree_, self.target_)

    def page(self, title: str = "", stamp: str = "") -> Page:
        """The trees as an internal report: drawn, with the gains of every variable at the root."""
        from sfumato.prediction.tree_figures import tree_page

        return tree_page(self.trees_, self.target_, title or self._title, stamp)

    # -- rows and labels ---------------------------------------------------------------------------

    def _learn_from(self, x: object, y: object) -> tuple[Codes, NDArray[np.uint8]]:
        """Codes (variables, rows) and labels of the training rows; sets the fitted attributes on the way."""
        _check_thresholds(self.thresholds)
        named = ""
        if isinstance(y, str) and not isinstance(x, np.ndarray):
            table = _table(x)
            table.schema.require([y])
            labels: Any = table.select([y]).to_arrow()[y].combine_chunks()
            if labels.null_count:
                raise InputError(
                    f"the target '{y}' is missing in {labels.null_count} rows.", hint="drop them"
                )
            named = y
            x, y = table.drop([y]), labels.to_numpy(zero_copy_only=False)
        self.named_ = isinstance(x, Table) or _mixed(x)
        rows, schema = _in_memory(_table(x)) if self.named_ else self._array(x, y, fitting=True)
        labels = self._labels(y, rows.num_rows)
        self.target_ = _target(named, self.classes_)
        self.variables_ = variables_of(rows, schema, self.thresholds, self.bounds)
        self.schema_ = schema.select([v.name for v in self.variables_])
        if self.named_:
            self.feature_names_in_ = np.array(self.schema_.names, dtype=object)
            self.n_features_in_ = len(self.schema_)
        return self._encoded(rows), labels

    def _codes(self, x: RowsLike) -> Codes:
        """Codes (variables, rows) of rows to be scored."""
        self._require_fit()
        if not self.named_:
            return self._encoded(self._array(x, None, fitting=False)[0])
        return self._encoded(_for_scoring(x, self.schema_).to_arrow())

    def _encoded(self, rows: pa.Table) -> Codes:
        return np.ascontiguousarray(
            np.stack([v.codes(rows[v.name].combine_chunks()) for v in self.variables_])
        )

    def _array(self, x: object, y: object, *, fitting: bool) -> tuple[pa.Table, Schema]:
        """Numbers without a schema, as scikit-learn checks them, but for words of its that quote a cell."""
        from sklearn.utils.validation import validate_data

        names = list(getattr(x, "columns", ()))
        if len(set(names)) < len(names):
            raise InputError("names of columns repeat.", hint="rename them")
        how: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        fault = ""
        try:
            read = (
                validate_data(self, x, y, **how)[0] if fitting else validate_data(self, x, reset=False, **how)
            )
        except ValueError as error:
            fault = _unquoted(str(error))
            if not fault:
                raise
        if fault:  # outside, so that the words that quote are in no traceback
            raise InputError(fault, hint="rows and columns of numbers, or a data frame")
        names = [str(n) for n in getattr(self, "feature_names_in_", [f"x{i}" for i in range(read.shape[1])])]
        columns = [pa.array(c, mask=np.isnan(c)) for c in np.ascontiguousarray(read.T)]
        return pa.table(columns, names=names), Schema(tuple(Column(n, Kind.NUMERIC) for n in names))

    def _labels(self, y: object, rows: int) -> NDArray[np.uint8]:
        """0 and 1 for the two classes, in their order; sets `classes_`."""
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import column_or_1d

        if y is None:
            raise InputError("requires y to be passed, but the target y is None.", hint="fit(x, y)")
        labels = column_or_1d(np.asarray(y), warn=True)
        try:
            check_classification_targets(labels)
        except ValueError:
            raise InputError(
                "Unknown label type: the labels are not classes, or of several types.",
                hint="two classes: all texts, all whole numbers, or true and false",
            ) from None
        if len(labels) != rows:
            raise InputError(
                f"{rows} rows and {len(labels)} labels were given.", hint="one label for each row"
            )
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) > 2:
            raise InputError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{len(self.classes_)} classes.", hint="one class against the others"
            )  # fmt: skip
        return np.asarray(codes + (len(self.classes_) == 1), dtype=np.uint8)  # the only class is the target


def _unquoted(words: str) -> str:
    """What scikit-learn says, where it would quote cells, without them; nothing where it quotes none."""
    if "convert" in words:
        return "an array of numbers holds texts."
    if "array=" in words:
        return words.partition(":\narray=")[0] + ". Reshape your data: one row for each person."
    return ""


def _target(column: str, classes: NDArray[Any]) -> str:
    """What a score is the chance of: the column if it is a flag, otherwise its second class."""
    if not column:
        return str(classes[-1])
    return column if classes.dtype.kind == "b" else f"{column} = {classes[-1]}"


def _mixed(x: object) -> bool:
    """Whether a data frame has columns that are not numbers; arrays are for scikit-learn to judge."""
    if not hasattr(x, "columns") or not hasattr(x, "dtypes"):
        return hasattr(x, "column_names") or isinstance(x, Table)
    dtypes = (
        list(x.dtypes.values) if hasattr(x.dtypes, "values") and not isinstance(x.dtypes, list) else x.dtypes
    )
    return not all(getattr(d, "kind", "O") in "fiu" or _polars_number(d) for d in dtypes)


def _polars_number(dtype: object) -> bool:
    ask = getattr(dtype, "is_numeric", None)
    return bool(callable(ask) and ask())


def _table(x: object) -> Table:
    """A table as it is, or a data frame as `sfumato.scan` reads it."""
    if isinstance(x, Table):
        return x
    from sfumato.io import scan

    return scan(x)


def _in_memory(table: Table) -> tuple[pa.Table, Schema]:
    return table.to_arrow(), table.schema


def _for_scoring(x: object, schema: Schema) -> Table:
    """The columns of the training rows, under the kinds they had there; others are left alone."""
    if isinstance(x, Table):
        x.schema.require(schema.names)
        return x.with_schema(schema)
    if not hasattr(x, "columns") and not hasattr(x, "column_names"):
        raise InputError("the model was learnt from named columns.", hint="give a data frame, or a table")
    from sfumato.io import scan

    return scan(x, schema, columns=list(schema.names))


def _check_thresholds(thresholds: object) -> None:
    whole = isinstance(thresholds, int | np.integer) and not isinstance(thresholds, bool)
    if thresholds is not None and not (whole and 1 <= int(thresholds) <= 10_000):  # type: ignore[call-overload]
        raise ParameterError("thresholds is a whole number from 1 to 10,000, or None.", hint="thresholds=9")
