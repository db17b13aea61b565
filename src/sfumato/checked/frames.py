"""Frames and columns of pandas and polars, as pandas with one index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import DataError, MissingExtraError, ParameterError

if TYPE_CHECKING:
    import pandas as pd


def pandas_of(data: object) -> pd.DataFrame:
    """A frame of pandas or polars as one of pandas. Rows of polars are known by their place."""
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        return data
    if hasattr(data, "collect") and not hasattr(data, "to_pandas"):
        data = data.collect()
    if hasattr(data, "to_pandas"):
        found: pd.DataFrame = data.to_pandas()
        return found
    raise ParameterError("the data are a frame of pandas or polars.", hint="pandas.DataFrame(...)")


def column_of(values: object, name: str) -> pd.Series:
    """A column of pandas, polars or numpy, or a list, as one of pandas; `name` where it has none."""
    import pandas as pd

    if isinstance(values, (str, bytes)) or values is None or np.isscalar(values):
        raise ParameterError("a table is laid out by columns.", hint="crosstab(data['age'], data['sex'])")
    if not isinstance(values, pd.Series):
        own = getattr(values, "name", None)
        plain = values.to_pandas() if hasattr(values, "to_pandas") else values
        values = pd.Series(plain, name=own)
    return values.rename(name) if values.name is None else values


def columns_of(values: object, what: str) -> list[pd.Series]:
    """One column or several."""
    parts: Sequence[Any] = list(values) if isinstance(values, (list, tuple)) else [values]
    return [column_of(part, f"{what}_{i}") for i, part in enumerate(parts)]


def aligned(columns: Sequence[pd.Series]) -> list[pd.Series]:
    """The rows that all columns have, by index; by place where an index says nothing."""
    import pandas as pd

    same = all(c.index.equals(columns[0].index) for c in columns)
    if same and columns[0].index.is_unique:
        return list(columns)
    if not all(c.index.is_unique for c in columns):
        if len({len(c) for c in columns}) > 1:
            raise DataError("the index of a column repeats.", hint="give an index without repeats")
        return [c.reset_index(drop=True) for c in columns]
    common = columns[0].index
    for column in columns[1:]:
        common = common.intersection(column.index)
    if not len(common):
        raise DataError("the columns have no row in common.", hint="give columns of one frame")
    return [pd.Series(c.loc[common]) for c in columns]


def require_pandas() -> None:
    """An error that says what to install."""
    try:
        import pandas  # noqa: F401
    except ImportError:
        raise MissingExtraError("Checking outputs", "stats") from None
