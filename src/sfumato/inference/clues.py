"""One reason to take a column for something, and how much it weighs."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.schema import Role

SURE, LIKELY, UNSURE = "sure", "likely", "unsure"


@dataclass(frozen=True)
class Clue:
    """A role, how sure it is, and why: names and counts, no value of a cell."""

    role: Role
    confidence: str
    why: str


def share(part: float) -> str:
    """'31%'; nearly all is not all, and a little is not nothing."""
    if 0.995 <= part < 1:
        return "over 99%"
    return "under 1%" if 0 < part < 0.01 else f"{part:.0%}"
