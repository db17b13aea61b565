"""What generalized values stand for: as the user says, or as the record of the release does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.assessment.reading.files import is_release
from sfumato.errors import ParameterError, listed
from sfumato.hierarchy import Hierarchy, read_folder
from sfumato.release import STANDS_FOR, Release
from sfumato.schema import Value

Meanings = Mapping[str, Mapping[str, Sequence[Value]]]


def meanings(given: Any, released: Any, columns: Sequence[str]) -> Meanings:
    """For each column that was generalized, the leaves of each value.

    given: a folder of level tables, or by column a Hierarchy or {value: its leaves}; None if nobody said.
    released: where it is a release with its record, the record fills in the columns nobody spoke of.
    """
    if isinstance(
        given, str | Path
    ):  # posets without levels name values that explain themselves: ranges, bits
        given = {n: h for n, h in read_folder(given, columns).items() if isinstance(h, Hierarchy)}
    told: Mapping[str, Any] = given or {}
    wrong = [repr(name) for name, tree in told.items() if not isinstance(tree, Hierarchy | Mapping)]
    if wrong:
        raise ParameterError(
            f"hierarchies: what was given for {listed(wrong)} is no hierarchy.",
            hint="a folder of level tables, or {'age': sf.Hierarchy(...)} or {'age': {'30-39': ['30', ...]}}",
        )
    said = {n: t.stands_for if isinstance(t, Hierarchy) else t for n, t in told.items()}
    return {**_recorded(released), **said}


def _recorded(released: Any) -> Meanings:
    """What the internal record says, if it is there: a public part alone has none."""
    if isinstance(released, str | Path) and is_release(released):
        released = Release.load(released)
    record = released.internal if isinstance(released, Release) else None
    if record is None or STANDS_FOR not in record.tables:
        return {}
    out: dict[str, dict[str, list[Value]]] = {}
    for row in record.tables[STANDS_FOR].to_pylist():
        out.setdefault(row["column"], {}).setdefault(row["value"], []).append(row["leaf"])
    return out
