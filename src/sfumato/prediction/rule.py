"""How fine a private model may be, and when none is worth publishing: a rule of public numbers.

Everything here follows from the number of features, epsilon and a number of rows that was declared or
counted with noise. Nothing looks at the data, so nothing here costs anything.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.errors import ParameterError

FINEST, COARSEST = 16, 4
_HOPELESS = 3.0  # rows times epsilon for each feature, below which scores are hardly better than a coin


@dataclass(frozen=True)
class AdditivePlan:
    """The bins of an ordered feature, and what the plan rests on.

    evidence: rows times epsilon for each feature: how many rows stand against the noise of one count.
    """

    bins: int
    evidence: float

    @property
    def hopeless(self) -> bool:
        """Whether scores would hardly be better than a coin."""
        return self.evidence < _HOPELESS


def additive_plan(features: int, epsilon: float, rows: float, max_rows: int = 1) -> AdditivePlan:
    """The rule of the additive score."""
    evidence = max(rows, 0.0) * epsilon / (features * max_rows)
    bins = 4 if evidence < 20 else 8 if evidence < 200 else 16
    return AdditivePlan(bins, evidence)


def refuse(what: str, rows: float, epsilon: float, declared: bool) -> ParameterError:
    """The refusal of a hopeless fit; it tells of the data only what was declared or noised already."""
    number = f"{rows:.0f} rows ({'declared' if declared else 'counted with noise'})"
    spent = "Nothing was spent." if declared else "The epsilon is spent."
    return ParameterError(
        f"nothing useful can be published of {number} at epsilon = {epsilon:g}: {what}. {spent}",
        hint="fewer features, more rows or a larger epsilon; anyway=True fits all the same",
    )
