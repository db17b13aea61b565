"""What others bring to learn with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Estimator(Protocol):
    """An estimator as scikit-learn has them; each takes more in `fit` and `predict` than the others."""

    @property
    def fit(self) -> Callable[..., Any]:
        """Learns from rows and their outcomes, and gives itself back."""
        ...

    @property
    def predict(self) -> Callable[..., Any]:
        """The outcomes of rows."""
        ...
