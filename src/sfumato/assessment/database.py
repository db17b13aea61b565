"""Linked tables judged: what a few known things, or a whole sequence, tell of a person; what links keep.

Persons are counted, never rows. Intruders who know a few things of a person (codes, days, gaps, numbers of
records), or all of them, look for the person in the release, and for people who are not in the data: what
they reach beyond these is held against the limits, by the rules of every verdict (`thresholds`). Utility
compares the original with the release by total variation; beside each value stands what two halves of
the original's persons differ by, which no release can be expected to beat.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from sfumato.assessment.database_measures import Shown, utilities
from sfumato.assessment.judgement import Assessment, Skipped, ordered
from sfumato.assessment.sequences.linkage import PersonClasses, classes, linked
from sfumato.assessment.sequences.nearness import Recognition, recognized
from sfumato.assessment.sequences.traces import Hierarchies, Sides, Things, Trace, traces
from sfumato.assessment.sequences.unicity import unicities
from sfumato.assessment.thresholds import (
    ALPHA,
    RISK,
    Evidence,
    Threshold,
    counts_as_risk,
    judged,
    measure,
    plain_names,
    require_known,
)
from sfumato.database import Database
from sfumato.errors import ParameterError, listed
from sfumato.release import DatabaseRelease
from sfumato.report import Figure
from sfumato.schema import Column, Kind, Role
from sfumato.score import Score
from sfumato.seeds import Key

if TYPE_CHECKING:
    pass

_FEW = 30  # different values of a column of names; more are codes
_UNREAD = 0.05  # share of released values that nobody may understand, or the limit of `risk` if smaller
_SAME, _ENOUGH = 5, 3  # things of a person whose whole trace is no coincidence; such persons in a control
_OTHER_PEOPLE = 1e-6  # the chance at which a control is of other people


def assess_database(
    original: Database,
    released: Database | DatabaseRelease,
    *,
    control: Database | None = None,
    codes: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    hierarchies: Hierarchies | None = None,
    thresholds: Mapping[str, float] | None = None,
    known: int | None = None,
    alpha: float = ALPHA,
    k: int = 5,
    persons: int = 2_000,
    seed: int = 0,
) -> Assessment:
    """Judge released linked tables against the original ones.

    control: the same tables of people who are not in the original but could have been. Without it an attack
        is held against a plain guess only, and `risk` cannot be met.
    codes: the columns whose values are a person's codes, as `table.column`; by default those of kind
        codes, and text of role sensitive in tables below the persons'.
    columns: what an intruder knows of a person beside: columns of the table of persons; by default those of
        role quasi-identifier there.
    hierarchies: by `table.column`, what generalized codes stand for; ICD-9 and ICD-10 are recognized.
    thresholds: limits by the name of a score; "risk" for all attacks, "utility" for all that is kept.
    known: how many things of one kind an intruder knows at most, for the verdict on `risk`; None for all of
        them. Attacks that need more are still tried, and shown.
    alpha: the error of the verdict. k: groups of fewer persons count as small. persons: how many are drawn
        for each question. seed: of the draws.

    >>> linked = sf.samples.hospital(30)
    >>> found = sf.assess_database(linked, linked, codes=["diagnoses.code"], k=3)
    >>> found.scores[0].name
    'linking by 1 code'
    """
    guarantee = released.guarantee if isinstance(released, DatabaseRelease) else None
    after = released.data if isinstance(released, DatabaseRelease) else released
    _require(original, after, control, known)
    limits = plain_names(thresholds or {})
    require_known(limits, [measure(n) for n in limits])
    key = Key.from_seed(seed)
    skipped: list[str] = []
    sides: Sides = (original, control, after)
    places = _code_places(original, codes)
    beside = classes(sides, columns)
    found = traces(sides, places, hierarchies or {}, beside.columns)
    attacks = list(linked(found, beside, persons, key))
    whole = recognized(found, beside, persons, alpha, key.derive("whole"))
    shown: Shown = {}
    scores = [
        *whole.scores,
        *(score for _, _, score in attacks),
        *unicities(after, places, k, persons, key, skipped),
        *utilities(original, after, places, key, skipped, shown),
    ]
    least = known if known is not None else math.inf
    beyond = {s.name for h, _, s in attacks if h > least}
    beyond |= {s.name for s in whole.scores} if known is not None else set()
    counted = [s for s in scores if s.name not in beyond or not counts_as_risk(s)]
    broken = _faults(sides, found, beside, limits.get(RISK))
    evidence = _evidence(whole, alpha, known, broken)
    outcomes = judged(limits, counted, {}, {RISK: broken} if broken else None, evidence)
    because, advice = _reasons(outcomes, scores, evidence, control is not None)
    return Assessment(
        scores=ordered(scores),
        thresholds=outcomes,
        skipped=tuple(Skipped(*_parted(line)) for line in [*skipped, *_unseen(control)]),
        guarantee=guarantee,
        notes=tuple(_notes(control, known, beside, beyond)),
        rows=(original.people.count, after.people.count),
        columns=tuple(f"{n}.{c}" for n in after.tables for c in after[n].columns),
        quasi_identifiers=beside.columns,
        figures=_figures(scores, shown),
        because=because,
        advice=advice,
        people=whole.people,
        unit="persons",
    )


# -- what is compared ------------------------------------------------------------------------------


def _require(original: Database, released: Database, control: Database | None, known: int | None) -> None:
    for given in (original, released, *([] if control is None else [control])):
        if not isinstance(given, Database):
            raise ParameterError("assess_database takes databases.", hint="sf.scan_database(folder)")
    if known is not None and (isinstance(known, bool) or not isinstance(known, int) or known < 1):
        raise ParameterError("known must be a whole number from 1.", hint="known=3, or None for all")
    tables = [n for n in original.tables if original.route(n)]
    lacking = [n for n in tables if control is not None and (n not in control.tables or not control.route(n))]
    if lacking:
        raise ParameterError(
            f"the control lacks {listed(lacking)}.", hint="the same tables, of people who are not in the data"
        )


def _code_places(database: Database, codes: Sequence[str] | None) -> list[str]:
    if codes is not None:
        return list(codes)
    return [
        f"{name}.{c.name}"
        for name, table in database.tables.items()
        if database.route(name) and (name != database.root or len(database.tables) == 1)
        for c in table.schema
        if c.kind is Kind.CODES or (_may_be_codes(c) and c.name not in database.key_columns[name])
        if c.kind is Kind.CODES or c.role is Role.SENSITIVE or _many_values(database, name, c.name)
    ]


def _may_be_codes(column: Column) -> bool:
    """Texts, and numbers that are names and say something about a person (concepts)."""
    numbered = column.kind is Kind.NOMINAL and column.type == "integer" and column.role is Role.SENSITIVE
    return column.type == "text" or numbered


def _many_values(database: Database, table: str, column: str) -> bool:
    """Whether a column has so many values that it can only be codes."""
    seen: set[object] = set()
    for batch in database[table].batches([column]):
        seen.update(pc.unique(batch.column(0)).to_pylist())
        if len(seen) > _FEW:
            return True
    return False


# -- what stands in the way of a verdict -------------------------------------------------------------


def _faults(sides: Sides, found: Sequence[Trace], known: PersonClasses, limit: float | None) -> str:
    """Why `risk` cannot be met whatever the attacks found; nothing where it can."""
    most = _UNREAD if limit is None else min(_UNREAD, limit)
    unread = [f"{t.kind} ({t.unread:.1%})" for t in found if t.unread > most + t.new_by_chance]
    unread += [f"'{c}'" for c in known.unread]
    if unread:
        return (
            f"released values that stand for none of the original were not examined: {listed(unread)}. Say "
            "what they stand for (hierarchies)"
        )
    if not found:
        return "original and release have no records of persons in common"
    if sides[1] is None:
        return ""
    same = _in_both(found)
    if same >= _ENOUGH:
        return f"{same:,} persons of the control have the whole records of persons of the original"
    if known.control is not None and _drifted(found, known) < _OTHER_PEOPLE:
        return "the control is of other people than the original: they differ in class or number of records"
    return ""


def _in_both(found: Sequence[Trace]) -> int:
    """Persons of the control with the same things as a person of the original, all of several."""
    meant = [t for t in found if t.kind != "numbers of records"]
    kinds = [
        _hashed([t.original for t in meant]),
        _hashed([t.control for t in meant if t.control is not None]),
    ]
    return sum(kinds[1][h] for h in kinds[1] if h in kinds[0])


def _hashed(sides: Sequence[Things]) -> dict[int, int]:
    """How many persons have each whole set of things, of those with enough."""
    whole: dict[int, list[bytes]] = {}
    many: dict[int, int] = {}
    for at, things in enumerate(sides):
        once = things.once
        start = np.append(np.flatnonzero(np.diff(once.person, prepend=-1)), len(once.person))
        for a, b in pairwise(start):
            person = int(once.person[a])
            whole.setdefault(person, []).append(bytes([at]) + once.item[a:b].tobytes())
            many[person] = many.get(person, 0) + int(b - a)
    out: dict[int, int] = {}
    for person, parts in whole.items():
        if many[person] >= _SAME:
            out[hash(tuple(parts))] = out.get(hash(tuple(parts)), 0) + 1
    return out


def _drifted(found: Sequence[Trace], known: PersonClasses) -> float:
    """The chance of as different classes and numbers of things, were both groups people of one kind."""
    from scipy.stats import chi2_contingency

    assert known.control is not None
    tables = []
    for side, group in ((0, known.original), (1, known.control)):
        tables.append([np.bincount(group, minlength=known.fits.shape[0])])
        for trace in found:
            things = (trace.original, trace.control)[side]
            assert things is not None
            sizes = np.bincount(things.once.person, minlength=len(group))
            tables[-1].append(np.bincount(np.minimum(sizes, 12), minlength=13))
    chances = []
    for a, b in zip(*tables, strict=True):
        both = np.stack([a, b])[:, (a + b) >= 10]
        if both.shape[1] > 1 and both.sum(axis=1).min() > 0:
            chances.append(float(chi2_contingency(both).pvalue))
    return min(1.0, min(chances, default=1.0) * max(1, len(chances)))


def _evidence(whole: Recognition, alpha: float, known: int | None, broken: str) -> Evidence:
    if known is not None or broken:  # an intruder who knows less recognizes nobody by the whole
        return Evidence(alpha=alpha, copied=1.0, fair=not broken)
    if whole.tail is None:
        return Evidence(alpha=alpha)
    because = (
        f"{whole.tail.excess:.1%} of the people are recognized by their whole sequence of records, beyond "
        "people who are not in the data"
    )
    return Evidence(alpha=alpha, copied=whole.tail.p, because=because, nearly=whole.tail.most(alpha))


# -- words -----------------------------------------------------------------------------------------


def _reasons(
    outcomes: Sequence[Threshold], scores: Sequence[Score], evidence: Evidence, controlled: bool
) -> tuple[str, tuple[str, ...]]:
    missed = [t for t in outcomes if t.outcome != "met"]
    worst = min(missed, key=lambda t: ("not met", "not examined", "undecided").index(t.outcome), default=None)
    if worst is None:
        words = "Every limit was examined and met." if outcomes else "No limit was set."
        return words, ()
    because = f"{worst.sentence[0].upper()}{worst.sentence[1:].rstrip('.')}."
    score = next((s for s in scores if s.name == worst.worst), None)
    if worst.name == RISK and worst.worst == "copies":
        because = f"{evidence.because}."
    elif worst.name == RISK and worst.outcome == "not met" and score is not None:
        other = (
            ""
            if score.control is None
            else f", and for {score.control:.0%} of people who are not in the data"
        )
        because = (
            f"An intruder who knows {score.knowledge}, succeeds for {score.value:.0%} of the people{other}."
        )
    if worst.name != RISK:
        return because, ("Look at the tables that differ most, and release them less generalized.",)
    if worst.outcome != "not met":
        more = (
            () if controlled else ("Hold people back before the release is made, and give them as control.",)
        )
        return because, (*more, "Say what is missing above, then judge again.")
    return because, (
        "Generalize codes and dates further: a larger k or m in [codes], weeks or months in [pseudonyms].",
        "Leave out tables and columns that nobody there needs; gaps and numbers of records identify.",
        "Or give the tables under an agreement that limits what the recipient may know and try.",
    )


def _notes(control: Database | None, known: int | None, beside: PersonClasses, beyond: set[str]) -> list[str]:
    notes = []
    if control is None:
        notes.append(
            "No control was given: attacks are held against a plain guess only, which overstates them."
        )
    if known is not None:
        notes.append(
            f"The verdict takes it that an intruder knows at most {known} things of one kind. Attacks that "
            "need more, and whole sequences, were tried and do not count: "
            f"{listed(sorted(beyond), 20) or 'none'}."
        )
    if not beside.columns:
        notes.append("No column of the persons themselves is taken as known to an intruder.")
    return notes


def _unseen(control: Database | None) -> list[str]:
    if control is not None:
        return []
    return ["whole sequences and membership of persons: they need people who are not in the data"]


def _parted(line: str) -> tuple[str, str]:
    part, _, reason = line.partition(": ")
    return part, reason or "there is nothing to count"


def _figures(scores: Sequence[Score], shown: Shown) -> tuple[tuple[str, Figure], ...]:
    from sfumato.report.figures import attacks, marginals

    tried = [s for s in scores if s.section == "attack" and np.isfinite(s.value)]
    out = [("attack", attacks(tried))] if tried else []
    return (*out, *([("utility", marginals(shown))] if shown else []))
