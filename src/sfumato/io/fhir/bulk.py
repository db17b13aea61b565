"""FHIR R4 bulk data (NDJSON) as linked tables, by stated paths.

A folder of `Patient.ndjson`, `Encounter.ndjson`, ... is one database: a table for each type of resource, a
row for each resource. All lines that cannot be read are listed by file and number, and never quoted.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.database import Database, Link
from sfumato.errors import DataError, SfumatoWarning, listed
from sfumato.io.fhir.ndjson import (
    UNBUNDLED,
    bulk_files,
    bundle_hint,
    fhir_hint,
    further_files,
    read_lines,
    require_alone,
)
from sfumato.io.fhir.paths import (
    TABLES,
    ElementPath,
    element,
    further_paths,
    reference_parts,
    server_of,
    twofold,
)
from sfumato.schema import Column, Role, Schema
from sfumato.table import Table

FORM = "fhir r4"
_BATCH = 50_000
_MOST_LINES = 200  # runs of broken lines that are named, of one file and one fault
_ARROW = {"text": pa.string(), "date": pa.date32(), "real": pa.float64(), "boolean": pa.bool_()}
_ID = re.compile(r"[A-Za-z0-9\-.]{1,64}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,40}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d(T\d\d[\d:.]*(Z|[+-]\d\d:?\d\d)?)?")
_PLAIN = {"resourceType", "meta", "url"}  # of no meaning here, or about the resource itself


@dataclass
class BulkContent:
    """What was found in the files of a bulk export. left_out: by reason, how many.

    faults: by file and by what is wrong, the numbers of the lines. servers: that references name.
    """

    rows: dict[str, list[pa.RecordBatch]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    faults: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    servers: set[str] = field(default_factory=set)

    def fault(self, file: str, line: int, what: str) -> None:
        """A line that cannot be read."""
        self.faults.setdefault((file, what), []).append(line)

    @property
    def broken(self) -> int:
        """How many lines cannot be read."""
        return sum(map(len, self.faults.values()))

    def broken_lines(self) -> str:
        """Every broken line by file and number, those that follow each other as a run."""
        return "; ".join(f"{file} {_runs(lines)}: {what}" for (file, what), lines in self.faults.items())


def _runs(lines: list[int]) -> str:
    """Line 2, or lines 2 to 5, 8."""
    if len(lines) == 1:
        return f"line {lines[0]:,}"
    runs: list[list[int]] = []
    for line in lines:
        if runs and line == runs[-1][1] + 1:
            runs[-1][1] = line
        else:
            runs.append([line, line])
    words = [f"{first:,} to {last:,}" if last > first else f"{first:,}" for first, last in runs]
    return f"lines {listed(words, _MOST_LINES)}"


def read_bulk(data: str | Path, further: Mapping[str, Mapping[str, str]] | None = None) -> dict[str, Table]:
    """The tables of a bulk export; refused with every broken line, and what is left out is said."""
    files = bulk_files(data)
    if not files:
        hint = fhir_hint(Path(data)) or "Patient.ndjson, Encounter.ndjson"
        raise DataError(f"no NDJSON files in '{Path(data).name}'.", hint=hint)
    require_alone(files)
    paths = further_paths(further)
    content = BulkContent()
    for file in files:
        _read_file(file, paths, content)
    _require(content, files)
    content.left_out.update({f"the file {name}": 1 for name in further_files(Path(data))})
    for kind in content.rows if "Encounter" not in content.rows else ():
        lost = sum(b.num_rows - b.column("encounter").null_count for b in content.rows[kind]
                   if "encounter" in b.schema.names)  # fmt: skip
        if lost:
            content.left_out[f"in a release {kind}.encounter, as no Encounter is there"] += lost
    if content.left_out:
        said = [f"{what} ({n:,})" for what, n in sorted(content.left_out.items())]
        warnings.warn(f"FHIR: left out: {', '.join(said)}.", SfumatoWarning, stacklevel=4)
    return bulk_tables({k: pa.Table.from_batches(rows) for k, rows in content.rows.items()}, further)


def _require(content: BulkContent, files: list[Path]) -> None:
    """That every line was read, that there are patients, and that an id is one person."""
    bundles = any("type Bundle" in what for what in content.left_out)
    hint = UNBUNDLED if bundles else next(filter(None, map(bundle_hint, files)), "")
    if content.broken:
        raise DataError(
            f"{content.broken:,} line{'s' * (content.broken > 1)} cannot be read: {content.broken_lines()}.",
            hint=hint or "correct or remove those lines; FHIR R4 is read, no other version",
        )
    if "Patient" not in content.rows:
        raise DataError("there is no Patient among the resources.", hint=hint or "add Patient.ndjson")
    if len(content.servers) > 1:
        raise DataError(
            f"references name {len(content.servers):,} servers: one id may be two persons there.",
            hint="read the export of each server by itself, or make references relative (Patient/1)",
        )


def bulk_tables(
    rows: Mapping[str, pa.Table], further: Mapping[str, Mapping[str, str]] | None = None
) -> dict[str, Table]:
    """Rows by type of resource as tables, with what their columns mean."""
    paths = further_paths(further)
    return {TABLES[k]: Table.from_arrow(rows[k], _schema(paths[k])) for k in paths if k in rows}


def bulk_database(tables: Mapping[str, Table]) -> Database:
    """The tables with their links: each resource to its patient, and to its encounter."""
    links = [
        Link(name, column, parent, "id", f"a reference to {parent}")
        for name in tables
        for column, parent in (("encounter", "encounter"), ("patient", "patient"))
        if column in tables[name].columns and parent in tables
    ]
    return Database(tables, tuple(links), dict.fromkeys(tables, "id"), form=FORM)


def _schema(paths: tuple[ElementPath, ...]) -> Schema:
    return Schema(
        tuple(Column(p.column, p.kind, p.role, p.type, reason=p.path, confidence="sure") for p in paths)
    )


def scan_fhir(
    data: str | Path, *, further: Mapping[str, Mapping[str, str]] | None = None, check: bool = True
) -> Database:
    """A folder of FHIR R4 bulk data (NDJSON) as linked tables: a row for each resource.

    further: paths that are read besides, by type of resource and column, such as
        {"Patient": {"birth_place": "extension[url=http://example.org/birth-place].valueString"}}.
    check: refuse a database whose keys do not hold, with every difference.

    `scan_database` reads such a folder too; what no path names is left out, and said.

    >>> path = sf.write_fhir(sf.samples.fhir(4), "bulk", check=False)
    >>> sf.scan_fhir("bulk")
    Database(patient, encounter, condition, observation, procedure, medication_request; 9 links)
    """
    found = bulk_database(read_bulk(data, further))
    return found.check() if check else found


# -- lines -----------------------------------------------------------------------------------------


def _read_file(file: Path, paths: Mapping[str, tuple[ElementPath, ...]], content: BulkContent) -> None:
    waiting: dict[str, list[list[Any]]] = {}
    read = {kind: _tree(known) for kind, known in paths.items()}
    for number, resource in read_lines(file):
        where = file.name, number
        if resource is None:
            content.fault(*where, "not JSON")
            continue
        kind = resource.get("resourceType")
        if not isinstance(kind, str) or not _NAME.fullmatch(kind):
            content.fault(*where, "no resource")
        elif kind not in paths:
            content.left_out[f"resources of type {kind}"] += 1
        elif "modifierExtension" in resource:  # it may turn the meaning round
            content.left_out[f"{kind} with a modifierExtension"] += 1
        else:
            row = _row(resource, kind, paths[kind], where, content)
            if row is not None:
                _count_rest(resource, kind, read[kind], content)
                waiting.setdefault(kind, []).append(row)
                if len(waiting[kind]) >= _BATCH:
                    _keep(content, kind, paths[kind], waiting.pop(kind))
    for kind, rows in waiting.items():
        _keep(content, kind, paths[kind], rows)


def _keep(content: BulkContent, kind: str, paths: tuple[ElementPath, ...], rows: list[list[Any]]) -> None:
    columns = [pa.array([row[i] for row in rows], _ARROW[p.type]) for i, p in enumerate(paths)]
    names = [p.column for p in paths]
    content.rows.setdefault(kind, []).append(pa.RecordBatch.from_arrays(columns, names=names))


def _row(
    resource: dict[str, Any],
    kind: str,
    paths: tuple[ElementPath, ...],
    where: tuple[str, int],
    content: BulkContent,
) -> list[Any] | None:
    """The cells of a resource; None if it is left out or broken. where: its file and line."""
    if not isinstance(resource.get("id"), str) or not _ID.fullmatch(resource["id"]):
        content.fault(*where, "an id that FHIR does not allow" if resource.get("id") else "no id")
        return None
    if several := twofold(resource):
        content.fault(*where, several)
        return None
    row: list[Any] = []
    lost: list[str] = []
    for path in paths:
        try:
            value = element(resource, path.steps)
        except TypeError:  # an object where a list belongs, or the other way round
            content.fault(*where, path.path)
            return None
        if path.target:
            content.servers |= {server} if (server := server_of(value)) else set()
            kind_of, value = reference_parts(value)
            stated = resource[path.steps[0][0]].get("type", path.target) if value else path.target
            points = kind_of in ("", path.target) and stated == path.target and bool(_ID.fullmatch(value))
            if path.role is Role.PERSON and not points:
                content.left_out[f"{kind} whose subject is no Patient of the export"] += 1
                return None
            if not points and resource.get(path.steps[0][0]) is not None:
                lost.append(f"{kind}.{path.steps[0][0]} that is no {path.target} of the export")
            row.append(value if points else None)
        else:
            try:
                row.append(_cell(value, path, kind, content))
            except (ValueError, OverflowError):
                content.fault(*where, path.path)
                return None
    content.left_out.update(lost)
    return row


def _cell(value: object, path: ElementPath, kind: str, content: BulkContent) -> object:
    if value is None:
        return None
    if path.type == "real":
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(float(value)):
            raise ValueError
        if isinstance(value, int) and int(float(value)) != value:
            content.left_out[f"the last digits of {kind}.{path.path}"] += 1
        return float(value)
    if path.type == "boolean":
        if not isinstance(value, bool):
            raise ValueError
        return value
    if isinstance(value, bool | int | float) and path.role is Role.QUASI_IDENTIFIER:
        value = json.dumps(value)  # of a path that somebody named
    if not isinstance(value, str):
        raise ValueError
    if path.type != "date":
        value.encode()  # half of a surrogate pair is no text
        return value
    if not _DAY.fullmatch(value):
        if not re.fullmatch(r"\d{4}(-\d\d)?", value):
            raise ValueError
        content.left_out[f"{kind}.{path.path} known to the year or month only"] += 1
        return None
    if len(value) > 10:
        content.left_out[f"times of day of {kind}.{path.path}"] += 1
    return date.fromisoformat(value[:10])


_Tree = dict[str | None, Any]  # by name of an element that is read, what is read below; None: addresses


def _tree(paths: tuple[ElementPath, ...]) -> _Tree:
    found: _Tree = {}
    for path in paths:
        at = found
        for name, chosen in path.steps:
            at = at.setdefault(name, {})
            if chosen.startswith("url="):
                at.setdefault(None, set()).add(chosen[4:])
    return found


def _count_rest(resource: Mapping[str, Any], where: str, read: _Tree, content: BulkContent) -> None:
    """What no path names, by the names of elements."""
    for name, value in resource.items():
        if name in read:
            _count_below(value, f"{where}.{name}", read[name], content)
        elif name not in _PLAIN:
            content.left_out[f"{where}.{name}" if _NAME.fullmatch(name) else f"{where}: odd names"] += 1


def _count_below(value: object, where: str, read: _Tree, content: BulkContent) -> None:
    if isinstance(value, list):
        wanted = read.get(None)
        kept = value[:1]
        if wanted is not None:
            kept = [e for e in value if isinstance(e, dict) and any(e.get("url") == url for url in wanted)]
        if len(value) > len(kept):
            what = "codings" if where.endswith(".coding") else "entries"
            content.left_out[f"further {what} of {where.removesuffix('.coding')}"] += 1
        for entry in kept:
            _count_below(entry, where, read, content)
    elif isinstance(value, dict) and read:
        _count_rest(value, where, read, content)
