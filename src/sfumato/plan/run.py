"""A plan is run: open, compare, prepare, do the steps, judge, write. It reads as what is done.

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

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import DataError, OutputError, SchemaError, VerificationError, listed
from sfumato.io.atomic import owner_only, write_text
from sfumato.plan import drift as drifting
from sfumato.plan.checks import hierarchies
from sfumato.plan.drift import Drift
from sfumato.plan.methods import GENERALIZE, METHODS
from sfumato.plan.page import page_of
from sfumato.plan.plan import INPUT, Plan, Step
from sfumato.plan.preparing import Opened, Prepared, open_input, prepare
from sfumato.plan.steps import Workbench, enter, result, work
from sfumato.plan.workplace import workplace
from sfumato.progress import report
from sfumato.release import Release, fingerprint, manifest, read_key, verify
from sfumato.schema import Role
from sfumato.seeds import Key
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.assessment.judgement import Assessment

RECORD = "run.json"
_LABEL = "steps of the plan"
_KEY = "release.key"


@dataclass(frozen=True, eq=False)
class Run:
    """What came of a run.

    releases: the folder of each released step. draft: why it is a draft; empty if it is none.
    met: whether every threshold was met. refused: nothing was released because one was not.
    unchanged: the release was there already. resumed: steps that an earlier run had finished.
    """

    out: Path
    releases: Mapping[str, Path] = field(default_factory=dict)
    draft: str = ""
    met: bool = True
    refused: bool = False
    unchanged: bool = False
    resumed: tuple[str, ...] = ()
    assessments: Mapping[str, Assessment] = field(default_factory=dict)
    drift: Drift | None = None
    reports: tuple[Path, ...] = ()
    prepared: Prepared | None = None
    notes: tuple[str, ...] = ()

    def load(self, step: str | None = None) -> Release:
        """The release, or that of a named step."""
        return Release.load(self.releases[step or next(iter(self.releases))])


def run(
    plan: Plan,
    out: Path,
    *,
    input: str | None = None,
    previous: str | Path | None = None,
    record: str | Path | None = None,
    overwrite: bool = False,
    spend_again: bool = False,
) -> Run:
    """Do what a plan says, and write the release.

    input: other data than the plan names, of the same columns. previous: an earlier release to compare it
        with.
    record: an earlier release by the same plan of the same data: the result is taken from it, nothing is
        drawn.
    overwrite: replace a release that another plan or other data has made.
    spend_again: draw noise again that a stopped run had drawn and lost; both count.
    """
    out = Path(out)
    _refuse_folder(out)
    opened = open_input(plan, input)
    drift = _compared(plan, opened.table, previous)
    notes = [f"'{d.column}': {d.what}." for d in opened.differences.notes if "not observed" not in d.what]
    with workplace(out) as place:
        there = _there(plan, out, opened.table)
        if there == "same":
            _require_sound(plan, out)
            return Run(out, _folders(plan, out), plan.draft, unchanged=True, drift=drift, notes=tuple(notes))
        if there == "other" and not overwrite:
            raise OutputError(
                f"'{out.name}' was made by another plan or from other data.",
                hint="choose a new folder; --overwrite replaces it, and the old record is gone",
            )
        bench = Workbench(plan, place, fingerprint(opened.table, place.key), spend_again)
        for source in (out if there == "restamp" else None, record):
            if source is not None:
                _take_over(bench, Path(source), opened.table, asked=source is record)
        prepared = prepare(plan, opened.table)
        resumed = tuple(_do_steps(bench, prepared.table))
        judged = _judged(bench, prepared.table)
        found = Run(out, {}, plan.draft, drift=drift, resumed=resumed, assessments=judged, prepared=prepared,
                    notes=tuple(notes))  # fmt: skip
        return _written(bench, found, opened)


# -- what is there already -----------------------------------------------------------------------------


def _refuse_folder(out: Path) -> None:
    """A folder of something else is never touched."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise OutputError(f"'{out.name}' is there and is no folder.", hint="choose another name")
    if not out.is_dir() or not any(out.iterdir()):
        if out.is_dir():
            raise OutputError(f"'{out.name}' is an empty folder.", hint="remove it, or choose another name")
        return
    if not list(_records(out)):
        raise OutputError(f"'{out.name}' is there and no run has made it.", hint="choose a new folder")


def _records(out: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The folders of the releases in a folder, with the record of the run."""
    for path in (out / "internal" / RECORD, *sorted(out.glob(f"*/internal/{RECORD}"))):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(document, dict) and document.get("sfumato_run") == 1:
            yield path.parent.parent, document


def _there(plan: Plan, out: Path, table: Table) -> str:
    """nothing; same: what this plan makes of this data; restamp: but for what is around it; or other."""
    if not out.is_dir():
        return "nothing"
    found = {r["step"]: (folder, r) for folder, r in _records(out)}
    wanted = {s.name: s for s in plan.released}
    if set(found) != set(wanted):
        return "other"
    same = True
    for name, (folder, document) in found.items():
        if not _is_of(document, folder, plan, wanted[name], table):
            return "other"
        same &= document.get("stamp") == _stamp(plan)
    return "same" if same else "restamp"


def _is_of(document: Mapping[str, Any], folder: Path, plan: Plan, step: Step, table: Table) -> bool:
    """Whether a release is what this step makes of this data."""
    if document.get("made_by") != plan.made_by(step):
        return False
    return bool(document.get("fingerprint") == fingerprint(table, read_key(folder / "internal" / _KEY)))


def _stamp(plan: Plan) -> dict[str, Any]:
    signed = plan.signed
    return {
        "digest": plan.digest,
        "draft": plan.draft,
        "signed": [signed[0], str(signed[1])] if signed else None,
    }


def _take_over(bench: Workbench, source: Path, table: Table, *, asked: bool) -> None:
    """The results of an earlier release as finished steps: the very bytes, with the record they came with."""
    steps = {s.name: s for s in bench.plan.released}
    taken = 0
    for folder, document in _records(source):
        step = steps.get(document["step"])
        if step is None or not _is_of(document, folder, bench.plan, step, table):
            continue
        taken += 1
        if bench.done(step):
            continue
        release = Release.load(folder)
        about = document.get("about", release.about)
        replace(release, about=about).save(bench.folder(step))
    if asked and taken < len(steps):
        raise DataError(
            f"'{source.name}' is not what this plan makes of this data.", hint="run without --record"
        )


def _require_sound(plan: Plan, out: Path) -> None:
    broken = [name for name, folder in _folders(plan, out).items() if not verify(folder).ok]
    if broken:
        raise VerificationError(
            f"'{out.name}' is there, and was changed since it was made.",
            hint="sfumato verify says what; --overwrite makes it anew",
        )


def _folders(plan: Plan, out: Path) -> dict[str, Path]:
    """One release is the folder itself; of several each has its own in it."""
    steps = plan.released
    return {steps[0].name: out} if len(steps) == 1 else {s.name: out / s.name for s in steps}


# -- doing ---------------------------------------------------------------------------------------------


def _compared(plan: Plan, table: Table, previous: str | Path | None) -> Drift | None:
    """What changed since an earlier release; unknown codes stop the run."""
    if previous is None:
        return None
    folders = [folder for folder, _ in _records(Path(previous))]
    if not folders:
        raise DataError(
            f"'{Path(previous).name}' is no release that a run has made.", hint="--previous release/"
        )
    found = drifting.compare(drifting.read(folders[0]), table)
    wanted = plan.table("drift")
    stops = [f"'{n}' is new" for n in found.added] + [f"'{n}' is gone" for n in found.removed]
    stops += [f"'{n}' is of another type" for n in found.retyped]
    if wanted.get("unknown", "stop") == "stop":
        stops += [f"'{m.column}' has {m.new:,} unknown codes in {m.cells:,} cells" for m in found.unknown]
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


def _do_steps(bench: Workbench, table: Table) -> Iterator[str]:
    """Do what is not done yet; gives the names of steps that were."""
    steps = bench.plan.steps
    for number, step in enumerate(steps):
        report(_LABEL, number, len(steps))
        if bench.done(step):
            yield step.name
            continue
        later = [s for s in bench.plan.released if step in bench.plan.before(s)]
        if later and all(bench.done(s) for s in later):
            continue  # everything made of it is there
        source = table
        if step.of != INPUT:
            source = result(bench, next(s for s in steps if s.name == step.of)).data
        work(bench, step, source)
    report(_LABEL, len(steps), len(steps))


def _judged(bench: Workbench, table: Table) -> dict[str, Assessment]:
    wanted = bench.plan.table("assess")
    if wanted.get("skip"):
        return {}
    from sfumato.assessment.assess import assess

    control = None
    if "control" in wanted:
        control = open_input(bench.plan, str(bench.plan.path(wanted["control"]))).table.select(table.columns)
    return {
        step.name: assess(
            table,
            result(bench, step),
            control=control,
            target=wanted.get("target"),
            weight=wanted.get("weight"),
            population=wanted.get("population"),
            thresholds=dict(bench.plan.table("thresholds")),
            hierarchies=_meanings(bench.plan, step, table),
            key=bench.place.key.derive("assessment"),
            effort=wanted.get("effort", "normal"),
        )
        for step in bench.plan.released
    }


def _meanings(plan: Plan, step: Step, table: Table) -> dict[str, dict[str, list[Any]]] | None:
    """What generalized values stand for, so that the assessment need not guess it from their spelling."""
    chain = (*plan.before(step), step)
    if not any(METHODS[s.method].does == GENERALIZE for s in chain):
        return None
    found: dict[str, dict[str, list[Any]]] = {}
    given = hierarchies(plan)
    for name in table.schema.of_role(Role.QUASI_IDENTIFIER):
        if name not in given or table.schema[name].edges is not None:
            continue
        levels = table.codebooks([name])[name].levels.to_pylist()
        if not levels:
            continue
        hierarchy = given[name].over(levels)
        place = {label: i for i, label in enumerate(hierarchy.labels[0])}
        for height in range(1, len(hierarchy.labels) - 1):
            for value in levels:
                label = hierarchy.labels[height][hierarchy.ancestors[height, place[str(value)]]]
                found.setdefault(name, {}).setdefault(label, []).append(value)
    return found or None


# -- writing -------------------------------------------------------------------------------------------


def _written(bench: Workbench, found: Run, opened: Opened) -> Run:
    """Put the releases together, check them as a stranger would, and rename; or refuse."""
    plan, place = bench.plan, bench.place
    met = all(a.met for a in found.assessments.values())
    if not met and plan.table("outputs").get("unmet", "refuse") == "refuse":
        return replace(found, met=False, refused=True, reports=tuple(_refused(bench, found)))
    shutil.rmtree(place.draft, ignore_errors=True)
    folders = _folders(plan, place.draft)
    if len(folders) > 1:
        place.draft.mkdir()
    profile = drifting.profile(opened.table)
    for step in plan.released:
        _assemble(bench, step, folders[step.name], found, met, opened.table)
        drifting.write(folders[step.name] / "internal", profile)
        manifest.seal(folders[step.name], read_key(folders[step.name] / "internal" / _KEY))
        if not verify(folders[step.name]).ok:
            raise VerificationError(
                f"the release of '{step.name}' does not verify, and was not written.",
                hint="please report this: it is a fault of Sfumato",
            )
    enter(bench, plan.released)
    place.put_in_place()
    place.remove()
    final = _folders(plan, found.out)
    reports = [p for folder in final.values() for p in sorted((folder / "internal").glob("report.*"))]
    return replace(found, releases=final, met=met, reports=tuple(reports))


def _assemble(bench: Workbench, step: Step, folder: Path, found: Run, met: bool, table: Table) -> None:
    """One release: the finished step under its stamp, with the plan, the report and the record of the run."""
    plan = bench.plan
    release = result(bench, step)
    outputs = plan.table("outputs")
    stamped = replace(release, about=_about(plan, step, release.about, met))
    stamped.save(folder, format=outputs.get("format", "parquet"))
    internal = folder / "internal"
    write_text(internal / "plan.toml", plan.text, private=True)
    assert found.prepared is not None
    notable = plan.table("drift").get("notable", 0.1)
    page = page_of(
        plan, step, release, found.prepared, found.assessments.get(step.name), found.drift, notable
    )
    for suffix in dict.fromkeys(outputs.get("reports", ["html"])):
        page.save(internal / f"report.{suffix}")
    key: Key = read_key(internal / _KEY)
    document = {
        "note": "internal: must not leave the house",
        "sfumato_run": 1,
        "step": step.name,
        "made_by": plan.made_by(step),
        "fingerprint": fingerprint(table, key),
        "stamp": _stamp(plan),
        "about": release.about,
        "met": met,
        "dropped": dict(found.prepared.dropped),
        "drift": None if found.drift is None else found.drift.to_dict(),
    }
    write_text(internal / RECORD, json.dumps(document, indent=1, ensure_ascii=False) + "\n", private=True)
    owner_only(internal)


def _about(plan: Plan, step: Step, own: str, met: bool) -> str:
    """What the card says first. Nothing of the data is in it but whether thresholds were met."""
    parts = []
    if plan.draft:
        parts.append(
            "DRAFT: no person has signed for this release. It is not to be passed on or relied upon."
        )
    if not met:
        parts.append("MARKED: it does not meet what its publisher asked of it.")
    if str(plan.document.get("title", "")).strip():
        parts.append(f"{plan.document['title'].strip().rstrip('.')}.")
    if plan.before(step):
        parts.append(
            "Made in several steps: each later one has seen the result of the earlier one only, never the "
            "data, so that this file tells nothing that the first result does not tell."
        )
    return " ".join([*parts, own])


def _refused(bench: Workbench, found: Run) -> Iterator[Path]:
    """The reports of what was refused, beside where the release would have been."""
    assert found.prepared is not None
    for step in bench.plan.released:
        release = result(bench, step)
        page = page_of(bench.plan, step, release, found.prepared, found.assessments.get(step.name),
        found.drift,
                       bench.plan.table("drift").get("notable", 0.1))  # fmt: skip
        name = found.out.name if len(bench.plan.released) == 1 else f"{found.out.name}-{step.name}"
        yield page.save(found.out.with_name(f"{name}-refused.html"), overwrite=True)
