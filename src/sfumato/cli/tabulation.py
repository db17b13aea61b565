"""tabulate, assess-tables: tables that may be published, and whether anyone's should have been."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.text import Text

from sfumato.cli.anonymization import Out, folders
from sfumato.cli.commands import Data, KeepText, Overwrite, ReadOptions, SchemaFile
from sfumato.cli.payment import (
    Against,
    LedgerOption,
    OtherPeople,
    SpendAgain,
    as_trusted,
    note_unaccounted,
    paying,
    require_payer,
)
from sfumato.cli.terminal import Terminal
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.release import Release
    from sfumato.seeds import Key


@dataclass(frozen=True)
class BesideOptions:
    """What is written beside the release."""

    workbook: Annotated[
        Path | None,
        typer.Option(
            "--workbook", metavar="FILE", help="Write a workbook, too: a sheet a table.", show_default=False
        ),
    ] = None
    page: Annotated[
        Path | None,
        typer.Option(
            "--page",
            metavar="FILE",
            help="Write an internal page (HTML) that shows which cells are withheld, and why.",
            show_default=False,
        ),
    ] = None

    def require_place(self, overwrite: bool) -> None:
        """That both would find their place."""
        from sfumato.io.atomic import require_place

        for file in (self.workbook, self.page):
            if file is not None:
                require_place(file, overwrite=overwrite)

    def write(self, release: Release, overwrite: bool) -> None:
        """Write what was asked for."""
        from sfumato.tabulation.sheets import write_pattern_page, write_workbook

        if self.workbook is not None:
            write_workbook(release, self.workbook, overwrite=overwrite)
        if self.page is not None:
            write_pattern_page(release, self.page, overwrite=overwrite)


def tabulate(
    terminal: Terminal,
    reading: ReadOptions,
    beside: BesideOptions,
    data: Data,
    out: Out,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="suppress: withhold cells. round: to multiples of --base. keys: move counts by cell keys. "
            "noise: under an epsilon.",
        ),
    ] = "suppress",
    settings: dict[str, Any] | None = None,
    keys_of: Annotated[
        Path | None,
        typer.Option(
            "--keys-of",
            metavar="RELEASE",
            help="For --method keys: the same people get the same counts as there.",
            show_default=False,
        ),
    ] = None,
    format_: Annotated[str, typer.Option("--format", metavar="NAME", help="parquet, csv or xlsx.")] = "csv",
    ledger: LedgerOption = None,
    against: Against = None,
    other_people: OtherPeople = False,
    spend_again: SpendAgain = False,
    schema: SchemaFile = None,
    keep_text: KeepText = False,
    overwrite: Overwrite = False,
) -> int:
    """Count tables and withhold or change what would give people away, from all of them together.

    Cells are withheld until an attacker, who reads all tables, finds nothing; before that nothing is written.
    """
    from sfumato.cli.method_options import step_of
    from sfumato.plan.command import paid_for
    from sfumato.plan.production import produce
    from sfumato.plan.workplace import left_behind
    from sfumato.release import Release

    step = step_of("tabulate", method, settings or {})
    spending = step.spends()
    key = _key(keys_of) if keys_of is not None else None
    if key is not None and method != "keys":
        raise ParameterError("--keys-of is for cell keys.", hint="--method keys")
    if ledger is None or not left_behind(out):  # else a command that was stopped is finished
        Release.require_place(out, overwrite=overwrite)
    beside.require_place(overwrite)
    book = paying(ledger, against)
    table = as_trusted(reading.scan(data, schema, keep_text=keep_text), book)
    if book is not None or spending.claimed:
        require_payer(book, data, table, other_people)
    if book is not None:
        release = paid_for(step, table, out, book, again=spend_again, overwrite=overwrite, format=format_)
    else:
        release = produce(step, table, key=key)
        release.save(out, overwrite=overwrite, format=format_)
    note_unaccounted(terminal, release.guarantee)
    beside.write(release, overwrite)
    _say(terminal, release, out)
    return 0


def _key(previous: Path) -> Key:
    """The key of a release whose counts were moved by cell keys."""
    from sfumato.release import Release

    record = Release.load(previous).internal
    if record is None or record.key is None or "cell keys" not in record.extra:
        raise ParameterError(
            "that release has no cell keys, or its internal part is not there.",
            hint="--keys-of takes a release of --method keys, with internal/",
        )
    return record.key


def _say(terminal: Terminal, release: Release, out: Path) -> None:
    import json

    assert release.internal is not None
    cells = release.data.rows()
    extra = release.internal.extra
    if "suppression" in extra:
        found = extra["suppression"]["count"]
        proven = "the least there is" if found["gap"] == 0 else f"at most {found['gap']:.0%} above the least"
        said = [
            Text(f"Tables written to {out.name}: {found['withheld']:,} of {cells:,} cells withheld", "green"),
            Text(f"The cost is {proven}. The attacker, who reads all tables together, finds nothing."),
        ]
    else:
        said = [Text(f"Tables written to {out.name}. {release.about}", "green")]
        said += [Text(line, "yellow") for line in _warnings(extra)]
    terminal.result(
        [
            *said,
            Padding(Text(release.guarantee.text()), (1, 0, 1, 2)),
            *folders("what the cells were made of"),
        ],
        {
            "written": str(out), "cells": cells, **extra,
            "guarantee": json.loads(release.guarantee.to_json()),
        },
    )  # fmt: skip


def _warnings(extra: Mapping[str, Any]) -> list[str]:
    """What changed counts tell nevertheless."""
    if "private tables" in extra:
        return []
    audit = extra.get("cell keys")
    if audit is None:
        return ["Nothing is promised: sfumato assess-tables --base says what a reader can tell."]
    if audit["known"] is None:
        return ["Not examined: what totals and their parts tell together (too many cells)."]
    if audit["known"]:
        return [f"{audit['known']:,} small counts follow exactly from totals and their parts."]
    return []


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
    within: Annotated[
        int, typer.Option("--within", metavar="D", help="How far counts were moved at most; 0 if not.")
    ] = 0,
    total: Annotated[
        str, typer.Option("--total", metavar="TEXT", help="What stands for a total in a column of labels.")
    ] = "_T",
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
    risk = judge(
        table, by, minimum=minimum, count=count, base=base, zeros=not hidden_zeros, within=within, total=total
    )
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
