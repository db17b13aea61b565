"""The parts of an assessment: what each needs, what it gives, and when it is worth its time."""

from __future__ import annotations

from sfumato.assessment.parts import attacking, keeping, showing
from sfumato.assessment.parts.base import Part
from sfumato.assessment.thresholds import measure

__all__ = ["PARTS", "Part", "giving"]

PARTS: tuple[Part, ...] = (*keeping.PARTS, *showing.PARTS, *attacking.PARTS)


def giving(name: str) -> list[Part]:
    """The parts that may give a score of that name."""
    return [part for part in PARTS if measure(name) in part.gives]
