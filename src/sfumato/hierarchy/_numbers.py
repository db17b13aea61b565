"""Numbers as people write them: exact, and without surprises from binary fractions."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation, localcontext
from fractions import Fraction

_LARGEST = 400  # powers of ten; a text of a few characters must not become a number of a billion digits


def number(value: object) -> Fraction | None:
    """The number a value is or spells, as it is written (0.1 is a tenth); None if it is none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, Fraction):
        return value
    text = str(value).strip()
    if len(text) > _LARGEST:
        return None
    try:
        exact = Decimal(text)
    except InvalidOperation:
        return None
    if not exact.is_finite() or abs(exact.adjusted()) > _LARGEST:
        return None
    return Fraction(exact)


def said(value: float | Fraction) -> str:
    """A number exactly, in decimal digits: two numbers are never written the same."""
    exact = number(value)
    assert exact is not None
    if exact.denominator == 1:
        return str(exact.numerator)
    with localcontext(prec=4 * _LARGEST):  # what was written in decimals ends in decimals
        return f"{(Decimal(exact.numerator) / Decimal(exact.denominator)).normalize():f}"
