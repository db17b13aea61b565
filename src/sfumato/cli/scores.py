"""Scores and maps as the terminal shows them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.terminal import as_options
from sfumato.errors import listed, printable

if TYPE_CHECKING:
    from sfumato.assessment.assess import Assessment
    from sfumato.assessment.frontier import Frontier
    from sfumato.score import Score

_OUTCOMES = {
    "met": ("✓", "green"), "not met": ("✗", "bold red"), "undecided": ("?", "bold yellow"),
    "not examined": ("·", "yellow"),
}  # fmt: skip
_SECTIONS = {"risk": "Risk: what it gives away", "attack": "Attacks", "utility": "Utility: what it keeps"}
_SHOWN = 12  # scores of a section; the report has all


def shown(found: Assessment, reports: list[Path], card: Path | None) -> list[Any]:
    """An assessment: the verdict and what to do, the first scores of each section, what was not examined."""
    parts: list[Any] = [Text(printable(found.because), "bold")] if found.because else []
    parts.append(_verdict(found))
    if found.advice:
        advice = (Text(f"  {i}. {printable(as_options(line))}") for i, line in enumerate(found.advice, 1))
        parts += ["", Text("What to do next", "bold"), *advice]
    for section, title in _SECTIONS.items():
        if found.of(section):
            parts += ["", Text(title, "bold"), _scores(found.of(section))]
    skipped = [as_options(str(s)) for s in found.skipped]
    if skipped:
        parts += ["", Text("Not examined", "bold"), *(Text(f"  {s}", "dim") for s in skipped)]
    if reports:
        names = " and ".join(p.name for p in reports)
        parts += ["", Text(f"Report written to {names}. It is internal and must not leave.", "green")]
    if card is not None:
        parts += ["", Text(f"Card written to {card.name}. It may go with the release.", "green")]
    return parts


def _verdict(found: Assessment) -> RenderableType:
    if not found.thresholds:
        return Text("No threshold was set (--max-risk, --min-utility, --threshold).", "yellow")
    grid = Grid.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        grid.add_column(overflow="fold")
    for t in found.thresholds:
        sign, colour = _OUTCOMES[t.outcome]
        grid.add_row(Text(sign, colour), Text(t.outcome, colour), Text(printable(as_options(t.sentence))))
    return grid


def _scores(scores: tuple[Score, ...]) -> Grid:
    from sfumato.assessment.page import headlines
    from sfumato.report.words import interval, number

    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    grid.add_column("", overflow="fold")
    for title in ("value", "interval", "control", "guess"):
        grid.add_column(title, justify="right", no_wrap=True)
    whole = headlines(scores)
    for s in whole[:_SHOWN]:
        references = ["" if v is None else number(v) for v in (s.control, s.baseline)]
        grid.add_row(Text(printable(s.name)), number(s.value), interval(s), *references)
    hidden = len(scores) - len(whole[:_SHOWN])
    if hidden:
        grid.add_row(Text(f"and {hidden} more in the report", "dim"))
    return grid


def gathered(notes: Sequence[str], columns: Sequence[str]) -> list[str]:
    """What is said of several columns alike in one note; how many values of each is in the report."""
    said: dict[str, list[str]] = {}
    for note in notes:
        column, _, words = note.partition(": ")
        if words and column in columns:
            said.setdefault(re.sub(r": [\d,]+$", "", words), []).append(column)
        else:
            said[note] = []
    return [f"{listed(names)}: {words}" if names else words for words, names in said.items()]


def without_details(found: dict[str, Any]) -> dict[str, Any]:
    """For a log: the tables of a report and behind its scores hold cells, and stay in the internal one."""
    scores = [{k: v for k, v in score.items() if k != "details"} for score in found["scores"]]
    return {**{k: v for k, v in found.items() if k not in ("tables", "people")}, "scores": scores}


def map_of(found: Frontier, reports: Sequence[Path]) -> list[Any]:
    """A frontier: its points, best first."""
    from sfumato.report.words import interval, number

    first = found.points[0]
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("#", "front", "method"):
        grid.add_column(title, overflow="fold")
    for title in ("risk", "", "utility", ""):
        grid.add_column(title, justify="right", no_wrap=True)
    for number_, p in enumerate(found.points):
        grid.add_row(
            str(number_), Text("●", "green") if p.front else "", Text(printable(p.label)),
            number(p.risk.value), Text(interval(p.risk), "dim"),
            number(p.utility.value), Text(interval(p.utility), "dim"),
        )  # fmt: skip
    parts: list[Any] = [
        grid,
        "",
        Text(f"risk: {first.risk.name} ({first.risk.better} is better)", "dim"),
        Text(f"utility: {first.utility.name} ({first.utility.better} is better)", "dim"),
    ]
    if reports:
        names = ", ".join(path.name for path in reports)
        parts += ["", Text(f"Map written to {names}. It is internal and must not leave.", "green")]
    return parts
