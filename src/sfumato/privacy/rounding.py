"""Privacy amounts are rounded outward: what is stated is never less than what was spent.

A float stands for the decimal number it prints as, so `0.1` is one tenth and ten tenths make one. All
arithmetic runs on exact fractions and ends with one rounding, upwards. The result is exact to 17 digits
and never too small.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import SupportsFloat, SupportsIndex

from sfumato.errors import ParameterError

Number = int | float | Fraction | Decimal


def exact(number: object, name: str = "the amount") -> Fraction:
    """The number as a fraction; a float counts as the shortest decimal that prints it."""
    if type(number) is float and math.isfinite(number):  # the usual case first: the checks below are slow
        return Fraction(repr(number))
    if isinstance(number, bool) or not isinstance(number, (SupportsFloat, SupportsIndex)):
        raise ParameterError(f"{name} must be a number.", hint="give a plain number such as 0.5")
    if isinstance(number, (int, Fraction)):
        return Fraction(number)
    if isinstance(number, SupportsIndex):  # the whole numbers of NumPy
        return Fraction(number.__index__())
    if not math.isfinite(float(number)):
        raise ParameterError(f"{name} must be finite.", hint="infinite or undefined amounts promise nothing")
    return Fraction(number) if isinstance(number, Decimal) else Fraction(repr(float(number)))


def up(number: Fraction) -> float:
    """The smallest float that prints as a decimal not below the number."""
    try:
        rounded = float(number)
    except OverflowError:
        raise ParameterError("the amount is too large to be written as a number.", hint="check it") from None
    while Fraction(repr(rounded)) < number:
        rounded = math.nextafter(rounded, math.inf)
    return rounded


def down(number: Fraction) -> float:
    """The largest float that prints as a decimal not above the number."""
    return -up(-number) + 0.0  # never a minus zero


def sum_up(numbers: Iterable[Number]) -> float:
    """The sum, rounded up once at the end."""
    return up(sum((exact(n) for n in numbers), Fraction(0)))


def sqrt_up(number: Number) -> float:
    """A float whose square is not below the number: L2 sensitivities come from squared ones."""
    target = exact(number)
    if target < 0:
        raise ParameterError("a square root needs a number that is not negative.", hint="check it")
    # The whole root of the number moved to about 240 bits: right to 118 bits, and exact where a root exists.
    shift = 120 - (target.numerator.bit_length() - target.denominator.bit_length()) // 2
    moved = target * Fraction(4) ** shift
    whole = math.isqrt(math.floor(moved))
    root = up((whole + (whole**2 < moved)) / Fraction(2) ** shift)
    # Both readings of the float, binary and printed, must be large enough.
    while min(Fraction(root), Fraction(repr(root))) ** 2 < target:
        root = math.nextafter(root, math.inf)
    return root


def ceil_units(number: Fraction, unit: int) -> int:
    """How many 1/unit the number takes, rounded up."""
    return math.ceil(number * unit)


def shown(number: float, digits: int = 6, *, upward: bool = True) -> str:
    """The number for people: a few digits, rounded to the side that promises less."""
    context = Context(prec=digits, rounding=ROUND_CEILING if upward else ROUND_FLOOR)
    short = context.create_decimal(repr(float(number)))
    plain = format(short.normalize(), "f")
    return plain if 1e-4 <= abs(number) < 1e9 or number == 0 else f"{short.normalize():e}"


def shown_factor(epsilon: float) -> str | None:
    """e to the epsilon, rounded up, for people; None where no number means anything to them."""
    if epsilon > 600:
        return None
    return shown(math.nextafter(math.exp(epsilon), math.inf), 3)
