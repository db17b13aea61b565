"""The risk-utility map: what each method and setting keeps, against what it gives away.

It is internal. Whoever picks a setting because it did well on the confidential file has learnt from
that file, and no epsilon counts it: the guarantee of a release chosen here says so. To choose without
looking, draw the map on a public or simulated stand-in and apply the chosen setting to the real table.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.assessment.frontier.cache import Cache
from sfumato.assessment.frontier.grid import Candidate, FrontierGrid, Measure, Runnable, Trial, plain_settings
from sfumato.assessment.frontier.holdout import split
from sfumato.assessment.frontier.points import Point, marked, point_of
from sfumato.errors import DataError, ParameterError, listed
from sfumato.privacy import Guarantee, NoGuarantee
from sfumato.release import Release
from sfumato.schema import Role, Schema
from sfumato.seeds import Key
from sfumato.table import Table

__all__ = ["Candidate", "Frontier", "Point", "frontier"]

CHOSEN_ON_THE_DATA = (
    "The method and its settings were chosen by looking at how they did on the confidential file itself; "
    "what that choice gives away is not counted here."
)
NO_CLAIM = "The method gave back a plain table and promised nothing."


def frontier(
    table: Any,
    methods: Sequence[Runnable],
    *,
    risk: str | Measure | None = None,
    utility: str | Measure | None = None,
    repeats: int = 3,
    control: Any = None,
    holdout: float = 0.2,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    cache: str | Path | None = None,
    workers: int | None = None,
    stand_in: str = "",
    key: Key | None = None,
) -> Frontier:
    """Run every method `repeats` times and place each on the map of risk and utility.

    table, control: as `scan` takes them. control: people who are not in the table.
    holdout: without a control, the share of people who are set aside to be one; 0 for none.
    methods: objects with a name and settings that are called as `method(table, key)` and give back a
        Release or a Table; `Candidate(name, function, settings)` makes one of a function.
    risk, utility: the name of a score of `assess`, or a function (original, released, control, key) -> Score.
        An attack by name counts for what it reaches above its control, or else above a plain guess. By
        default the risk is the worse of linking by the quasi-identifiers and membership by all columns: the
        first sees nothing where people share what is known of them, the second not through generalized cells.
    quasi_identifiers, sensitive: what an intruder may know, and wants; by their roles if not given, [] for
        nothing.
    cache: a folder, internal, in which each result is kept as soon as it is there. A run that was stopped
        or killed goes on from there.
    workers: how many runs go side by side; by default one for each core. It changes no result.
    stand_in: if the table is not the confidential one, what it is ("simulated discharges"): settings that
        are chosen on it have learnt nothing from anybody.
    key: what the runs draw from; a fresh one, or the cache's, by default.
    """
    from sfumato.assessment.frontier.axes import DEFAULT_UTILITY, Worse, measure_of
    from sfumato.assessment.reading.files import opened

    if workers is None:
        workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise ParameterError("workers must be a whole number from 1 up.", hint="leave it out")
    kept = None if cache is None else Cache.open(cache)
    base = key or (kept.key.derive("frontier", "base") if kept else Key.fresh())
    whole = _with_roles(opened(table, "the table"), quasi_identifiers, sensitive)
    data, others = whole, None
    if control is not None:
        others = opened(control, "the control", schema=_known_to(control, whole))
    elif holdout:
        data, others = split(whole, holdout, base.derive("frontier", "holdout"))
    grid = FrontierGrid(
        table=data,
        methods=tuple(methods),
        risk=measure_of(Worse() if risk is None else risk, "risk"),
        utility=measure_of(DEFAULT_UTILITY if utility is None else utility, "utility"),
        repeats=repeats,
        control=others,
        key=base,
    )
    runs = grid.run(kept, workers)
    return _drawn(grid, runs, stand_in, whole)


def _with_roles(table: Table, known: Sequence[str] | None, wanted: Sequence[str] | None) -> Table:
    """The table with the roles that were asked for instead of those of its schema."""
    schema = table.schema
    schema.require([*(known or ()), *(wanted or ())])
    for role, names in ((Role.SENSITIVE, wanted), (Role.QUASI_IDENTIFIER, known)):
        if names is None:
            continue
        for name in schema.of_role(role):
            schema = schema.with_(name, role=Role.OTHER)
        for name in names:
            schema = schema.with_(name, role=role)
    return table if schema is table.schema else table.with_schema(schema)


def _known_to(control: Any, table: Table) -> Schema | None:
    """A file is read as the table was; a table of the user's own keeps its schema."""
    return None if isinstance(control, Table | Release) else table.schema


def _drawn(grid: FrontierGrid, runs: Sequence[Trial], stand_in: str, whole: Table) -> Frontier:
    """The points of what worked; what did not is told beside them."""
    good = [run for run in runs if not run.trouble]
    if not good:
        reasons = listed(sorted({f"{grid.methods[r.method].name}: {r.trouble}" for r in runs}), 4)
        raise DataError(
            f"none of {len(runs)} runs gave a release: {reasons}",
            hint="correct what is said there; name quasi_identifiers if none is known",
        )
    points = []
    for number, method in enumerate(grid.methods):
        of_it = [run for run in good if run.method == number]
        if of_it:
            points.append(point_of(method.name, dict(method.settings), number, of_it))
    notes = []
    for number, method in enumerate(grid.methods):
        failed = [run for run in runs if run.method == number and run.trouble]
        if failed:
            label = Point.label_of(method.name, method.settings)
            notes.append(f"{label}: {len(failed)} of {grid.repeats} runs gave nothing: {failed[0].trouble}")
    return Frontier(marked(points), tuple(runs), tuple(notes), stand_in.strip(), grid, whole)


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

    # -- choosing --------------------------------------------------------------------------------

    def choose(self, point: int | Point, table: Any = None, *, key: Key | None = None) -> Release:
        """A new release by the method and settings of a point, with its guarantee.

        It is drawn anew, from a key of its own and of the whole table: the runs behind the map were judged
        against the original, and to publish the best of them would be one more choice that nothing counts.
        The choice of the settings becomes an assumption of every claim, unless the map was drawn on a
        stand-in; then `table` is the confidential table the settings are applied to.
        """
        from sfumato.assessment.reading.files import opened

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

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the map by suffix: .html, .md, .json, or .parquet with one row for each run. Internal."""
        from sfumato.assessment.frontier.map_page import save

        return save(self, Path(path), overwrite)

    def __str__(self) -> str:
        from sfumato.assessment.frontier.map_page import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from sfumato.assessment.frontier.map_page import as_html

        return as_html(self)


_ROWS = pa.schema(
    [
        ("method", pa.string()), ("settings", pa.string()), ("repeat", pa.int64()), ("risk", pa.float64()),
        ("utility", pa.float64()), ("front", pa.bool_()), ("promises", pa.string()),
        ("seconds", pa.float64()), ("trouble", pa.string()),
    ]
)  # fmt: skip
