"""An OMOP CDM is recognized wherever it lies, leaves as one, and all that differs is said."""

from __future__ import annotations

import subprocess
import sys
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pytest
from cli_support import environment
from linked import written

import sfumato as sf
from sfumato.errors import DataError, SchemaError, SfumatoWarning
from sfumato.io.omop import fields_of

Rows = dict[str, pa.Table]
SHIFT: dict[str, Any] = {"shift_dates": 365, "key": sf.Key.from_seed(7), "shuffle": False}


def rows(n: int = 30, **changes: dict[str, list[Any]]) -> Rows:
    """A small CDM; whole columns changed or added by table."""
    found = {name: table.to_arrow() for name, table in sf.samples.omop(n).tables.items()}
    for name, columns in changes.items():
        for column, values in columns.items():
            many = (values * found[name].num_rows)[: found[name].num_rows]
            at = found[name].schema.get_field_index(column)
            found[name] = (
                found[name].append_column(column, pa.array(many))
                if at < 0
                else found[name].set_column(at, column, pa.array(many))
            )
    return found


def heard(data: Any, **options: Any) -> tuple[sf.Database, str]:
    """A database, and all that was said."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = sf.scan_database(data, **options)
    return found, " | ".join(str(w.message) for w in said if issubclass(w.category, SfumatoWarning))


@pytest.mark.parametrize(("version", "tables", "fields"), [("5.3", 37, 396), ("5.4", 39, 432)])
def test_the_facts_are_those_of_the_published_lists(version: str, tables: int, fields: int) -> None:
    every = fields_of(version)
    assert len(every) == tables and sum(map(len, every.values())) == fields
    for table, known in every.items():
        for field in known.values():
            assert not field.points_to or field.points_to in every, (table, field)
    assert (
        every["person"]["person_id"].key and every["condition_occurrence"]["person_id"].points_to == "person"
    )
    assert {f.type for f in every["measurement"].values()} == {"integer", "date", "datetime", "text", "real"}
    assert ("episode" in every) == (version == "5.4")
    assert every["cdm_source"]["cdm_holder"].required == (version == "5.4")
    assert every["vocabulary"]["vocabulary_reference"].required == (version == "5.3")


# -- wherever it lies ------------------------------------------------------------------------------


def same(one: sf.Database, other: sf.Database) -> None:
    """The same pseudonyms, dates and cells, whatever the order of tables and rows."""
    here, there = sf.pseudonymize(one, **SHIFT).data, sf.pseudonymize(other, **SHIFT).data
    assert set(here.tables) == set(there.tables)
    for name, table in here.tables.items():
        order = [(c, "ascending") for c in table.columns]
        left = table.to_arrow().sort_by(order)
        right = there[name].to_arrow().select(list(table.columns)).cast(left.schema).sort_by(order)
        assert left.equals(right), name


@pytest.mark.soak
@pytest.mark.parametrize("part", ["1", "16"])
def test_memory_does_not_grow_with_the_persons(part: str) -> None:
    """Four times the persons, in at most half as much memory again; a quarter where all bounds are reached.

    The script holds the bounds itself.
    """
    script = Path(__file__).parents[2] / "benchmarks" / "omop.py"
    done = subprocess.run(
        [sys.executable, str(script), "--persons", "100000", "400000", "--held", part], env=environment(),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and "400,000 persons: " in done.stdout, done.stdout + done.stderr


def test_files_and_duckdb_give_the_same_release(tmp_path: Path) -> None:
    import duckdb

    plain = rows()
    here = sf.scan_database(plain)
    assert here.form == "omop 5.4" and here.root == "person" and here.people.count == 30
    same(here, sf.scan_database(written(tmp_path / "parquet", plain)))
    (tmp_path / "csv").mkdir()
    for name, table in plain.items():
        csv.write_csv(table.rename_columns([c.upper() for c in table.column_names]),
                      tmp_path / "csv" / f"{name.upper()}.csv")  # fmt: skip
    capitals = sf.scan_database(tmp_path / "csv")
    assert capitals.root == "PERSON" and len(capitals.links) == len(here.links)
    (tmp_path / "text").mkdir()
    for name, table in plain.items():
        csv.write_csv(table, tmp_path / "text" / f"{name}.csv")
    same(here, sf.scan_database(tmp_path / "text"))
    connection = duckdb.connect(str(tmp_path / "cdm.duckdb"))
    for name, table in plain.items():
        connection.register("rows_", table)
        connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM rows_')
        connection.unregister("rows_")
    connection.close()
    same(here, sf.scan_database(tmp_path / "cdm.duckdb"))


def test_postgresql_gives_the_same_release(postgres_url: str) -> None:
    import ibis

    plain = rows()
    connection = ibis.connect(postgres_url)
    try:
        for name, table in plain.items():
            connection.create_table(f"cdm_{name}", table, overwrite=True)
        there = {name: sf.scan(postgres_url, table=f"cdm_{name}", keep_text=True) for name in plain}
        same(sf.scan_database(plain), sf.scan_database(there))
    finally:
        for name in plain:
            connection.drop_table(f"cdm_{name}", force=True)


def test_it_leaves_as_a_cdm(tmp_path: Path) -> None:
    db = sf.samples.omop(60)
    sf.pseudonymize(db, shift_dates=100, coarsen_dates="week").save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok
    plain = {p.stem: p for p in (tmp_path / "out" / "public").glob("*.parquet")}
    out, said = heard({n: str(p) for n, p in plain.items()})  # without database.toml: as any CDM
    assert not said and out.form == db.form and not out.differences
    assert out.references[0].targets == db.references[0].targets
    before, after = db["visit_occurrence"].to_arrow(), out["visit_occurrence"].to_arrow()
    assert after.schema.field("visit_occurrence_id").type == pa.int64()
    ids = "visit_occurrence_id", "person_id", "provider_id", "preceding_visit_occurrence_id"
    for column in ids:
        assert not set(before[column].to_pylist()) & (set(after[column].to_pylist()) - {None}), column
        assert max(v for v in after[column].to_pylist() if v) < 2**31
    assert (
        after["preceding_visit_occurrence_id"].null_count
        == before["preceding_visit_occurrence_id"].null_count
    )
    assert out["concept"].to_arrow().equals(db["concept"].to_arrow())


def test_under_km_concepts_stay_whole_numbers(tmp_path: Path) -> None:
    db = sf.samples.omop(400)
    codes = ["condition_occurrence.condition_concept_id", "drug_exposure.drug_concept_id"]
    with pytest.warns(SfumatoWarning, match="left out"):
        release = sf.anonymize_database(db, sf.KMAnonymity(5, 2), codes=codes, columns=["gender_concept_id"])
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok
    out = sf.DatabaseRelease.load(tmp_path / "out").data.check()
    assert out["drug_exposure"].schema["drug_concept_id"].type == "integer"
    known = set(db["drug_exposure"].to_arrow()["drug_concept_id"].to_pylist())
    assert set(out["drug_exposure"].to_arrow()["drug_concept_id"].to_pylist()) <= known | {None}


# -- ids that point to any table -------------------------------------------------------------------


def test_events_follow_the_records_they_point_to() -> None:
    costs = {
        "cost": pa.table({
            "cost_id": [1, 2, 3, 4], "cost_event_id": [1, 1, 2, 5],
            "cost_domain_id": ["Condition", "Drug", "Visit", "Spa"], "cost_type_concept_id": [0] * 4,
        })
    }  # fmt: skip
    db, said = heard({**rows(), **costs})
    assert "'cost_domain_id' does not say to what 1 row point" in said
    assert db.people.numbers("cost").tolist()[3] == -1 and min(db.people.numbers("cost")[:3]) >= 0
    out = sf.pseudonymize(db, key=sf.Key.from_seed(1), shuffle=False).data
    pairs = {}
    for table in ("condition_occurrence", "drug_exposure", "visit_occurrence"):
        key = f"{table}_id"
        pairs[table] = dict(zip(db[table].to_arrow()[key].to_pylist(), out[table].to_arrow()[key].to_pylist(),
                                strict=True))  # fmt: skip
    found = out["cost"].to_arrow()["cost_event_id"].to_pylist()
    assert found == [
        pairs["condition_occurrence"][1],
        pairs["drug_exposure"][1],
        pairs["visit_occurrence"][2],
        None,
    ]
    before, after = db["measurement"].to_arrow(), out["measurement"].to_arrow()
    assert [
        pairs["condition_occurrence"].get(v) for v in before["measurement_event_id"].to_pylist()
    ] == after["measurement_event_id"].to_pylist()


def test_an_event_without_its_record_is_counted() -> None:
    with pytest.raises(
        DataError, match=r"measurement_event_id: \d+ rows without a row in 'condition_occurrence'"
    ):
        sf.scan_database(
            rows(measurement={"measurement_event_id": [10**6], "meas_event_field_concept_id": [1147127]})
        )


def test_concepts_name_further_tables() -> None:
    plain = rows(measurement={"measurement_event_id": [1], "meas_event_field_concept_id": [99]})
    names = plain["concept"]["concept_name"].to_pylist()
    ids = plain["concept"]["concept_id"].to_pylist()
    at = ids.index(1147127)
    ids[at], names[at] = 99, "visit_occurrence.visit_occurrence_id"
    plain["concept"] = (
        plain["concept"]
        .set_column(0, "concept_id", pa.array(ids))
        .set_column(1, "concept_name", pa.array(names))
    )
    db = sf.scan_database(plain)
    assert db.references[0].targets["99"] == "visit_occurrence"


# -- what is left out, and what is refused ---------------------------------------------------------


def test_what_names_people_is_left_out_and_said() -> None:
    plain = rows(
        person={"person_source_value": ["Ann"], "birth_datetime": [date(1950, 1, 2)], "shoe_size": [40]},
        condition_occurrence={"condition_source_value": ["I10"], "stop_reason": ["said so"]},
    )
    note = pa.table({"note_id": [1], "person_id": [1], "note_date": [date(2020, 1, 1)], "note_text": ["Ann"]})
    relation = pa.table({"domain_concept_id_1": [19], "fact_id_1": [1]})
    db, said = heard({**plain, "note": note, "fact_relationship": relation, "results": note})
    assert "notes name people" in said and "ties records of any persons together" in said
    for left in ("person.shoe_size", "results", "person.person_source_value", "person.birth_datetime",
                 "condition_occurrence.stop_reason"):  # fmt: skip
        assert left in said
    assert (
        "Ann" not in said
        and "note" not in db.tables
        and "stop_reason" not in db["condition_occurrence"].columns
    )
    kept, _ = heard({**plain, "note": note}, keep_text=True)
    assert "note_text" in kept["note"].columns and "birth_datetime" not in kept["person"].columns
    with pytest.warns(SfumatoWarning, match="free text is left out"):
        out = sf.pseudonymize(kept)
    assert (
        "note_text" not in out.data["note"].columns
        and "person_source_value" not in out.data["person"].columns
    )


def test_the_other_versions() -> None:
    old = rows()
    del old["cdm_source"]
    visits = old["visit_occurrence"]
    old["visit_occurrence"] = visits.append_column(
        "admitting_source_concept_id", pa.array([0] * visits.num_rows)
    )
    measured = old["measurement"].drop_columns(["measurement_event_id", "meas_event_field_concept_id"])
    assert sf.scan_database({**old, "measurement": measured}).form == "omop 5.3"
    stated, said = heard({**old, "measurement": measured, "cdm_source": rows()["cdm_source"]})
    assert stated.form == "omop 5.4" and "visit_occurrence.admitting_source_concept_id" in said
    for version in ("6.0", "v5.2.2"):
        with pytest.raises(SchemaError, match="this is an OMOP CDM of version"):
            sf.scan_database(rows(cdm_source={"cdm_version": [version]}))
    with pytest.raises(SchemaError, match=r"version 6\.0"):
        sf.scan_database({**old, "survey_conduct": measured})


def test_missing_tables_and_concepts_are_said() -> None:
    plain = rows(condition_occurrence={"condition_concept_id": [12345]})
    del plain["observation_period"]
    plain["person"] = plain["person"].drop_columns(["race_concept_id"])
    _, said = heard(plain)
    assert "it lacks what the standard requires: observation_period, person.race_concept_id" in said
    many = plain["condition_occurrence"].num_rows
    assert f"'concept' does not have: condition_occurrence.condition_concept_id ({many} rows)" in said
    assert "12345" not in said
    del plain["concept"]
    assert "there is no vocabulary" in heard(plain)[1]


def test_ids_of_text_are_refused_and_zero_is_none() -> None:
    plain = rows()
    texts = [str(v) for v in plain["person"]["person_id"].to_pylist()]
    with pytest.raises(DataError, match="'person_id' is text, not integer"):
        sf.scan_database({**plain, "person": plain["person"].set_column(0, "person_id", pa.array(texts))})
    db = sf.scan_database(rows(person={"provider_id": [0]}))
    assert db["person"].to_arrow()["provider_id"].null_count == 30
    with pytest.raises(DataError, match="without a parent in 'provider'"):
        sf.scan_database(rows(person={"provider_id": [10**6]}))


def test_what_is_no_cdm_is_guessed_as_before() -> None:
    tables = {"person": pa.table({"person_id": [1, 2]}), "stays": pa.table({"person_id": [1, 2, 2]})}
    assert sf.scan_database(tables).form == ""
