"""Linked tables as FHIR R4 resources again: by the same paths, each held against fhir.resources."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from sfumato.database import Database
from sfumato.errors import OutputError, ParameterError, listed
from sfumato.io.atomic import write_text
from sfumato.io.fhir.bulk import FORM
from sfumato.io.fhir.paths import TABLES, ElementPath, further_paths, put
from sfumato.io.fhir.validation import faults_of

_ABSENT = "http://terminology.hl7.org/CodeSystem/data-absent-reason"


def write_fhir(
    database: Database,
    folder: str | Path,
    *,
    further: Mapping[str, Mapping[str, str]] | None = None,
    check: bool = True,
    overwrite: bool = False,
) -> list[Path]:
    """Write the tables of a FHIR database as bulk NDJSON, one file for each type of resource.

    further: the paths that were named when it was read. check: hold every resource against fhir.resources
    (extra `fhir`), as R4B, and write nothing if one is not valid.

    >>> people = sf.samples.fhir(3)
    >>> [path.name for path in sf.write_fhir(people, "bulk", check=False)][:2]
    ['Patient.ndjson', 'Encounter.ndjson']
    >>> sf.scan_database("bulk").people.count
    3
    """
    if not isinstance(database, Database) or database.form != FORM:
        raise ParameterError(
            "write_fhir takes a database that came from FHIR.", hint="sf.scan_database(folder)"
        )
    paths = further_paths(further)
    texts: dict[str, str] = {}
    faults: Counter[str] = Counter()
    for kind, name in TABLES.items():
        if name not in database.tables:
            continue
        lines = []
        for resource in resources(database, kind, paths[kind]):
            faults.update(f"{kind}.{fault}" for fault in (faults_of(resource) if check else ()))
            lines.append(json.dumps(resource, ensure_ascii=False, separators=(",", ":")))
        texts[kind] = "\n".join([*lines, ""])
    if faults:
        said = [f"{what} ({n:,})" for what, n in faults.most_common()]
        raise OutputError(
            f"resources that are not valid FHIR: {listed(said, 20)}.", hint="nothing was written"
        )
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    return [write_text(target / f"{kind}.ndjson", text, overwrite=overwrite) for kind, text in texts.items()]


def resources(database: Database, kind: str, paths: tuple[ElementPath, ...]) -> Iterator[dict[str, Any]]:
    """The rows of a table as resources of a type."""
    table = database[TABLES[kind]]
    there = [p for p in paths if p.column in table.columns]
    absent = [p for p in paths if p.required and p not in there]
    codes = {p.path.removesuffix("code"): p.column for p in there if p.path.endswith(".code")}
    coded = {  # a system without its code says nothing
        p.column: codes[stem]
        for p in there
        if (stem := p.path.removesuffix("system")) in codes and stem != p.path
    }
    for batch in table.batches([p.column for p in there]):
        columns = [c.to_pylist() for c in batch.columns]
        for row in zip(*columns, strict=True):
            resource: dict[str, Any] = {"resourceType": kind}
            cells = dict(zip((p.column for p in there), row, strict=True))
            if cells.get("death_date") is not None:
                cells["deceased"] = None  # one of the two may stand there, and the date says more
            for path in there:
                if path.column not in coded or cells[coded[path.column]] is not None:
                    _write(resource, path, cells[path.column])
            for path in absent:
                _write(resource, path, None)
            yield resource


def _write(resource: dict[str, Any], path: ElementPath, value: object) -> None:
    if value is None:
        if path.required:
            put(resource, path.steps, "masked")
            put(resource, (*path.steps[:-1], ("system", "")), _ABSENT)
        return
    if path.target:
        value = f"{path.target}/{value}"
    elif isinstance(value, date):
        value = value.isoformat()
    put(resource, path.steps, value)
