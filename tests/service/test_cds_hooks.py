"""CDS Hooks and FHIR at the door: discovery, cards, a RiskAssessment; nothing malformed is a fault."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bedside import MAPPING, PATIENT, bundle, copied, everything, hook, measured
from serving import CANARY, CANARY_BEGINS, Inside

from sfumato.errors import DataError
from sfumato.io.fhir import faults_of
from sfumato.service.worker import Service

pytest.importorskip("fhir.resources", reason="the extra fhir is not installed")
HOOK, FHIR = "/cds-services/diabetes", "/v1/models/diabetes/fhir"

# The request that the standard's page on patient-view shows (2.0), with its names and shape.
PUBLISHED: dict[str, Any] = {
    "hookInstance": "d1577c69-dfbe-44ad-ba6d-3e05e953b2ea",
    "fhirServer": "http://hooks.smarthealthit.org:9080",
    "hook": "patient-view",
    "fhirAuthorization": {
        "access_token": "some-opaque-fhir-access-token", "token_type": "Bearer", "expires_in": 300,
        "scope": "user/Patient.read user/Observation.read", "subject": "cds-service4",
    },
    "context": {"userId": "Practitioner/example", "patientId": "1288992", "encounterId": "89284"},
    "prefetch": {
        "patientToGreet": {
            "resourceType": "Patient", "gender": "male", "birthDate": "1925-12-23", "id": "1288992",
            "active": True,
        }
    },
}  # fmt: skip


@pytest.fixture
def ward(serve: Callable, tmp_path: Path) -> tuple[Inside, Service]:
    (tmp_path / "fhir.toml").write_text(MAPPING)
    found: tuple[Inside, Service] = serve(fhir=str(tmp_path / "fhir.toml"))
    return found


def row_of_everything() -> dict[str, Any]:
    born = datetime(1981, 5, 1)
    today = datetime.now(UTC)
    age = today.year - born.year - ((today.month, today.day) < (5, 1))
    return {
        "age": age, "sex": "female", "glucose": 129.71232, "bmi": 25, "systolic_bp": 128, "diastolic_bp": 82,
        "pregnancies": 2, "activity": "low", "family_history": True, "blood_pressure_drugs": False,
    }  # fmt: skip


def test_what_is_discovered(ward: tuple[Inside, Service]) -> None:
    ask, service = ward
    (found,) = ask("GET", "/cds-services", key="").json["services"]
    assert (found["hook"], found["id"], found["title"]) == ("patient-view", "diabetes", "Risk of diabetes")
    assert found["prefetch"]["patient"] == "Patient/{{context.patientId}}"
    assert "http://loinc.org|15074-8" in found["prefetch"]["observations"]
    assert "160303001" in found["prefetch"]["conditions"]
    _, other = service.installation.create_key("lab", ("score:septic-shock",))
    assert ask("GET", "/cds-services", key=other).json == {"services": []}
    assert ask("GET", "/cds-services", key="sfm_wrong").status == 401


def test_a_card_has_the_score_that_our_own_route_gives(ward: tuple[Inside, Service]) -> None:
    ask, _ = ward
    score = ask("POST", "/v1/models/diabetes/score", row_of_everything()).json["risk_score"]
    answer = ask("POST", HOOK, hook(everything()))
    (card,) = answer.json["cards"]
    assert card["summary"] == f"Risk of diabetes: {score:.1%}" and len(card["summary"]) < 140
    assert card["indicator"] == "info" and card["source"]["label"].startswith("diabetes, version ")
    detail = card["detail"]
    assert "converted: mmol/L to mg/dL, molar mass 180.156 g/mol" in detail and "log-odds" in detail
    assert "epsilon = 1" in detail and "missing" not in detail
    assert not re.search(r"(?<!\d)(129\.7|7\.2)(?![\d%])", detail)  # no value of the patient: 57.2% is none
    resource = card["suggestions"][0]["actions"][0]["resource"]
    assert faults_of(resource) == [] and resource["subject"] == {"reference": "Patient/p1"}
    assert resource["prediction"][0]["probabilityDecimal"] == pytest.approx(100 * score)


def test_what_is_missing_is_said_in_place_of_a_score(ward: tuple[Inside, Service]) -> None:
    ask, _ = ward
    without = [r for r in everything() if r.get("id") != "o-85354-9"]
    (card,) = ask("POST", HOOK, hook(without)).json["cards"]
    assert card["summary"] == "Risk of diabetes: no score, data are missing" and "suggestions" not in card
    assert "systolic_bp: missing: no usable Observation with 8480-6" in card["detail"]
    strange = [
        *everything()[:2],
        *everything()[3:],
        measured("39156-5", 25, "kg/m2", subject={"reference": "Patient/x"}),
    ]
    (card,) = ask("POST", HOOK, hook(strange)).json["cards"]
    assert "left out: 1 x Observation: of another patient" in card["detail"]
    wild = [*everything()[:2], *everything()[3:], measured("39156-5", CANARY, "kg/m2")]
    (card,) = ask("POST", HOOK, hook(wild)).json["cards"]
    assert "taken at the edge of the public range: bmi" in card["detail"]
    assert not re.search(CANARY_BEGINS, json.dumps(card))


def test_the_published_example_is_answered(ward: tuple[Inside, Service]) -> None:
    ask, _ = ward
    answer = ask("POST", HOOK, PUBLISHED)
    assert answer.status == 200
    (card,) = answer.json["cards"]
    assert "glucose: missing" in card["detail"] and "conditions were not looked for" in card["detail"]


def test_no_server_is_asked_for_what_is_not_sent(ward: tuple[Inside, Service]) -> None:
    ask, _ = ward
    for prefetch in ({}, None):
        assert ask("POST", HOOK, hook([], prefetch=prefetch)).code == "no_prefetch"
    assert ask("POST", HOOK, hook([], prefetch=None)).status == 412


def test_a_key_is_needed_and_only_mapped_models_answer(ward: tuple[Inside, Service]) -> None:
    ask, service = ward
    assert ask("POST", HOOK, hook(everything()), key="").status == 401
    _, other = service.installation.create_key("lab", ("score:septic-shock",))
    assert ask("POST", HOOK, hook(everything()), key=other).code == "unknown_model"
    assert ask("POST", "/cds-services/septic-shock", hook(everything())).code == "unknown_model"
    assert ask("POST", "/cds-services/nothing", hook(everything())).code == "unknown_model"


def test_a_bundle_becomes_a_risk_assessment(ward: tuple[Inside, Service]) -> None:
    ask, _ = ward
    kind = {"content-type": "application/fhir+json"}
    answer = ask("POST", FHIR, bundle(everything()), headers=kind)
    assert answer.status == 200 and answer.headers["content-type"] == "application/fhir+json"
    assert faults_of(answer.json) == [] and answer.json["resourceType"] == "RiskAssessment"
    assert ask("POST", FHIR, bundle(everything())).status == 200
    refused = ask("POST", FHIR, bundle([PATIENT]))
    assert refused.code == "invalid" and {f["field"] for f in refused.json["error"]["faults"]} >= {
        "bmi",
        "glucose",
    }
    assert ask("POST", FHIR, bundle([])).code == "invalid"
    assert ask("POST", FHIR, bundle([PATIENT, PATIENT | {"id": "p2"}])).code == "invalid"


def test_a_mapping_that_does_not_fit_is_refused_at_the_start(serve: Callable, tmp_path: Path) -> None:
    for text, part in (
        (MAPPING.replace("bmi =", "body_mass ="), "body_mass"),
        (MAPPING.replace("model.diabetes", "model.nothing"), "not served"),
    ):
        (tmp_path / "fhir.toml").write_text(text)
        with pytest.raises(DataError, match=part):
            serve(fhir=str(tmp_path / "fhir.toml"))


def changed(rng: np.random.Generator, content: Any) -> Any:
    """The same with a part taken away, doubled or replaced."""
    strange: list[Any] = [
        None, True, 0, -1, 1e308, 10**400, CANARY, "", "x" * 3000, [], [[]], {}, {"resourceType": "Bundle"},
        {"resourceType": "Observation"}, "\ud800", "\x00", "Patient/p1", "2026-02-30", ["a"],
        {"coding": [None]},
    ]  # fmt: skip
    content = copied(content)
    for _ in range(int(rng.integers(1, 4))):
        place = content
        for _ in range(int(rng.integers(1, 9))):
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = keys[int(rng.integers(len(keys)))]
            if isinstance(place[key], dict | list) and rng.random() < 0.8:
                place = place[key]
                continue
            if rng.random() < 0.3:
                del place[key]
            else:
                place[key] = copied(strange[int(rng.integers(len(strange)))])
            break
    return content


@pytest.mark.parametrize("path", [HOOK, FHIR])
def test_nothing_malformed_is_a_fault(
    ward: tuple[Inside, Service], path: str, caplog: pytest.LogCaptureFixture
) -> None:
    ask, _ = ward
    good = hook(everything()) if path == HOOK else bundle(everything())
    seen = set()
    for seed in range(10_000 if os.environ.get("SFUMATO_SOAK") else 500):
        rng = np.random.default_rng(seed)
        body = json.dumps(changed(rng, good)).encode()
        if rng.random() < 0.1:
            cut = int(rng.integers(len(body)))
            body = body[:cut] + bytes(rng.integers(0, 256, 3, dtype=np.uint8)) + body[cut + 2 :]
        answer = ask("POST", path, body)
        seen.add(answer.status)
        assert answer.status < 500, (seed, answer.body)
        assert b"7319.25" not in answer.body, seed
    assert {200, 422} <= seen
    assert "7319.25" not in caplog.text
