"""frontier: the map of risk and utility."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.assessment import (
    Control,
    QuasiIdentifiers,
    Sensitive,
    level_tables,
    open_data,
    open_like,
    refuse_existing,
    split_names,
)
from sfumato.cli.commands import Data, Overwrite, ReadOptions, SchemaFile
from sfumato.cli.exit_codes import INTERRUPTED
from sfumato.cli.scores import map_of
from sfumato.cli.terminal import Terminal


@dataclass(frozen=True)
class _Runs:
    """How the methods are run, and on which axes they are placed."""

    repeats: Annotated[int, typer.Option("--repeats", min=1, help="How often each setting is run.")] = 3
    risk: Annotated[
        str | None, typer.Option("--risk", metavar="NAME", help="A risk or attack score, by its name.")
    ] = None
    utility: Annotated[
        str | None, typer.Option("--utility", metavar="NAME", help="A utility score, by its name.")
    ] = None
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache", metavar="DIR", help="Keep results here; a stopped run goes on from them. Internal."
        ),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="Runs side by side; one for each core if not given."),
    ] = None
    stand_in: Annotated[
        str,
        typer.Option(
            "--stand-in", metavar="WORDS", help="What the data is, if it is not the confidential table."
        ),
    ] = ""


def frontier(
    terminal: Terminal,
    reading: ReadOptions,
    data: Data,
    *,
    schema: SchemaFile = None,
    control: Control = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            "--holdout",
            metavar="SHARE",
            min=0,
            max=0.9,
            help="Without a control, people set aside to be one; 0 for none. By default 0.2, or none where "
            "the table is too small.",
        ),
    ] = None,
    quasi_identifiers: QuasiIdentifiers = None,
    sensitive: Sensitive = None,
    hierarchies: Annotated[
        Path | None,
        level_tables("Level tables of the quasi-identifiers; suggested from the values if not given."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method", "-m", metavar="NAME", help="Place these instead, as sfumato methods lists them."
        ),
    ] = None,
    runs: _Runs,
    report: Annotated[
        list[Path] | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write the map: .html, .md, .json, or .parquet with all runs; may be repeated.",
        ),
    ] = None,
    overwrite: Overwrite = False,
) -> int:
    """Draw the map of risk and utility: methods with a small grid of settings, between two end posts.

    It is internal: settings that are chosen on the confidential table have learnt from it. Ctrl-C shows what
    was found until then, and writes it; with --cache it is kept there, and the same command goes on from it.
    """
    from sfumato.plan.map import frontier as draw
    from sfumato.plan.step import Step

    reports = report or []
    refuse_existing(overwrite, *reports, suffixes=".html .md .json .parquet")
    table = open_data(reading, data, schema)
    found = draw(
        table,
        None if not method else [Step(name) for name in method],
        hierarchies=hierarchies,
        control=None if control is None else open_like(reading, control, table),
        holdout=holdout,
        quasi_identifiers=split_names(quasi_identifiers),
        sensitive=split_names(sensitive),
        **asdict(runs),
    )
    if found.stopped and runs.cache is not None:
        reports = []  # the same command goes on from the cache, and must not find its report there already
        terminal.note("Stopped: no report was written. The same command goes on from the cache.")
    for path in reports:
        found.save(path, overwrite=overwrite)
    for note in found.notes:
        terminal.note(note)
    terminal.result(map_of(found, reports), found.to_dict())
    return INTERRUPTED if found.stopped else 0
