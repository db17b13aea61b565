"""synthesize: new rows that resemble the old ones, as a release with its promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.text import Text

from sfumato.cli.anonymization import Out, Seed
from sfumato.cli.commands import Data, Mend, Overwrite, ReadOptions, SchemaFile
from sfumato.cli.databases import is_database, refuse_mend, synthesize_database
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
    from sfumato.release import Release


def synthesize(
    terminal: Terminal,
    reading: ReadOptions,
    data: Data,
    out: Out,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="One of sfumato methods synthesize; private, where anything is asked of it.",
            show_default=False,
        ),
    ] = None,
    settings: dict[str, Any] | None = None,
    ledger: LedgerOption = None,
    against: Against = None,
    other_people: OtherPeople = False,
    spend_again: SpendAgain = False,
    seed: Seed = None,
    schema: SchemaFile = None,
    mend: Mend = False,
    overwrite: Overwrite = False,
) -> int:
    """Write a release of synthetic rows, with what it promises.

    The schema must say which values each column may have, and where they come from (sfumato schema declare).
    Only lugs and the methods of imputation, which promise no differential privacy, take them from the data.
    With neither schema nor method a plan is proposed that draws rows by imputation: it promises nothing, and
    makes a draft. A folder of linked tables gives persons with all their records (--method linked).
    """
    from sfumato.cli.method_options import step_of
    from sfumato.plan.production import PEOPLE

    if schema is None and is_database(data, reading.table):
        step = step_of("synthesize", method or PEOPLE, settings or {})
        return synthesize_database(
            terminal, step, data, out, book=paying(ledger, against), seed=seed, spend_again=spend_again,
            other_people=other_people, mend=mend, overwrite=overwrite,
        )  # fmt: skip
    refuse_mend(mend)
    from sfumato.plan.command import paid_for
    from sfumato.plan.production import produce
    from sfumato.plan.workplace import left_behind
    from sfumato.release import Release

    asked = {name: value for name, value in (settings or {}).items() if value not in (None, [], ())}
    if method is None and schema is None and ledger is None and seed is None and set(asked) <= {"rows"}:
        from sfumato.cli.drafts import synthesize_in_one

        return synthesize_in_one(terminal, reading, data, out, rows=asked.get("rows"), overwrite=overwrite)
    step = step_of("synthesize", method or "private", settings or {})
    if step.needs_rows:
        raise ParameterError("how many rows?", hint="--rows 1000")
    spending = step.spends()  # what is wrong with the settings is said before the data are read
    if ledger is None or not left_behind(out):  # else a command that was stopped is finished
        Release.require_place(out, overwrite=overwrite)  # before anything is spent
    book = paying(ledger, against)
    table = as_trusted(reading.scan(data, schema), book)
    if book is not None or spending.claimed:
        require_payer(book, data, table, other_people)
    if book is not None:
        release = paid_for(step, table, out, book, seed=seed, again=spend_again, overwrite=overwrite)
    else:
        release = produce(step, table, seed=seed)
        release.save(out, overwrite=overwrite)
    note_unaccounted(terminal, release.guarantee)
    _show(terminal, release, out)
    return 0


def _show(terminal: Terminal, release: Release, out: Path) -> None:
    """What was written, with its promise."""
    drawn = release.data.rows()
    plain = {
        "written": str(out),
        "rows": drawn,
        "columns": list(release.columns),
        "guarantee": json.loads(release.guarantee.to_json()),
    }
    terminal.result(
        [
            Text(f"{drawn:,} synthetic rows written to {out.name}: {len(release.columns)} columns.", "green"),
            Padding(Text(release.guarantee.text()), (1, 0, 1, 2)),
            Text.assemble(
                ("public/", "bold"), "    the rows, their schema, the guarantee, a card in plain words"
            ),
            Text.assemble(("internal/", "bold"), "  the key and the counts: must not leave"),
        ],
        plain,
    )
