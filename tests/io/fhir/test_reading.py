"""One patient's features among resources: what counts, what does not, and that each is said."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from bedside import MAPPING, PATIENT, bundle, copied, everything, measured, observation, quantity

from sfumato.errors import DataError, ParameterError
from sfumato.io.fhir import (
    Mapping,
    PatientFeatures,
    faults_of,
    read_features,
    read_mappings,
    resources_of,
    risk_assessment,
)

pytest.importorskip("fhir.resources", reason="the extra fhir is not installed")


@pytest.fixture
def mapping(tmp_path: Path) -> Mapping:
    file = tmp_path / "fhir.toml"
    file.write_text(MAPPING)
    return read_mappings(file)["diabetes"]


def read(mapping: Mapping, resources: list[dict[str, Any]], **more: Any) -> PatientFeatures:
    return read_features(mapping, resources_of(bundle(resources)), **more)


def test_every_feature_is_found_and_its_origin_told(mapping: Mapping) -> None:
    now = datetime(2026, 11, 17, tzinfo=UTC)  # the day on which this patient is 45
    reading = read(mapping, everything(now), check=faults_of, now=now)
    assert reading.missing == () and reading.skipped == {} and reading.patient == "Patient/p1"
    assert reading.row == {
        "age": 45, "sex": "female", "glucose": pytest.approx(129.71232), "bmi": 25.0, "systolic_bp": 128.0,
        "diastolic_bp": 82.0, "pregnancies": 2.0, "activity": "low", "family_history": True,
        "blood_pressure_drugs": False,
    }  # fmt: skip
    glucose = next(f for f in reading.found if f.feature == "glucose")
    assert glucose.reference == "Observation/o-15074-8" and glucose.code == "15074-8"
    assert glucose.conversion == "mmol/L to mg/dL, molar mass 180.156 g/mol"
    assert next(f for f in reading.found if f.feature == "systolic_bp").reference == "Observation/o-85354-9"


def bmi(mapping: Mapping, *resources: dict[str, Any], **more: Any) -> tuple[Any, str, dict[str, int]]:
    reading = read(mapping, [PATIENT, *resources], **more)
    return reading.row.get("bmi"), dict(reading.missing).get("bmi", ""), reading.skipped


def test_the_latest_counts_and_a_tie_is_not_guessed(mapping: Mapping) -> None:
    old, new = measured("39156-5", 20, "kg/m2", 30), measured("39156-5", 30, "kg/m2", 2)
    assert bmi(mapping, old, new)[0] == bmi(mapping, new, old)[0] == 30
    tie = new | {"valueQuantity": quantity(31, "kg/m2")}
    assert bmi(mapping, new, tie)[:2] == (None, "two different values of the same moment")
    assert bmi(mapping, new, copied(new))[0] == 30
    bound = measured("39156-5", 99, "kg/m2", 1, valueQuantity=quantity(99, "kg/m2", comparator=">"))
    assert bmi(mapping, new, bound)[0] == 30  # a bound is no value
    assert "only a bound is known" in bmi(mapping, bound)[1]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"subject": {"reference": "Patient/p2"}}, "Observation: of another patient"),
        ({"subject": {"reference": "Group/p1"}}, "Observation: of another patient"),
        ({"subject": None}, "Observation: does not say whose it is"),
        ({"status": "entered-in-error"}, "Observation: not final"),
        ({"status": "preliminary"}, "Observation: not final"),
        ({"effectiveDateTime": "2999-01-01"}, "Observation: of the future"),
        ({"valueQuantity": {"value": "25", "code": 5}}, "Observation: not valid"),
        ({"surprise": 1}, "Observation: not valid"),
    ],
)
def test_what_does_not_count_is_said(mapping: Mapping, changed: dict[str, Any], why: str) -> None:
    value, missing, skipped = bmi(mapping, measured("39156-5", 25, "kg/m2") | changed, check=faults_of)
    assert value is None and missing and skipped == {why: 1}
    assert "25" not in json.dumps([missing, skipped])


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"value": 25, "unit": "kg/m2"}, "no UCUM unit"),
        ({"value": 25, "system": "http://unitsofmeasure.org", "code": "mmHg"}, "does not convert"),
        ({"value": 25, "system": "http://unitsofmeasure.org", "code": "mm[Hg]"}, "does not convert"),
        ({"value": True, "system": "http://unitsofmeasure.org", "code": "kg/m2"}, "no number"),
        ({"value": 1e999, "system": "http://unitsofmeasure.org", "code": "kg/m2"}, "no number"),
        ({"value": 10**400, "system": "http://unitsofmeasure.org", "code": "kg/m2"}, "no number"),
        (None, "no quantity"),
    ],
)  # fmt: skip
def test_values_that_cannot_be_taken(mapping: Mapping, value: Any, why: str) -> None:
    assert why in bmi(mapping, observation("39156-5", valueQuantity=value))[1]


def test_too_old_and_undated(mapping: Mapping) -> None:
    def glucose(**more: Any) -> str:
        reading = read(mapping, [PATIENT, measured("2339-0", 100, "mg/dL", **more)])
        return dict(reading.missing).get("glucose", "")

    assert glucose() == "" and "too long ago" in glucose(days=500)
    assert "too long ago" in glucose(effectiveDateTime=None)
    for text in ("2026", "2026-13", "2026-02-30", "yesterday", 5):
        assert bmi(mapping, measured("39156-5", 25, "kg/m2", effectiveDateTime=text))[0] == 25


def test_references_of_every_form(mapping: Mapping) -> None:
    for reference in (
        "Patient/p1", "https://ehr.example/fhir/Patient/p1", "Patient/p1/_history/3", "urn:uuid:a",
    ):  # fmt: skip
        entries = bundle([PATIENT, measured("39156-5", 25, "kg/m2", subject={"reference": reference})])
        entries["entry"][0]["fullUrl"] = "urn:uuid:a"
        assert read_features(mapping, resources_of(entries)).row["bmi"] == 25, reference


def test_conditions(mapping: Mapping) -> None:
    with_it = everything()
    condition = with_it[-1]

    def history(resources: list[dict[str, Any]], **more: Any) -> Any:
        reading = read(mapping, resources, **more)
        return reading.row.get("family_history", dict(reading.missing).get("family_history"))

    assert history(with_it) is True
    assert history(with_it[:-1]) is False
    assert history(with_it[:-1], conditions_known=False) == "conditions were not looked for"
    resolved = condition | {"clinicalStatus": {"coding": [{"code": "resolved"}]}}
    assert history([*with_it[:-1], resolved]) is False
    refuted = condition | {"verificationStatus": {"coding": [{"code": "refuted"}]}}
    reading = read(mapping, [*with_it[:-1], refuted])
    assert reading.row["family_history"] is False and reading.skipped == {"Condition: not confirmed": 1}


@pytest.mark.parametrize("born", ["1981", "1981-05", "2999-01-01", "1981-02-30", 5, None])
def test_an_age_is_not_guessed(mapping: Mapping, born: Any) -> None:
    assert "age" in dict(read(mapping, [PATIENT | {"birthDate": born}]).missing)


def test_a_birthday_is_a_year(mapping: Mapping) -> None:
    for day, years in ((30, 44), (1, 45)):
        now = datetime(2026, 4 if day == 30 else 5, day, tzinfo=UTC)
        assert read(mapping, [PATIENT], now=now).row["age"] == years


def test_one_patient_at_a_time(mapping: Mapping) -> None:
    other = PATIENT | {"id": "p2"}
    with pytest.raises(DataError, match="several"):
        read(mapping, [PATIENT, other])
    with pytest.raises(DataError, match="no Patient"):
        read(mapping, [])
    assert read(mapping, [PATIENT, other], patient="p2").patient == "Patient/p2"
    for content in (None, 5, [5], {}, {"resourceType": 5}, {"resourceType": "Bundle", "entry": 5}):
        with pytest.raises(DataError):
            resources_of(content)


def test_the_assessment_is_a_valid_resource(mapping: Mapping) -> None:
    reading = read(mapping, everything())
    made = risk_assessment(mapping, reading, 0.31, method="diabetes, version 1", notes=["A promise."])
    assert faults_of(made) == []
    assert made["prediction"][0]["probabilityDecimal"] == 31.0  # FHIR counts in percent
    assert made["subject"] == {"reference": "Patient/p1"}
    assert {"reference": "Observation/o-15074-8"} in made["basis"]
    assert "mmol/L to mg/dL" in json.dumps(made["note"])
    assert faults_of(made | {"surprise": 7319}) and "7319" not in json.dumps(
        faults_of(made | {"surprise": 7319})
    )
    assert faults_of({"resourceType": "Claim"}) and faults_of({})


def test_all_faults_of_a_mapping_are_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "fhir.toml"
    file.write_text(
        """
        more = 1
        [model.a]
        title = 5
        outcome = { code = 5 }
        surprise = 1
        [model.a.features]
        x = 5
        y = { loinc = "1", patient = "age" }
        z = { patient = "shoe size" }
        u = { loinc = 5, unit = "mmHg", molar_mass = -1, max_age_days = "x", levels = 5, other = 1 }
        [model.b]
        """
    )
    with pytest.raises(ParameterError) as caught:
        read_mappings(file)
    for part in (
        "unknown: more", "title", "outcome", "surprise", "a, x", "a, y", "a, z", "loinc is a code", "unit",
        "molar_mass", "max_age_days", "levels", "other", "b: there is no",
    ):  # fmt: skip
        assert part in str(caught.value), part
    file.write_text("[")
    with pytest.raises(DataError):
        read_mappings(file)
