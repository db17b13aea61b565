"""What a setting would make of the rows: released as the plan would, compared row by row, and thrown away.

Leaves `rows.parquet` in the task's folder: some rows before and after, and for each cell how many of its
class have the same value. A number is written beside each row before the release is made, which finds it
again afterwards; it takes no part in any search. Methods that invent rows have no row to compare: some of
each are shown side by side. As sensitive as the data, readable by its owner alone; nothing of it leaves.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sfumato.methods.declaration import Does
from sfumato.plan import Plan
from sfumato.plan.checks import hierarchies, led
from sfumato.plan.preparation import open_input, trimmed
from sfumato.plan.production import Surroundings, produce
from sfumato.plan.step import Step
from sfumato.progress import report
from sfumato.release import Release
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.studio.tasks.order import Order
from sfumato.table import Table

ROWS = "rows.parquet"
BEFORE, AFTER, ALIKE, SIZE = "before.", "after.", "alike.", "size"
_SHOWN = 1_000  # rows that are kept to look at
_CLASSES = 200
_LABEL = "preview of the release"


def preview(order: Order) -> Mapping[str, object]:
    """Make the release of one step, and keep what a person looks at."""
    report(_LABEL, 0, 3)
    plan = Plan.read(order.folder / "plan.toml")
    step = Step(str(order.given["method"]), dict(order.given["settings"]))
    table = trimmed(plan, open_input(plan).table)
    table = Table.from_arrow(table.to_arrow(), table.schema)
    report(_LABEL, 1, 3)
    follows = step.declaration.does is Does.GENERALIZE
    number = free_name(table)
    release = made_by(plan, step, numbered(table, number) if follows else table)
    report(_LABEL, 2, 3)
    known = [n for n in known_by(step, table) if n in release.data.schema]
    found = _found(release, step, known, table)
    rows = (
        _side_by_side(table, release, known, number, led(plan)) if follows else _beside(table, release.data)
    )
    pq.write_table(rows, order.place / ROWS)
    os.chmod(order.place / ROWS, 0o600)
    report(_LABEL, 3, 3)
    return {**found, "follows": follows, "shown": rows.num_rows}


def made_by(plan: Plan, step: Step, table: Table) -> Release:
    """What a step makes of a table, with what the plan says around it; nothing is debited or kept."""
    if step.needs_rows:
        step = Step(step.method, {**step.settings, "rows": table.rows()})
    if step.declaration.does is Does.SYNTHESIZE and "columns" not in step.settings:
        table = table.select([c.name for c in table.schema if c.kind not in (Kind.CODES, Kind.TEXT)])
    entries = {n: plan.table("columns").get(n, {}) for n in known_by(step, table)}
    around = Surroundings(
        hierarchies={n: h for n, h in hierarchies(plan).items() if n in table.schema},
        folder=plan.folder,
        keep_text=bool(plan.table("prepare").get("keep_text", False)),
        weights={n: e["weight"] for n, e in entries.items() if "weight" in e},
        max_level={n: e["max_level"] for n, e in entries.items() if "max_level" in e},
    )
    return produce(step, table, around)


def known_by(step: Step, table: Table) -> Sequence[str]:
    """What an intruder may know."""
    return step.settings.get("quasi_identifiers") or table.schema.of_role(Role.QUASI_IDENTIFIER)


def free_name(table: Table) -> str:
    """A name for the number of a row that no column has."""
    name = "row number"
    while name in table.schema:
        name += "_"
    return name


def numbered(table: Table, name: str) -> Table:
    """The table with a number for each row, which no method looks at."""
    column = Column(name, kind=Kind.NUMERIC, role=Role.OTHER, type="integer")
    rows = table.to_arrow().append_column(name, pa.array(np.arange(table.rows()), pa.int64()))
    return Table.from_arrow(rows, Schema((*table.schema, column)))


def _found(release: Release, step: Step, known: Sequence[str], table: Table) -> dict[str, Any]:
    """Numbers for the page: what was lost where, how many rows are gone, the classes."""
    extra = {} if release.internal is None else dict(release.internal.extra)
    tables = {} if release.internal is None else release.internal.tables
    classes: dict[str, Any] = {}
    if "classes" in tables and release.internal is not None:
        sizes = tables["classes"].columns[-1].to_numpy(zero_copy_only=False)
        order = np.argsort(sizes, kind="stable")[:_CLASSES]
        names = list(tables["classes"].column_names[:-1])
        lines = tables["classes"].take(pa.array(order)).to_pylist()
        classes = {
            "names": names,
            "n": len(sizes),
            "smallest": int(sizes.min(initial=0)) if len(sizes) else 0,
            "middle": float(np.median(sizes)) if len(sizes) else 0.0,
            "lines": [[*(str(line[n]) for n in names), int(list(line.values())[-1])] for line in lines],
        }
    return {
        "method": step.method,
        "settings": {k: str(v) for k, v in step.settings.items()},
        "k": step.settings.get("k"),
        "known": list(known),
        "rows": dict(extra.get("rows", {"read": table.rows()})),
        "released": release.data.rows(),
        "loss": extra.get("loss"),
        "explanation": extra.get("explanation"),
        "claims": [claim.title for claim in release.guarantee],
        "classes": classes,
    }


def _side_by_side(
    table: Table, release: Release, known: Sequence[str], number: str, leads: Mapping[str, str]
) -> pa.Table:
    """Some rows before and after; for each changed cell how many of its class share the value it had."""
    after = release.data.to_arrow()
    at = after.column(number).to_numpy(zero_copy_only=False).astype(np.int64)
    label, sizes = _classes(after, known)
    draw = Key.fresh().generator("preview")  # which rows are looked at: nothing is released
    chosen = np.sort(draw.permutation(table.rows())[:_SHOWN])
    where = np.full(table.rows(), -1, np.int64)
    where[at] = np.arange(len(at))
    columns = [n for n in release.data.columns if n != number]
    before = table.select(columns).to_arrow()
    place = where[chosen]
    found = pa.array(np.where(place < 0, 0, place), mask=place < 0)
    parts: dict[str, Any] = {SIZE: np.where(place < 0, 0, sizes[label[np.maximum(place, 0)]])}
    for name in columns:
        parts[BEFORE + name] = shown_texts(before.column(name).take(pa.array(chosen)))
        parts[AFTER + name] = shown_texts(after.column(name).take(found))
    for name in columns:
        if name in known or name in leads:  # by the values themselves: codes of a number may be bins
            parts[ALIKE + name] = _alike(label, _codes(before, name)[at], place)
    return pa.table(parts)


def _classes(after: pa.Table, known: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The class of each released row, and how many rows each class has."""
    label = np.zeros(after.num_rows, np.int64)
    for name in known:
        codes = _codes(after, name)
        label = label * (int(codes.max(initial=0)) + 1) + codes
        label = np.unique(label, return_inverse=True)[1].astype(np.int64)
    return label, np.bincount(label)


def _codes(rows: pa.Table, name: str) -> NDArray[np.int64]:
    """A number for each value of a column; 0 for missing."""
    found = rows.column(name).combine_chunks().dictionary_encode().indices.fill_null(-1)
    codes: NDArray[np.int64] = found.to_numpy(zero_copy_only=False).astype(np.int64) + 1
    return codes


def _alike(label: NDArray[np.int64], codes: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
    """For rows at these places, how many rows of their class had the same value; 0 for rows left out."""
    pairs = label * (int(codes.max(initial=0)) + 1) + codes
    _, back, n = np.unique(pairs, return_inverse=True, return_counts=True)
    return np.where(place < 0, 0, n[back[np.maximum(place, 0)]]) if len(pairs) else np.zeros(len(place), int)


def _beside(table: Table, released: Table) -> pa.Table:
    """Rows of both that have nothing to do with each other."""
    columns = [n for n in released.columns if n in table.schema]
    before, after = table.select(columns).to_arrow(), released.select(columns).to_arrow()
    n = min(before.num_rows, after.num_rows, _SHOWN)
    draw = Key.fresh().generator("preview")
    mine = before.take(pa.array(np.sort(draw.permutation(before.num_rows)[:n])))
    parts: dict[str, Any] = {SIZE: np.zeros(n, np.int64)}
    for name in columns:
        parts[BEFORE + name], parts[AFTER + name] = (
            shown_texts(mine.column(name)),
            shown_texts(after.column(name)[:n]),
        )
    return pa.table(parts)


def shown_texts(values: pa.ChunkedArray) -> pa.Array:
    """As the page shows them; missing stays missing."""
    return pa.array([None if v is None else str(v) for v in values.to_pylist()], pa.string())
