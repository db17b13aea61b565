"""FHIR resources as what the house works with: features found by code and unit, and assessments given back.

`units` reads UCUM and converts, `mapping` says which code is which feature (an operator's TOML file),
`reading` finds the features of one patient among resources and says what it took and what is missing,
`assessment` writes a RiskAssessment; `paths` says which elements are read as which columns, `ndjson` finds
the files of a bulk export and their lines, `bulk` reads them as linked tables, `resources` writes them back;
`validation` holds resources against fhir.resources (extra `fhir`). It knows resources and names of features
and columns; it knows no model and no service.
"""

from __future__ import annotations

from sfumato.io.fhir.assessment import risk_assessment
from sfumato.io.fhir.features import FeatureSource, PatientFeatures, read_features, resources_of
from sfumato.io.fhir.mapping import Mapping, read_mappings
from sfumato.io.fhir.units import UnitError, convert
from sfumato.io.fhir.validation import faults_of

__all__ = [
    "FeatureSource",
    "Mapping",
    "PatientFeatures",
    "UnitError",
    "convert",
    "faults_of",
    "read_features",
    "read_mappings",
    "resources_of",
    "risk_assessment",
]
