"""Of which version a CDM is: by what `cdm_source` states, else by tables and fields of other versions only.

Source: the lists of fields of 5.2, 5.3, 5.4 and 6.0 and the tables made by the scripts of 5.0 to 5.2, in
OHDSI's CommonDataModel (github.com/OHDSI/CommonDataModel), as facts. What stands here is in no 5.3 or 5.4.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from sfumato.errors import SchemaError, listed
from sfumato.io.omop.fields import VERSIONS, fields_of

_VERSION = re.compile(r"\d{1,2}\.\d{1,2}")
_NAMED = 20  # tables and fields that a message names
_OLDER = "5.2 or older"
# Tables, and fields of tables, of 5.0 to 5.2 that later versions have no more.
_OF_OLDER: Mapping[str, tuple[str, ...]] = {
    "procedure_occurrence": ("qualifier_source_value",),
    "observation_period": ("observation_period_start_datetime", "observation_period_end_datetime"),
    "drug_exposure": ("effective_drug_dose", "dose_unit_concept_id"),
    "person": ("time_of_birth",),
    "visit_occurrence": ("visit_start_time", "visit_end_time"),
    "observation": ("observation_time",), "specimen": ("specimen_time",), "note": ("note_time",),
    "drug_cost": (), "visit_cost": (), "procedure_cost": (), "device_cost": (),
}  # fmt: skip
# Of 6.0. A CDM that has deaths in a table of their own is none, whatever columns it has besides.
_OF_6: Mapping[str, tuple[str, ...]] = {
    "person": ("death_datetime",),
    "observation": ("value_as_datetime",),
    "payer_plan_period": ("contract_person_id", "contract_concept_id"),
    "cost": ("person_id", "cost_event_field_concept_id", "cost_concept_id", "incurred_date"),
    "drug_era": ("drug_era_start_datetime",), "condition_era": ("condition_era_start_datetime",),
    "dose_era": ("dose_era_start_datetime",),
}  # fmt: skip
_TABLES_OF_6 = ("location_history", "survey_conduct")
# Tables and fields that came with 5.3 and 5.4: a CDM that has one is no older.
_NEW_TABLES = ("visit_detail", "metadata", "episode", "episode_event")
_NEW_FIELDS = (
    "visit_detail_id", "modifier_source_value", "admitted_from_concept_id", "discharged_to_concept_id",
    "cdm_version_concept_id", "measurement_event_id", "observation_event_id", "payer_concept_id",
)  # fmt: skip

Heads = Mapping[str, Collection[str]]


def stated_version(texts: Iterable[str]) -> str:
    """The version that `cdm_source` states, such as 5.4; empty if it has none, refused if it is another.

    texts: of its rows. Of several the newest; one row that states another is enough to refuse it.
    """
    stated = {found[0] for text in texts if (found := _VERSION.search(text))}
    if others := sorted(stated - set(VERSIONS)):
        raise _of_another(others[0], "cdm_source states it")
    return max(stated, default="")


def told_version(heads: Heads) -> str:
    """The version whose fields fit best, where none is stated; refused if the fields are another's.

    heads: by table, its columns; both without capitals.
    """
    if signs := list(_signs(heads, _OF_6)):
        here = [t for t in _TABLES_OF_6 if t in heads]
        if here or "death" not in heads:
            raise _of_another("6.0", f"only that has {listed([*here, *signs], _NAMED)}")
    elif here := [t for t in _TABLES_OF_6 if t in heads]:
        raise _of_another("6.0", f"only that has {listed(here, _NAMED)}")
    signs = list(_signs(heads, _OF_OLDER))
    newer = set(_NEW_TABLES) & set(heads) or any(
        set(_NEW_FIELDS) & set(columns) for columns in heads.values()
    )
    if signs and not newer:
        raise _of_another(
            _OLDER, f"only those have {listed(signs, _NAMED)}, and nothing of later ones is here"
        )
    return min(VERSIONS, key=lambda v: len(list(unknown(heads, v))))


def is_known(table: str) -> bool:
    """Whether a table says anything of a CDM, by its name; capitals do not matter."""
    name = table.casefold()
    return any(name in fields_of(v) for v in VERSIONS) or name in _OF_OLDER or name in _TABLES_OF_6


def unknown(heads: Heads, version: str) -> Iterator[tuple[str, str]]:
    """Tables, and columns of known tables, that a version does not have."""
    every = fields_of(version)
    for table, columns in heads.items():
        if table not in every:
            yield table, ""
        elif set(columns) & set(every[table]):
            yield from ((table, name) for name in columns if name not in every[table])


def _signs(heads: Heads, of: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for table, fields in of.items():
        if table in heads and not fields:
            yield table
        yield from (f"{table}.{f}" for f in fields if f in heads.get(table, ()))


def _of_another(version: str, why: str) -> SchemaError:
    return SchemaError(
        f"this is an OMOP CDM of version {version} ({why}); {' and '.join(VERSIONS)} are known.",
        hint="convert it, or declare its tables and links in database.toml; where it is of a known version, "
        "cdm_source.cdm_version says so",
    )
