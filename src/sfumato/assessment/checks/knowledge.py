"""What an intruder reaches who holds more than one release, or the method behind it, or its noise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.assessment.attacks.success import NothingToAttack
from sfumato.assessment.case import Case
from sfumato.assessment.checks.base import (
    AssessmentCheck,
    earlier,
    grown,
    known,
    made,
    same_length,
    secret,
    time,
)
from sfumato.assessment.reading.alignment import Pair
from sfumato.release import Release
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

_USUAL_K = 5  # what "few people" means where the release itself has no class of two
_PEOPLE = 4_000  # rows that releases are made of again and again
_ROUNDS = {"normal": 16, "thorough": 64}


def _complementary(case: Case) -> list[Score]:
    from sfumato.assessment.attacks import complementary

    pairs = case.same_people
    shared = _in_all(case.sharply_known, pairs)
    return [
        score
        for wanted in _in_all(case.sharply_wanted, pairs)
        for score in complementary(pairs, shared, wanted, control=case.control)
    ]


def _side_by_side(case: Case) -> list[Score]:
    from sfumato.assessment.attacks import unsorted_matching

    first, *others = case.same_people
    return [
        score
        for other in others
        if other.released.rows() == first.released.rows()
        for score in unsorted_matching(
            first, other, _in_all(case.sharply_known, (first, other)), truth=case.truth
        )
    ]


def _rare(case: Case) -> list[Score]:
    from sfumato.assessment.attacks import rare_values

    reached = int(case.classes.sizes.min())
    k = reached if reached > 1 else _USUAL_K
    return rare_values(case.same_people, _in_all(case.sharply_known, case.same_people), k=k)


def _temporal(case: Case) -> list[Score]:
    from sfumato.assessment.attacks import temporal

    scores = []
    for before in case.grown_from:
        both = (before, case.sharp)
        new = _newcomers(before.original, case.sharp.original)
        for wanted in _in_all(case.sharply_wanted, both):
            scores += temporal(before, case.sharp, _in_all(case.sharply_known, both), wanted, newcomers=new)
    return scores


def _in_all(names: tuple[str, ...], pairs: tuple[Pair, ...]) -> list[str]:
    found = [n for n in names if all(n in p.columns for p in pairs)]
    if not found:
        raise NothingToAttack(
            "the releases share no column that is known, or wanted.", hint="see what they hold"
        )
    return found


def _newcomers(before: Table, after: Table) -> NDArray[np.int64]:
    """Rows of the later original that the earlier one does not hold: of equal rows, those past its number."""
    names = [n for n in after.columns if n in before.columns]
    held = Counter(_rows(before, names))
    new = []
    for number, row in enumerate(_rows(after, names)):
        if held[row] > 0:
            held[row] -= 1
        else:
            new.append(number)
    if not new:
        raise NothingToAttack("the original has no rows that the earlier one lacks.", hint="nobody is new")
    return np.array(new, np.int64)


def _rows(table: Table, names: list[str]) -> Iterator[tuple[object, ...]]:
    for batch in table.batches(names):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _shadows(case: Case) -> list[Score]:
    from sfumato.assessment.attacks.membership import shadow_membership

    maker = case.subject.maker
    assert maker is not None
    key = case.key.derive("shadows")
    people = case.files.whole
    if people.rows() > _PEOPLE:
        chosen = np.sort(key.generator("people").choice(people.rows(), _PEOPLE, replace=False))
        people = Table.from_arrow(people.to_arrow().take(pa.array(chosen)), people.schema)

    def make(table: Table, key: Key) -> Table | pa.Table:
        release = maker(table, key)
        return release.data if isinstance(release, Release) else release

    rounds = _ROUNDS[case.subject.effort]
    return shadow_membership(
        make, people, key=key, columns=case.pair.columns, shadows=rounds, trials=rounds,
        targets=min(20, people.rows() // 4),
    )  # fmt: skip


def _audited(case: Case) -> list[Score]:
    return [score for audit in case.subject.audits for score in audit.scores()]


def _audit(case: Case) -> str:
    return "" if case.subject.audits else "no audit of the mechanism was given (audit=sf.audit(...))"


CHECKS = (
    AssessmentCheck(
        "complementary releases", ("complementary releases",), _complementary, (earlier, known, secret),
    ),
    AssessmentCheck(
        "releases side by side, row by row (unsorted matching)", ("unsorted matching",), _side_by_side,
        (earlier, known, same_length),
    ),
    AssessmentCheck(
        "values of few people in several releases", ("values of few people",), _rare, (earlier, known),
    ),
    AssessmentCheck(
        "releases of a table that grew (temporal)", ("temporal",), _temporal, (grown, known, secret),
    ),
    AssessmentCheck(
        "membership by shadow releases", ("membership by shadow releases",), _shadows, (made, time),
    ),
    AssessmentCheck("audit of a claim of differential privacy", ("audit",), _audited, (_audit,)),
)  # fmt: skip
