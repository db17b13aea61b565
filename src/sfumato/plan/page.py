"""The report of a run: the assessment, and around it what was asked, done, and signed by whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.assessment.thresholds import counts_as_risk
from sfumato.errors import listed
from sfumato.io.addresses import last_name
from sfumato.plan.aggregates import aggregates_section
from sfumato.plan.document import INPUT, PlanDocument
from sfumato.plan.drift import Drift
from sfumato.plan.limits import RECIPIENT, RECIPIENTS, looser
from sfumato.plan.outcome import Run
from sfumato.plan.preparation import Prepared
from sfumato.plan.step import Step
from sfumato.plan.tables import is_tables, tables_page, tables_section
from sfumato.release import Release
from sfumato.report import Block, DataTable, Page, Promises, Section, Verdict
from sfumato.schema import Role
from sfumato.score import Score

if TYPE_CHECKING:
    from sfumato.assessment.judgement import Assessment

_TABLES = {"total variation, columns": "one column", "total variation, pairs": "two columns"}
_ROLES = {
    "identifier": "left out: it names a person or a record",
    "person": "left out: it says which rows are one person's",
}


def page_of(
    plan: PlanDocument,
    step: Step,
    release: Release,
    run: Run,
    assessment: Assessment | None,
    notable: float,
) -> Page:
    """The page for one released step; INTERNAL on every sheet, and DRAFT if it is one."""
    prepared = run.prepared
    assert prepared is not None
    if is_tables(step):
        page = tables_page(step, release, run.tables[step.name])
    elif assessment is not None:
        page = assessment.page()
    else:
        words = "The plan says that nothing is assessed. What the release gives away was not looked at."
        promised = Section(
            "What was promised", "The release says this of itself.", [Promises(release.guarantee)]
        )
        page = Page("A release without an assessment", "", [Section("In short", words), promised])
    summary = () if is_tables(step) else _summary(plan, release, prepared, assessment)
    before = () if is_tables(step) else _before(plan, release, run)
    first = page.sections[0]
    first = replace(
        first,
        prose=(*_signature(plan, run), *summary, *before, *first.prose),
        blocks=tuple(_shorter(b, assessment) for b in first.blocks),
    )
    # After what was measured and promised: how it was made, and last how it was judged.
    end = len(page.sections) - (assessment is not None)
    own = [_run(plan, step, release)]
    own += [] if is_tables(step) else [_columns(plan, release, prepared)]
    own += [_preparation(prepared)] if prepared.findings or prepared.ratios else []
    own += [_drift(run.drift, notable, run.together)] if run.drift is not None else []
    own += [aggregates_section(run.aggregates)] if run.aggregates else []
    own += [tables_section(tuple(run.tables.values()))] if run.tables and not is_tables(step) else []
    data = last_name(str(plan.table(INPUT)["data"]))
    title = str(plan.document.get("title", "")).strip() or f"A release of {data}"
    return replace(
        page,
        title=f"DRAFT: {title}" if run.draft else title,
        stamp=f"{plan.name}, {step.name}. {page.stamp}",
        sections=(first, *page.sections[1:end], *own, *page.sections[end:]),
    )


def _summary(
    plan: PlanDocument, release: Release, prepared: Prepared, assessment: Assessment | None
) -> tuple[str, ...]:
    """The few things a reader wants to know first, in sentences."""
    known = release.schema.of_role(Role.QUASI_IDENTIFIER)
    said = [f"{len(release.columns)} of {len(plan.schema)} columns are released."]
    said += [f"An intruder is taken to know {', '.join(known)}."] if known else []
    if assessment is None:
        return (" ".join(said),)
    before, after = assessment.rows
    said.insert(0, f"{before:,} rows went in, {after:,} came out.")
    kept = [
        f"{assessment[name].value:.2%} of the rows would have to change for a table of {words}"
        for name, words in _TABLES.items()
        if name in assessment.names
    ]
    out = [" ".join(said)]
    if kept:
        out.append(f"What it keeps: on average {', and '.join(kept)} to be as it was.")
    return (*out, *gained(assessment))


def gained(assessment: Assessment) -> tuple[str, ...]:
    """The attack that gains most, in a sentence; nothing if there was none."""
    attacks = [s for s in assessment.scores if counts_as_risk(s)]
    if not attacks:
        return ()
    worst = max(attacks, key=lambda s: s.value - (_reference(s) or 0.0))
    against = _reference(worst)
    held = "" if against is None else f", where {against:.2%} is what one reaches without the release"
    return (
        f"What it gives away: of {len(attacks)} attacks, '{worst.name}' gains most: it succeeds for "
        f"{worst.value:.2%} of those attacked{held}.",
    )


def _reference(score: Score) -> float | None:
    """What is reached without the release: on people outside the data, or by a plain guess."""
    return score.control if score.control is not None else score.baseline


def _shorter(block: Block, assessment: Assessment | None) -> Block:
    """The verdict on thresholds; what was not looked at for want of something is listed at the end."""
    if not isinstance(block, Verdict) or assessment is None or not assessment.skipped:
        return block
    limits = tuple(t.sentence for t in assessment.thresholds if t.outcome == "not examined")
    rest = f"{len(assessment.skipped)} further parts, for the reasons listed at the end"
    return replace(block, not_examined=(*limits, rest))


def _signature(plan: PlanDocument, run: Run) -> tuple[str, ...]:
    said = []
    if run.draft:
        said.append(f"DRAFT: {run.draft}. Do not let it leave the house.")
    if plan.draft:
        said.append(
            "Roles, hierarchies and limits below may be guesses of a program, until a person has looked at "
            "every one of them and signed the plan."
        )
    elif plan.signed is not None:
        by, on = plan.signed
        said.append(f"Signed by {by} on {on.isoformat()}.")
    if run.accepted:
        said.append(f"A limit is missed, and the plan says why that is accepted: {run.accepted.rstrip('.')}.")
    elif plan.accepted:
        said.append("The plan accepts that a limit is missed, which was not needed: every limit is met.")
    return tuple(said)


def _before(plan: PlanDocument, release: Release, run: Run) -> tuple[str, ...]:
    """What was done to the file before the steps, in words; for whom the limits are; and the control."""
    assert run.prepared is not None
    entries = plan.table("columns")
    cut = [
        f"'{name}' {'above' if end == 'top' else 'below'} {entry[end]:g} was written as {entry[end]:g}"
        for name, entry in entries.items()
        for end in ("bottom", "top")
        if end in entry and name in release.schema
    ]
    gone = [f"'{name}' was left out" for name, _ in run.prepared.dropped]
    done = listed([*cut, *gone], 12) or "nothing was changed or left out"
    out = [f"The release is compared with the file as it was read. Before the steps: {done}."]
    thresholds = plan.table("thresholds")
    if RECIPIENT in thresholds:
        out.append(f"The limits are those for {RECIPIENTS[thresholds[RECIPIENT]].words}, as the plan says.")
        out += [f"Asked less than is usual: {words}." for words in looser(thresholds)]
    return (*out, *([] if plan.table("assess").get("skip") else [compared_with(plan, run)]))


def compared_with(plan: PlanDocument, run: Run) -> str:
    """Whom attacks are compared with; that there is nobody, if there is nobody."""
    if run.split is not None and run.split.held is not None:
        return f"{run.split.sentence}."
    if "control" in plan.table("assess"):
        return "Every row was input; attacks are compared with the people of the control file."
    return (
        "Every row was input: nobody was held back and there is no control, so that attacks can be compared "
        "with a plain guess only."
    )


def _run(plan: PlanDocument, step: Step, release: Release) -> Section:
    rows = []
    for number, one in enumerate((*plan.before(step), step), 1):
        settings = ", ".join(f"{k} = {short(v)}" for k, v in one.settings.items()) or "no settings"
        rows.append((str(number), one.name, one.method, settings, one.declaration.summary))
    blocks: list[Block] = [
        DataTable(("", "step", "method", "settings", "what it does"), rows, "Steps", words=(4,))
    ]
    extra = release.internal.extra if release.internal is not None else {}
    prose = "What the plan asked for, and what came of it."
    if "rows" in extra and "search" in extra:
        prose += " " + _search(extra)
        lost = [
            (c["name"], c["before"], c["after"], round(c["loss"], 4), f"{c['share']:.0%}")
            for c in extra["explanation"]["columns"]
        ]
        head = ("column", "values before", "values after", "loss (0 to 1)", "share of all loss")
        blocks.append(DataTable(head, lost, "What each quasi-identifier lost", words=(4,)))
    return Section("The run", prose, blocks)


def _search(extra: Mapping[str, Any]) -> str:
    rows, search = extra["rows"], extra["search"]
    withheld, gone = rows["withheld"], rows["left_out"] + rows["with_rare_values"]
    proven = "No better one exists under these hierarchies." if search.get("optimal") else ""
    return (
        f"Of {rows['read']:,} rows, {withheld:,} are released with * in every quasi-identifier and {gone:,} "
        f"are left out. On average a cell of the quasi-identifiers lost {extra['loss']:.1%} of what it "
        f"told. {proven}"
    ).strip()


def short(value: object) -> str:
    """A setting as text, cut where it is long."""
    text = str(dict(value)) if isinstance(value, Mapping) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _columns(plan: PlanDocument, release: Release, prepared: Prepared) -> Section:
    dropped = dict(prepared.dropped)
    schema = plan.schema
    rows = []
    for column in schema:
        entry = plan.table("columns").get(column.name, {})
        if column.name in dropped:
            what = f"left out: {dropped[column.name]}"
        elif column.name in release.schema:
            what = fate(column.role, entry)
        else:
            what = _ROLES.get(str(column.role), "left out by the method")
        guess = "guess" if not entry.get("reviewed", True) else ""
        rows.append((column.name, str(column.kind), str(column.role), what, guess, column.reason))
    head = ("column", "kind", "role", "what happened", "reviewed?", "why this kind and role")
    words = f"{len(release.columns)} of {len(schema)} columns are in the release."
    table = DataTable(head, rows, "Columns", folded=len(rows) > 30, words=(1, 2, 3, 4, 5))
    return Section("The columns", words, [table])


def fate(role: object, entry: Mapping[str, Any]) -> str:
    """What happens to a column that is released."""
    said = []
    hierarchy = entry.get("hierarchy")
    if str(role) == "quasi-identifier":
        name = hierarchy if isinstance(hierarchy, str) else (hierarchy or {}).get("recipe", "")
        said.append(f"made more general ({name})" if name else "an intruder may know it")
    else:
        said.append("released as it is")
    said += [f"cut off at {entry[end]:g} ({end})" for end in ("bottom", "top") if end in entry]
    return ", ".join(said)


def _preparation(prepared: Prepared) -> Section:
    blocks: list[Block] = []
    if prepared.findings:
        head = ("columns", "what", "what to do")
        many = len(prepared.findings) > 20
        title = "What was found before the steps"
        blocks.append(DataTable(head, prepared.findings, title, folded=many, words=(1, 2)))
    if prepared.ratios:
        ratios = [(name, round(ratio, 2)) for name, ratio in prepared.ratios]
        blocks.append(
            DataTable(
                ("column", "times a shuffled column"),
                ratios,
                "Information about the target",
                folded=len(ratios) > 20,
            )
        )
    words = "Looked at before anything was done. Findings are advice; only what the plan says was left out."
    return Section("Before the steps", words, blocks)


def _drift(drift: Drift, notable: float, together: str) -> Section:
    rows: Sequence[Any] = [
        (m.column, round(m.distance, 4), round(m.chance, 4), m.new, m.gone, f"{m.missing[0]:.1%}",
         f"{m.missing[1]:.1%}")
        for m in sorted(drift.columns, key=lambda m: -m.distance)
    ]  # fmt: skip
    head = (
        "column",
        "moved (0 to 1)",
        "by chance",
        "new codes",
        "codes gone",
        "missing before",
        "missing now",
    )
    words = [*drift.sentences(notable), *([together[:1].upper() + together[1:]] if together else [])]
    table = DataTable(head, rows, "Drift", folded=len(rows) > 30, words=(5, 6))
    return Section("What changed since", words, [table])
