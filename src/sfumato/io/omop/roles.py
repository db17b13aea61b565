"""What the fields of a CDM can do to a person, and what is left out unless somebody asks for it."""

from __future__ import annotations

from sfumato.io.omop.fields import CdmField
from sfumato.schema import Column, Kind, Role

PUBLIC = frozenset({
    "concept", "vocabulary", "domain", "concept_class", "concept_relationship", "relationship",
    "concept_synonym", "concept_ancestor", "source_to_concept_map", "drug_strength", "cdm_source", "metadata",
    "cohort_definition", "attribute_definition",
})  # fmt: skip
"""Tables about the data: copied as they are."""

PLACES = frozenset({"location", "care_site", "provider"})
"""Where and by whom people were treated: no patients, but their keys get pseudonyms."""

NOTES = frozenset({"note", "note_nlp"})
RELATIONS = "fact_relationship"

_PLAIN_TEXT = {"cost_domain_id", "state"}  # short lists of codes
_ANY_TEXT = {"cohort_definition", "metadata", "attribute_definition"}  # text that somebody wrote
_NAMES = {"provider_name", "npi", "dea", "person_source_value", "provider_source_value"}
_BIRTH = {"month_of_birth", "day_of_birth", "birth_datetime"}
_WHERE = {"latitude", "longitude"}
_DETAILS = (
    "_type_concept_id", "unit_concept_id", "field_concept_id", "operator_concept_id", "currency_concept_id",
    "status_concept_id", "route_concept_id", "modifier_concept_id", "qualifier_concept_id",
)  # fmt: skip


def left_out(field: CdmField, keep_text: bool) -> str:
    """Why a field is not read by default; empty if it is."""
    if field.table == "person" and field.name in _BIRTH:
        return "days and months of birth"  # beside moved dates they would tell by how much those moved
    if field.name in _WHERE or (field.table == "provider" and field.name == "year_of_birth"):
        return "coordinates, and births of staff"
    if keep_text or (field.table in PUBLIC and field.table not in _ANY_TEXT):
        return ""
    if field.is_source or field.name == "specimen_source_id":
        return "source values"
    free = field.type == "text" and field.name not in _PLAIN_TEXT
    if field.table in _ANY_TEXT:
        return "free text" if free and not field.required else ""
    return "free text" if free else ""


def column_of(field: CdmField, called: str, stored: str) -> Column:
    """The field as a column. called: its name in the data. stored: its type there."""
    kind, role = _meaning(field, stored)
    points = role is Role.IDENTIFIER and not field.key and field.type == "integer"
    return Column(
        called, kind, role, stored, reason=f"'{field.name}' of the OMOP CDM", confidence="sure",
        missing_codes=(0,) if points else (),  # conversions write 0 for no row
    )  # fmt: skip


def _meaning(field: CdmField, stored: str) -> tuple[Kind, Role]:
    if field.table in PUBLIC:
        return _KINDS.get(stored, Kind.NOMINAL) if not field.is_concept else Kind.NOMINAL, Role.OTHER
    if field.points_to == "person" or (field.key and field.table == "person"):
        return Kind.NOMINAL, Role.PERSON
    if field.points_to in PUBLIC:  # which definition a cohort goes by
        return Kind.NOMINAL, Role.OTHER
    if field.name in _NAMES:
        return Kind.NOMINAL, Role.IDENTIFIER
    if field.is_concept:
        return Kind.NOMINAL, _concept(field)
    if field.type == "integer" and (field.name.endswith("_id") or field.name.startswith("fact_id")):
        return Kind.NOMINAL, Role.IDENTIFIER
    if field.type in ("date", "datetime") or field.name == "year_of_birth":
        return _KINDS[field.type], Role.QUASI_IDENTIFIER
    if field.type == "text":
        if field.name not in _PLAIN_TEXT:
            return Kind.TEXT, Role.SENSITIVE
        return Kind.NOMINAL, Role.QUASI_IDENTIFIER if field.name == "state" else Role.OTHER
    return Kind.NUMERIC, Role.SENSITIVE


def _concept(field: CdmField) -> Role:
    """What is known of a person; the source's own code, finer than the standard one; what was found."""
    if field.name.endswith("_source_concept_id") or field.table == "person":
        return Role.QUASI_IDENTIFIER
    if field.table in PLACES or field.name.endswith(_DETAILS):
        return Role.OTHER
    return Role.SENSITIVE


_KINDS = {"integer": Kind.NUMERIC, "real": Kind.NUMERIC, "date": Kind.DATE, "datetime": Kind.DATE}
