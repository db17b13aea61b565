"""schema check, schema update: what the columns mean, against what they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.commands import Data, ReadOptions
from sfumato.cli.terminal import Terminal
from sfumato.errors import printable

_HEADING = (
    "# What was read off data says so in its provenance, and may hold values of single persons: keep this\n"
    "# file as safe as the data. `sfumato schema declare` says who answers for a domain from elsewhere.\n"
)

SchemaPath = Annotated[Path, typer.Argument(metavar="SCHEMA", help="A TOML file.", show_default=False)]


def check(terminal: Terminal, reading: ReadOptions, schema: SchemaPath, data: Data) -> int:
    """List everything in which data and schema differ; exit code 1 if they do."""
    from sfumato.description import check as compare
    from sfumato.description import scan_as
    from sfumato.schema import Schema

    wanted = Schema.read(schema)
    found = compare(scan_as(data, wanted, **reading.options()), wanted, name=schema.name)
    shown: list[RenderableType] = [found]
    if not found.ok:
        shown += ["", Text(f"Hint: {found.hint}")]
    terminal.result(shown, found.to_dict())
    terminal.values(dict(found.values))
    return 0 if found.ok else 1


def update(
    terminal: Terminal,
    reading: ReadOptions,
    schema: SchemaPath,
    data: Data,
    extend: Annotated[
        bool, typer.Option("--extend", help="Also widen declared domains; they are then read off the data.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the changes and write nothing.")] = False,
) -> None:
    """Write down what the data has and the schema lacks; makes the file if there is none.

    New columns, levels and bins are proposals, marked as read off the data. What a person declared stays.
    """
    from sfumato.description import changes, scan_as
    from sfumato.description import update as propose
    from sfumato.schema import Schema

    before = Schema.read(schema) if schema.exists() else None
    after = propose(before, scan_as(data, before, **reading.options()), extend=extend)
    found = changes(before, after)
    if found and not dry_run:
        write_schema(terminal, schema, after)
    verb = "would change" if dry_run else "changed"
    columns = f"{len(found)} column{'s' * (len(found) != 1)}"
    said = f"{columns} of {schema.name} {verb}." if before is not None else f"{schema.name}: {columns}."
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(overflow="fold")
    grid.add_column(overflow="fold")
    for change in found:
        grid.add_row(Text(printable(change.column)), Text(change.what))
    if not found:
        said = f"{schema.name} has it all already; it was not touched."
    plain = {
        "schema": str(schema),
        "written": bool(found) and not dry_run,
        "changes": [{"column": c.column, "what": c.what} for c in found],
    }
    terminal.result([grid, Text(said, "green")] if found else Text(said, "green"), plain)
    if found and not dry_run:
        terminal.note(
            "look at every column and correct it; sfumato schema declare says who answers for a domain that "
            "does not come from the data."
        )


def write_schema(terminal: Terminal, path: Path, schema: object) -> None:
    """Write a schema, atomically. Remarks of a person are lost, so a file with any is kept beside."""
    from sfumato.schema import Schema

    assert isinstance(schema, Schema)
    write_declaration(terminal, path, _HEADING + "\n" + schema.to_toml(), _HEADING)


def write_declaration(terminal: Terminal, path: Path, text: str, heading: str = "") -> None:
    """Write a file that a person may have remarked in; heading: remarks that are ours."""
    from sfumato.io.atomic import write_text

    if path.exists():
        old = path.read_text(encoding="utf-8")
        if any(line.lstrip().startswith("#") for line in old.removeprefix(heading).splitlines()):
            kept = path.with_name(f"{path.name}.bak")
            write_text(kept, old, overwrite=True)
            terminal.note(f"the remarks in {path.name} are not carried over; the old file is {kept.name}.")
    write_text(path, text, overwrite=True)
