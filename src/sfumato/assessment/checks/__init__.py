"""The checks of an assessment: what each needs, what it gives, and when it is worth its time.

Start with `base` (what a check is). `utility`, `risk` and `attacks` run what the rooms of those names
measure; `knowledge` runs attacks by who holds more than the file: other releases, the method, its noise.

It says what is run on a case, and judges nothing: limits and verdicts are left to whoever runs it.
"""

from __future__ import annotations

from sfumato.assessment.checks import attacks, knowledge, risk, utility
from sfumato.assessment.checks.base import AssessmentCheck
from sfumato.assessment.thresholds import RISK, UTILITY, measure

__all__ = ["CHECKS", "AssessmentCheck", "giving", "limited_by"]

CHECKS: tuple[AssessmentCheck, ...] = (*utility.CHECKS, *risk.CHECKS, *attacks.CHECKS, *knowledge.CHECKS)


def limited_by(check: AssessmentCheck) -> str:
    """The limit that speaks of all checks like this one; nothing for counts of the file alone."""
    names = {p.name: RISK for p in (*attacks.CHECKS, *knowledge.CHECKS)} | {
        p.name: UTILITY for p in utility.CHECKS
    }
    return names.get(check.name, "")


def giving(name: str) -> list[AssessmentCheck]:
    """The checks that may give a score of that name."""
    return [check for check in CHECKS if measure(name) in check.gives]
