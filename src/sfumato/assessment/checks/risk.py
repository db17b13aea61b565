"""What a release gives away, counted on the file itself; no intruder is needed."""

from __future__ import annotations

from sfumato.assessment.case import Case
from sfumato.assessment.checks.base import (
    AssessmentCheck,
    known,
    population_file,
    population_size,
    secret,
    time,
)
from sfumato.score import Score
from sfumato.table import Table


def _class_sizes(case: Case) -> list[Score]:
    from sfumato.assessment.risk import class_sizes

    return class_sizes(case.classes)


def _alone(case: Case) -> list[Score]:
    from sfumato.assessment.risk import riskiest, uniqueness

    found = uniqueness(case.classes, searched=case.search, depth=case.depth)
    return found + riskiest(case.classes, searched=case.search, depth=case.depth)


def _alone_in_population(case: Case) -> list[Score]:
    from sfumato.assessment.risk import population_uniqueness

    assert isinstance(case.population, int)
    return population_uniqueness(case.classes, population_size=max(case.population, case.classes.population))


def _intruders(case: Case) -> list[Score]:
    from sfumato.assessment.risk import intruders

    if isinstance(case.population, Table):
        return intruders(case.classes, population=case.population)
    size = None if case.population is None else max(case.population, case.classes.population)
    return intruders(case.classes, population_size=size)


def _presence(case: Case) -> list[Score]:
    from sfumato.assessment.risk import presence

    assert isinstance(case.population, Table)
    return presence(case.classes, case.population)


def _diversity(case: Case) -> list[Score]:
    from sfumato.assessment.risk import diversity

    return diversity(case.files.released, case.known, case.secrets)


def _copies(case: Case) -> list[Score]:
    from sfumato.assessment.risk import copies

    files = case.files
    return copies(
        files.original, files.released, control=files.control, columns=case.pair.columns,
        quasi_identifiers=case.known,
    )  # fmt: skip


def _closest(case: Case) -> list[Score]:
    from sfumato.assessment.risk import closest

    files = case.files
    rows = 10_000 if case.thorough else 2_000
    return closest(
        files.original, files.released, control=files.control, columns=case.pair.columns, rows=rows,
        seed=case.seed,
    )  # fmt: skip


CHECKS = (
    AssessmentCheck("class sizes", ("k", "average class"), _class_sizes, (known,)),
    AssessmentCheck(
        "who stands alone",
        (
            "unique on all quasi-identifiers", "unique on two quasi-identifiers",
            "unique on three quasi-identifiers", "unique on four quasi-identifiers",
            "singled out by up to three quasi-identifiers", "singled out by up to four quasi-identifiers",
        ),
        _alone,
        (known,),
    ),
    AssessmentCheck(
        "alone in the population", ("population uniqueness",), _alone_in_population, (known, population_size),
    ),
    AssessmentCheck(
        "prosecutor, journalist, marketer",
        ("prosecutor risk", "journalist risk", "marketer risk"), _intruders, (known,),
    ),
    AssessmentCheck("presence in the file", ("delta",), _presence, (known, population_file)),
    AssessmentCheck(
        "diversity of sensitive columns",
        ("distinct l", "entropy l", "recursive l", "t", "alpha", "beta", "delta disclosure"), _diversity,
        (known, secret),
    ),
    AssessmentCheck(
        "copies of originals",
        (
            "purely artificial records", "equal to an original on all columns",
            "equal to an original on the quasi-identifiers", "equal to a unique original on all columns",
            "equal to a unique original on the quasi-identifiers",
        ),
        _copies,
    ),
    AssessmentCheck(
        "distance to the closest record",
        ("closer to the original than to the control", "distance to the closest original"), _closest, (time,),
    ),
)  # fmt: skip
