"""Scores as a table of HTML: value and interval, where they lie in their range, and what they mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape

from sfumato.languages import Verbatim, say
from sfumato.report.contents import DataTable, ScoreTable
from sfumato.report.words import (
    MOST_ROWS,
    ON_PAPER,
    ScoreGroup,
    clean,
    confidence,
    details_of,
    direction,
    figure,
    grouped,
    interval,
    number,
    whole,
)
from sfumato.score import Score

_WIDTH, _PAD = 160, 8
_FEW = 6  # columns that are named; of more, how many
_DIAMOND = "M0-7 6 0 0 7-6 0z"
_CONTROL = f'<svg viewBox="-6 -7 12 14" aria-hidden="true"><path class="control" d="{_DIAMOND}"/></svg>'
_GUESS = '<svg viewBox="0 0 12 14" aria-hidden="true"><path class="guess" d="M6 0v14"/></svg>'


def scores_html(block: ScoreTable, table: Callable[[DataTable], str]) -> Iterator[str]:
    """All groups of a table of scores; `table` renders the tables behind a score."""
    yield '<div class="block">'
    groups = grouped(block.scores)
    if not groups:
        yield f"<h3>{_(block.caption)}</h3>\n<p>{_('None.')}</p>"
    for i, group in enumerate(groups):
        title = f"{say(block.caption)}: {say(group.title)}" if group.title else say(block.caption)
        if group.folded:
            yield f"<h3>{_(block.caption)}</h3>" if i == 0 else ""
            many = len(group.scores) > ON_PAPER
            first = _(f"the first {ON_PAPER} here, all in the JSON")
            here = f'<span class="paper">: {first}</span>' if many else ""
            size = whole(len(group.scores))
            yield f'<details class="group"><summary>{_(group.title)} ({size}){here}</summary>'
        yield from _group(group, title, table)
        if group.folded:
            yield "</details>"
    yield "</div>"


def _(text: str) -> str:
    return escape(clean(say(text)))


def _group(group: ScoreGroup, title: str, table: Callable[[DataTable], str]) -> Iterator[str]:
    shared = group.meaning
    if shared:
        yield f'<p class="small">{_(shared)}</p>'
    sections = {s.section for s in group.scores}
    kind = " utility" if sections == {"utility"} else ""
    hidden = ' class="hidden"' if group.folded else ""
    # On narrow screens rows are laid out as blocks; the roles keep it a table for screen readers.
    yield f'<table class="scores{kind}" role="table">\n<caption{hidden}>{_(Verbatim(title))}</caption>'
    column = '<th scope="col" role="columnheader">'
    yield f'<thead role="rowgroup"><tr role="row">{column}{_("measure and meaning")}</th>'
    levels = {confidence(s) for s in group.scores if interval(s)}
    one = f" ({_('interval')}: {levels.pop()})" if len(levels) == 1 else ""
    yield f"{column}{_('value')}{one}</th>"
    yield f'{column}{_("in its range")}</th></tr></thead>\n<tbody role="rowgroup">'
    before: Score | None = None
    for score in group.scores[:MOST_ROWS]:
        yield _row(score, _notes(score, before, shared), table, bool(one))
        before = score
    yield "</tbody>\n</table>"
    if any(s.details for s in group.scores) and not group.folded:
        yield f'<p class="small paper">{_("What lies behind each value is in the JSON.")}</p>'
    if len(group.scores) > MOST_ROWS:
        yield f'<p class="small">{_(f"{len(group.scores) - MOST_ROWS:,} more are in the JSON.")}</p>'


def _notes(score: Score, before: Score | None, shared: str) -> list[str]:
    """What a value means, of which columns, for which intruder; what the row above says is not repeated."""
    notes = [] if shared else [score.meaning[:1].upper() + score.meaning[1:]]
    told = f"{score.name} {score.knowledge}"
    if not all(c in told for c in score.columns) and not (before and before.columns == score.columns):
        many = len(score.columns)
        notes.append(
            f"Columns: {', '.join(score.columns)}." if many <= _FEW else f"It looks at {many} columns."
        )
    if score.knowledge and before is not None and before.knowledge == score.knowledge:
        notes.append("The intruder knows the same as above.")
    elif score.knowledge:
        notes.append(f"The intruder knows: {score.knowledge}.".replace("..", "."))
    return notes


def _row(score: Score, notes: Sequence[str], table: Callable[[DataTable], str], one: bool) -> str:
    """One score. one: the head of the table says at which confidence the intervals hold."""
    small = "".join(f'<span class="small">{_(note)}</span>' for note in notes)
    behind = "".join(table(t) for t in details_of(score))
    spread = interval(score)
    found = f'<span class="value">{figure(score.value)}</span>'
    if spread:
        found += f'<span class="small">{spread}{"" if one else f"<br>{confidence(score)}"}</span>'
    low, high = score.range
    ends = _span(low, high) + (f", {direction(score)}" if direction(score) else "")
    beside = "".join(
        f'<span class="beside">{sign}{_(name)} {figure(value)}</span>'
        for name, value, sign in (
            ("control", score.control, _CONTROL),
            ("plain guess", score.baseline, _GUESS),
        )
        if value is not None
    )
    return (
        f'<tr role="row"><th scope="row" role="rowheader">{_(score.name)}{small}{behind}</th>'
        f'<td role="cell">{found}</td>'
        f'<td role="cell">{_bar(score)}<span class="small">{beside}</span>'
        f'<span class="small">{ends}</span></td></tr>'
    )


def _span(low: float, high: float) -> str:
    return say(f"{number(low)} to {number(high)}")


def _bar(score: Score) -> str:
    """The value on the line of all values there can be; none where that line has no end."""
    low, high = score.range
    if not (math.isfinite(low) and math.isfinite(high) and low < high and math.isfinite(score.value)):
        return ""
    label = f"{score.name}: {number(score.value)} on a scale from {number(low)} to {number(high)}"

    def at(value: float) -> str:
        share = min(1.0, max(0.0, (value - low) / (high - low)))
        return f"{_PAD + share * (_WIDTH - 2 * _PAD):.1f}"

    parts = [f'<line class="track" x1="{_PAD}" x2="{_WIDTH - _PAD}" y1="13" y2="13"/>']
    if score.low is not None and score.high is not None:
        parts.append(f'<line class="span" x1="{at(score.low)}" x2="{at(score.high)}" y1="13" y2="13"/>')
    if score.baseline is not None and math.isfinite(score.baseline):
        x = at(score.baseline)
        parts.append(f'<line class="guess" x1="{x}" x2="{x}" y1="4" y2="22"/>')
    if score.control is not None and math.isfinite(score.control):
        place = f"translate({at(score.control)},13)"
        parts.append(f'<path class="control" transform="{place}" d="{_DIAMOND}"/>')
    parts.append(f'<circle class="dot" cx="{at(score.value)}" cy="13" r="6"/>')
    box = f'viewBox="0 0 {_WIDTH} 26" role="img" aria-label="{_(label)}"'
    return f'<svg class="bar" {box}>{"".join(parts)}</svg>'
