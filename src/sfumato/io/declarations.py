"""`database.toml`: which tables there are, how they hang together, and what their columns mean.

sfumato_database = 1
form = "omop 5.4"                                  # the standard it follows, if it does

[[links]]
child = "stays.patient_id"
parent = "patients.patient_id"

[[references]]                                     # ids of one column that point to several tables
child = "cost.cost_event_id"
by = "cost_domain_id"
targets = { Drug = "drug_exposure" }

[tables.patients]
key = "patient_id"

[tables.wards]
persons = false                                    # "unconfirmed": guessed; left out until it says false
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.database import Database, Link, Reference
from sfumato.errors import SchemaError
from sfumato.io.addresses import is_url
from sfumato.schema import Schema
from sfumato.schema.toml import column_from_dict, column_to_dict

DECLARATION = "database.toml"
VERSION = 1
UNCONFIRMED = "unconfirmed"
_KEYS = ("sfumato_database", "form", "tables", "links", "references")
_TABLE_KEYS = {"data", "key", "persons", "columns"}


def database_toml(database: Database, data: Mapping[str, str] | None = None) -> str:
    """What `scan_database` reads back: tables, keys, links, and what the columns mean."""
    import tomli_w

    tables: dict[str, Any] = {}
    for name, table in database.tables.items():
        entry: dict[str, Any] = {"data": data[name]} if data else {}
        if name in database.keys:
            entry["key"] = database.keys[name]
        if name in database.apart:
            entry["persons"] = UNCONFIRMED if name in database.unconfirmed else False
        entry["columns"] = {c.name: column_to_dict(c) for c in table.schema}
        tables[name] = entry
    links = [
        {"child": k.place, "parent": k.target, **({"reason": k.reason} if k.reason else {})}
        for k in database.links
    ]
    form = {"form": database.form} if database.form else {}
    references = [{"child": r.place, "by": r.by, "targets": dict(r.targets)} for r in database.references]
    further = {"references": references} if references else {}
    return tomli_w.dumps({"sfumato_database": VERSION, **form, "links": links, **further, "tables": tables})


def declaration_of(data: object, schema: str | Path | None) -> dict[str, Any]:
    """What a file declares: the one that is named, or the one in the folder of the data; else nothing."""
    if schema is not None:
        return read_declaration(Path(schema))
    if isinstance(data, (str, Path)) and not (isinstance(data, str) and is_url(data)):
        path = Path(data) / DECLARATION
        if path.is_file():
            return read_declaration(path)
    return {}


def read_declaration(path: Path) -> dict[str, Any]:
    """A declared database, or all that is wrong with its file."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SchemaError(f"no file {path.name}.", hint="sfumato init FOLDER writes one") from None
    except (OSError, ValueError, RecursionError):
        raise SchemaError(f"{path.name} is not valid TOML.", hint="see docs/database.md") from None
    faults = _faults(document)
    if faults:
        raise SchemaError(f"{path.name}: {'; '.join(faults)}.", hint="see docs/database.md")
    return document


def is_declaration(path: Path) -> bool:
    """Whether a file declares a database, not one table."""
    try:
        return "sfumato_database" in tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False


def with_schemas(document: Mapping[str, Any], schemas: Mapping[str, Schema]) -> str:
    """The text of a declaration that was read, with other schemas of its tables."""
    import tomli_w

    tables = {
        name: {**entry, "columns": {c.name: column_to_dict(c) for c in schemas[name]}}
        if name in schemas
        else {k: v for k, v in entry.items() if v is not None}
        for name, entry in document["tables"].items()
    }
    return tomli_w.dumps({**document, "tables": tables})


def _faults(document: dict[str, Any]) -> list[str]:
    if document.get("sfumato_database") != VERSION:
        return [f"sfumato_database must be {VERSION}"]
    tables, links = document.get("tables"), document.get("links", [])
    faults = [f"unknown key '{k}'" for k in document if k not in _KEYS]
    if not isinstance(tables, dict) or not tables or not all(isinstance(t, dict) for t in tables.values()):
        return [*faults, "there are no [tables.NAME] tables"]
    for name, entry in tables.items():
        faults += [f"table '{name}': unknown key '{k}'" for k in entry if k not in _TABLE_KEYS]
        faults += [
            f"table '{name}': {k} must be text"
            for k in ("data", "key")
            if not isinstance(entry.get(k, ""), str)
        ]
        if not isinstance(entry.get("persons", True), bool) and entry["persons"] != UNCONFIRMED:
            faults.append(f"table '{name}': persons must be true or false, or \"{UNCONFIRMED}\"")
        try:
            entry["columns"] = _columns(entry.get("columns"), name)
        except SchemaError as error:
            faults.append(error.message.rstrip("."))
    if not isinstance(links, list) or not all(
        isinstance(k, dict) and {"child", "parent"} <= set(k) <= {"child", "parent", "reason"} for k in links
    ):
        return [*faults, "links must be a list of child and parent, each as table.column"]
    for i, link in enumerate(links):
        if any(not isinstance(v, str) or (k != "reason" and "." not in v) for k, v in link.items()):
            faults.append(f"link {i + 1}: child and parent are written table.column")
    if not isinstance(document.get("form", ""), str):
        faults.append("form must be text")
    return faults + _reference_faults(document.get("references", []))


def _reference_faults(references: object) -> list[str]:
    if not isinstance(references, list) or not all(
        isinstance(r, dict) and set(r) == {"child", "by", "targets"} for r in references
    ):
        return ["references must be a list of child, by and targets"]
    return [
        f"reference {i + 1}: child is written table.column, by is a column, targets are tables by value"
        for i, r in enumerate(references)
        if not isinstance(r["child"], str)
        or "." not in r["child"]
        or not isinstance(r["by"], str)
        or not isinstance(r["targets"], dict)
        or not all(isinstance(t, str) for t in r["targets"].values())
    ]


def _columns(columns: object, table: str) -> Schema | None:
    if columns is None:
        return None
    if not isinstance(columns, dict) or not all(isinstance(c, dict) for c in columns.values()):
        raise SchemaError(f"table '{table}': columns must be tables.")
    found, faults = [], []
    for name, entries in columns.items():
        try:
            found.append(column_from_dict(name, entries))
        except SchemaError as error:
            faults.append(error.message.rstrip("."))
    if faults:
        raise SchemaError(f"table '{table}': {'; '.join(faults)}.")
    return Schema(tuple(found))


def declared_links(declared: Mapping[str, Any]) -> list[Link]:
    """The links of a declaration."""
    return [Link.of(k["child"], k["parent"], k.get("reason", "")) for k in declared.get("links", [])]


def declared_references(declared: Mapping[str, Any]) -> list[Reference]:
    """The references of a declaration."""
    return [
        Reference(table, column, r["by"], r["targets"])
        for r in declared.get("references", [])
        for table, _, column in [r["child"].partition(".")]
    ]
