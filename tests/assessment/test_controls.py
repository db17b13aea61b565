"""A control that is none is noticed; limits that decide nothing are refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.assessment.copies import counted_rows, drift, shared_with_release
from sfumato.errors import ParameterError
from sfumato.seeds import Key
from sfumato.table import Table

ROWS = 1_500
KNOWN = {"quasi_identifiers": ["age", "sex", "zip"], "sensitive": ["dx"], "effort": "quick"}


def people(seed: int, rows: int = ROWS, older: float = 0.0, tied: bool = False) -> pa.Table:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    dx = np.where(sex == "f", "a", "b") if tied else rng.permutation(np.where(sex == "f", "a", "b"))
    return pa.table(
        {
            "age": np.clip(rng.normal(50 + older, 15, rows), 0, 99).astype(int),
            "sex": sex,
            "zip": rng.choice([f"{z:05d}" for z in range(10_000, 10_060)], rows),
            "dx": dx,
            "cost": np.round(rng.lognormal(7, 1, rows), 2),
        }
    )


def scan(rows: pa.Table) -> Table:
    return sf.scan(rows)


def judged(original: pa.Table, released: pa.Table, control: pa.Table, limit: float = 0.9):  # type: ignore[no-untyped-def]
    return sf.assess(
        original, released, control=control, thresholds={"risk": limit}, key=Key.from_seed(1), **KNOWN
    )


def test_people_of_one_kind_differ_by_chance_alone() -> None:
    """The chance is exact: at most one in a hundred of twenty is improbable (2e-2 for one, 1e-4 for two)."""
    names = people(0).column_names
    chances = [drift(scan(people(2 * i)), scan(people(2 * i + 1)), names).p for i in range(20)]
    assert sum(p <= 0.01 for p in chances) <= 2
    constant = scan(pa.table({"a": ["x"] * 50}))
    assert drift(constant, constant, ["a"]).p == 1


def test_a_control_of_another_year_is_no_control() -> None:
    found = drift(scan(people(1)), scan(people(2, older=5)), people(1).column_names)
    assert found.seen and found.columns == ("age",)
    tied = drift(scan(people(1)), scan(people(2, tied=True)), people(1).column_names)
    assert tied.seen and set(tied.columns) == {"sex", "dx"}  # the same shares, but not the same people
    result = judged(people(1), people(3), people(2, older=5))
    assert result.thresholds[0].outcome == "not examined"
    assert "'age'" in result.because and any("control" in a for a in result.advice)


def test_what_differs_from_such_a_control_is_not_called_a_copy() -> None:
    """Rows of other people of the right year are nearer to the original than any control of another."""
    rows = [people(seed, older=0).append_column("year", pa.array(["2020"] * ROWS)) for seed in (1, 3)]
    control = people(2, older=25).append_column("year", pa.array(["2031"] * ROWS))
    assert judged(rows[0], rows[1], control, 0.05).thresholds[0].outcome == "not examined"
    assert judged(rows[0], rows[0], control, 0.05).thresholds[0].outcome == "not met"  # copies all the same


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_rows_of_the_release_are_no_control(share: float) -> None:
    original, rest, released = people(1), people(2), people(3)
    many = round(share * ROWS)
    mixed = pa.concat_tables([released.slice(0, many), rest.slice(many)])
    names = original.column_names
    found = shared_with_release(counted_rows([scan(original), scan(released), scan(mixed)], names))
    assert found.p < 1e-4 and abs(found.rows - many) <= 0.02 * ROWS
    assert shared_with_release(counted_rows([scan(original), scan(released), scan(rest)], names)).p > 1e-4
    # Half of the release are copies, the other half is lent to the control: both are met as often.
    half = pa.concat_tables([original.slice(0, ROWS // 2), released.slice(ROWS // 2)])
    lent = pa.concat_tables([released.slice(ROWS // 2), rest.slice(ROWS // 2)])
    result = judged(original, half, lent)
    assert result.thresholds[0].outcome != "met"
    clean = judged(original, released, mixed)
    assert clean.thresholds[0].outcome == "not examined" and "rows of the release" in clean.because


def test_few_rows_of_the_original_in_the_control_are_said() -> None:
    """Seven rows with a cost of their own: by chance they would be of one file every other time."""
    original, rest = people(1), people(2)
    result = judged(original, people(3), pa.concat_tables([original.slice(0, 7), rest.slice(7)]))
    assert any("rows of the control equal a row of the original" in n for n in result.notes)
    assert not any("rows of the control" in n for n in judged(original, people(3), rest).notes)


def test_a_release_without_twins_is_not_taken_for_the_control() -> None:
    rng = np.random.default_rng(0)
    few = [pa.table({"a": rng.integers(0, 40, 900), "b": rng.integers(0, 30, 900)}) for _ in range(3)]
    once = few[1].group_by(["a", "b"]).aggregate([])
    assert shared_with_release(counted_rows([scan(few[0]), scan(once), scan(few[2])], ["a", "b"])).p > 1e-4


@pytest.mark.parametrize(
    "limits",
    [{"risk": -0.1}, {"risk": 1.5}, {"copied rows": -1}, {"linking, claimed": 2}, {"k": -1}],
    ids=str,
)
def test_a_limit_that_decides_nothing_is_refused(limits: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="between 0 and 1"):
        sf.assess(people(1, 50), people(2, 50), thresholds=limits, **KNOWN)


def test_people_who_are_all_alike_are_not_judged() -> None:
    """Equal files of equal people are no mistake in the control, and "met" would be no news."""
    same = pa.table({"age": [40] * 60, "sex": ["f"] * 60, "zip": ["10000"] * 60, "dx": ["a"] * 60})
    found = judged(same, same, same).thresholds[0]
    assert found.outcome == "not examined"
    assert "Give columns in which people differ" in found.sentence
    gaps = same.set_column(1, "sex", pa.array(["f", None] * 30))
    assert "people differ" not in judged(gaps, gaps.slice(0, 50), gaps.slice(0, 40)).thresholds[0].sentence


@pytest.mark.parametrize("rows", [1, 11])
def test_so_few_released_rows_are_not_called_safe(rows: int) -> None:
    """Copies of all of them may be chance: 3 rows of 3 copied were "met" without a control."""
    original = people(1, 300)
    found = sf.assess(
        original, original.slice(0, rows), thresholds={"risk": 0.9}, key=Key.from_seed(1), scope="limits",
        **KNOWN,
    )  # fmt: skip
    assert found.thresholds[0].outcome in ("not examined", "not met")
    if rows == 1:
        assert "so few that nobody can tell copies from chance" in found.thresholds[0].sentence
