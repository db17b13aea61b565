"""The parts of an assessment: what each needs, what it gives, and when it is worth its time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sfumato.assessment.case import Case, case_of
from sfumato.assessment.thresholds import measure
from sfumato.score import Score
from sfumato.table import Table

__all__ = ["PARTS", "Part", "case_of", "giving"]


@dataclass(frozen=True)
class Part:
    """One part.

    gives: the measures it may give, as `thresholds.measure` names them.
    needs: why a case cannot be judged here; empty if it can.
    """

    name: str
    gives: tuple[str, ...]
    run: Callable[[Case], list[Score]]
    needs: tuple[Callable[[Case], str], ...] = ()

    def lacks(self, case: Case) -> str:
        """The first reason why this part cannot be done, or nothing."""
        return next((why for need in self.needs if (why := need(case))), "")


def giving(name: str) -> list[Part]:
    """The parts that may give a score of that name."""
    return [part for part in PARTS if measure(name) in part.gives]


# -- what a part may need --------------------------------------------------------------------------


def _known(case: Case) -> str:
    return "" if case.known else "no column is known to the intruder (name quasi_identifiers)"


def _sensitive(case: Case) -> str:
    wanted = [n for n in case.files.sensitive if n in case.pair.columns]
    return "" if wanted else "no column is sensitive (name sensitive)"


def _target(case: Case) -> str:
    return "" if case.files.target else "no column is to be predicted (name target)"


def _control(case: Case) -> str:
    return "" if case.files.control is not None else "no control of people outside the data was given"


def _population(case: Case) -> str:
    return "" if case.population is not None else "the population is not known (give its size or a file of it)"


def _population_size(case: Case) -> str:
    if isinstance(case.population, Table):
        return "the population was given as a file and need not be estimated"
    return _population(case)


def _normal(case: Case) -> str:
    return "it takes longer than a quick look" if case.quick else ""


def _thorough(case: Case) -> str:
    return "" if case.thorough else "it takes long (say effort='thorough')"


# -- risk ------------------------------------------------------------------------------------------


def _class_sizes(case: Case) -> list[Score]:
    from sfumato.assessment.risk.reidentification import class_sizes

    return class_sizes(case.classes)


def _uniqueness(case: Case) -> list[Score]:
    from sfumato.assessment.risk.uniqueness import riskiest, uniqueness

    found = uniqueness(case.classes, searched=case.search, depth=case.depth)
    return found + riskiest(case.classes, searched=case.search, depth=case.depth)


def _population_uniqueness(case: Case) -> list[Score]:
    from sfumato.assessment.risk.population import population_uniqueness

    assert isinstance(case.population, int)
    return population_uniqueness(case.classes, population_size=max(case.population, case.classes.population))


def _intruders(case: Case) -> list[Score]:
    from sfumato.assessment.risk.reidentification import intruders

    if isinstance(case.population, Table):
        return intruders(case.classes, population=case.population)
    size = None if case.population is None else max(case.population, case.classes.population)
    return intruders(case.classes, population_size=size)


PARTS: tuple[Part, ...] = (
    Part("class sizes", ("k", "average class"), _class_sizes, (_known,)),
    Part(
        "who stands alone",
        (
            "unique on all quasi-identifiers", "unique on two quasi-identifiers",
            "unique on three quasi-identifiers", "unique on four quasi-identifiers",
            "singled out by up to three quasi-identifiers", "singled out by up to four quasi-identifiers",
        ),
        _uniqueness,
        (_known,),
    ),
    Part(
        "alone in the population", ("population uniqueness",), _population_uniqueness,
        (_known, _population_size),
    ),
    Part(
        "prosecutor, journalist, marketer", ("prosecutor risk", "journalist risk", "marketer risk"), _intruders,
        (_known,),
    ),
)  # fmt: skip
