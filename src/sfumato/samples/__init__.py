"""Simulated tables to try things on. No row describes a real person, no number was estimated from one.

Each function gives a `Table` (`hospital`, `omop` and `fhir` a `Database`) with a complete schema whose domain
is public, because the simulator defines it. The same n and seed give the same rows, and a shorter table is
the beginning of a longer one with the same seed. They look like health data, so that methods meet the usual
difficulties; they are no source of facts about health.

The functions are here, their simulators in modules of their own (`_discharges`, `_members`, `_diabetes`,
`_icu`, `_hospital`, `_omop`, `_fhir`, `_independent`), on what they share (`_common`). It reads no file and
knows no method.

>>> people = sf.samples.members(100, seed=1)
>>> people.rows()
100
>>> people.schema["insurance"].levels
('private', 'public', 'uninsured')
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.samples import _discharge_schema as _places
from sfumato.samples._common import signed_schema
from sfumato.samples._diabetes import diabetes_rows as _diabetes_rows
from sfumato.samples._discharge_schema import VARIABLES as DISCHARGE_VARIABLES
from sfumato.samples._discharges import discharge_rows as _discharge_rows
from sfumato.samples._fhir import fhir_rows as _fhir_rows
from sfumato.samples._hospital import hospital_rows as _hospital_rows
from sfumato.samples._hospital import hospital_schemas as _hospital_schemas
from sfumato.samples._icu import icu_rows as _icu_rows
from sfumato.samples._independent import Priors
from sfumato.samples._independent import independent_rows as _independent_rows
from sfumato.samples._members import member_rows as _member_rows
from sfumato.samples._omop import omop_rows as _omop_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.database import Database
    from sfumato.schema import Schema
    from sfumato.table import Table

__all__ = [
    "DISCHARGE_VARIABLES",
    "HOSPITALS",
    "Priors",
    "diabetes",
    "discharges",
    "fhir",
    "hospital",
    "icu",
    "independent",
    "members",
    "omop",
    "signed_schema",
]

HOSPITALS: tuple[tuple[str, str, str], ...] = tuple(
    (hospital, _places.COUNTIES[county], _places.REGIONS[_places.REGION_OF_COUNTY[county]])
    for hospital, county in zip(_places.HOSPITALS, _places.COUNTY_OF_HOSPITAL, strict=True)
)
"""(hospital, county, region) of the simulated discharges: hospitals lie in counties, counties in regions."""


def discharges(n: int = 10_000, seed: int = 0) -> Table:
    """Simulated hospital discharges: thirteen categorical variables and what lies behind them.

    The thirteen (`DISCHARGE_VARIABLES`) have the names and numbers of levels of the California table
    in Park and Ghosh (2014). Behind them: age, stay and charge as numbers, diagnosis codes, hospital,
    county and region, dates, and a person who may have several stays. No row describes a real person.
    """
    return _table(*_discharge_rows(n, seed))


def members(n: int = 10_000, seed: int = 0) -> Table:
    """Simulated adults of a household survey: demographics, health, a year's medical cost, weights.

    No row describes a real person.
    """
    return _table(*_member_rows(n, seed))


def diabetes(n: int = 768, seed: int = 0) -> Table:
    """Simulated adults at a check-up; `diabetes` says who has it within five years, about one in three.

    Age, sex, pregnancies, body mass index, blood pressure, glucose and other laboratory values, smoking,
    activity, family history, drugs; some laboratory values are missing. A stand-in for the diabetes data
    of chapter 5 of Park's dissertation. No row describes a real person.
    """
    return _table(*_diabetes_rows(n, seed))


def icu(n: int = 1359, seed: int = 0) -> Table:
    """Simulated patients in intensive care; `septic_shock` says who goes into it, about 16 of 100.

    Six vital signs, each as last reading and as minimum, maximum and mean of twelve hourly readings, with
    age and sex; temperature is sometimes missing. A stand-in for the septic-shock data of chapter 5 of
    Park's dissertation. No row describes a real person.
    """
    return _table(*_icu_rows(n, seed))


def hospital(n: int = 2_000, seed: int = 0) -> Database:
    """Simulated patients, their stays and the diagnoses of each stay: three linked tables.

    Every patient has lasting conditions that come back, a few have many stays, and some are back within 30
    days. Ids of stays are whole numbers, those of patients are text. No row describes a real person.
    """
    from sfumato.database import Database, Link

    rows, schemas = _hospital_rows(n, seed), _hospital_schemas()
    links = (
        Link("stays", "patient_id", "patients", "patient_id"),
        Link("diagnoses", "stay_id", "stays", "stay_id"),
    )
    return Database({name: _table(rows[name], schemas[name]) for name in rows}, links)


def omop(n: int = 1_000, seed: int = 0) -> Database:
    """A simulated OMOP CDM 5.4: persons, visits, conditions, drugs, measurements, deaths, a vocabulary.

    Conditions last and come back, drugs follow them, visits follow each other. Concepts are local ones, above
    2,000,000,000. No row describes a real person.

    >>> cdm = sf.samples.omop(10)
    >>> cdm.form, cdm.root, cdm.people.count
    ('omop 5.4', 'person', 10)
    """
    from sfumato.io.databases import scan_database

    return scan_database(_omop_rows(n, seed), check=False)


def fhir(n: int = 1_000, seed: int = 0) -> Database:
    """Simulated FHIR R4 resources: the persons of `omop`, as patients with encounters and what was found.

    Codes are of a system of their own. `sf.write_fhir` writes them as bulk data. No row describes a real
    person.

    >>> people = sf.samples.fhir(10)
    >>> people.form, people.people.count
    ('fhir r4', 10)
    """
    from sfumato.io.fhir.bulk import bulk_database, bulk_tables

    return bulk_database(bulk_tables(_fhir_rows(n, seed)))


def independent(priors: Priors, n: int = 10_000, seed: int = 0) -> Table:
    """Columns drawn independently from marginal tables: {column: {level: weight}}.

    Weights need not sum to 1; the level None stands for missing. Adding a column leaves the others
    as they were. The levels count as public: do not take them from people's rows.
    """
    return _table(*_independent_rows(priors, n, seed))


def _table(rows: pa.Table, schema: Schema) -> Table:
    from sfumato.table import Table

    return Table.from_arrow(rows, schema)
