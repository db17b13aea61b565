"""A score as a FHIR RiskAssessment (R4): whose, when, by what, on what it rests, and how likely.

FHIR gives probabilities in percent: a score of 0.31 is a probabilityDecimal of 31.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sfumato.io.fhir.features import PatientFeatures
from sfumato.io.fhir.mapping import Mapping


def percent(probability: float) -> float:
    """A probability as FHIR writes it, with the digits it has and no more."""
    return float(Decimal(repr(probability)) * 100)


def risk_assessment(
    mapping: Mapping,
    reading: PatientFeatures,
    probability: float | None,
    *,
    method: str,
    interval: tuple[float, float] | None = None,
    notes: Sequence[str] = (),
    now: datetime | None = None,
) -> dict[str, Any]:
    """The resource. method: the model and its version. notes: what it promises, what was clamped.

    probability: None where the score abstains; its interval is then all that is said.
    """
    moment = (now or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")
    outcome: dict[str, Any] = {"text": mapping.outcome.get("display") or mapping.title or mapping.model}
    if mapping.outcome.get("code"):
        outcome["coding"] = [dict(mapping.outcome)]
    basis = dict.fromkeys(f.reference for f in reading.found if "/" in f.reference)
    missing = [f"{feature}: {why}" for feature, why in reading.missing]
    converted = [f"{f.feature}: {f.conversion}" for f in reading.found if f.conversion]
    texts = [
        *notes,
        *([f"Converted: {'; '.join(converted)}."] if converted else []),
        *([f"Missing: {'; '.join(missing)}."] if missing else []),
    ]
    return {
        "resourceType": "RiskAssessment",
        "status": "final",
        "subject": {"reference": reading.patient},
        "occurrenceDateTime": moment,
        "method": {"text": method},
        "basis": [{"reference": reference} for reference in basis],
        "prediction": [{"outcome": outcome, **_likely(probability, interval)}],
        **({"note": [{"text": text} for text in texts]} if texts else {}),
    }


def _likely(probability: float | None, interval: tuple[float, float] | None) -> dict[str, Any]:
    """The element takes one of both: a number or, without one, a range."""
    if probability is not None:
        return {"probabilityDecimal": percent(probability)}
    if interval is None:
        return {}
    low, high = ({"value": percent(v), "unit": "%"} for v in interval)
    return {"probabilityRange": {"low": low, "high": high}}
