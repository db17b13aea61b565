"""A page as Markdown, for mail, tickets and terminals. Figures are given by their words and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfumato.report.contents import Block, Contents, DataTable, Figure, Promises, ScoreTable, Verdict
from sfumato.report.verdict import NEXT, NOTHING_NAMED, count, limits, outcome
from sfumato.report.words import (
    INTERNAL,
    MOST_ROWS,
    cell,
    clean,
    confidence,
    details_of,
    direction,
    grouped,
    interval,
    number,
)
from sfumato.score import Score

_MARK = f"**{INTERNAL}: computed from the original data; must not leave the house.**"


def to_markdown(page: Contents) -> str:
    """The page as Markdown text."""
    parts = [_MARK] if page.audience == "internal" else []
    parts += [f"# {_text(page.title)}"]
    parts += [_text(page.stamp)] if page.stamp else []
    for section in page.sections:
        parts.append(f"## {_text(section.title)}")
        for block in section.first:
            parts += _block(block)
        parts += [_text(paragraph) for paragraph in section.prose]
        for block in section.rest:
            parts += _block(block)
    parts += [_MARK] if page.audience == "internal" else []
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> Iterator[str]:
    match block:
        case Verdict():
            yield from _verdict(block)
        case Promises():
            yield "\n".join(f"> {_text(line)}".rstrip() for line in block.guarantee.text().splitlines())
        case ScoreTable():
            yield from _scores(block)
        case DataTable():
            yield from _table(block)
        case Figure():
            yield f"### {_text(block.title)}"
            yield _text(block.description)
            if block.table is not None:
                yield from _table(block.table)


def _verdict(verdict: Verdict) -> Iterator[str]:
    word = outcome(verdict).capitalize()
    because = f" {_text(verdict.because)}" if verdict.because.strip() else ""
    yield f"**{word}.**{because}"
    if limits(verdict):
        yield count(verdict)
        yield _grid(("outcome", "asked", "found"), limits(verdict))
    if verdict.advice:
        yield f"{NEXT}:"
        yield "\n".join(f"{i}. {_text(line)}" for i, line in enumerate(verdict.advice, 1))
    yield "Not examined:" if verdict.not_examined else f"Not examined: {NOTHING_NAMED}."
    if verdict.not_examined:
        yield "\n".join(f"- {_text(line)}" for line in verdict.not_examined)


def _scores(block: ScoreTable) -> Iterator[str]:
    yield f"### {_text(block.caption)}"
    if not block.scores:
        yield "None."
    for group in grouped(block.scores):
        if group.title:
            yield f"#### {_text(group.title)}"
        shared = group.meaning
        if shared:
            yield _text(shared)
        rows = [_row(score, shared) for score in group.scores[:MOST_ROWS]]
        columns = ("measure", "value", "interval", "control", "baseline", "range", "meaning")
        yield _grid(columns, rows)
        yield from _more(len(group.scores))
        for score in group.scores[:MOST_ROWS]:
            for table in details_of(score):
                yield from _table(DataTable(table.columns, table.rows, f"{score.name}: {table.caption}"))


def _row(score: Score, shared: str) -> tuple[str, ...]:
    about = f" ({', '.join(score.columns)})" if score.columns else ""
    knows = f" The intruder knows: {score.knowledge}." if score.knowledge else ""
    spread = f"{interval(score)} ({confidence(score)})" if interval(score) else "exact"
    low, high = score.range
    way = f", {direction(score)}" if direction(score) else ""
    return (
        score.name + about,
        number(score.value),
        spread,
        "" if score.control is None else number(score.control),
        "" if score.baseline is None else number(score.baseline),
        f"{number(low)} to {number(high)}{way}",
        ("" if shared else score.meaning) + knows,
    )


def _table(table: DataTable) -> Iterator[str]:
    yield f"*{_text(table.caption)}*"
    yield _grid(table.columns, [tuple(cell(v) for v in row) for row in table.rows[:MOST_ROWS]])
    yield from _more(len(table.rows))


def _more(total: int) -> Iterator[str]:
    if total > MOST_ROWS:
        yield f"{total - MOST_ROWS:,} more are in the JSON."


def _grid(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = [_line(columns), "|" + "---|" * len(columns)]
    return "\n".join([*head, *(_line(row) for row in rows)])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_text(c).replace("|", "\\|") for c in cells) + " |"


def _text(text: str) -> str:
    """Names and labels stay text: a mark of Markdown or HTML in them has no effect."""
    words = " ".join(clean(text).split())
    for mark in "\\`*_[]<>#&":
        words = words.replace(mark, "\\" + mark)
    return words
