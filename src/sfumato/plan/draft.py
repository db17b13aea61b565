"""From a file to a draft of a release in one go: roles and hierarchies proposed, a plan written, and run.

Nothing is signed: every guess waits for a person, and the plan that was run lies beside the release, so that
`sfumato run` of it gives the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.plan.choice import Choice, choose
from sfumato.plan.limits import AGREEMENT, PUBLIC
from sfumato.plan.outcome import Run
from sfumato.plan.plan import Plan
from sfumato.plan.proposal import Proposal, propose, write
from sfumato.plan.spec import NAME
from sfumato.schema import Schema

_OWN = ("local", "optimal")  # of which the better one is taken
SYNTHETIC = "imputation"  # takes its domains from the data, any kind of column, and promises nothing


@dataclass(frozen=True, eq=False)
class Draft:
    """What was assumed, the plan that was run, why by this method, and what came of it."""

    proposal: Proposal
    plan: Path
    choice: Choice
    run: Run
    data: str = ""


def plan_folder(out: Path) -> Path:
    """Where the plan of a release is left: beside it, as it must not leave the house with it."""
    return out.with_name(f"{out.name}-plan")


def draft(
    data: str,
    out: Path,
    *,
    method: str | None = None,
    settings: Mapping[str, Any] | None = None,
    known: Schema | None = None,
    keep_text: bool = False,
    overwrite: bool = False,
    **options: Any,
) -> Draft:
    """Propose a plan for data, run it, and leave the plan beside the release.

    method: by default the better of local and optimal recoding. settings: of the step, as k.
    known: what a person has written of the columns. options: how the data is read, as for `scan`.
    """
    given = dict(settings or {})
    k = given.get("k")
    who = PUBLIC if k is None or k >= PUBLIC.k else AGREEMENT
    folder = plan_folder(out)

    found = propose(
        data,
        folder=folder,
        k=k,
        recipient=who.name,
        known=known,
        settings={**given, **({"method": method} if method else {})},
        keep_text=keep_text,
        **options,
    )
    with _as_it_was(folder):
        plan = _written(found, folder, overwrite)
        own = plan.steps[0].method
        choice = choose(plan, found.nodes, own if method or own not in _OWN else None)
        if choice.method != own:
            found = found.by(choice.method)
            plan = _written(found, folder, True)
        return Draft(found, folder / "plan.toml", choice, plan.run(out, overwrite=overwrite), data)


def draft_synthetic(
    data: str, out: Path, *, rows: int | None = None, overwrite: bool = False, **options: Any
) -> Draft:
    """Propose a plan that draws synthetic rows by a chain of models, run it, and leave it beside.

    It promises nothing. A promise of differential privacy waits for domains that a person has confirmed.
    """
    folder = plan_folder(out)
    step = {"method": SYNTHETIC, "rows": rows or 0}
    found = propose(data, folder=folder, recipient=PUBLIC.name, settings=step, **options)
    if rows is None:
        rows = _two_digits(found.rows)
        found = replace(found, plan=found.plan.replace("\nrows = 0\n", f"\nrows = {rows}\n", 1))
    with _as_it_was(folder):
        plan = _written(found, folder, overwrite)
        return Draft(found, folder / "plan.toml", Choice(SYNTHETIC, {}), plan.run(out, overwrite=overwrite))


def _two_digits(rows: int) -> int:
    """About as many rows, at most: how many people there are is not told exactly."""
    step = int("1" + "0" * max(0, len(str(rows)) - 2))
    return max(1, rows // step * step)


@contextmanager
def _as_it_was(folder: Path) -> Iterator[None]:
    """Where what is asked is refused, the folder of the plan is as it was before: not there, or unchanged.

    An interruption leaves the plan: the work that was done goes on with it.
    """
    there = folder.is_dir()
    paths = [folder / name for name in ("plan.toml", "schema.toml", NAME)]
    before = {path: path.read_bytes() for path in paths if path.is_file()}
    try:
        yield
    except Exception:
        for path in paths:
            if path in before:
                path.write_bytes(before[path])
            else:
                path.unlink(missing_ok=True)
        if not there and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
        raise


def _is_ours(found: Proposal, path: Path) -> bool:
    """Whether an earlier run of the same command has left its plan there, untouched."""
    try:
        return path.read_text("utf-8") in {found.plan, *(found.by(m).plan for m in _OWN)}  # of either choice
    except (OSError, ValueError):
        return False


def _written(found: Proposal, folder: Path, overwrite: bool) -> Plan:
    write(found, folder, overwrite=overwrite or _is_ours(found, folder / "plan.toml"))
    return Plan.read(folder / "plan.toml")
