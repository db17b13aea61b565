"""Whether a resource is one, by fhir.resources (extra `fhir`).

The library has R4B (4.3) and not R4 (4.0). For the types that are read and written here (Patient,
Observation, Condition, Encounter, Procedure, MedicationRequest, RiskAssessment, Bundle) R4B has the elements,
types and cardinalities of R4; it differs in other resources. Neither checks bindings to value sets,
invariants, profiles or references: a resource that passes is well-formed, not true.
"""

from __future__ import annotations

from typing import Any

from sfumato.errors import MissingExtraError

TYPES = (
    "Patient", "Observation", "Condition", "Encounter", "Procedure", "MedicationRequest", "RiskAssessment",
    "Bundle",
)  # fmt: skip
_MOST = 20


def faults_of(resource: dict[str, Any]) -> list[str]:
    """Where and how a resource is not what R4B says: paths and rules, never a value. Empty if it is fine."""
    try:
        from fhir.resources.R4B import get_fhir_model_class
    except ImportError:
        raise MissingExtraError("FHIR resources", "fhir") from None
    from pydantic import ValidationError

    kind = resource.get("resourceType")
    if kind not in TYPES:
        return ["resourceType: not among the types that are read here"]
    try:
        get_fhir_model_class(kind).model_validate(resource)
    except ValidationError as error:
        return [
            f"{'.'.join(str(part)[:40] for part in fault['loc'])}: {fault['type'][:60]}"
            for fault in error.errors(include_input=False, include_url=False, include_context=False)
        ][:_MOST] or ["not valid"]
    except (ValueError, TypeError, RecursionError, OverflowError, AttributeError, KeyError):
        return ["not valid"]  # the library's own words may quote what was sent
    return []
