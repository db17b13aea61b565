"""A score by its name, as a measure for the map: only the check of the assessment that gives it is run."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from sfumato.assessment.frontier.grid import Made, Measure
from sfumato.assessment.thresholds import RISING, RISK, VAGUE, measure, of_name
from sfumato.errors import DataError, ParameterError, listed
from sfumato.release import Release
from sfumato.schema import Kind, Role
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.assessment.case import Case

LINKING, MEMBERSHIP = "linking, at most", "membership by nearest row, area under the curve"
_NEVER_COMPARED = (Role.IDENTIFIER, Role.PERSON, Role.WEIGHT)
_OWN_VALUE = 0.5  # share of the rows with a value of their own from which on nobody can compare a column


def measure_of(chosen: str | Measure, what: str) -> Measure:
    """A function as it is; for a name, the score of that name."""
    if isinstance(chosen, str):
        named = Named(chosen)
        if measure(chosen) in (VAGUE | RISING if what == RISK else VAGUE):
            raise no_axis([chosen])
        return named
    if not callable(chosen):
        raise ParameterError(
            f"{what} is neither the name of a score nor a function.",
            hint=f"{what}='...', or a function (original, released, control, key) -> Score",
        )
    function: Measure = chosen
    return function


def no_axis(names: Sequence[str]) -> ParameterError:
    """The refusal of scores of which it is not said, or said the wrong way, what is better."""
    return ParameterError(
        f"{listed([repr(n) for n in names])} cannot be an axis of the map.",
        hint="of a risk lower must be better; of a utility higher or lower",
    )


@dataclass(frozen=True)
class Named:
    """The score of a name. `name` is also what a cache knows it by."""

    name: str
    takes_releases: ClassVar[bool] = True

    def __post_init__(self) -> None:
        from sfumato.assessment.checks import CHECKS, giving, guest_checks

        if not giving(self.name):
            offered = sorted({m for check in (*CHECKS, *guest_checks()) for m in check.gives})
            near = difflib.get_close_matches(measure(self.name), offered, 3, 0.5)
            raise ParameterError(
                f"no score is called {self.name!r}.", hint=f"there are {listed(near or offered, 40)}"
            )

    def __call__(self, original: Table, released: Made, control: Table | None, key: Key, /) -> Score:
        """Open the pair, and run what gives the score."""
        return _taken(self.name, _case(original, released, control, key))


@dataclass(frozen=True)
class Worse:
    """The default risk: the worse of two attacks, each by what it reaches above its control.

    Linking by the quasi-identifiers alone is blind where most people share them: it reaches nothing, for
    a copy of the table as for noise. Membership by the nearest row uses every column, and tells a copy from
    noise always, but cannot see through generalized cells, which linking can. So neither is left out. It
    needs a control; without one only linking is left, above a plain guess.
    """

    name: str = "worst attack"
    takes_releases: ClassVar[bool] = True

    def __call__(self, original: Table, released: Made, control: Table | None, key: Key, /) -> Score:
        """Both attacks on one opened pair."""
        case = _case(original, released, control, key)
        found = [_taken(LINKING, case)]  # without a known column the map would not see generalization
        if control is not None:
            found.append(_taken(MEMBERSHIP, case))
        worst = max(found, key=lambda s: s.value)
        against = "a plain guess" if control is None else "people who are not in the data"
        return replace(
            worst,
            name=f"{self.name}, compared with {against}",
            columns=(),
            meaning="The worse of two attacks: picking a record that fits the quasi-identifiers, and telling "
            f"who was in the data by the nearest row. What it reaches above {against}, as a share of what "
            "it could.",
        )


@dataclass(frozen=True)
class PairDistance:
    """The default utility: total variation over pairs of columns, or over columns where there is only one.

    A column that a release leaves out counts as wholly different. Otherwise a method could win the map by
    leaving out what is hard to keep.
    """

    name: str = "total variation, pairs"
    takes_releases: ClassVar[bool] = True

    def __call__(self, original: Table, released: Made, control: Table | None, key: Key, /) -> Score:
        """Count both files; no attack is run."""
        from math import comb

        from sfumato.assessment.utility.tables import distances

        pair = _case(original, released, None, key).pair
        lost = _left_out(original, released.data if isinstance(released, Release) else released)
        every = len(pair.columns) + len(lost)
        ways = min(2, every)
        counted = comb(len(pair.columns), ways)
        found = distances(pair, ways=ways) if counted else distances(pair, ways=1)
        value = (found[0].value * counted + comb(every, ways) - counted) / comb(every, ways)
        label = "pairs" if ways == 2 else "columns"
        return replace(
            found[0],
            name=f"total variation, {label}",
            value=value,
            low=None,
            high=None,
            confidence=None,
            meaning="Mean share of people who would have to move to make both files alike, looking at "
            f"{label}; 0: alike. Columns that a release leaves out count as wholly different.",
        )


def _left_out(original: Table, released: Table) -> list[str]:
    """Columns of the original that could be compared, if the release had them."""
    from sfumato.assessment.reading.alignment import MAX_LEVELS

    absent = [c for c in original.schema if c.name not in released.schema and c.role not in _NEVER_COMPARED]
    counted = [c.name for c in absent if c.kind in (Kind.NUMERIC, Kind.DATE)]
    named = [c.name for c in absent if c.kind not in (Kind.NUMERIC, Kind.DATE, Kind.TEXT)]
    most = min(MAX_LEVELS, max(20, _OWN_VALUE * original.rows()))
    books = original.codebooks(named) if named else {}
    return counted + [n for n in named if books[n].size <= most]


def _case(original: Table, released: Made, control: Table | None, key: Key) -> Case:
    from sfumato.assessment.case import case_of
    from sfumato.assessment.subject import Subject

    return case_of(Subject(original=original, released=released, control=control, key=key))


def _taken(name: str, case: Case) -> Score:
    from sfumato.assessment.checks import giving

    found: list[Score] = []
    reasons = []
    for check in giving(name):
        reason = check.lacks(case)
        if reason:
            reasons.append(reason)
        else:
            found += check.run(case)
    scores = of_name(name, found)
    if not scores:
        why = reasons[0] if reasons else f"it is called {listed([repr(s.name) for s in found])}"
        raise DataError(f"'{name}' cannot be taken: {why}.", hint="choose another score")
    return above(scores[0])


def above(score: Score) -> Score:
    """An attack as what it reaches above its control, or else above a plain guess, as a share of the rest.

    On a map of many methods only this compares them: of a small file most people fit some record by chance.
    """
    reference = score.control if score.control is not None else score.baseline
    if score.section != "attack" or score.range != (0, 1) or score.better != "lower" or reference is None:
        return score
    value = max(0.0, (score.value - reference) / (1 - reference)) if reference < 1 else 0.0
    what = "people who are not in the data" if score.control is not None else "a plain guess"
    return replace(
        score,
        name=f"{score.name}, above {'control' if score.control is not None else 'a guess'}",
        value=value,
        low=None,
        high=None,
        confidence=None,
        meaning=f"{score.meaning} Here: what it reaches above {what}, as a share of what it could.",
    )
