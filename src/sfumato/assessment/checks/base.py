"""What a check of an assessment is, and what it may need."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sfumato.assessment.attacks.success import NothingToAttack
from sfumato.assessment.case import Case
from sfumato.errors import SfumatoError
from sfumato.score import Score
from sfumato.table import Table

Need = Callable[[Case], str]


@dataclass(frozen=True)
class AssessmentCheck:
    """One check.

    gives: the measures it may give, as `thresholds.measure` names them.
    needs: each says why a case cannot be judged here; nothing if it can.
    drawn: whether it attacks `case.draws` people: it is run again with more while nothing is decided.
    limit: of a check of another package, the limit that speaks of it: "risk", "utility" or none.
    package: whose it is; empty for ours.
    """

    name: str
    gives: tuple[str, ...]
    run: Callable[[Case], list[Score]]
    needs: tuple[Need, ...] = ()
    drawn: bool = False
    limit: str = ""
    package: str = ""

    def lacks(self, case: Case) -> str:
        """The first reason why this check cannot be done, or nothing."""
        return next((why for need in self.needs if (why := need(case))), "")


class Partly(SfumatoError):
    """Some of a check could not be done: what was found, and why the rest was not."""

    def __init__(self, scores: list[Score], why: SfumatoError) -> None:
        super().__init__(why.message, hint=why.hint)
        self.scores = scores
        self.unknown = not isinstance(why, NothingToAttack)


def as_far_as_possible(runs: Iterable[Callable[[], list[Score]]]) -> list[Score]:
    """The scores of several attacks. One column that cannot be attacked does not take the others with it."""
    scores: list[Score] = []
    refused: SfumatoError | None = None
    for run in runs:
        try:
            scores += run()
        except NothingToAttack as error:
            refused = refused or error
        except SfumatoError as error:  # says more than that there was nothing to do
            refused = error if refused is None or isinstance(refused, NothingToAttack) else refused
    if refused is not None:
        raise Partly(scores, refused)
    return scores


def known(case: Case) -> str:
    """A column the intruder knows."""
    return "" if case.known else "no column is known to the intruder (quasi_identifiers=[...])"


def two_known(case: Case) -> str:
    """At least two of them."""
    return known(case) or ("" if len(case.known) > 1 else "the intruder knows a single column")


def secret(case: Case) -> str:
    """A column the intruder wants, beside what is known."""
    if case.secrets:
        return ""
    named = bool(case.subject.sensitive)
    return "no sensitive column is in the release" if named else "no column is sensitive (sensitive=[...])"


def secret_known(case: Case) -> str:
    """A column the intruder wants, with few enough values to be compared."""
    return secret(case) or ("" if case.sharply_wanted else "the sensitive columns have too many values")


def target(case: Case) -> str:
    """A column that models predict."""
    return "" if case.files.target in case.pair.columns else "no column is to be predicted (target=...)"


def control(case: Case) -> str:
    """People who are not in the data."""
    return "" if case.files.control is not None else "no control of people outside the data was given"


def population_size(case: Case) -> str:
    """How many people the original is a sample of."""
    if isinstance(case.population, Table):
        return "the population was given as a file and need not be estimated"
    return "" if case.population is not None else "the size of the population is not known (population=...)"


def population_file(case: Case) -> str:
    """A file of the population."""
    return "" if isinstance(case.population, Table) else "no file of the population was given"


def truth(case: Case) -> str:
    """Which released row was made of which person."""
    return "" if case.truth else "nobody said which released row was made of which person (truth='rows')"


def database(case: Case) -> str:
    """What an intruder holds beside the release."""
    return (
        "" if case.subject.database is not None else "no database of the intruder's was given (database=...)"
    )


def formulas(case: Case) -> str:
    """Regressions the user cares about."""
    return "" if case.subject.formulas else "no regression was named (formulas=...)"


def earlier(case: Case) -> str:
    """Another release of the same people."""
    there = any(e.original is None for e in case.files.earlier)
    return "" if there else "no other release of the same people was given (earlier=[...])"


def grown(case: Case) -> str:
    """The table of an earlier date, and what was released of it."""
    there = any(e.original is not None for e in case.files.earlier)
    return "" if there else "no release of an earlier date was given (earlier=[(original, release)])"


def same_length(case: Case) -> str:
    """A release whose rows can be put beside those of another."""
    others = [e.released.rows() for e in case.files.earlier if e.original is None]
    return "" if case.files.rows[1] in others else "no earlier release has as many rows as this one"


def made(case: Case) -> str:
    """What made the release, to be run again."""
    return "" if case.subject.maker is not None else "the method was not given, only its file (maker=...)"


def several(case: Case) -> str:
    """At least two columns."""
    return "" if len(case.pair.columns) > 1 else "the files share a single column"


def time(case: Case) -> str:
    """More than a quick look."""
    return "it takes longer than a quick look (effort='normal')" if case.quick else ""


def much_time(case: Case) -> str:
    """More than a usual look."""
    return "" if case.thorough else "it takes long (effort='thorough')"
