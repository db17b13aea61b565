"""Conversions and composition of differential privacy against exact values, OpenDP, and each other."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.privacy import ZCDP, ApproxDP, KAnonymity, PureDP, Unit
from sfumato.privacy.differential import for_person, to_approx, to_zcdp, zcdp_epsilon
from sfumato.privacy.rounding import exact

epsilons = st.floats(min_value=1e-6, max_value=20)
rhos = st.floats(min_value=1e-6, max_value=50)
deltas = st.floats(min_value=1e-15, max_value=0.5)


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.5, 5.0, 50.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6, 1e-3, 0.1])
def test_zcdp_conversion_agrees_with_opendp(rho, delta):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    gaussian = dp.m.make_gaussian(*space, scale=math.sqrt(1 / (2 * rho)))
    theirs = dp.c.make_zCDP_to_approxDP(gaussian).map(1.0).epsilon(delta)
    ours = zcdp_epsilon(rho, delta)
    assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-9)


@given(rhos, deltas)
@settings(max_examples=50, deadline=None)
def test_zcdp_conversion_covers_the_gaussian_mechanism(rho, delta):
    """The exact delta of the continuous Gaussian at the epsilon stated is not above the delta stated."""
    epsilon = zcdp_epsilon(rho, delta)
    mu = math.sqrt(2 * rho)
    normal = lambda x: 0.5 * math.erfc(-x / math.sqrt(2))  # noqa: E731
    true = normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal(-mu / 2 - epsilon / mu)
    assert true <= delta * (1 + 1e-6)
    assert epsilon <= rho + 2 * math.sqrt(rho * math.log(1 / delta)) + 1e-9  # the classic, looser bound


@given(rhos, deltas)
@settings(max_examples=50, deadline=None)
def test_no_order_does_much_better(rho, delta):
    found = zcdp_epsilon(rho, delta)
    for x in (i / 10 for i in range(-60, 120)):
        a = 1 + math.exp(x)
        other = a * rho + math.log(1 - 1 / a) + (-math.log(delta) - math.log(a)) / (a - 1)
        assert found <= max(0.0, other) * (1 + 1e-6) + 1e-9


def test_extreme_amounts_convert():
    assert zcdp_epsilon(0, 1e-9) == 0
    assert 0 <= zcdp_epsilon(1e-30, 1e-9) < 1e-6
    assert zcdp_epsilon(1e5, 1e-9) > 1e5
    for bad in [(-1, 0.1), (1, 0), (1, 1), (math.nan, 0.1), (1, math.nan)]:
        with pytest.raises(ParameterError):
            zcdp_epsilon(*bad)


@given(epsilons)
def test_pure_implies_zcdp_at_half_the_square(epsilon):
    claim = to_zcdp(PureDP(epsilon, assumptions=("A",)))
    wanted = exact(epsilon) ** 2 / 2
    assert wanted <= exact(claim.rho) <= wanted * (1 + Fraction(1, 10**15))
    assert claim.assumptions == ("A",)


def test_conversions_that_do_not_exist_are_refused():
    with pytest.raises(ParameterError):
        to_zcdp(ApproxDP(1, 1e-9))
    with pytest.raises(ParameterError):
        to_approx(ZCDP(1))
    with pytest.raises(ParameterError):
        to_approx(ApproxDP(1, 1e-3), 1e-9)
    assert to_zcdp(ApproxDP(1, 0)) == ZCDP(0.5)
    assert to_approx(PureDP(1)) == ApproxDP(1, 0)
    assert to_approx(PureDP(1), 1e-9) == ApproxDP(1, 1e-9)


@given(epsilons, st.integers(1, 50))
def test_a_person_costs_as_much_as_their_rows(epsilon, rows):
    pure = for_person(PureDP(epsilon), rows)
    assert exact(pure.epsilon) >= rows * exact(epsilon)
    assert pure.epsilon <= rows * epsilon * (1 + 1e-14)
    zcdp = for_person(ZCDP(epsilon), rows)
    assert exact(zcdp.rho) >= rows**2 * exact(epsilon)
    assert pure.unit == Unit.person(rows) and any(str(rows) in a for a in pure.assumptions)


@given(st.floats(1e-8, 2), st.integers(1, 8))
@settings(deadline=None)
def test_group_delta_is_the_geometric_sum(epsilon, rows):
    delta = 1e-9
    claim = for_person(ApproxDP(epsilon, delta), rows)
    wanted = delta * math.fsum(math.exp(i * epsilon) for i in range(rows))
    assert wanted * (1 - 1e-13) <= claim.delta <= wanted * (1 + 1e-6)
    assert exact(claim.epsilon) >= rows * exact(epsilon)


def test_group_privacy_that_promises_nothing_is_refused():
    with pytest.raises(ParameterError, match="reaches 1"):
        for_person(ApproxDP(5, 1e-6), 10)
    with pytest.raises(ParameterError, match="reaches 1"):
        for_person(ApproxDP(100, 1e-300), 10**6)
    with pytest.raises(ParameterError):
        for_person(PureDP(1, unit=Unit.person(2)), 2)
    with pytest.raises(ParameterError):
        for_person(PureDP(1), 0)


def test_group_delta_at_epsilon_zero_is_the_number_of_rows():
    assert for_person(ApproxDP(0, 1e-9), 5).delta == pytest.approx(5e-9, rel=1e-9)


@given(epsilons, st.integers(2, 6), deltas)
@settings(max_examples=40, deadline=None)
def test_group_privacy_covers_randomized_response(epsilon, rows, delta):
    """A mechanism that meets (epsilon, delta) with equality: its loss over L steps stays within the claim.

    The chain of worst-case laws p_i = min(1, e^eps p_(i-1) + delta) is the most any event can grow.
    """
    try:
        claim = for_person(ApproxDP(epsilon, delta), rows)
    except ParameterError:
        return
    p = start = 1e-6
    for _ in range(rows):
        p = math.exp(epsilon) * p + delta
    bound = math.exp(claim.epsilon) * start + claim.delta
    assert p <= bound * (1 + 1e-9)


def test_only_differential_claims_convert():
    assert not KAnonymity(5, ("a",)).differential and PureDP(1).differential
