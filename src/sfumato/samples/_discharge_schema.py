"""The columns of the simulated discharges. Their domain is public: the simulator defines it."""

from __future__ import annotations

from datetime import date
from functools import cache
from typing import Any

from sfumato.samples._common import SIMULATED
from sfumato.samples._diagnoses import COMORBIDITIES, MDC_LABELS, all_codes
from sfumato.schema import Column, Draw, Kind, Role, Schema

TYPES = (
    "acute care",
    "skilled nursing",
    "psychiatric",
    "chemical dependency",
    "rehabilitation",
    "day surgery",
)
SEXES = ("male", "female")
ETHNICITIES = ("hispanic", "non-hispanic", "declined", "unknown")
RACES = ("white", "black", "native american", "asian", "pacific islander", "other", "unknown")
ZIPS = (
    "900", "902", "903", "904", "905", "906", "907", "908",
    "910", "911", "912", "913", "914", "915", "917", "935",
)  # fmt: skip
DISPOSITIONS = (
    "routine", "acute care", "other care", "skilled nursing", "residential care", "prison",
    "against advice", "died", "home health", "rehabilitation", "psychiatric", "hospice", "other",
)  # fmt: skip
PAYERS = (
    "medicare", "medi-cal", "private", "workers' compensation", "county indigent", "other government",
    "other indigent", "self-pay", "other",
)  # fmt: skip
CATEGORIES = ("medical", "surgical")
COUNTIES = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse", "Hazel")
REGIONS = ("North", "Middle", "South")
REGION_OF_COUNTY = (0, 0, 0, 1, 1, 1, 2, 2)
HOSPITALS = tuple(f"H{number:02d}" for number in range(1, 41))
COUNTY_OF_HOSPITAL = tuple(number % len(COUNTIES) for number in range(len(HOSPITALS)))

# The lower ends of the bins: the levels of age, los and charge.
AGES = tuple(range(0, 85, 5))
STAYS = (*range(10), 10, 30, 50, 70, 90)
CHARGES = (
    *range(0, 20_000, 2_000), 20_000, 23_000, 26_000, 30_000, 35_000, 40_000, 45_000, 50_000, 55_000, 60_000,
    65_000, 70_000, 80_000, 90_000, 100_000,
)  # fmt: skip
MAX_AGE, MAX_STAY, MAX_CHARGE = 110, 365, 2_000_000

FIRST_DAY, LAST_DAY = date(2011, 1, 1), date(2012, 12, 31)

VARIABLES = (
    "typ", "age", "sex", "ethnicity", "race", "zip", "los", "disp", "pay", "charge", "mdc", "sev", "cat",
)  # fmt: skip


def _labels(lower: tuple[int, ...], form: str = "{}") -> dict[str, str]:
    """'10': '10 to 29', and so on; the last bin is open."""
    out = {}
    for low, high in zip(lower, (*lower[1:], None), strict=True):
        last = None if high is None else high - 1
        shown = (
            f"{form.format(low)} or more" if last is None else f"{form.format(low)} to {form.format(last)}"
        )
        out[str(low)] = form.format(low) if last == low else shown
    return out


def _column(name: str, kind: Kind, role: Role, description: str, **more: Any) -> Column:
    more = {"missing": False, "confirmed": True, "provenance": SIMULATED, **more}
    return Column(name, kind, role, description=f"Simulated. {description}", **more)


def _nominal(name: str, role: Role, levels: tuple[str, ...], description: str, **more: object) -> Column:
    return _column(name, Kind.NOMINAL, role, description, levels=levels, **more)


def _ordinal(name: str, role: Role, levels: tuple[int, ...], description: str, **more: object) -> Column:
    return _column(name, Kind.ORDINAL, role, description, type="integer", levels=levels, **more)


def _number(
    name: str, role: Role, edges: tuple[int, ...], unit: str, description: str, **more: object
) -> Column:
    return _column(
        name, Kind.NUMERIC, role, description,
        type="integer", edges=edges, unit=unit, draw=Draw.INTEGER, **more,
    )  # fmt: skip


def _thirteen() -> list[Column]:
    quasi, sensitive, other = Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.OTHER
    return [
        _nominal("typ", other, TYPES, "Type of care."),
        _ordinal("age", quasi, AGES, "Age at admission: the lower end of a five-year band.",
                 labels=_labels(AGES), unit="years", missing=True),
        _nominal("sex", quasi, SEXES, "Sex.", missing=True),
        _nominal("ethnicity", quasi, ETHNICITIES, "Ethnicity as recorded."),
        _nominal("race", quasi, RACES, "Race as recorded."),
        _nominal("zip", quasi, ZIPS, "The first three digits of the home ZIP code.",
                 labels={z: f"{z}xx" for z in ZIPS}),
        _ordinal("los", quasi, STAYS, "Length of stay: the lower end of a band.",
                 labels=_labels(STAYS), unit="days", missing=True),
        _nominal("disp", sensitive, DISPOSITIONS, "Where the patient went afterwards."),
        _nominal("pay", other, PAYERS, "Who was expected to pay."),
        _ordinal("charge", sensitive, CHARGES, "Total charges: the lower end of a band.",
                 labels=_labels(CHARGES, "${:,}"), unit="dollars"),
        _column("mdc", Kind.NOMINAL, sensitive, "Major diagnostic category.", type="integer",
                levels=tuple(range(1, 26)), labels={str(i): t for i, t in enumerate(MDC_LABELS, 1)}),
        _ordinal("sev", sensitive, (0, 1, 2), "Severity: complications or comorbidities.",
                 labels={"0": "none", "1": "some", "2": "major"}),
        _nominal("cat", other, CATEGORIES, "Medical or surgical stay."),
    ]  # fmt: skip


def _behind() -> list[Column]:
    """What the thirteen were binned or grouped from."""
    quasi, sensitive = Role.QUASI_IDENTIFIER, Role.SENSITIVE
    months = tuple(date(2011 + m // 12, m % 12 + 1, 1) for m in range(25))
    decades = (*(date(year, 1, 1) for year in range(1900, 2020, 10) if year <= 2010), date(2013, 1, 1))
    return [
        _number("age_years", quasi, (*AGES, MAX_AGE), "years", "Completed years at admission.", missing=True),
        _number("los_days", quasi, (*STAYS, MAX_STAY), "days", "Nights in hospital.", missing=True),
        _number("charge_usd", sensitive, (*CHARGES, MAX_CHARGE), "dollars", "Total charges."),
        _nominal("dx", sensitive, all_codes(), "Principal diagnosis, ICD-9-like, within mdc."),
        _column("dx_other", Kind.CODES, sensitive, "Other diagnoses; empty if there are none.",
                levels=tuple(COMORBIDITIES), separator=";", missing=True),
        _nominal("hospital", quasi, HOSPITALS, "Hospital, within county."),
        _nominal("county", quasi, COUNTIES, "County of the hospital, within region. Invented."),
        _nominal("region", quasi, REGIONS, "Region of the hospital. Invented."),
        _column("admitted", Kind.DATE, quasi, "Day of admission.", type="date", edges=months),
        _column("born", Kind.DATE, quasi, "Day of birth; empty where age is.", type="date", edges=decades,
                missing=True),
    ]  # fmt: skip


@cache
def discharge_schema() -> Schema:
    """All columns of the simulated discharges, in order."""
    names = [
        _column("id", Kind.NOMINAL, Role.IDENTIFIER, "Number of the record."),
        _column("person", Kind.NOMINAL, Role.PERSON, "The person: one or several stays."),
    ]
    return Schema((*names, *_thirteen(), *_behind()))
