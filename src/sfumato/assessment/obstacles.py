"""What stands in the way of a met limit before anything is measured: files that nobody could judge.

A file of people who are all alike, a release of a handful of rows, columns that nobody understood, a control
that is none. `risk` is then not examined, and the reason says what to give. What is found still counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.assessment.case import LENT, Case
from sfumato.assessment.reading.people import all_alike
from sfumato.assessment.reading.unread import merged, too_much
from sfumato.assessment.thresholds import RISK
from sfumato.errors import listed

if TYPE_CHECKING:
    from sfumato.assessment.copies import Overlap

# The chance of as many equal rows at which a control is no control: by an exact test, and by one that is not.
_OVERLAPPING = {"original": LENT, "release": 1e-4}
_SUSPECT = 0.05  # at which it is said
# Released rows from which copies of all of them could be significant: a chance of 2^-rows against as many
# controls, paid for by ten cuts and three searches.
_FEWEST = 12


def obstacles(case: Case, limit: float | None = None) -> dict[str, str]:
    """Why `risk` cannot be met, whatever the attacks find, by the name of the limit; empty if it can.

    limit: of `risk`, where there is one: as large a part of a column may hide as many copies.
    """
    files = case.files
    unjudgeable = _too_alike_or_few(case)
    if unjudgeable:
        return {RISK: unjudgeable}
    if case.left_out:  # an intruder who knows less than was said proves nothing
        return {RISK: f"too many values to attack with: {listed([repr(n) for n in case.left_out])}"}
    unread = too_much(files.unread, limit)
    if unread:
        return {
            RISK: f"what the released column{'s' * (len(unread) > 1)} "
            f"{listed([repr(n) for n in unread], 6)} may tell was not examined: their values are not "
            "the original's. Call them as there, or leave them out of the release"
        }
    lacking = merged(files.original, files.released) if files.control is None else ()
    if lacking:
        return {
            RISK: f"frequent values of {listed([repr(n) for n in lacking], 6)} are not in the release: they "
            "may have been merged into others, which nobody can tell without a control. Give people who are "
            "in neither file"
        }
    wrong = _no_control(case)
    return {RISK: wrong} if wrong else {}


def _no_control(case: Case) -> str:
    """Why the control is none; nothing where it is one."""
    for found, other in ((case.overlap, "original"), (case.lent, "release")):
        if found is not None and found.rows and found.p <= _OVERLAPPING[other]:
            return (
                f"about {found.rows:,} of the {found.control:,} rows of the control are rows of the {other}; "
                "give people who are in neither"
            )
    if case.drift is not None and case.drift.seen:
        return (
            "the control is not of the same people as the original: it differs in "
            f"{listed([repr(n) for n in case.drift.columns], 6)} by more than chance. Give people who were "
            "drawn together with the original and held back, or no control"
        )
    return ""


def _too_alike_or_few(case: Case) -> str:
    """People who are all alike, or so few released rows that copies of all of them might be chance."""
    people, rows = case.files.rows
    if people > 1 and all_alike(case.files.original, case.files.columns):
        return (
            "in the compared columns all people of the original have the same values: nobody can be told "
            "from anybody, and copies could not be seen. Give columns in which people differ"
        )
    if rows < _FEWEST:
        return (
            f"the release has {rows} row{'s' * (rows > 1)}: so few that nobody can tell copies from chance. "
            "Compare them with the original by hand, or release more people"
        )
    return ""


def of_control(case: Case) -> list[str]:
    """What the control was searched for, and what was too little to be sure of."""
    notes = []
    found = case.overlap
    if found is not None and found.rows and _OVERLAPPING["original"] < found.p <= _SUSPECT:
        notes.append(
            f"About {found.rows:,} of the {found.control:,} rows of the control equal a row of the original, "
            "more than chance explains, but too few to be sure. If they are the same people, leave them out."
        )
    if found is not None and found.p > _OVERLAPPING["original"]:
        notes.append(_noticeable(found))
    return notes


def _noticeable(found: Overlap) -> str:
    """What the test of the control could have seen."""
    if found.seen >= 1:
        return (
            "These columns are so few, or so common, that originals in the control could not be told from "
            "other people: that nobody is in both is taken on trust."
        )
    return (
        f"The control was searched for originals: {found.seen:.2%} of its rows would have been noticed 95 "
        "times in 100. Fewer may be there, and would hide as many copies."
    )
