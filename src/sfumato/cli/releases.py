"""pseudonymize, verify: what leaves the house."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.anonymization import Out
from sfumato.cli.commands import Data, KeepText, Mend, Overwrite, ReadOptions, SchemaFile
from sfumato.cli.databases import is_database, pseudonymize_database, refuse_mend
from sfumato.cli.exit_codes import NOT_TRUSTED
from sfumato.cli.signing import Trusted
from sfumato.cli.terminal import Terminal

_OUTCOMES = {
    "passed": ("✓", "green"), "failed": ("✗", "bold red"), "recorded": ("·", "yellow"),
    "warning": ("!", "yellow"),
    "not visible": ("·", "yellow"),
}  # fmt: skip


def pseudonymize(
    terminal: Terminal,
    reading: ReadOptions,
    data: Data,
    out: Out,
    method: Annotated[
        str, typer.Option("--method", "-m", metavar="NAME", help="One of sfumato methods pseudonymize.")
    ] = "pseudonymize",
    settings: dict[str, Any] | None = None,
    schema: SchemaFile = None,
    keep_text: KeepText = False,
    mend: Mend = False,
    overwrite: Overwrite = False,
) -> None:
    """Replace what names people by keyed pseudonyms, and write a release.

    The result is not anonymous. Its public/ may be given to whom personal data may be given; its
    internal/ holds the key and must not leave. Linked tables (a folder, a database) are replaced together, so
    that every join stays.
    """
    from sfumato.cli.method_options import step_of
    from sfumato.plan.production import Surroundings, produce
    from sfumato.release import Release

    step = step_of("pseudonymize", method, settings or {})
    step.build()
    if schema is None and is_database(data, reading.table):
        pseudonymize_database(terminal, step, data, out, keep_text=keep_text, mend=mend, overwrite=overwrite)
        return
    refuse_mend(mend)
    Release.require_place(out, overwrite=overwrite)  # before the data is read
    table = reading.scan(data, schema, keep_text=keep_text)
    if schema is None:
        terminal.note(
            "the roles of the columns were guessed. Look at them with sfumato describe; a schema makes sure."
        )
    release = produce(step, table, Surroundings(keep_text=keep_text))
    release.save(out, overwrite=overwrite)
    plain = {"written": str(out), "columns": list(release.columns), "guarantee": _claims(release.guarantee)}
    terminal.result(
        [
            Text(f"Release written to {out.name}: {len(release.columns)} columns.", "green"),
            Padding(Text(release.guarantee.text()), (1, 0, 1, 2)),
            Text.assemble(
                ("public/", "bold"), "    the data, its schema, the guarantee, a card in plain words"
            ),
            Text.assemble(("internal/", "bold"), "  the key and the record: must not leave"),
        ],
        plain,
    )


def _claims(guarantee: object) -> object:
    import json

    from sfumato.privacy import Guarantee

    assert isinstance(guarantee, Guarantee)
    return json.loads(guarantee.to_json())


def verify(
    terminal: Terminal,
    target: Annotated[
        Path,
        typer.Argument(
            metavar="TARGET", help="A release, its public part, or a signed document.", show_default=False
        ),
    ],
    every: Annotated[
        bool, typer.Option("--all", help="A line for each check, also those that passed.")
    ] = False,
    trusted: Trusted = None,
    log: Annotated[
        str | None,
        typer.Option(
            "--log", metavar="LOG", show_default=False,
            help="The log of what was released, a file or a URL; only signatures count that are in it.",
        ),
    ] = None,
    purpose: Annotated[
        str, typer.Option("--as", metavar="WHAT", help="What a document is: determination, claim or package.")
    ] = "determination",
    guests: Annotated[
        bool,
        typer.Option(
            "--guests", help="Let installed packages count again what they claim; loads their code."
        ),
    ] = False,
) -> int:  # fmt: skip
    """Check a release: its files, signatures, data and claims; or the signature of a document.

    Exit code 0 if it is authentic, 1 if it is altered, 3 if it is whole but not signed by anyone you trust.
    Without --trusted the trust file at its usual place says whom you trust. A draft stays a draft, and the
    last line says that it is one.
    """
    from sfumato.release import Standing
    from sfumato.release import verify as recount
    from sfumato.release.document import verify_document

    if target.is_file():
        found = verify_document(target, trusted=trusted or None, log=log, purpose=purpose)
    else:
        found = recount(target, trusted=trusted or None, log=log, guests=guests)
    plain = {
        "ok": found.ok,
        "standing": str(found.standing),
        "signers": list(found.signers),
        "doubts": list(found.doubts),
        "draft": found.draft or None,
        "checks": [
            dict(zip(("outcome", "subject", "how", "detail"), row, strict=True)) for row in found.rows()
        ],
    }
    grid = _lines(found.rows() if every else _gathered(found.rows()))
    colours = {Standing.AUTHENTIC: "bold green", Standing.WHOLE: "bold yellow", Standing.ALTERED: "bold red"}
    colour = "bold yellow" if found.draft and found.ok else colours[found.standing]
    terminal.result([grid, "", Text(found.verdict, colour)], plain)
    return {Standing.AUTHENTIC: 0, Standing.WHOLE: NOT_TRUSTED, Standing.ALTERED: 1}[found.standing]


Row = tuple[str, str, str, str]


def _gathered(rows: list[Row]) -> list[Row]:
    """What passed, gathered by how it was looked at; what did not, one by one."""
    passed: dict[str, list[str]] = {}
    for outcome, subject, how, _ in rows:
        if outcome == "passed":
            passed.setdefault(how, []).append(subject)
    short = [
        ("passed", how, subjects[0] if len(subjects) == 1 else f"{len(subjects)} passed", "")
        for how, subjects in passed.items()
    ]
    return [*short, *(r for r in rows if r[0] != "passed")]


def _lines(rows: list[Row]) -> Grid:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_column(overflow="fold", style="dim")
    for outcome, subject, how, detail in rows:
        sign, colour = _OUTCOMES.get(outcome, ("?", ""))
        words = how if outcome == "passed" else f"{outcome}: {detail or how}"
        name = subject.replace("\n", "\\n")  # a name in somebody else's manifest is one line
        grid.add_row(Text(sign, colour), Text(name, colour if outcome == "failed" else ""), Text(words))
    return grid
