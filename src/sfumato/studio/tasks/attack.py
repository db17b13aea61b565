"""Attack a release of the plan's step, person by person: a fifth of the people are set aside as a control.

Leaves `people.parquet` in the task's folder: for each person who is in the data, how many released records
fit what an intruder knows, and what the intruder would guess. As sensitive as the data, readable by its owner
alone. The verdict is that of `assess` at quick effort, on a release made for this only and thrown away.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sfumato.assessment.assess import assess
from sfumato.assessment.attacks.beliefs import believe
from sfumato.assessment.attacks.intruder import look
from sfumato.assessment.case import Case, case_of
from sfumato.assessment.frontier.driver import set_aside
from sfumato.assessment.gains import gain
from sfumato.assessment.subject import Subject
from sfumato.assessment.thresholds import ALPHA, counts_as_risk
from sfumato.errors import DataError
from sfumato.plan import Plan
from sfumato.plan.limits import ACCEPTED, RECIPIENT
from sfumato.plan.preparation import open_input, trimmed
from sfumato.progress import report
from sfumato.schema import Role
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.studio.tasks.order import Order
from sfumato.studio.tasks.preview import free_name, known_by, made_by, numbered, shown_texts
from sfumato.table import Table

PEOPLE = "people.parquet"
NUMBER, MATCHES, KNOWN, TRUTH, SURE, RIGHT = "number", "matches", "known.", "truth.", "sure.", "right."
_SHARE, _MOST = 0.2, 4  # set aside; sensitive columns that are guessed person by person
_LABEL = "attacks on a release"


def attack(order: Order) -> Mapping[str, object]:
    """Release, attack, judge."""
    report(_LABEL, 0, 4)
    plan = Plan.read(order.folder / "plan.toml")
    step = plan.steps[0]
    table = trimmed(plan, open_input(plan).table)
    name, key = free_name(table), Key.fresh()
    people, others = _set_aside(numbered(table, name), key)
    numbers = people.select([name]).to_arrow().column(name).to_numpy(zero_copy_only=False)
    people, others = people.drop([name]), None if others is None else others.drop([name])
    report(_LABEL, 1, 4)
    release = made_by(plan, step, people)
    report(_LABEL, 2, 4)
    case = case_of(Subject(original=people, released=release, control=others, key=key))
    known = [n for n in known_by(step, people) if n in case.pair.columns]
    wanted = [n for n in people.schema.of_role(Role.SENSITIVE) if n in case.pair.columns and n not in known]
    found = _person_by_person(order, case, people, others, numbers, known, wanted[:_MOST]) if known else {}
    report(_LABEL, 3, 4)
    limits = {
        n: v for n, v in plan.table("thresholds").items() if n not in (RECIPIENT, ACCEPTED) and _number(v)
    }
    judged = assess(people, release, control=others, thresholds=limits, effort="quick", key=key)
    verdict = judged.verdict()
    report(_LABEL, 4, 4)
    return {
        "method": step.method, "people": people.rows(), "control": 0 if others is None else others.rows(),
        "known": known, "because": judged.because, "advice": list(judged.advice), "met": judged.met,
        "limits": [[t.outcome, t.sentence] for t in judged.thresholds],
        "not_examined": list(verdict.not_examined),
        "scores": [_plain(s) for s in _ranked(judged.of("attack"))],
        **found,
    }  # fmt: skip


def _set_aside(table: Table, key: Key) -> tuple[Table, Table | None]:
    """Who is released, and who is the control; in memory, as they are read many times."""
    try:
        people, others = set_aside(table, _SHARE, key)
    except DataError:
        return Table.from_arrow(table.to_arrow(), table.schema), None
    return (
        Table.from_arrow(people.to_arrow(), people.schema),
        Table.from_arrow(others.to_arrow(), others.schema),
    )


def _person_by_person(
    order: Order, case: Case, people: Table, others: Table | None, numbers: NDArray[np.int64],
    known: Sequence[str], wanted: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    """What an intruder finds of each person; and of those who are not in the data, in one number."""
    pair = case.pair
    matches = look(pair, known).matches
    parts: dict[str, Any] = {NUMBER: numbers, MATCHES: matches}
    found: dict[str, Any] = {"wanted": list(wanted)}
    if others is not None:
        fits = look(pair, known, others).matches
        found["control_matches"] = float(np.median(fits))
        found["control_alone"] = float((fits == 1).mean())
    found["alone"] = float((matches == 1).mean())
    for name in wanted:
        beliefs = believe(pair, known, name)
        parts[SURE + name], parts[RIGHT + name] = beliefs.confidence_in_truth(), beliefs.mode_right()
        found[f"guess.{name}"] = beliefs.constant_guess()
        if others is not None:
            found[f"control.{name}"] = float(believe(pair, known, name, others).mode_right().mean())
    rows = people.select([*known, *wanted]).to_arrow()
    for name in known:
        parts[KNOWN + name] = shown_texts(rows.column(name))
    for name in wanted:
        parts[TRUTH + name] = shown_texts(rows.column(name))
    pq.write_table(pa.table(parts), order.place / PEOPLE)
    os.chmod(order.place / PEOPLE, 0o600)
    return found


def _ranked(scores: Sequence[Score]) -> list[Score]:
    """Attacks that count as risk, those that gain most first."""
    return sorted((s for s in scores if counts_as_risk(s)), key=lambda s: -_gain(s))


def _gain(score: Score) -> float:
    found = gain(score, ALPHA).value
    return found if math.isfinite(found) else 0.0


def _plain(score: Score) -> dict[str, Any]:
    return {
        "name": score.name, "value": score.value, "control": score.control, "baseline": score.baseline,
        "gain": _gain(score), "meaning": score.meaning, "knowledge": score.knowledge,
    }  # fmt: skip


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
