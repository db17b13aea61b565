"""tabulate, assess-tables: tables that may be published, and whether anyone's should have been."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from sfumato.cli.anonymization import Out, folders
from sfumato.cli.commands import Data, KeepText, Overwrite, ReadOptions, SchemaFile
from sfumato.cli.terminal import Terminal

if TYPE_CHECKING:
    from sfumato.release import Release


def tabulate(
    terminal: Terminal,
    reading: ReadOptions,
    data: Data,
    out: Out,
    by: Annotated[
        list[str],
        typer.Option(
            "--by",
            metavar="COLUMNS",
            help="A table: area>county,age is by county within area, and age. May be repeated.",
            show_default=False,
        ),
    ],
    minimum: Annotated[
        int, typer.Option("--minimum", metavar="M", help="Counts of 1 to M - 1 people are sensitive.")
    ] = 5,
    of: Annotated[
        str | None,
        typer.Option(
            "--sum", metavar="COLUMN", help="Sum this column in every cell, too.", show_default=False
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="COLUMNS",
            help="Totals to be published in any case, by columns; 'all': the grand total. May be repeated.",
            show_default=False,
        ),
    ] = None,
    earlier: Annotated[
        list[Path] | None,
        typer.Option(
            "--earlier",
            metavar="RELEASE",
            help="Tables of the same people that were published before. May be repeated.",
            show_default=False,
        ),
    ] = None,
    effort: Annotated[
        str, typer.Option("--effort", metavar="NAME", help="fast, normal, or exact for small tables.")
    ] = "normal",
    cost: Annotated[
        str, typer.Option("--cost", metavar="NAME", help="What is kept low: cells, counts or 'log counts'.")
    ] = "cells",
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="S", help="Seconds of the processor to search.")
    ] = 50.0,
    format_: Annotated[str, typer.Option("--format", metavar="NAME", help="parquet, csv or xlsx.")] = "csv",
    schema: SchemaFile = None,
    keep_text: KeepText = False,
    overwrite: Overwrite = False,
) -> int:
    """Count tables and withhold what would give people away, from all of them together.

    Nothing is written before an attacker, who reads all tables, finds nothing.
    """
    from sfumato.release import Release
    from sfumato.tabulation import CellSuppression, MinimumCount, tabulate

    Release.require_place(out, overwrite=overwrite)
    method = CellSuppression(effort=effort, cost=cost, time_limit=time_limit)  # type: ignore[arg-type]
    totals = [() if total == "all" else tuple(total.split(",")) for total in keep or []]
    table = reading.scan(data, schema, keep_text=keep_text)
    before = [Release.load(path) for path in earlier or []]
    release = tabulate(table, by, MinimumCount(minimum), method=method, of=of, keep=totals, earlier=before)
    release.save(out, overwrite=overwrite, format=format_)
    _say(terminal, release, out)
    return 0


def _say(terminal: Terminal, release: Release, out: Path) -> None:
    import json

    assert release.internal is not None
    found = release.internal.extra["suppression"]["count"]
    cells = release.data.rows()
    proven = "the least there is" if found["gap"] == 0 else f"at most {found['gap']:.0%} above the least"
    terminal.result(
        [
            Text(f"Tables written to {out.name}: {found['withheld']:,} of {cells:,} cells withheld", "green"),
            Text(f"The cost is {proven}. The attacker, who reads all tables together, finds nothing."),
            Padding(Text(release.guarantee.text()), (1, 0, 1, 2)),
            *folders("the true cells, and why each is withheld"),
        ],
        {
            "written": str(out), "cells": cells, **release.internal.extra,
            "guarantee": json.loads(release.guarantee.to_json()),
        },
    )  # fmt: skip


def assess_tables(
    terminal: Terminal,
    reading: ReadOptions,
    data: Annotated[
        str,
        typer.Argument(metavar="TABLES", show_default=False, help="Published cells in long form: a file."),
    ],
    by: Annotated[
        list[str],
        typer.Option(
            "--by",
            metavar="COLUMNS",
            help="What a table is laid out by. May be repeated.",
            show_default=False,
        ),
    ],
    minimum: Annotated[
        int, typer.Option("--minimum", metavar="M", help="Counts of 1 to M - 1 people are sensitive.")
    ] = 5,
    count: Annotated[str, typer.Option("--count", metavar="NAME", help="The column of counts.")] = "count",
    base: Annotated[
        int, typer.Option("--base", metavar="B", help="What counts were rounded to; 1 if not.")
    ] = 1,
    hidden_zeros: Annotated[
        bool, typer.Option("--hidden-zeros", help="A withheld cell may be zero.")
    ] = False,
) -> int:
    """Attack tables, whoever made them: what can be told of withheld cells from all of them together?

    Cells are rows, with _T in the columns that a cell is a total over. A count may be a number, a range
    (1-4), a bound (<5); anything else is withheld. Exit code 1 if a small count is shown, or can be found.
    """
    from sfumato.assessment.tables import assess_tables as judge

    table = reading.scan(data, keep_text=True)
    risk = judge(table, by, minimum=minimum, count=count, base=base, zeros=not hidden_zeros)
    exact = sum(risk.faults["known"].to_pylist())
    verdict = "Nothing is given away" if risk.met else "These tables give small counts away"
    terminal.result(
        [
            Text(f"{verdict}.", "green" if risk.met else "bold red"),
            Text(f"{risk.shown:,} counts below {minimum} are shown."),
            Text(
                f"{risk.cells.num_rows:,} cells are not told as they are: {exact:,} of them are small and "
                f"known exactly, {risk.faults.num_rows - exact:,} more are small and narrowed."
            ),
            Text("Who is alone in a cell cannot be seen in a file, and was not tried as an attacker.", "dim"),
        ],
        {
            "met": risk.met, "shown": risk.shown, "cells": risk.cells.num_rows,
            "known": exact, "narrowed": risk.faults.num_rows - exact,
        },
    )  # fmt: skip
    return 0 if risk.met else 1
