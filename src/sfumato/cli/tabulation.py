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
from sfumato.cli.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.release import Release
    from sfumato.tabulation import CellKeys, CellSuppression, ControlledRounding


@dataclass(frozen=True)
class ContentOptions:
    """What each cell shows beside its count."""

    of: Annotated[
        str | None,
        typer.Option(
            "--sum", metavar="COLUMN", help="Sum this column in every cell, too.", show_default=False
        ),
    ] = None
    means: Annotated[
        bool, typer.Option("--mean", help="Show the mean of the summed column, not its sum.")
    ] = False
    weight: Annotated[
        str | None,
        typer.Option(
            "--weight", metavar="COLUMN", help="Weights: counts and sums are weighted.", show_default=False
        ),
    ] = None


@dataclass(frozen=True)
class ProtectionOptions:
    """How cells are protected."""

    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="suppress: withhold cells. round: to multiples of --base. keys: move counts by cell keys.",
        ),
    ] = "suppress"
    effort: Annotated[
        str, typer.Option("--effort", metavar="NAME", help="fast, normal, or exact for small tables.")
    ] = "normal"
    cost: Annotated[
        str, typer.Option("--cost", metavar="NAME", help="What is kept low: cells, counts or 'log counts'.")
    ] = "cells"
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="S", help="Seconds of the processor to search.")
    ] = 50.0
    ranges: Annotated[bool, typer.Option("--ranges", help="Show small counts as 1-4, not as nothing.")] = (
        False
    )
    homogeneity: Annotated[
        str | None,
        typer.Option(
            "--homogeneity",
            metavar="COLUMN",
            help="Hide also that all of a group are in one category of this column.",
            show_default=False,
        ),
    ] = None
    base: Annotated[
        int, typer.Option("--base", metavar="B", help="What --method round rounds counts to multiples of.")
    ] = 3
    keys_of: Annotated[
        Path | None,
        typer.Option(
            "--keys-of",
            metavar="RELEASE",
            help="For --method keys: the same people get the same counts as there.",
            show_default=False,
        ),
    ] = None

    def chosen(self) -> CellSuppression | ControlledRounding | CellKeys:
        """The method these options name."""
        from sfumato.errors import ParameterError
        from sfumato.tabulation import CellSuppression, ControlledRounding

        if self.method == "suppress":
            return CellSuppression(
                effort=self.effort,  # type: ignore[arg-type]
                cost=self.cost,  # type: ignore[arg-type]
                time_limit=self.time_limit,
                ranges=self.ranges,
            )
        if self.method not in ("round", "keys"):
            raise ParameterError("--method is one of suppress, round, keys.", hint="--method suppress")
        if self.ranges:
            raise ParameterError("--ranges is for withheld cells.", hint="leave it out, or --method")
        return ControlledRounding(self.base) if self.method == "round" else _keys(self.keys_of)


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
    content: ContentOptions,
    protection: ProtectionOptions,
    beside: BesideOptions,
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
    format_: Annotated[str, typer.Option("--format", metavar="NAME", help="parquet, csv or xlsx.")] = "csv",
    schema: SchemaFile = None,
    keep_text: KeepText = False,
    overwrite: Overwrite = False,
) -> int:
    """Count tables and withhold what would give people away, from all of them together.

    Nothing is written before an attacker, who reads all tables, finds nothing.
    """
    from sfumato.release import Release
    from sfumato.tabulation import Homogeneity, MinimumCount, tabulate

    Release.require_place(out, overwrite=overwrite)
    beside.require_place(overwrite)
    method = protection.chosen()
    alike = Homogeneity(protection.homogeneity) if protection.homogeneity else None
    totals = [() if total == "all" else tuple(total.split(",")) for total in keep or []]
    table = reading.scan(data, schema, keep_text=keep_text)
    before = [Release.load(path) for path in earlier or []]
    release = tabulate(
        table, by, MinimumCount(minimum), method=method, of=content.of, means=content.means,
        weight=content.weight, homogeneity=alike, keep=totals, earlier=before,
    )  # fmt: skip
    release.save(out, overwrite=overwrite, format=format_)
    beside.write(release, overwrite)
    _say(terminal, release, out)
    return 0


def _keys(previous: Path | None) -> CellKeys:
    """Cell keys, new ones or those of a release."""
    from sfumato.errors import ParameterError
    from sfumato.release import Release
    from sfumato.tabulation import CellKeys

    if previous is None:
        return CellKeys()
    record = Release.load(previous).internal
    if record is None or record.key is None or "cell keys" not in record.extra:
        raise ParameterError(
            "that release has no cell keys, or its internal part is not there.",
            hint="--keys-of takes a release of --method keys, with internal/",
        )
    return CellKeys(key=record.key)


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
            *folders("the true cells, and why each is withheld"),
        ],
        {
            "written": str(out), "cells": cells, **extra,
            "guarantee": json.loads(release.guarantee.to_json()),
        },
    )  # fmt: skip


def _warnings(extra: Mapping[str, Any]) -> list[str]:
    """What changed counts tell nevertheless."""
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
