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


def _population_file(case: Case) -> str:
    return "" if isinstance(case.population, Table) else "no file of the population was given"


def _truth(case: Case) -> str:
    return "" if case.truth else "nobody said which released row was made of which person (truth='rows')"


def _normal(case: Case) -> str:
    return "it takes longer than a quick look" if case.quick else ""


def _thorough(case: Case) -> str:
    return "" if case.thorough else "it takes long (say effort='thorough')"


# -- utility ---------------------------------------------------------------------------------------


def _tables(case: Case) -> list[Score]:
    from sfumato.assessment.utility import utility

    return utility(case.pair, ways=2 if case.quick else 3, most=20_000 if case.thorough else 2_000)


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


def _diversity(case: Case) -> list[Score]:
    from sfumato.assessment.risk.diversity import diversity

    return diversity(case.files.released, case.files.quasi_identifiers, case.files.sensitive)


def _presence(case: Case) -> list[Score]:
    from sfumato.assessment.risk.reidentification import presence

    assert isinstance(case.population, Table)
    return presence(case.classes, case.population)


def _copies(case: Case) -> list[Score]:
    from sfumato.assessment.risk.records import copies

    files = case.files
    return copies(
        files.original, files.released, control=files.control, columns=case.pair.columns,
        quasi_identifiers=case.known or None,
    )  # fmt: skip


def _closest(case: Case) -> list[Score]:
    from sfumato.assessment.risk.distance import closest

    files = case.files
    rows = 10_000 if case.thorough else 2_000
    return closest(files.original, files.released, control=files.control, columns=case.pair.columns, rows=rows)


# -- attacks ---------------------------------------------------------------------------------------


def _linking(case: Case) -> list[Score]:
    from sfumato.assessment.linkage import deterministic

    return deterministic(case.pair, case.known, truth=case.truth, control=case.files.control)


def _nearest(case: Case) -> list[Score]:
    from sfumato.assessment.linkage import nearest

    return nearest(case.pair, case.known, truth=case.truth)


PARTS: tuple[Part, ...] = (
    Part(
        "tables of one, two and three columns",
        (
            "marginal mse", "marginal mae", "histogram intersection", "kendall's tau-b", "spearman's rho",
            "missing rate", "total variation", "conditional mse", "conditional mae", "mutual information",
            "cramer's v", "tau-b between ordered columns", "chi-square ratio", "g2 ratio",
        ),
        _tables,
    ),
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
    Part("presence in the file", ("delta",), _presence, (_known, _population_file)),
    Part(
        "diversity of sensitive columns", ("distinct l", "entropy l", "recursive l", "t"), _diversity,
        (_known, _sensitive),
    ),
    Part(
        "copies of originals",
        (
            "purely artificial records", "equal to an original on all columns",
            "equal to an original on the quasi-identifiers", "equal to a unique original on all columns",
            "equal to a unique original on the quasi-identifiers",
        ),
        _copies,
    ),
    Part(
        "distance to the closest record",
        ("closer to the original than to the control", "distance to the closest original"), _closest,
        (_normal,),
    ),
    Part("linking", ("linking",), _linking, (_known,)),
    Part("nearest record", ("nearest record",), _nearest, (_known, _truth)),
)  # fmt: skip
