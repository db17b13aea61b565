"""Which elements of which resources are read, and as which columns: stated once, for there and back.

A path is elements with dots between them; `[0]` takes the first of a list, `[url=...]` the extension with
that address. What no path names is left out: narrative text, extensions, names, addresses, identifiers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.errors import ParameterError
from sfumato.schema import Kind, Role

_STEP = re.compile(r"([A-Za-z][A-Za-z0-9]{0,63})(?:\[(0|url=[^\[\]\s]{1,300})\])?")


@dataclass(frozen=True)
class ElementPath:
    """One element of a resource as a column. target: the type of resource that a reference points to.

    required: the standard asks for it; where a release has nothing there, it says that it is masked.
    """

    column: str
    path: str
    type: str = "text"
    kind: Kind = Kind.NOMINAL
    role: Role = Role.OTHER
    target: str = ""
    required: bool = False

    @property
    def steps(self) -> tuple[tuple[str, str], ...]:
        """Names, and what is chosen of a list: nothing, 0, or url=..."""
        return steps_of(self.path)


def steps_of(path: str) -> tuple[tuple[str, str], ...]:
    """A path in its steps; refused if it is none."""
    found, at = [], 0
    while at <= len(path):
        step = _STEP.match(path, at)
        if step is None or (step.end() < len(path) and path[step.end()] != "."):
            raise ParameterError(
                "a path of FHIR elements cannot be read.", hint="such as extension[url=http://...].valueCode"
            )
        found.append((step[1], step[2] or ""))
        at = step.end() + 1
    return tuple(found)


def _coded(
    column: str, path: str, role: Role = Role.OTHER, required: bool = False
) -> tuple[ElementPath, ...]:
    """The first coding of a concept: its system and its code."""
    return (
        ElementPath(f"{column}_system", f"{path}.coding[0].system"),
        ElementPath(column, f"{path}.coding[0].code", role=role, required=required),
    )


def _day(column: str, path: str) -> ElementPath:
    return ElementPath(column, path, "date", Kind.DATE, Role.QUASI_IDENTIFIER)


_ID = ElementPath("id", "id", role=Role.IDENTIFIER)
_PATIENT = ElementPath("patient", "subject.reference", role=Role.PERSON, target="Patient")
_ENCOUNTER = ElementPath("encounter", "encounter.reference", role=Role.IDENTIFIER, target="Encounter")

PATHS: Mapping[str, tuple[ElementPath, ...]] = {
    "Patient": (
        ElementPath("id", "id", role=Role.PERSON),
        ElementPath("gender", "gender", role=Role.QUASI_IDENTIFIER),
        _day("birth_date", "birthDate"),
        ElementPath("deceased", "deceasedBoolean", "boolean", role=Role.QUASI_IDENTIFIER),
        _day("death_date", "deceasedDateTime"),
    ),
    "Encounter": (
        _ID, _PATIENT, ElementPath("status", "status"), ElementPath("class_system", "class.system"),
        ElementPath("class", "class.code", required=True), *_coded("type", "type[0]"),
        _day("start", "period.start"), _day("end", "period.end"),
    ),
    "Condition": (
        _ID, _PATIENT, _ENCOUNTER, *_coded("clinical_status", "clinicalStatus"),
        *_coded("verification_status", "verificationStatus"), *_coded("code", "code", Role.SENSITIVE),
        _day("onset", "onsetDateTime"), _day("abatement", "abatementDateTime"),
        _day("recorded", "recordedDate"),
    ),
    "Observation": (
        _ID, _PATIENT, _ENCOUNTER, ElementPath("status", "status"), *_coded("category", "category[0]"),
        *_coded("code", "code", Role.SENSITIVE, required=True), _day("effective", "effectiveDateTime"),
        ElementPath("value", "valueQuantity.value", "real", Kind.NUMERIC, Role.SENSITIVE),
        ElementPath("comparator", "valueQuantity.comparator"),  # "<" beside 5: the value is below 5
        ElementPath("unit", "valueQuantity.unit"), ElementPath("unit_system", "valueQuantity.system"),
        ElementPath("unit_code", "valueQuantity.code"),
        *_coded("answer", "valueCodeableConcept", Role.SENSITIVE),
    ),
    "Procedure": (
        _ID, _PATIENT, _ENCOUNTER, ElementPath("status", "status"), *_coded("code", "code", Role.SENSITIVE),
        _day("performed", "performedDateTime"), _day("start", "performedPeriod.start"),
        _day("end", "performedPeriod.end"),
    ),
    "MedicationRequest": (
        _ID, _PATIENT, _ENCOUNTER, ElementPath("status", "status"), ElementPath("intent", "intent"),
        *_coded("medication", "medicationCodeableConcept", Role.SENSITIVE, required=True),
        _day("authored", "authoredOn"),
    ),
}  # fmt: skip
"""By type of resource, what is read of it."""

TABLES: Mapping[str, str] = {
    "Patient": "patient", "Encounter": "encounter", "Condition": "condition", "Observation": "observation",
    "Procedure": "procedure", "MedicationRequest": "medication_request",
}  # fmt: skip
"""By type of resource, the table it becomes."""


CHOICES: Mapping[str, tuple[str, ...]] = {
    "Patient": ("deceased", "multipleBirth"), "Condition": ("onset", "abatement"),
    "Observation": ("effective", "value"), "Procedure": ("performed",),
    "MedicationRequest": ("reported", "medication"),
}  # fmt: skip
"""By type of resource, elements of which the standard allows one form: a date of death, or a yes or no."""


def further_paths(further: Mapping[str, Mapping[str, str]] | None) -> dict[str, tuple[ElementPath, ...]]:
    """All paths, with those that somebody names besides: by type of resource, by column."""
    found = dict(PATHS)
    for kind, columns in (further or {}).items():
        if kind not in PATHS:
            raise ParameterError("further paths are of a type that is not read.", hint=", ".join(PATHS))
        taken = {p.column for p in PATHS[kind]}
        wrong = [c for c in columns if c in taken or not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", c)]
        if wrong:
            raise ParameterError(
                "further columns need names of their own: small letters, digits, _.", hint="birth_place"
            )
        new = [ElementPath(c, p, role=Role.QUASI_IDENTIFIER) for c, p in columns.items()]
        for path in new:
            steps_of(path.path)
        found[kind] = (*PATHS[kind], *new)
    return found


def element(resource: Mapping[str, Any], steps: tuple[tuple[str, str], ...]) -> object:
    """What stands at a path; None if there is nothing. TypeError if something of another shape is there."""
    at: Any = resource
    for name, chosen in steps:
        if at is None:
            return None
        if not isinstance(at, dict):
            raise TypeError
        at = at.get(name)
        if at is not None and isinstance(at, list) != bool(chosen):
            raise TypeError
        if chosen.startswith("url="):
            at = next((e for e in at or () if isinstance(e, dict) and e.get("url") == chosen[4:]), None)
        elif chosen:
            at = at[0] if at else None
    return at


def twofold(resource: Mapping[str, Any]) -> str:
    """An element that stands there in two forms, of which only one may: deceased[x]; empty if none does."""
    for stem in CHOICES.get(str(resource.get("resourceType")), ()):
        if sum(name.startswith(stem) and name[len(stem) :][:1].isupper() for name in resource) > 1:
            return f"{stem}[x] in two forms"
    return ""


def put(resource: dict[str, Any], steps: tuple[tuple[str, str], ...], value: object) -> None:
    """Write a value where a path says, with all that lies above it."""
    at: Any = resource
    for name, chosen in steps[:-1]:
        if not chosen:
            at = at.setdefault(name, {})
        else:
            several = at.setdefault(name, [])
            wanted = {"url": chosen[4:]} if chosen.startswith("url=") else {}
            found = next((e for e in several if all(e.get(k) == v for k, v in wanted.items())), None)
            if found is None:
                found = dict(wanted)
                several.append(found)
            at = found
    name, chosen = steps[-1]
    at[name] = [value] if chosen else value


def reference_parts(reference: object) -> tuple[str, str]:
    """(type, id) of a reference, without its server and version; ("", "") for what points nowhere outside.

    `urn:uuid:` names no type; what is contained (`#...`) has no resource of its own, and a search
    (`Patient?identifier=...`) is no id.
    """
    if not isinstance(reference, str) or not reference or reference.startswith("#") or "?" in reference:
        return "", ""
    if reference.startswith("urn:uuid:"):
        return "", reference[len("urn:uuid:") :]
    parts = reference.split("/_history/")[0].rsplit("/", 2)[-2:]
    return (parts[0], parts[1]) if len(parts) == 2 else ("", "")


def server_of(reference: object) -> str:
    """The server that an absolute reference names, http or https alike; empty for any other."""
    if not isinstance(reference, str) or not reference.startswith(("http://", "https://")):
        return ""
    base = reference.split("/_history/")[0].rsplit("/", 2)[0]
    return base.partition("://")[2].casefold()
