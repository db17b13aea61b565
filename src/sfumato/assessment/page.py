"""The report of an assessment: first in plain words what was asked, then what was measured, then how."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

from sfumato.report import Block, Cell, DataTable, Figure, Page, Promises, ScoreTable, Section, Verdict
from sfumato.report.verdict import NEXT, limits, outcome
from sfumato.report.words import cell
from sfumato.schema import Role, Schema
from sfumato.score import Score

if TYPE_CHECKING:
    from sfumato.assessment.judgement import Assessment
    from sfumato.assessment.subject import Files

_TO_TYPE = re.compile(r" \([a-z_]+=.*\)$")
RISK = "Risk: what the release gives away"
UTILITY = "Utility: what the release keeps"
PROMISED = "What was promised"
_OPEN = 10  # people who are listed before the list folds
# Scores that say how many released rows are original ones, or nearly.
_COPIES = re.compile(r"\b(equal to an?|cop(y|ies|ied)|artificial|closest original|closer to the original)\b")
_RISK = (
    "A share of 0.01 is one row, or one person, in a hundred.",
    "Read an attack against its control, the same attack on people who are not in the data, and against a "
    "plain guess: only what lies above both is due to the release.",
)
_KEPT = "How far tables, associations and models of the release are from those of the original."
_RULES = (
    "A limit is met if even the unfavourable end of the interval keeps it; it is undecided if what was seen "
    "fits both sides, which counts as not met. What was not examined may still give people away. Nothing "
    "here is a certificate."
)


def page_of(found: Assessment) -> Page:
    """The page; it says INTERNAL on every sheet, because it is computed from the original."""
    sections = [_first(found), *_risk(found), *_utility(found), _promises(found), _method(found)]
    return Page("Assessment of a release", _stamp(found), sections)


def _stamp(found: Assessment) -> str:
    import sfumato

    original, released = found.rows
    return (
        f"{original:,} {found.unit} of the original against {released:,} of the release, "
        f"{len(found.columns)} columns compared; effort {found.effort}; sfumato {sfumato.__version__}."
    )


def _first(found: Assessment) -> Section:
    return Section("In short", _RULES, [_plainly(found.verdict())])


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


# -- what was measured -----------------------------------------------------------------------------------


def _risk(found: Assessment) -> Iterator[Section]:
    """First who can be found, then copies, then what intruders reach, then who stands alone in the file."""
    copies = [s for s in found.of("risk") if _COPIES.search(s.name)]
    others = [s for s in found.of("risk") if not _COPIES.search(s.name)]
    blocks: list[Block] = [*_people(found)]
    blocks += [ScoreTable(copies, "Copies of original rows")] if copies else []
    blocks += [*_pictures(found, "attack")]
    blocks += [ScoreTable(found.of("attack"), "Attacks")] if found.of("attack") else []
    blocks += [ScoreTable(others, "Rows that stand alone, or nearly")] if others else []
    blocks += [*_pictures(found, "risk")]
    if blocks:
        yield Section(RISK, _RISK, blocks)


def _people(found: Assessment) -> Iterator[DataTable]:
    """The original rows that single released rows give away, the worst first."""
    if not found.people:
        return
    columns = tuple(dict.fromkeys(str(name) for record in found.people for name in record))
    rows = [tuple(_entry(record.get(name)) for name in columns) for record in found.people]
    many = len(rows)
    chance = [s.details["named by chance"] for s in found.scores if "named by chance" in s.details]
    expected = f" (at most {chance[0]:.2g} on average in a release that holds nobody)" if chance else ""
    counted = f"original row{'s' * (many > 1)}" if found.unit == "rows" else f"person{'s' * (many > 1)}"
    caption = f"People who can be found: {many:,} {counted}, the worst first{expected}"
    yield DataTable(columns, rows, caption, most=_OPEN, mixed=range(len(columns)))


def _entry(value: object) -> Cell:
    if isinstance(value, list) and not value:
        return "none"
    return value if isinstance(value, str | int | float | bool | None) else cell(value)


def _utility(found: Assessment) -> Iterator[Section]:
    scores = found.of("utility")
    if scores:
        yield Section(UTILITY, _KEPT, [ScoreTable(scores, "What is kept"), *_pictures(found, "utility")])


def _pictures(found: Assessment, section: str) -> Iterator[Figure]:
    return (figure for part, figure in found.figures if part == section)


def tables_of(found: Assessment) -> list[dict[str, Any]]:
    """Every table that a page folds and no score holds, whole: the people, and what figures draw."""
    tables = [*_people(found), *(figure.table for _, figure in found.figures if figure.table is not None)]
    return [{"caption": t.caption, "columns": t.columns, "rows": t.rows} for t in tables]


# -- what was promised, and how it was done ----------------------------------------------------------------


def _promises(found: Assessment) -> Section:
    if found.guarantee is None:
        words = (
            "The release is a plain file: it comes with no statement of what it promises. Everything above "
            "was measured, and holds against the intruders that were tried."
        )
        return Section(PROMISED, words)
    return Section(PROMISED, "The release says this of itself.", [Promises(found.guarantee)])


def _method(found: Assessment) -> Section:
    rows = [
        ("columns compared", ", ".join(found.columns)),
        ("known to the intruder (quasi-identifiers)", ", ".join(found.quasi_identifiers) or "none named"),
        ("effort", found.effort),
    ]
    blocks: list[Block] = [DataTable(("what", "which"), rows, "What was compared", words=(0,), mixed=(1,))]
    if found.notes:
        blocks.append(DataTable(("note",), [(n,) for n in found.notes], "What was assumed", words=(0,)))
    if found.skipped:
        skipped = [(s.part, s.reason) for s in found.skipped]
        blocks.append(DataTable(("not examined", "because"), skipped, "What was not examined", words=(0, 1)))
    return Section("How it was done", (), blocks)


_NUMBERS = ("integer", "real", "decimal")


def released_roles(files: Files) -> Schema:
    """The released schema with the roles that were judged: those given for a column, else the schema's.

    A released file that nobody described has guessed roles only. A column that its publisher confirmed
    keeps its own role, unless the roles were named for this assessment.
    """
    schema, whole = files.published, files.whole.schema
    roles = dict.fromkeys(files.sensitive, Role.SENSITIVE)
    roles |= dict.fromkeys(files.quasi_identifiers, Role.QUASI_IDENTIFIER)
    for column in schema:
        known = column.name in whole and (whole[column.name].confirmed or not column.confirmed)
        own = whole[column.name].role if known else column.role
        if column.name in files.columns and own in (Role.QUASI_IDENTIFIER, Role.SENSITIVE):
            own = Role.OTHER  # judged, and not as one of these
        if own is Role.WEIGHT and column.type not in _NUMBERS:
            own = Role.OTHER  # a weight in bins or words weighs nothing
        schema = schema.with_(column.name, role=roles.get(column.name, own))
    return schema


# -- the terminal -------------------------------------------------------------------------------------

_HEADLINES = 12
_FIRST_PEOPLE = 3


def lines_of(found: Assessment) -> list[str]:
    """In the order of the page: the verdict, what decides, the limits, what to do; risk; utility."""
    verdict = found.verdict()
    word = outcome(verdict)
    out = [f"INTERNAL. {word[0].upper()}{word[1:]}. {verdict.because}".rstrip()]
    out += [f"  {name:<9}  {asked}: {value}" for name, asked, value in limits(verdict)]
    if verdict.advice:
        out += ["", NEXT, *(f"  {i}. {line}" for i, line in enumerate(verdict.advice, 1))]
    risk = [*_people_lines(found), *_score_lines(found.of("risk")), *_score_lines(found.of("attack"))]
    out += ["", RISK, *risk] if risk else []
    kept = _score_lines(found.of("utility"))
    out += ["", UTILITY, *kept] if kept else []
    if found.guarantee is not None:
        out += ["", PROMISED, *(f"  {line}" for line in found.guarantee.text().splitlines())]
    if verdict.not_examined:
        out += ["", "Not examined", *(f"  {line}" for line in verdict.not_examined)]
    return out


def html_of(found: Assessment) -> str:
    """What decides, for a notebook: the verdict, the limits, what to do; all the rest folded away."""
    verdict = found.verdict()
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(asked)}</td><td>{escape(value)}</td></tr>"
        for name, asked, value in limits(verdict)
    )
    head = "<thead><tr><th>outcome</th><th>limit</th><th>found</th></tr></thead>"
    steps = "".join(f"<li>{escape(line)}</li>" for line in verdict.advice)
    word, rest = escape(outcome(verdict).capitalize()), escape(str(found))
    return (
        f"<p>INTERNAL. <strong>{word}.</strong> {escape(verdict.because)}</p>"
        + (f"<table>{head}<tbody>{rows}</tbody></table>" if rows else "")
        + (f"<p>{NEXT}</p><ol>{steps}</ol>" if steps else "")
        + f"<details><summary>All of it</summary>\n<pre style='white-space: pre-wrap'>{rest}</pre></details>"
    )


def _people_lines(found: Assessment) -> Iterator[str]:
    for table in _people(found):
        yield f"  {table.caption}"
        for row in table.rows[:_FIRST_PEOPLE]:
            yield "    " + ", ".join(f"{n} {cell(v)}" for n, v in zip(table.columns, row, strict=True))


def _score_lines(scores: Sequence[Score]) -> list[str]:
    """Copies first, then scores about the whole file; the others are counted."""
    shown = sorted(headlines(scores), key=lambda s: not _COPIES.search(s.name))[:_HEADLINES]
    rest = len(scores) - len(shown)
    return [*(f"  {s}" for s in shown), *([f"  ... and {rest} more in the report"] if rest else [])]


def headlines(scores: Sequence[Score]) -> list[Score]:
    """Scores about the whole file: all but those of utility that are about single columns."""
    return [s for s in scores if s.section != "utility" or not s.columns] or list(scores)
