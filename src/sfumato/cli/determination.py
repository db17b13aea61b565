"""determination new, determination fill: the file for whoever decides that a release may leave."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from sfumato.cli.commands import Overwrite
from sfumato.cli.terminal import Terminal


def new(
    terminal: Terminal,
    out: Annotated[
        Path, typer.Argument(metavar="FILE", help="The TOML file to fill in.", show_default=False)
    ],
    overwrite: Overwrite = False,
) -> None:
    """Write the form: recipient, context, what they may know, sources of thresholds, signature."""
    from sfumato.io.atomic import write_text
    from sfumato.report.determination import template

    write_text(out, template(), overwrite=overwrite)
    words = f"The form is in {out.name}. Fill it in, then: sfumato determination fill {out.name} ..."
    terminal.result([Text(words, "green")], {"written": str(out)})


def fill(
    terminal: Terminal,
    said: Annotated[Path, typer.Argument(metavar="FILE", help="The form, filled in.", show_default=False)],
    report: Annotated[
        Path,
        typer.Option(
            "--report",
            metavar="FILE",
            help="The report.json of assess or of run, or the folder of a release that holds one.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="A .html, .md or .json file.", show_default=False),
    ],
    overwrite: Overwrite = False,
) -> None:
    """Put the numbers of a run beside what a person says, as a page to print and sign. It is internal."""
    from sfumato.report.determination import Said, determination, read_report

    words = Said.read(said)
    page = determination(words, read_report(report))
    page.save(out, overwrite=overwrite)
    draft = page.title.startswith("DRAFT")
    state = page.sections[0].prose[0] if draft else "Complete."
    terminal.result(
        [Text(f"Written to {out.name}. {state}", "yellow" if draft else "green")],
        {"written": str(out), "draft": draft, "open": words.missing},
    )
