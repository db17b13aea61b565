"""From the input to the table that the steps work on: opened, held against its schema, prepared.

What is done row by row (columns left out, numbers cut off at a public bound) changes nothing about a promise
of differential privacy. What looks at the whole table (redundant columns, what tells about a target) does,
and a plan with such a promise is refused before (see checks.py).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts import canonical_type
from sfumato.description import Differences, check, scan_as
from sfumato.errors import DataError, SchemaError, SfumatoWarning, listed
from sfumato.io import scan
from sfumato.io.addresses import require_consent
from sfumato.io.cloud import one_copy
from sfumato.plan.document import INPUT, PlanDocument
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.sources import BatchSource, DataLike
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.anonymization.preparation import Finding

_CROSSED = 100  # levels up to which a column is held against the others


@dataclass(frozen=True, eq=False)
class Opened:
    """The input, and in which way it differs from its schema without being refused."""

    table: Table
    differences: Differences


@dataclass(frozen=True)
class Prepared:
    """The table for the steps. findings: (columns, what, advice). dropped: {column: why}."""

    table: Table
    findings: tuple[tuple[str, str, str], ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    ratios: tuple[tuple[str, float], ...] = ()


def open_input(plan: PlanDocument, data: DataLike | None = None) -> Opened:
    """The input under the plan's schema; everything in which they differ is listed at once.

    data: another file or database than the plan names, or a frame; what the plan says of files does not
    count for a frame.
    """
    given = plan.table(INPUT)
    where = data if data is not None else given["data"]
    options = {k: v for k, v in given.items() if k not in ("data", "schema")}
    if not isinstance(where, (str, Path)):
        kept = {k: v for k, v in options.items() if k == "memory_limit"}
        return _opened(plan, where, kept)
    where = str(where)
    if data is None:
        require_consent(where, f"the data of {plan.name}")
    if str(options.get("sheet", "")).isdecimal():
        options["sheet"] = int(options["sheet"])
    return _opened(plan, plan.address(where) if data is None else where, options)


def _opened(plan: PlanDocument, data: object, options: dict[str, Any]) -> Opened:
    with one_copy():
        return _looked_at(plan, data, options)


def _looked_at(plan: PlanDocument, data: object, options: dict[str, Any]) -> Opened:
    given, schema = plan.table(INPUT), as_read(plan.schema)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        differences = check(scan_as(data, schema, **options), schema, name=given["schema"])
    if not differences.ok:
        raise SchemaError(
            differences.message,
            hint=differences.hint,
            values=[v for values in differences.values.values() for v in values],
        )
    keep = bool(plan.table("prepare").get("keep_text", False))
    table = scan(data, schema, columns=schema.names, keep_text=keep, **options)
    return Opened(table, differences)


def as_read(schema: Schema) -> Schema:
    """The schema with edges that nobody answers for as suggestions: numbers beyond are not refused."""
    return Schema(
        tuple(
            replace(c, clamp=True)
            if c.edges is not None and not (c.confirmed or c.public) and not c.clamp
            else c
            for c in schema
        )
    )


def prepare(plan: PlanDocument, table: Table) -> Prepared:
    """Leave out, cut off and screen, as the plan says."""
    wanted = plan.table("prepare")
    dropped = [(n, "the plan says so") for n in _dropped(plan, table)]
    table = trimmed(plan, table)
    if wanted.get("redundant", "report") == "ignore" and "target" not in wanted:
        return Prepared(table, dropped=tuple(dropped))
    from sfumato.anonymization.preparation import prepare as look

    apart = (Role.IDENTIFIER, Role.PERSON)
    columns = [c.name for c in table.schema if c.role not in apart and c.kind is not Kind.TEXT]
    small = [n for n, book in table.codebooks(columns).items() if book.size <= _CROSSED]
    target = wanted.get("target")
    crossed = list(dict.fromkeys([*small, *([target] if target else [])]))
    found = look(table, crossed, target=target) if crossed else None
    rest = [c for c in columns if c not in crossed]
    more = [f for c in rest for f in look(table, [c]).findings]
    findings = [f for f in (*(found.findings if found else ()), *more) if not _one_hierarchy(plan, f)]
    if wanted.get("redundant", "report") == "drop":
        dropped += _redundant(findings, target)
    elif wanted.get("redundant") == "ignore":
        findings = [f for f in findings if f.kind != "redundant"]
    ratios = dict(found.ratios) if found else {}
    least = wanted.get("least_information")
    if least is not None:
        dropped += [
            (n, f"tells about '{target}' {ratio:.2f} times what a shuffled column does")
            for n, ratio in ratios.items()
            if ratio < least and n not in dict(dropped)
        ]
    table = _without(table, [n for n, _ in dropped if n in table.schema])
    return Prepared(
        table,
        tuple((", ".join(f.columns), f.text, f.advice) for f in findings),
        tuple(dict.fromkeys(dropped)),
        tuple(sorted(ratios.items(), key=lambda r: r[1])),
    )


def trimmed(plan: PlanDocument, table: Table) -> Table:
    """Columns left out and numbers cut off, as the plan says; nothing else is looked at."""
    return cut_off(plan, _without(table, _dropped(plan, table)))


def _dropped(plan: PlanDocument, table: Table) -> list[str]:
    return [n for n, e in plan.table("columns").items() if e.get("drop") and n in table.schema]


def as_prepared(plan: PlanDocument, table: Table, like: Table) -> Table:
    """Other people's rows in the columns of a prepared table, cut off as there."""
    return cut_off(plan, table.select([n for n in like.columns if n in table.schema]))


def _one_hierarchy(plan: PlanDocument, finding: Finding) -> bool:
    """Whether a finding is that columns say what others say which the plan has as one hierarchy anyway."""
    from sfumato.plan.checks import led

    of = led(plan)
    return finding.kind == "redundant" and len({of.get(c, c) for c in finding.columns}) == 1


def _redundant(findings: Sequence[Any], target: str | None) -> list[tuple[str, str]]:
    """The second column of each redundant pair, unless it is the target or the first is gone already."""
    gone: dict[str, str] = {}
    for finding in findings:
        if finding.kind != "redundant":
            continue
        says, said = finding.columns
        if says == target or says in gone or said in gone:
            continue
        if said == target:
            continue
        gone[said] = f"'{says}' says what it says"
    return list(gone.items())


def _without(table: Table, names: Sequence[str]) -> Table:
    if not names:
        return table
    if set(names) >= set(table.columns):
        raise DataError("every column would be left out.", hint="drop fewer columns")
    return table.drop(names)


def cut_off(plan: PlanDocument, table: Table) -> Table:
    """Numbers beyond the plan's `top` and `bottom` written as these."""
    entries = {n: e for n, e in plan.table("columns").items() if n in table.schema}
    ends = {n: (e.get("bottom"), e.get("top")) for n, e in entries.items() if {"top", "bottom"} & set(e)}
    if not ends:
        return table
    wrong = [repr(n) for n in ends if table.schema[n].kind is not Kind.NUMERIC]
    if wrong:
        raise SchemaError(
            f"only numbers can be cut off, not {listed(wrong)}.", hint="leave out top and bottom"
        )
    inner = table

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in inner.batches(list(names)):
            arrays = [
                _clipped(inner.schema[n], a, *ends[n]) if n in ends else a
                for n, a in zip(names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=batch.schema)

    arrow = pa.schema([pa.field(c.name, canonical_type(c)) for c in table.schema])
    plain = Schema(tuple(replace(c, missing_codes=()) for c in table.schema))  # batches are canonical already
    rows = table.source.rows if isinstance(table.source, BatchSource) else None
    return replace(table, source=BatchSource(arrow, read, rows=rows), schema=plain, _books={})


def _clipped(column: Column, array: pa.Array, low: float | None, high: float | None) -> pa.Array:
    for end, beyond in ((low, pc.less), (high, pc.greater)):
        if end is not None:
            value = int(end) if column.type == "integer" else end
            bound = (
                pa.scalar(value, pa.float64()).cast(array.type)
                if column.type == "decimal"
                else pa.scalar(value, array.type)
            )
            array = pc.if_else(beyond(array, bound), bound, array)
    return array
