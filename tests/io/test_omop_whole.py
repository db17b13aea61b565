"""A CDM with every table of the standard, as OHDSI's scripts make it; ids and names as servers have them."""

from __future__ import annotations

import json
import warnings
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pytest
from linked import written

import sfumato as sf
from sfumato.errors import DataError, SfumatoWarning
from sfumato.io.omop import CdmField, fields_of
from sfumato.io.omop.roles import PUBLIC

Rows = dict[str, pa.Table]
CANARY, FIRST = "Quetzalcoatl", 5_000_000
TYPES = {"integer": pa.int64(), "real": pa.float64(), "date": pa.date32(), "datetime": pa.timestamp("us"),
         "text": pa.string()}  # fmt: skip
DEFINED = {
    "cohort": pa.table({
        "cohort_definition_id": [7, 7, 8], "subject_id": [1, 2, 3],
        "cohort_start_date": [date(2020, 1, 1)] * 3, "cohort_end_date": [date(2020, 2, 1)] * 3,
    }),
    "cohort_definition": pa.table({
        "cohort_definition_id": [7, 8], "cohort_definition_name": ["a", "b"],
        "definition_type_concept_id": [0, 0], "subject_concept_id": [0, 0],
    }),
}  # fmt: skip


@pytest.fixture(scope="module")
def whole() -> Rows:
    return {name: table.to_arrow() for name, table in sf.samples.omop(30).tables.items()}


def heard(data: Any, **options: Any) -> tuple[sf.Database, str]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = sf.scan_database(data, **options)
    return found, " | ".join(str(w.message) for w in said if issubclass(w.category, SfumatoWarning))


def every_table(version: str, n: int = 20) -> Rows:
    """Row i of each table belongs to person i; all text is the canary."""
    return {
        table: pa.table({
            name: pa.array([_cell(field, i, version) for i in range(n)], TYPES[field.type])
            for name, field in fields.items()
        })
        for table, fields in fields_of(version).items()
    }  # fmt: skip


def _cell(field: CdmField, i: int, version: str) -> Any:
    own = field.key or field.name == f"{field.table}_id"
    if field.type == "text":
        if field.name in ("cost_domain_id", "domain_id") and (field.table == "cost" or i == 0):
            return "Drug"
        return version if field.name == "cdm_version" else f"{CANARY}{i}"
    if field.is_concept:
        return i if field.table == "concept" and own else 0
    if field.type == "integer" and field.points_to == field.table:
        return None
    if field.type == "integer" and (own or field.points_to or field.name == "cost_event_id"):
        return FIRST + i
    if field.type == "integer" and field.name.endswith("event_id"):
        return None
    plain = {"integer": 1950 + i, "real": 1.5 * i, "date": date(2020, 1, 2) + timedelta(i),
             "datetime": datetime(2020, 1, 2, 5) + timedelta(i)}  # fmt: skip
    return plain[field.type]


@pytest.mark.soak
@pytest.mark.parametrize("version", ["5.3", "5.4"])
def test_every_table_of_the_standard_goes_all_the_way(version: str, tmp_path: Path) -> None:
    rows = every_table(version)
    db, said = heard(rows)
    assert db.form == f"omop {version}" and CANARY not in said
    sf.pseudonymize(db, shift_dates=365).save(tmp_path / "moved")
    assert sf.verify(tmp_path / "moved").ok
    again, _ = heard(tmp_path / "moved" / "public")
    assert set(rows) - set(again.tables) == {"note", "note_nlp", "fact_relationship"}
    for name, table in again.tables.items():
        assert table.rows() == rows[name].num_rows
        for column in table.columns if name not in PUBLIC else ():
            cells = json.dumps(table.select([column]).to_arrow()[column].to_pylist(), default=str)
            public = f"{name}.{column}" in ("cohort.cohort_definition_id", "location.state")
            assert public or (CANARY not in cells and str(FIRST)[:-1] not in cells), f"{name}.{column}"
    codes = ["condition_occurrence.condition_concept_id"]
    with pytest.warns(SfumatoWarning, match="left out"):
        coded = sf.anonymize_database(db, sf.KMAnonymity(2, 1), codes=codes, columns=["gender_concept_id"])
    coded.save(tmp_path / "coded")
    with pytest.warns(SfumatoWarning, match="not synthesized"):
        sf.LinkedSynthesizer().fit(db).sample(10).save(tmp_path / "drawn")
    for name in ("coded", "drawn"):
        assert sf.verify(tmp_path / name).ok
        assert heard(tmp_path / name / "public")[0].form == f"omop {version}"


def test_cohorts_keep_the_definition_they_go_by(whole: Rows, tmp_path: Path) -> None:
    """The standard links them; the definitions are public, so their numbers stay."""
    db, _ = heard({**whole, **DEFINED})
    sf.pseudonymize(db, shift_dates=100).save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok
    out = sf.scan_database(tmp_path / "out" / "public")["cohort"].to_arrow()
    assert sorted(out["cohort_definition_id"].to_pylist()) == [7, 7, 8]
    assert not set(out["subject_id"].to_pylist()) & {1, 2, 3}
    with pytest.raises(
        DataError, match=r"cohort_definition_id: 1 row without a parent in 'cohort_definition'"
    ):
        heard({**whole, **DEFINED, "cohort_definition": DEFINED["cohort_definition"].slice(0, 1)})


def test_a_cdm_with_costs_is_drawn_without_them(whole: Rows) -> None:
    """Which table a cost belongs to is said row by row, and may not be known."""
    costs = pa.table({"cost_id": [1], "cost_event_id": [1], "cost_domain_id": ["Drug"],
                      "cost_type_concept_id": [0]})  # fmt: skip
    db, _ = heard({**whole, "cost": costs})
    tree = sf.LinkedSynthesizer().require(db)
    assert "cost" in tree.left_out and "cost" not in [branch.name for branch in tree.branches]


@pytest.mark.parametrize("by", [-1, 2**33])
def test_ids_that_get_no_whole_number_are_refused_in_all_tables_at_once(by: int, whole: Rows) -> None:
    rows = {
        name: table.set_column(
            table.schema.get_field_index("person_id"), "person_id",
            pc.multiply(table["person_id"], -1) if by < 0 else pc.add(table["person_id"], by),
        ) if "person_id" in table.column_names else table
        for name, table in whole.items()
    }  # fmt: skip
    db, _ = heard(rows)
    with pytest.raises(DataError, match="ids below 0 or above 2147483646") as refused:
        sf.pseudonymize(db)
    for name in ("person", "visit_occurrence", "death"):
        assert f"{name}: ids below 0" in refused.value.message
    if by > 0:
        assert sf.pseudonymize(db, integers=64).data["person"].rows() == 30


def test_text_files_with_moments_in_zones(whole: Rows, tmp_path: Path) -> None:
    visits = whole["visit_occurrence"]
    for name, moment in (("zone", "2020-01-01T23:30:00+02:00"), ("mixed", "2020-01-01 23:30:00")):
        moments = ["2020-01-01T23:30:00Z", *[moment] * (visits.num_rows - 1)]
        rows = {**whole, "visit_occurrence": visits.append_column("visit_start_datetime", pa.array(moments))}
        (tmp_path / name).mkdir()
        for table, content in rows.items():
            csv.write_csv(content, tmp_path / name / f"{table}.csv")
    found = heard(tmp_path / "zone")[0]["visit_occurrence"].to_arrow()["visit_start_datetime"]
    assert str(found.type) == "timestamp[us, tz=UTC]" and found[1].as_py().hour == 21
    with pytest.raises(DataError, match=r"'visit_start_datetime' \(1 cell not "):
        heard(tmp_path / "mixed")[0]["visit_occurrence"].to_arrow()


def test_nobody_looks_into_files_that_the_standard_does_not_have(whole: Rows, tmp_path: Path) -> None:
    data = written(tmp_path / "cdm", whole)
    (data / "results.parquet").write_bytes(b"broken")
    found, said = heard(data)
    assert found.form == "omop 5.4" and "the standard does not have it: results" in said


def test_names_in_capitals_and_three_schemas_of_postgresql(postgres_url: str, whole: Rows) -> None:
    import ibis

    connection = ibis.connect(postgres_url)
    schemas = ("Sfumato_Cdm", "Sfumato_Vocabulary", "Sfumato_Results")
    try:
        for schema in schemas:
            connection.raw_sql(f'CREATE SCHEMA "{schema}"').close()
        for name, rows in {**whole, **DEFINED}.items():
            place = schemas[1] if name == "concept" else schemas[2] if "cohort" in name else schemas[0]
            columns = [column.title() for column in rows.column_names]
            connection.create_table(name.title(), rows.rename_columns(columns), database=place)
        path = quote("-csearch_path=" + ",".join(f'"{schema}"' for schema in schemas))
        found, _ = heard(f"{postgres_url}?options={path}")
        assert found.form == "omop 5.4" and found.root == "Person" and len(found.tables) == len(whole) + 2
        out = sf.pseudonymize(found, shift_dates=100).data
        assert out["Cohort"].rows() == 3 and "Cohort_Definition_Id" in out["Cohort"].columns
    finally:
        for schema in schemas:
            connection.raw_sql(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE').close()


def test_tables_of_a_cdm_without_its_persons_are_said(whole: Rows) -> None:
    rows = {n: whole[n] for n in ("visit_occurrence", "condition_occurrence", "drug_exposure")}
    with pytest.warns(SfumatoWarning, match="needs a table 'person': they are read as any other tables"):
        assert sf.scan_database(rows, check=False).form == ""


def test_a_table_that_another_schema_hides_is_said(postgres_url: str) -> None:
    import ibis

    connection = ibis.connect(postgres_url)
    schemas = ("sfumato_first", "sfumato_second")
    try:
        for schema in schemas:
            connection.create_database(schema)
            connection.create_table("stays", pa.table({"stay": [1, 2]}), database=schema)
        _, said = heard(f"{postgres_url}?options=-csearch_path%3D{','.join(schemas)}", check=False)
        assert "has a table of that name: sfumato_second.stays" in said
    finally:
        for schema in schemas:
            connection.raw_sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE").close()
