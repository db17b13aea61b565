"""Outputs of analysts, checked before they leave: tables, histograms, survival curves, regressions.

Start at `Analysis`: it makes the tables that pandas makes, withholds what would give people away, and keeps a
record that an output checker reads. `rows` knows who is in which output, `system` puts all tables into one
system of cells, `protection` asks the attacker of `cells` and the suppression of `tabulation`; `judge` does
it for the outputs of an analysis. `acro` has the names of ACRO. The room knows no plan.

>>> import pandas as pd
>>> data = pd.DataFrame({"ward": ["a"] * 30 + ["b"] * 24, "sex": (["f"] * 9 + ["m"] * 6) * 3 + ["f"] * 9})
>>> table = sf.checked.crosstab(data["ward"], data["sex"])
>>> table.attrs["decision"]
'pass'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sfumato.checked.acro import ACRO
from sfumato.checked.analysis import Analysis
from sfumato.checked.limits import OutputLimits
from sfumato.checked.outputs import CheckedOutput

if TYPE_CHECKING:
    import pandas as pd

    Call = Callable[..., pd.DataFrame]

__all__ = [
    "ACRO",
    "Analysis",
    "CheckedOutput",
    "OutputLimits",
    "crosstab",
    "hist",
    "pivot_table",
    "surv_func",
]


def crosstab(
    index: object, columns: object, *args: object, limits: OutputLimits | None = None, **options: object
) -> pd.DataFrame:
    """As `pandas.crosstab`, with what would give people away withheld. For several tables: `Analysis`.

    >>> sf.checked.crosstab(["a"] * 20 + ["b"] * 3, ["x"] * 23).isna().to_numpy().tolist()
    [[False], [True]]
    """
    call: Call = Analysis(limits).crosstab
    return call(index, columns, *args, **options)


def pivot_table(
    data: object, *args: object, limits: OutputLimits | None = None, **options: object
) -> pd.DataFrame:
    """As `pandas.pivot_table`, with what would give people away withheld. For several tables: `Analysis`."""
    call: Call = Analysis(limits).pivot_table
    return call(data, *args, **options)


def hist(data: object, *args: object, limits: OutputLimits | None = None, **options: object) -> pd.DataFrame:
    """The counts of a histogram, small ones withheld."""
    call: Call = Analysis(limits).hist
    return call(data, *args, **options)


def surv_func(
    time: object, status: object, *, limits: OutputLimits | None = None, **options: object
) -> pd.DataFrame:
    """Kaplan and Meier's curve at times between which enough people had the event."""
    return Analysis(limits).surv_func(time, status, **options)
