"""The risk-utility map as a page, as text, and as a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.assessment.frontier import Frontier
    from sfumato.assessment.frontier.points import Point
    from sfumato.report import Figure, Page

_OUTSIDE = (
    "This map is internal. Settings that are chosen because they did well on the confidential table have "
    "learnt from it, and no epsilon counts that: a release chosen here lists the choice as an assumption."
)
_INSTEAD = "To choose without looking, draw the map on a public or simulated table first."


def save(found: Frontier, path: Path, overwrite: bool) -> Path:
    """Write the map as what the suffix says."""
    from sfumato.io import write
    from sfumato.io.atomic import owner_only, write_text

    suffix = path.suffix.lower()
    if suffix == ".parquet":
        write(found.to_arrow(), path, overwrite=overwrite)
        owner_only(path)
        return path
    if suffix == ".json":
        text = json.dumps(found.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        return write_text(path, text, overwrite=overwrite, private=True)
    if suffix not in (".html", ".md"):
        raise ParameterError(
            "a map is written as .html, .md, .json or .parquet.", hint="frontier.html, frontier.parquet"
        )
    return page_of(found).save(path, overwrite=overwrite)


def figure_of(found: Frontier) -> Figure:
    """The picture: intervals as thin lines, the front joined, the settings where one points."""
    from sfumato.report.figures import MapPoint, frontier

    first = found.points[0]
    points = [
        MapPoint(
            p.name,
            p.risk.value,
            p.utility.value,
            _interval(p, "risk"),
            _interval(p, "utility"),
            dict(p.settings),
        )
        for p in found.points
    ]
    better: Literal["higher", "lower"] = "lower" if first.utility.better == "lower" else "higher"
    return frontier(points, risk=first.risk.name, utility=first.utility.name, utility_better=better)


def _interval(point: Point, which: str) -> tuple[float, float] | None:
    score = point.risk if which == "risk" else point.utility
    return None if score.low is None or score.high is None else (score.low, score.high)


def page_of(found: Frontier) -> Page:
    """The map with what its axes mean, the front, and what did not work."""
    import sfumato
    from sfumato.report import Block, DataTable, Page, Section

    first = found.points[0]
    drawn_on = (
        f"It was drawn on a stand-in ({found.stand_in}), so choosing on it learns nothing of the real table."
        if found.stand_in
        else f"{_OUTSIDE} {_INSTEAD}"
    )
    axes = [
        ("risk", first.risk.name, _shared([p.risk.meaning for p in found.points])),
        ("utility", first.utility.name, _shared([p.utility.meaning for p in found.points])),
    ]
    front = [(p.label, *_shown(p), "; ".join(p.promises) or "nothing") for p in found.front]
    blocks: list[Block] = [
        figure_of(found),
        DataTable(
            ("method and settings", "risk", "utility", "promises"),
            front,
            "The front: no other is better on both",
        ),
        DataTable(("axis", "score", "what it means"), axes, "The axes"),
    ]
    if found.notes:
        blocks.append(DataTable(("note",), [(n,) for n in found.notes], "What did not work"))
    repeats = max(p.repeats for p in found.points)
    stamp = (
        f"{len(found.points)} settings, {repeats} run{'s' * (repeats > 1)} each; intervals tell how much "
        f"the draws of a method differ; sfumato {sfumato.__version__}."
    )
    return Page("Risk and utility", stamp, [Section("The map", drawn_on, blocks)])


def _shared(meanings: Sequence[str]) -> str:
    """What a score means for all points: numbers of a single release are left out."""
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*meanings, strict=False))
    start = "".join(letters[0] for letters in alike)
    if start == meanings[0]:
        return start
    return start[: max(start.rfind(mark) for mark in (", ", "; ", ". "))] + "."


def _shown(point: Point) -> tuple[str, str]:
    from sfumato.report.words import interval, number

    def one(score: object) -> str:
        from sfumato.score import Score

        assert isinstance(score, Score)
        return number(score.value) + (f" ({interval(score)})" if interval(score) else "")

    return one(point.risk), one(point.utility)


def as_text(found: Frontier) -> str:
    """A line for each point; those on the front are starred."""
    first = found.points[0]
    lines = [f"INTERNAL. Risk: {first.risk.name}. Utility: {first.utility.name}."]
    for number, point in enumerate(found.points):
        risk, utility = _shown(point)
        lines.append(
            f"{'*' if point.front else ' '} {number:>3}  risk {risk}  utility {utility}  {point.label}"
        )
    return "\n".join([*lines, *found.notes])


def as_html(found: Frontier) -> str:
    """A table for notebooks."""
    from html import escape

    rows = "".join(
        f"<tr><td>{n}</td><td>{'●' if p.front else ''}</td><td>{escape(p.label)}</td>"
        + "".join(f"<td>{escape(v)}</td>" for v in _shown(p))
        + "</tr>"
        for n, p in enumerate(found.points)
    )
    head = "<tr><th>#</th><th>front</th><th>method</th><th>risk</th><th>utility</th></tr>"
    return f"<p><b>INTERNAL</b></p><table>{head}{rows}</table>"
