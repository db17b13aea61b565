"""A page as Markdown, for mail, tickets and terminals. Figures are given by their words and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfumato.languages import say, say_lines, tried
from sfumato.report.contents import Block, Contents, DataTable, Figure, Promises, ScoreTable, Verdict
from sfumato.report.verdict import NEXT, NOTHING_NAMED, count, limits, outcome
from sfumato.report.words import (
    INTERNAL,
    MOST_ROWS,
    clean,
    confidence,
    details_of,
    direction,
    figure,
    grouped,
    interval,
    number,
    said_cell,
)
from sfumato.score import Score

_LEAVE = "computed from the original data; must not leave the house"


def to_markdown(page: Contents) -> str:
    """The page as Markdown text."""
    mark = [f"**{say(INTERNAL)}: {say(_LEAVE)}.**"] if page.audience == "internal" else []
    parts = [*mark, f"# {_said(page.title)}"]
    parts += [_said(page.stamp)] if page.stamp else []
    for section in page.sections:
        parts.append(f"## {_said(section.title)}")
        for block in section.first:
            parts += _block(block)
        parts += [_said(paragraph) for paragraph in section.prose]
        for block in section.rest:
            parts += _block(block)
    return "\n\n".join([*parts, *mark]) + "\n"


def _block(block: Block) -> Iterator[str]:
    match block:
        case Verdict():
            yield from _verdict(block)
        case Promises():
            promised = say_lines(block.guarantee.text())
            yield "\n".join(f"> {_text(line)}".rstrip() for line in promised.splitlines())
        case ScoreTable():
            yield from _scores(block)
        case DataTable():
            yield from _table(block)
        case Figure():
            yield f"### {_said(block.title)}"
            yield _said(block.description)
            if block.table is not None:
                yield from _table(block.table)


def _verdict(verdict: Verdict) -> Iterator[str]:
    word = say(outcome(verdict).capitalize())
    because = f" {_said(verdict.because)}" if verdict.because.strip() else ""
    yield f"**{word}.**{because}"
    if limits(verdict):
        yield say(count(verdict))
        yield _grid(("outcome", "asked", "found"), [tuple(map(say, row)) for row in limits(verdict)])
    if verdict.advice:
        yield f"{say(NEXT)}:"
        yield "\n".join(f"{i}. {_said(line)}" for i, line in enumerate(verdict.advice, 1))
    unseen = say("Not examined")
    yield f"{unseen}:" if verdict.not_examined else f"{unseen}: {say(NOTHING_NAMED)}."
    if verdict.not_examined:
        yield "\n".join(f"- {_said(line)}" for line in verdict.not_examined)


def _scores(block: ScoreTable) -> Iterator[str]:
    yield f"### {_said(block.caption)}"
    if not block.scores:
        yield say("None.")
    for group in grouped(block.scores):
        if group.title:
            yield f"#### {_said(group.title)}"
        shared = group.meaning
        if shared:
            yield _said(shared)
        rows = [_row(score, shared) for score in group.scores[:MOST_ROWS]]
        columns = ("measure", "value", "interval", "control", "baseline", "range", "meaning")
        yield _grid(columns, rows)
        yield from _more(len(group.scores))
        for score in group.scores[:MOST_ROWS]:
            for table in details_of(score):
                yield from _table(table, f"{say(score.name)}: ")


def _row(score: Score, shared: str) -> tuple[str, ...]:
    about = f" ({', '.join(score.columns)})" if score.columns else ""
    knows = " " + say(f"The intruder knows: {score.knowledge}.") if score.knowledge else ""
    spread = f"{interval(score)} ({confidence(score)})" if interval(score) else say("exact")
    low, high = score.range
    way = f", {direction(score)}" if direction(score) else ""
    return (
        say(score.name) + about,
        figure(score.value),
        spread,
        "" if score.control is None else figure(score.control),
        "" if score.baseline is None else figure(score.baseline),
        say(f"{number(low)} to {number(high)}") + way,
        ("" if shared else say(score.meaning)) + knows,
    )


def _table(table: DataTable, of: str = "") -> Iterator[str]:
    yield f"*{_text(of + say(table.caption))}*"
    rows = [tuple(said_cell(table, i, v) for i, v in enumerate(row)) for row in table.rows[:MOST_ROWS]]
    yield _grid(table.columns, rows)
    yield from _more(len(table.rows))


def _more(total: int) -> Iterator[str]:
    if total > MOST_ROWS:
        yield say(f"{total - MOST_ROWS:,} more are in the JSON.")


def _grid(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = [_line([tried(name) for name in columns]), "|" + "---|" * len(columns)]
    return "\n".join([*head, *(_line(row) for row in rows)])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_text(c).replace("|", "\\|") for c in cells) + " |"


def _said(text: str) -> str:
    """A text of ours in the reader's language."""
    return _text(say(text))


def _text(text: str) -> str:
    """Names and labels stay text: a mark of Markdown or HTML in them has no effect."""
    words = " ".join(clean(text).split())
    for mark in "\\`*_[]<>#&":
        words = words.replace(mark, "\\" + mark)
    return words
