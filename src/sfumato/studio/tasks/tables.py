"""The tables of a plan as a run would make them, cell by cell, with why each is withheld; nothing is kept.

Leaves a file for each table in the task's folder: labels, the true number of people, what a reader would see,
and why. As sensitive as the data, readable by its owner alone. Nothing is debited.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.cells.layout import read_layouts
from sfumato.plan import Plan, Step
from sfumato.plan.preparation import open_input, trimmed
from sfumato.plan.tables import is_tables, judged_tables, tabulated
from sfumato.progress import report
from sfumato.release import Release
from sfumato.studio.tasks.order import Order

PEOPLE, SHOWN, WHY, LABEL = "people", "shown", "why", "label."
_COUNT = "count"
_LABEL_OF_WORK = "tables to publish"


def cells_file(number: int) -> str:
    """Where the cells of a table lie in the task's folder."""
    return f"cells-{number}.parquet"


def tables(order: Order) -> Mapping[str, object]:
    """Count every table of the plan, and withhold as a run would."""
    plan = Plan.read(order.folder / "plan.toml")
    wanted = [s for s in plan.steps if is_tables(s)]
    report(_LABEL_OF_WORK, 0, len(wanted) + 1)
    table = trimmed(plan, open_input(plan).table)
    report(_LABEL_OF_WORK, 1, len(wanted) + 1)
    made: list[Release] = []
    found = []
    for number, step in enumerate(wanted):
        beside = made if step.method == "suppress" else ()
        release = tabulated(step, table, order.folder, key=None, ledger=None, beside=beside)
        made.append(release)
        found.append(_kept(order, number, step, release))
        report(_LABEL_OF_WORK, number + 2, len(wanted) + 1)
    return {"tables": found}


def _kept(order: Order, number: int, step: Step, release: Release) -> dict[str, Any]:
    """The cells on disk, and what is said of the whole."""
    columns = list(dict.fromkeys(n for x in read_layouts(step.settings["by"]) for n in x.columns))
    data = release.data.to_arrow()
    internal = {} if release.internal is None else release.internal.tables
    cells = internal.get("cells")
    parts: dict[str, Any] = {f"{LABEL}{n}": _texts(data[n].to_pylist()) for n in columns}
    parts[SHOWN] = _texts(data[_COUNT].to_pylist())
    if cells is not None and cells.num_rows != data.num_rows:
        cells = None
    parts[PEOPLE] = pa.nulls(data.num_rows, pa.int64()) if cells is None else cells["people"]
    known = cells is not None and "why" in cells.column_names
    why = cells["why"].to_pylist() if cells is not None and known else [""] * data.num_rows
    parts[WHY] = pa.array(why, pa.string())
    path = order.place / cells_file(number)
    pq.write_table(pa.table(parts), path)
    os.chmod(path, 0o600)
    judged = judged_tables(step, release)
    return {
        "name": step.name,
        "method": step.method,
        "by": list(step.settings["by"]),
        "minimum": step.request(order.folder).minimum,
        "columns": columns,
        "cells": data.num_rows,
        "reasons": {reason: why.count(reason) for reason in sorted(set(why)) if reason},
        "sentence": judged.sentence,
        "met": judged.met,
        "claims": [claim.title for claim in release.guarantee],
    }


def _texts(values: Sequence[object]) -> pa.Array:
    return pa.array([None if v is None else str(v) for v in values], pa.string())
