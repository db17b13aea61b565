"""The checks of an assessment: what each needs, what it gives, and when it is worth its time.

Start with `base` (what a check is). `utility`, `copies`, `risk` and `attacks` run what the rooms of those
names measure; `knowledge` runs attacks by who holds more than the file: other releases, the method, its
noise.

Those of other packages come after ours (`guest_checks`).

It says what is run on a case, and judges nothing: limits and verdicts are left to whoever runs it.
"""

from __future__ import annotations

from dataclasses import replace

from sfumato import plugins
from sfumato.assessment.checks import attacks, copies, knowledge, risk, utility
from sfumato.assessment.checks.base import AssessmentCheck
from sfumato.assessment.thresholds import RISK, UTILITY, measure
from sfumato.errors import ParameterError, listed
from sfumato.plugins import Group

__all__ = ["CHECKS", "AssessmentCheck", "giving", "guest_checks", "limited_by"]

CHECKS: tuple[AssessmentCheck, ...] = (
    *utility.CHECKS, *copies.CHECKS, *risk.CHECKS, *attacks.CHECKS, *knowledge.CHECKS,
)  # fmt: skip


_OURS = tuple(check.name for check in CHECKS)


def guest_checks() -> tuple[AssessmentCheck, ...]:
    """The checks of other packages, which are loaded; each says whose it is."""
    found = plugins.found(Group.CHECKS, _require_check, _OURS)
    return tuple(replace(c, package=plugins.package(Group.CHECKS, name)) for name, c in found.items())


def _require_check(name: str, check: object) -> None:
    """What an entry point must give: a check of that name, whose scores have names of their own."""
    if not isinstance(check, AssessmentCheck) or check.name != name or not callable(check.run):
        raise ParameterError("it is no AssessmentCheck of that name", hint="docs/guests.md")
    if check.limit not in ("", RISK, UTILITY):
        raise ParameterError(f"its limit must be empty, {RISK} or {UTILITY}", hint="docs/guests.md")
    ours = {m for own in CHECKS for m in own.gives}
    taken = [repr(m) for m in check.gives if measure(m) in ours]
    if taken or not check.gives:
        fault = f"{listed(taken)} is a score of ours" if taken else "it says of no score that it gives it"
        raise ParameterError(fault, hint="give the score a name of its own")


def limited_by(check: AssessmentCheck) -> str:
    """The limit that speaks of all checks like this one; nothing for counts of the file alone."""
    if check.package:
        return check.limit
    names = {p.name: RISK for p in (*copies.CHECKS, *attacks.CHECKS, *knowledge.CHECKS)} | {
        p.name: UTILITY for p in utility.CHECKS
    }
    return names.get(check.name, "")


def giving(name: str) -> list[AssessmentCheck]:
    """The checks that may give a score of that name; guests are asked where none of ours does."""
    ours = [check for check in CHECKS if measure(name) in check.gives]
    return ours or [check for check in guest_checks() if measure(name) in check.gives]
