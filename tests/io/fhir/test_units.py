"""UCUM: known conversions, their laws, and what does not convert."""

from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.io.fhir import UnitError, convert

KNOWN = [
    (5.5, "mmol/L", "mg/dL", 180.156, 99.0858),
    (99.0858, "mg/dL", "mmol/L", 180.156, 5.5),
    (88.4, "umol/L", "mg/dL", 113.12, 0.9999808),
    (120, "mm[Hg]", "kPa", None, 15.99864),
    (37, "Cel", "[degF]", None, 98.6),
    (98.6, "[degF]", "Cel", None, 37),
    (310.15, "K", "Cel", None, 37),
    (150, "[lb_av]", "kg", None, 68.0388555),
    (70, "[in_i]", "cm", None, 177.8),
    (1.8, "m", "cm", None, 180),
    (72, "{beats}/min", "/min", None, 72),
    (1.2, "Hz", "/min", None, 72),
    (0.95, "1", "%", None, 95),
    (7.5, "10*3/uL", "10*9/L", None, 7.5),
    (7500, "/uL", "10*9/L", None, 7.5),
    (25, "kg/m2", "g/cm2", None, 2.5),
    (14, "g/dL", "g/L", None, 140),
    (1, "dl", "mL", None, 100),
    (30, "U/L", "ukat/L", None, 0.5),
    (2, "a", "mo", None, 24),
    (5, "m[iU]/L", "u[iU]/mL", None, 5),
]


@pytest.mark.parametrize(("value", "unit", "wanted", "molar_mass", "expected"), KNOWN)
def test_known_conversions(
    value: float, unit: str, wanted: str, molar_mass: float | None, expected: float
) -> None:
    assert convert(value, unit, wanted, molar_mass) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("unit", "wanted", "molar_mass"),
    [
        ("mmol/L", "mg/dL", None), ("mg/dL", "mm[Hg]", 180.0), ("kg", "cm", None), ("[iU]/L", "U/L", None),
        ("meq/L", "mmol/L", None), ("mmHg", "mm[Hg]", None), ("MG/DL", "mg/dL", None), ("", "kg", None),
        ("mg/(24.h)", "mg/h", None), ("x" * 100, "kg", None), ("kg\x00", "kg", None), ("µg/L", "ug/L", None),
        ("mmol2/L", "mg/dL", 180.0), ("0/L", "/L", None),
        ("Cel/min", "K/min", None),
    ],
)  # fmt: skip
def test_what_does_not_convert_is_refused(unit: str, wanted: str, molar_mass: float | None) -> None:
    with pytest.raises(UnitError):
        convert(1.0, unit, wanted, molar_mass)


@given(st.floats(-1e6, 1e6), st.sampled_from(KNOWN))
def test_there_and_back(value: float, known: tuple[float, str, str, float | None, float]) -> None:
    _, unit, wanted, molar_mass, _ = known
    back = convert(convert(value, unit, wanted, molar_mass), wanted, unit, molar_mass)
    assert math.isclose(back, value, rel_tol=1e-9, abs_tol=1e-9)


@given(st.text(max_size=30))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    with contextlib.suppress(UnitError):
        convert(1.0, text, "kg")
