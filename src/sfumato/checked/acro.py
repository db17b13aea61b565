"""The names of ACRO, for scripts that use it: change the import, and nothing else.

    from sfumato.checked import ACRO

Only the names are theirs. What is different is in docs/checked.md.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.checked.analysis import Analysis
from sfumato.checked.limits import OutputLimits
from sfumato.checked.models import FittedModel
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

_MITIGATIONS = {"none": "show", "suppress": "withhold", "round": "round"}


class ACRO(Analysis):
    """An analysis with the method names of ACRO. Small cells are shown and refused without `suppress`.

    config: "default" only; give `limits` in place of a file.
    """

    def __init__(
        self,
        config: str = "default",
        suppress: bool = False,
        mitigation: str | None = None,
        round_base: int | None = None,
        *,
        limits: OutputLimits | None = None,
        persons: pd.Series | None = None,
    ) -> None:
        if config != "default":
            raise ParameterError(
                "there are no configuration files.", hint="limits=sf.checked.OutputLimits(...)"
            )
        if mitigation is not None and mitigation not in _MITIGATIONS:
            raise ParameterError("mitigation is none, suppress or round.", hint="mitigation='suppress'")
        chosen = mitigation or ("suppress" if suppress else "none")
        super().__init__(limits, persons=persons)
        self.enable_rounding(round_base) if round_base is not None else None
        self.small = _MITIGATIONS[chosen]  # type: ignore[assignment]

    @property
    def suppress(self) -> bool:
        """Small cells are withheld."""
        return self.small == "withhold"

    @suppress.setter
    def suppress(self, value: bool) -> None:
        self.small = "withhold" if value else "show"

    def enable_suppression(self) -> None:
        """Withhold small cells from now on."""
        self.small = "withhold"

    def disable_suppression(self) -> None:
        """Show small cells from now on; such outputs are refused."""
        self.small = "show"

    def enable_rounding(self, base: int | None = None) -> None:
        """Round counts from now on."""
        if base is not None:
            from dataclasses import replace

            self.limits = replace(self.limits, base=base)
        self.small = "round"

    def disable_rounding(self) -> None:
        """Show counts as they are."""
        self.small = "show"

    def crosstab(self, *args: object, show_suppressed: bool = False, **options: object) -> pd.DataFrame:
        """As `pandas.crosstab`. Totals are of everybody, whether or not `show_suppressed`."""
        call: Callable[..., pd.DataFrame] = super().crosstab
        return call(*args, **options)

    def hist(  # type: ignore[override]
        self,
        data: object,
        column: str,
        by_val: str | None = None,
        *args: object,
        bins: object = 10,
        **options: object,
    ) -> pd.DataFrame:
        """The counts of a histogram. How it is drawn is left to the reader; other options are not used."""
        call: Callable[..., pd.DataFrame] = super().hist
        return call(data, column, bins, by_val)

    def surv_func(  # type: ignore[override]
        self, time: object, status: object, output: str = "table", **options: object
    ) -> pd.DataFrame:
        """The curve as a table, whatever `output` says."""
        drawn = ("title", "filename", "bw_factor")
        other = [o for o, value in options.items() if o not in drawn and value is not None]
        if other:
            raise ParameterError(f"{other[0]} cannot be checked.", hint="leave it out")
        return super().surv_func(time, status)

    def olsr(self, formula: str, data: object, **options: object) -> FittedModel:
        """Least squares by a formula."""
        return self.regression("ols", formula, data, **options)

    def logitr(self, formula: str, data: object, **options: object) -> FittedModel:
        """Logistic regression by a formula."""
        return self.regression("logit", formula, data, **options)

    def probitr(self, formula: str, data: object, **options: object) -> FittedModel:
        """Probit regression by a formula."""
        return self.regression("probit", formula, data, **options)

    def custom_output(self, filename: str, comment: str = "") -> bool:
        """Add a file of another making."""
        self.file(filename, comment)
        return True

    def rename_output(self, old: str, new: str) -> None:
        """Give an output another name."""
        self.rename(old, new)

    def remove_output(self, key: str) -> None:
        """Take an output out."""
        self.remove(key)

    def add_comments(self, output: str, comment: str) -> None:
        """Say something about an output."""
        self.comment(output, comment)

    def add_exception(self, output: str, reason: str) -> None:
        """Ask to let an output go."""
        self.request(output, reason)

    def print_outputs(self) -> str:
        """All outputs in words, printed and returned."""
        from sfumato.checked.page import as_text

        text = as_text(self)
        print(text)  # noqa: T201  (as its name says)
        return text

    def finalise(self, path: str = "outputs", ext: str = "json", interactive: bool = False) -> Path:
        """Judge all outputs together and write them, with the record, to a new folder."""
        if ext not in ("json", "xlsx"):
            raise ParameterError("the record is written as json.", hint="ext='json'")
        return self.save(path)
