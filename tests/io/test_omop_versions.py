"""Of which version a CDM is: what it states counts; else what only other versions have is refused by name."""

from __future__ import annotations

import warnings
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import SchemaError, SfumatoWarning
from sfumato.io.omop import fields_of
from sfumato.io.omop.versions import _NEW_FIELDS, _NEW_TABLES, _OF_6, _OF_OLDER, _TABLES_OF_6

Rows = dict[str, pa.Table]
PERIOD = {"observation_period_start_datetime": datetime(2020, 1, 1)}
PROCEDURE = pa.table({
    "procedure_occurrence_id": [1], "person_id": [1], "procedure_concept_id": [0],
    "procedure_date": [date(2020, 1, 1)], "procedure_type_concept_id": [0], "qualifier_source_value": ["Ann"],
})  # fmt: skip


@pytest.fixture(scope="module")
def bare() -> Rows:
    """A CDM that states no version, without what only 5.4 has."""
    rows = {n: t.to_arrow() for n, t in sf.samples.omop(12).tables.items() if n != "cdm_source"}
    gone = ["measurement_event_id", "meas_event_field_concept_id"]
    return {**rows, "measurement": rows["measurement"].drop_columns(gone)}


def with_column(rows: Rows, name: str, column: str, value: Any) -> Rows:
    return {**rows, name: rows[name].append_column(column, pa.array([value] * rows[name].num_rows))}


def heard(rows: Rows) -> tuple[sf.Database, str]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = sf.scan_database(rows)
    return found, " | ".join(str(w.message) for w in said if issubclass(w.category, SfumatoWarning))


def test_what_tells_a_version_is_in_no_version_that_is_read() -> None:
    for version in ("5.3", "5.4"):
        every = fields_of(version)
        for table, fields in {**_OF_OLDER, **_OF_6}.items():
            assert table in every if fields else table not in every
            assert not {*_OF_OLDER.get(table, ()), *_OF_6.get(table, ())} & set(every.get(table, ()))
        assert not set(_TABLES_OF_6) & set(every)
    newer = {f for t in fields_of("5.4").values() for f in t} | {
        f for t in fields_of("5.3").values() for f in t
    }
    assert set(_NEW_FIELDS) <= newer and set(_NEW_TABLES) <= set(fields_of("5.4"))


def test_an_older_cdm_is_refused_by_what_only_it_has(bare: Rows) -> None:
    procedures = {**bare, "procedure_occurrence": PROCEDURE}
    with pytest.raises(SchemaError) as refused:
        sf.scan_database({**procedures, "drug_cost": pa.table({"drug_cost_id": [1]})})
    for words in ("version 5.2 or older", "procedure_occurrence.qualifier_source_value", "drug_cost"):
        assert words in refused.value.message
    assert "cdm_source.cdm_version says so" in refused.value.hint and "Ann" not in str(refused.value)
    with pytest.raises(SchemaError, match=r"5\.2 or older .*observation_period_start_datetime"):
        sf.scan_database(with_column(bare, "observation_period", *PERIOD.copy().popitem()))


@pytest.mark.parametrize("newer", ["a column of 5.3", "a statement"])
def test_a_newer_cdm_with_a_column_of_an_older_one_is_read_and_the_column_named(
    newer: str, bare: Rows
) -> None:
    rows = {**bare, "procedure_occurrence": PROCEDURE}
    if newer == "a statement":
        rows["cdm_source"] = pa.table({"cdm_source_name": ["x"], "CDM_VERSION": ["v5.3.1"]})
    else:
        rows = with_column(rows, "condition_occurrence", "visit_detail_id", None)
    found, said = heard(rows)
    assert found.form == ("omop 5.3" if newer == "a statement" else "omop 5.4")
    assert "the standard does not have it: procedure_occurrence.qualifier_source_value" in said


def test_version_6_is_told_by_its_columns_where_no_table_holds_deaths(bare: Rows) -> None:
    rows = with_column(bare, "visit_occurrence", "x", 1)
    odd = with_column(bare, "condition_occurrence", "y", 1)["condition_occurrence"]
    era = pa.table({"drug_era_id": [1], "person_id": [1], "drug_concept_id": [0],
                    "drug_era_start_datetime": [datetime(2020, 1, 1)]})  # fmt: skip
    rows = {**rows, "condition_occurrence": odd, "drug_era": era}
    found, said = heard(rows)
    assert found.form.startswith("omop") and "drug_era.drug_era_start_datetime" in said
    del rows["death"]
    with pytest.raises(SchemaError, match=r"version 6\.0 \(only that has drug_era\.drug_era_start_datetime"):
        sf.scan_database(rows)


def test_what_5_5_adds_is_named_and_a_statement_of_it_is_refused(bare: Rows) -> None:
    rows = with_column(bare, "measurement", "value_as_source_concept_id", 0)
    rows["pack_content"] = pa.table({"pack_concept_id": [1], "drug_concept_id": [1]})
    found, said = heard(rows)
    assert found.form == "omop 5.4"
    assert "does not have it: measurement.value_as_source_concept_id, pack_content" in said
    stated = pa.table({"cdm_source_name": ["x"], "cdm_version": ["5.5.0"]})
    with pytest.raises(SchemaError, match=r"version 5\.5 \(cdm_source states it\)"):
        sf.scan_database({**rows, "cdm_source": stated})


def test_persons_without_a_year_of_birth_are_no_other_version(bare: Rows) -> None:
    found, said = heard({**bare, "person": bare["person"].drop_columns(["year_of_birth"])})
    assert found.form == "omop 5.4" and "requires: person.year_of_birth" in said
