"""CDMs that are not as the standard has them: refused with every difference, or read with all said."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from linked import written
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.errors import DataError, SchemaError, SfumatoWarning

Rows = dict[str, pa.Table]


@pytest.fixture(scope="module")
def whole() -> Rows:
    return {name: table.to_arrow() for name, table in sf.samples.omop(30).tables.items()}


def with_column(rows: Rows, table: str, column: str, value: Any) -> Rows:
    """One column of a table, the same in every row; or left out."""
    found = rows[table]
    if column in found.column_names:
        found = found.drop_columns([column])
    if value is not None:
        found = found.append_column(column, pa.array([value] * found.num_rows))
    return {**rows, table: found}


def heard(data: Any, **options: Any) -> tuple[sf.Database, str]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = sf.scan_database(data, **options)
    return found, " | ".join(str(w.message) for w in said if issubclass(w.category, SfumatoWarning))


def at_the_terminal(*words: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, list(words))
    return found.exit_code, " ".join(found.output.split())


@pytest.mark.parametrize("version", ["5.2.2", "CDM v6.0", "4.0"])
def test_another_version_is_refused_by_every_command_and_nothing_is_written(
    version: str, whole: Rows, tmp_path: Path
) -> None:
    data = written(tmp_path / "cdm", with_column(whole, "cdm_source", "cdm_version", version))
    out = tmp_path / "out"
    for words in (
        ["describe", str(data)],
        ["init", str(data), "--out", str(out)],
        ["pseudonymize", str(data), "--out", str(out)],
        ["synthesize", str(data), "--persons", "5", "--out", str(out)],
    ):
        code, said = at_the_terminal(*words)
        assert code == 2 and "this is an OMOP CDM of version" in said and "5.4 and 5.3 are known" in said
    assert not out.exists()


def test_what_looks_like_version_6_is_refused_and_one_row_that_states_another_is_enough(whole: Rows) -> None:
    bare = {name: table for name, table in whole.items() if name not in ("cdm_source", "death")}
    with pytest.raises(SchemaError, match=r"of version 6\.0"):
        heard(with_column(bare, "person", "death_datetime", None) | {
            "person": bare["person"].append_column("death_datetime", pa.nulls(30, pa.timestamp("us")))
        })  # fmt: skip
    of_two = [whole["cdm_source"], with_column(whole, "cdm_source", "cdm_version", "6.0")["cdm_source"]]
    with pytest.raises(SchemaError, match=r"of version 6\.0"):
        heard({**whole, "cdm_source": pa.concat_tables([t.select(of_two[0].column_names) for t in of_two])})


# -- as frames and servers write it ------------------------------------------------------------------


def as_type(rows: Rows, kind: pa.DataType, *places: str) -> Rows:
    """Columns of another type."""
    found = dict(rows)
    for place in places:
        name, _, column = place.partition(".")
        at = found[name].schema.get_field_index(column)
        found[name] = found[name].set_column(at, column, found[name][column].cast(kind))
    return found


def released(data: Any) -> Rows:
    found = sf.pseudonymize(heard(data)[0], shift_dates=50, key=sf.Key.from_seed(3), shuffle=False).data
    return {name: table.to_arrow() for name, table in found.tables.items()}


@pytest.mark.parametrize("kind", [pa.float64(), pa.decimal128(38, 0)])
def test_keys_that_frames_keep_as_reals_get_the_same_whole_numbers(kind: pa.DataType, whole: Rows) -> None:
    rows = as_type(
        whole, kind, "person.person_id", "condition_occurrence.visit_occurrence_id", "person.provider_id",
        "measurement.measurement_event_id", "drug_exposure.drug_exposure_id",
    )  # fmt: skip
    assert released(rows) == released(whole)


def test_text_files_as_frames_write_them(whole: Rows, tmp_path: Path) -> None:
    """Keys as 7.0, days as 2020-03-01 00:00:00, and tables without a byte."""
    days = "visit_occurrence.visit_start_date"
    stays = whole["condition_occurrence"]["visit_occurrence_id"].to_pylist()
    rows = as_type(whole, pa.timestamp("s"), days)
    rows = with_column(rows, "condition_occurrence", "visit_occurrence_id", None)
    texts = pa.array([None if stay is None else f"{stay}.0" for stay in stays])
    rows["condition_occurrence"] = rows["condition_occurrence"].append_column("visit_occurrence_id", texts)
    data = tmp_path / "cdm"
    data.mkdir()
    for name, table in rows.items():
        csv.write_csv(table, data / f"{name}.csv", csv.WriteOptions(quoting_style="needed"))
    (data / "note.csv").write_bytes(b"")
    (data / "DEVICE_EXPOSURE.csv").write_text("device_exposure_id,person_id\n")
    _, said = heard(data)
    assert f"days that are kept with a time of day, which stays: {days}" in said
    assert "since there are no rows: DEVICE_EXPOSURE, note" in said
    out, expected = released(data), released(whole)
    for column in ("visit_occurrence_id", "condition_start_date"):
        assert out["condition_occurrence"][column].equals(expected["condition_occurrence"][column])
    start = out["visit_occurrence"]["visit_start_date"].cast(pa.date32())
    assert start.equals(expected["visit_occurrence"]["visit_start_date"])


def test_tables_in_schemas_of_duckdb(whole: Rows, tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "cdm.duckdb")) as database:
        for schema in ("cdm", "vocabulary"):
            database.execute(f"CREATE SCHEMA cdm.{schema}")
        for name, rows in whole.items():
            database.register("rows_", rows)
            schema = "vocabulary" if name == "concept" else "cdm"
            database.execute(f"CREATE TABLE cdm.{schema}.{name} AS SELECT * FROM rows_")
            database.unregister("rows_")
    found, said = heard(tmp_path / "cdm.duckdb")
    assert not said and found.form == "omop 5.4" and set(found.tables) == set(whole)
    with duckdb.connect(str(tmp_path / "two.duckdb")) as database:
        database.execute("CREATE SCHEMA cdm")
        for schema in ("main", "cdm"):
            database.execute(f"CREATE TABLE {schema}.cohort AS SELECT 1 AS subject_id")
    with pytest.raises(DataError, match="several tables are called alike: 'cohort'"):
        heard(tmp_path / "two.duckdb")


def test_tables_in_schemas_of_postgresql(postgres_url: str, whole: Rows) -> None:
    import ibis

    connection = ibis.connect(postgres_url)
    with pytest.raises(DataError, match="no tables are found at this address"):
        heard(f"{postgres_url}?options=-csearch_path%3Dsfumato_nowhere")
    try:
        for schema in ("sfumato_cdm", "sfumato_vocabulary"):
            connection.create_database(schema)
        for name, rows in whole.items():
            schema = "sfumato_vocabulary" if name == "concept" else "sfumato_cdm"
            connection.create_table(name, rows, database=schema)
        found, said = heard(f"{postgres_url}?options=-csearch_path%3Dsfumato_cdm,sfumato_vocabulary")
        assert not said and found.form == "omop 5.4" and set(found.tables) == set(whole)
    finally:
        for schema in ("sfumato_cdm", "sfumato_vocabulary"):
            connection.raw_sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def test_two_tables_are_a_cdm_and_all_that_is_missing_is_said(whole: Rows) -> None:
    few = {name: whole[name] for name in ("person", "condition_occurrence")}
    few = with_column(few, "person", "race_concept_id", None)
    few = with_column(few, "condition_occurrence", "condition_type_concept_id", None)
    found, said = heard(few)
    assert found.form == "omop 5.4" and not found.differences
    for missing in (
        "observation_period",
        "person.race_concept_id",
        "condition_occurrence.condition_type_concept_id",
        "there is no vocabulary",
    ):
        assert missing in said
    out = sf.pseudonymize(found, shift_dates=100).data
    assert out["condition_occurrence"].rows() == few["condition_occurrence"].num_rows


def test_ids_of_tables_that_are_not_there_are_left_out_of_a_release(whole: Rows) -> None:
    """Without visits, what points to a visit joins nothing, and names it by its number in the hospital."""
    rows = {name: table for name, table in whole.items() if name != "visit_occurrence"}
    found, _ = heard(rows)
    out = sf.pseudonymize(found, key=sf.Key.from_seed(1)).data
    for name in ("condition_occurrence", "measurement"):
        before = set(rows[name]["visit_occurrence_id"].to_pylist())
        assert "visit_occurrence_id" not in out[name].columns or not before & set(
            out[name].to_arrow()["visit_occurrence_id"].to_pylist()
        )


def test_a_table_of_persons_without_their_column_is_refused(whole: Rows) -> None:
    rows = with_column(whole, "death", "person_id", None)
    with pytest.raises(DataError, match="death: no link leads to a person"):
        heard(rows)


def test_every_unknown_column_and_table_is_named_and_kept_out(whole: Rows) -> None:
    rows = whole
    headless = pa.table({"column0": ["Quetzalcoatl"], "column1": [1]})  # files without a header
    rows = {**rows, "specimen": headless, "note": headless}
    for number in range(40):
        rows = with_column(rows, "person", f"extra_{number}", "Quetzalcoatl")
    rows = {**rows, "tumour_registry": rows["death"], "my_notes": rows["person"]}
    found, said = heard(rows)
    for name in (*(f"person.extra_{n}" for n in range(40)), "tumour_registry", "my_notes"):
        assert name in said, name
    assert (
        "since none of their columns is the standard's: note, specimen" in said and "notes name" not in said
    )
    assert "Quetzalcoatl" not in said and "more" not in said.partition("does not have it: ")[2].split(";")[0]
    assert set(found.tables) == set(whole) and not any(c.startswith("extra") for c in found["person"].columns)


def test_concepts_without_a_vocabulary_are_counted_by_column(whole: Rows) -> None:
    rows = with_column(whole, "drug_exposure", "drug_concept_id", 7_777_777)
    rows = with_column(rows, "death", "cause_concept_id", 2.5)  # a real that is no number of a concept
    rows = with_column(rows, "visit_occurrence", "visit_concept_id", 0)  # stands for none
    found, said = heard(rows)
    drugs, deaths = rows["drug_exposure"].num_rows, rows["death"].num_rows
    assert f"drug_exposure.drug_concept_id ({drugs:,} rows)" in said
    assert f"death.cause_concept_id ({deaths:,} rows)" in said
    assert "visit_concept_id" not in said and "7777777" not in said and "2.5" not in said
    assert found.people.count == 30


@pytest.mark.parametrize("how", ["no table", "no ids", "ids of text", "no names"])
def test_odd_vocabularies(how: str, whole: Rows) -> None:
    if how == "no table":
        rows = {name: table for name, table in whole.items() if name != "concept"}
    elif how == "no names":
        rows = with_column(whole, "concept", "concept_name", None)
        rows = with_column(rows, "measurement", "meas_event_field_concept_id", 99)
    else:
        rows = with_column(whole, "concept", "concept_id", None)
        if how == "ids of text":
            texts = pa.array([f"A{n}" for n in range(rows["concept"].num_rows)])
            rows = {**rows, "concept": rows["concept"].append_column("concept_id", texts)}
    found, said = heard(rows)
    assert found.form == "omop 5.4"
    expected = {
        "no table": "there is no vocabulary",
        "no ids": "there is no vocabulary",
        "ids of text": "concept ids that 'concept' does not have: person.gender_concept_id (30 rows)",
        "no names": "it lacks what the standard requires: concept.concept_name",
    }
    assert expected[how] in said and "A1" not in said
    sf.pseudonymize(found, shift_dates=50)


def test_text_of_another_type_is_left_out_and_said(whole: Rows) -> None:
    rows = with_column(whole, "condition_occurrence", "condition_source_value", 250)
    rows = with_column(rows, "drug_exposure", "lot_number", 1.5)
    found, said = heard(rows, keep_text=True)
    words = "since they are of another type, and empty or text: condition_occurrence.condition_source_value, "
    assert f"left out, {words}drug_exposure.lot_number" in said
    assert "lot_number" not in found["drug_exposure"].columns


def test_names_that_differ_in_capitals_are_not_taken_for_each_other(whole: Rows) -> None:
    with pytest.raises(SchemaError, match="capitals only: person, PERSON"):
        sf.scan_database({**whole, "PERSON": whole["person"]})
    with pytest.raises(SchemaError, match=r"person\.year_of_birth, person\.Year_of_birth"):
        sf.scan_database(with_column(whole, "person", "Year_of_birth", 1950))


def test_the_plan_of_a_cdm_names_its_concepts_and_runs_with_them(whole: Rows, tmp_path: Path) -> None:
    data = written(tmp_path / "cdm", whole)
    assert at_the_terminal("init", str(data), "--out", str(tmp_path / "work"))[0] == 0
    plan = (tmp_path / "work" / "plan.toml").read_text()
    assert (
        '# codes = ["visit_occurrence.visit_concept_id", "condition_occurrence.condition_concept_id"' in plan
    )
    chosen = plan.replace("[pseudonyms]\ncoarsen", "# [pseudonyms]\n# coarsen")
    for word in ("[codes]", "k = 5", "m = 2", "codes = ", "columns = "):
        chosen = chosen.replace(f"# {word}", word)
    (tmp_path / "work" / "plan.toml").write_text(chosen)
    out = tmp_path / "out"
    at_the_terminal("run", str(tmp_path / "work" / "plan.toml"), "--out", str(out))
    assert sf.verify(out).ok and "k^m" in (out / "public" / "card.md").read_text()


# -- keys that do not hold ---------------------------------------------------------------------------


def test_what_points_nowhere_is_mended_where_it_is_asked_for(whole: Rows, tmp_path: Path) -> None:
    lost = {**whole, "person": whole["person"].slice(3)}
    data = written(tmp_path / "cdm", lost)
    commands = (["pseudonymize", str(data)], ["synthesize", str(data), "--persons", "20"])
    for number, words in enumerate(commands):
        out = str(tmp_path / f"out{number}")
        code, said = at_the_terminal(*words, "--out", out)
        assert code == 2 and "rows without a parent in 'person'" in said and "--mend" in said
        assert not Path(out).exists()
        code, said = at_the_terminal(*words, "--mend", "--out", out)
        assert code == 0 and "rows without a person left out" in said
        assert sf.verify(out).ok
    judged = ("assess", str(data), str(tmp_path / "out1"))
    assert at_the_terminal(*judged)[0] == 2
    assert "visit_occurrence per row of person" in at_the_terminal(*judged, "--mend")[1]
    one = tmp_path / "cdm" / "person.parquet"
    for words in (["pseudonymize", str(one), "--out", "x"], ["synthesize", str(one), "--out", "x"],
                  ["assess", str(one), str(one)]):  # fmt: skip
        code, said = at_the_terminal(*words, "--mend")
        assert code == 2 and "--mend is for linked tables" in said


def test_an_epsilon_is_not_promised_for_mended_tables(whole: Rows) -> None:
    """One person more with a key of somebody else's would take that person's row out."""
    twice = {**whole, "visit_occurrence": pa.concat_tables([whole["visit_occurrence"]] * 2)}
    mended, _ = heard(twice, mend=True)
    assert mended.mended and mended.only(np.ones(mended.people.count, bool)).mended
    with pytest.raises(SchemaError, match="an epsilon needs keys that hold by themselves"):
        sf.LinkedSynthesizer(1.0).fit(mended)
    unbroken, _ = heard(whole, mend=True)
    assert not unbroken.mended
