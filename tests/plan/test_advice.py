"""The plan that mends a missed limit: the same lines, but for the columns that caused it."""

from __future__ import annotations

import tomllib
from pathlib import Path

from sfumato.plan.advice import advised, dropped

PLAN = """data = "x.csv"
[columns]
# a comment stays
BMI = { role = "sensitive", reviewed = false }
BMI_2 = { role = "sensitive", reviewed = false }
"mean \\"age\\" {x}" = { role = "sensitive", reviewed = false }
[[steps]]
method = "local"
k = 5
l = { BMI = 2, BMI_2 = 2 }  # why
work_limit = 10
"""


def written(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def test_columns_change_their_lines_and_leave_l(tmp_path: Path) -> None:
    plan = written(tmp_path)
    line = (
        'BMI = { role = "quasi-identifier", hierarchy = { recipe = "quantiles", edges = [[21, 30], [25]] } }'
    )
    found = tomllib.loads(advised(plan, {"BMI": line}).read_text())
    assert found["columns"]["BMI"]["role"] == "quasi-identifier"
    assert found["columns"]["BMI_2"] == {"role": "sensitive", "reviewed": False}
    assert found["steps"][0]["l"] == {"BMI_2": 2} and found["steps"][0]["work_limit"] == 10
    assert plan.read_text() == PLAN


def test_a_column_is_left_out_whatever_its_name(tmp_path: Path) -> None:
    plan = written(tmp_path)
    found = tomllib.loads(advised(plan, dropped('mean "age" {x}', plan)).read_text())
    assert found["columns"]['mean "age" {x}'] == {"drop": True, "reviewed": False}
    assert dropped("nowhere", plan) == {}


def test_the_last_column_takes_l_with_it(tmp_path: Path) -> None:
    plan = written(tmp_path)
    text = advised(plan, dropped("BMI", plan) | dropped("BMI_2", plan)).read_text()
    assert "l" not in tomllib.loads(text)["steps"][0] and "# a comment stays" in text


def test_the_next_plan_has_a_name_of_its_own_and_the_same_plan_is_none(tmp_path: Path) -> None:
    first = advised(written(tmp_path), dropped("BMI", written(tmp_path)))
    assert first is not None and first.name == "plan-advised.toml"
    second = advised(first, dropped("BMI_2", first))
    assert second is not None and second.name == "plan-advised-2.toml"
    third = advised(second, dropped('mean "age" {x}', second))
    assert third is not None and third.name == "plan-advised-3.toml"
    assert advised(third, dropped("BMI", third)) is None
