"""Which code is which feature: an operator's statement, one table a model.

[model.diabetes]
title = "Risk of diabetes"
outcome = { system = "http://snomed.info/sct", code = "44054006", display = "Type 2 diabetes" }

[model.diabetes.features.glucose]
loinc = ["2339-0", "15074-8"]        # the latest final Observation with one of these
unit = "mg/dL"                       # what the model takes; others are converted
molar_mass = 180.156                 # g/mol, so that mmol/L converts
max_age_days = 365                   # older ones do not count

[model.diabetes.features]
age.patient = "age"
sex = { patient = "gender", levels = { female = "female", male = "male" } }
family_history = { condition = [{ system = "http://snomed.info/sct", code = "160303001" }], absent = false }
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping as Many
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, ParameterError
from sfumato.io.fhir.units import UnitError, parse

LOINC = "http://loinc.org"
PATIENT = ("age", "gender")
Code = tuple[str, str]  # system, code


@dataclass(frozen=True)
class FeatureRule:
    """Where one feature is found.

    codes: of an Observation or of one of its components, or of a Condition. patient: "age" or "gender".
    unit: what a number is wanted in. levels: a coded answer ("system|code" or a code) -> the feature's level.
    absent: what stands for no such Condition; None leaves the feature missing.
    """

    feature: str
    codes: tuple[Code, ...] = ()
    patient: str = ""
    condition: bool = False
    unit: str = ""
    molar_mass: float | None = None
    max_age_days: float | None = None
    levels: Many[str, Any] = field(default_factory=dict)
    absent: Any = None


@dataclass(frozen=True)
class Mapping:
    """All rules of one model, and how its outcome is named."""

    model: str
    rules: tuple[FeatureRule, ...]
    title: str = ""
    outcome: Many[str, str] = field(default_factory=dict)

    def queries(self) -> dict[str, str]:
        """The searches that bring all it needs, as a CDS Hooks prefetch has them."""
        found = {"patient": "Patient/{{context.patientId}}"}
        codes = [f"{s}|{c}" for r in self.rules if r.codes and not r.condition for s, c in r.codes]
        if codes:
            found["observations"] = (
                f"Observation?patient={{{{context.patientId}}}}&code={','.join(codes)}&_sort=-date&_count=200"
            )
        codes = [f"{s}|{c}" for r in self.rules if r.condition for s, c in r.codes]
        if codes:
            found["conditions"] = f"Condition?patient={{{{context.patientId}}}}&code={','.join(codes)}"
        return found


def read_mappings(path: str | Path) -> dict[str, Mapping]:
    """The mappings of a file by model; refused with all its faults if it has any."""
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise DataError(f"{file.name}: {error.strerror}.", hint="--fhir FILE") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise DataError(f"{file.name} is not TOML.", hint="see docs/fhir.md") from None
    faults = [f"unknown: {name:.40}" for name in sorted(set(content) - {"model"})]
    models = content.get("model")
    if not isinstance(models, dict) or not models:
        faults.append("there is no [model.NAME]")
        models = {}
    found = {name: _mapping(name, entry, faults) for name, entry in models.items()}
    if faults:
        raise ParameterError(f"{file.name}: {'; '.join(faults)}.", hint="see docs/fhir.md")
    return found


def _mapping(name: str, entry: object, faults: list[str]) -> Mapping:
    if not isinstance(entry, dict) or not isinstance(entry.get("features"), dict) or not entry["features"]:
        faults.append(f"{name:.40}: there is no [model.{name:.40}.features]")
        return Mapping(name, ())
    faults += [f"{name:.40}: unknown: {n:.40}" for n in sorted(set(entry) - {"features", "title", "outcome"})]
    outcome = entry.get("outcome", {})
    if (
        not isinstance(outcome, dict)
        or not all(isinstance(v, str) for v in outcome.values())
        or (set(outcome) - {"system", "code", "display"})
    ):
        faults.append(f"{name:.40}: outcome has a system, a code and a display")
        outcome = {}
    title = entry.get("title", "")
    if not isinstance(title, str) or len(title) > 100:
        faults.append(f"{name:.40}: a title is text of at most 100 characters")
        title = ""
    rules = [_rule(f, given, f"{name:.40}, {f:.40}", faults) for f, given in entry["features"].items()]
    return Mapping(name, tuple(rules), title, outcome)


_KNOWN = {"loinc", "codes", "condition", "patient", "unit", "molar_mass", "max_age_days", "levels", "absent"}


def _rule(feature: str, given: object, where: str, faults: list[str]) -> FeatureRule:
    if not isinstance(given, dict):
        faults.append(f"{where}: a table is wanted")
        return FeatureRule(feature)
    faults += [f"{where}: unknown: {n:.40}" for n in sorted(set(given) - _KNOWN)]
    ways = [w for w in ("loinc", "codes", "condition", "patient") if w in given]
    if len(ways) != 1:
        faults.append(f"{where}: one of loinc, codes, condition and patient says where it is found")
        return FeatureRule(feature)
    if ways == ["patient"]:
        if given["patient"] not in PATIENT:
            faults.append(f"{where}: of a patient there is {' and '.join(PATIENT)}")
        codes: tuple[Code, ...] = ()
    else:
        codes = _codes(given[ways[0]], ways[0] == "loinc", where, faults)
    unit = given.get("unit", "")
    try:
        if not isinstance(unit, str):
            raise UnitError("")
        if unit:
            parse(unit)
    except UnitError:
        faults.append(f"{where}: unit is a UCUM code")
    for name in ("molar_mass", "max_age_days"):
        number = given.get(name)
        if number is not None and (
            isinstance(number, bool) or not isinstance(number, int | float) or number <= 0
        ):
            faults.append(f"{where}: {name} is a number above 0")
    levels = given.get("levels", {})
    if not isinstance(levels, dict):
        faults.append(f"{where}: levels is a table of codes and the levels they stand for")
        levels = {}
    return FeatureRule(
        feature, codes, str(given.get("patient", "")), ways == ["condition"], str(unit),
        given.get("molar_mass"), given.get("max_age_days"), levels, given.get("absent"),
    )  # fmt: skip


def _codes(given: object, loinc: bool, where: str, faults: list[str]) -> tuple[Code, ...]:
    many = [given] if isinstance(given, str | dict) else given
    found = []
    for one in many if isinstance(many, list) else []:
        if loinc and isinstance(one, str) and one:
            found.append((LOINC, one))
        elif not loinc and isinstance(one, dict) and set(one) == {"system", "code"}:
            found.append((str(one["system"]), str(one["code"])))
    if not isinstance(many, list) or len(found) != len(many) or not found:
        faults.append(
            f"{where}: {'loinc is a code, or a list of codes' if loinc else 'codes have a system and a code'}"
        )
    return tuple(found)
