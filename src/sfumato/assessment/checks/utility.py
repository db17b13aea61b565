"""What a release keeps: tables, associations, models."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sfumato.assessment.case import Case
from sfumato.assessment.checks.base import (
    AssessmentCheck,
    as_far_as_possible,
    control,
    formulas,
    several,
    target,
    time,
)
from sfumato.errors import SfumatoError
from sfumato.score import Score

if TYPE_CHECKING:
    from sfumato.assessment.utility.models import Model


def _tables(case: Case) -> list[Score]:
    from sfumato.assessment.utility.tables import utility

    return utility(case.plain_pair, ways=2 if case.quick else 3, most=20_000 if case.thorough else 2_000)


def _propensity(case: Case) -> list[Score]:
    from sfumato.assessment.utility.learners import propensity

    return propensity(case.plain_pair, permutations=200 if case.thorough else 30, seed=case.seed)


def _trained(case: Case) -> list[Score]:
    from sfumato.assessment.utility.learners import train_on_released

    assert case.files.target is not None and case.files.control is not None
    return train_on_released(case.plain_pair, case.files.target, case.files.control, seed=case.seed)


def _regressions(case: Case) -> list[Score]:
    asked = (case.subject.formulas or {}).items()
    return as_far_as_possible(partial(_regression, case, formula, model) for formula, model in asked)


def _regression(case: Case, formula: str, model: Model) -> list[Score]:
    from sfumato.assessment.utility.models import regression

    try:
        return regression(case.plain_pair, formula, model=model, seed=case.seed)
    except SfumatoError as error:
        error.message = f"{formula}: {error.message}"
        raise


CHECKS = (
    AssessmentCheck(
        "tables of one, two and three columns",
        (
            "marginal mse", "marginal mae", "histogram intersection", "kendall's tau-b", "spearman's rho",
            "missing rate", "total variation", "conditional mse", "conditional mae", "mutual information",
            "cramer's v", "tau-b between ordered columns", "chi-square ratio", "g2 ratio",
        ),
        _tables,
    ),
    AssessmentCheck(
        "the same regression on both files", ("coefficients", "relative distance", "interval overlap"),
        _regressions, (formulas,),
    ),
    AssessmentCheck(
        "telling the files apart", ("propensity pmse", "propensity"), _propensity, (several, time),
    ),
    AssessmentCheck(
        "training on the release",
        ("train on released", "lost by training on released"), _trained, (several, target, control, time),
    ),
)  # fmt: skip
