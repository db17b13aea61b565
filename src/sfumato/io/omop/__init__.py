"""The OMOP Common Data Model, versions 5.3 and 5.4: `scan_database` recognizes one and needs no declaration.

`fields` holds its tables, keys and fields as facts, `roles` says what each can do to a person and what is
left out, `cdm` recognizes a CDM and all that differs, `versions` of which version it is. It knows the
standard; tables and links are for `database`.
"""

from sfumato.io.omop.cdm import (
    Cdm,
    cdm_database,
    concept_differences,
    recognized,
    warn,
    warn_of_nobody,
)
from sfumato.io.omop.fields import VERSIONS, CdmField, fields_of
from sfumato.io.omop.versions import is_known

__all__ = [
    "VERSIONS",
    "Cdm",
    "CdmField",
    "cdm_database",
    "concept_differences",
    "fields_of",
    "is_known",
    "recognized",
    "warn",
    "warn_of_nobody",
]
