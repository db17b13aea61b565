"""The next quarter: what changed is said, unknown codes stop the run, and no cell is shown."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from planned import CANARY, PLAN, SCHEMA, ran, rows, written

import sfumato as sf
from sfumato.errors import DataError, SchemaError
from sfumato.plan import Plan
from sfumato.plan.drift import compare, profile
from sfumato.schema import Column, Kind, Schema


def table(**columns: Any) -> sf.Table:
    return sf.Table.from_arrow(pa.table(columns))


# -- measures --------------------------------------------------------------------------------------


def test_distances_against_the_definition() -> None:
    before = table(sex=["f"] * 60 + ["m"] * 40)
    now = table(sex=["f"] * 10 + ["m"] * 30 + ["x"] * 10)
    (moved,) = compare(profile(before), now).columns
    assert moved.distance == pytest.approx(0.5 * (abs(0.6 - 0.2) + abs(0.4 - 0.6) + 0.2))
    assert (moved.new, moved.cells, moved.gone) == (1, 10, 0)
    same = compare(profile(before), before)
    assert same.columns[0].distance == 0 and same.notable() == () and same.unknown == ()


def test_numbers_are_compared_in_bins_of_equal_count() -> None:
    rng = np.random.default_rng(5)
    before = table(cost=rng.exponential(100.0, 4000))
    schema = Schema((Column("cost", Kind.NUMERIC),))
    later = compare(
        profile(before.with_schema(schema)), table(cost=rng.exponential(100.0, 4000)).with_schema(schema)
    )
    (moved,) = later.columns
    assert moved.new == 0 and moved.distance < 4 * moved.chance and later.notable(0.05) == ()
    (dearer,) = compare(
        profile(before.with_schema(schema)), table(cost=rng.exponential(200.0, 4000)).with_schema(schema)
    ).columns
    assert dearer.distance > 0.2 > 2 * dearer.chance


def test_chance_is_what_two_samples_of_one_law_give() -> None:
    rng = random.Random(11)
    found = []
    for _ in range(60):
        a, b = ([rng.choice("aaabbc") for _ in range(500)] for _ in range(2))
        (moved,) = compare(profile(table(x=a)), table(x=b)).columns
        found.append(moved.distance / moved.chance)
    assert 0.5 < sum(found) / len(found) < 1.6  # six standard errors around 1 and wide


def test_missing_and_columns_that_come_and_go() -> None:
    before = table(a=["x", None, "x", "x"], b=["1", "2", "1", "2"])
    now = table(a=["x", None, None, "x"], c=["1", "2", "1", "2"])
    found = compare(profile(before), now)
    assert (found.added, found.removed) == (("c",), ("b",))
    assert found.columns[0].missing == (0.25, 0.5)


# -- runs ------------------------------------------------------------------------------------------


def test_the_next_quarter(tmp_path: Path) -> None:
    ran(tmp_path)
    (tmp_path / "next.csv").write_text(rows(150, seed=9), encoding="utf-8")
    plan = Plan.read(tmp_path / "plan.toml")
    found = plan.run(tmp_path / "q2", input=str(tmp_path / "next.csv"), previous=tmp_path / "release")
    assert found.drift.rows == (120, 150) and found.drift.unknown == () and sf.verify(tmp_path / "q2").ok
    report = (tmp_path / "q2" / "internal" / "report.html").read_text(encoding="utf-8")
    assert "What changed since" in report and "150 rows, 120 before" in report


def test_a_shift_is_reported(tmp_path: Path) -> None:
    ran(tmp_path)
    shifted = rows(150, seed=9).replace(",east,", ",west,")
    (tmp_path / "next.csv").write_text(shifted, encoding="utf-8")
    plan = Plan.read(tmp_path / "plan.toml")
    found = plan.run(tmp_path / "q2", input=str(tmp_path / "next.csv"), previous=tmp_path / "release")
    assert [m.column for m in found.drift.notable()][:1] == ["region"]
    assert any("'region' moved" in line for line in found.drift.sentences())
    written(tmp_path, PLAN + "\n[drift]\nmost = 0.1\n")
    with pytest.raises(SchemaError, match="'region' moved by"):
        Plan.read(tmp_path / "plan.toml").run(
            tmp_path / "q3", input=str(tmp_path / "next.csv"), previous=tmp_path / "release"
        )


def test_unknown_codes_stop_the_run(tmp_path: Path) -> None:
    """A column without levels in its schema is held against what the earlier data had."""
    schema = SCHEMA.replace('levels = ["a", "b", "c", "zebra7319"]\nconfirmed = true\n', "")
    plan = Plan.read(written(tmp_path, PLAN, **{"schema.toml": schema}))
    plan.run(tmp_path / "release")
    (tmp_path / "next.csv").write_text(rows(130, seed=2).replace(CANARY, "okapi5521"), encoding="utf-8")
    with pytest.raises(SchemaError, match="'dx' has 1 unknown codes in 1 cells") as caught:
        plan.run(tmp_path / "q2", input=str(tmp_path / "next.csv"), previous=tmp_path / "release")
    assert "okapi" not in str(caught.value) and caught.value.values == ("okapi5521",)
    assert not (tmp_path / "q2").exists() and not (tmp_path / ".q2.sfumato").exists()
    (tmp_path / "plan.toml").write_text(PLAN + '\n[drift]\nunknown = "report"\n', encoding="utf-8")
    found = Plan.read(tmp_path / "plan.toml").run(
        tmp_path / "q2", input=str(tmp_path / "next.csv"), previous=tmp_path / "release"
    )
    assert found.drift.unknown[0].column == "dx"


def test_levels_of_the_schema_stop_it_too_and_so_do_columns(tmp_path: Path) -> None:
    ran(tmp_path)
    plan = Plan.read(tmp_path / "plan.toml")
    (tmp_path / "next.csv").write_text(rows(50).replace(",east,", ",moon,"), encoding="utf-8")
    with pytest.raises(SchemaError, match="unlisted level") as caught:
        plan.run(tmp_path / "q2", input=str(tmp_path / "next.csv"), previous=tmp_path / "release")
    assert "moon" not in str(caught.value)
    # As the pages say: once schema and hierarchy have a place for it, and were signed again, it goes on.
    for name, old, new in (
        ("schema.toml", '"north"', '"moon", "north"'),
        ("region.csv", "east;", "moon;*;*\neast;"),
    ):
        text = (tmp_path / name).read_text(encoding="utf-8").replace(old, new, 1)
        (tmp_path / name).write_text(text, encoding="utf-8")
    again = Plan.read(tmp_path / "plan.toml")
    found = again.run(tmp_path / "q2", input=str(tmp_path / "next.csv"), previous=tmp_path / "release")
    assert [m.column for m in found.drift.unknown] == ["region"]
    (tmp_path / "next.csv").write_text(rows(50).replace("dx,cost", "diagnosis,cost"), encoding="utf-8")
    with pytest.raises(SchemaError, match="2 columns differ"):
        plan.run(tmp_path / "q2", input=str(tmp_path / "next.csv"))


def test_the_same_people_again_are_held_against_the_register(tmp_path: Path) -> None:
    schema = SCHEMA.replace('role = "identifier"', 'role = "person"')
    plan = PLAN + '\n[register]\nfolder = "register"\n'
    Plan.read(written(tmp_path, plan, **{"schema.toml": schema})).run(tmp_path / "release")
    one_more = rows(121, seed=1)  # one person is new, and stands out by that
    (tmp_path / "next.csv").write_text(one_more, encoding="utf-8")
    with pytest.raises(sf.ParameterError, match="together with 1 earlier release"):
        Plan.read(tmp_path / "plan.toml").run(
            tmp_path / "q2", input=str(tmp_path / "next.csv"), previous=tmp_path / "release"
        )
    assert len(list((tmp_path / "register").glob("release-*.parquet"))) == 1


def test_what_is_no_earlier_release(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(DataError, match="is not a release that a run has made"):
        Plan.read(path).run(tmp_path / "release", previous=tmp_path)
    ran(tmp_path)
    (tmp_path / "release" / "internal" / "profile.arrow").write_bytes(b"x")
    with pytest.raises(DataError, match="no profile"):
        Plan.read(path).run(tmp_path / "q2", previous=tmp_path / "release")


# -- attacks on both releases ----------------------------------------------------------------------

ASSESSED = PLAN.replace("skip = true", 'effort = "quick"')


def attacks(found: Any) -> set[str]:
    (assessment,) = found.assessments.values()
    return {s.name.partition(",")[0] for s in assessment.scores if s.section == "attack"}


@pytest.mark.soak
def test_newcomers_are_attacked_with_both_releases(tmp_path: Path) -> None:
    ran(tmp_path)
    (tmp_path / "next.csv").write_text(rows(150), encoding="utf-8")  # the same 120, and thirty more
    plan = Plan.read(written(tmp_path, ASSESSED))
    options = {"input": str(tmp_path / "next.csv"), "previous": tmp_path / "release"}
    alone = plan.run(tmp_path / "q2", input=options["input"])
    assert not {"temporal", "complementary releases"} & attacks(alone)
    found = plan.run(tmp_path / "q2", **options)  # the same rows, judged anew
    assert found.resumed and {"temporal", "complementary releases", "values of few people"} <= attacks(found)
    assert any("attacked together" in note for note in found.notes)
    assert plan.run(tmp_path / "q2", **options).unchanged


def test_another_release_of_the_same_data_is_attacked_too(tmp_path: Path) -> None:
    ran(tmp_path)
    other = ASSESSED.replace("k = 3", "k = 5")
    found = ran(tmp_path, other, "other", previous=tmp_path / "release")
    assert "complementary releases" in attacks(found) and "temporal" not in attacks(found)
    assert any("of the same data" in note for note in found.notes)


def test_data_that_is_gone_is_taken_for_the_same_people(tmp_path: Path) -> None:
    ran(tmp_path)
    next_ = tmp_path / "next.csv"
    next_.write_text(rows(150, seed=9), encoding="utf-8")
    plan = Plan.read(written(tmp_path, ASSESSED, **{"data.csv": rows(40, seed=5)}))
    found = plan.run(tmp_path / "q2", input=str(next_), previous=tmp_path / "release")
    assert "complementary releases" in attacks(found) and "temporal" not in attacks(found)
    assert "not at hand" in found.together
    assert "not at hand" in (tmp_path / "q2" / "internal" / "report.html").read_text(encoding="utf-8")
