"""scikit-learn's interface, for all classifiers here, without loading scikit-learn before it is needed.

`SklearnApi` has what a pipeline, a grid search and `clone` ask of a classifier. It does not inherit from
scikit-learn's classes, because they load scipy, and `import sfumato` stays light.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError, listed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sklearn.utils import Tags

    from sfumato.sources import FrameLike
    from sfumato.table import Table

RowsLike: TypeAlias = "ArrayLike | Table | FrameLike"  # rows to learn from or to score


class NoSuchParameter(ParameterError, ValueError):
    """A parameter that an estimator does not have; scikit-learn expects a ValueError."""


class SklearnApi(ABC):
    """A classifier of two classes: parameters by name, tags, the likelier class and accuracy."""

    _learnt = ""  # the attribute that a fit sets
    classes_: NDArray[Any]
    n_features_in_: int

    def _keep(self, settings: Mapping[str, object]) -> None:
        """Every parameter as it was given, under its own name, as `clone` wants it: locals() of __init__."""
        vars(self).update({name: value for name, value in settings.items() if name != "self"})

    @classmethod
    def _names(cls) -> list[str]:
        return [n for n in inspect.signature(cls.__init__).parameters if n != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as `clone` asks for them."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: object) -> Self:
        """Change parameters; takes effect at the next fit."""
        unknown = sorted(set(params) - set(self._names()))
        if unknown:
            raise NoSuchParameter(
                f"{type(self).__name__} has no parameter {listed(unknown)}.",
                hint=f"it has {listed(self._names(), 20)}",
            )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        settings = [f"{n}={v!r}" for n, v in self.get_params().items() if v is not defaults[n].default]
        return f"{type(self).__name__}({', '.join(settings)})"

    def __sklearn_tags__(self) -> Tags:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_class=False),
            input_tags=InputTags(allow_nan=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self._learnt)

    def _require_fit(self) -> None:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)

    @abstractmethod
    def predict_proba(self, X: RowsLike) -> NDArray[np.float64]:
        """The chance of each class, (rows, classes)."""

    def predict(self, X: RowsLike) -> NDArray[Any]:
        """The likelier class of each row; the first one where both are as likely."""
        chances = self.predict_proba(X)
        return np.asarray(self.classes_[chances.argmax(axis=1)])

    def score(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows whose class is predicted right."""
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
