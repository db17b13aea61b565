"""The report of an assessment: first in plain words what was asked, then what was measured, then how."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.report import Block, DataTable, Page, Promises, ScoreTable, Section, Verdict
from sfumato.score import Score

if TYPE_CHECKING:
    from sfumato.assessment.judgement import Assessment

_TO_TYPE = re.compile(r" \([a-z_]+=.*\)$")
_TITLES = {
    "utility": (
        "What the release keeps",
        "How far tables, associations and models of the release are from those of the original.",
    ),
    "risk": (
        "What the release gives away",
        "How many records stand alone or nearly alone, counted on the file itself. "
        "A share of 0.01 is one record in a hundred.",
    ),
    "attack": (
        "Attacks",
        "What an intruder with the stated knowledge reaches. Read the success against the control, the "
        "same attack on people who are not in the data, and against a plain guess: only what lies above "
        "both is due to the release.",
    ),
}


def page_of(found: Assessment) -> Page:
    """The page; it says INTERNAL on every sheet, because it is computed from the original."""
    sections = [_first(found), _promises(found)]
    sections += [_part(found, section) for section in _TITLES if found.of(section)]
    sections.append(_method(found))
    return Page("Assessment of a release", _stamp(found), sections)


def _stamp(found: Assessment) -> str:
    import sfumato

    original, released = found.rows
    return (
        f"{original:,} rows of the original against {released:,} of the release, {len(found.columns)} "
        f"columns compared; effort {found.effort}; sfumato {sfumato.__version__}."
    )


def _first(found: Assessment) -> Section:
    words = (
        "A threshold is met when the unfavourable end of the interval meets it. What was not examined may "
        "still give people away; nothing here is a certificate."
    )
    return Section("In short", words, [_plainly(found.verdict())])


def _plainly(verdict: Verdict) -> Verdict:
    """Without what a programmer would have to type; "How it was done" has it."""
    return replace(
        verdict,
        met=_plain_lines(verdict.met),
        not_met=_plain_lines(verdict.not_met),
        not_examined=_plain_lines(verdict.not_examined),
        undecided=_plain_lines(verdict.undecided),
    )


def _plain_lines(lines: Sequence[str]) -> list[str]:
    return [_TO_TYPE.sub("", line) for line in lines]


def _promises(found: Assessment) -> Section:
    if found.guarantee is None:
        words = (
            "The release is a plain file: it comes with no statement of what it promises. "
            "Everything below was measured, and holds against the intruders that were tried."
        )
        return Section("What was promised", words)
    return Section("What was promised", "The release says this of itself.", [Promises(found.guarantee)])


def _part(found: Assessment, section: str) -> Section:
    title, words = _TITLES[section]
    pictures: list[Block] = [figure for part, figure in found.figures if part == section]
    return Section(title, words, [*pictures, ScoreTable(found.of(section), f"{title}: scores")])


def _method(found: Assessment) -> Section:
    rows = [
        ("columns compared", ", ".join(found.columns)),
        ("known to the intruder (quasi-identifiers)", ", ".join(found.quasi_identifiers) or "none named"),
        ("effort", found.effort),
    ]
    blocks: list[Block] = [DataTable(("what", "which"), rows, "What was compared")]
    if found.notes:
        blocks.append(DataTable(("note",), [(n,) for n in found.notes], "What was assumed"))
    if found.skipped:
        skipped = [(s.part, s.reason) for s in found.skipped]
        blocks.append(DataTable(("not examined", "because"), skipped, "What was not examined"))
    return Section("How it was done", (), blocks)


# -- the terminal -------------------------------------------------------------------------------------

_HEADLINES = 12


def lines_of(found: Assessment) -> list[str]:
    """The verdict, then the scores about the whole table; the others are counted."""
    from sfumato.report.words import verdict_sentence

    said = verdict_sentence(found.verdict())
    out = [f"INTERNAL. {said[0].upper()}{said[1:]}"]
    for section, title in (
        ("utility", "What it keeps"),
        ("risk", "What it gives away"),
        ("attack", "Attacks"),
    ):
        scores = found.of(section)
        if not scores:
            continue
        shown = headlines(scores)[:_HEADLINES]
        out += ["", title, *(f"  {s}" for s in shown)]
        if len(scores) > len(shown):
            out.append(f"  ... and {len(scores) - len(shown)} more")
    return out


def headlines(scores: Sequence[Score]) -> list[Score]:
    """Scores about the whole file: all but those of utility that are about single columns."""
    return [s for s in scores if s.section != "utility" or not s.columns] or list(scores)
