"""The OMOP Common Data Model, versions 5.3 and 5.4: `scan_database` recognizes one and needs no declaration.

`fields` holds its tables, keys and fields as facts, `roles` says what each can do to a person and what is
left out, `cdm` recognizes a CDM, its version and all that differs. It knows the standard; tables and links
are for `database`.
"""

from sfumato.io.omop.cdm import (
    Cdm,
    as_version,
    cdm_database,
    concept_differences,
    recognized,
    said_version,
    warn,
)
from sfumato.io.omop.fields import VERSIONS, CdmField, fields_of

__all__ = [
    "VERSIONS",
    "Cdm",
    "CdmField",
    "as_version",
    "cdm_database",
    "concept_differences",
    "fields_of",
    "recognized",
    "said_version",
    "warn",
]
