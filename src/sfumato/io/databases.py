"""Read several tables with keys: a folder of files, a DuckDB file, a database by its URL, frames by name.

`database.toml` in the folder, or named by `schema`, says which tables there are and how they hang together;
without one it is guessed, and every guess has its reason.
"""

from __future__ import annotations

import os
import tomllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.database import Database, Link, discover
from sfumato.errors import DataError, ParameterError, SchemaError, SfumatoError, SfumatoWarning, listed
from sfumato.io.addresses import is_url, local_path
from sfumato.io.engines import table_names
from sfumato.io.files import FORMATS
from sfumato.schema import Schema
from sfumato.schema.toml import column_from_dict, column_to_dict
from sfumato.table import Table

DECLARATION = "database.toml"
VERSION = 1
_TABLE_KEYS = {"data", "key", "persons", "columns"}


def scan_database(
    data: object,
    schema: str | Path | None = None,
    *,
    links: Sequence[Link | tuple[str, str]] = (),
    tables: Sequence[str] | None = None,
    keep_text: bool = False,
    check: bool = True,
    **reading: object,
) -> Database:
    """A database over data wherever it is.

    data: a folder of files (each a table, called as its file is), a DuckDB file or a database URL, or frames
        and paths by name: {"patients": frame, "stays": "stays.parquet"}.
    schema: a TOML file that declares tables, keys and links; by default database.toml of the folder, if it is
        there. What it does not say is guessed from names, values that occur once, and containment.
    links: further links, as ("stays.patient_id", "patients.patient_id"); the second is a key.
    tables: read these only.
    check: refuse a database whose keys do not hold, with every difference; False leaves that to `check()`.
    reading: how the files are written, as for `scan`: separator, decimal, encoding, dates, missing.

    >>> import pyarrow as pa
    >>> db = sf.scan_database(
    ...     {
    ...         "patients": pa.table({"patient_id": ["p1", "p2"], "sex": ["f", "m"]}),
    ...         "stays": pa.table({"stay_id": [1, 2, 3], "patient_id": ["p1", "p1", "p2"]}),
    ...     }
    ... )
    >>> db
    Database(patients, stays; 1 links)
    >>> db.links[0].place, db.links[0].target
    ('stays.patient_id', 'patients.patient_id')
    """
    declared = _declaration(data, schema)
    sources = _sources(data, declared, tables)
    read = _scanned(sources, declared, keep_text, reading)
    known = [*_declared_links(declared), *(k if isinstance(k, Link) else Link.of(*k) for k in links)]
    apart = [
        n for n, entry in declared.get("tables", {}).items() if entry.get("persons") is False and n in read
    ]
    if declared:
        keys = {n: e["key"] for n, e in declared["tables"].items() if "key" in e and n in read}
        kept = [k for k in known if k.child in read and k.parent in read] if tables is not None else known
        found = Database(read, tuple(kept), keys, frozenset(apart))
    else:
        guessed = discover(read, known=known, apart=apart)
        described = {n: t.with_schema(guessed.schemas[n]) for n, t in read.items()}
        found = Database(described, guessed.links, guessed.keys, guessed.apart)
    if not check:
        return found
    found.check()
    for difference in found.differences:
        warnings.warn(f"{difference}.", SfumatoWarning, stacklevel=2)
    return found


def database_toml(database: Database, data: Mapping[str, str] | None = None) -> str:
    """What `scan_database` reads back: tables, keys, links, and what the columns mean."""
    import tomli_w

    tables: dict[str, Any] = {}
    for name, table in database.tables.items():
        entry: dict[str, Any] = {"data": data[name]} if data else {}
        if name in database.keys:
            entry["key"] = database.keys[name]
        if name in database.apart:
            entry["persons"] = False
        entry["columns"] = {c.name: column_to_dict(c) for c in table.schema}
        tables[name] = entry
    links = [
        {"child": k.place, "parent": k.target, **({"reason": k.reason} if k.reason else {})}
        for k in database.links
    ]
    return tomli_w.dumps({"sfumato_database": VERSION, "links": links, "tables": tables})


# -- what was declared ---------------------------------------------------------------------------


def _declaration(data: object, schema: str | Path | None) -> dict[str, Any]:
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


def _faults(document: dict[str, Any]) -> list[str]:
    if document.get("sfumato_database") != VERSION:
        return [f"sfumato_database must be {VERSION}"]
    tables, links = document.get("tables"), document.get("links", [])
    faults = [f"unknown key '{k}'" for k in document if k not in ("sfumato_database", "tables", "links")]
    if not isinstance(tables, dict) or not tables or not all(isinstance(t, dict) for t in tables.values()):
        return [*faults, "there are no [tables.NAME] tables"]
    for name, entry in tables.items():
        faults += [f"table '{name}': unknown key '{k}'" for k in entry if k not in _TABLE_KEYS]
        faults += [
            f"table '{name}': {k} must be text"
            for k in ("data", "key")
            if not isinstance(entry.get(k, ""), str)
        ]
        if not isinstance(entry.get("persons", True), bool):
            faults.append(f"table '{name}': persons must be true or false")
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
    return faults


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


def _declared_links(declared: Mapping[str, Any]) -> list[Link]:
    return [Link.of(k["child"], k["parent"], k.get("reason", "")) for k in declared.get("links", [])]


# -- where the tables are ------------------------------------------------------------------------


def _sources(
    data: object, declared: Mapping[str, Any], tables: Sequence[str] | None
) -> dict[str, Callable[..., Table]]:
    """How to scan each table, by its name."""
    if isinstance(data, Mapping):
        found: dict[str, tuple[Any, dict[str, Any]]] = {str(n): (d, {}) for n, d in data.items()}
    elif isinstance(data, (str, Path)):
        found = _addressed(str(data), declared)
    else:
        raise ParameterError(
            f"a database of type {type(data).__name__} cannot be read.",
            hint='give a folder, a database URL, or tables by name: {"patients": ..., "stays": ...}',
        )
    if declared:
        missing = [repr(n) for n in declared["tables"] if n not in found]
        further = [repr(n) for n in found if n not in declared["tables"]]
        faults = [f"not there: {listed(missing)}"] if missing else []
        if further and isinstance(data, Mapping):
            faults.append(f"not declared: {listed(further)}")
        if faults:
            raise DataError(
                f"tables differ from the declaration: {'; '.join(faults)}.", hint="correct either"
            )
        found = {n: found[n] for n in declared["tables"]}
    if tables is not None:
        unknown = [repr(n) for n in tables if n not in found]
        if unknown or not tables:
            raise DataError(f"no table {listed(unknown)}.", hint=f"there are {listed(list(found), 12)}")
        found = {n: found[n] for n in tables}
    return {n: _scanner(given, options) for n, (given, options) in found.items()}


def _scanner(given: object, options: Mapping[str, Any]) -> Callable[..., Table]:
    from sfumato.io import scan

    def read(schema: Schema | None, reading: Mapping[str, Any]) -> Table:
        if isinstance(given, Table):
            return given if schema is None else given.with_schema(schema)
        written = {} if options or not isinstance(given, (str, Path)) else _meant(given, reading)
        chosen = None if schema is None else schema.names
        return scan(given, schema, columns=chosen, keep_text=True, **options, **written)

    return read


def _meant(path: str | Path, reading: Mapping[str, Any]) -> dict[str, Any]:
    """What was said of text files is meant for those only."""
    return dict(reading) if str(path).lower().endswith(FORMATS["csv"].suffixes) else {}


def _addressed(data: str, declared: Mapping[str, Any]) -> dict[str, tuple[Any, dict[str, Any]]]:
    if is_url(data) and local_path(data) is None:
        return {_plain(n): (data, {"table": n}) for n in table_names(data)}
    path = Path(local_path(data) or data if is_url(data) else data)
    if path.is_file() and path.suffix in (".duckdb", ".ddb"):
        url = f"duckdb:///{path}" if not path.is_absolute() else f"duckdb:////{str(path).lstrip('/')}"
        return {_plain(n): (url, {"table": n}) for n in table_names(url)}
    if not path.is_dir():
        raise DataError(
            f"'{path.name}' is not a folder of tables.", hint="give a folder, a DuckDB file or a database URL"
        )
    if declared:
        places = {n: path / e["data"] if "data" in e else None for n, e in declared["tables"].items()}
        there = table_files(path)
        return {
            n: (str(p), {})
            for n, q in places.items()
            if (p := q or there.get(n)) is not None and os.path.exists(p)
        }
    found: dict[str, tuple[Any, dict[str, Any]]] = {n: (str(f), {}) for n, f in table_files(path).items()}
    if not found:
        raise DataError(
            f"no tables in '{path.name}'.", hint="a file for each table: patients.csv, stays.parquet"
        )
    return found


def table_files(folder: Path) -> dict[str, Path]:
    """The tables of a folder by name: files of known formats, and folders of such files."""
    suffixes = tuple(s for f in FORMATS.values() for s in f.suffixes)
    found: dict[str, Path] = {}
    twice = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "_")):
            continue
        tabular = path.name.lower().endswith(suffixes)
        if path.is_dir() and not tabular:
            tabular = any(p.name.lower().endswith(suffixes) for p in path.iterdir())
        if not tabular:
            continue
        name = _plain(path.name.partition(".")[0])
        if name in found:
            twice.append(repr(name))
        found[name] = path
    if twice:
        raise DataError(
            f"several files are called alike: {listed(twice)}.", hint="keep one, or use database.toml"
        )
    return found


def _plain(name: str) -> str:
    """A name that a table may have: a dot would divide it from its column."""
    return "".join(c if c.isalnum() or c in "_-" else "_" for c in name) or "table"


def _scanned(
    sources: Mapping[str, Callable[..., Table]],
    declared: Mapping[str, Any],
    keep_text: bool,
    reading: Mapping[str, Any],
) -> dict[str, Table]:
    """Every table; what is wrong with any of them is said at once."""
    read: dict[str, Table] = {}
    faults = []
    for name, scanner in sources.items():
        said = declared.get("tables", {}).get(name, {}).get("columns")
        try:
            read[name] = scanner(said, reading)
        except SfumatoError as error:
            faults.append(f"{name}: {error.message.rstrip('.')}")
    if faults:
        raise DataError(f"{len(faults)} of {len(sources)} tables cannot be read: {'; '.join(faults)}.")
    return read if keep_text else {n: _without_text(n, t) for n, t in read.items()}


def _without_text(name: str, table: Table) -> Table:
    from sfumato.schema import Kind

    text = [c.name for c in table.schema if c.kind is Kind.TEXT]
    if not text or len(text) == len(table.columns):
        return table
    warnings.warn(
        f"{name}: free text dropped: {listed([repr(n) for n in text])}. keep_text=True keeps it.",
        SfumatoWarning,
        stacklevel=4,
    )
    return table.drop(text)
