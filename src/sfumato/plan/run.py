"""A plan is run: open, compare, hold back, prepare, do the steps, judge, write. It reads as what is done.

Guarantee: at every moment the release is either not there, or there as a whole; noise is drawn once for what
    the
           ledger and the workplace say was spent; the same plan on the same data gives the same public bytes.
Because:   everything is put together in a hidden folder and renamed (workplace.py); spending is on disk
    before noise
           is drawn (steps.py); a release that is there is never made again, only stamped anew, from its own
           record.
Assumes:   the hidden folder and the release's internal part are not removed between runs.
Tested by: tests/plan/test_kill.py, tests/plan/test_resume.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import DataError, OutputError, SchemaError, listed
from sfumato.languages import speaking
from sfumato.plan import drift as drifting
from sfumato.plan.aggregates import judged_aggregates
from sfumato.plan.assembly import written
from sfumato.plan.document import INPUT, PlanDocument
from sfumato.plan.drift import Drift
from sfumato.plan.earlier import before, marks
from sfumato.plan.found_domains import with_found_domains
from sfumato.plan.holdback import split as split_off
from sfumato.plan.judgement import judged
from sfumato.plan.leftovers import keep_unused
from sfumato.plan.outcome import Run
from sfumato.plan.output_folders import (
    as_it_was,
    is_draft,
    judged_before,
    keep_who_was_held_back,
    records,
    refuse_folder,
    require_sound,
    take_over,
    there,
)
from sfumato.plan.preparation import open_input, prepare, trimmed
from sfumato.plan.steps import Workbench, known_ledger, outdated, result, rows_of, undo, work
from sfumato.plan.tables import is_tables, judged_tables
from sfumato.plan.witnesses import note_on_accounts
from sfumato.plan.workplace import workplace
from sfumato.privacy.signatures import Trust
from sfumato.progress import report
from sfumato.release import fingerprint
from sfumato.schema import Schema
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.sources import DataLike

__all__ = ["Run", "run"]

_LABEL = "steps of the plan"


def run(
    plan: PlanDocument,
    out: Path,
    *,
    input: DataLike | None = None,
    previous: str | Path | None = None,
    against: Sequence[str | Path] = (),
    record: str | Path | None = None,
    overwrite: bool = False,
    spend_again: bool = False,
    other_people: bool = False,
    source: str | None = None,
    language: str | None = None,
) -> Run:
    """Do what a plan says, and write the release.

    input: other data than the plan names, of the same columns: a file, a database or a frame, as of Spark
        (docs/scale.md). previous: an earlier release to compare it with, and to attack together with the new
        one. against: releases and models that were paid from the plan's ledger: one that lacks the line of
        one of them, or of the earlier release, is an older copy, and pays for nothing.
    record: an earlier release by the same plan of the same data: the result is taken from it, nothing is
        drawn.
    overwrite: replace a release that another plan or other data has made.
    spend_again: draw noise again that a stopped run had drawn and lost; both count.
    other_people: nobody in the data was paid for before, by another ledger than the plan's.
    source: where a frame was read from, which the plan's ledger pays for; of a file it is known.
    language: of report, card and determination, in place of the plan's.
    """
    out = Path(out)
    refuse_folder(out)
    opened = open_input(plan, input)
    drift = _compared(plan, opened.table, previous)
    notes = [f"'{d.column}': {d.what}." for d in opened.differences.notes if "not observed" not in d.what]
    wanted = plan.table("assess").get("hold_back")
    published = (*_folders(previous), *map(Path, against))
    with workplace(out) as place:

        def bench_of() -> Workbench:
            mark = fingerprint(opened.table, place.key) + (place.split_mark if wanted is not None else "")
            where = source or plan.source(input)
            return Workbench(plan, place, mark, spend_again, where, other_people, published)

        found = there(plan, out, opened.table, marks(previous))
        if found == "same":
            require_sound(plan, out)
            if any(place.steps.iterdir()):  # of a run that was killed after its last rename
                notes += keep_unused(bench_of())
            place.remove()
            return replace(as_it_was(plan, out), drift=drift, notes=tuple(notes))
        if found == "other" and not overwrite:
            raise OutputError(
                f"'{out.name}' was made by another plan or from other data.",
                hint="choose a new folder; --overwrite replaces it, and the old record is gone",
            )
        earlier_ones = [Path(f) for f in (out if found == "restamp" else None, record) if f is not None]
        for folder in earlier_ones:
            keep_who_was_held_back(plan, folder, opened.table, place)
        bench = bench_of()
        for folder in earlier_ones:
            take_over(bench, folder, opened.table, asked=record is not None and folder == Path(record))
        split = split_off(_trusted(plan, opened.table), wanted, place.split_key)
        prepared = with_found_domains(bench, prepare(plan, split.steps))
        resumed = tuple(_do_steps(bench, prepared.table, _of_all(plan, opened.table, prepared.table)))
        other = input is not None and plan.source(input) != plan.source()
        earlier = before(plan, opened.table, previous, other_input=other)
        known = {
            name: one
            for folder in earlier_ones
            for name, one in judged_before(bench, folder, marks(previous)).items()
        }
        found_by_step = judged(bench, split, prepared, earlier.given, known)
        said = tuple(n for n in (*notes, earlier.note, _accounts(plan, previous)) if n)
        counted = {s.name: judged_tables(s, result(bench, s)) for s in plan.steps if is_tables(s)}
        done = Run(out, {}, plan.draft, drift=drift, resumed=resumed, assessments=found_by_step,
                   prepared=prepared, split=split, notes=said, together=earlier.note,
                   aggregates=judged_aggregates(plan, opened.table), tables=counted)  # fmt: skip
        instead_of = found == "other" and not is_draft(out)
        with speaking(language or plan.table("outputs").get("language")):
            return written(bench, done, opened, marks(previous), instead_of=instead_of)


# -- doing ---------------------------------------------------------------------------------------------


def _trusted(plan: PlanDocument, table: Table) -> Table:
    """The table under its schema as it counts here: who may declare domains, and which were found."""
    schema = table.schema
    ledger = known_ledger(plan) if any(c.provenance and c.provenance.seal for c in schema) else None
    return table.with_schema(schema.trusting(Trust.default(), ledger))


def _folders(previous: str | Path | None) -> list[Path]:
    return [] if previous is None else [folder for folder, _ in records(Path(previous))]


def _accounts(plan: PlanDocument, previous: str | Path | None) -> str:
    """Whether the earlier release and this one are added up, where both claim an epsilon."""
    return note_on_accounts(known_ledger(plan), _folders(previous)) if previous is not None else ""


def _compared(plan: PlanDocument, table: Table, previous: str | Path | None) -> Drift | None:
    """What changed since an earlier release; unknown codes stop the run."""
    if previous is None:
        return None
    earlier = _folders(previous)
    if not earlier:
        raise DataError(
            f"'{Path(previous).name}' is not a release that a run has made.", hint="--previous release/"
        )
    found = drifting.compare(drifting.read(earlier[0]), table)
    wanted = plan.table("drift")
    stops = [f"'{n}' is new" for n in found.added] + [f"'{n}' is gone" for n in found.removed]
    stops += [f"'{n}' is of another type" for n in found.retyped]
    if wanted.get("unknown", "stop") == "stop":
        # Codes that the schema lists were looked at by whoever signs it: `schema update --extend`, and on.
        open_ = [m for m in found.unknown if plan.schema[m.column].levels is None]
        stops += [f"'{m.column}' has {m.new:,} unknown codes in {m.cells:,} cells" for m in open_]
    if "most" in wanted:
        far = [m for m in found.columns if m.distance > wanted["most"]]
        stops += [f"'{m.column}' moved by {m.distance:.2f}" for m in far]
    if stops:
        raise SchemaError(
            f"the data is not like that of the earlier release: {listed(stops, 40)}.",
            hint="look at the new codes, extend schema and hierarchies; [drift] unknown = 'report' goes on",
            values=[v for values in found.values.values() for v in values],
        )
    return found


def _of_all(plan: PlanDocument, read: Table, prepared: Table) -> Table:
    """What tables are counted in: everybody, those who are held back too, in the domains that were found."""
    table = trimmed(plan, _trusted(plan, read))
    found = [n for n in plan.table("domains").get("columns", ()) if n in prepared.schema]
    own = {n: prepared.schema[n] for n in found}
    return table.with_schema(Schema(tuple(own.get(c.name, c) for c in table.schema)))


def _do_steps(bench: Workbench, table: Table, everybody: Table) -> Iterator[str]:
    """Do what is not done yet; gives the names of steps that were. everybody: what tables are counted in."""
    steps = bench.plan.steps
    for number, step in enumerate(steps):
        report(_LABEL, number, len(steps))
        if bench.done(step) and outdated(bench, step):
            undo(bench, step)
        if bench.done(step):
            yield step.name
            continue
        later = [s for s in bench.plan.released if step in bench.plan.before(s)]
        if later and all(bench.done(s) for s in later):
            continue  # everything made of it is there
        source = everybody if is_tables(step) else table
        if step.of != INPUT:
            source = rows_of(bench, next(s for s in steps if s.name == step.of))
        work(bench, step, source)
    report(_LABEL, len(steps), len(steps))
