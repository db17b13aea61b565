"""Units of the Unified Code for Units of Measure, as far as clinical measurements need them.

A unit is a factor to base units and a dimension; two units of one dimension convert by the ratio of their
factors, exactly (fractions). Between mass and amount of substance (mg/dL, mmol/L) the molar mass of what was
measured is needed, and is the mapping's to state. Degrees Celsius and Fahrenheit have an offset and stand
alone. Arbitrary units (`[iU]`, `U` of enzymes) and equivalents convert only to multiples of themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from sfumato.errors import SfumatoError

_Dimension = tuple[tuple[str, int], ...]


class UnitError(SfumatoError):
    """A unit that is not understood, or does not convert to the one wanted. It names units, never a value."""


@dataclass(frozen=True)
class UnitScale:
    """value in base units = factor * value + offset."""

    factor: Fraction
    dimension: _Dimension
    offset: Fraction = Fraction(0)


_PREFIXES = {
    "Y": 24, "Z": 21, "E": 18, "P": 15, "T": 12, "G": 9, "M": 6, "k": 3, "h": 2, "da": 1, "d": -1, "c": -2,
    "m": -3, "u": -6, "n": -9, "p": -12, "f": -15, "a": -18,
}  # fmt: skip
# Metric atoms take prefixes. Dimensions are in gram, metre, second, mole, kelvin and counted things.
_METRIC: dict[str, tuple[Fraction, dict[str, int]]] = {
    "g": (Fraction(1), {"g": 1}),
    "m": (Fraction(1), {"m": 1}),
    "s": (Fraction(1), {"s": 1}),
    "mol": (Fraction(1), {"mol": 1}),
    "K": (Fraction(1), {"K": 1}),
    "L": (Fraction(1, 1000), {"m": 3}),
    "l": (Fraction(1, 1000), {"m": 3}),
    "Pa": (Fraction(1000), {"g": 1, "m": -1, "s": -2}),
    "bar": (Fraction(10**8), {"g": 1, "m": -1, "s": -2}),
    "m[Hg]": (Fraction(133_322_000), {"g": 1, "m": -1, "s": -2}),
    "m[H2O]": (Fraction(9_806_650), {"g": 1, "m": -1, "s": -2}),
    "Hz": (Fraction(1), {"s": -1}),
    "J": (Fraction(1000), {"g": 1, "m": 2, "s": -2}),
    "cal": (Fraction(4184), {"g": 1, "m": 2, "s": -2}),
    "W": (Fraction(1000), {"g": 1, "m": 2, "s": -3}),
    "kat": (Fraction(1), {"mol": 1, "s": -1}),
    "U": (Fraction(1, 60 * 10**6), {"mol": 1, "s": -1}),
    "[iU]": (Fraction(1), {"[iU]": 1}),
    "[IU]": (Fraction(1), {"[iU]": 1}),
    "eq": (Fraction(1), {"eq": 1}),
    "osm": (Fraction(1), {"osm": 1}),
    "t": (Fraction(10**6), {"g": 1}),
}
_PLAIN: dict[str, tuple[Fraction, dict[str, int]]] = {
    "%": (Fraction(1, 100), {}),
    "[ppm]": (Fraction(1, 10**6), {}),
    "min": (Fraction(60), {"s": 1}),
    "h": (Fraction(3600), {"s": 1}),
    "d": (Fraction(86_400), {"s": 1}),
    "wk": (Fraction(604_800), {"s": 1}),
    "mo": (Fraction(31_557_600, 12), {"s": 1}),
    "a": (Fraction(31_557_600), {"s": 1}),
    "[lb_av]": (Fraction(45_359_237, 100_000), {"g": 1}),
    "[oz_av]": (Fraction(45_359_237, 1_600_000), {"g": 1}),
    "[in_i]": (Fraction(254, 10_000), {"m": 1}),
    "[ft_i]": (Fraction(3048, 10_000), {"m": 1}),
    "[pH]": (Fraction(1), {"[pH]": 1}),
}
_SPECIAL = {
    "Cel": UnitScale(Fraction(1), (("K", 1),), Fraction(27315, 100)),
    "[degF]": UnitScale(Fraction(5, 9), (("K", 1),), Fraction(45967, 180)),
}
_PART = re.compile(r"(10[*^])([+-]?\d{1,2})?|((?:[A-Za-z%]|\[[A-Za-z0-9_']+\])+)([+-]?\d)?|(\d{1,6})")
_MOST_LETTERS = 64


def parse(code: str) -> UnitScale:
    """The unit that a UCUM code stands for."""
    text = re.sub(r"\{[^{}]*\}", "", code)
    if not code or len(code) > _MOST_LETTERS or not code.isascii():
        raise _unknown(code)
    if text in _SPECIAL:
        return _SPECIAL[text]
    factor, sign = Fraction(1), 1
    dimension: dict[str, int] = {}
    for part in re.split(r"([./])", text):
        if part in (".", "/"):
            sign = -1 if part == "/" else 1
            continue
        if not part:  # an annotation alone stands for 1; so does nothing before the first slash
            continue
        f, d = _term(part, code)
        factor *= f**sign
        for base, power in d.items():
            dimension[base] = dimension.get(base, 0) + sign * power
    return UnitScale(factor, tuple(sorted((b, p) for b, p in dimension.items() if p)))


def _term(part: str, code: str) -> tuple[Fraction, dict[str, int]]:
    found = _PART.fullmatch(part)
    if found is None:
        raise _unknown(code)
    if found[1]:
        return Fraction(10) ** int(found[2] or 1), {}
    if found[5]:
        if not int(found[5]):
            raise _unknown(code)
        return Fraction(int(found[5])), {}
    power = int(found[4] or 1)
    factor, dimension = _atom(found[3], code)
    return factor**power, {base: p * power for base, p in dimension.items()}


def _atom(text: str, code: str) -> tuple[Fraction, dict[str, int]]:
    known = _PLAIN.get(text) or _METRIC.get(text)
    if known is not None:
        return known
    for prefix, power in _PREFIXES.items():
        rest = text.removeprefix(prefix)
        if rest != text and rest in _METRIC:
            factor, dimension = _METRIC[rest]
            return factor * Fraction(10) ** power, dimension
    raise _unknown(code)


def _unknown(code: str) -> UnitError:
    return UnitError(
        f"the unit {code[:_MOST_LETTERS]!r} is not understood.", hint="a UCUM code, such as mg/dL"
    )


def convert(value: float, unit: str, wanted: str, molar_mass: float | None = None) -> float:
    """A value in another unit of the same dimension.

    molar_mass: in g/mol, of what was measured; only with it do mass and amount of substance convert.
    """
    if unit == wanted:
        return float(value)
    a, b = parse(unit), parse(wanted)
    exact = Fraction(Decimal(repr(float(value))))
    here, there = dict(a.dimension), dict(b.dimension)
    factor = a.factor
    if here != there and molar_mass:
        mass, amount = here.get("g", 0), here.get("mol", 0)
        by = Fraction(Decimal(repr(float(molar_mass))))
        if (mass, amount) == (1, 0) and there.get("mol") == 1:
            here, factor = _exchanged(here, "g", "mol"), factor / by
        elif (mass, amount) == (0, 1) and there.get("g") == 1:
            here, factor = _exchanged(here, "mol", "g"), factor * by
    if here != there:
        raise UnitError(
            f"{unit[:64]!r} does not convert to {wanted[:64]!r}.", hint="state a molar_mass, if it is that"
        )
    return float((exact * factor + a.offset - b.offset) / b.factor)


def _exchanged(dimension: dict[str, int], old: str, new: str) -> dict[str, int]:
    changed = {base: power for base, power in dimension.items() if base != old}
    return changed | {new: 1}
