"""What is there already: a release is made once, and afterwards taken from its own record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import DataError, OutputError, VerificationError
from sfumato.io.atomic import write_text
from sfumato.plan.document import FORM, PlanDocument
from sfumato.plan.outcome import Run
from sfumato.plan.step import Step
from sfumato.plan.steps import Workbench, result
from sfumato.plan.workplace import SPLIT_KEY, Workplace
from sfumato.privacy import Guarantee
from sfumato.release import Release, fingerprint, read_key, verify
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.assessment.judgement import Assessment

RECORD = "run.json"
KEY = "release.key"
JUDGED = "assessment.json"


def refuse_folder(out: Path) -> None:
    """A folder of something else is never touched."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise OutputError(f"'{out.name}' is there and is not a folder.", hint="choose another name")
    if not out.is_dir() or not any(out.iterdir()):
        if out.is_dir():
            raise OutputError(f"'{out.name}' is an empty folder.", hint="remove it, or choose another name")
        return
    if not list(records(out)):
        raise OutputError(f"'{out.name}' is there and no run has made it.", hint="choose a new folder")


def records(out: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The folders of the releases in a folder, with the record of the run."""
    for path in (out / "internal" / RECORD, *sorted(out.glob(f"*/internal/{RECORD}"))):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(document, dict) and document.get("sfumato_run") == 1:
            yield path.parent.parent, document


def there(plan: PlanDocument, out: Path, table: Table, previous: Sequence[str] = ()) -> str:
    """nothing; same: what this plan makes of this data; restamp: but for what is around it; or other.

    previous: marks of the earlier release it is to be held against, if any.
    """
    if not out.is_dir():
        return "nothing"
    found = {r["step"]: (folder, r) for folder, r in records(out)}
    wanted = {s.name: s for s in plan.released}
    if set(found) != set(wanted):
        return "other"
    same = True
    for name, (folder, document) in found.items():
        if not _is_of(document, folder, plan, wanted[name], table):
            return "other"
        same &= document.get("stamp") == stamp(plan)
        same &= not previous or document.get("previous") == list(previous)
        same &= document.get("form") == form_mark(plan)
    return "same" if same else "restamp"


def _is_of(document: Mapping[str, Any], folder: Path, plan: PlanDocument, step: Step, table: Table) -> bool:
    """Whether a release is what this step makes of this data."""
    if document.get("made_by") != plan.made_by(step):
        return False
    return bool(document.get("fingerprint") == fingerprint(table, read_key(folder / "internal" / KEY)))


def stamp(plan: PlanDocument) -> dict[str, Any]:
    """What a release says of its plan: which it was, and who has signed it."""
    signed = plan.signed
    return {
        "digest": plan.digest,
        "draft": plan.draft,
        "signed": [signed[0], str(signed[1])] if signed else None,
    }


def form_mark(plan: PlanDocument) -> str | None:
    """A digest of the form for the determination file as it is now; None if the plan names none."""
    name = plan.table("outputs").get(FORM)
    return None if name is None else hashlib.blake2b(plan.path(name).read_bytes(), digest_size=16).hexdigest()


def keep_who_was_held_back(plan: PlanDocument, source: Path, table: Table, place: Workplace) -> None:
    """Rows that are taken from an earlier release were made without certain people: the same are held back.

    Others would be compared with a control that is in the release.
    """
    steps = {s.name: s for s in plan.released}
    for folder, document in records(source) if "hold_back" in plan.table("assess") else ():
        step = steps.get(document["step"])
        if step is not None and _is_of(document, folder, plan, step, table):
            place.keep_split(read_key(folder / "internal" / SPLIT_KEY))
            return


def as_it_was(plan: PlanDocument, out: Path) -> Run:
    """What a run says that finds its release already there: whether it met its limits, too."""
    found = [document for _, document in records(out)]
    met = all(document.get("met", True) for document in found)
    accepted = "" if met else plan.accepted
    missed = not met and not accepted
    draft = drafted(plan.draft, missed)
    return Run(out, folders(plan, out), draft, met=met, accepted=accepted, unchanged=True)


def is_draft(out: Path) -> bool:
    """Whether what a run has made there is a draft: unsigned, or without its limits."""
    return any(
        document["stamp"].get("draft") or not (document.get("met", True) or document.get("accepted"))
        for _, document in records(out)
    )


def drafted(unsigned: str, missed: bool) -> str:
    """Why a release is a draft; empty if it is none."""
    return ", and ".join(w for w in ("it does not meet its limits" if missed else "", unsigned) if w)


def take_over(bench: Workbench, source: Path, table: Table, *, asked: bool) -> None:
    """The results of an earlier release as finished steps: the very bytes, with the record they came with."""
    steps = {s.name: s for s in bench.plan.released}
    taken = 0
    for folder, document in records(source):
        step = steps.get(document["step"])
        if step is None or not _is_of(document, folder, bench.plan, step, table):
            continue
        taken += 1
        if bench.done(step):
            continue
        release = Release.load(folder)
        own = Guarantee.from_json(json.dumps(document["guarantee"]))
        replace(release, about=document["about"], draft="", guarantee=own).save(bench.folder(step))
    if asked and taken < len(steps):
        raise DataError(
            f"'{source.name}' is not what this plan makes of this data.", hint="run without --record"
        )


def keep_judged(
    internal: Path,
    plan: PlanDocument,
    step: Step,
    release: Release,
    judged: Assessment,
    previous: Sequence[str],
) -> None:
    """Write the assessment down, with what it was about: the rows, the limits, the earlier release."""
    from sfumato.assessment.memory import written_down

    document = {
        "note": "internal: must not leave the house",
        **_about_judging(internal, plan, step, release, previous),
        "assessment": written_down(judged),
    }
    write_text(internal / JUDGED, json.dumps(document, ensure_ascii=False) + "\n", private=True)


def judged_before(bench: Workbench, source: Path, previous: Sequence[str]) -> dict[str, Assessment]:
    """The assessments of an earlier run that a new one would repeat: of the same rows, by the same limits."""
    from sfumato.assessment.memory import read_back

    steps = {s.name: s for s in bench.plan.released}
    found: dict[str, Assessment] = {}
    for folder, record in records(source):
        step, internal = steps.get(record["step"]), folder / "internal"
        if step is None or not bench.done(step):
            continue
        try:
            document = json.loads((internal / JUDGED).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # a release of before: it is judged anew
        about = _about_judging(internal, bench.plan, step, result(bench, step), previous)
        if all(document.get(name) == value for name, value in about.items()):
            found[step.name] = read_back(document["assessment"])
    return found


def _about_judging(
    internal: Path, plan: PlanDocument, step: Step, release: Release, previous: Sequence[str]
) -> dict[str, Any]:
    return {
        "version": version("sfumato"),
        "judged_by": plan.judged_by(step),
        "rows": fingerprint(release.data, read_key(internal / KEY)),
        "previous": list(previous),
    }


def require_sound(plan: PlanDocument, out: Path) -> None:
    """Refuse a release that is no longer what was written."""
    broken = [name for name, folder in folders(plan, out).items() if not verify(folder, trusted=[]).ok]
    if broken:
        raise VerificationError(
            f"'{out.name}' is there, and was changed since it was made.",
            hint="sfumato verify says what; --overwrite makes it anew",
        )


def folders(plan: PlanDocument, out: Path) -> dict[str, Path]:
    """One release is the folder itself; of several each has its own in it."""
    steps = plan.released
    return {steps[0].name: out} if len(steps) == 1 else {s.name: out / s.name for s in steps}
