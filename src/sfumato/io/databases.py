"""Read several tables with keys: a folder of files, a DuckDB file, a database by its URL, frames by name.

`database.toml` in the folder, or named by `schema`, says which tables there are and how they hang together;
an OMOP CDM and FHIR bulk data need none, since their standards say so; else it is guessed, and every guess
has its reason.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.counts import type_name
from sfumato.database import Database, Link, discover
from sfumato.database import mend as mend_database
from sfumato.errors import DataError, ParameterError, SfumatoError, SfumatoWarning, listed
from sfumato.io import omop
from sfumato.io.addresses import is_url, local_path
from sfumato.io.declarations import UNCONFIRMED, declaration_of, declared_links, declared_references
from sfumato.io.engines import table_names
from sfumato.io.fhir.bulk import bulk_database, read_bulk
from sfumato.io.fhir.ndjson import bulk_files, fhir_hint
from sfumato.io.files import FORMATS
from sfumato.schema import Column, Kind, Schema
from sfumato.table import Table


def scan_database(
    data: object,
    schema: str | Path | None = None,
    *,
    links: Sequence[Link | tuple[str, str]] = (),
    tables: Sequence[str] | None = None,
    without_persons: Sequence[str] = (),
    keep_text: bool = False,
    check: bool = True,
    mend: bool = False,
    **reading: object,
) -> Database:
    """A database over data wherever it is.

    data: a folder of files (each a table, called as its file is), a DuckDB file or a database URL, or frames
        and paths by name: {"patients": frame, "stays": "stays.parquet"}.
    schema: a TOML file that declares tables, keys and links; by default database.toml of the folder, if it is
        there. Without one an OMOP CDM (5.3, 5.4) and FHIR bulk data are recognized, and anything else guessed
        from names, values that occur once, and containment.
    links: further links, as ("stays.patient_id", "patients.patient_id"); the second is a key.
    tables: read these only.
    without_persons: tables that hold nobody and may leave as they are. One that others point to and that
        reaches no person is taken for such a table, but is in no release until it is named here or has
        persons = false in the TOML file.
    check: refuse a database whose keys do not hold, with every difference; False leaves that to `check()`.
    mend: leave out rows without a person and rows whose key came before, and empty ids that point to no row;
        every change is counted in a warning.
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
    declared = declaration_of(data, schema)
    if bulk_files(data):
        resources = read_bulk(str(data))
        if not declared:
            return _checked(bulk_database(resources), check, mend)
        data = resources
    sources = _sources(data, declared, tables)
    if not declared and (cdm := _recognized(sources, keep_text)) is not None:
        cdm, read = _scanned_cdm(cdm, sources, reading)
        found = omop.cdm_database(cdm, read)
        omop.warn(cdm, omop.concept_differences(cdm, found) if check else ())
        return _checked(found, check, mend)
    read = _scanned(sources, declared, keep_text, reading)
    known = [*declared_links(declared), *(k if isinstance(k, Link) else Link.of(*k) for k in links)]
    said = {n: e.get("persons") for n, e in declared.get("tables", {}).items() if n in read}
    apart = [n for n in read if said.get(n) is False or n in without_persons]
    open_ = [n for n, s in said.items() if s == UNCONFIRMED and n not in apart]
    if unknown := [repr(n) for n in without_persons if n not in read]:
        raise ParameterError(
            f"without_persons: no table {listed(unknown)}.", hint=f"there are {listed(list(read), 12)}"
        )
    if declared:
        keys = {n: e["key"] for n, e in declared["tables"].items() if "key" in e and n in read}
        kept = [k for k in known if k.child in read and k.parent in read] if tables is not None else known
        pointing = [
            r for r in declared_references(declared)
            if tables is None or (r.child in read and set(r.parents) <= set(read))
        ]  # fmt: skip
        found = Database(
            read, tuple(kept), keys, frozenset([*apart, *open_]), tuple(pointing), declared.get("form", ""),
            frozenset(open_),
        )  # fmt: skip
    else:
        guessed = discover(read, known=known, apart=apart)
        described = {n: t.with_schema(guessed.schemas[n]) for n, t in read.items()}
        found = Database(
            described, guessed.links, guessed.keys, guessed.apart, unconfirmed=guessed.apart - set(apart)
        )
    return _checked(found, check, mend)


def _checked(database: Database, check: bool, mended: bool) -> Database:
    """Mended if it was asked for; refused if its keys do not hold; what is odd and no obstacle is said."""
    if mended:
        database, changes = mend_database(database)
        if changes:
            warnings.warn(f"mended: {'; '.join(changes)}.", SfumatoWarning, stacklevel=3)
    if not check:
        return database
    database.check()
    for difference in database.differences:
        warnings.warn(f"{difference}.", SfumatoWarning, stacklevel=3)
    return database


# -- an OMOP CDM -----------------------------------------------------------------------------------


def _recognized(sources: Mapping[str, _TableSource], keep_text: bool) -> omop.Cdm | None:
    """The CDM that the tables are, by the names of tables and columns, and by the version it states."""
    if "person" not in {n.casefold() for n in sources}:
        omop.warn_of_nobody(list(sources))
        return None
    layouts, empty = _layouts({n: s for n, s in sources.items() if omop.is_known(n)})

    def stated(name: str, column: str) -> Table:
        return sources[name].read(_texts([column]), {})

    found = omop.recognized(layouts, keep_text, stated)
    if found is None:
        return None
    others = tuple(n for n in sources if not omop.is_known(n))  # nobody looks into them
    more = {"since there are no rows": tuple(empty)} if empty else {}
    return replace(found, omitted={**found.omitted, **more}, unknown=(*found.unknown, *others))


def _layouts(sources: Mapping[str, _TableSource]) -> tuple[dict[str, list[str]], list[str]]:
    """The columns of each table, and the files that hold a header and nothing else."""
    found, empty = {}, []
    for name, source in sources.items():
        try:
            found[name] = source.layout().names
        except DataError as error:
            if source.typed or not re.search(r"has no rows|is empty", error.message):
                raise
            empty.append(name)
    return found, empty


def _texts(names: Sequence[str]) -> Schema:
    return Schema(tuple(Column(n, Kind.NOMINAL, type="text") for n in names))


def _scanned_cdm(
    cdm: omop.Cdm, sources: Mapping[str, _TableSource], reading: Mapping[str, Any]
) -> tuple[omop.Cdm, dict[str, Table]]:
    """Every table by the meaning its columns have in the standard; all faults at once."""
    read, schemas, faults, hint = {}, {}, [], ""
    for table, name in cdm.tables.items():
        source = sources[name]
        try:
            schemas[table] = cdm.schema(table, _types(source, cdm.columns[table]), source.is_empty)
            read[name] = source.read(schemas[table], reading)
        except SfumatoError as error:
            faults.append(f"{name}: {error.message.removeprefix(f'{name}: ').rstrip('.')}")
            hint = hint or error.hint
    if faults:
        said = "; ".join(faults)
        raise DataError(f"{len(faults)} of {len(cdm.tables)} tables cannot be read: {said}.", hint=hint)
    return cdm.over(schemas), read


def _types(source: _TableSource, columns: Mapping[str, str]) -> dict[str, str]:
    """The types that columns have; of text files those that their first rows show, where frames left a trace.

    A day as 2020-03-01 00:00:00, a key as 7.0 beside empty cells: all else is as the standard says.
    """
    stored = source.layout()
    found = {c: type_name(stored.field(c).type) for c in columns.values()}
    if source.typed:
        return found
    days = {c for n, c in columns.items() if n.endswith("_date") and found[c] in ("datetime", "instant")}
    zoned = {c for n, c in columns.items() if n.endswith("_datetime") and found[c] == "instant"}
    keys = {c for n, c in columns.items() if n.endswith("_id") and found[c] == "real"}
    return {c: found[c] for c in days | zoned | keys}


# -- where the tables are ------------------------------------------------------------------------


def _sources(
    data: object, declared: Mapping[str, Any], tables: Sequence[str] | None
) -> dict[str, _TableSource]:
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
    return {n: _TableSource(given, options) for n, (given, options) in found.items()}


@dataclass(frozen=True)
class _TableSource:
    """Where one table is, and how it is read."""

    given: Any
    options: Mapping[str, Any]

    @property
    def typed(self) -> bool:
        """Whether its columns have types of their own; those of text files are found by looking."""
        return bool(self.options) or not isinstance(self.given, (str, Path)) or not _is_text(self.given)

    def layout(self) -> pa.Schema:
        """The columns as they are stored."""
        from sfumato.io import stored_schema

        if isinstance(self.given, Table):
            fields = self.given.source.arrow_schema
            return pa.schema([fields.field(n) for n in self.given.columns])
        return stored_schema(self.given, **self.options)

    def is_empty(self, column: str) -> bool:
        """Whether a column holds nothing but empty cells."""
        given = self.given.select([column]) if isinstance(self.given, Table) else None
        table = given if given is not None else self.read(_texts([column]), {})
        return all(batch.column(0).null_count == batch.num_rows for batch in table.batches([column]))

    def read(self, schema: Schema | None, reading: Mapping[str, Any]) -> Table:
        """The table. schema: what its columns mean; found by looking without one."""
        from sfumato.io import scan

        if isinstance(self.given, Table):
            return self.given if schema is None else self.given.select(schema.names).with_schema(schema)
        written = {} if self.typed else dict(reading)
        chosen = None if schema is None else schema.names
        return scan(self.given, schema, columns=chosen, keep_text=True, **self.options, **written)


def _is_text(path: str | Path) -> bool:
    return str(path).lower().endswith(FORMATS["csv"].suffixes)


def _addressed(data: str, declared: Mapping[str, Any]) -> dict[str, tuple[Any, dict[str, Any]]]:
    if is_url(data) and local_path(data) is None:
        return _named_tables(data)
    path = Path(local_path(data) or data if is_url(data) else data)
    if path.is_file() and path.suffix in (".duckdb", ".ddb"):
        url = f"duckdb:///{path}" if not path.is_absolute() else f"duckdb:////{str(path).lstrip('/')}"
        return _named_tables(url)
    if not path.is_dir():
        raise DataError(
            f"'{path.name}' is not a folder of tables.",
            hint=fhir_hint(path) or "give a folder, a DuckDB file or a database URL",
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
            f"no tables in '{path.name}'.",
            hint=fhir_hint(path) or "a file for each table: patients.csv, stays.parquet",
        )
    return found


def _named_tables(url: str) -> dict[str, tuple[Any, dict[str, Any]]]:
    """The tables of a database by plain names, without their schema; none is taken for another."""
    names = table_names(url)
    if not names:
        raise DataError(
            "no tables are found at this address.",
            hint="a schema of PostgreSQL is named by ?options=-csearch_path%3Dcdm (or %3Dcdm,vocabulary)",
        )
    found = {_plain(n.rpartition(".")[2]): (url, {"table": n}) for n in names}
    if len(found) < len(names):
        twice = sorted({repr(p) for p in found if sum(_plain(n.rpartition(".")[2]) == p for n in names) > 1})
        raise DataError(
            f"several tables are called alike: {listed(twice)}.",
            hint="rename one, or make a database of one schema",
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
    sources: Mapping[str, _TableSource],
    declared: Mapping[str, Any],
    keep_text: bool,
    reading: Mapping[str, Any],
) -> dict[str, Table]:
    """Every table; what is wrong with any of them is said at once."""
    read: dict[str, Table] = {}
    faults, hint = [], ""
    for name, source in sources.items():
        said = declared.get("tables", {}).get(name, {}).get("columns")
        try:
            read[name] = source.read(said, reading)
        except SfumatoError as error:
            faults.append(f"{name}: {error.message.rstrip('.')}")
            hint = hint or error.hint
    if faults:
        raise DataError(
            f"{len(faults)} of {len(sources)} tables cannot be read: {'; '.join(faults)}.", hint=hint
        )
    return read if keep_text else {n: _without_text(n, t) for n, t in read.items()}


def _without_text(name: str, table: Table) -> Table:
    text = [c.name for c in table.schema if c.kind is Kind.TEXT]
    if not text or len(text) == len(table.columns):
        return table
    warnings.warn(
        f"{name}: free text dropped: {listed([repr(n) for n in text])}. keep_text=True keeps it.",
        SfumatoWarning,
        stacklevel=4,
    )
    return table.drop(text)
