"""init, run, plan check, plan schema: from a file to a release by one plan."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.advice import to_change
from sfumato.cli.commands import Data, Overwrite, ReadOptions
from sfumato.cli.databases import init_database, is_database, run_plan
from sfumato.cli.payment import Against, OtherPeople, note_unaccounted
from sfumato.cli.recipient import asked_recipient
from sfumato.cli.terminal import Terminal
from sfumato.errors import printable

if TYPE_CHECKING:
    from sfumato.assessment.judgement import Assessment
    from sfumato.plan import Plan
    from sfumato.plan.run import Run
    from sfumato.privacy import Guarantee

PlanPath = Annotated[Path, typer.Argument(metavar="PLAN", help="A TOML file.", show_default=False)]
_SHOWN = 12


def init(
    terminal: Terminal,
    reading: ReadOptions,
    data: Data,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Where plan.toml and schema.toml go.")
    ] = Path("."),
    k: Annotated[
        int | None,
        typer.Option("--k", metavar="K", min=2, help="How many each must hide among; by the recipient."),
    ] = None,
    recipient: Annotated[
        str | None,
        typer.Option(
            "--recipient", metavar="WHO", help="Who receives the file: public, or someone under agreement."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Look at data and write a plan and a schema: every guess with its reason, to be reviewed.

    The plan runs as it is, and k-anonymizes; what it makes is stamped DRAFT until a person has signed it.
    Who receives the file decides its limits: asked at a terminal, else --recipient, else the public.
    """
    if is_database(data, reading.table):
        init_database(terminal, data, out, force)
        return
    from sfumato.plan.limits import recipient as known
    from sfumato.plan.proposal import propose, write
    from sfumato.schema import Role

    who = known(recipient or asked_recipient(terminal))
    found = propose(data, folder=out, k=k, recipient=who.name, **reading.options())
    files = write(found, out, overwrite=force)
    plan = files[0]
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    roles = {role: found.of_role(role) for role in Role}
    for role, columns in roles.items():
        if columns:
            more = f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""
            grid.add_row(f"{len(columns)} {role}", Text(printable(", ".join(columns[:_SHOWN]) + more)))
    dropped = [g.column.name for g in found.guesses if g.drop]
    if dropped:
        grid.add_row(f"{len(dropped)} left out", Text("nothing is in them, or too much"))
    terminal.result(
        [
            Text(
                f"{', '.join(p.name for p in files)} written. Every line is a guess to be reviewed.", "green"
            ),
            Padding(grid, (1, 0, 1, 2)),
            Text(f"Next: read {plan.name}, then sfumato run {plan} --out release"),
        ],
        {
            "written": [str(p) for p in files],
            "recipient": who.name,
            "roles": {str(role): list(columns) for role, columns in roles.items()},
            "left_out": dropped,
            "hierarchies": {g.column.name: g.hierarchy for g in found.guesses if g.hierarchy is not None},
            "variables": list(found.variables),
        },
    )
    for name in found.variables:
        terminal.note(f"{plan.name} holds no password: set {name} in the environment before it is run.")
    if not roles[Role.QUASI_IDENTIFIER]:
        terminal.note("no column was taken for a quasi-identifier: give some that role in plan.toml.")


def run(
    terminal: Terminal,
    plan: PlanPath,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The release.", show_default=False)],
    input: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="DATA", help="Other data of the same columns, as the next quarter's."
        ),
    ] = None,
    previous: Annotated[
        Path | None,
        typer.Option("--previous", metavar="DIR", help="An earlier release: compared, and attacked too."),
    ] = None,
    against: Against = None,
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="DIR", help="A release of the same plan and data to take it from."),
    ] = None,
    spend_again: Annotated[
        bool,
        typer.Option("--spend-again", help="Draw noise again that a stopped run had drawn; both count."),
    ] = False,
    spark: Annotated[
        str | None,
        typer.Option(
            "--spark", metavar="MASTER", help="Read, count, draw and write there. See docs/scale.md."
        ),
    ] = None,
    other_people: OtherPeople = False,
    overwrite: Overwrite = False,
) -> int:
    """Do what a plan says, and write the release: whole or not at all.

    A run that was stopped goes on where it was. The same plan on the same data leaves the release as it is.
    A release that misses a limit, or of which a limit could not be examined, is written as a draft, with exit
    code 1, unless the plan says why it is accepted.
    """
    from sfumato.plan import Plan
    from sfumato.plan.checks import contradictions
    from sfumato.plan.database import is_database_plan
    from sfumato.plan.run import run as go

    if is_database_plan(plan):
        return run_plan(terminal, plan, out, overwrite, spend_again=spend_again, other_people=other_people)
    read = Plan.read(plan)
    terminal.language = terminal.language or read.table("outputs").get("language")
    with _input(read, input, spark) as data:
        found = go(
            read, out, input=data, previous=previous, against=against or (), record=record,
            overwrite=overwrite, spend_again=spend_again, other_people=other_people,
            source=read.source(input), language=terminal.language,
        )  # fmt: skip
    for note in (*contradictions(read), *found.notes):
        terminal.note(note)
    for name in found.releases if not found.unchanged else ():
        note_unaccounted(terminal, found.load(name).guarantee)
    for name in found.resumed:
        terminal.note(f"{name} was finished by an earlier run, and is taken as it is.")
    if found.draft:
        terminal.note(f"the release is a DRAFT: {found.draft}.")
    change = to_change(found, plan, out) if input is None and spark is None else []
    terminal.result([*shown_run(found, read), *change], plain_run(found))
    if found.drift is not None:
        terminal.values({n: list(v) for n, v in found.drift.values.items()})
    return 0 if found.passed else 1


@contextmanager
def _input(plan: Plan, given: str | None, master: str | None) -> Iterator[Any]:
    """What a run reads: what the plan names, what is given instead, either of them on Spark."""
    if master is None:
        yield given
        return
    from sfumato.io.addresses import require_consent
    from sfumato.io.spark import parquet_on_spark

    data = plan.address(plan.table("input")["data"]) if given is None else given
    if given is None:
        require_consent(data, f"the data of {plan.name}")
    with parquet_on_spark(data, master) as frame:
        yield frame


def shown_run(found: Run, plan: Plan) -> list[Any]:
    """What came of a run, decision first."""
    from sfumato.plan.page import compared_with

    parts: list[Any] = []
    if found.drift is not None:
        parts += [Text("Since the earlier release", "bold")]
        parts += [Padding(Text(line), (0, 0, 0, 2)) for line in found.drift.sentences()] + [""]
    if found.unchanged:
        words = f"{found.out.name} is there already, made by this plan from this data"
        return [*parts, Text(f"{words}{_standing(found)}.", "green" if found.passed else "bold red")]
    if found.refused:
        parts.append(Text("Nothing was released: a limit is not met.", "bold red"))
        for name, assessment in found.assessments.items():
            parts += _decision(assessment, f"{name}: ")
        parts += [Padding(Text(one.sentence), (0, 0, 0, 2)) for one in found.published if not one.met]
        return [*parts, Text(f"Why: {', '.join(p.name for p in found.reports)} (internal)")]
    for name, folder in found.releases.items():
        release = found.load(name)
        parts += [_headline(found, folder, len(release.columns)), *_decision(found.assessments.get(name))]
        parts.append(Padding(Text(claims_once(release.guarantee)), (1, 0, 1, 2)))
        if name in found.assessments:
            parts += _judgement(found.assessments[name])
    parts += _together(found)
    if found.assessments:
        parts += [Text(compared_with(plan, found)), ""]
    parts += [Text(one.sentence, "" if one.met else "bold red") for one in found.published]
    parts += [Text.assemble((f"{p.stem}  ", "bold"), str(p)) for p in found.reports]
    return parts


def _together(found: Run) -> list[Any]:
    """What leaves together is one release to who gets all of it."""
    if found.whole is None:
        return []
    promised = ", ".join(c.title for c in found.whole.claims if not c.scope)
    words = f"Who gets all {len(found.releases)} releases gets this together: {promised}."
    return [Text(words, "bold"), ""]


def claims_once(guarantee: Guarantee) -> str:
    """The claims in words; of those that say the same of other units, the first in full."""
    parts: dict[tuple[object, ...], list[str]] = {}
    for place, claim in enumerate(guarantee.claims):
        columns = getattr(claim, "columns", ())
        told = parts.setdefault((type(claim), columns or place), [])
        about = ", ".join(map(repr, getattr(claim, "sensitive", ())))
        of = f" of {about}" if about else ""
        told.append(f"{claim.title}{of}" if told else claim.text())
    return (
        "\n\n".join(
            f"{first} Likewise: {'; '.join(rest)}." if rest else first for first, *rest in parts.values()
        )
        or "Nothing is promised."
    )


def _headline(found: Run, folder: Path, width: int) -> Text:
    """What was written: it is called a release only where its limits are met."""
    columns = f"{width} columns."
    if not found.passed:
        words = f"NOT RELEASED: its limits are not met. A draft was written to {folder.name}: {columns}"
        return Text(words, "bold red")
    if found.accepted:
        words = (
            f"Limits are missed, and that is accepted ({found.accepted}). Written to {folder.name}: {columns}"
        )
        return Text(f"DRAFT. {words}" if found.draft else words, "bold yellow")
    title = f"{'DRAFT release' if found.draft else 'Release'} written to {folder.name}: {columns}"
    return Text(title, "yellow" if found.draft else "green")


def _standing(found: Run) -> str:
    if not found.passed:
        return ", a DRAFT: it does not meet its limits"
    return f"; it misses limits, which is accepted ({found.accepted})" if found.accepted else ""


def _decision(found: Assessment | None, title: str = "") -> list[Any]:
    """Where a limit is missed: the sentence that decides, else the limits; and what to do next."""
    if found is None or found.met:
        return []
    because = [found.because] if found.because else []
    missed = [f"{t.outcome}: {t.sentence}" for t in found.thresholds if t.outcome != "met"]
    lines = [*(because or missed), *(f"Next: {words}" for words in found.advice[:1])]
    return [Padding(Text(f"{title}{line}"), (0, 0, 0, 2)) for line in lines]


_HEADLINES = ("total variation, columns", "total variation, pairs")


def _judgement(found: Assessment) -> list[Any]:
    """The verdict and the few numbers worth a glance; the rest is in the report."""
    from sfumato.assessment.thresholds import counts_as_risk, excess

    lines = [f"{t.outcome}: {t.sentence}" for t in found.thresholds] or ["no threshold was set"]
    lines += [str(found[name]) for name in _HEADLINES if name in found.names]
    attacks = [s for s in found.scores if counts_as_risk(s)]
    if attacks:
        worst = max(attacks, key=excess)
        lines.append(f"worst attack, beyond control or guess: {excess(worst):.3g} ({worst.name})")
    if found.skipped:
        lines.append(f"{len(found.skipped)} parts were not examined, for reasons said in the report")
    return [Padding(Text(line), (0, 0, 0, 2)) for line in lines] + [""]


def plain_run(found: Run) -> dict[str, Any]:
    """The same for programs."""
    from sfumato.cli.scores import without_details

    return {
        "released": {name: str(folder) for name, folder in found.releases.items()},
        "draft": found.draft or None,
        "met": found.met,
        "accepted": found.accepted or None,
        "held_back": None
        if found.split is None or found.split.held is None
        else {"unit": found.split.unit, "held_back": found.split.people[0], "of": found.split.people[1]},
        "refused": found.refused,
        "unchanged": found.unchanged,
        "resumed": list(found.resumed),
        "reports": [str(p) for p in found.reports],
        "drift": None if found.drift is None else found.drift.to_dict(),
        "tables": [{"title": t.title, "sentence": t.sentence, "met": t.met} for t in found.tables.values()],
        "aggregates": [
            {
                "what": a.title,
                "groups": a.risk.groups.num_rows,
                "coarsen": a.risk.coarsen.num_rows,
                "met": a.met,
            }
            for a in found.aggregates
        ],
        "together": None if found.whole is None else json.loads(found.whole.to_json()),
        "guarantees": {n: json.loads(found.load(n).guarantee.to_json()) for n in found.releases},
        "assessments": {n: without_details(a.to_dict()) for n, a in found.assessments.items()},
    }


def check(terminal: Terminal, plan: PlanPath) -> int:
    """List every fault of a plan with its line; exit code 1 if there are any. The data is not looked at."""
    from sfumato.errors import PlanError
    from sfumato.plan import Plan
    from sfumato.plan.checks import contradictions

    try:
        found = Plan.read(plan)
    except PlanError as error:
        if not error.faults:
            raise
        grid = Grid.grid(padding=(0, 2, 0, 0))
        grid.add_column(justify="right", no_wrap=True)
        grid.add_column(overflow="fold")
        for line, words in error.faults:
            grid.add_row(Text(f"line {line}", "bold"), Text(words))
        plain = {"ok": False, "faults": [{"line": line, "what": words} for line, words in error.faults]}
        terminal.result([grid, Text(f"{plan.name}: {len(error.faults)} to correct.", "bold red")], plain)
        return 1
    steps = [{"name": s.name, "method": s.method, "of": s.of} for s in found.steps]
    draft = found.draft or None
    said = f"{plan.name} is sound: {', '.join(s.method for s in found.steps)}."
    terminal.result(Text(said, "green"), {"ok": True, "faults": [], "steps": steps, "draft": draft})
    for note in contradictions(found):
        terminal.note(note)
    if found.draft:
        terminal.note(f"its releases are drafts: {found.draft}.")
    return 0


def upgrade(
    terminal: Terminal,
    plan: PlanPath,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The new plan; the old one stays if this is another file."
        ),
    ] = None,
) -> None:
    """Write a plan of an earlier format in the present one. It means the same, and has to be signed again."""
    from sfumato.plan.formats import upgrade as write

    after = write(plan, out)
    words = f"{after.name} is written in the present format, unsigned. Look at it: sfumato plan check {after}"
    terminal.result(Text(words, "green"), {"written": str(after)})


def schema(terminal: Terminal) -> None:
    """Print the JSON Schema of plans, for editors that complete and check them."""
    from sfumato.plan.spec import json_schema, json_schema_text

    if terminal.json:
        terminal.result([], json_schema())
    else:
        sys.stdout.write(json_schema_text())  # as the file is published: not wrapped to the terminal
