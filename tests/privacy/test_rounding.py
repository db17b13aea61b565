"""Outward rounding: never less than the exact amount, and hardly more."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.privacy.rounding import ceil_units, down, exact, shown, sqrt_up, sum_up, up

amounts = st.floats(min_value=0, max_value=1e6, allow_nan=False)


def test_a_float_is_the_decimal_it_prints():
    assert exact(0.1) == Fraction(1, 10)
    assert sum_up([0.1] * 10) == 1.0
    assert sum_up([0.1, 0.2]) == 0.3


@given(st.lists(amounts, max_size=20))
def test_sums_are_never_too_small_and_hardly_too_large(numbers):
    total = sum(map(exact, numbers), Fraction(0))
    assert total <= exact(sum_up(numbers)) <= total * (1 + Fraction(1, 10**14)) + Fraction(1, 10**320)


@given(st.fractions(min_value=0, max_value=10**6))
def test_up_and_down_enclose(number):
    assert exact(down(number)) <= number <= exact(up(number))
    assert up(number) <= math.nextafter(math.nextafter(down(number), math.inf), math.inf)


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_roots_are_never_too_small(number):
    root = sqrt_up(number)
    assert Fraction(root) ** 2 >= exact(number) and exact(root) ** 2 >= exact(number)
    assert root <= math.sqrt(number) * (1 + 1e-14)


@given(st.floats(min_value=1e-12, max_value=1e8))
def test_shown_numbers_lean_to_the_weaker_side(number):
    assert Fraction(Decimal(shown(number))) >= exact(number)
    assert Fraction(Decimal(shown(number, upward=False))) <= exact(number)
    assert math.isclose(float(shown(number)), number, rel_tol=2e-5)


def test_zero_has_no_sign():
    assert math.copysign(1, down(Fraction(0))) == 1


@given(st.fractions(min_value=0, max_value=100))
def test_units_are_rounded_up(number):
    assert number <= Fraction(ceil_units(number, 10**12), 10**12) < number + Fraction(1, 10**12)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, "1", None, True, 1j, [1]])
def test_what_is_no_amount_is_refused(bad):
    with pytest.raises(ParameterError):
        exact(bad)


def test_numbers_of_numpy_are_numbers():
    assert exact(np.float64(0.1)) == Fraction(1, 10)
    assert exact(np.int32(3)) == 3
    assert exact(np.float32(0.5)) == Fraction(1, 2)


def test_an_amount_too_large_is_refused():
    with pytest.raises(ParameterError):
        up(Fraction(10) ** 400)
    with pytest.raises(ParameterError):
        sqrt_up(-1)
    with pytest.raises(ParameterError):
        sqrt_up(Fraction(10) ** 800)
    assert 0 < sqrt_up(Fraction(1, 10**800)) < 1e-300
    assert sqrt_up(0) == 0 and sqrt_up(4) == pytest.approx(2, rel=1e-15) and sqrt_up(2) == 1.4142135623730951
