"""A number that nearly everybody has alone joins files, whatever was done to the other columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.assessment.attacks.single_value import NAME, single_value
from sfumato.assessment.attacks.success import NothingToAttack
from sfumato.seeds import Key
from sfumato.table import Table

ROWS = 400
KEY = Key.from_seed(1)


def survey(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, ROWS),
            "sex": rng.choice(["f", "m"], ROWS),
            "illness": rng.choice(["none", "asthma", "cancer"], ROWS, p=[0.7, 0.2, 0.1]),
            "weight": np.exp(rng.normal(8, 0.7, ROWS)).round(6),
        }
    )


def starred(people: pd.DataFrame, *kept: str) -> pd.DataFrame:
    out = pd.DataFrame("*", people.index, people.columns)
    out[list(kept)] = people[list(kept)]
    return out.sample(frac=1, random_state=3).reset_index(drop=True)


def found(original: pd.DataFrame, released: pd.DataFrame, control: pd.DataFrame | None) -> sf.Assessment:
    schema = sf.scan(original).schema.with_("weight", role="weight")
    return sf.assess(
        original, released, control=control, schema=schema, quasi_identifiers=["age", "sex"],
        sensitive=["illness"], thresholds={"risk": 0.2}, effort="quick", key=KEY, scope="limits",
    )  # fmt: skip


def test_exact_weights_beside_stars_are_not_met() -> None:
    original, control = survey(1), survey(2)
    judged = found(original, starred(original, "weight"), control)
    assert judged.thresholds[0].outcome == "not met" and judged.thresholds[0].worst == NAME
    assert "weight" in judged.because and "'weight'" in judged.advice[0]
    assert found(original, starred(survey(3), "weight"), control).thresholds[0].outcome == "met"


def test_without_a_control_they_are_undecided() -> None:
    original = survey(1)
    judged = found(original, starred(original, "weight"), None)
    assert judged.thresholds[0].outcome == "undecided" and judged.thresholds[0].worst == NAME


def value(
    original: pd.DataFrame, released: pd.DataFrame, control: pd.DataFrame | None
) -> tuple[float, float]:
    tables = [
        None if t is None else Table.from_arrow(sf.scan(t).to_arrow()) for t in (original, released, control)
    ]
    score = single_value(
        tables[0], tables[1], ["weight"], key=KEY, control=tables[2], beside=["age", "sex", "illness"]
    )[0]
    against = score.baseline if control is None else score.control
    assert against is not None
    return score.value, against


def test_a_row_that_is_written_twice_is_one() -> None:
    original, control = survey(1), survey(2)
    once = starred(original, "weight", "illness")
    assert value(original, pd.concat([once, once]), control) == value(original, once, control)


@pytest.mark.parametrize("digits", [6, 1, 0])
def test_rounding_that_leaves_everybody_alone_hides_nobody(digits: int) -> None:
    original, control = survey(1), survey(2)
    people, strangers = value(original, original.assign(weight=original["weight"].round(digits)), control)
    assert people > 0.7 and strangers < 0.2


def test_other_peoples_numbers_find_strangers_as_often() -> None:
    original, control = survey(1), survey(2)
    for outside in (control, None):
        people, strangers = value(original, starred(survey(3), "weight"), outside)
        assert abs(people - strangers) < 0.12  # 300 people each, at most 0.1 claimed: five standard errors


def test_numbers_beside_other_peoples_values_join_nobody() -> None:
    original, control = survey(1), survey(2)
    rng = np.random.default_rng(4)
    shuffled = original.apply(lambda c: rng.permutation(c.to_numpy()))
    with pytest.raises(NothingToAttack, match="other people's values"):
        value(original, shuffled, control)
    some = shuffled.assign(
        weight=original["weight"], illness=original["illness"]
    )  # one column is still theirs
    assert value(original, some, control)[0] > 0.9


def test_a_number_that_a_person_called_sensitive_is_nobodys_knowledge_but_is_said() -> None:
    original, control = (survey(s).rename(columns={"weight": "bill"}) for s in (1, 2))
    given = {
        "control": control, "quasi_identifiers": ["age", "sex"], "thresholds": {"risk": 0.2}, "key": KEY,
        "effort": "quick", "scope": "limits",
    }  # fmt: skip
    released = starred(original, "bill")
    held = sf.assess(original, released, sensitive=["illness"], **given)
    kept = sf.assess(original, released, sensitive=["illness", "bill"], **given)
    assert held.thresholds[0].worst == NAME and held.thresholds[0].outcome == "not met"
    assert NAME not in kept.names and any("Sensitive, with a value of its own" in n for n in kept.notes)
