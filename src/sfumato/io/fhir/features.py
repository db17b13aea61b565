"""The features of one patient among resources: what was taken from where, what is missing and why.

A resource counts only if it is of this patient, in a state that may be used, and (with a check) valid. The
latest measurement wins; two different ones of the same moment leave the feature missing rather than guessed.
Reasons name features, codes and units, never a value.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sfumato.errors import DataError
from sfumato.io.fhir.mapping import Code, FeatureRule, Mapping
from sfumato.io.fhir.paths import reference_parts
from sfumato.io.fhir.units import UnitError, convert

UCUM = "http://unitsofmeasure.org"
Resource = dict[str, Any]
Entry = tuple[str, Resource]  # the full address in its bundle ("" if none), and the resource
_USABLE = ("final", "amended", "corrected")
_ACTIVE = ("active", "recurrence", "relapse")
_MOST_RESOURCES = 5000
_SOON = timedelta(days=1)  # clocks and time zones differ; beyond that it is of the future
_WHEN = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(Z|[+-]\d\d:\d\d))?)?)?"
)


@dataclass(frozen=True)
class FeatureSource:
    """Where a feature's value came from. conversion: what was done to its unit, "" if nothing."""

    feature: str
    reference: str
    code: str
    when: str = ""
    conversion: str = ""


@dataclass(frozen=True)
class PatientFeatures:
    """One patient as a row of features. missing: feature and why. skipped: why resources did not count."""

    patient: str
    row: dict[str, Any]
    found: tuple[FeatureSource, ...]
    missing: tuple[tuple[str, str], ...]
    skipped: dict[str, int] = field(default_factory=dict)


def resources_of(content: object) -> list[Entry]:
    """The resources of a resource, a Bundle, or a list of either; what is none of these is refused."""
    found: list[Entry] = []
    for one in content if isinstance(content, list) else [content]:
        if not isinstance(one, dict) or not isinstance(one.get("resourceType"), str):
            raise DataError("there is something that is no FHIR resource.", hint="a resource, or a Bundle")
        if one["resourceType"] != "Bundle":
            found.append(("", one))
            continue
        entries = one.get("entry") or []
        if not isinstance(entries, list):
            raise DataError("a Bundle's entry must be a list.", hint="a Bundle as FHIR has it")
        for entry in entries:
            inside = entry.get("resource") if isinstance(entry, dict) else None
            if isinstance(inside, dict) and isinstance(inside.get("resourceType"), str):
                url = entry.get("fullUrl")
                found.append((url if isinstance(url, str) else "", inside))
    if len(found) > _MOST_RESOURCES:
        raise DataError(f"there are more than {_MOST_RESOURCES} resources.", hint="search by code")
    return found


def read_features(
    mapping: Mapping,
    entries: Sequence[Entry],
    patient: str = "",
    *,
    now: datetime | None = None,
    conditions_known: bool = True,
    check: Callable[[Resource], list[str]] | None = None,
) -> PatientFeatures:
    """The features that a mapping names, of one patient.

    patient: the id; "" if there is one Patient only. conditions_known: whether all Conditions were looked
    for, so that none means none. check: gives the faults of a resource; one with faults does not count.
    """
    now = now or datetime.now(UTC)
    who, addresses = _patient(entries, patient)
    skipped: Counter[str] = Counter()
    usable: list[Resource] = []
    for _, resource in entries:
        kind = resource["resourceType"]
        if kind in ("Observation", "Condition"):
            why = _unusable(resource, addresses, now) or ("not valid" if check and check(resource) else "")
            if why:
                skipped[f"{kind}: {why}"] += 1
            else:
                usable.append(resource)
    row: dict[str, Any] = {}
    found, missing = [], []
    for rule in mapping.rules:
        try:
            value, origin = _value(rule, who, usable, now, conditions_known)
        except _MissingError as error:
            missing.append((rule.feature, str(error)))
        else:
            row[rule.feature] = value
            found.append(origin)
    return PatientFeatures(f"Patient/{who.get('id', '')}", row, tuple(found), tuple(missing), dict(skipped))


class _MissingError(Exception):
    """Why a feature is not there."""


def _patient(entries: Sequence[Entry], wanted: str) -> tuple[Resource, set[str]]:
    """The patient, and all ways in which others may refer to it."""
    known = [(url, r) for url, r in entries if r["resourceType"] == "Patient"]
    if wanted:
        known = [(url, r) for url, r in known if r.get("id") == wanted]
    if not known and not wanted:
        raise DataError("there is no Patient among the resources.", hint="add the Patient")
    if len({str(r.get("id")) for _, r in known}) > 1:
        raise DataError("there are several Patients among the resources.", hint="one patient at a time")
    url, who = known[0] if known else ("", {"resourceType": "Patient", "id": wanted})
    addresses = {f"Patient/{who['id']}"} if isinstance(who.get("id"), str) else set()
    return who, addresses | ({url} if url else set())


def _unusable(resource: Resource, addresses: set[str], now: datetime) -> str:
    """Why a resource does not count; "" if it does."""
    subject = resource.get("subject")
    reference = subject.get("reference") if isinstance(subject, dict) else None
    if not isinstance(reference, str):
        return "does not say whose it is"
    short = "/".join(reference_parts(reference))
    if reference not in addresses and short not in addresses:
        return "of another patient"
    if resource["resourceType"] == "Observation":
        if resource.get("status") not in _USABLE:
            return "not final"
        when = _when(resource)
        return "of the future" if when is not None and when > now + _SOON else ""
    if "verificationStatus" in resource and "confirmed" not in _plain_codes(resource["verificationStatus"]):
        return "not confirmed"
    return ""


def _when(resource: Resource) -> datetime | None:
    """When it was measured: the moment, or the end of the period, or when it was made known."""
    period = resource.get("effectivePeriod")
    ends = [period.get("end"), period.get("start")] if isinstance(period, dict) else []
    for text in (
        resource.get("effectiveDateTime"),
        resource.get("effectiveInstant"),
        *ends,
        resource.get("issued"),
    ):
        if isinstance(text, str) and (moment := moment_of(text)) is not None:
            return moment
    return None


def moment_of(text: str) -> datetime | None:
    """The moment that a FHIR date or time begins with; None if it is none."""
    found = _WHEN.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, zone = found.groups()
    try:
        if hour is None:
            return datetime(int(year), int(month or 1), int(day or 1), tzinfo=UTC)
        stamp = f"{year}-{month}-{day}T{hour}:{minute}:{min(int(second), 59):02d}"
        return datetime.fromisoformat(stamp + ("+00:00" if zone == "Z" else zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


# -- values --------------------------------------------------------------------------------------------


def _value(
    rule: FeatureRule, who: Resource, usable: list[Resource], now: datetime, conditions_known: bool
) -> tuple[Any, FeatureSource]:
    reference = f"Patient/{who.get('id', '')}"
    if rule.patient == "age":
        return _age(who, now), FeatureSource(rule.feature, reference, "birthDate")
    if rule.patient:
        gender = who.get("gender")
        if not isinstance(gender, str):
            raise _MissingError("the patient's gender is not given")
        if rule.levels and gender not in rule.levels:
            raise _MissingError("no level is stated for the patient's gender")
        return rule.levels.get(gender, gender), FeatureSource(rule.feature, reference, "gender")
    if rule.condition:
        return _condition(rule, usable, conditions_known)
    return _measured(rule, usable, now)


def _age(who: Resource, now: datetime) -> int:
    """Full years since a birth date that is known to the day."""
    text = who.get("birthDate")
    if not isinstance(text, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        raise _MissingError("the patient's birth date is not given to the day")
    try:
        born = date.fromisoformat(text)
    except ValueError:
        raise _MissingError("the patient's birth date does not exist") from None
    today = now.date()
    if born > today:
        raise _MissingError("the patient's birth date is in the future")
    return today.year - born.year - ((today.month, today.day) < (born.month, born.day))


def _condition(rule: FeatureRule, usable: list[Resource], known: bool) -> tuple[Any, FeatureSource]:
    for resource in usable:
        if resource["resourceType"] != "Condition" or not (code := _match(resource.get("code"), rule.codes)):
            continue
        if "clinicalStatus" in resource and not set(_plain_codes(resource["clinicalStatus"])) & set(_ACTIVE):
            continue
        return rule.levels.get("present", True), FeatureSource(rule.feature, _name(resource), code)
    if not known:
        raise _MissingError("conditions were not looked for")
    if rule.absent is None:
        raise _MissingError("no such condition is recorded, which does not show that there is none")
    return rule.absent, FeatureSource(rule.feature, "", "no such Condition recorded")


def _measured(rule: FeatureRule, usable: list[Resource], now: datetime) -> tuple[Any, FeatureSource]:
    """The latest usable measurement; why there is none, if there is none."""
    oldest = None if rule.max_age_days is None else now - timedelta(days=rule.max_age_days)
    best: list[tuple[datetime, Any, FeatureSource]] = []
    why: Counter[str] = Counter()
    for resource, part, code in _parts(rule, usable):
        when = _when(resource)
        if oldest is not None and (when is None or when < oldest):
            why["measured too long ago, or nobody knows when"] += 1
            continue
        try:
            value, conversion = _read(rule, part)
        except _MissingError as error:
            why[str(error)] += 1
            continue
        stamp = "" if when is None else when.date().isoformat()
        best.append((when or datetime.min.replace(tzinfo=UTC), value, FeatureSource(
            rule.feature, _name(resource), code, stamp, conversion
        )))  # fmt: skip
    if not best:
        codes = ", ".join(code for _, code in rule.codes)
        reasons = "; ".join(f"{n}x {reason}" for reason, n in sorted(why.items()))
        raise _MissingError(f"no usable Observation with {codes}" + (f" ({reasons})" if reasons else ""))
    last = max(when for when, _, _ in best)
    latest = [(value, origin) for when, value, origin in best if when == last]
    if any(value != latest[0][0] for value, _ in latest):
        raise _MissingError("two different values of the same moment")
    return latest[0]


def _parts(rule: FeatureRule, usable: list[Resource]) -> Iterator[tuple[Resource, Resource, str]]:
    """Each observation or component of one that has one of the codes."""
    for resource in usable:
        if resource["resourceType"] != "Observation":
            continue
        components = resource.get("component")
        for part in (resource, *(components if isinstance(components, list) else ())):
            if isinstance(part, dict) and (code := _match(part.get("code"), rule.codes)):
                yield resource, part, code


def _read(rule: FeatureRule, part: Resource) -> tuple[Any, str]:
    """The value of a measurement as the feature wants it, and what was done to its unit."""
    if rule.levels:
        return _level(rule, part), ""
    if isinstance(part.get("valueBoolean"), bool):
        return part["valueBoolean"], ""
    if "valueInteger" in part and not rule.unit:
        return _number(part["valueInteger"]), ""
    quantity = part.get("valueQuantity")
    if not isinstance(quantity, dict):
        raise _MissingError("no quantity")
    if quantity.get("comparator"):
        raise _MissingError("only a bound is known")
    number = _number(quantity.get("value"))
    if not rule.unit:
        return number, ""
    unit = quantity.get("code")
    if quantity.get("system") != UCUM or not isinstance(unit, str) or not unit:
        raise _MissingError("no UCUM unit")
    try:
        value = convert(number, unit, rule.unit, rule.molar_mass)
    except (UnitError, OverflowError):
        raise _MissingError(f"its unit does not convert to {rule.unit}") from None
    if unit == rule.unit:
        return value, ""
    by = (
        f", molar mass {rule.molar_mass:g} g/mol"
        if rule.molar_mass and ("mol" in unit) != ("mol" in rule.unit)
        else ""
    )
    return value, f"{unit} to {rule.unit}{by}"


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _MissingError("no number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _MissingError("no number")
    return number


def _level(rule: FeatureRule, part: Resource) -> object:
    if isinstance(part.get("valueBoolean"), bool):
        text = "true" if part["valueBoolean"] else "false"
        if text in rule.levels:
            return rule.levels[text]
    for system, code in _codings(part.get("valueCodeableConcept")):
        for text in (f"{system}|{code}", code):
            if text in rule.levels:
                return rule.levels[text]
    raise _MissingError("no level is stated for its code")


# -- codes ---------------------------------------------------------------------------------------------


def _codings(concept: object) -> list[Code]:
    codings = concept.get("coding") if isinstance(concept, dict) else None
    return [
        (str(c.get("system", "")), c["code"])
        for c in (codings if isinstance(codings, list) else [])
        if isinstance(c, dict) and isinstance(c.get("code"), str)
    ]


def _plain_codes(concept: object) -> list[str]:
    return [code for _, code in _codings(concept)]


def _match(concept: object, codes: tuple[Code, ...]) -> str:
    return next((code for system, code in _codings(concept) if (system, code) in codes), "")


def _name(resource: Resource) -> str:
    identity = resource.get("id")
    known = isinstance(identity, str) and re.fullmatch(r"[A-Za-z0-9.-]{1,64}", identity)
    return f"{resource['resourceType']}/{identity}" if known else str(resource["resourceType"])
