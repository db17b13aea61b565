"""The simulated persons of the CDM as FHIR resources: the same visits, conditions, drugs and tests."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.samples._common import dates_column
from sfumato.samples._omop import omop_rows

_OWN = "urn:oid:2.16.840.1.113883.19.5"  # an identifier for examples
_HL7 = "http://terminology.hl7.org/CodeSystem/"
_INPATIENT, _FEMALE = 9201, 8532


def fhir_rows(n: int, seed: int) -> dict[str, pa.Table]:
    """By type of resource, the rows of the first n patients."""
    cdm = omop_rows(n, seed)
    stays = cdm["visit_occurrence"].filter(pc.equal(cdm["visit_occurrence"]["visit_concept_id"], _INPATIENT))
    conditions, tests = cdm["condition_occurrence"], cdm["measurement"]
    drugs = cdm["drug_exposure"]
    done = stays.filter(pc.equal(pc.bit_wise_and(stays["visit_occurrence_id"], 1), 0))
    number = pc.bit_wise_and(done["visit_occurrence_id"], 15)
    return {
        "Patient": _patients(cdm["person"], cdm["death"]),
        "Encounter": _encounters(cdm["visit_occurrence"]),
        "Condition": _of(conditions, "c", "condition_occurrence_id", {
            "clinical_status_system": _same(conditions, f"{_HL7}condition-clinical"),
            "clinical_status": _same(conditions, "active"),
            **_codes("code", conditions["condition_concept_id"]), "onset": conditions["condition_start_date"],
        }),
        "Observation": _of(tests, "o", "measurement_id", {
            "status": _same(tests, "final"), **_codes("code", tests["measurement_concept_id"]),
            "effective": tests["measurement_date"], "value": tests["value_as_number"],
            "unit": _same(tests, "1"), "unit_system": _same(tests, "http://unitsofmeasure.org"),
            "unit_code": _same(tests, "1"),
        }),
        "Procedure": _of(done, "r", "visit_occurrence_id", {
            "status": _same(done, "completed"), **_codes("code", number),
            "performed": done["visit_start_date"],
        }),
        "MedicationRequest": _of(drugs, "m", "drug_exposure_id", {
            "status": _same(drugs, "completed"), "intent": _same(drugs, "order"),
            **_codes("medication", drugs["drug_concept_id"]), "authored": drugs["drug_exposure_start_date"],
        }),
    }  # fmt: skip


def _text(letter: str, numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(letter, numbers.cast(pa.string()), "-")


def _same(rows: pa.Table, text: str) -> pa.Array:
    return pa.repeat(pa.scalar(text), rows.num_rows)


def _codes(column: str, numbers: pa.ChunkedArray) -> dict[str, pa.Array]:
    return {f"{column}_system": pa.repeat(pa.scalar(_OWN), len(numbers)), column: numbers.cast(pa.string())}


def _patients(people: pa.Table, deaths: pa.Table) -> pa.Table:
    """Born on a day of their year that hangs on their number."""
    year = people["year_of_birth"].to_numpy()
    first = (year - 1970).astype("datetime64[Y]").astype("datetime64[D]").astype(np.int64)
    born = first + people["person_id"].to_numpy() * 37 % 365
    died = pc.index_in(people["person_id"], value_set=deaths["person_id"].combine_chunks())
    women = pc.equal(people["gender_concept_id"], _FEMALE)
    return _whole("Patient", {
        "id": _text("p", people["person_id"]), "gender": pc.if_else(women, "female", "male"),
        "birth_date": dates_column(born), "death_date": deaths["death_date"].take(died),
    })  # fmt: skip


def _encounters(visits: pa.Table) -> pa.Table:
    stay = pc.equal(visits["visit_concept_id"], _INPATIENT)
    return _whole("Encounter", {
        "id": _text("e", visits["visit_occurrence_id"]), "patient": _text("p", visits["person_id"]),
        "status": _same(visits, "finished"), "class_system": _same(visits, f"{_HL7}v3-ActCode"),
        "class": pc.if_else(stay, "IMP", "AMB"), "start": visits["visit_start_date"],
        "end": visits["visit_end_date"],
    })  # fmt: skip


def _of(rows: pa.Table, letter: str, key: str, columns: dict[str, pa.Array]) -> pa.Table:
    kinds = {"c": "Condition", "o": "Observation", "r": "Procedure", "m": "MedicationRequest"}
    own = {
        "id": _text(letter, rows[key]), "patient": _text("p", rows["person_id"]),
        "encounter": _text("e", rows["visit_occurrence_id"]),
    }  # fmt: skip
    return _whole(kinds[letter], {**own, **columns})


def _whole(kind: str, columns: dict[str, pa.Array]) -> pa.Table:
    """All columns that the type of resource has, empty where nothing is simulated."""
    from sfumato.io.fhir.paths import PATHS

    types = {"text": pa.string(), "date": pa.date32(), "real": pa.float64(), "boolean": pa.bool_()}
    size = len(columns["id"])
    return pa.table({
        p.column: columns[p.column] if p.column in columns else pa.nulls(size, types[p.type])
        for p in PATHS[kind]
    })  # fmt: skip
