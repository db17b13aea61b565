"""Which released rows are rows of the original, and whom single rows give away."""

from __future__ import annotations

from sfumato.assessment.case import Case
from sfumato.assessment.checks.base import AssessmentCheck
from sfumato.score import Score


def _copies(case: Case) -> list[Score]:
    return case.copies.scores


def _alone(case: Case) -> list[Score]:
    from sfumato.assessment.risk import unique_rows

    return unique_rows(case.files.release)


CHECKS = (
    AssessmentCheck(
        "copies of people",
        (
            "copied rows", "people nearly copied", "largest risk of a single record",
            "identifiers that survive",
        ),
        _copies,
    ),
    AssessmentCheck("alone by all columns", ("unique on all released columns",), _alone),
)  # fmt: skip
