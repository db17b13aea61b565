"""schema declare, schema standards, schema find: where the domains of a schema come from."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.commands import Data, ReadOptions
from sfumato.cli.payment import (
    Against,
    LedgerOption,
    OtherPeople,
    SpendAgain,
    note_unaccounted,
    paying,
    require_payer,
)
from sfumato.cli.schemas import SchemaPath, write_declaration, write_schema
from sfumato.cli.terminal import Terminal
from sfumato.errors import OutputError, ParameterError, SchemaError, listed, printable

if TYPE_CHECKING:
    from sfumato.description.domain_search import DomainSearch, FoundDomains
    from sfumato.privacy.signatures import SigningKey
    from sfumato.schema import Schema
    from sfumato.table import Table

Columns = Annotated[
    list[str] | None,
    typer.Option("--column", "-c", metavar="NAME", help="A column; may be repeated.", show_default=False),
]


def declare(
    terminal: Terminal,
    schema: SchemaPath,
    by: Annotated[
        str, typer.Option("--by", metavar="NAME", help="Who answers for the domains.", show_default=False)
    ],
    reason: Annotated[
        str,
        typer.Option(
            "--reason",
            metavar="TEXT",
            help="What they were taken from: a form, a law, a code book.",
            show_default=False,
        ),
    ],
    column: Columns = None,
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="FILE", help="Sign it with this key of yours.", show_default=False),
    ] = None,
) -> None:
    """Say who answers for levels and edges that do not come from the data.

    Of one table, or of linked ones (database.toml; a column is then table.column).
    Without --column all domains that nobody answers for yet; one that was read off the data only if it is
    named, and signed. What is declared holds for the levels and edges as they are now: change them, and
    declare again. A promise rests on it if it is signed (--key; sfumato trust key makes one): anybody can
    write a name into a file.
    """
    from sfumato.io.declarations import is_declaration
    from sfumato.privacy.signatures import SigningKey
    from sfumato.schema import Schema

    signer = None if key is None else SigningKey.load(key)
    if is_declaration(schema):
        names, shown = _declared_tables(terminal, schema, by, reason, column, signer)
    else:
        before = Schema.read(schema)
        after = before.declare(by, reason, column, key=signer)
        names = [c.name for c in after if c != before[c.name]]
        if names:
            write_schema(terminal, schema, after)
        shown = {"": Schema.read(schema)}
    domains = f"{len(names)} domain{'s' * (len(names) != 1)}"
    signed = ", signed" if key is not None else ", UNSIGNED"
    said = "There was nothing to declare."
    if names:
        said = f"{domains} declared by {' '.join(by.split())}{signed}."
    terminal.result(
        [_origins(shown), Text(said, "green" if names and key is not None else "yellow")],
        {"schema": str(schema), "declared": names, "by": by, "reason": reason, "signed": key is not None},
    )
    if key is None:
        terminal.note(
            "nobody signed this, so no promise of differential privacy rests on it: anybody can write a name "
            f"into {schema.name}. The same command with --key FILE signs it; sfumato trust key makes a key."
        )
    else:
        terminal.note("name and key stand in every guarantee that rests on these domains.")


def _declared_tables(
    terminal: Terminal, path: Path, by: str, reason: str, columns: list[str] | None, key: SigningKey | None
) -> tuple[list[str], dict[str, Schema]]:
    """The domains of all tables of a database.toml, or of those columns (table.column) that are named."""
    from sfumato.io.declarations import read_declaration, with_schemas

    document = read_declaration(path)
    before = _schemas(document)
    unknown = [c for c in columns or () if c.partition(".")[0] not in before]
    if unknown:
        raise SchemaError(
            f"no table is declared of {listed([repr(c) for c in unknown])}.", hint="--column table.column"
        )
    after = {}
    for name, schema in before.items():
        own = None if columns is None else [c.partition(".")[2] for c in columns if c.startswith(f"{name}.")]
        after[name] = schema if own == [] else schema.declare(by, reason, own, key=key)
    names = [f"{n}.{c.name}" for n, schema in after.items() for c in schema if c != before[n][c.name]]
    if names:
        write_declaration(terminal, path, with_schemas(document, after))
    written: dict[str, Schema] = {
        f"{n}.": e["columns"] for n, e in read_declaration(path)["tables"].items() if e.get("columns")
    }
    return names, written


def standards(terminal: Terminal) -> None:
    """List the public code lists that a schema can name: standard = "months"."""
    from sfumato.schema import STANDARDS

    grid = Grid.grid(padding=(0, 2, 0, 0))
    for name in ("name", "kind", "size", "source"):
        grid.add_column(name)
    for one in STANDARDS.values():
        grid.add_row(Text(one.name, "bold"), f"{one.kind} ({one.type})", str(one.size), Text(one.source))
    plain = [
        {"name": s.name, "kind": s.kind, "type": s.type, "size": s.size, "source": s.source}
        for s in STANDARDS.values()
    ]
    terminal.result(grid, {"standards": plain})


def find(
    terminal: Terminal,
    reading: ReadOptions,
    schema: SchemaPath,
    data: Data,
    column: Columns = None,
    epsilon: Annotated[float, typer.Option("--epsilon", metavar="E", help="For each column.")] = 0.5,
    delta: Annotated[float, typer.Option("--delta", metavar="D", help="For each column with levels.")] = 1e-9,
    other: Annotated[
        str, typer.Option("--other", metavar="LEVEL", help="What values are read as that are not found.")
    ] = "other",
    bins: Annotated[int, typer.Option("--bins", metavar="N", help="Of numbers and days, at most.")] = 10,
    grid: Annotated[
        str | None,
        typer.Option("--grid", metavar="A,B,...", help="Public marks for numbers.", show_default=False),
    ] = None,
    max_rows_per_person: Annotated[
        int, typer.Option("--max-rows-per-person", metavar="L", help="A public number: rows that count.")
    ] = 1,
    rows: Annotated[bool, typer.Option("--rows", help="Promise to rows, though there are persons.")] = False,
    ledger: LedgerOption = None,
    against: Against = None,
    other_people: OtherPeople = False,
    spend_again: SpendAgain = False,
    by: Annotated[
        str, typer.Option("--by", metavar="NAME", help="Who signs what was found.", show_default=False)
    ] = "",
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="FILE", help="Sign it with this key of theirs.", show_default=False),
    ] = None,
) -> None:
    """Find levels and bounds in the data with a part of the budget, and write them into the schema.

    Values that many have are kept, all others are read as one level. Every promise that rests on the schema
    then states what finding them cost. The ledger seals what was found: a promise rests on it where that
    ledger is given, or where the key that signed it is trusted.
    Of linked tables (database.toml) those of one table at a time, as table.column; persons are counted
    through its parents.
    """
    from sfumato.description.domain_search import DomainSearch
    from sfumato.io.declarations import is_declaration
    from sfumato.plan.command import searched
    from sfumato.release.kept import kept
    from sfumato.schema import Schema

    marks = None if grid is None else _marks(grid)
    search = DomainSearch(
        epsilon, delta, other, bins, marks, max_rows_per_person, persons=False if rows else None
    )
    signer = _signer(by, key)
    linked = is_declaration(schema)
    if linked:
        if rows:
            raise ParameterError("a promise about linked tables is to persons.", hint="leave out --rows")
        prefix, names = _of_one_table(schema, column, search)
        table, persons = _with_persons(schema, data, prefix)
        write = partial(_write_table, terminal, prefix)
    else:
        prefix, wanted = "", Schema.read(schema)
        names = column or [c.name for c in wanted if not c.declared and search.can_find(c)]
        write = partial(write_schema, terminal)
    if not os.access(schema.resolve().parent, os.W_OK):  # before anything is spent
        raise OutputError(f"'{schema.name}' cannot be written where it is.", hint="copy it elsewhere")
    book = paying(ledger, against)
    if not linked:
        persons = table = reading.scan(data, wanted)
    require_payer(book, data, persons, other_people)
    if book is not None:
        found = searched(
            search, table, names, schema, book, write, again=spend_again, signer=signer, linked=linked
        )
    else:
        found = search.find(table, names)
        found = found if signer is None else found.signed(*signer)
        kept(lambda path: write(path, found.schema), schema)
    _tell(terminal, schema, found, prefix, borne_out=book is not None or signer is not None)


def _of_one_table(path: Path, columns: list[str] | None, search: DomainSearch) -> tuple[str, list[str]]:
    """The table whose columns are named, or the only one with open ones; and the columns."""
    from sfumato.io.declarations import read_declaration

    every = {n: e["columns"] for n, e in read_declaration(path)["tables"].items() if e.get("columns")}
    if columns:
        asked = [c.partition(".")[::2] for c in columns]
        names = sorted({table for table, _ in asked})
        unknown = [repr(f"{t}.{c}") for t, c in asked if t not in every or c not in every[t]]
        if unknown:
            raise SchemaError(f"no column {listed(unknown)} is declared.", hint="--column table.column")
        chosen = [c for _, c in asked]
    else:
        open_ = {
            n: found for n, schema in every.items()
            if (found := [c.name for c in schema if not c.declared and search.can_find(c)])
        }  # fmt: skip
        names, chosen = sorted(open_), next(iter(open_.values()), [])
    if len(names) != 1:
        many = f"{listed([repr(n) for n in names])} have columns to find" if names else "no column is open"
        raise ParameterError(f"{many}.", hint="name those of one table: --column table.column")
    return names[0], chosen


def _with_persons(path: Path, data: str, name: str) -> tuple[Table, Table]:
    """The rows of a table with whose they are, and the table of persons."""
    from sfumato.database import with_person
    from sfumato.io.databases import scan_database

    database = scan_database(data, path)
    database.require([name])
    return with_person(database, name), database[database.root]


def _write_table(terminal: Terminal, table: str, path: Path, schema: Schema) -> None:
    """Put what one table's columns mean into the file that declares all tables."""
    from sfumato.io.declarations import read_declaration, with_schemas
    from sfumato.schema import Schema

    document = read_declaration(path)
    own = document["tables"][table]["columns"]
    kept = Schema(tuple(c for c in schema if c.name in own))  # without the number of the person
    write_declaration(terminal, path, with_schemas(document, {**_schemas(document), table: kept}))


def _schemas(document: Mapping[str, Any]) -> dict[str, Schema]:
    return {n: e["columns"] for n, e in document["tables"].items() if e.get("columns") is not None}


def _tell(terminal: Terminal, schema: Path, found: FoundDomains, table: str, *, borne_out: bool) -> None:
    prefix = f"{table}." if table else ""
    note_unaccounted(terminal, found.guarantee)
    if not borne_out:
        terminal.note(
            "no ledger has sealed this, and nobody signed it: no promise rests on it where it is read from "
            f"{schema.name}. --ledger, or --by and --key, mend that."
        )
    terminal.result(
        [
            _origins({prefix: found.schema.select(found.columns)}),
            Text(f"Domains found: {len(found.columns)}. They are in {schema.name}.", "green"),
            Padding(Text(found.guarantee.text()), (1, 0, 1, 2)),
        ],
        {
            "schema": str(schema),
            "found": {f"{prefix}{n}": found.schema[n].size for n in found.columns},
            "thresholds": found.thresholds,
            "guarantee": json.loads(found.guarantee.to_json()),
        },
    )


def _signer(by: str, key: Path | None) -> tuple[str, SigningKey] | None:
    from sfumato.privacy.signatures import SigningKey

    if bool(by.strip()) != (key is not None):
        raise ParameterError("a signature has a name and a key.", hint="--by NAME --key FILE")
    return None if key is None else (by, SigningKey.load(key))


def _marks(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError("the grid is a list of numbers.", hint="--grid 0,50,100") from None


def _origins(schemas: Mapping[str, Schema]) -> Grid:
    """Who answers for what. schemas: by what the columns of each are named with."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    for prefix, schema in schemas.items():
        for column in schema:
            if column.declared:
                grid.add_row(Text(printable(prefix + column.name)), Text(printable(column.origin)))
    return grid
