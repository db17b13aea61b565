"""The risk-utility map: what each method and setting keeps, against what it gives away.

It is internal. Whoever picks a setting because it did well on the confidential file has learnt from
that file, and no epsilon counts it: the guarantee of a release chosen here says so. To choose without
looking, draw the map on a public or simulated stand-in and apply the chosen setting to the real table.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.assessment.frontier.axes import PairDistance, Worse, measure_of
from sfumato.assessment.frontier.cache import Cache
from sfumato.assessment.frontier.grid import FrontierGrid, Measure, Runnable, Trial
from sfumato.assessment.frontier.map import Frontier
from sfumato.assessment.frontier.points import Point, marked, point_of
from sfumato.assessment.reading.files import opened
from sfumato.errors import DataError, ParameterError, listed
from sfumato.release import Release
from sfumato.schema import Role, Schema
from sfumato.seeds import Key
from sfumato.sources import BatchSource, DataLike
from sfumato.table import Table

_FEWEST = 20  # people below which a control says nothing
_HOLDOUT = 0.2
_NO_CONTROL = (
    "The table is too small to set people aside as a control: attacks are held against a plain guess, which "
    "overstates them."
)


def frontier(
    table: Table | Release | DataLike,
    methods: Sequence[Runnable],
    *,
    risk: str | Measure | None = None,
    utility: str | Measure | None = None,
    repeats: int = 3,
    control: Table | Release | DataLike | None = None,
    holdout: float | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    cache: str | Path | None = None,
    workers: int | None = None,
    stand_in: str = "",
    key: Key | None = None,
    remarks: Sequence[str] = (),
) -> Frontier:
    """Run every method `repeats` times and place each on the map of risk and utility.

    table, control: as `scan` takes them. control: people who are not in the table.
    holdout: without a control, the share of people who are set aside to be one; 0 for none. By default a
        fifth, or none where the table is too small for that, which is then said.
    methods: objects with a name and settings that are called as `method(table, key)` and give back a
        Release or a Table; `Candidate(name, function, settings)` makes one of a function.
    risk, utility: the name of a score of `assess`, or a function (original, released, control, key) -> Score.
        An attack by name counts for what it reaches above its control, or else above a plain guess. By
        default the risk is the worst attack: linking by quasi-identifiers, membership by all columns. The
        first sees nothing where people share what is known of them, the second not through generalized cells.
    quasi_identifiers, sensitive: what an intruder may know, and wants; by their roles if not given, [] for
        nothing.
    cache: a folder, internal, in which each result is kept as soon as it is there. A run that was stopped
        or killed goes on from there.
    workers: how many runs go side by side; by default one for each core. It changes no result.
    stand_in: if the table is not the confidential one, what it is ("simulated discharges"): settings that
        are chosen on it have learnt nothing from anybody.
    key: what the runs draw from; a fresh one, or the cache's, by default.
    remarks: what is to be said beside the map.

    Ctrl-C ends the map, not what was found: where at least one release was judged the map of those is given
    back, and says what was not run. With a cache another call goes on from there.
    """
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
    elif holdout is None:
        data, others = _set_aside_if_possible(whole, base)
        remarks = (*remarks, *(() if others is not None else (_NO_CONTROL,)))
    elif holdout:
        data, others = set_aside(whole, holdout, base.derive("frontier", "holdout"))
    grid = FrontierGrid(
        table=data,
        methods=tuple(methods),
        risk=measure_of(Worse() if risk is None else risk, "risk"),
        utility=measure_of(PairDistance() if utility is None else utility, "utility"),
        repeats=repeats,
        control=others,
        key=base,
    )
    runs = grid.run(kept, workers)
    return _drawn(grid, runs, stand_in, whole, remarks)


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


def _known_to(control: object, table: Table) -> Schema | None:
    """A file is read as the table was; a table of the user's own keeps its schema."""
    return None if isinstance(control, Table | Release) else table.schema


def _drawn(
    grid: FrontierGrid, runs: Sequence[Trial], stand_in: str, whole: Table, remarks: Sequence[str]
) -> Frontier:
    """The points of what worked; what did not is told beside them."""
    good = [run for run in runs if not run.trouble]
    if not good:
        shared = {r.trouble for r in runs}
        told = {
            r.trouble if len(shared) == 1 else f"{grid.methods[r.method].name}: {r.trouble}" for r in runs
        }
        reasons = listed(sorted(told), 4)
        raise DataError(
            f"none of {len(runs)} runs gave a release: {reasons}",
            hint="correct what is said there; name quasi_identifiers if none is known",
        )
    points = []
    for number, method in enumerate(grid.methods):
        of_it = [run for run in good if run.method == number]
        if of_it:
            points.append(point_of(method.name, dict(method.settings), number, of_it))
    notes = (*remarks, *_troubles(grid, runs))
    return Frontier(marked(points), tuple(runs), notes, stand_in.strip(), grid, whole)


def _troubles(grid: FrontierGrid, runs: Sequence[Trial]) -> list[str]:
    """Why a method gave no release, or not always: once for all its settings where it is the same."""
    failed: dict[tuple[str, str, int], list[str]] = {}
    for number, method in enumerate(grid.methods):
        of_it = [run for run in runs if run.method == number and run.trouble]
        if of_it:
            at = (method.name, of_it[0].trouble, len(of_it))
            failed.setdefault(at, []).append(Point.label_of(method.name, method.settings))
    notes = []
    for (_, trouble, times), labels in failed.items():
        often = "" if times == grid.repeats else f" ({times} of {grid.repeats} runs)"
        notes.append(f"{'; '.join(labels)}: no release{often}: {trouble}")
    return notes


# -- the control: people set aside who play no part in a release -------------------------------------------


def _set_aside_if_possible(table: Table, base: Key) -> tuple[Table, Table | None]:
    """A fifth of the people set aside; everybody stays where they are too few for it."""
    try:
        return set_aside(table, _HOLDOUT, base.derive("frontier", "holdout"))
    except DataError:
        return table, None


def set_aside(table: Table, share: float, key: Key) -> tuple[Table, Table]:
    """The table without a random share of its people, and those. All rows of a person are on one side."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
        raise ParameterError("holdout lies between 0 and 1.", hint="holdout=0.2, or 0 for none")
    persons = table.schema.of_role(Role.PERSON)
    draw = key.generator("holdout")
    if persons:
        coded = table.encode(persons[:1])
        aside = (draw.random(coded.books[0].size) < share)[coded.codes[0]]
    else:
        aside = draw.random(table.rows()) < share
    if min(int(aside.sum()), int((~aside).sum())) < _FEWEST:
        raise DataError(
            f"{len(aside):,} rows are too few to set people aside as a control.",
            hint="give a control, or holdout=0 for none",
        )
    return _rows(table, ~aside), _rows(table, aside)


def _rows(table: Table, kept: NDArray[np.bool_]) -> Table:
    """The chosen rows, picked batch by batch as they are read."""
    source = table.source
    if not isinstance(source, BatchSource):  # an engine promises no order of rows: take them once
        return Table.from_arrow(table.to_arrow().filter(pa.array(kept)), table.schema)

    def open_(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        at = 0
        for batch in source.batches(columns):
            yield batch.filter(pa.array(kept[at : at + batch.num_rows]))
            at += batch.num_rows

    part = replace(source, open=open_, rows=int(kept.sum()), origin=None)
    return table.with_source(part)
