"""Look at the data once: propose a plan where there is none, and count what the screens show.

Leaves files in the task's folder: `look.json` (columns and their counts), `codes.npy` (each column of the
data as small numbers, a row each, so that any combination can be counted at once), `levels.arrow` (what these
numbers stand for), and, where a plan was proposed, its two texts. They are as sensitive as the data, readable
by their owner alone.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa

from sfumato.counts import Codebook, Counts
from sfumato.description.one_way import gaps, one_way, open_table
from sfumato.description.profile import alone, entropy
from sfumato.errors import DataError
from sfumato.io import scan
from sfumato.io.addresses import is_url, require_consent
from sfumato.io.atomic import write_text
from sfumato.plan.proposal import propose
from sfumato.plan.proposed_hierarchies import Values, proposed
from sfumato.progress import report
from sfumato.schema import Column, Kind, Role
from sfumato.sources import EngineSource
from sfumato.studio.tasks.order import Order
from sfumato.table import Table

LOOK, CODES, LEVELS = "look.json", "codes.npy", "levels.arrow"
READING = ("separator", "decimal", "encoding", "dates", "missing", "header", "units", "table", "sheet",
           "memory_limit")  # fmt: skip
_BARS, _LEVELS, _NAME = 24, 12, 40
_FEW = 24  # values of a number that are shown one by one
MOST_VALUES = 50_000  # from which on no hierarchy is looked for, nor shown
_MOST_CELLS = 400_000_000  # codes that are kept for counting
_LABEL = "looking at the data"


def look(order: Order) -> Mapping[str, object]:
    """Propose if nothing is there yet, then count."""
    data, options = str(order.given["data"]), dict(order.given.get("options", {}))
    found: dict[str, object] = {"proposed": bool(order.given.get("propose"))}
    report(_LABEL, 0, 4)
    require_consent(data, "the data of the plan")
    mark = mark_of(data, options)  # before it is read: what is changed meanwhile is another file
    table = scan(data, keep_text=True, **options)
    found["reading"] = getattr(table.source.origin, "reading", "")
    table = _in_memory(table)
    report(_LABEL, 1, 4)
    if order.given.get("propose"):
        who = str(order.given["recipient"])
        made = propose(data, folder=order.folder, recipient=who, scanned=table, **options)
        write_text(order.place / "plan.toml", made.plan, private=True, overwrite=True)
        write_text(order.place / "schema.toml", made.schema, private=True, overwrite=True)
        found["variables"] = list(made.variables)
    report(_LABEL, 2, 4)
    open_ = open_table(table)
    counted, refused = one_way(open_)
    rows = table.rows()
    columns = [
        _column(table.schema[n], counted[n], rows) if n in counted else _unreadable(table.schema[n])
        for n in table.columns
    ]
    report(_LABEL, 3, 4)
    coded = _codes(open_, [n for n in table.columns if n in counted and n not in refused], rows, order.place)
    if mark_of(data, options) != mark:
        raise DataError(
            "the file was changed while it was being looked at.", hint="open it again when it is finished"
        )
    whole = {"rows": rows, "columns": columns, "coded": coded, "mark": mark, **found}
    write_text(order.place / LOOK, json.dumps(whole, default=str), private=True, overwrite=True)
    report(_LABEL, 4, 4)
    return {"rows": rows, "columns": len(columns), **found}


def mark_of(data: str, options: Mapping[str, Any]) -> str:
    """By what one sees that a file, or how it is read, is another one now."""
    path = database_file(data)
    if is_url(data) and path is None:
        return json.dumps([data, options], default=str)
    try:
        said = os.stat(path or data)
    except OSError:
        raise DataError(
            f"{Path(data).name} is not there any more.", hint="put it back, or open another"
        ) from None
    return json.dumps([said.st_size, said.st_mtime_ns, options], default=str)


def database_file(address: str) -> str | None:
    """The file of a database that lies in one; None for any other address."""
    parts = urlsplit(address) if is_url(address) else None
    if parts is None or parts.scheme.lower() not in ("sqlite", "duckdb"):
        return None
    return unquote(parts.path.removeprefix("/"))


def _in_memory(table: Table) -> Table:
    """The rows read once, if they fit; what is larger is read again for every count."""
    if isinstance(table.source, EngineSource) or table.rows() * len(table.columns) > _MOST_CELLS:
        return table
    rows, origin = table.to_arrow(), table.source.origin
    kept = Table.from_arrow(rows, table.schema)
    return replace(kept, source=replace(kept.source, origin=origin))


def _codes(table: Table, names: Sequence[str], rows: int, place: Path) -> list[str]:
    """The codes on disk; the names of the columns they are of. None for data that is too large."""
    wanted = [n for n in names if table.schema[n].kind is not Kind.TEXT]
    if rows * len(wanted) > _MOST_CELLS or not wanted:
        return []
    with (place / CODES).open("wb") as file:
        os.chmod(place / CODES, 0o600)
        coded = table.encode(wanted)
        np.save(file, np.ascontiguousarray(coded.codes))
    _levels(coded.books, place)
    return wanted


def _levels(books: Sequence[Codebook], place: Path) -> None:
    """What the codes stand for: a table of one row, each of its cells a list."""
    arrays = [_listed(b.levels if len(b.levels) <= MOST_VALUES else b.levels[:0]) for b in books]
    whole = pa.Table.from_arrays(arrays, names=[b.name for b in books])
    with (place / LEVELS).open("wb") as file:
        os.chmod(place / LEVELS, 0o600)
        with pa.ipc.new_file(file, whole.schema) as writer:
            writer.write_table(whole)


def _listed(levels: pa.Array) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array([0, len(levels)], pa.int64()), levels)


# -- columns -------------------------------------------------------------------------------------------


def _unreadable(column: Column) -> dict[str, object]:
    return {"name": column.name, "type": column.type, "kind": str(column.kind), "unreadable": True}


def _column(column: Column, counts: Counts, rows: int) -> dict[str, object]:
    levels = counts.codebooks[0].levels.to_pylist()
    n = np.zeros(len(levels), np.int64)
    inside = counts.codes[:, 0] < len(levels)
    n[counts.codes[inside, 0]] = counts.n[inside]
    bits = entropy(counts.n)
    hierarchy, why = _hierarchy(column, levels, n)
    return {
        "name": column.name,
        "type": column.type,
        "kind": str(column.kind),
        "levels": len(levels),
        "missing": gaps(counts) / rows if rows else 0.0,
        "unique": alone(counts.n) / rows if rows else 0.0,
        "bits": bits,
        "identifying": min(1.0, bits / math.log2(rows)) if rows > 1 else 0.0,
        "bars": _bars(column, levels, n),
        "hierarchy": hierarchy,
        "hierarchy_why": why,
    }


def _hierarchy(column: Column, levels: Sequence[object], n: np.ndarray[Any, Any]) -> tuple[object, str]:
    """How it would be made more general if somebody says that an intruder may know it."""
    if column.kind is Kind.TEXT or not 1 < len(levels) <= MOST_VALUES:
        return "suppress", ""
    known = replace(column, role=Role.QUASI_IDENTIFIER)
    return proposed(known, Values(levels, [int(x) for x in n]))


def _bars(column: Column, levels: Sequence[Any], n: np.ndarray[Any, Any]) -> dict[str, object]:
    """What is drawn: numbers and days in bins from left to right, other values by how frequent they are."""
    if len(levels) > _FEW and column.type in ("integer", "real", "decimal"):
        return {"of": "numbers", "bars": _binned([float(v) for v in levels], n, lambda x: f"{x:.4g}")}
    if len(levels) > _FEW and column.type in ("date", "datetime", "instant"):
        days = [float(v.toordinal()) for v in levels]
        return {"of": "days", "bars": _binned(days, n, lambda x: date.fromordinal(int(x)).isoformat())}
    if column.type in ("integer", "real", "decimal", "boolean", "date") and len(levels) <= _FEW:
        return {"of": "values", "bars": [[_short(v), int(k)] for v, k in zip(levels, n, strict=True)]}
    ranked = sorted(range(len(levels)), key=lambda i: -n[i])
    bars = [[_short(levels[i]), int(n[i])] for i in ranked[:_LEVELS]]
    rest = ranked[_LEVELS:]
    return {"of": "levels", "bars": bars, "others": len(rest), "others_n": int(sum(n[i] for i in rest))}


def _binned(
    values: Sequence[float], n: np.ndarray[Any, Any], written: Callable[[float], str]
) -> list[list[object]]:
    """Bins of equal width between the outer half per cents; what lies beyond is in the outer bins."""
    at = np.array(values)
    fine = np.isfinite(at)
    at, n = at[fine], n[fine]
    if not len(at):
        return []
    share = np.cumsum(n) / n.sum()
    low, high = at[np.searchsorted(share, 0.005)], at[min(np.searchsorted(share, 0.995), len(at) - 1)]
    if low == high:
        low, high = at[0], at[-1]
    edges = np.linspace(low, high, _BARS + 1)
    place = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, _BARS - 1)
    counted = np.bincount(place, weights=n, minlength=_BARS)
    return [[f"{written(edges[i])} – {written(edges[i + 1])}", int(counted[i])] for i in range(_BARS)]


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _NAME else text[: _NAME - 1] + "…"
