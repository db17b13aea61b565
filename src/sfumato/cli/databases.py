"""Linked tables at the command line: what describe, init, run and assess do where the data are a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.terminal import Terminal
from sfumato.errors import SfumatoError, printable

if TYPE_CHECKING:
    from sfumato.assessment.database import DatabaseAssessment
    from sfumato.database import Database


def is_database(data: str) -> bool:
    """Whether data are several tables: a declared folder, a DuckDB file, or files of different columns."""
    path = Path(data)
    if path.is_file():
        return path.suffix in (".duckdb", ".ddb")
    if not path.is_dir():
        return False
    from sfumato.io.databases import DECLARATION

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
        heads = {frozenset(scan(str(p), keep_text=True).source.arrow_schema.names) for p in files}
    except SfumatoError:
        return False
    return len(heads) > 1


def opened(data: str) -> Database:
    """A database from a folder, a DuckDB file, or a release."""
    from sfumato.io.databases import DECLARATION, scan_database

    path = Path(data)
    inner = path / "public" if (path / "public" / DECLARATION).is_file() else path
    return scan_database(str(inner), check=False, keep_text=True)


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
    from sfumato.io.atomic import write_text
    from sfumato.io.databases import DECLARATION
    from sfumato.plan.database import propose_database

    out.mkdir(parents=True, exist_ok=True)
    found, declared, plan = propose_database(data, out)
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
            Text(f"Next: read {DECLARATION} and plan.toml, then sfumato run {files[1]} --out release"),
        ],
        {"written": [str(p) for p in files], "links": [str(k) for k in found.links], "faults": faults},
    )


def run_plan(terminal: Terminal, plan: Path, out: Path, overwrite: bool) -> int:
    """Do what a plan for linked tables says."""
    from sfumato.plan.database import DatabasePlan, run_database

    read = DatabasePlan.read(plan)
    found = run_database(read, out, overwrite=overwrite)
    title = f"{'DRAFT release' if found.release.draft else 'Release'} written to {out.name}."
    if found.release.draft:
        terminal.note(f"the release is a DRAFT: {found.release.draft}.")
    terminal.result(
        [
            Text(title, "yellow" if found.release.draft else "green"),
            Padding(Text(found.release.guarantee.text()), (1, 0, 1, 2)),
            scores_grid(found.assessment),
        ],
        {"written": str(out), "draft": found.release.draft or None, "assessment": found.assessment.to_dict()},
    )
    return 0


def assess_databases(terminal: Terminal, original: str, released: str) -> int:
    """Judge a released database against the original one."""
    from sfumato.assessment.database import assess_database

    found = assess_database(opened(original), opened(released))
    terminal.result(
        [scores_grid(found), *(Text(f"not examined: {printable(w)}", "dim") for w in found.skipped)],
        found.to_dict(),
    )
    return 0


def scores_grid(found: DatabaseAssessment) -> Grid:
    """Scores as lines: name, value, interval or what halves of the original differ by."""
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    grid.add_column("score", overflow="fold")
    grid.add_column("value", justify="right", no_wrap=True)
    grid.add_column("")
    for score in found.scores:
        beside = "" if score.low is None else f"{score.low:.3f} to {score.high:.3f}"
        beside = f"halves of the original {score.baseline:.3f}" if score.baseline is not None else beside
        grid.add_row(Text(printable(score.name)), f"{score.value:.3f}", Text(beside, "dim"))
    return grid
