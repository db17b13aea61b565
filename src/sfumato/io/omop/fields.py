"""Tables, keys and fields of the OMOP Common Data Model, versions 5.3 and 5.4, as facts.

Source: OHDSI's CommonDataModel (github.com/OHDSI/CommonDataModel), the lists of tables and fields of each
version (`inst/csv`): 37 tables and 396 fields of 5.3, 39 and 432 of 5.4. Names, types, keys and what is
required are facts; the sentences that explain them are not here.

One line begins a table, the indented ones below it list its fields in their order:

    field*        the key          field!       required
    field>table   points to the key of that table
    field:t       a type that the name does not say: i integer, f real, t text
    @5.3  @5.4    in that version only

A name that ends in `_date`, `_datetime`, `_source_value` or `_id` says its type itself; what has
`concept_id` in its name points to `concept`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

VERSIONS = ("5.4", "5.3")

_TYPES = {"i": "integer", "f": "real", "t": "text"}
_BY_NAME = (
    ("_datetime", "datetime"), ("_date", "date"), ("_source_value", "text"), ("_id", "integer"),
)  # fmt: skip
# Links that the list of fields does not declare, and that the names of the fields say.
_UNDECLARED = {
    ("note_nlp", "note_id"): "note",
    ("episode", "episode_parent_id"): "episode",
    ("cohort", "subject_id"): "person",
    ("cohort", "cohort_definition_id"): "cohort_definition",
    ("condition_era", "person_id"): "person",
    ("procedure_occurrence", "provider_id"): "provider",
    ("procedure_occurrence", "visit_occurrence_id"): "visit_occurrence",
    ("procedure_occurrence", "visit_detail_id"): "visit_detail",
}


@dataclass(frozen=True)
class CdmField:
    """One field of a table. points_to: the table whose key it holds; empty for none."""

    table: str
    name: str
    type: str
    key: bool = False
    required: bool = False
    points_to: str = ""

    @property
    def is_concept(self) -> bool:
        """Whether it holds the number of a concept."""
        return "concept_id" in self.name and self.type == "integer"

    @property
    def is_source(self) -> bool:
        """Whether it holds what the source said, in the source's own words or codes."""
        return self.name.endswith("_source_value")


@cache
def fields_of(version: str) -> dict[str, dict[str, CdmField]]:
    """All fields of all tables of a version, by names."""
    found: dict[str, dict[str, CdmField]] = {}
    table, there = "", False
    for line in _FACTS.strip().splitlines():
        if not line.startswith(" "):
            table, _, only = line.partition("@")
            there = only in ("", version)
            continue
        for word in line.split() if there else ():
            text, _, only = word.partition("@")
            if only in ("", version):
                field = _field(table, text)
                found.setdefault(table, {})[field.name] = field
    return found


def _field(table: str, text: str) -> CdmField:
    text, _, parent = text.partition(">")
    name, _, letter = text.rstrip("*!").partition(":")
    kind = _TYPES.get(letter) or next((t for end, t in _BY_NAME if name.endswith(end)), "integer")
    return CdmField(
        table, name, kind, text.endswith("*"), text.endswith(("*", "!")),
        parent or _UNDECLARED.get((table, name), ""),
    )  # fmt: skip


_FACTS = """
person
  person_id* gender_concept_id! year_of_birth:i! month_of_birth:i day_of_birth:i birth_datetime
  race_concept_id! ethnicity_concept_id! location_id>location provider_id>provider
  care_site_id>care_site person_source_value gender_source_value gender_source_concept_id
  race_source_value race_source_concept_id ethnicity_source_value ethnicity_source_concept_id
observation_period
  observation_period_id* person_id!>person observation_period_start_date!
  observation_period_end_date! period_type_concept_id!
visit_occurrence
  visit_occurrence_id* person_id!>person visit_concept_id! visit_start_date! visit_start_datetime
  visit_end_date! visit_end_datetime visit_type_concept_id! provider_id>provider
  care_site_id>care_site visit_source_value visit_source_concept_id admitting_source_concept_id@5.3
  admitting_source_value@5.3 discharge_to_concept_id@5.3 discharge_to_source_value@5.3
  admitted_from_concept_id@5.4 admitted_from_source_value@5.4 discharged_to_concept_id@5.4
  discharged_to_source_value@5.4 preceding_visit_occurrence_id>visit_occurrence
visit_detail
  visit_detail_id* person_id!>person visit_detail_concept_id! visit_detail_start_date!
  visit_detail_start_datetime visit_detail_end_date! visit_detail_end_datetime
  visit_detail_type_concept_id! provider_id>provider care_site_id>care_site
  visit_detail_source_value visit_detail_source_concept_id admitting_source_value@5.3
  admitting_source_concept_id@5.3 discharge_to_source_value@5.3 discharge_to_concept_id@5.3
  admitted_from_concept_id@5.4 admitted_from_source_value@5.4 discharged_to_source_value@5.4
  discharged_to_concept_id@5.4 preceding_visit_detail_id>visit_detail
  visit_detail_parent_id>visit_detail@5.3 parent_visit_detail_id>visit_detail@5.4
  visit_occurrence_id!>visit_occurrence
condition_occurrence
  condition_occurrence_id* person_id!>person condition_concept_id! condition_start_date!
  condition_start_datetime condition_end_date condition_end_datetime condition_type_concept_id!
  condition_status_concept_id stop_reason:t provider_id>provider
  visit_occurrence_id>visit_occurrence visit_detail_id>visit_detail condition_source_value
  condition_source_concept_id condition_status_source_value
drug_exposure
  drug_exposure_id* person_id!>person drug_concept_id! drug_exposure_start_date!
  drug_exposure_start_datetime drug_exposure_end_date! drug_exposure_end_datetime verbatim_end_date
  drug_type_concept_id! stop_reason:t refills:i quantity:f days_supply:i sig:t route_concept_id
  lot_number:t provider_id>provider visit_occurrence_id>visit_occurrence
  visit_detail_id>visit_detail drug_source_value drug_source_concept_id route_source_value
  dose_unit_source_value
procedure_occurrence
  procedure_occurrence_id* person_id!>person procedure_concept_id! procedure_date!
  procedure_datetime procedure_end_date@5.4 procedure_end_datetime@5.4 procedure_type_concept_id!
  modifier_concept_id quantity:i provider_id>provider visit_occurrence_id>visit_occurrence
  visit_detail_id>visit_detail procedure_source_value procedure_source_concept_id
  modifier_source_value
device_exposure
  device_exposure_id* person_id!>person device_concept_id! device_exposure_start_date!
  device_exposure_start_datetime device_exposure_end_date device_exposure_end_datetime
  device_type_concept_id! unique_device_id:t production_id:t@5.4 quantity:i provider_id>provider
  visit_occurrence_id>visit_occurrence visit_detail_id>visit_detail device_source_value
  device_source_concept_id unit_concept_id@5.4 unit_source_value@5.4 unit_source_concept_id@5.4
measurement
  measurement_id* person_id!>person measurement_concept_id! measurement_date! measurement_datetime
  measurement_time:t measurement_type_concept_id! operator_concept_id value_as_number:f
  value_as_concept_id unit_concept_id range_low:f range_high:f provider_id>provider
  visit_occurrence_id>visit_occurrence visit_detail_id>visit_detail measurement_source_value
  measurement_source_concept_id unit_source_value unit_source_concept_id@5.4 value_source_value
  measurement_event_id@5.4 meas_event_field_concept_id@5.4
observation
  observation_id* person_id!>person observation_concept_id! observation_date! observation_datetime
  observation_type_concept_id! value_as_number:f value_as_string:t value_as_concept_id
  qualifier_concept_id unit_concept_id provider_id>provider visit_occurrence_id>visit_occurrence
  visit_detail_id>visit_detail observation_source_value observation_source_concept_id
  unit_source_value qualifier_source_value value_source_value@5.4 observation_event_id@5.4
  obs_event_field_concept_id@5.4
death
  person_id!>person death_date! death_datetime death_type_concept_id cause_concept_id
  cause_source_value cause_source_concept_id
note
  note_id* person_id!>person note_date! note_datetime note_type_concept_id! note_class_concept_id!
  note_title:t note_text:t! encoding_concept_id! language_concept_id! provider_id>provider
  visit_occurrence_id>visit_occurrence visit_detail_id>visit_detail note_source_value
  note_event_id@5.4 note_event_field_concept_id@5.4
note_nlp
  note_nlp_id* note_id! section_concept_id snippet:t offset:t lexical_variant:t! note_nlp_concept_id
  note_nlp_source_concept_id nlp_system:t nlp_date! nlp_datetime term_exists:t term_temporal:t
  term_modifiers:t
specimen
  specimen_id* person_id!>person specimen_concept_id! specimen_type_concept_id! specimen_date!
  specimen_datetime quantity:f unit_concept_id anatomic_site_concept_id disease_status_concept_id
  specimen_source_id:t specimen_source_value unit_source_value anatomic_site_source_value
  disease_status_source_value
fact_relationship
  domain_concept_id_1! fact_id_1:i! domain_concept_id_2! fact_id_2:i! relationship_concept_id!
location
  location_id* address_1:t address_2:t city:t state:t zip:t county:t location_source_value
  country_concept_id@5.4 country_source_value@5.4 latitude:f@5.4 longitude:f@5.4
care_site
  care_site_id* care_site_name:t place_of_service_concept_id location_id>location
  care_site_source_value place_of_service_source_value
provider
  provider_id* provider_name:t npi:t dea:t specialty_concept_id care_site_id>care_site
  year_of_birth:i gender_concept_id provider_source_value specialty_source_value
  specialty_source_concept_id gender_source_value gender_source_concept_id
payer_plan_period
  payer_plan_period_id* person_id!>person payer_plan_period_start_date! payer_plan_period_end_date!
  payer_concept_id payer_source_value payer_source_concept_id plan_concept_id plan_source_value
  plan_source_concept_id sponsor_concept_id sponsor_source_value sponsor_source_concept_id
  family_source_value stop_reason_concept_id stop_reason_source_value stop_reason_source_concept_id
cost
  cost_id* cost_event_id! cost_domain_id:t!>domain cost_type_concept_id! currency_concept_id
  total_charge:f total_cost:f total_paid:f paid_by_payer:f paid_by_patient:f paid_patient_copay:f
  paid_patient_coinsurance:f paid_patient_deductible:f paid_by_primary:f paid_ingredient_cost:f
  paid_dispensing_fee:f payer_plan_period_id amount_allowed:f revenue_code_concept_id
  revenue_code_source_value drg_concept_id drg_source_value
drug_era
  drug_era_id* person_id!>person drug_concept_id! drug_era_start_date! drug_era_end_date!
  drug_exposure_count:i gap_days:i
dose_era
  dose_era_id* person_id!>person drug_concept_id! unit_concept_id! dose_value:f!
  dose_era_start_date! dose_era_end_date!
condition_era
  condition_era_id* person_id!>person condition_concept_id! condition_era_start_date!
  condition_era_end_date! condition_occurrence_count:i
episode@5.4
  episode_id* person_id!>person episode_concept_id! episode_start_date! episode_start_datetime
  episode_end_date episode_end_datetime episode_parent_id episode_number:i
  episode_object_concept_id! episode_type_concept_id! episode_source_value episode_source_concept_id
episode_event@5.4
  episode_id!>episode event_id! episode_event_field_concept_id!
metadata
  metadata_id*@5.4 metadata_concept_id! metadata_type_concept_id! name:t! value_as_string:t
  value_as_concept_id value_as_number:f@5.4 metadata_date metadata_datetime
cdm_source
  cdm_source_name:t! cdm_source_abbreviation:t@5.3 cdm_source_abbreviation:t!@5.4 cdm_holder:t@5.3
  cdm_holder:t!@5.4 source_description:t source_documentation_reference:t cdm_etl_reference:t
  source_release_date@5.3 source_release_date!@5.4 cdm_release_date@5.3 cdm_release_date!@5.4
  cdm_version:t cdm_version_concept_id!@5.4 vocabulary_version:t@5.3 vocabulary_version:t!@5.4
concept
  concept_id* concept_name:t! domain_id:t!>domain vocabulary_id:t!>vocabulary
  concept_class_id:t!>concept_class standard_concept:t concept_code:t! valid_start_date!
  valid_end_date! invalid_reason:t
vocabulary
  vocabulary_id:t* vocabulary_name:t! vocabulary_reference:t!@5.3 vocabulary_reference:t@5.4
  vocabulary_version:t vocabulary_concept_id!
domain
  domain_id:t* domain_name:t! domain_concept_id!
concept_class
  concept_class_id:t* concept_class_name:t! concept_class_concept_id!
concept_relationship
  concept_id_1! concept_id_2! relationship_id:t!>relationship valid_start_date! valid_end_date!
  invalid_reason:t
relationship
  relationship_id:t* relationship_name:t! is_hierarchical:t! defines_ancestry:t!
  reverse_relationship_id:t! relationship_concept_id!
concept_synonym
  concept_id! concept_synonym_name:t! language_concept_id!
concept_ancestor
  ancestor_concept_id! descendant_concept_id! min_levels_of_separation:i!
  max_levels_of_separation:i!
source_to_concept_map
  source_code:t! source_concept_id! source_vocabulary_id:t! source_code_description:t
  target_concept_id! target_vocabulary_id:t!>vocabulary valid_start_date! valid_end_date!
  invalid_reason:t
drug_strength
  drug_concept_id! ingredient_concept_id! amount_value:f amount_unit_concept_id numerator_value:f
  numerator_unit_concept_id denominator_value:f denominator_unit_concept_id box_size:i
  valid_start_date! valid_end_date! invalid_reason:t
cohort@5.4
  cohort_definition_id! subject_id! cohort_start_date! cohort_end_date!
cohort_definition
  cohort_definition_id! cohort_definition_name:t! cohort_definition_description:t
  definition_type_concept_id! cohort_definition_syntax:t subject_concept_id! cohort_initiation_date
attribute_definition@5.3
  attribute_definition_id! attribute_name:t! attribute_description:t attribute_type_concept_id!
  attribute_syntax:t
"""
