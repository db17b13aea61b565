"""anonymize without hierarchies: a plan is proposed, run and left beside the draft that it made."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from sfumato._system import processes
from sfumato.cli.advice import to_change
from sfumato.cli.commands import ReadOptions
from sfumato.cli.plans import plain_run, shown_run
from sfumato.cli.renderings import NameText
from sfumato.cli.terminal import Terminal
from sfumato.errors import ParameterError, printable

if TYPE_CHECKING:
    from sfumato.plan.draft import Draft
    from sfumato.plan.proposal import Proposal

_SHOWN = 8


def anonymize_in_one(
    terminal: Terminal,
    reading: ReadOptions,
    data: str,
    out: Path,
    *,
    method: str | None,
    settings: Mapping[str, Any],
    schema: Path | None,
    keep_text: bool,
    overwrite: bool,
    refused: Mapping[str, object],
) -> int:
    """Propose, run, and say what was assumed, what was lost, and what comes next.

    refused: options that a plan has its own words for.
    """
    from sfumato.cli.method_options import step_of
    from sfumato.plan.draft import draft
    from sfumato.plan.production import require_asked
    from sfumato.release import Release
    from sfumato.schema import Schema

    named = [f"--{name}" for name, value in refused.items() if value is not None]
    if named:
        raise ParameterError(
            f"{', '.join(named)} goes with --hierarchies, or into a plan.",
            hint="sfumato init DATA writes a plan",
        )
    step = step_of("anonymize", method or "local", settings)
    step.build()  # what is wrong with the settings is said before the data are read
    require_asked(step)
    if not (out / "internal" / "run.json").is_file():
        Release.require_place(out, overwrite=overwrite)
    known = None if schema is None else Schema.read(schema)
    made = draft(
        data,
        out,
        method=method,
        settings=step.settings,
        known=known,
        keep_text=keep_text,
        overwrite=overwrite,
        **reading.options(),
    )
    for name in made.proposal.variables:
        terminal.note(f"the plan holds no password: set {name} in the environment before it is run again.")
    terminal.result([*_assumed(made.proposal, _BECOME), *_result(made, out)], _plain(made))
    return 0 if made.run.passed else 1


def synthesize_in_one(
    terminal: Terminal, reading: ReadOptions, data: str, out: Path, *, rows: object, overwrite: bool
) -> int:
    """Propose, draw and judge synthetic rows, and say what comes next."""
    from sfumato.cli.method_options import step_of
    from sfumato.plan import Plan
    from sfumato.plan.draft import SYNTHETIC, draft_synthetic
    from sfumato.release import Release

    wanted = None if rows is None else step_of("synthesize", SYNTHETIC, {"rows": rows}).settings["rows"]
    if not (out / "internal" / "run.json").is_file():
        Release.require_place(out, overwrite=overwrite)
    made = draft_synthetic(data, out, rows=wanted, overwrite=overwrite, **reading.options())
    shown = [
        *_assumed(made.proposal, {}),
        *shown_run(made.run, Plan.read(made.plan)),
        "",
        Text(
            f"Next: read {made.plan}. For a promise of differential privacy, confirm in its schema.toml what"
        ),
        Text('cells may hold, write method = "private" and epsilon = 1.0 into the step, then'),
        Text(f"  sfumato run {made.plan} --out {out}", "bold"),
        Text(_spent()),
    ]
    terminal.result(shown, _plain(made))
    return 0 if made.run.passed else 1


_BECOME = {  # by the word of the role: what an anonymized file has of such columns
    "identifier": "left out",
    "person": "left out",
    "quasi-identifier": "made more general",
    "sensitive": "kept as they are",
    "other": "kept as they are",
}


def _assumed(found: Proposal, become: Mapping[str, str]) -> list[Any]:
    """What every column was taken for. become: what is made of each role."""
    from sfumato.schema import Role

    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    gone = [g.column.name for g in found.guesses if g.drop]
    for role in Role:
        names = [name for name in found.of_role(role) if name not in gone]
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            what = f"{len(names)} {role}" + (f", {become[role]}" if role in become else "")
            grid.add_row(what, NameText(printable(", ".join(names[:_SHOWN]) + more)))
    if gone:
        more = f" and {len(gone) - _SHOWN} more" if len(gone) > _SHOWN else ""
        grid.add_row(f"{len(gone)} left out", NameText(printable(", ".join(gone[:_SHOWN]) + more)))
    chains = [g for g in found.guesses if isinstance(g.hierarchy, dict) and "above" in g.hierarchy]
    nested = [
        " < ".join((g.column.name, *g.hierarchy["above"])) for g in chains if isinstance(g.hierarchy, dict)
    ]
    if nested:
        grid.add_row("one hierarchy", Text(printable("; ".join(nested))))
    return [Text("Assumed, until a person has looked:", "bold"), Padding(grid, (0, 0, 1, 2))]


def _result(made: Draft, out: Path) -> list[Any]:
    from sfumato.plan import Plan

    run, choice = made.run, made.choice
    parts = shown_run(run, Plan.read(made.plan))
    if run.releases and not run.unchanged:
        release = run.load()
        assert release.internal is not None
        extra = release.internal.extra
        tried = ", ".join(f"{name} {loss:.3f}" for name, loss in choice.losses.items())
        if len(choice.losses) > 1:
            tried = f" (the better of: {tried})"
            parts.append(Text(f"Made by {choice.method} recoding{tried}."))
        if "explanation" in extra:
            parts += [
                Text("What was lost, 0 nothing to 1 all:", "bold"),
                Padding(lost(extra["explanation"]), (0, 0, 0, 2)),
            ]
        parts += [
            Padding(Text(f"{w.sentence[:1].upper()}{w.sentence[1:]}."), (0, 0, 0, 2)) for w in choice.without
        ]
    parts += to_change(run, made.plan, out, made.proposal.bands, made.data)
    return [
        *parts,
        "",
        Text(_spent()),
        "",
        Text(f"Next: read {made.plan}, set reviewed = true where you agree, then"),
        Text(f"  sfumato run {made.plan} --out {out}", "bold"),
    ]


def _spent() -> str:
    """Processor time and memory of this command."""
    took = f"It took {time.process_time():,.0f} s of processor time"
    memory = processes.peak_memory()
    return f"{took}." if memory is None else f"{took} and {memory / (1 << 20):,.0f} MB of memory at most."


def lost(told: Mapping[str, Any]) -> Grid:
    """What became of each column."""
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("column", "values before", "after", "loss", "of all loss"):
        grid.add_column(name, justify="left" if name == "column" else "right")
    for c in told["columns"]:
        share = f"with '{c['goes_with']}'" if c.get("goes_with") else f"{c['share']:.0%}"
        grid.add_row(
            NameText(printable(c["name"])), str(c["before"]), str(c["after"]), f"{c['loss']:.3f}", Text(share)
        )
    return grid


def _plain(made: Draft) -> dict[str, Any]:
    from sfumato.schema import Role

    explained: dict[str, Any] = {}
    if made.run.releases:
        record = made.run.load().internal
        explained = {} if record is None else record.extra.get("explanation", {})
    return {
        **plain_run(made.run),
        "plan": str(made.plan),
        "roles": {str(role): list(made.proposal.of_role(role)) for role in Role},
        "left_out": [g.column.name for g in made.proposal.guesses if g.drop],
        "method": made.choice.method,
        "losses": dict(made.choice.losses),
        "explanation": explained,
        "without": {w.column: {"now": w.now, "instead": w.instead} for w in made.choice.without},
    }
