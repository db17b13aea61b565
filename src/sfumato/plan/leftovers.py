"""What an earlier run has paid for, and this one does not ask for: kept beside the release, and named.

A run that was stopped leaves finished steps. Where the plan or its data were changed before the next run,
that one has no use for them, and its workplace is removed in the end. What was paid for is moved out first.

Tested by: tests/plan/test_leftovers.py
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from sfumato.io.atomic import owner_only
from sfumato.plan.found_domains import search_name
from sfumato.plan.steps import Workbench, known_ledger
from sfumato.privacy.ledger import LedgerEntry
from sfumato.privacy.rounding import shown

_HOW = {
    "": "sf.Release.load reads it, sfumato verify checks it",
    ".model": "sf.PrivateModel.load reads it, and rows of it are free",
    ".domains.toml": "a schema, with the domains that were found",
}


def keep_unused(bench: Workbench) -> tuple[str, ...]:
    """Move results that were paid for and are not asked for beside the release; what a person must know."""
    place, plan = bench.place, bench.plan
    asked = {search_name(bench), *(bench.name(step) for step in plan.steps)}
    there = {path.name.partition(".")[0] for path in place.steps.iterdir()}
    paid = sorted(n for n in there - asked if place.attempts(n) or (place.steps / f"{n}.pay").exists())
    if not paid:
        return ()
    ledger = known_ledger(plan)
    entries = () if ledger is None else ledger.entries()
    folder = place.target.with_name(f"{place.target.name}-paid-for")
    return tuple(note for name in paid for note in _kept(bench, name, folder, entries))


def _kept(bench: Workbench, name: str, folder: Path, entries: Sequence[LedgerEntry]) -> Iterator[str]:
    steps = bench.place.steps
    debits = [e for e in entries if f"[{name[:16]}-" in e.purpose]
    what = "; ".join(dict.fromkeys(_words(e) for e in debits)) or "a step of it, without a ledger"
    before = "a run that was stopped, of another plan or other data,"
    results = [p for p in map(steps.joinpath, (f"{name}{end}" for end in _HOW)) if p.exists()]
    for path in results:
        yield (
            f"{before} has paid for {what}. This run did not ask for it: it is kept in "
            f"{folder.name}/{_moved(path, folder).name} ({_HOW[path.name.removeprefix(name)]})."
        )
    if not results and bench.place.attempts(name):
        yield f"{before} had begun to draw noise for {what}, and what it drew is gone. The debit stands."
    elif not results and debits:
        yield f"{before} has paid for {what}, and has drawn nothing for it. The debit stands."


def _words(entry: LedgerEntry) -> str:
    kind, amount = ("rho", entry.rho) if entry.epsilon is None else ("epsilon", entry.epsilon)
    return f"{entry.purpose.rpartition(' [')[0]} ({kind} = {shown(amount or 0.0)})"


def _moved(path: Path, folder: Path) -> Path:
    """The result beside the release, for the owner alone; nothing that is there is replaced."""
    folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
    owner_only(folder)
    stem, _, ending = path.name.partition(".")
    names = (f"{stem[:8]}{f'-{i}' * (i > 0)}{f'.{ending}' * bool(ending)}" for i in range(10_000))
    target = next(t for name in names if not os.path.lexists(t := folder / name))
    os.rename(path, target)
    return target
