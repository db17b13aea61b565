"""Linked tables at the command line: what describe, init, run and assess do where the data are a database."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from sfumato.cli.payment import note_unaccounted, require_payer
from sfumato.cli.scores import shown, without_details
from sfumato.cli.terminal import Terminal
from sfumato.errors import DataError, ParameterError, SfumatoError, listed, printable

if TYPE_CHECKING:
    from sfumato.database import Database
    from sfumato.plan.step import Step
    from sfumato.privacy.ledger import Ledger
    from sfumato.release import DatabaseRelease


def is_database(data: str, table: str | None = None) -> bool:
    """Whether data are several tables: a declared folder, a database, or files of different columns.

    table: one that was named, and is then meant alone.
    """
    if table is not None:
        return False
    from sfumato.io.addresses import is_url, local_path
    from sfumato.io.engines import DATABASES, table_names

    if is_url(data) and local_path(data) is None:
        return data.partition("://")[0].lower().partition("+")[0] in DATABASES and len(table_names(data)) > 1
    from sfumato.io.fhir.ndjson import bulk_files, fhir_hint

    path = Path(local_path(data) or data) if is_url(data) else Path(data)
    if path.is_file():
        return path.suffix in (".duckdb", ".ddb") or bool(fhir_hint(path))
    if not path.is_dir():
        return False
    from sfumato.io.declarations import DECLARATION

    if bulk_files(path) or fhir_hint(path):
        return True
    public = path / "public"
    if (path / DECLARATION).is_file() or (public / DECLARATION).is_file():
        return True
    return _differ(path)


def _differ(folder: Path) -> bool:
    from sfumato.io import scan
    from sfumato.io.databases import table_files

    try:
        files = list(table_files(folder).values())
        if len(files) < 2 or any("=" in p.name for p in files):
            return False
    except SfumatoError:
        return False
    heads = set()
    for file in files:
        with suppress(SfumatoError):  # what is wrong with it is said when it is read
            heads.add(frozenset(scan(str(file), keep_text=True).source.arrow_schema.names))
    return len(heads) > 1


def opened(
    data: str, like: str | None = None, *, check: bool = False, keep_text: bool = True, mend: bool = False
) -> Database:
    """A database from a folder, an address, or a release. like: another one, whose declaration holds.

    check: refuse keys that do not hold, and say what is odd and no obstacle. mend: leave out what points
    nowhere, and say how much.
    """
    from sfumato.io.addresses import is_url
    from sfumato.io.databases import scan_database
    from sfumato.io.declarations import DECLARATION

    if is_url(data):
        return scan_database(data, check=check, keep_text=keep_text, mend=mend)
    inner = _inner(data)
    declared = None if like is None or (inner / DECLARATION).is_file() else Path(like) / DECLARATION
    schema = declared if declared is not None and declared.is_file() else None
    return scan_database(str(inner), schema, check=check, keep_text=keep_text, mend=mend)


def refuse_mend(mend: bool) -> None:
    """Where the data are one table, there are no links to mend."""
    if mend:
        raise ParameterError("--mend is for linked tables.", hint="give a folder of tables, or leave it out")


def _inner(data: str) -> Path:
    """The folder that holds the tables: of a release, its public part."""
    from sfumato.io.declarations import DECLARATION

    path = Path(data)
    return path / "public" if (path / "public" / DECLARATION).is_file() else path


def describe_database(terminal: Terminal, data: str, html: Path | None, overwrite: bool) -> None:
    """Tables, links with their reasons, and all differences; no value of a cell."""
    from sfumato.database import drawn, drawn_svg
    from sfumato.io.atomic import write_text

    found = opened(data)
    if html is not None:
        page = f"<!doctype html><meta charset='utf-8'><title>Tables and links</title>{drawn_svg(found)}"
        write_text(html, page, overwrite=overwrite)
    reasons = [f"{k}: {k.reason}" for k in found.links if k.reason]
    faults = [f"{'fault' if d.fatal else 'note'}: {d}" for d in found.differences]
    terminal.result(
        [
            Text(printable(drawn(found))), "",
            *(Padding(Text(printable(line)), (0, 0, 0, 2)) for line in reasons),
            *(Text(printable(line), "bold red" if line.startswith("fault") else "yellow") for line in faults),
            Text("" if faults else "Every key holds: nothing dangles, nothing repeats.", "green"),
        ],
        {
            "tables": {n: {"rows": t.rows(), "columns": list(t.columns)} for n, t in found.tables.items()},
            "links": [{"child": k.place, "parent": k.target, "reason": k.reason} for k in found.links],
            "persons": found.people.count if not any(d.fatal for d in found.differences) else None,
            "differences": [{"where": d.where, "what": d.what, "fatal": d.fatal} for d in found.differences],
        },
    )  # fmt: skip


def init_database(terminal: Terminal, data: str, out: Path, force: bool) -> None:
    """Write database.toml and plan.toml beside each other; every guess with its reason."""
    from sfumato.database import drawn
    from sfumato.io.addresses import is_url
    from sfumato.io.atomic import write_text
    from sfumato.io.declarations import DECLARATION
    from sfumato.plan.database_proposal import propose_database

    found, declared, plan = propose_database(data if is_url(data) else str(_inner(data)), out)
    out.mkdir(parents=True, exist_ok=True)
    files = [out / DECLARATION, out / "plan.toml"]
    for path, text in zip(files, (declared, plan), strict=True):
        write_text(path, text, overwrite=force)
    faults = [str(d) for d in found.differences if d.fatal]
    terminal.result(
        [
            Text(
                f"{', '.join(p.name for p in files)} written. Every line is a guess to be reviewed.", "green"
            ),
            Padding(Text(printable(drawn(found))), (1, 0, 1, 2)),
            *(Text(f"fault: {printable(line)}", "bold red") for line in faults),
            *([Text(_unconfirmed(found), "yellow")] if found.unconfirmed else []),
            Text(f"Next: read {DECLARATION} and plan.toml, then sfumato run {files[1]} --out release"),
        ],
        {"written": [str(p) for p in files], "links": [str(k) for k in found.links], "faults": faults,
         "unconfirmed": sorted(found.unconfirmed)},
    )  # fmt: skip


def _unconfirmed(database: Database) -> str:
    """Which tables are left out until somebody says that they hold nobody."""
    names = printable(listed([repr(n) for n in sorted(database.unconfirmed)], 12))
    return f"Left out until you write persons = false there, if they hold no persons: {names}"


def run_plan(
    terminal: Terminal, plan: Path, out: Path, overwrite: bool, *, spend_again: bool, other_people: bool
) -> int:
    """Do what a plan for linked tables says."""
    from sfumato.plan.database import DatabasePlan, run_database

    read = DatabasePlan.read(plan)
    terminal.language = terminal.language or read.language
    found = run_database(
        read, out, overwrite=overwrite, spend_again=spend_again, other_people=other_people,
        language=terminal.language,
    )  # fmt: skip
    note_unaccounted(terminal, found.release.guarantee)
    title = f"{'DRAFT release' if found.release.draft else 'Release'} written to {out.name}."
    if found.release.draft:
        terminal.note(f"the release is a DRAFT: {found.release.draft}.")
    for note in found.assessment.notes:
        terminal.note(note)
    reports = sorted((out / "internal").glob("*.html"))
    terminal.result(
        [
            Text(title, "yellow" if found.release.draft else "green"),
            Padding(Text(found.release.guarantee.text()), (1, 0, 1, 2)),
            *shown(found.assessment, reports, None),
        ],
        {
            "written": str(out),
            "draft": found.release.draft or None,
            "met": found.assessment.met,
            "assessment": without_details(found.assessment.to_dict()),
        },
    )
    return 0 if found.passed else 1


def pseudonymize_database(
    terminal: Terminal, step: Step, data: str, out: Path, *, keep_text: bool, mend: bool, overwrite: bool
) -> None:
    """Keys of all linked tables under one key, dates of a person moved alike, as a release."""
    from sfumato.pseudonyms import pseudonymize
    from sfumato.release import DatabaseRelease

    DatabaseRelease.require_place(out, overwrite=overwrite)
    release = pseudonymize(
        opened(data, check=True, keep_text=keep_text, mend=mend), keep_text=keep_text, **step.settings
    )
    release.save(out, overwrite=overwrite)
    rows = {name: table.rows() for name, table in release.data.tables.items()}
    terminal.result(
        [
            Text(f"Release written to {out.name}: {len(rows)} tables.", "green"),
            Padding(Text(printable(release.guarantee.text())), (1, 0, 1, 2)),
            Text(f"Next: sfumato verify {printable(str(out))}"),
        ],
        {"written": str(out), "rows": rows, "guarantee": json.loads(release.guarantee.to_json())},
    )


def convert_database(terminal: Terminal, data: str, out: Path, overwrite: bool) -> None:
    """Tables that came from FHIR as resources again: a folder of bulk NDJSON, every resource valid."""
    from sfumato.io.fhir.bulk import FORM
    from sfumato.io.fhir.resources import write_fhir

    found = opened(data).check()
    if found.form != FORM:
        raise DataError(
            "these are several tables, and not of FHIR: convert writes one table, or FHIR bulk data.",
            hint="name one of its files; a release is a folder of Parquet files",
        )
    files = write_fhir(found, out, overwrite=overwrite)
    said = f"{len(files)} files of FHIR resources written to {out.name}, all valid."
    terminal.result(Text(said, "green"), {"written": [str(p) for p in files]})


def synthesize_database(
    terminal: Terminal, step: Step, data: str, out: Path, *, book: Ledger | None, seed: int | None,
    spend_again: bool, other_people: bool, mend: bool, overwrite: bool,
) -> int:  # fmt: skip
    """Persons who never lived, with the rows of all linked tables, as a release."""
    from sfumato.plan.people import as_trusted, people_paid_for, require_paid
    from sfumato.plan.production import synthesized_people
    from sfumato.plan.workplace import left_behind
    from sfumato.release import DatabaseRelease

    if book is None or not left_behind(out):  # else a command that was stopped is finished
        DatabaseRelease.require_place(out, overwrite=overwrite)
    database = as_trusted(opened(data, check=True, mend=mend), book)
    if book is not None or step.spends().claimed:
        require_paid(step, database)
        require_payer(book, data, database[database.root], other_people)
    if book is not None:
        release = people_paid_for(
            step, database, out, book, seed=seed, again=spend_again, overwrite=overwrite
        )  # fmt: skip
    else:
        release = synthesized_people(step, database, seed=seed)
        release.save(out, overwrite=overwrite)
    note_unaccounted(terminal, release.guarantee)
    rows = {name: table.rows() for name, table in release.data.tables.items()}
    terminal.result(
        [
            Text(f"Synthetic persons written to {out.name}.", "green"),
            Padding(Text("\n".join(f"{n:,} rows  {name}" for name, n in rows.items())), (1, 0, 0, 2)),
            Padding(Text(release.guarantee.text()), (1, 0, 1, 2)),
            Text(f"Next: sfumato assess {printable(data)} {printable(str(out))} --control OTHER-PEOPLE"),
        ],
        {"written": str(out), "rows": rows, "guarantee": json.loads(release.guarantee.to_json())},
    )
    return 0


def assess_databases(
    terminal: Terminal,
    original: str,
    released: str,
    *,
    control: str | None,
    columns: list[str] | None,
    known: int | None,
    limits: dict[str, float],
    alpha: float,
    reports: list[Path],
    mend: bool,
    overwrite: bool,
) -> int:
    """Judge a released database against the original one, and against people who are not in it."""
    from sfumato.assessment.database import assess_database

    before, after = opened(original, mend=mend).check(), opened(released).check()
    others = None if control is None else opened(control, like=original, mend=mend).check()
    found = assess_database(
        before, _release(released) or after, control=others, columns=columns, known=known, thresholds=limits,
        alpha=alpha,
    )  # fmt: skip
    for path in reports:
        found.save(path, overwrite=overwrite)
    for note in found.notes:
        terminal.note(note)
    terminal.result(shown(found, reports, None), without_details(found.to_dict()))
    return 0 if found.met else 1


def _release(folder: str) -> DatabaseRelease | None:
    """A release with its guarantee; None for plain tables."""
    from sfumato.assessment.reading.files import is_release
    from sfumato.release import DatabaseRelease

    return DatabaseRelease.load(folder) if is_release(folder) else None
