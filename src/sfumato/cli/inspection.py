"""describe, counts, convert: looking at data, and taking it elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.commands import Data, KeepText, Overwrite, ReadOptions, SchemaFile
from sfumato.cli.databases import convert_database, describe_database, is_database
from sfumato.cli.terminal import Terminal
from sfumato.errors import printable

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.counts import Counts


def describe(
    terminal: Terminal,
    reading: ReadOptions,
    data: Data,
    schema: SchemaFile = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write it as a page.", show_default=False),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Say what the columns are, and how much they give away: each alone, and together.

    Shows names and numbers only, no value of a cell. Several tables in a folder are shown with their links.
    """
    if schema is None and is_database(data, reading.table):
        describe_database(terminal, data, html, overwrite)
        return
    from sfumato.description import describe as look
    from sfumato.io.atomic import write_text
    from sfumato.schema import Schema

    known = None if schema is None else Schema.read(schema)
    columns = None if known is None else known.names
    found = look(reading.scan(data, known, columns=columns, keep_text=True))
    if html is not None:
        page = f"<!doctype html><meta charset='utf-8'><title>Description</title>{found._repr_html_()}"
        write_text(html, page, overwrite=overwrite)
    terminal.result(found, found.to_dict())


def counts(
    terminal: Terminal,
    reading: ReadOptions,
    data: Data,
    columns: Annotated[
        list[str], typer.Argument(metavar="COLUMN...", help="The columns to cross.", show_default=False)
    ],
    schema: SchemaFile = None,
    weight: Annotated[
        str | None, typer.Option("--weight", "-w", metavar="COLUMN", help="Sum these weights instead.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write them to a file.", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Cells shown, the largest first.")] = 40,
    overwrite: Overwrite = False,
) -> None:
    """Count how many rows have each combination of values.

    Shows values of the data: counts of the original are not made for publishing.
    """
    from sfumato.io import write
    from sfumato.schema import Schema

    known = None if schema is None else Schema.read(schema)
    wanted = list(dict.fromkeys([*columns, *([weight] if weight else [])]))
    if known is not None:
        known = known.select(wanted)
    counted = reading.scan(data, known, columns=wanted, keep_text=True).counts(*columns, weight=weight)
    cells = counted.to_arrow()
    if out is not None:
        write(cells, out, overwrite=overwrite)
        said = f"{counted.cells:,} cells written to {out.name}."
        terminal.result(Text(said, "green"), {"written": str(out), "cells": counted.cells})
        return
    largest = cells.sort_by([(cells.column_names[-1], "descending")])
    plain = {"columns": list(counted.columns), "total": counted.total, "cells": largest.to_pylist()}
    terminal.result([_cells(largest, limit), _summary(counted, limit)], plain)


def _cells(cells: pa.Table, limit: int) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in cells.column_names[:-1]:
        grid.add_column(Text(printable(name)), overflow="fold")
    grid.add_column(cells.column_names[-1], justify="right", no_wrap=True)
    for row in cells.slice(0, limit).to_pylist():
        *levels, n = row.values()
        number = f"{n:,}" if isinstance(n, int) else f"{n:,.2f}"
        grid.add_row(
            *(Text("missing", "dim") if v is None else Text(printable(str(v))) for v in levels), number
        )
    return grid


def _summary(counted: Counts, limit: int) -> Text:
    hidden = max(0, counted.cells - limit)
    more = f", {hidden:,} smaller ones not shown (--limit)" if hidden else ""
    return Text(f"{counted.cells:,} cells{more}; total {counted.total:,}", "dim")


def convert(
    terminal: Terminal,
    reading: ReadOptions,
    data: Data,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The new file; its suffix names the format.")],
    schema: SchemaFile = None,
    keep_text: KeepText = False,
    overwrite: Overwrite = False,
) -> None:
    """Write data in another format: CSV, Parquet, Arrow, Excel, SPSS, Stata, SAS transport.

    Linked tables that came from FHIR, such as a release of them, become a folder of bulk NDJSON again.
    """
    if schema is None and is_database(data, reading.table):
        convert_database(terminal, data, out, overwrite)
        return
    from sfumato.io import write

    table = reading.scan(data, schema, keep_text=keep_text)
    write(table, out, schema=table.schema, overwrite=overwrite)
    said = f"{len(table.columns)} columns written to {out.name}."
    terminal.result(Text(said, "green"), {"written": str(out), "columns": list(table.columns)})
