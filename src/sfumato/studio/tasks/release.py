"""Run the plan, and verify what it made: exactly what `sfumato run` and `sfumato verify` do.

The release lies in the folder of the plan. What is given back are words and numbers for the screen; the
reports are in the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.assessment.judgement import Assessment
from sfumato.errors import VerificationError
from sfumato.plan import Plan
from sfumato.plan.checks import contradictions
from sfumato.plan.database import DatabasePlan, DatabaseRun, is_database_plan, run_database
from sfumato.plan.database_signature import digest_of
from sfumato.plan.outcome import Run
from sfumato.progress import report
from sfumato.release import verify
from sfumato.studio.tasks.order import Order

OUT = "release"  # in the folder of the plan


def run_plan(order: Order) -> Mapping[str, object]:
    """Do what the plan says, and look at the result as a recipient would."""
    if is_database_plan(order.folder / "plan.toml"):
        return _run_linked(order)
    plan = Plan.read(order.folder / "plan.toml")
    out = order.folder / OUT
    overwrite = bool(order.given.get("overwrite"))
    previous = str(order.given.get("previous") or "") or None
    done = plan.run(out, overwrite=overwrite, previous=previous, source=plan.source())
    return {**summary(done, plan), "digest": plan.digest}


def _run_linked(order: Order) -> Mapping[str, object]:
    """The same for a plan of linked tables; its parts say how far they are."""
    report("running the plan for linked tables", 0)
    plan = DatabasePlan.read(order.folder / "plan.toml")
    digest = digest_of(plan.document, plan.folder)
    done = run_database(plan, order.folder / OUT, overwrite=bool(order.given.get("overwrite")))
    report("verifying the release", 0)
    return {**_linked_summary(done), "digest": digest}


def _linked_summary(done: DatabaseRun) -> dict[str, object]:
    """What came of a run for linked tables, in the shape of `summary`."""
    found = done.assessment
    tables = done.release.data.tables
    released = {
        "folder": OUT,
        "columns": sum(len(t.columns) for t in tables.values()),
        "claims": [claim.title for claim in done.release.guarantee.claims],
        "verified": verified(done.out),
    }
    return {
        "draft": done.release.draft,
        "met": found.met,
        "passed": done.passed,
        "accepted": done.accepted,
        "refused": "",
        "unchanged": False,
        "notes": list(found.notes),
        "releases": {OUT: released},
        "decisions": {OUT: _decision(found)},
        "drift": None,
    }


def summary(done: Run, plan: Plan) -> dict[str, object]:
    """What came of a run, as plain values."""
    return {
        "draft": done.draft,
        "met": done.met,
        "passed": done.passed,
        "accepted": done.accepted,
        "refused": done.refused,
        "unchanged": done.unchanged,
        "notes": [*contradictions(plan), *done.notes],
        "releases": {name: _released(done, name, folder) for name, folder in done.releases.items()},
        "decisions": {name: _decision(found) for name, found in done.assessments.items()},
        "drift": None if done.drift is None else list(done.drift.sentences()),
    }


def _decision(found: Assessment) -> dict[str, object]:
    return {
        "because": found.because,
        "limits": [[t.outcome, t.sentence] for t in found.thresholds],
        "advice": list(found.advice),
        "not_examined": len(found.skipped),
    }


def _released(done: Run, name: str, folder: Path) -> dict[str, Any]:
    release = done.load(name)
    return {
        "folder": folder.relative_to(done.out.parent).as_posix(),
        "columns": len(release.columns),
        "claims": [claim.title for claim in release.guarantee.claims],
        "verified": verified(folder),
    }


def verified(folder: Path) -> dict[str, Any]:
    """What `sfumato verify` says of a release."""
    try:
        found = verify(folder)
    except VerificationError as error:
        return {"ok": False, "verdict": error.message, "standing": "altered", "rows": []}
    rows = [[outcome, subject, how] for outcome, subject, how, _ in found.rows()]
    return {"ok": found.ok, "verdict": found.verdict, "standing": found.standing.name.lower(), "rows": rows}
