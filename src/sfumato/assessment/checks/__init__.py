"""The parts of an assessment: what each needs, what it gives, and when it is worth its time."""

from __future__ import annotations

from sfumato.assessment.checks import attacks, knowledge, risk, utility
from sfumato.assessment.checks.base import Part
from sfumato.assessment.thresholds import RISK, UTILITY, measure

__all__ = ["PARTS", "Part", "giving", "limited_by"]

PARTS: tuple[Part, ...] = (*utility.PARTS, *risk.PARTS, *attacks.PARTS, *knowledge.PARTS)


def limited_by(part: Part) -> str:
    """The limit that speaks of all parts like this one; nothing for counts of the file alone."""
    names = {p.name: RISK for p in (*attacks.PARTS, *knowledge.PARTS)} | {
        p.name: UTILITY for p in utility.PARTS
    }
    return names.get(part.name, "")


def giving(name: str) -> list[Part]:
    """The parts that may give a score of that name."""
    return [part for part in PARTS if measure(name) in part.gives]
