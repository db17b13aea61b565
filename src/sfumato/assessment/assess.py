"""Judge a release: any two files, whoever made them, the same measures and the same attacks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.assessment.attacks.success import NothingToAttack
from sfumato.assessment.case import Case, case_of
from sfumato.assessment.checks import CHECKS, AssessmentCheck, guest_checks, limited_by
from sfumato.assessment.checks.base import Partly
from sfumato.assessment.judgement import Assessment, Skipped, ordered
from sfumato.assessment.obstacles import obstacles, of_control
from sfumato.assessment.page import released_roles
from sfumato.assessment.reading.files import guarantee_of
from sfumato.assessment.reasons import reasons
from sfumato.assessment.subject import Hierarchies, Maker, Subject
from sfumato.assessment.threads import one_thread
from sfumato.assessment.thresholds import (
    ALPHA,
    RISK,
    Evidence,
    decided,
    judged,
    measure,
    plain_names,
    require_known,
)
from sfumato.errors import DataError, ParameterError, SfumatoError, listed
from sfumato.progress import report
from sfumato.schema import Schema
from sfumato.score import Score
from sfumato.seeds import Key

if TYPE_CHECKING:
    from sfumato.assessment.attacks.fellegi_sunter import AttackDatabase
    from sfumato.assessment.audit import Audit
    from sfumato.assessment.copies import Copies
    from sfumato.assessment.pictures import Pictures
    from sfumato.assessment.utility.models import Model
    from sfumato.release import Release
    from sfumato.sources import DataLike
    from sfumato.table import Table

__all__ = ["Assessment", "assess"]

_LABEL = "parts of the assessment"
_OF_COPIES = frozenset({"copied rows", "people nearly copied", "largest risk of a single record"})


def assess(
    original: Table | Release | DataLike,
    released: Table | Release | DataLike,
    *,
    control: Table | Release | DataLike | None = None,
    schema: Schema | str | Path | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    target: str | None = None,
    weight: str | None = None,
    population: int | Table | Release | DataLike | None = None,
    thresholds: Mapping[str, float] | None = None,
    hierarchies: Hierarchies | None = None,
    truth: str | None = None,
    key: Key | None = None,
    effort: str = "normal",
    database: AttackDatabase | None = None,
    formulas: Mapping[str, Model] | None = None,
    earlier: Sequence[Any] = (),
    maker: Maker | None = None,
    audit: Audit | Sequence[Audit] | None = None,
    alpha: float = ALPHA,
    scope: str = "all",
) -> Assessment:
    """What a release keeps and what it gives away, held against what was asked.

    original, released, control: a Table, a Release or its folder, a file, a frame: what `scan` reads. The
        release may come from any tool; '*', intervals and prefixes are understood.
    control: people who are not in the original but could have been. Without it an attack is held against
        a plain guess only.
    schema: what the columns of the original mean; guessed, and said so, if not given.
    quasi_identifiers, sensitive: what an intruder may know, and wants; by their roles if not given, [] for
        nothing.
    target: what models predict, trained on the release and tried on the control.
    weight: the survey weight of the original. population: how many people it is a sample of, or a file.
    thresholds: limits by the name of a score or measure; "risk" for all attacks (what they reach beyond
        control or guess), "utility" for all scores of utility from 0 to 1 about the whole table.
    hierarchies: what generalized values stand for: a folder of level tables, or by column a Hierarchy or
        {value: its leaves}. The record of a release made here says it too.
    truth: "rows" if row i of the release was made of row i of the original, as in files that were
        generalized cell by cell; None if nobody knows, as for synthetic files.
    effort: "quick", "normal" or "thorough".
    database: what an intruder could hold, linked with the release by likelihood (`AttackDatabase`).
    formulas: regressions as in R, each "linear" or "logistic": {"charge ~ age + sex": "linear"}.
    earlier: other releases of the same people; or pairs (original, release) of earlier dates, where the
        table has grown since. Attacks that put releases together are then tried.
    maker: what made the release, called as maker(table, key): membership is then attacked by releases that
        are made with and without some people. It is run some forty times, on at most 4,000 rows.
    audit: what `sf.audit` found for the mechanism behind the release, or several such.
    alpha: the error of the verdict: how often a bound of `risk` errs, and copies are seen by chance.
    scope: "all", or "limits" for the verdict alone: what no limit speaks of is not measured, nor what could
        not change the verdict any more. "outcome" also names nobody where equal rows alone decide.

    >>> people = sf.samples.members(150).select(["age", "sex", "region"])
    >>> found = sf.assess(people, people, effort="quick", thresholds={"risk": 0.1})
    >>> found.verdict().not_met
    ('risk at most 0.1: ...',)
    """
    limits = plain_names(thresholds or {})
    checks = (*CHECKS, *guest_checks())
    require_known(limits, [m for check in checks for m in check.gives])
    _require_scope(scope, limits)
    case = case_of(
        Subject(
            original=original, released=released, control=control, schema=schema,
            quasi_identifiers=quasi_identifiers, sensitive=sensitive, target=target, weight=weight,
            population=population, hierarchies=hierarchies, truth=truth, key=key, effort=effort,
            database=database, formulas=formulas, earlier=earlier, maker=maker, audit=audit,
            alpha=alpha,
        ),
        brief=scope == "outcome" and not _OF_COPIES.intersection(map(measure, limits)),
    )  # fmt: skip
    return _assessed(case, checks, limits, scope)


def _assessed(
    case: Case, checks: Sequence[AssessmentCheck], limits: Mapping[str, float], scope: str
) -> Assessment:
    """Examine what the limits ask for, and judge."""
    with one_thread():
        notes, found = _notes(case), _examined(case, checks, limits, scope)
    figures, undrawn = _figures(case, found.scores) if scope == "all" else ((), [])
    evidence = _evidence(case, found)
    outcomes = judged(limits, found.scores, found.unavailable, found.broken, evidence)
    because, advice = reasons(case, outcomes, found.scores, evidence)
    notes = (*notes, *_power(found.scores), *_refuted(found.scores))
    return Assessment(
        scores=found.scores,
        thresholds=outcomes,
        skipped=(*found.skipped, *_lost(case), *undrawn),
        guarantee=guarantee_of(case.subject.released),
        notes=notes,
        rows=case.files.rows,
        columns=case.pair.columns,
        quasi_identifiers=case.files.quasi_identifiers,
        effort=case.subject.effort,
        schema=released_roles(case.files),
        figures=figures,
        because=because,
        advice=advice,
        people=case.copies.people if found.copied is not None else (),
    )


def _evidence(case: Case, found: _Examined) -> Evidence:
    copied = found.copied
    return Evidence(
        alpha=case.subject.alpha,
        looks=dict.fromkeys(found.drawn, len(case.looks)),
        fair=case.drift is None or not case.drift.seen,
        copied=math.nan if copied is None else copied.p,
        because="" if copied is None else copied.because,
        nearly=math.nan if copied is None else copied.nearly,
    )


def _lost(case: Case) -> list[Skipped]:
    """A quasi-identifier that the release lacks was not examined; it may be there under another name."""
    why = "it is not in the release, by its name or by its values"
    return [Skipped(f"quasi-identifier '{name}'", why) for name in case.files.lost]


def _refuted(scores: Sequence[Score]) -> list[str]:
    """What an attack proved against a promise of the release."""
    return [f"An attack refuted a promise: {s.meaning}" for s in scores if s.details.get("refutes")]


def _power(scores: Sequence[Score]) -> list[str]:
    """What the search for copies would have seen."""
    seen = [s.details["seen 95 times in 100"] for s in scores if "seen 95 times in 100" in s.details]
    if not seen:
        return []
    if min(seen) >= 1:
        return ["With so few people or rows even a file of nothing but copies would not surely be seen."]
    return [f"With this many people, {min(seen):.2%} of copied rows would have been seen 95 times in 100."]


def _notes(case: Case) -> tuple[str, ...]:
    """What was assumed on the way, each once."""
    notes = [*case.files.notes, *case.pair.notes]
    notes += [f"{p.column}: attacked in parts, {listed(p.names)}." for p in case.name_parts]
    if case.files.control is None:
        notes.append(
            "No control was given: attacks are held against a plain guess only, which overstates them. "
            "Every row was input, so nobody can say what the release tells of people who are not in it."
        )
    notes += of_control(case)
    if any(a.claim is not None and a.refutes() for a in case.subject.audits):
        notes.append("An audit refuted the claim of differential privacy: the mechanism gives away more.")
    return tuple(dict.fromkeys(notes))


@dataclass(frozen=True)
class _Examined:
    """What the checks gave. unavailable, broken: as `thresholds.judged` takes them.

    drawn: scores of attacks that draw people. copied: what was found of copies, if the search was done.
    """

    scores: tuple[Score, ...]
    skipped: tuple[Skipped, ...]
    unavailable: Mapping[str, str]
    broken: Mapping[str, str]
    drawn: tuple[str, ...]
    copied: Copies | None


def _require_scope(scope: str, limits: Mapping[str, float]) -> None:
    if scope not in ("all", "limits", "outcome"):
        words = f"scope must be 'all', 'limits' or 'outcome', not {scope!r}."
        raise ParameterError(words, hint='scope="limits"')
    if scope != "all" and not limits:
        raise ParameterError("there is no limit to decide.", hint="thresholds={'risk': 0.05}")


def _spared(check: AssessmentCheck, case: Case, limits: Mapping[str, float], scope: str) -> str:
    """Why a check can change nothing in the verdict that was asked for; nothing if it can."""
    if scope == "all" or any(measure(name) in check.gives for name in limits):
        return ""
    if limited_by(check) not in limits:
        return f"no limit speaks of it (scope={scope!r})"
    # Significant copies end `risk` whatever the attacks find; an attack that succeeds must wait for the
    # others, as its bound is corrected for their number.
    copies = vars(case).get("copies")
    if limited_by(check) == RISK and copies is not None and copies.p <= case.subject.alpha:
        return f"copies had decided the verdict (scope={scope!r})"
    return ""


def _examined(
    case: Case, checks: Sequence[AssessmentCheck], limits: Mapping[str, float], scope: str
) -> _Examined:
    """Every check, one after the other."""
    limit = limits.get(RISK)
    scores: list[Score] = []
    skipped: list[Skipped] = []
    unavailable: dict[str, str] = {}
    broken = obstacles(case, limit)
    drawn: list[str] = []
    for number, check in enumerate(checks):
        report(_LABEL, number, len(checks))
        spared = _spared(check, case, limits, scope)
        if spared:
            skipped.append(Skipped(check.name, spared))
            unavailable |= dict.fromkeys(check.gives, spared)
            continue
        found, reason, failed = _looked(check, case, limit) if check.drawn else _done(check, case)
        scores += found
        drawn += [s.name for s in found] if check.drawn else []
        if reason:
            skipped.append(Skipped(check.name, reason))
            unavailable |= dict.fromkeys(check.gives, reason)
        if failed:
            for name in (limited_by(check), *check.gives):
                broken.setdefault(name, f"{check.name}: {reason}")
    report(_LABEL, len(checks), len(checks))
    copied = case.copies if "copies" in vars(case) else None
    return _Examined(ordered(scores), tuple(skipped), unavailable, broken, tuple(drawn), copied)


def _looked(check: AssessmentCheck, case: Case, limit: float | None) -> tuple[list[Score], str, bool]:
    """An attack that draws people, with more draws while `risk` is undecided: the error is parted beforehand.

    So the verdict is the same for the same inputs and key, however busy the machine.
    """
    found = _done(check, case.drawing(case.looks[0]))
    for before, draws in pairwise(case.looks):
        error = case.subject.alpha / len(case.looks)
        if limit is None or before >= max(case.files.rows) or decided(found[0], limit, error):
            break
        found = _done(check, case.drawing(draws))
    return found


def _done(check: AssessmentCheck, case: Case) -> tuple[list[Score], str, bool]:
    """The scores of a check, or why there are none, and whether that leaves open what it would have found.

    One check that fails does not take the others with it. A check that is not asked for, by the effort or by
    what was given, leaves nothing open; one that is, and is refused or breaks, does, unless it was refused
    because there is nothing to attack.
    """
    try:
        reason = check.lacks(case)
        if reason:
            return [], reason, False
        return _declared(check, check.run(case)), "", False
    except Partly as error:
        return error.scores, error.message.rstrip("."), error.unknown
    except NothingToAttack as error:
        return [], error.message.rstrip("."), False
    except SfumatoError as error:
        return [], error.message.rstrip("."), True
    except MemoryError:
        return [], "it needs more memory than there is", True
    except Exception as error:  # a foreign exception may quote a cell: only its kind is told
        kind = type(error).__name__
        whose = check.package or "Sfumato"
        return [], f"it failed ({kind}), which is a fault of {whose}; please report it", True


def _declared(check: AssessmentCheck, scores: list[Score]) -> list[Score]:
    """What a check of another package gave, if it said before that it would: a limit may hang on a name."""
    if check.package and not all(isinstance(s, Score) and measure(s.name) in check.gives for s in scores):
        raise DataError(f"it gave scores that {check.package} did not declare.", hint="report it there")
    return scores


def _figures(case: Case, scores: Sequence[Score]) -> tuple[Pictures, list[Skipped]]:
    """The pictures, or why there are none: they must not take the numbers with them."""
    from sfumato.assessment.pictures import pictures

    try:
        return pictures(case, scores), []
    except Exception as error:  # a foreign exception may quote a cell: only its kind is told
        return (), [Skipped("pictures", f"they could not be drawn ({type(error).__name__})")]
