"""scikit-learn's manners without its base classes, which would load half of it with the package's name."""

from __future__ import annotations

import inspect
from typing import Any, Self

from sfumato.errors import ParameterError, listed


class NoSuchParameter(ParameterError, ValueError):
    """A parameter that an estimator does not have; scikit-learn expects a ValueError."""


class Manners:
    """Parameters by name, tags and accuracy, as pipelines, searches and `clone` ask for them."""

    @classmethod
    def _names(cls) -> list[str]:
        return [n for n in inspect.signature(cls.__init__).parameters if n != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
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
        said = [f"{n}={v!r}" for n, v in self.get_params().items() if v is not defaults[n].default]
        return f"{type(self).__name__}({', '.join(said)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            # Scores are poor on data as small as scikit-learn's checks use, at an epsilon this strict.
            classifier_tags=ClassifierTags(multi_class=False, poor_score=True),
            input_tags=InputTags(allow_nan=True, string=True),
            non_deterministic=True,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def predict(self, X: Any) -> Any:
        """The likelier class of each row."""
        raise NotImplementedError

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted right."""
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
