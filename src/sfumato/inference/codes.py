"""Code systems of health care, told by their values.

A pattern alone is weak where it is short (any five digits may be a procedure), so a system counts by itself
only where its form is its own; the others need a word in the name. Forms are facts of the published systems.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.inference.check_digits import luhn, verhoeff

_SHARE = 0.95
_LEAST = 5  # different values


@dataclass(frozen=True)
class System:
    """One code system. alone: its form is its own, no name is needed. least: different values asked for."""

    what: str
    form: re.Pattern[str]
    alone: bool
    least: int = _LEAST
    varied: bool = False  # several first signs must occur: B12 and B13 may be beds


_SYSTEMS = tuple(
    System(what, re.compile(form), alone, least, varied)
    for what, form, alone, least, varied in (
        ("codes of diseases or traits", r"(HP|ORPHA|OMIM|MONDO|DOID|MESH):?[A-Z]?\d{2,}", True, 5, False),
        ("tumour codes (ICD-O)", r"[89]\d{3}/[0-369]", True, 5, False),
        ("LOINC codes", r"\d{1,5}-\d", True, 10, False),
        ("NDC drug codes", r"\d{4,5}-\d{3,4}-\d{1,2}", True, 5, False),
        ("Australian procedure codes (ACHI)", r"\d{5}-0[0-9]", True, 10, False),
        ("French drug codes (CIP)", r"34009\d{8}", True, 5, False),
        ("ATC drug codes", r"[ABCDGHJLMNPRSV]\d\d[A-Z]{2}\d\d", True, 5, False),
        ("ICD-10 codes", r"[A-TV-Z]\d[0-9AB]\.[0-9A-Z]{1,4}[-+*!]?", True, 5, False),
        ("OPS procedure codes", r"[135689]-\d{2}[0-9a-z](\.[0-9a-z]{1,2})?(:[RLB])?", True, 5, False),
        ("CCAM procedure codes", r"[A-Z]{4}\d{3}(-\d\d)?", True, 10, True),
        ("ICD-10-PCS procedure codes", r"[0-9B-DF-HX][0-9A-HJ-NP-Z]{6}", True, 10, False),
        ("CPT or HCPCS procedure codes", r"[A-V]\d{4}|\d{5}", True, 15, True),
        ("ICD-10 codes", r"[A-TV-Z]\d[0-9AB](\.?[0-9A-Z]{1,4})?", True, 20, True),
        ("ICD-9 codes", r"\d{3}\.\d{1,2}|V\d{2}(\.\d{1,2})?|E\d{3}(\.\d)?", True, 10, False),
        ("SNOMED CT codes", r"[1-9]\d{5,17}", True, 10, False),
        ("ICD-9 codes", r"\d{1,5}|\d{1,3}\.\d{1,2}|V\d{2}\.?\d{0,2}|E\d{3}\.?\d?", False, 5, False),
        ("ICD-9 procedure codes", r"\d{2}\.?\d{0,2}", False, 5, False),
        ("CPT or HCPCS procedure codes", r"\d{4}[0-9FTU]|[A-V]\d{4}", False, 5, False),
        ("NDC drug codes", r"\d{9,11}", False, 5, False),
        ("case groups (DRG)", r"\d{1,3}|[A-Z0-9]\d{2}[A-Z]|\d\d[A-Z]\d{2,3}[A-Z0-9]?", False, 5, False),
    )
)  # fmt: skip
_MIXED = re.compile(r"(\d{3,5}|V\d{2,4}|E\d{3,4})")  # ICD-9 without points, with its letters


def code_system(values: Sequence[str], *, alone: bool) -> str:
    """The code system nearly all of these different values belong to; alone: without help of the name."""
    trimmed = [v.strip().upper() for v in values]
    if not trimmed:
        return ""
    for system in _SYSTEMS:
        if (alone and not system.alone) or len(trimmed) < system.least:
            continue
        if not _holds(system, trimmed):
            continue
        return system.what
    if alone and len(trimmed) >= 50 and _mixed_icd9(trimmed):
        return "ICD-9 codes"
    return ""


def _holds(system: System, values: Sequence[str]) -> bool:
    head = values[:20]
    if sum(system.form.fullmatch(v) is not None for v in head) < 0.8 * len(head):
        return False
    fitting = [v for v in values if system.form.fullmatch(v)]
    if len(fitting) < _SHARE * len(values):
        return False
    if system.varied and len({v[0] for v in fitting}) < 3:
        return False
    if system.what.startswith("CPT"):  # five digits are many things: some must have their letter
        return not system.alone or sum(v[0].isalpha() for v in fitting) >= 0.05 * len(fitting)
    if system.what == "LOINC codes":
        return sum(luhn(v.replace("-", "")) for v in fitting) >= _SHARE * len(fitting)
    if system.what == "SNOMED CT codes":
        known = [v for v in fitting if v[-3:-1] in ("00", "10", "01", "02", "11", "12", "05", "15")]
        return len(known) >= _SHARE * len(fitting) and sum(map(verhoeff, known)) >= _SHARE * len(known)
    if system.what == "ICD-10-PCS procedure codes":
        # Seven signs of digits alone are a number, of letters alone a word.
        mixed = sum(any(c.isdigit() for c in v) and any(c.isalpha() for c in v) for v in fitting)
        letters = sum(c.isalpha() for v in fitting for c in v)  # one at the end is a check letter
        return (
            mixed >= 0.9 * len(fitting)
            and letters >= 1.5 * len(fitting)
            and len({v[0] for v in fitting}) <= 12
        )
    if system.what == "ICD-10 codes" and system.varied:
        if {len(v) for v in fitting} in ({6}, {7}):
            return False  # codes of diseases are of several lengths, numbers of people of one
        return len({len(v) for v in fitting}) > 1 or len({v[0] for v in fitting}) >= 8
    return True


def _mixed_icd9(values: Sequence[str]) -> bool:
    """Numbers of three, four and five digits; some begin with zero, some with V or E."""
    fitting = sum(_MIXED.fullmatch(v) is not None for v in values)
    letters = sum(v[:1] in "VE" for v in values)
    zeros = sum(v[:1] == "0" for v in values)
    lengths = {len(v) for v in values}
    return fitting >= _SHARE * len(values) and letters > 0 and zeros > 0 and {3, 4, 5} <= lengths
