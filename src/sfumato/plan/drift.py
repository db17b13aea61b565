"""New data against an earlier release: columns, codes, distributions. Names and numbers, no cell.

A release keeps, in its internal part, how often each value of each column occurred in its input (numbers and
days in twenty bins of equal count). The next quarter's data is counted the same way and compared. Codes that
were not there before stop the run: a hierarchy has no place for them, and a new code may be one person's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.counts import Counts
from sfumato.description.one_way import gaps, one_way, open_table
from sfumato.errors import DataError
from sfumato.features.numbers import numbers
from sfumato.io.atomic import owner_only
from sfumato.schema import Kind, Role
from sfumato.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = "profile.arrow"
_BINS = 20
_APART = (Role.IDENTIFIER, Role.PERSON)
_NOTABLE = 0.1
_SCHEMA = pa.schema(
    [("column", pa.string()), ("type", pa.string()), ("what", pa.string()), ("value", pa.string()),
     ("low", pa.float64()), ("n", pa.int64())]
)  # fmt: skip


@dataclass(frozen=True)
class Moved:
    """One column then and now.

    distance: the total variation between its distributions: the share of rows that would have to change.
    chance: what sampling alone would make of it. new: codes that were not there. gone: codes that are no
        longer.
    cells: how many cells hold new codes. missing: the share of empty cells, before and now.
    """

    column: str
    distance: float
    chance: float
    new: int = 0
    gone: int = 0
    cells: int = 0
    missing: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Drift:
    """What changed since an earlier release."""

    rows: tuple[int, int]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    retyped: tuple[str, ...] = ()
    columns: tuple[Moved, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    def notable(self, least: float = _NOTABLE) -> tuple[Moved, ...]:
        """The columns that moved by more than chance and by at least so much, the most moved first."""
        found = [m for m in self.columns if m.distance >= least and m.distance > 2 * m.chance]
        return tuple(sorted(found, key=lambda m: -m.distance))

    @property
    def unknown(self) -> tuple[Moved, ...]:
        """The columns with codes that were not there before."""
        return tuple(m for m in self.columns if m.new)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, without any cell."""
        return {**{k: v for k, v in asdict(self).items() if k != "values"}, "rows": list(self.rows)}

    def sentences(self, least: float = _NOTABLE) -> list[str]:
        """What a person should know, the worst first."""
        out = []
        for names, words in ((self.added, "new"), (self.removed, "gone"), (self.retyped, "of another type")):
            if names:
                out.append(f"{len(names)} column{'s' * (len(names) > 1)} {words}: {', '.join(names)}.")
        out += [f"'{m.column}' has {m.new:,} unknown codes in {m.cells:,} cells." for m in self.unknown]
        out += [
            f"'{m.column}' moved: {m.distance:.1%} of the rows would have to change (chance alone: "
            f"{m.chance:.1%})."
            for m in self.notable(least)
        ]
        before, now = self.rows
        out.append(f"{now:,} rows, {before:,} before.")
        return out


# -- profiles ------------------------------------------------------------------------------------------


def profile(table: Table) -> pa.Table:
    """How often each value of each column occurs, those that name people aside. Internal."""
    kept = [c.name for c in table.schema if c.role not in _APART and c.kind is not Kind.TEXT]
    counted, _ = one_way(open_table(table, kept))
    parts = [pa.table({"column": ["*"], "type": [""], "what": ["rows"], "value": [""], "low": [0.0],
                       "n": [table.rows()]}, schema=_SCHEMA)]  # fmt: skip
    parts += [_part(name, table.schema[name].type, _binned(table, name), c) for name, c in counted.items()]
    return pa.concat_tables(parts)


def _binned(table: Table, name: str) -> bool:
    return table.schema[name].kind in (Kind.NUMERIC, Kind.DATE)


def _part(name: str, type_: str, binned: bool, counts: Counts) -> pa.Table:
    levels = counts.codebooks[0].levels
    n = np.zeros(len(levels) + 1, np.int64)
    n[counts.codes[:, 0]] = counts.n
    if binned:
        found = numbers(levels, counts.codebooks[0].column)
        finite = np.isfinite(found)
        edges = _edges(found[finite], n[:-1][finite])
        rows = np.bincount(_place(edges, found[finite]), n[:-1][finite], len(edges)).astype(np.int64)
        what, value, low = ["bin"] * len(edges), [""] * len(edges), edges.tolist()
    else:
        rows, what = n[:-1], ["code"] * len(levels)
        value, low = [str(v) for v in levels.to_pylist()], [0.0] * len(levels)
    return pa.table(
        {"column": [name] * (len(rows) + 1), "type": [type_] * (len(rows) + 1), "what": [*what, "missing"],
         "value": [*value, ""], "low": [*low, 0.0], "n": [*rows.tolist(), gaps(counts)]},
        schema=_SCHEMA,
    )  # fmt: skip


def _edges(values: NDArray[np.float64], n: NDArray[Any]) -> NDArray[np.float64]:
    """Lower ends of bins that hold about equally many rows."""
    if not len(values):
        return np.empty(0)
    order = np.argsort(values)
    cumulated = np.cumsum(n[order])
    marks = np.searchsorted(cumulated, np.arange(_BINS) * cumulated[-1] / _BINS, side="right")
    return np.unique(values[order][np.minimum(marks, len(values) - 1)])


def _place(edges: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.maximum(np.searchsorted(edges, values, side="right") - 1, 0)


def write(folder: Path, found: pa.Table) -> None:
    """Keep a profile in the internal part of a release."""
    path = folder / FILE
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, found.schema) as writer:
        writer.write_table(found)
    owner_only(path)


def read(release: Path) -> pa.Table:
    """The profile of an earlier release."""
    path = release / "internal" / FILE
    try:
        with pa.OSFile(str(path), "rb") as source:
            found = pa.ipc.open_file(source).read_all()
    except (OSError, pa.ArrowInvalid):
        raise DataError(
            f"'{release.name}' has no profile of its input to compare with.",
            hint="give a release that sfumato run has made, with its internal part",
        ) from None
    if found.schema != _SCHEMA:
        raise DataError(f"'{release.name}' has a profile of another version.", hint="make it again")
    return found


# -- comparing -----------------------------------------------------------------------------------------


def compare(earlier: pa.Table, table: Table) -> Drift:
    """New data against the profile of earlier data."""
    before = _by_column(earlier)
    rows = before.pop("*")["n"][0]
    now = [c.name for c in table.schema if c.role not in _APART and c.kind is not Kind.TEXT]
    common = [n for n in now if n in before]
    counted, refused = one_way(open_table(table, common))
    moved, values = [], {}
    for name in common:
        if name not in counted:
            continue
        found, codes = _moved(name, before[name], counted[name])
        moved.append(found)
        if codes:
            values[name] = tuple(codes)
    retyped = [n for n in common if n in refused or before[n]["type"][0] != table.schema[n].type]
    return Drift(
        (rows, table.rows()),
        tuple(n for n in now if n not in before),
        tuple(n for n in before if n not in table.schema),
        tuple(retyped),
        tuple(moved),
        values,
    )


def _by_column(found: pa.Table) -> dict[str, dict[str, list[Any]]]:
    out: dict[str, dict[str, list[Any]]] = {}
    for row in found.to_pylist():
        entry = out.setdefault(row["column"], {k: [] for k in _SCHEMA.names})
        for key, value in row.items():
            entry[key].append(value)
    return out


def _moved(name: str, before: dict[str, list[Any]], counts: Counts) -> tuple[Moved, list[str]]:
    levels = counts.codebooks[0].levels
    n = np.zeros(len(levels) + 1, np.int64)
    n[counts.codes[:, 0]] = counts.n
    old = np.array(before["n"], float)
    new_codes: list[str] = []
    cells = gone = 0
    if "bin" in before["what"]:
        edges = np.array(before["low"][:-1])
        found = numbers(levels, counts.codebooks[0].column)
        finite = np.isfinite(found)
        now: Any = np.bincount(_place(edges, found[finite]), n[:-1][finite], len(edges)) if len(edges) else []
        fresh = np.append(now, gaps(counts))
    else:
        known = {v: i for i, v in enumerate(before["value"][:-1])}
        fresh = np.zeros(len(old))
        for value, times in zip(map(str, levels.to_pylist()), n[:-1].tolist(), strict=True):
            if value in known:
                fresh[known[value]] += times
            else:
                new_codes.append(value)
                cells += times
        gone = int(((fresh[:-1] == 0) & (old[:-1] > 0)).sum())
        fresh[-1] = gaps(counts)
        old, fresh = np.append(old, 0.0), np.append(fresh, cells)
    total, now_total = max(old.sum(), 1.0), max(fresh.sum(), 1.0)
    p, q = old / total, fresh / now_total
    at = len(p) - 1 if "bin" in before["what"] else len(p) - 2
    return (
        Moved(name, float(0.5 * np.abs(p - q).sum()), _chance(p, q, total, now_total), len(new_codes), gone,
              int(cells), (float(p[at]), float(q[at]))),
        new_codes,
    )  # fmt: skip


def _chance(p: NDArray[np.float64], q: NDArray[np.float64], n: float, m: float) -> float:
    """The mean distance of two samples of one law: half the sum of E|N(0, p(1-p)(1/n + 1/m))|."""
    pooled = (p * n + q * m) / (n + m)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    return float(0.5 * np.sqrt(2 / np.pi) * spread.sum())
