"""The risk-utility map as a value: its points, what is chosen from it, its page, text and file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from sfumato.assessment.frontier.grid import STOPPED, FrontierGrid, Trial, plain_settings
from sfumato.assessment.frontier.points import Point
from sfumato.assessment.reading.files import opened
from sfumato.errors import DataError, ParameterError
from sfumato.privacy import Guarantee, NoGuarantee
from sfumato.release import Release
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.report import Figure, Page
    from sfumato.sources import DataLike

CHOSEN_ON_THE_DATA = (
    "The method and its settings were chosen by looking at how they did on the confidential file itself; "
    "what that choice gives away is not counted here."
)
NO_CLAIM = "The method gave back a plain table and promised nothing."
_OUTSIDE = (
    "This map is internal. Settings that are chosen because they did well on the confidential table have "
    "learnt from it, and no epsilon counts that: a release chosen here lists the choice as an assumption."
)
_INSTEAD = "To choose without looking, draw the map on a public or simulated table first."
_ROWS = pa.schema(
    [
        ("method", pa.string()), ("settings", pa.string()), ("repeat", pa.int64()), ("risk", pa.float64()),
        ("utility", pa.float64()), ("front", pa.bool_()), ("promises", pa.string()),
        ("seconds", pa.float64()), ("trouble", pa.string()),
    ]
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Frontier:
    """The map: a point for each method and setting, those on the Pareto front marked.

    points: in the order of the methods. runs: every single run behind them.
    notes: what did not work. stand_in: what the map was drawn on, if not the confidential table.
    """

    points: tuple[Point, ...]
    runs: tuple[Trial, ...]
    notes: tuple[str, ...]
    stand_in: str
    _grid: FrontierGrid = field(repr=False)
    _whole: Table = field(repr=False)  # with those who were set aside

    @property
    def front(self) -> tuple[Point, ...]:
        """The points that no other beats on both counts, from the least risk on."""
        best = [p for p in self.points if p.front]
        return tuple(sorted(best, key=lambda p: p.risk.value))

    @property
    def stopped(self) -> bool:
        """Whether it was stopped before everything was run."""
        return any(run.trouble == STOPPED for run in self.runs)

    # -- choosing --------------------------------------------------------------------------------

    def choose(
        self, point: int | Point, table: Table | Release | DataLike | None = None, *, key: Key | None = None
    ) -> Release:
        """A new release by the method and settings of a point, with its guarantee.

        It is drawn anew, from a key of its own and of the whole table: the runs behind the map were judged
        against the original, and to publish the best of them would be one more choice that nothing counts.
        The choice of the settings becomes an assumption of every claim, unless the map was drawn on a
        stand-in; then `table` is the confidential table the settings are applied to.
        """
        chosen = self._point(point)
        if self.stand_in and table is None:
            raise ParameterError(
                f"the map was drawn on a stand-in ({self.stand_in}).",
                hint="choose(i, table=...) applies the settings to the real table",
            )
        if table is not None and not self.stand_in:
            raise ParameterError(
                "another table is for a map that was drawn on a stand-in.",
                hint="frontier(..., stand_in='...')",
            )
        data = self._whole if table is None else opened(table, "the table")
        method = self._grid.methods[chosen.method]
        # A seeded map gives a seeded release, for tests and teaching; otherwise nobody can draw it again.
        own = key or (
            self._grid.key.derive("chosen", method.name, plain_settings(method))
            if self._grid.key.seeded
            else Key.fresh()
        )
        made = method(data, own)
        if not isinstance(made, Release | Table):
            raise DataError(
                f"{chosen.label} gave back a {type(made).__name__}, not a release.",
                hint="it gave a release when the map was drawn; see the method",
            )
        if isinstance(made, Table):
            made = Release(made, Guarantee.of(NoGuarantee("none claimed", NO_CLAIM)))
        if self.stand_in:
            return made
        claims = tuple(c.assuming(CHOSEN_ON_THE_DATA) for c in made.guarantee)
        return replace(made, guarantee=Guarantee(claims))

    def _point(self, point: int | Point) -> Point:
        if isinstance(point, Point):
            return point
        if isinstance(point, bool) or not isinstance(point, int) or not 0 <= point < len(self.points):
            raise ParameterError(
                f"there is no point {point!r}; there are {len(self.points)}, counted from 0.",
                hint="frontier.front has the points no other beats",
            )
        return self.points[point]

    # -- out -------------------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """One row for each run: method, settings as JSON, repeat, risk and utility, seconds, trouble."""
        methods = self._grid.methods
        front = {p.method for p in self.points if p.front}
        rows = [
            {
                "method": methods[run.method].name,
                "settings": plain_settings(methods[run.method]),
                "repeat": run.repeat,
                "risk": None if run.risk is None else run.risk.value,
                "utility": None if run.utility is None else run.utility.value,
                "front": run.method in front,
                "promises": "; ".join(run.promises),
                "seconds": run.seconds,
                "trouble": run.trouble,
            }
            for run in self.runs
        ]
        return pa.Table.from_pylist(rows, _ROWS)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        first = self.points[0]
        return {
            "sfumato_frontier": 1,
            "internal": True,
            "risk": {"name": first.risk.name, "better": first.risk.better, "meaning": first.risk.meaning},
            "utility": {
                "name": first.utility.name,
                "better": first.utility.better,
                "meaning": first.utility.meaning,
            },
            "stand_in": self.stand_in,
            "points": [p.to_dict() for p in self.points],
            "notes": list(self.notes),
        }

    def save(self, path: str | Path, *, overwrite: bool = False, language: str | None = None) -> Path:
        """Write the map by suffix: .html, .md, .json, or .parquet with one row for each run. Internal.

        language: of the page: "en", "de".
        """
        return _save(self, Path(path), overwrite, language)

    def __str__(self) -> str:
        return _as_text(self)

    def _repr_html_(self) -> str:
        return _as_html(self)


# -- as a page, as text, as a file --------------------------------------------------------------------


def _save(found: Frontier, path: Path, overwrite: bool, language: str | None) -> Path:
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
    return _page(found).save(path, overwrite=overwrite, language=language)


def _figure(found: Frontier) -> Figure:
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


def _page(found: Frontier) -> Page:
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
    off = [(p.label, *_shown(p), "; ".join(p.promises) or "nothing") for p in found.points if not p.front]
    titles, words = ("method and settings", "risk", "utility", "promises"), (1, 2, 3)
    blocks: list[Block] = [
        _figure(found),
        DataTable(titles, front, "The front: no other is better on both", words=words),
    ]
    if off:
        blocks.append(DataTable(titles, off, "The others", words=words))
    blocks.append(DataTable(("axis", "score", "what it means"), axes, "The axes", words=(0, 1, 2)))
    if found.notes:
        blocks.append(DataTable(("note",), [(n,) for n in found.notes], "To know beside the map", words=(0,)))
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

    def one(score: Score) -> str:
        return number(score.value) + (f" ({interval(score)})" if interval(score) else "")

    return one(point.risk), one(point.utility)


def _as_text(found: Frontier) -> str:
    """A line for each point; those on the front are starred."""
    first = found.points[0]
    lines = [f"INTERNAL. Risk: {first.risk.name}. Utility: {first.utility.name}."]
    for number, point in enumerate(found.points):
        risk, utility = _shown(point)
        lines.append(
            f"{'*' if point.front else ' '} {number:>3}  risk {risk}  utility {utility}  {point.label}"
        )
    return "\n".join([*lines, *found.notes])


def _as_html(found: Frontier) -> str:
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
