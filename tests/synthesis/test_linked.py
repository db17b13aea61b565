"""Linked synthesis: keys hold, time runs forwards, tables are those of the data, odd data are handled."""

from __future__ import annotations

import json
import warnings
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from linked import saved
from lives import BOUNDS, DAY, SAID, lives, private, public

import sfumato as sf
from sfumato.assessment.database_measures import utilities
from sfumato.cli.app import run as command
from sfumato.errors import DataError, ParameterError, SchemaError, SfumatoWarning
from sfumato.plan.database import DatabasePlan, run_database
from sfumato.synthesis.people import model as linked_model
from sfumato.synthesis.people import records
from sfumato.synthesis.people.axes import GAPS, NO_DAY, OFFSETS
from sfumato.synthesis.people.sets import CodeSets, starts_of

FEW = pytest.mark.filterwarnings("ignore:the data have")  # that there are few persons


def test_keys_hold_and_time_runs_forwards() -> None:
    model = sf.LinkedSynthesizer().fit(lives(300))
    release = model.sample(2_000)
    data = release.data.check()
    assert not data.differences  # no date before birth, either
    people, visits = data["people"].to_arrow().to_pydict(), data["visits"].to_arrow().to_pydict()
    person = {i: n for n, i in enumerate(people["person_id"])}
    for i, first, last in zip(visits["person_id"], visits["from_date"], visits["to_date"], strict=True):
        n = person[i]
        death = people["death_date"][n]
        assert max(DAY, people["birth_date"][n]) <= first <= last
        assert death is None or last <= death
        assert first <= date(2021, 12, 31)
    assert all(d is None or d >= b for b, d in zip(people["birth_date"], people["death_date"], strict=True))
    tests = data["tests"].to_arrow().to_pydict()
    owner = dict(zip(visits["visit_id"], visits["person_id"], strict=True))
    pairs = list(zip(tests["visit_id"], tests["test"], strict=True))
    assert len(set(pairs)) == len(pairs)
    assert [owner[v] for v in tests["visit_id"]] == tests["person_id"]


def test_times_of_day_run_forwards() -> None:
    """Of dates that all have one: within a day, too."""

    def stamped(table: pa.Table, names: tuple[str, ...]) -> pa.Table:
        for name in names:
            values = table[name].cast(pa.timestamp("us"))
            table = table.set_column(table.column_names.index(name), name, values)
        return table

    rows = {n: t.to_arrow() for n, t in lives(60).tables.items()}
    rows["people"] = stamped(rows["people"], ("birth_date", "death_date"))
    rows["visits"] = stamped(rows["visits"], ("from_date", "to_date"))
    data = sf.LinkedSynthesizer().fit(sf.scan_database(rows)).sample(1_000, seed=1).data
    people, visits = data["people"].to_arrow().to_pydict(), data["visits"].to_arrow().to_pydict()
    dates = zip(people["birth_date"], people["death_date"], strict=True)
    ends = dict(zip(people["person_id"], dates, strict=True))
    last: dict[str, Any] = {}
    several = 0
    for i, first, end in zip(visits["person_id"], visits["from_date"], visits["to_date"], strict=True):
        birth, death = ends[i]
        assert birth <= last.get(i, birth) <= first <= end and (death is None or end <= death)
        several += first.date() == end.date()
        last[i] = first
    assert several > 50
    assert all(death is None or birth <= death for birth, death in ends.values())


def test_tables_are_those_of_the_data() -> None:
    """Seeds are fixed: nothing here is left to chance."""
    data = sf.samples.hospital(1_500)
    release = sf.LinkedSynthesizer().fit(data).sample(seed=3)
    skipped: list[str] = []
    found = {
        s.name: s.value
        for s in utilities(data, release.data, ["diagnoses.code"], sf.Key.from_seed(0), skipped)
    }
    assert found["stays per row of patients"] < 0.005
    assert found["patients and stays, pairs of columns"] < 0.01
    assert found["succession of stays"] < 0.01
    assert found["gaps between stays"] < 0.01
    assert found["diagnoses per row of stays"] < 0.01
    assert found["stays and diagnoses, pairs of columns"] < 0.03
    assert found["patients and diagnoses, pairs of columns"] < 0.03
    assert found["pairs of diagnoses.code"] < 0.15
    assert found["repeated diagnoses.code"] < 0.05


def test_the_same_seed_gives_the_same_persons_and_another_does_not() -> None:
    model = sf.LinkedSynthesizer().fit(sf.samples.hospital(80))
    one, two, three = (model.sample(40, seed=s).data["diagnoses"].to_arrow() for s in (5, 5, 6))
    assert one.equals(two) and not one.equals(three)


def test_many_persons_come_in_batches_with_keys_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    model = sf.LinkedSynthesizer().fit(sf.samples.hospital(80))
    monkeypatch.setattr(linked_model, "_AT_ONCE", 10)
    monkeypatch.setattr(linked_model, "_STEP", 16)
    release = model.sample(50, seed=1)
    assert release.data["patients"].rows() == 50
    release.data.check()
    assert release.data["stays"].to_arrow().equals(release.data["stays"].to_arrow())


def test_a_saved_release_holds_and_names_nobody(tmp_path: Path) -> None:
    release = sf.LinkedSynthesizer().fit(lives()).sample(30)
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok
    again = sf.DatabaseRelease.load(tmp_path / "out")
    assert again.guarantee.claims[0].title == "no guarantee (counts without noise)"
    assert not set(again.data["people"].to_arrow()["person_id"].to_pylist()) & {f"P{i}" for i in range(60)}


# -- odd data ------------------------------------------------------------------------------------------


def people_and(visits: dict[str, list[Any]], persons: int = 3) -> sf.Database:
    people = {"person_id": list(range(persons)), "sex": (["f", "m"] * persons)[:persons]}
    return sf.scan_database({"people": pa.table(people), "visits": pa.table(visits)})


@FEW
def test_more_children_than_the_bound_are_left_out_the_last_first() -> None:
    days = [DAY + timedelta(i) for i in range(20)]
    data = people_and({
        "visit_id": list(range(20)), "person_id": [0] * 20, "day": days[::-1],
        "kind": ["late"] * 17 + ["early"] * 3,
    })  # fmt: skip
    with pytest.warns(sf.SfumatoWarning, match=r"beyond the most of one parent were left out: visits \(17\)"):
        model = sf.LinkedSynthesizer(max_children={"visits": 3}).fit(data)
    drawn = model.sample(200, seed=0).data["visits"].to_arrow()
    assert set(drawn["kind"].to_pylist()) == {"early"}
    assert max(np.unique(drawn["person_id"].to_pylist(), return_counts=True)[1]) <= 3


@FEW
def test_no_children_at_all() -> None:
    data = sf.samples.hospital(60)
    without = np.bincount(data.people.numbers("stays"), minlength=60) == 0
    assert 3 < without.sum() < 60
    release = sf.LinkedSynthesizer().fit(data.only(without)).sample(10)
    assert {n: t.rows() for n, t in release.data.tables.items()} == {
        "patients": 10, "stays": 0, "diagnoses": 0,
    }  # fmt: skip


def test_a_table_of_keys_alone_is_drawn_by_its_numbers(tmp_path: Path) -> None:
    hospital = sf.samples.hospital(60)
    tables = {name: table.to_arrow() for name, table in hospital.tables.items()}
    tables["stays"] = tables["stays"].select(["stay_id", "patient_id"])
    for name, rows in tables.items():
        sf.write(rows, tmp_path / f"{name}.parquet")
    drawn = sf.LinkedSynthesizer().fit(sf.scan_database(tmp_path)).sample(40, seed=1).data
    assert drawn["stays"].columns == ("stay_id", "patient_id")
    assert drawn["patients"].rows() == 40 and drawn["stays"].rows() > 40 and drawn["diagnoses"].rows() > 40


@FEW
def test_one_person() -> None:
    data = people_and({"visit_id": [1], "person_id": [0], "kind": ["a"]}, persons=1)
    release = sf.LinkedSynthesizer().fit(data).sample(1)
    assert release.data["visits"].rows() == 1


@FEW
def test_dates_and_codes_may_be_missing() -> None:
    data = people_and({
        "visit_id": [1, 2, 3, 4], "person_id": [0, 0, 1, 2], "day": [DAY, None, None, DAY],
        "kind": ["a", None, "b", None],
    })  # fmt: skip
    drawn = sf.LinkedSynthesizer().fit(data).sample(500, seed=1).data["visits"].to_arrow()
    assert 0 < drawn["day"].null_count < drawn.num_rows
    assert 0 < drawn["kind"].null_count < drawn.num_rows


def test_a_table_alone_and_no_table_of_persons_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"one row for each person|nothing hangs"):
        sf.LinkedSynthesizer().fit(sf.Database.of(sf.samples.members(20)))
    with pytest.raises(ParameterError, match="linked tables are a database"):
        sf.LinkedSynthesizer().fit(sf.samples.members(20))  # type: ignore[arg-type]


def test_rows_that_hang_on_several_tables_are_refused_before_anything_is_spent() -> None:
    """Taken for persons, they would be counted as if nobody had more than one."""
    db = public(lives(20))
    bills = sf.scan(pa.table({"event": [1] * 9, "kind": ["visit"] * 9, "paid": ["no"] * 9}))
    schema = bills.schema.with_("paid", levels=("no", "yes"), provenance=SAID)
    bills = bills.with_schema(schema.with_("event", role="identifier"))
    event = sf.Reference("bills", "event", "kind", {"visit": "visits"})
    whole = sf.Database({**db.tables, "bills": bills}, db.links, db.keys, references=(event,))
    for method in (sf.LinkedSynthesizer(), private(max_children={**BOUNDS, "bills": 3})):
        with pytest.raises(SchemaError, match="bills: no column says"):
            method.require(whole)


def test_more_values_than_rows_can_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_CODES", 3)
    with pytest.raises(DataError, match="people: 'birth_date' has more than 3 values"):
        sf.LinkedSynthesizer().fit(lives(30))


def test_nobody_at_all_is_refused() -> None:
    data = sf.samples.hospital(5)
    with pytest.raises(DataError, match="no persons"):
        sf.LinkedSynthesizer().fit(data.only(np.zeros(5, bool)))


def test_rows_of_nobody_are_left_out_and_said() -> None:
    people = pa.table({"patient_id": [f"P{i}" for i in range(30)], "sex": ["f", "m"] * 15})
    stays = pa.table({"patient_id": [f"P{i % 60}" for i in range(120)], "ward": ["a", "b", "c"] * 40})
    with pytest.warns(SfumatoWarning, match=r"rows that point to no row .*: stays \(60\)"):
        sf.LinkedSynthesizer().fit(sf.scan_database({"patients": people, "stays": stays}))


@pytest.mark.parametrize(("every", "hangs"), [(2, "patients"), (40, "stays")])
def test_rows_that_often_name_no_stay_hang_on_their_persons(every: int, hangs: str) -> None:
    """As records of a CDM do: each has a person, and perhaps a visit. Hung on visits they would be lost."""
    people = pa.table({"patient_id": [f"P{i}" for i in range(40)], "sex": ["f", "m"] * 20})
    stays = pa.table({"stay_id": range(80), "patient_id": [f"P{i // 2}" for i in range(80)]})
    codes = pa.table({
        "patient_id": [f"P{i // 4}" for i in range(160)], "code": [f"c{i % 7}" for i in range(160)],
        "stay_id": pa.array([None if i % every == 0 else i // 2 for i in range(160)]),
    })  # fmt: skip
    tables = {"patients": people, "stays": stays, "codes": codes}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = sf.LinkedSynthesizer().fit(sf.scan_database(tables))
    drawn = model.sample(40, seed=1).data.check()
    whole = "hang on their persons and the columns are left out: codes.stay_id" in str(
        [w.message for w in said]
    )
    assert whole == (hangs == "patients") == ("stay_id" not in drawn["codes"].columns)
    assert model.generator.structure["codes"].parent == hangs
    assert abs(drawn["codes"].rows() - (160 if whole else 156)) <= 12


def test_few_persons_are_said_to_be_repeated() -> None:
    with pytest.warns(SfumatoWarning, match="2 persons: of so few"):
        sf.LinkedSynthesizer().fit(sf.samples.hospital(5).only(np.arange(5) < 2))


def test_staff_and_pointers_to_other_rows_are_left_out_of_a_cdm_and_said() -> None:
    with pytest.warns(SfumatoWarning, match=r"preceding_visit_occurrence_id, provider$"):
        model = sf.LinkedSynthesizer().fit(sf.samples.omop(60))
    data = model.sample(20, seed=1).data
    assert "provider" not in data.tables and "concept" in data.tables
    assert data.check().order and data["person"].rows() == 20


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"max_children": {"stays": 0}}, "whole number"),
        ({"max_children": {"wards": 3}}, "max_children names 'wards'"),
        ({"period": ("2020-01-01", "2019-01-01")}, "two days"),
        ({"period": ("yesterday", "today")}, "two days"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        sf.LinkedSynthesizer(**settings).fit(sf.samples.hospital(10))


# -- parts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [GAPS.days, OFFSETS])
def test_days_come_back_in_their_bin_and_never_too_late(axis: Any) -> None:
    days = np.arange(0, 2000)
    codes = axis.encode(days, np.ones(len(days), bool))
    u = np.random.default_rng(0).random(len(days))
    again = axis.draw(codes, u, np.full(len(days), 10**6))
    assert (axis.encode(again, np.ones(len(days), bool)) == codes).all()
    assert (axis.draw(codes, u, np.full(len(days), 5)) <= 5).all()
    assert (axis.draw(np.full(3, axis.size - 1), u[:3], np.full(3, 9)) == NO_DAY).all()


def test_tables_of_sets_by_the_obvious_count() -> None:
    rng = np.random.default_rng(1)
    rows, classes = 40, 5
    codes = [rng.choice(8, rng.integers(0, 6), replace=False) for _ in range(rows)]
    person = np.sort(rng.integers(0, 12, rows))
    parent = np.repeat(np.arange(rows), [len(c) for c in codes])
    kind = np.array([0, 1, 2, 3, 4, 4, 4, 1])
    levels = rng.integers(0, 3, (2, rows)).astype(np.uint16)
    sets = CodeSets.of(parent, np.concatenate(codes), rows, person, 10)
    found = sets.classed(kind).tables(classes, levels, (3, 3))
    at = starts_of((3, 3), classes)
    total, again = np.zeros(classes), np.zeros(classes)
    above, both = np.zeros(at[-1]), np.zeros((classes, classes))
    for r, held in enumerate(codes):
        np.add.at(total, kind[held], 1)
        has = sorted(set(kind[held].tolist()))
        before = {int(k) for q in range(r) if person[q] == person[r] for k in kind[codes[q]]}
        for g in has:
            again[g] += g in before
            for v in range(2):
                above[at[v] + levels[v, r] * classes + g] += 1
            for h in has:
                both[g, h] += g < h
    assert (found.total == total).all() and (found.above == above).all() and (found.both == both).all()
    assert (found.again[:-1] == again).all() and found.again[-1] == again.sum()


# -- the way through -----------------------------------------------------------------------------------


def test_command_line_and_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path / "hospital", sf.samples.hospital(60))
    words = ["synthesize", "hospital", "--method", "linked", "--persons", "20", "--max-children", "stays=4"]
    assert command([*words, "--out", "drawn", "-q"]) == 0
    assert sf.DatabaseRelease.load("drawn").data["patients"].rows() == 20
    assert command(["synthesize", "hospital", "--method", "pegs", "--out", "no", "-q"]) != 0
    plan = '[database]\ndata = "hospital"\n\n[synthesis]\npersons = 25\n'
    (tmp_path / "plan.toml").write_text(plan)
    run = run_database(DatabasePlan.read(tmp_path / "plan.toml"), tmp_path / "planned")
    assert run.release.data["patients"].rows() == 25
    record = json.loads((tmp_path / "planned" / "internal" / "report.json").read_text())
    assert any(s["name"] == "stays per row of patients" for s in record["scores"])
    (tmp_path / "plan.toml").write_text(plan + '[pseudonyms]\n[synthesis.max_children]\nstays = "x"\n')
    with pytest.raises(sf.SfumatoError, match="stands alone") as refused:
        DatabasePlan.read(tmp_path / "plan.toml")
    assert "max_children.stays" in str(refused.value)
