"""Write down what the data has, as a proposal: nothing that a person declared is changed unasked.

The rules are few and stated in each column's `reason`. Levels are the values found, up to 1,000. Edges
of a number: one bin per whole number where they span at most 20, else the deciles rounded to two
digits, the ends rounded outwards. Edges of a date: months where they span at most two years, else years.
All of it is marked as read off the data, and no promise of differential privacy can rest on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.counts import Counts
from sfumato.description.one_way import gaps, one_way, open_table, refuse_all
from sfumato.description.roles import roles_of
from sfumato.features.numbers import numbers
from sfumato.schema import Column, Draw, Kind, Provenance, Role, Schema, Value
from sfumato.table import Table, plain_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_LEVELS = 1_000
_READ_OFF = Provenance.read_off()
_SINGLE_BINS = 20
_MONTHS = 24
_YEARS = 200
_NAMES_PEOPLE = (Role.IDENTIFIER, Role.PERSON)
_LEVEL_KINDS = (Kind.NOMINAL, Kind.ORDINAL, Kind.FLAG, Kind.CODES)


@dataclass(frozen=True)
class Change:
    """What an update did to one column, in words and numbers."""

    column: str
    what: str


def update(schema: Schema | None, table: Table, *, extend: bool = False) -> Schema:
    """The schema with what the data has and it lacks: new columns, levels, edges; all marked as read off.

    schema: None starts from what the table's columns were taken for.
    extend: also widen declared domains to what was found; a widened column is then read off the data.
    """
    if schema is None:
        table = table.with_schema(roles_of(table))
    base = _with_new_columns(schema, table)
    stored = set(table.source.arrow_schema.names)
    wanted = [c for c in base if c.name in stored and c.kind is not Kind.TEXT and c.role not in _NAMES_PEOPLE]
    open_ = open_table(table.with_schema(Schema(tuple(wanted))))
    counted, refused = one_way(open_)
    refuse_all(open_, refused)
    known = set(schema.names) if schema is not None else set()
    columns = []
    for column in base:
        if column.name in counted:
            counts = counted[column.name]
            column = _extended(column, counts) if column.declared and extend else _filled(column, counts)
            if column.name not in known and column.edges is not None and column.type == "integer":
                column = replace(column, draw=Draw.INTEGER)
        columns.append(column)
    return Schema(tuple(columns))


def _with_new_columns(schema: Schema | None, table: Table) -> Schema:
    """Declared columns first; then those of the table; then what the scan left out: free text."""
    columns = list(schema.columns) if schema is not None else []
    have = {c.name for c in columns}
    columns += [c for c in table.schema if c.name not in have]
    have |= set(table.schema.names)
    for stored in table.source.arrow_schema:
        if stored.name not in have:
            plain = plain_column(stored)
            columns.append(replace(plain, kind=Kind.TEXT, reason="left out when the data was scanned"))
    names = table.source.arrow_schema.names
    if schema is None:
        columns.sort(key=lambda c: names.index(c.name))
    return Schema(tuple(columns))


def changes(before: Schema | None, after: Schema) -> tuple[Change, ...]:
    """What differs between two schemas, column by column."""
    found = []
    for column in after:
        old = before[column.name] if before is not None and column.name in before else None
        if old is None:
            found.append(Change(column.name, f"added: {column.kind}, {column.role}{_domain(column)}"))
        elif old != column:
            found.append(Change(column.name, _what_changed(old, column)))
    return tuple(found)


def _what_changed(old: Column, new: Column) -> str:
    changes = []
    if old.levels != new.levels:
        more = len(new.levels or ()) - len(old.levels or ())
        changes.append(f"{more:,} level{'s' * (more != 1)} added")
    if old.edges != new.edges:
        bins = len(new.edges or ()) - 1
        changes.append(f"{bins} bins suggested" if old.edges is None else f"edges widened to {bins} bins")
    if old.missing != new.missing:
        changes.append("may be missing")
    if old.stated and not new.stated:
        changes.append("now read off the data")
    if old.confirmed and not new.confirmed:
        changes.append("no longer confirmed")
    return ", ".join(changes) or "reason noted"


def _domain(column: Column) -> str:
    if column.levels is not None:
        return f", {len(column.levels):,} level{'s' * (len(column.levels) != 1)}"
    return f", {len(column.edges) - 1} bins" if column.edges is not None else ""


# -- filling -------------------------------------------------------------------------------------


def _filled(column: Column, counts: Counts) -> Column:
    """A domain for a column that has none."""
    if column.declared:
        return column
    if column.kind in _LEVEL_KINDS:
        levels = _observed(column, counts)
        most = 2 if column.kind is Kind.FLAG else MOST_LEVELS
        if len(levels) > most:
            return _because(column, f"{len(levels):,} levels are more than {most:,}: none written")
        if not levels:
            return column
        return _because(
            replace(column, levels=levels, confirmed=False, provenance=_READ_OFF), "levels read off the data"
        )
    if column.role is Role.WEIGHT:
        return column
    edges, rule = _suggested(column, counts)
    if len(edges) < 2:
        return _because(column, rule) if rule else column
    return _because(replace(column, edges=edges, confirmed=False, provenance=_READ_OFF), rule)


def _because(column: Column, reason: str) -> Column:
    """The reason beside those that are there, once."""
    if reason in column.reason:
        return column
    return replace(column, reason=f"{column.reason}; {reason}" if column.reason else reason)


def _observed(column: Column, counts: Counts) -> tuple[Any, ...]:
    values = counts.codebooks[0].levels.to_pylist()
    if column.kind is Kind.CODES:
        return tuple(sorted({part for cell in values for part in cell.split(column.separator)}))
    return tuple(values)


def _suggested(column: Column, counts: Counts) -> tuple[tuple[Value, ...], str]:
    values = counts.codebooks[0].levels
    if not len(values) or column.type in ("text", "boolean"):
        return (), ""
    if column.kind is Kind.DATE:
        return _calendar(column, values[0].as_py(), values[-1].as_py())
    found = numbers(values)
    kept = np.isfinite(found)
    if not kept.any():
        return (), ""
    n = np.zeros(len(values), np.int64)
    inside = counts.codes[:, 0] < len(values)
    n[counts.codes[inside, 0]] = counts.n[inside]
    return _numeric(column, found[kept], n[kept])


def _numeric(
    column: Column, values: NDArray[np.float64], n: NDArray[np.int64]
) -> tuple[tuple[Value, ...], str]:
    low, high = float(values[0]), float(values[-1])
    if column.type == "integer" and high - low <= _SINGLE_BINS:
        single = list(range(int(low), int(high) + 2))
        return _typed(column, single), "edges suggested: one bin per whole number"
    cumulated = np.cumsum(n)
    deciles = [float(values[np.searchsorted(cumulated, q * cumulated[-1] / 10)]) for q in range(1, 10)]
    marks = [_outward(low, math.floor), *[_rounded(d) for d in deciles], _outward(high, math.ceil)]
    inner = sorted({m for m in marks if marks[0] < m < marks[-1]})
    edges = [marks[0], *inner, marks[-1]] if marks[0] < marks[-1] else [marks[0], marks[0] + 1]
    return _typed(column, edges), "edges suggested: deciles rounded to two digits"


def _step(value: float) -> float:
    """The unit of the second digit."""
    return 10.0 ** (math.floor(math.log10(abs(value))) - 1) if value else 1.0


def _rounded(value: float) -> float:
    return float(f"{value:.1e}")


def _outward(value: float, towards: Callable[[float], int]) -> float:
    step = _step(value)
    return float(f"{towards(value / step) * step:.6e}")


def _typed(column: Column, edges: Sequence[float]) -> tuple[Value, ...]:
    if column.type == "integer":
        return tuple(sorted({math.floor(e) if e < edges[-1] else math.ceil(e) for e in edges}))
    if column.type == "decimal":
        return tuple(Decimal(str(e)) for e in edges)
    return tuple(float(e) for e in edges)


def _calendar(column: Column, low: date, high: date) -> tuple[tuple[Value, ...], str]:
    months = (high.year - low.year) * 12 + high.month - low.month + 1
    if months <= _MONTHS:
        first = low.year * 12 + low.month - 1
        days = [date((first + i) // 12, (first + i) % 12 + 1, 1) for i in range(months + 1)]
        rule = "edges suggested: months"
    elif months > 12 * _YEARS:
        return (), f"no edges: the dates span more than {_YEARS} years, is one of them a missing code?"
    else:
        days = [date(y, 1, 1) for y in range(low.year, min(high.year + 2, 10_000))]
        rule = "edges suggested: years"
    if column.type == "date":
        return tuple(days), rule
    zone = UTC if column.type == "instant" else None
    return tuple(datetime.combine(d, time(), zone) for d in days), rule


# -- extending -----------------------------------------------------------------------------------


def _extended(column: Column, counts: Counts) -> Column:
    """A declared domain made wide enough for what was found; then it is read off the data."""
    wider = column
    if gaps(counts) and not column.missing:
        wider = replace(wider, missing=True)
    if column.levels is not None and column.other is None:
        new = [v for v in _observed(column, counts) if v not in set(column.levels)]
        levels = (*column.levels, *new)
        if new and column.kind is Kind.FLAG and len(levels) > 2:
            wider = replace(wider, kind=Kind.NOMINAL)
        wider = replace(wider, levels=levels) if new else wider
    if column.edges is not None and not column.clamp:
        wider = replace(wider, edges=_widened(column, counts))
    if wider == column:
        return column
    return _because(replace(wider, confirmed=False, provenance=_READ_OFF), "extended to what the data has")


def _widened(column: Column, counts: Counts) -> tuple[Value, ...]:
    """One more bin at an end that some cells lie beyond."""
    edges: list[Any] = list(column.edges or ())
    ends, _ = _suggested(replace(column, edges=None), counts)
    values = counts.codebooks[0].levels
    if not ends or not len(values):
        return tuple(edges)
    low, high = values[0].as_py(), values[-1].as_py()
    if low < edges[0]:
        edges.insert(0, ends[0])
    if high > edges[-1]:
        edges.append(ends[-1])
    return tuple(edges)
