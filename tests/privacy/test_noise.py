"""Noise has exactly the law it is said to have, and costs no more than its grant.

The tests of laws use exact binomial intervals for each value, at a false-alarm rate of 1e-6 for the whole
test:
they fail only on contradiction, whatever the draw. Their power against a scale that is off by a tenth is
computed.
"""

import itertools
import math
import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.errors import BudgetError, ParameterError, SfumatoError
from sfumato.privacy import Budget, Ledger, noise

FALSE_ALARM = 1e-6
DRAWS = 1_000_000 if os.environ.get("SFUMATO_SOAK") else 30_000
BIG = 2**63 - 1


def grant(**amount):
    kind = "rho" if "rho" in amount else "epsilon"
    return Ledger.in_memory(Budget(**{kind: 1000.0})).grant(**amount, purpose="test")


# -- exact laws --------------------------------------------------------------------------------------


def laplace_mass(x, b):
    q = math.exp(-1 / b)
    return (1 - q) / (1 + q) * q ** abs(x)


def gaussian_mass(x, s):
    total = math.fsum(math.exp(-(k**2) / (2 * s**2)) for k in range(-int(40 * s) - 40, int(40 * s) + 41))
    return math.exp(-(x**2) / (2 * s**2)) / total


def events(mass, scale):
    """Probabilities of the values around 0, one by one, and of both tails beyond each."""
    width = int(4 * scale) + 1
    single = [mass(x, scale) for x in range(-width, width + 1)]
    half = [math.fsum([mass(0, scale)] + [2 * mass(x, scale) for x in range(1, t + 1)]) for t in range(width)]
    return np.array(single + half)


def observed(values, scale):
    width = int(4 * scale) + 1
    single = [(values == x).sum() for x in range(-width, width + 1)]
    return np.array(single + [(abs(values) <= t).sum() for t in range(width)])


def contradicted(counts, n, probabilities):
    """Whether some count contradicts its probability, at FALSE_ALARM for all together (exact binomial)."""
    level = FALSE_ALARM / len(counts) / 2
    probabilities = np.clip(probabilities, 0, 1)
    low = stats.binom.cdf(counts, n, probabilities)
    high = stats.binom.sf(counts - 1, n, probabilities)
    return bool((np.minimum(low, high) < level).any())


def power(wrong, right, n):
    """At least this likely is the test to fail when the probabilities are wrong: by its best single event."""
    level = FALSE_ALARM / len(right) / 2
    low, high = stats.binom.ppf(level, n, right), stats.binom.isf(level, n, right)
    return float((1 - (stats.binom.cdf(high + 1, n, wrong) - stats.binom.cdf(low - 2, n, wrong))).max())


def test_laplace_has_its_exact_distribution():
    for epsilon, sensitivity in [(0.5, 1), (1.0, 3), (2.0, 1)]:
        noisy = noise.laplace(np.zeros(DRAWS, dtype=np.int64), sensitivity, grant(epsilon=epsilon))
        scale = sensitivity / epsilon
        assert noisy.scale == pytest.approx(scale, rel=1e-12)
        assert not contradicted(observed(noisy.values, scale), DRAWS, events(laplace_mass, scale))


def test_gaussian_has_its_exact_distribution():
    for rho, sensitivity in [(0.125, 1.0), (0.5, 3.0), (1.0, 1.0)]:
        noisy = noise.gaussian(np.zeros(DRAWS, dtype=np.int64), sensitivity, grant(rho=rho))
        scale = sensitivity / math.sqrt(2 * rho)
        assert noisy.scale == pytest.approx(scale, rel=1e-12)
        assert not contradicted(observed(noisy.values, scale), DRAWS, events(gaussian_mass, scale))


@pytest.mark.parametrize("off", [0.9, 1.1])
@pytest.mark.parametrize(
    ("mass", "scales"),
    [(laplace_mass, (2.0, 3.0, 0.5)), (gaussian_mass, (2.0, 3.0, 0.70711))],
    ids=["laplace", "gaussian"],
)
def test_a_scale_off_by_a_tenth_would_be_caught(mass, scales, off):
    for scale in scales:
        right = events(mass, scale)
        width = int(4 * scale) + 1
        moved = [mass(x, scale * off) for x in range(-width, width + 1)]
        inner = [math.fsum(mass(x, scale * off) for x in range(-t, t + 1)) for t in range(width)]
        assert power(np.array(moved + inner), right, DRAWS) > 0.999
    # and it is caught in fact: draw with the wrong scale, test for the right one
    if mass is laplace_mass:
        drawn = noise.laplace(np.zeros(DRAWS, dtype=np.int64), 1, grant(epsilon=0.9), scale=2.0 * 1.1).values
    else:
        drawn = noise.gaussian(np.zeros(DRAWS, dtype=np.int64), 1, grant(rho=0.9), scale=2.0 * 1.1).values
    assert contradicted(observed(drawn, 2.0), DRAWS, events(mass, 2.0))


def test_cells_are_independent_of_each_other():
    """Signs of neighbouring cells agree as often as they must, at 1e-6."""
    drawn = noise.laplace(np.zeros((DRAWS, 2), dtype=np.int64), 1, grant(epsilon=0.5)).values > 0
    p = (1 - laplace_mass(0, 2.0)) / 2
    both = np.array([(drawn[:, 0] & drawn[:, 1]).sum(), (drawn[:, 0] & ~drawn[:, 1]).sum()])
    assert not contradicted(both, DRAWS, np.array([p * p, p * (1 - p)]))


def permute_and_flip_law(scores, rate):
    """Through every order of the candidates: accept one with probability exp(rate (score - best))."""
    chance = [math.exp(rate * (s - max(scores))) for s in scores]
    law = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        reached = 1.0
        for i in order:
            law[i] += reached * chance[i] / len(orders)
            reached *= 1 - chance[i]
    return law


def exponential_law(scores, rate):
    weight = np.exp(rate * (np.array(scores, dtype=float) - max(scores)))
    return weight / weight.sum()


@pytest.mark.parametrize(
    ("kind", "monotone", "dtype"),
    [
        ("epsilon", False, np.int64),
        ("epsilon", True, np.float64),
        ("rho", True, np.int64),
        ("rho", False, np.float64),
    ],
)
def test_noisy_max_has_its_exact_distribution(kind, monotone, dtype):
    scores, n, sensitivity = [0, 1, 3, 1], 1_000, 1
    amount = 1.0 if kind == "epsilon" else 0.125  # rho = epsilon^2 / 8
    rate = 1.0 / (sensitivity * (1 if monotone else 2))
    law = (permute_and_flip_law if kind == "epsilon" else exponential_law)(scores, rate)
    counts = np.zeros(4, dtype=int)
    for _ in range(n // 1000):
        ledger = Ledger.in_memory(Budget(**{kind: 1000.0}))
        for _ in range(1000):
            ticket = ledger.grant(**{kind: amount}, purpose="pick")
            found = noise.noisy_max(np.array(scores, dtype=dtype), sensitivity, ticket, monotone=monotone)
            counts[found] += 1
    assert not contradicted(counts, n, law)
    # A scale off by two, as when the factor for scores that are not monotone is forgotten, is caught.
    wrong = (permute_and_flip_law if kind == "epsilon" else exponential_law)(scores, rate * 2)
    assert power(wrong, law, n) > 0.999


def test_the_laws_keep_their_promise_exactly():
    """The largest log-ratio of exact probabilities over neighbouring scores is at most epsilon."""
    base = [0, 1, 3, 1]
    for monotone in (False, True):
        moves = [0, 1] if monotone else [-1, 0, 1]
        rate = 1.0 / (1 if monotone else 2)
        law = permute_and_flip_law(base, rate)
        worst = max(
            abs(
                np.log(law / permute_and_flip_law([a + b for a, b in zip(base, move, strict=True)], rate))
            ).max()
            for move in itertools.product(moves, repeat=4)
        )
        assert 0.5 < worst <= 1.0 + 1e-9


# -- costs -------------------------------------------------------------------------------------------


@given(st.floats(1e-6, 50), st.integers(1, 1000))
@settings(max_examples=60)
def test_laplace_costs_at_most_its_grant(epsilon, sensitivity):
    ticket = grant(epsilon=epsilon)
    scale = noise.laplace([], sensitivity, ticket).scale
    assert Fraction(sensitivity) / Fraction(scale) <= ticket.loss  # exactly, in fractions
    assert scale <= sensitivity / epsilon * (1 + 1e-5)  # 1e-5: amounts are whole 10^-12


@given(st.floats(1e-6, 50), st.floats(1e-3, 1000))
@settings(max_examples=60)
def test_gaussian_costs_at_most_its_grant(rho, sensitivity):
    ticket = grant(rho=rho)
    scale = noise.gaussian([], sensitivity, ticket).scale
    assert (Fraction(sensitivity) / Fraction(scale)) ** 2 / 2 <= ticket.loss
    assert scale <= sensitivity / math.sqrt(2 * rho) * (1 + 1e-5)


@given(st.floats(1e-5, 50), st.integers(1, 1000))
@settings(max_examples=30)
def test_laplace_takes_rho_as_pure_noise(rho, sensitivity):
    ticket = grant(rho=rho)
    scale = noise.laplace([], sensitivity, ticket).scale
    assert (Fraction(sensitivity) / Fraction(scale)) ** 2 / 2 <= ticket.loss
    assert scale <= sensitivity / math.sqrt(2 * rho) * (1 + 1e-5)


@given(st.floats(0.1, 1e4), st.floats(0.1, 20))
@settings(max_examples=60)
def test_a_stated_cost_buys_its_scale(scale, sensitivity):
    rho = noise.gaussian_cost(sensitivity, scale)
    assert Fraction(repr(rho)) >= (Fraction(sensitivity) / Fraction(scale)) ** 2 / 2
    if rho <= 1000:
        assert noise.gaussian([], sensitivity, grant(rho=rho), scale=scale).scale == scale
    epsilon = noise.laplace_cost(3, scale)
    assert noise.laplace([], 3, grant(epsilon=epsilon), scale=scale).scale == scale


def test_too_little_noise_for_the_grant_is_refused():
    ticket = grant(rho=0.1)
    with pytest.raises(BudgetError, match="costs more"):
        noise.gaussian([1], 1, ticket, scale=2.2)
    assert noise.gaussian([1], 1, ticket, scale=2.3).scale == 2.3
    with pytest.raises(BudgetError, match="costs more"):
        noise.laplace([1], 1, grant(epsilon=0.1), scale=9.99)


def test_kinds_of_grants_are_not_mixed():
    with pytest.raises(BudgetError):
        noise.gaussian([1], 1, grant(epsilon=1.0))
    with pytest.raises(BudgetError):
        noise.permute_and_flip([1], 1, grant(rho=1.0))
    assert noise.permute_and_flip([1], 1, grant(epsilon=1.0)) == 0


def test_amounts_out_of_proportion_are_refused():
    for draw in (
        lambda: noise.gaussian([1], 1e308, grant(rho=1e-12)),
        lambda: noise.gaussian([1], 1.0, grant(rho=1.0), scale=1e-200),
        lambda: noise.laplace([1], 1, grant(epsilon=1.0), scale=1e-320),
    ):
        with pytest.raises(SfumatoError):
            draw()
    assert noise.gaussian([1], 1e-200, grant(rho=1.0)).scale > 0


def test_monotone_scores_need_add_remove_neighbours():
    ledger = Ledger.in_memory(Budget(epsilon=1.0, neighbours="replace"))
    ticket = ledger.grant(epsilon=1.0, purpose="x")
    with pytest.raises(ParameterError, match="monotone"):
        noise.noisy_max([1, 2], 1, ticket, monotone=True)
    assert not ticket.burnt and noise.noisy_max([1, 200], 1, ticket) in (0, 1)


# -- arrays ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0,), (7,), (3, 4), (2, 3, 4), (), (2, 0, 3)])
def test_shapes_are_kept(shape):
    noisy = noise.laplace(np.zeros(shape, dtype=np.int32), 1, grant(epsilon=1.0)).values
    assert noisy.shape == shape and noisy.dtype == np.int64
    assert noise.gaussian(np.zeros(shape, dtype=np.uint8), 1, grant(rho=1.0)).values.shape == shape


def test_order_of_cells_is_kept():
    values = np.arange(12, dtype=np.int64).reshape(3, 4)[:, ::2].T * 10**9  # not contiguous
    noisy = noise.laplace(values, 1, grant(epsilon=1.0)).values
    assert (abs(noisy - values) < 10**6).all()


def test_results_stop_at_64_bits():
    values = np.array([BIG, -BIG - 1] * 50)
    noisy = noise.laplace(values, 1, grant(epsilon=0.1)).values
    assert ((noisy > BIG - 10**4) == (values > 0)).all()  # clamped, never wrapped around
    unsigned = noise.laplace(np.array([2**64 - 1], dtype=np.uint64), 1, grant(epsilon=0.1)).values
    assert unsigned[0] > BIG - 10**4
    assert noise.laplace([0, BIG], 1, grant(epsilon=1e-12)).values.dtype == np.int64


@pytest.mark.parametrize(
    "draw",
    [
        lambda g: noise.laplace([0.5], 1, g),
        lambda g: noise.laplace(["a"], 1, g),
        lambda g: noise.laplace([True], 1, g),
        lambda g: noise.laplace([2**70], 1, g),
        lambda g: noise.laplace(np.zeros(0), 1, g),
        lambda g: noise.laplace([1], 0, g),
        lambda g: noise.laplace([1], -1, g),
        lambda g: noise.laplace([1], 1.5, g),
        lambda g: noise.laplace([1], True, g),
        lambda g: noise.laplace([1], 1, g, scale=0),
        lambda g: noise.laplace([1], 1, g, scale=math.nan),
        lambda g: noise.laplace([1], 1, g, scale=math.inf),
        lambda g: noise.noisy_max([], 1, g),
        lambda g: noise.noisy_max([[1, 2]], 1, g),
        lambda g: noise.noisy_max([1, 2], 0.5, g),
        lambda g: noise.noisy_max([1.0, 2.0], 0.0, g),
        lambda g: noise.noisy_max([1.0, 2.0], math.inf, g),
        lambda g: noise.noisy_max(["a"], 1, g),
    ],
)
def test_public_parameters_are_checked_before_the_grant_is_burnt(draw):
    ticket = grant(epsilon=1.0)
    with pytest.raises(ParameterError):
        draw(ticket)
    assert not ticket.burnt


def test_a_draw_that_fails_has_been_paid_for():
    ticket = grant(epsilon=1.0)
    with pytest.raises(SfumatoError):
        noise.noisy_max([1.0, math.nan], 1, ticket)
    assert ticket.burnt
    ticket = grant(epsilon=1.0)
    with pytest.raises(SfumatoError):
        noise.noisy_max([1.0, math.inf], 1, ticket)
    assert ticket.burnt


def test_a_draw_that_fails_inside_opendp_has_been_paid_for_and_says_nothing():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    picks_from_nothing = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=1.0)
    ticket = grant(epsilon=1.0)
    with pytest.raises(SfumatoError, match="spent") as caught:
        noise._drawn(picks_from_nothing, [], ticket)
    assert ticket.burnt and "candidates" not in str(caught.value)


@pytest.mark.parametrize("draw", [noise.laplace, noise.noisy_max, noise.permute_and_flip])
def test_every_draw_burns_its_grant(draw):
    ticket = grant(epsilon=1.0)
    draw([1, 2, 3], 1, ticket)
    with pytest.raises(BudgetError):
        draw([1, 2, 3], 1, ticket)
    ticket = grant(rho=1.0)
    noise.gaussian([1, 2, 3], 1, ticket)
    with pytest.raises(BudgetError):
        noise.gaussian([1, 2, 3], 1, ticket)


def test_sigma_is_the_standard_deviation():
    noisy = noise.laplace([], 1, grant(epsilon=0.7))
    exact_variance = math.fsum(x * x * laplace_mass(x, noisy.scale) for x in range(-400, 401))
    assert noisy.sigma == pytest.approx(math.sqrt(exact_variance))
    noisy = noise.gaussian([], 1, grant(rho=0.2))
    exact_variance = math.fsum(x * x * gaussian_mass(x, noisy.scale) for x in range(-100, 101))
    assert noisy.sigma == pytest.approx(math.sqrt(exact_variance))
    assert noisy.sigma**2 >= exact_variance * (1 - 1e-12)


def test_a_cost_that_is_not_finite_is_refused():
    with pytest.raises(ParameterError):
        noise.gaussian_cost(1, 1e-200)
    with pytest.raises(ParameterError):
        noise.laplace_cost(1, 0)


def test_forked_children_draw_different_noise():
    """Two children of one process must not repeat each other's noise: chance of a coincidence below 1e-50."""
    noise.laplace([0], 1, grant(epsilon=1.0))  # the generator is in use before the fork
    drawn = []
    for _ in range(2):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            values = noise.laplace(np.zeros(16, dtype=np.int64), 1, grant(epsilon=1e-6)).values
            os.write(write, values.tobytes())
            os._exit(0)
        os.waitpid(child, 0)
        drawn.append(os.read(read, 16 * 8))
        os.close(read), os.close(write)
    assert len(drawn[0]) == 128 and drawn[0] != drawn[1]
