"""Judge a release: any two files, whoever made them, the same measures and the same attacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.assessment.attacks.success import NothingToAttack
from sfumato.assessment.case import Case, case_of
from sfumato.assessment.checks import CHECKS, AssessmentCheck, guest_checks, limited_by
from sfumato.assessment.checks.base import Partly
from sfumato.assessment.judgement import Assessment, Skipped, ordered
from sfumato.assessment.page import released_roles
from sfumato.assessment.reading.files import guarantee_of
from sfumato.assessment.subject import Hierarchies, Maker, Subject
from sfumato.assessment.thresholds import RISK, judged, measure, require_known
from sfumato.errors import DataError, SfumatoError, listed
from sfumato.progress import report
from sfumato.schema import Schema
from sfumato.score import Score
from sfumato.seeds import Key

if TYPE_CHECKING:
    from sfumato.assessment.attacks.fellegi_sunter import AttackDatabase
    from sfumato.assessment.audit import Audit
    from sfumato.assessment.pictures import Pictures
    from sfumato.assessment.utility.models import Model

__all__ = ["Assessment", "assess"]

_LABEL = "parts of the assessment"


def assess(
    original: Any,
    released: Any,
    *,
    control: Any = None,
    schema: Schema | str | Path | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    target: str | None = None,
    weight: str | None = None,
    population: Any = None,
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
    """
    limits = dict(thresholds or {})
    checks = (*CHECKS, *guest_checks())
    require_known(limits, [m for check in checks for m in check.gives])
    case = case_of(
        Subject(
            original=original, released=released, control=control, schema=schema,
            quasi_identifiers=quasi_identifiers, sensitive=sensitive, target=target, weight=weight,
            population=population, hierarchies=hierarchies, truth=truth, key=key, effort=effort,
            database=database, formulas=formulas, earlier=earlier, maker=maker, audit=audit,
        )
    )  # fmt: skip
    notes, found = _notes(case), _examined(case, checks)
    figures, undrawn = _figures(case, found.scores)
    return Assessment(
        scores=found.scores,
        thresholds=judged(limits, found.scores, found.unavailable, found.broken),
        skipped=(*found.skipped, *undrawn),
        guarantee=guarantee_of(released),
        notes=notes,
        rows=case.files.rows,
        columns=case.pair.columns,
        quasi_identifiers=case.files.quasi_identifiers,
        effort=effort,
        schema=released_roles(case.files),
        figures=figures,
    )


def _notes(case: Case) -> tuple[str, ...]:
    """What was assumed on the way, each once."""
    notes = [*case.files.notes, *case.pair.notes]
    notes += [f"{p.column}: attacked in parts, {listed(p.names)}." for p in case.name_parts]
    if case.files.control is None:
        notes.append(
            "No control was given: attacks are held against a plain guess only, which overstates them."
        )
    if any(a.claim is not None and a.refutes() for a in case.subject.audits):
        notes.append("An audit refuted the claim of differential privacy: the mechanism gives away more.")
    return tuple(dict.fromkeys(notes))


@dataclass(frozen=True)
class _Examined:
    """What the checks gave. unavailable, broken: as `thresholds.judged` takes them."""

    scores: tuple[Score, ...]
    skipped: tuple[Skipped, ...]
    unavailable: Mapping[str, str]
    broken: Mapping[str, str]


def _examined(case: Case, checks: Sequence[AssessmentCheck]) -> _Examined:
    """Every check, one after the other."""
    scores: list[Score] = []
    skipped: list[Skipped] = []
    unavailable: dict[str, str] = {}
    broken: dict[str, str] = {}
    if case.left_out:  # an intruder who knows less than was said proves nothing
        broken[RISK] = f"too many values to attack with: {listed([repr(n) for n in case.left_out])}"
    for number, check in enumerate(checks):
        report(_LABEL, number, len(checks))
        found, reason, failed = _done(check, case)
        scores += found
        if reason:
            skipped.append(Skipped(check.name, reason))
            unavailable |= dict.fromkeys(check.gives, reason)
        if failed:
            for limit in (limited_by(check), *check.gives):
                broken.setdefault(limit, f"{check.name}: {reason}")
    report(_LABEL, len(checks), len(checks))
    return _Examined(ordered(scores), tuple(skipped), unavailable, broken)


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
