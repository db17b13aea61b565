"""The determination file of a run: what a person says in a form, beside what the run says of itself.

The form is a TOML file that the plan names (`[outputs] determination`). What the run knows nobody has to
type: the data, what was done to it, what an intruder is taken to know, the thresholds and what came out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.assessment.thresholds import counts_as_risk, excess
from sfumato.errors import listed
from sfumato.io.addresses import last_name
from sfumato.plan.document import FORM, INPUT, PlanDocument
from sfumato.plan.outcome import Run
from sfumato.plan.page import compared_with, fate, gained, short
from sfumato.plan.preparation import Prepared
from sfumato.plan.step import Step
from sfumato.release import Release
from sfumato.report import DataTable, Page, Section
from sfumato.report.determination import Said, determination
from sfumato.schema import Role

if TYPE_CHECKING:
    from sfumato.assessment.judgement import Assessment

_WORST = 5


def determination_of(
    plan: PlanDocument, step: Step, release: Release, run: Run, assessment: Assessment
) -> Page:
    """The page for one released step, to be printed and signed."""
    assert run.prepared is not None
    said = Said.read(plan.path(plan.table("outputs")[FORM]))
    facts = {
        "data": Section("The run", (), [_data(plan, step, release, run.prepared)]),
        "knowledge": Section("The run", (), [_known(plan, release)]),
        "residual_risk": worst_attacks(assessment),
        "limits": Section("The run", (*_limits(plan, assessment), compared_with(plan, run), *_accepted(run))),
    }
    page = determination(said, assessment.to_dict(), facts, [run.draft] if run.draft else [])
    title = str(plan.document.get("title", "")).strip() or last_name(str(plan.table(INPUT)["data"]))
    return replace(page, title=f"{page.title}: {title}")


def _accepted(run: Run) -> tuple[str, ...]:
    return (f"A limit is missed, and that is accepted: {run.accepted}",) if run.accepted else ()


def _data(plan: PlanDocument, step: Step, release: Release, prepared: Prepared) -> DataTable:
    names = [n for n in plan.schema.names if n not in release.schema]
    done = [
        f"{s.method} ({', '.join(f'{k} = {short(v)}' for k, v in s.settings.items()) or 'no settings'})"
        for s in (*plan.before(step), step)
    ]
    signed = plan.signed
    rows = [
        ("input", last_name(str(plan.table(INPUT)["data"]))),
        ("rows in, rows out", f"{prepared.table.rows():,}, {release.data.rows():,}"),
        ("columns released", f"{len(release.columns)} of {len(plan.schema)}"),
        ("columns left out", listed(names, 40) if names else "none"),
        ("what was done", "; ".join(done)),
        ("plan", f"{plan.name}, digest {plan.digest}"),
        ("plan signed", f"{signed[0]}, {signed[1].isoformat()}" if signed and not plan.draft else "no"),
    ]
    return DataTable(("of the run", "what"), rows, "What was released", words=(0,), mixed=(1,))


def _known(plan: PlanDocument, release: Release) -> DataTable:
    schema, entries = plan.schema, plan.table("columns")
    rows = [
        (n, fate(schema[n].role, entries.get(n, {})), schema[n].reason or "a person said so")
        for n in release.schema.of_role(Role.QUASI_IDENTIFIER)
        if n in schema
    ]
    return DataTable(
        ("column", "in the release", "why it was taken so"), rows, "What an intruder is taken to know",
        words=(1, 2),
    )  # fmt: skip


def worst_attacks(assessment: Assessment) -> Section:
    """The attacks that gain most, with what the intruder knows."""
    attacks = sorted((s for s in assessment.scores if counts_as_risk(s)), key=excess, reverse=True)
    rows = [(s.name, round(s.value, 4), round(excess(s), 4), s.knowledge) for s in attacks[:_WORST]]
    head = ("attack", "succeeds for", "at most, beyond control or guess", "the intruder knows")
    table = [DataTable(head, rows, "The attacks that gain most", words=(0, 3))] if rows else []
    return Section("The run", gained(assessment), table)


def _limits(plan: PlanDocument, assessment: Assessment) -> Iterator[str]:
    yield (
        "The numbers hold for this file alone: other data, another plan, or a further release of the same "
        "people need a determination of their own."
    )
    if assessment.skipped:
        yield f"{len(assessment.skipped)} parts of the assessment were not examined; they are listed below."
    if not plan.limits:
        yield "The plan sets no threshold: nobody but who signs says whether the numbers are small enough."
    yield from assessment.notes
