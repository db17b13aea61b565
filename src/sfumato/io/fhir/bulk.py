"""FHIR R4 bulk data (NDJSON) as linked tables, by stated paths.

A folder of `Patient.ndjson`, `Encounter.ndjson`, ... is one database: a table for each type of resource, a
row for each resource. All lines that cannot be read are listed by file and number, and never quoted.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.database import Database, Link
from sfumato.errors import DataError, SfumatoWarning, listed
from sfumato.io.fhir.paths import TABLES, ElementPath, element, further_paths, reference_parts
from sfumato.schema import Column, Role, Schema
from sfumato.table import Table

FORM = "fhir r4"
_SUFFIX = ".ndjson"
_BATCH = 50_000
_MOST_FAULTS = 20
_ARROW = {"text": pa.string(), "date": pa.date32(), "real": pa.float64()}
_ID = re.compile(r"[A-Za-z0-9\-.]{1,64}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,40}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d(T.*)?")
_PLAIN = {"resourceType", "meta"}  # of no meaning here, or about the resource itself


@dataclass
class BulkContent:
    """What was found in the files of a bulk export. left_out: by reason, how many."""

    rows: dict[str, list[pa.RecordBatch]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    broken: int = 0

    def fault(self, where: str) -> None:
        """A line that cannot be read."""
        self.broken += 1
        if len(self.faults) < _MOST_FAULTS:
            self.faults.append(where)


def bulk_files(data: object) -> list[Path]:
    """The NDJSON files of a folder; none if it is no bulk export."""
    if not isinstance(data, (str, Path)) or not Path(data).is_dir():
        return []
    return sorted(p for p in Path(data).iterdir() if p.name.lower().endswith(_SUFFIX) and p.is_file())


def read_bulk(data: str | Path, further: Mapping[str, Mapping[str, str]] | None = None) -> dict[str, Table]:
    """The tables of a bulk export; refused with every broken line, and what is left out is said."""
    files = bulk_files(data)
    if not files:
        raise DataError(f"no NDJSON files in '{Path(data).name}'.", hint="Patient.ndjson, Encounter.ndjson")
    packed = [p.name for p in sorted(Path(data).iterdir()) if f"{_SUFFIX}." in p.name.lower()]
    if packed:
        raise DataError(
            f"packed files are not read: {listed(packed)}.", hint="unpack them (gunzip), or move them"
        )
    paths = further_paths(further)
    content = BulkContent()
    for file in files:
        _read_file(file, paths, content)
    if content.broken:
        more = f" and {content.broken - len(content.faults)} more" * (content.broken > len(content.faults))
        raise DataError(
            f"{content.broken} line{'s' * (content.broken > 1)} cannot be read: "
            f"{'; '.join(content.faults)}{more}.",
            hint="correct or remove those lines",
        )
    if "Patient" not in content.rows:
        raise DataError("there is no Patient among the resources.", hint="add Patient.ndjson")
    if content.left_out:
        said = [f"{what} ({n:,})" for what, n in sorted(content.left_out.items())]
        warnings.warn(f"FHIR: left out: {listed(said, 30)}.", SfumatoWarning, stacklevel=4)
    return bulk_tables({k: pa.Table.from_batches(rows) for k, rows in content.rows.items()}, further)


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
    for number, resource in _lines(file, content):
        kind = resource.get("resourceType")
        where = f"{file.name} line {number}"
        if not isinstance(kind, str) or not _NAME.fullmatch(kind):
            content.fault(f"{where}: no resource")
        elif kind not in paths:
            content.left_out[f"resources of type {kind}"] += 1
        elif "modifierExtension" in resource:  # it may turn the meaning round
            content.left_out[f"{kind} with a modifierExtension"] += 1
        else:
            row = _row(resource, kind, paths[kind], where, content)
            if row is not None:
                waiting.setdefault(kind, []).append(row)
                if len(waiting[kind]) >= _BATCH:
                    _keep(content, kind, paths[kind], waiting.pop(kind))
    for kind, rows in waiting.items():
        _keep(content, kind, paths[kind], rows)


def _lines(file: Path, content: BulkContent) -> Iterator[tuple[int, dict[str, Any]]]:
    with file.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                resource = json.loads(line.decode("utf-8-sig"))
            except (ValueError, RecursionError):  # its words would quote the line
                resource = None
            if isinstance(resource, dict):
                yield number, resource
            else:
                content.fault(f"{file.name} line {number}: not JSON")


def _keep(content: BulkContent, kind: str, paths: tuple[ElementPath, ...], rows: list[list[Any]]) -> None:
    columns = [pa.array([row[i] for row in rows], _ARROW[p.type]) for i, p in enumerate(paths)]
    names = [p.column for p in paths]
    content.rows.setdefault(kind, []).append(pa.RecordBatch.from_arrays(columns, names=names))


def _row(
    resource: dict[str, Any], kind: str, paths: tuple[ElementPath, ...], where: str, content: BulkContent
) -> list[Any] | None:
    """The cells of a resource; None if it is left out or broken."""
    if not isinstance(resource.get("id"), str) or not _ID.fullmatch(resource["id"]):
        content.fault(f"{where}: no id")
        return None
    row: list[Any] = []
    for path in paths:
        value = element(resource, path.steps)
        if path.target:
            kind_of, value = reference_parts(value)
            if path.role is Role.PERSON and (not value or kind_of not in ("", path.target)):
                content.left_out[f"{kind} whose subject is no Patient of the export"] += 1
                return None
            value = value if kind_of in ("", path.target) else ""
            row.append(value or None)
        else:
            try:
                row.append(_cell(value, path, kind, content))
            except ValueError:
                content.fault(f"{where}: {path.path}")
                return None
    _count_rest(resource, kind, paths, content)
    return row


def _cell(value: object, path: ElementPath, kind: str, content: BulkContent) -> object:
    if value is None:
        return None
    if path.type == "real":
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError
        return float(value)
    if isinstance(value, bool | int | float) and path.role is Role.QUASI_IDENTIFIER:
        value = json.dumps(value)  # of a path that somebody named
    if not isinstance(value, str):
        raise ValueError
    if path.type != "date":
        return value
    if not _DAY.fullmatch(value):
        if not re.fullmatch(r"\d{4}(-\d\d)?", value):
            raise ValueError
        content.left_out[f"{kind}.{path.path} known to the year or month only"] += 1
        return None
    if len(value) > 10:
        content.left_out[f"times of day of {kind}.{path.path}"] += 1
    return date.fromisoformat(value[:10])


def _count_rest(
    resource: Mapping[str, Any], kind: str, paths: tuple[ElementPath, ...], content: BulkContent
) -> None:
    """What no path names, by the names of elements; and further codings of what is read."""
    read = {p.steps[0][0] for p in paths} | _PLAIN
    for name in resource:
        if name not in read and _NAME.fullmatch(name):
            content.left_out[f"{kind}.{name}"] += 1
    for path in paths:
        if path.path.endswith("coding[0].code"):
            concept = element(resource, path.steps[:-2])
            codings = concept.get("coding") if isinstance(concept, Mapping) else None
            if isinstance(codings, list) and len(codings) > 1:
                content.left_out[f"further codings of {kind}.{path.steps[0][0]}"] += 1
