"""The end of a run: releases are put together, checked as a stranger would, and put in place."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sfumato.errors import VerificationError
from sfumato.io.atomic import owner_only, write_text
from sfumato.plan import drift as drifting
from sfumato.plan.determination import determination_of
from sfumato.plan.document import FORM, PlanDocument
from sfumato.plan.leftovers import keep_unused
from sfumato.plan.limits import looser
from sfumato.plan.outcome import Run
from sfumato.plan.output_folders import KEY, RECORD, drafted, folders, form_mark, keep_judged, stamp
from sfumato.plan.page import page_of
from sfumato.plan.preparation import Opened
from sfumato.plan.step import Step
from sfumato.plan.steps import Workbench, enter, result
from sfumato.plan.workplace import SPLIT_KEY
from sfumato.privacy import Guarantee
from sfumato.privacy.together import judged_on_data, sum_of, whole_of
from sfumato.release import Release, fingerprint, manifest, read_key, verify, write_key
from sfumato.report import Page
from sfumato.report.json import to_json
from sfumato.seeds import Key
from sfumato.table import Table


def written(
    bench: Workbench, found: Run, opened: Opened, previous: Sequence[str] = (), *, instead_of: bool = False
) -> Run:
    """Put the releases together, check them as a stranger would, and rename; or refuse.

    previous: marks of the earlier release it was held against. instead_of: another one is there, no draft.
    """
    plan, place = bench.plan, bench.place
    met = all(a.met for a in found.assessments.values()) and all(a.met for a in found.published)
    found = replace(found, met=met, accepted="" if met else plan.accepted)
    found = replace(
        found, draft=drafted(plan.draft, not found.passed), notes=(*found.notes, *_notes(plan, met))
    )
    kept = instead_of and not found.passed  # a draft takes the place of nothing that may have left
    if not found.passed and (kept or plan.table("outputs").get("unmet") == "refuse"):
        said = (f"'{found.out.name}' is another release, which a draft does not replace.",) if kept else ()
        notes = (*found.notes, *said)
        return replace(found, refused=True, notes=notes, reports=tuple(_refused(bench, found)))
    shutil.rmtree(place.draft, ignore_errors=True)
    found = replace(found, whole=_whole(bench))
    parts = folders(plan, place.draft)
    if len(parts) > 1:
        place.draft.mkdir()
    profile = drifting.profile(opened.table)
    for step in plan.released:
        _assemble(bench, step, parts[step.name], found, opened.table, previous)
        drifting.write(parts[step.name] / "internal", profile)
        manifest.seal(parts[step.name], read_key(parts[step.name] / "internal" / KEY))
        if not verify(parts[step.name], trusted=[]).ok:
            raise VerificationError(
                f"the release of '{step.name}' does not verify, and was not written.",
                hint="please report this: it is a fault of Sfumato",
            )
    enter(bench, plan.released)
    place.put_in_place()
    notes = (*found.notes, *keep_unused(bench))
    place.remove()
    final = folders(plan, found.out)
    reports = [p for folder in final.values() for p in sorted((folder / "internal").glob("*"))
               if p.stem in ("report", "determination")]  # fmt: skip
    return replace(found, releases=final, reports=tuple(reports), notes=notes)


def _notes(plan: PlanDocument, met: bool) -> Iterator[str]:
    """What a person should know about the limits themselves."""
    yield from (f"{words}." for words in looser(plan.table("thresholds")))
    if met and plan.accepted:
        yield "every limit is met: 'accepted' in [thresholds] is not needed."


def _assemble(
    bench: Workbench, step: Step, folder: Path, found: Run, table: Table, previous: Sequence[str]
) -> None:
    """One release: the finished step under its stamp, with the plan, the report and the record of the run."""
    plan = bench.plan
    release = result(bench, step)
    outputs = plan.table("outputs")
    stamped = replace(
        release,
        about=_about(plan, step, release.about, found),
        draft=_public_draft(plan, found),
        guarantee=_promised(bench, release, found),
    )
    stamped.save(folder, format=outputs.get("format", "parquet"))
    internal = folder / "internal"
    write_text(internal / "plan.toml", plan.text, private=True)
    assert found.prepared is not None
    page = _page(plan, step, release, found)
    judged = found.assessments.get(step.name)
    for suffix in dict.fromkeys(outputs.get("reports", ["html", "json"])):
        if suffix == "json" and judged is not None:  # the numbers as numbers, as `assess` writes them
            text = to_json(page, {"assessment": judged.to_dict()})
            write_text(internal / "report.json", text, private=True)
        else:
            page.save(internal / f"report.{suffix}")
    if judged is not None:
        keep_judged(internal, plan, step, release, judged, previous)
    if FORM in outputs and judged is not None:
        signed_for = determination_of(plan, step, stamped, found, judged)
        signed_for.save(internal / "determination.html")
    key: Key = read_key(internal / KEY)
    held = found.split is not None and found.split.held is not None
    if held:
        write_key(internal / SPLIT_KEY, bench.place.split_key)
    document = {
        "note": "internal: must not leave the house",
        "sfumato_run": 1,
        "step": step.name,
        "made_by": plan.made_by(step),
        "fingerprint": fingerprint(table, key),
        "stamp": stamp(plan),
        "about": release.about,
        "guarantee": json.loads(release.guarantee.to_json()),
        "met": found.met,
        "accepted": found.accepted or None,
        "held_back": found.split.sentence if held and found.split is not None else None,
        "aggregates": [one.sentence for one in found.aggregates],
        "tables": [one.sentence for one in found.tables.values()],
        "previous": list(previous),
        "form": form_mark(plan),
        "dropped": dict(found.prepared.dropped),
        "drift": None if found.drift is None else found.drift.to_dict(),
    }
    write_text(internal / RECORD, json.dumps(document, indent=1, ensure_ascii=False) + "\n", private=True)
    owner_only(internal)


def _whole(bench: Workbench) -> Guarantee | None:
    """What the releases of a run promise together; what was made of one result costs what that did."""
    return whole_of(list(_uses(bench).values()))


def _uses(bench: Workbench) -> dict[str, Guarantee]:
    """{first step: what a release that goes back to it promises}: each use of the data once."""
    plan = bench.plan
    return {(plan.before(s) or (s,))[0].name: result(bench, s).guarantee for s in plan.released}


def _promised(bench: Workbench, release: Release, found: Run) -> Guarantee:
    """What a release says when it leaves: with what all that leave together cost; and, as one that would
    be a draft otherwise tells by being none that it met its limits on the data, that this is not covered."""
    plan, met, promised = bench.plan, found.met, release.guarantee
    if any(c.differential for c in promised.claims):
        promised &= Guarantee(sum_of(list(_uses(bench).values()), len(plan.released)))
    looked = any(one.looked for one in found.tables.values())
    if not plan.limits and not looked and "aggregates" not in plan.document:
        return promised
    return judged_on_data(promised, met)


def _public_draft(plan: PlanDocument, found: Run) -> str:
    """Why it is a draft, as its public part may say it: no number, no name of a column."""
    missed = "" if found.passed else "it does not meet the limits that its publisher set"
    unsigned = "no person has signed for this release" if plan.draft else ""
    return ", and ".join(w for w in (missed, unsigned) if w)


def _about(plan: PlanDocument, step: Step, own: str, found: Run) -> str:
    """What the card says first. Nothing of the data is in it but whether limits were met."""
    parts = []
    if found.accepted:
        parts.append("It does not meet all limits that its publisher set, who has accepted that.")
    title = " ".join(str(plan.document.get("title", "")).split())
    if title:
        parts.append(f"{title.rstrip('.')}.")
    if plan.before(step):
        parts.append(
            "Made in several steps: each later one has seen the result of the earlier one only, never the "
            "data, so that this file tells nothing that the first result does not tell."
        )
    return " ".join([*parts, own])


def _page(plan: PlanDocument, step: Step, release: Release, found: Run) -> Page:
    """The report of one released step."""
    assert found.prepared is not None
    notable = plan.table("drift").get("notable", 0.1)
    judged = found.assessments.get(step.name)
    return page_of(plan, step, release, found, judged, notable)


def _refused(bench: Workbench, found: Run) -> Iterator[Path]:
    """The reports of what was refused, beside where the release would have been."""
    for step in bench.plan.released:
        page = _page(bench.plan, step, result(bench, step), found)
        name = found.out.name if len(bench.plan.released) == 1 else f"{found.out.name}-{step.name}"
        yield page.save(found.out.with_name(f"{name}-refused.html"), overwrite=True)
