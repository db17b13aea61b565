"""A patient as an EHR sends one: simulated FHIR resources, and the mapping of the diabetes model."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

MAPPING = """
[model.diabetes]
title = "Risk of diabetes"
outcome = { system = "http://snomed.info/sct", code = "44054006", display = "Type 2 diabetes" }

[model.diabetes.features]
age.patient = "age"
sex = { patient = "gender", levels = { female = "female", male = "male" } }
glucose = { loinc = ["2339-0", "15074-8"], unit = "mg/dL", molar_mass = 180.156, max_age_days = 400 }
bmi = { loinc = "39156-5", unit = "kg/m2" }
systolic_bp = { loinc = "8480-6", unit = "mm[Hg]" }
diastolic_bp = { loinc = "8462-4", unit = "mm[Hg]" }
pregnancies = { loinc = "11996-6" }
activity = { loinc = "77592-4", levels = { "LA1" = "low", "LA2" = "moderate", "LA3" = "high" } }

[model.diabetes.features.family_history]
condition = [{ system = "http://snomed.info/sct", code = "160303001" }]
absent = false

[model.diabetes.features.blood_pressure_drugs]
loinc = "99999-1"
"""
PATIENT = {"resourceType": "Patient", "id": "p1", "gender": "female", "birthDate": "1981-05-01"}
PANEL = "85354-9"


def quantity(value: float, unit: str, **more: Any) -> dict[str, Any]:
    return {"value": value, "unit": unit, "system": "http://unitsofmeasure.org", "code": unit, **more}


def loinc(code: str) -> dict[str, Any]:
    return {"coding": [{"system": "http://loinc.org", "code": code}]}


def observation(code: str, days: float = 1, now: datetime | None = None, **more: Any) -> dict[str, Any]:
    when = (now or datetime.now(UTC)) - timedelta(days=days)
    return {
        "resourceType": "Observation", "id": f"o-{code}", "status": "final", "code": loinc(code),
        "subject": {"reference": "Patient/p1"}, "effectiveDateTime": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
        **more,
    }  # fmt: skip


def measured(code: str, value: float, unit: str, days: float = 1, **more: Any) -> dict[str, Any]:
    return observation(code, days, **({"valueQuantity": quantity(value, unit)} | more))


def everything(now: datetime | None = None) -> list[dict[str, Any]]:
    """All that the mapping wants, a day before: glucose in mmol/L, blood pressure as components."""
    pressure = [
        {"code": loinc("8480-6"), "valueQuantity": quantity(128, "mm[Hg]")},
        {"code": loinc("8462-4"), "valueQuantity": quantity(82, "mm[Hg]")},
    ]
    return [
        PATIENT,
        measured("15074-8", 7.2, "mmol/L", now=now),
        measured("39156-5", 25, "kg/m2", now=now),
        observation(PANEL, now=now, component=pressure),
        observation("11996-6", now=now, valueInteger=2),
        observation("77592-4", now=now, valueCodeableConcept=loinc("LA1")),
        observation("99999-1", now=now, valueBoolean=False),
        {
            "resourceType": "Condition", "id": "c1", "subject": {"reference": "Patient/p1"},
            "code": {"coding": [{"system": "http://snomed.info/sct", "code": "160303001"}]},
            "clinicalStatus": {"coding": [
                {"system": "http://terminology.hl7.org/CodeSystem/condition-clinical", "code": "active"}
            ]},
        },
    ]  # fmt: skip


def bundle(resources: list[dict[str, Any]]) -> dict[str, Any]:
    return {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": r} for r in resources]}


def hook(resources: list[dict[str, Any]], **changed: Any) -> dict[str, Any]:
    """A patient-view request whose prefetch has these."""
    kinds = {"observations": "Observation", "conditions": "Condition"}
    prefetch: dict[str, Any] = {
        key: {"resourceType": "Bundle", "type": "searchset",
              "entry": [{"resource": r} for r in resources if r["resourceType"] == kind]}
        for key, kind in kinds.items()
    }  # fmt: skip
    prefetch["patient"] = next((r for r in resources if r["resourceType"] == "Patient"), None)
    return {
        "hook": "patient-view", "hookInstance": "d1577c69-dfbe-44ad-ba6d-3e05e953b2ea",
        "fhirServer": "https://ehr.example/fhir", "context": {"userId": "Practitioner/1", "patientId": "p1"},
        "prefetch": prefetch, **changed,
    }  # fmt: skip


def copied(content: Any) -> Any:
    return json.loads(json.dumps(content))
