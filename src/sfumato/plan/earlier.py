"""An earlier release beside the new one: whoever holds both may put them together, and that is tried.

What can be tried depends on whose release the earlier one is. Made of this very data, it is of the same
people. Made of what the plan itself names, while `input` is what came since, the people of then are at hand:
newcomers can be told from what the new release has more of. Where its data cannot be had, its people are
taken to be the same, which overstates what is given away of those who came or left.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from sfumato.errors import SfumatoError
from sfumato.plan.document import PlanDocument
from sfumato.plan.output_folders import KEY, records
from sfumato.plan.preparation import open_input
from sfumato.release import Release, fingerprint, read_key
from sfumato.release.manifest import MANIFEST
from sfumato.schema import Role
from sfumato.table import Table


@dataclass(frozen=True, eq=False)
class Before:
    """What an assessment takes as earlier releases, and in words whose they are."""

    given: tuple[Any, ...] = ()
    note: str = ""


def before(plan: PlanDocument, opened: Table, previous: str | Path | None, *, other_input: bool) -> Before:
    """The earlier releases as the attacks want them.

    other_input: the run is on other data than the plan names, so that the plan's may be the earlier ones.
    """
    if previous is None or plan.table("assess").get("skip"):
        return Before()
    found = [
        (Release.load(folder), str(document.get("fingerprint")), read_key(folder / "internal" / KEY))
        for folder, document in records(Path(previous))
    ]
    releases = tuple(release for release, *_ in found)
    if _made_of(opened, found):
        return Before(releases, "the earlier release is of the same data: both are attacked together.")
    then = _data_of_then(plan) if other_input else None
    if then is None or not _made_of(then, found):
        return Before(
            releases,
            "the data of the earlier release is not at hand: its people are taken to be the same, which "
            "overstates what both releases together give away of those who came or left.",
        )
    grown = tuple((then, release) for release in releases)
    still = _still_there(then, opened)
    if still == 0:
        return Before(grown, "nobody of the earlier release is in the new data.")
    said = "" if still is None else f" {still:,} of its people are in the new data."
    return Before((*releases, *grown), f"the earlier release and this one are attacked together.{said}")


def marks(previous: str | Path | None) -> list[str]:
    """Which earlier release it was: a digest of each of its manifests."""
    if previous is None:
        return []
    files = [folder / "public" / MANIFEST for folder, _ in records(Path(previous))]
    return [hashlib.blake2b(f.read_bytes(), digest_size=16).hexdigest() for f in files]


def _made_of(table: Table, found: Sequence[tuple[Release, str, Any]]) -> bool:
    return bool(found) and all(fingerprint(table, key) == mark for _, mark, key in found)


def _data_of_then(plan: PlanDocument) -> Table | None:
    """What the plan names as its data, if it is still there and still of its schema."""
    try:
        return open_input(plan).table
    except SfumatoError:
        return None


def _still_there(then: Table, now: Table) -> int | None:
    """How many people are in both; None if no column says who is who."""
    names = [n for n in now.schema.of_role(Role.PERSON) if n in then.schema.of_role(Role.PERSON)]
    if len(names) != 1:
        return None
    old, new = (pc.unique(t.select(names).to_arrow()[names[0]]).drop_null() for t in (then, now))
    return int(pc.sum(pc.is_in(new, value_set=old)).as_py() or 0)
