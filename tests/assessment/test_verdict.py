"""Met, not met or undecided: bounds that hold, draws that go on while undecided, words that are true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.assessment import thresholds
from sfumato.assessment.attacks.success import rate
from sfumato.assessment.gains import bounds, gain
from sfumato.assessment.thresholds import Evidence
from sfumato.errors import DataError, ParameterError
from sfumato.score import Score
from sfumato.seeds import Key


def attack(
    hits: int, people: int, control: int | None, name: str = "linking, claimed", others: int = 0
) -> Score:
    """An attack that succeeded so often, and for so many of the control."""
    outside = None if control is None else np.arange(others or people) < control
    return rate(name, np.arange(people) < hits, meaning="m", knowledge="k", control=outside, baseline=0.0)


def judged(limit: float, *scores: Score, **evidence: object) -> thresholds.Threshold:
    given = Evidence(**{"copied": 1.0, **evidence})  # type: ignore[arg-type]
    return thresholds.judged({"risk": limit}, scores, {}, None, given)[0]


def test_three_outcomes() -> None:
    assert judged(0.05, attack(300, 10_000, 250)).outcome == "met"
    assert judged(0.05, attack(1_500, 10_000, 300)).outcome == "not met"
    assert judged(0.05, attack(30, 200, 22)).outcome == "undecided"


def test_one_attack_is_enough() -> None:
    many = [attack(100, 10_000, 90, f"attack {i}") for i in range(20)]
    found = judged(0.05, *many, attack(1_500, 10_000, 300, "the one"))
    assert found.outcome == "not met" and found.worst == "the one"


def test_copies_decide() -> None:
    harmless = attack(100, 10_000, 100)
    found = judged(0.05, harmless, copied=1e-5, because="Half of the released rows are rows of the original.")
    assert found.outcome == "not met" and "rows of the original" in found.sentence
    assert judged(0.05, harmless, copied=float("nan")).outcome == "undecided"  # nobody looked for copies


def test_people_who_may_be_nearly_copied_are_not_met() -> None:
    """Copies that differ in some columns may be too few to be seen, and too many to be met."""
    harmless = attack(100, 10_000, 100)
    found = judged(0.05, harmless, nearly=0.07)
    assert found.outcome == "undecided" and "nearly copied" in found.sentence
    assert judged(0.05, harmless, nearly=0.04).outcome == "met"
    assert judged(0.05, harmless, nearly=0.07, copied=1e-5, because="b").outcome == "not met"
    assert judged(0.05, attack(1_500, 10_000, 300), nearly=0.07).outcome == "not met"


def test_without_a_control_a_guess_is_no_proof() -> None:
    """Beyond a plain guess anybody is found who is like the people in the data."""
    found = judged(0.05, attack(3_000, 10_000, None, "attribute inference, mode"))
    assert found.outcome == "undecided" and found.sentence.endswith("compared with a plain guess only")
    assert judged(0.05, attack(3_000, 10_000, None, "linking, re-identified")).outcome == "not met"
    assert judged(0.5, attack(3_000, 10_000, None, "attribute inference, mode")).outcome == "met"


def test_an_attack_without_room_says_nothing() -> None:
    full = attack(1_000, 1_000, 1_000, "linkability")
    assert not gain(full, 0.01).room
    assert judged(0.05, full).outcome == "not examined"
    assert judged(0.05, full, attack(10, 10_000, 12)).outcome == "met"


def test_the_bounds_of_a_gain_err_as_seldom_as_they_say() -> None:
    rng = np.random.default_rng(0)
    wrong = [0, 0]
    for _ in range(2_000):
        a, c = rng.binomial(300, 0.3), rng.binomial(200, 0.25)
        found = gain(attack(a, 300, c, others=200), 0.05)
        wrong[0] += found.low > 0.05
        wrong[1] += found.high < 0.05
    assert max(wrong) <= 0.06 * 2_000


def test_fractions_widen_the_bounds() -> None:
    assert bounds(10, 100, 0.01, whole=False)[1] > bounds(10, 100, 0.01, whole=True)[1]
    assert bounds(0, 0, 0.01, whole=True) == (0.0, 1.0)


def people(rows: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(18, 90, rows), "sex": rng.choice(["f", "m"], rows),
            "zip": rng.choice([f"{z:05d}" for z in range(10_000, 10_060)], rows),
            "dx": rng.choice(["a", "b", "c", "d"], rows, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )  # fmt: skip


KNOWN = {"quasi_identifiers": ["age", "sex", "zip"], "sensitive": ["dx"], "key": Key.from_seed(1)}


def test_other_people_meet_what_copies_do_not() -> None:
    original, control, rest = people(2_500, 1), people(2_500, 2), people(2_500, 3)
    asked = {"thresholds": {"risk": 0.15}, "effort": "quick", "control": control, **KNOWN}
    clean = sf.assess(original, rest, **asked)
    assert clean.thresholds[0].outcome == "met", clean.thresholds[0].sentence
    copies = pa.concat_tables([original.slice(0, 250), rest.slice(250)])
    found = sf.assess(original, copies, **asked)
    assert found.thresholds[0].outcome == "not met" and "rows of the original" in found.because
    assert any("synthetic" in a for a in found.advice)
    again = sf.assess(original, copies, **asked)
    assert (
        again.thresholds == found.thresholds and again.people == found.people
    )  # the same key, the same verdict


def test_a_control_that_holds_originals_is_no_control() -> None:
    original, control = people(1_500, 1), people(1_500, 2)
    mixed = pa.concat_tables([control.slice(0, 1_000), original.slice(0, 500)])
    found = sf.assess(
        original, people(1_500, 3), control=mixed, thresholds={"risk": 1.0}, effort="quick", **KNOWN
    )
    assert found.thresholds[0].outcome == "not examined"
    assert "of the 1,500 rows of the control are rows of the original" in found.thresholds[0].sentence


def test_alpha_is_checked() -> None:
    with pytest.raises(ParameterError, match="alpha"):
        sf.assess(people(50, 1), people(50, 2), alpha=1.0)


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_very_few_rows_are_judged(rows: int) -> None:
    found = sf.assess(
        people(rows, 1),
        people(rows, 2),
        control=people(rows, 3),
        thresholds={"risk": 0.05},
        effort="quick",
        **KNOWN,
    )
    assert not found.met and found.because


def test_a_control_that_is_the_release_is_no_control() -> None:
    other = people(300, 3)
    with pytest.raises(DataError, match="the control is the release itself"):
        sf.assess(people(300, 1), other, control=other, effort="quick", **KNOWN)


def test_classes_that_keep_common_values_are_no_copies() -> None:
    """Local recoding leaves crowded classes as they are: equal rows in them are several people's."""
    original, control = people(2_000, 1).drop(["zip"]), people(2_000, 2).drop(["zip"])
    ages = original.column("age").to_numpy()
    counts = {(a, s): 0 for a in range(18, 90) for s in "fm"}
    for a, s in zip(ages, original.column("sex").to_pylist(), strict=True):
        counts[int(a), s] += 1
    pairs = zip(ages, original.column("sex").to_pylist(), strict=True)
    kept = [str(a) if counts[int(a), s] >= 14 else f"[{a // 9 * 9}, {a // 9 * 9 + 9})" for a, s in pairs]
    released = original.set_column(0, "age", pa.array(kept))
    found = sf.assess(
        original, released, control=control, quasi_identifiers=["age", "sex"], sensitive=["dx"],
        thresholds={"copied rows": 1.0}, effort="quick", key=Key.from_seed(1),
    )  # fmt: skip
    assert "rows of the original" not in found.because


# -- the verdict alone -----------------------------------------------------------------------------


def test_the_verdict_alone_is_that_of_the_whole_assessment() -> None:
    people = sf.samples.discharges(900, seed=3).select(["age", "sex", "race", "mdc", "charge"]).to_arrow()
    original, control, others = people.slice(0, 300), people.slice(300, 300), people.slice(600, 300)
    for released in (others, original):
        outcomes = [
            sf.assess(
                original, released, control=control, thresholds={"risk": 0.5}, effort="quick",
                key=Key.from_seed(1), scope=scope,
            )
            for scope in ("all", "limits", "outcome")
        ]  # fmt: skip
        whole, alone, shortest = outcomes
        assert alone.thresholds[0].outcome == whole.thresholds[0].outcome == shortest.thresholds[0].outcome
        assert len(alone.scores) < len(whole.scores)
        assert alone.people == whole.people
        assert any("scope='limits'" in s.reason for s in alone.skipped)


def test_the_verdict_alone_measures_what_a_limit_names() -> None:
    people = sf.samples.discharges(200, seed=3).select(["age", "sex", "mdc"]).to_arrow()
    found = sf.assess(people, people, thresholds={"k": 5}, effort="quick", scope="limits")
    assert found.thresholds[0].outcome == "not met"
    assert "linking" not in found.names


@pytest.mark.parametrize(
    ("arguments", "said"),
    [({"scope": "limit", "thresholds": {"risk": 0.1}}, "scope"), ({"scope": "limits"}, "no limit")],
)
def test_a_scope_that_decides_nothing_is_refused(arguments: dict[str, Any], said: str) -> None:
    people = sf.samples.discharges(50, seed=3).select(["age", "sex"]).to_arrow()
    with pytest.raises(ParameterError, match=said):
        sf.assess(people, people, **arguments)
