"""The audit reaches the exact epsilon, does not pass it, and catches mechanisms that break their promise.

Statistical tests have a false-alarm rate of 1e-6 or less, for any seed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato.assessment.audit import Audit, audit, exact_epsilon
from sfumato.assessment.audit.events import epsilon_low
from sfumato.errors import DataError, ParameterError
from sfumato.privacy import ZCDP, ApproxDP, Budget, Ledger, PureDP, noise
from sfumato.progress import listening
from sfumato.seeds import Key

FALSE_ALARM = 1e-6
Mechanism = Callable[[Any, int], Any]


def randomized_response(epsilon: float, generator: np.random.Generator) -> Mechanism:
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    return lambda bit, n: np.where(generator.random(n) < truth, bit, 1 - bit)


def discrete_laplace(scale: float, generator: np.random.Generator) -> Mechanism:
    stop = -math.expm1(-1 / scale)
    return lambda value, n: value + generator.geometric(stop, n) - generator.geometric(stop, n)


def gaussian(sigma: float, generator: np.random.Generator) -> Mechanism:
    return lambda value, n: value + generator.normal(scale=sigma, size=n)


def fresh() -> np.random.Generator:
    return np.random.default_rng()


# -- how far it reaches ----------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("law", ["randomized response", "discrete Laplace"])
def test_it_reaches_the_exact_epsilon(law: str, epsilon: float) -> None:
    make = randomized_response if law == "randomized response" else discrete_laplace
    parameter = epsilon if law == "randomized response" else 1 / epsilon
    found = audit(make(parameter, fresh()), 1, 0, claim=epsilon, draws=400_000, error=FALSE_ALARM)
    assert 0.8 * epsilon <= found.lower <= epsilon
    assert not found.refutes()
    assert found.refutes(0.8 * epsilon)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_it_reaches_the_epsilon_of_our_own_noise(epsilon: float) -> None:
    ledger = Ledger.in_memory(Budget(epsilon=1000))

    def mechanism(count: int, n: int) -> Any:
        # Cells that hold the same count are as many draws; the grant pays for a sensitivity of one.
        grant = ledger.grant(epsilon=epsilon, purpose="audit")
        return noise.laplace(np.full(n, count), 1, grant).values

    found = audit(mechanism, 41, 40, claim=PureDP(epsilon), draws=80_000, batch=20_000, error=1e-6)
    assert 0.8 * epsilon <= found.lower <= epsilon


@pytest.mark.parametrize("draws", [100, 2_000])
def test_it_exceeds_the_exact_epsilon_no_more_often_than_stated(draws: int) -> None:
    """Errors of a third, so that a bound without the correction for choosing would be found out."""
    generator, error, times = fresh(), 0.3, 400
    passed = 0
    for _ in range(times):
        found = audit(discrete_laplace(1.0, generator), 1, 0, draws=draws, error=error)
        passed += found.lower > 1.0
    assert passed <= stats.binom.isf(FALSE_ALARM, times, error)


@pytest.mark.parametrize("error", [0.02, 0.2])
@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.73, 0.27), (0.95, 0.05), (0.2, 0.01), (0.05, 0.05)])
def test_the_chance_of_error_by_enumeration(p: float, q: float, delta: float, error: float) -> None:
    """All pairs of counts, weighed by their exact probabilities: no draw is involved."""
    for trials in (10, 60, 400):
        k = np.arange(trials + 1)
        law = np.outer(stats.binom.pmf(k, trials, p), stats.binom.pmf(k, trials, q))
        bound = epsilon_low(k[:, None], k[None, :], trials, error, delta)
        # What (epsilon, delta) must at least be for an event with these two probabilities.
        truth = max(0.0, math.log((p - delta) / q)) if p > delta else 0.0
        assert law[bound > truth + 1e-12].sum() <= error


@pytest.mark.soak
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_it_exceeds_the_exact_epsilon_no_more_often_than_stated_in_thousands_of_audits(
    epsilon: float,
) -> None:
    generator, error, times = fresh(), 0.05, 4_000
    passed = sum(
        audit(randomized_response(epsilon, generator), 1, 0, draws=4_000, error=error).lower > epsilon
        for _ in range(times)
    )
    assert passed <= stats.binom.isf(FALSE_ALARM, times, error)


@pytest.mark.soak
def test_the_choice_of_the_event_costs_no_validity_where_nothing_is_to_be_found() -> None:
    """The same law twice, many features: whatever is chosen was luck, and must not be confirmed."""
    generator, error, times = fresh(), 0.3, 100
    passed = 0
    for _ in range(times):
        found = audit(lambda _, n: generator.normal(size=(n, 5)), 1, 0, draws=600, error=error, learn=False)
        passed += found.lower > 0.0
    assert passed <= stats.binom.isf(FALSE_ALARM, times, error)


def test_a_learnt_score_finds_what_no_single_feature_shows() -> None:
    """The sign of a product: each coordinate has the same law under both data sets."""
    generator = fresh()

    def mechanism(sign: int, n: int) -> Any:
        x = generator.normal(size=n)
        y = np.abs(generator.normal(size=n)) * np.sign(x) * np.where(generator.random(n) < 0.9, sign, -sign)
        return np.stack([x, y], axis=1)

    found = audit(mechanism, 1, -1, draws=40_000, error=FALSE_ALARM)
    assert 0.8 * math.log(9) < found.lower <= math.log(9)
    assert "learnt" in found.event


# -- what it catches -------------------------------------------------------------------------------


def test_half_the_noise_is_caught() -> None:
    found = audit(discrete_laplace(0.5, fresh()), 1, 0, claim=1.0, draws=100_000, error=FALSE_ALARM)
    assert found.refutes() and 1.6 < found.lower <= 2.0


def test_a_sensitivity_off_by_two_is_caught() -> None:
    """A replaced person moves two cells, and the noise was scaled for one."""
    draw = discrete_laplace(1.0, fresh())

    def mechanism(table: Any, n: int) -> Any:
        return np.stack([draw(cell, n) for cell in table], axis=1)

    found = audit(mechanism, (5, 4), (4, 5), claim=1.0, draws=100_000, error=FALSE_ALARM)
    assert found.refutes() and 1.5 < found.lower <= 2.0


def test_an_output_without_noise_is_caught() -> None:
    draw = discrete_laplace(1.0, fresh())
    found = audit(
        lambda rows, n: np.stack([draw(rows, n), np.full(n, rows)], axis=1), 11, 10, claim=1.0, draws=20_000
    )
    assert found.refutes() and found.lower > 5


def test_laws_that_never_meet_are_told_apart() -> None:
    """Every output occurs once: the outputs seen are no event, the values that they share are."""
    generator = fresh()
    found = audit(lambda value, n: generator.random(n) + 2 * value, 1, 0, claim=1.0, draws=4_000)
    assert found.refutes() and found.lower > 5


def test_a_rare_leak_is_caught_where_delta_does_not_cover_it() -> None:
    generator = fresh()
    draw = discrete_laplace(1.0, generator)

    def mechanism(value: int, n: int) -> Any:
        return np.where(generator.random(n) < 0.01, 1000 + value, draw(value, n))

    found = audit(mechanism, 1, 0, claim=1.0, draws=100_000, error=FALSE_ALARM)
    assert found.refutes()
    covered = audit(mechanism, 1, 0, claim=ApproxDP(1.0, 0.02), draws=100_000, error=FALSE_ALARM)
    assert not covered.refutes()


def test_noise_that_comes_again_is_caught() -> None:
    def replayed(value: float, n: int) -> Any:
        return value + np.random.default_rng(0).laplace(size=n)

    found = audit(replayed, 1.0, 0.0, claim=1.0, draws=20_000, batch=4_096)
    assert found.replayed and found.refutes() and found.lower == math.inf
    once = audit(lambda value: float(replayed(value, 1)[0]), 1.0, 0.0, claim=1.0, draws=2_000, batched=False)
    assert once.refutes()


def test_constant_and_rare_outputs_are_no_replay() -> None:
    generator = fresh()
    constant = audit(lambda _, n: np.zeros(n), 1, 0, claim=0.1, draws=1_000, batch=50)
    assert not constant.replayed and constant.lower == 0 and not constant.refutes()
    rare = audit(lambda _, n: generator.random(n) < 1e-3, 1, 0, claim=0.1, draws=4_000, batch=50)
    assert not rare.replayed


# -- other kinds of claims -------------------------------------------------------------------------


def test_approximate_claims() -> None:
    """A Gaussian of sigma 1: delta(1) is about 0.127, so (1, 0.13) holds and (1, 0.05) does not."""
    exact = stats.norm.cdf(0.5 - 1) - math.e * stats.norm.cdf(-0.5 - 1)
    assert 0.12 < exact < 0.13
    holds = audit(gaussian(1.0, fresh()), 1, 0, claim=ApproxDP(1.0, 0.13), draws=200_000, error=FALSE_ALARM)
    assert not holds.refutes() and holds.delta == 0.13 and holds.lower > 0.8
    broken = audit(gaussian(1.0, fresh()), 1, 0, claim=ApproxDP(1.0, 0.05), draws=200_000, error=FALSE_ALARM)
    assert broken.refutes()


def test_zcdp_claims() -> None:
    holds = audit(gaussian(1.0, fresh()), 1, 0, claim=ZCDP(0.5), draws=100_000, error=FALSE_ALARM)
    assert not holds.refutes() and holds.delta > 0
    assert holds.claimed is not None and holds.lower < holds.claimed
    broken = audit(gaussian(0.5, fresh()), 1, 0, claim=ZCDP(0.5), draws=100_000, error=FALSE_ALARM)
    assert broken.refutes()
    at = audit(gaussian(0.5, fresh()), 1, 0, claim=ZCDP(0.5), delta=0.01, draws=100_000, error=FALSE_ALARM)
    assert at.delta == 0.01 and at.refutes()


# -- exact epsilon ---------------------------------------------------------------------------------


def by_all_events(p: Any, q: Any, delta: float) -> float:
    """The definition, over every set of outputs and both directions."""
    worst = 0.0
    for size in range(1, len(p) + 1):
        for event in itertools.combinations(range(len(p)), size):
            chosen = list(event)
            for a, b in ((p[chosen].sum(), q[chosen].sum()), (q[chosen].sum(), p[chosen].sum())):
                if a - delta > 1e-12:
                    worst = max(worst, math.inf if b == 0 else math.log((a - delta) / b))
    return worst


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=6),
    st.sampled_from([0.0, 0.01, 0.2]),
)
def test_exact_epsilon_is_the_definition(weights: list[tuple[int, int]], delta: float) -> None:
    table = np.array(weights, float)
    if (table.sum(axis=0) == 0).any():
        table[0] += 1
    p, q = (table / table.sum(axis=0)).T
    assert exact_epsilon(p, q, delta) == pytest.approx(by_all_events(p, q, delta), abs=1e-9)


def test_exact_epsilon_of_known_mechanisms() -> None:
    assert exact_epsilon([0.75, 0.25], [0.25, 0.75]) == pytest.approx(math.log(3))
    assert exact_epsilon([1, 0], [0.5, 0.5]) == math.inf
    assert exact_epsilon([0.5, 0.5], [0.5, 0.5]) == 0
    for wrong in (([0.5, 0.6], [0.5, 0.5], 0.0), ([1.0], [0.5, 0.5], 0.0), ([1.0], [1.0], 1.0)):
        with pytest.raises(ParameterError):
            exact_epsilon(*wrong)


# -- how it behaves --------------------------------------------------------------------------------


def seeded(draws: int = 20_000) -> Audit:
    return audit(discrete_laplace(1.0, Key.from_seed(3).generator("audit")), 1, 0, claim=1.0, draws=draws)


def test_the_same_draws_give_the_same_audit() -> None:
    assert seeded() == seeded()


def test_text_and_single_outputs_and_features() -> None:
    generator = fresh()

    def answer(truth: bool) -> str:
        return "yes" if truth == (generator.random() < 0.75) else "no"

    found = audit(answer, True, False, claim=math.log(3), draws=20_000, batched=False, error=FALSE_ALARM)
    assert 0.8 * math.log(3) <= found.lower <= math.log(3)
    rows = audit(
        lambda truth: {"answer": answer(truth)},
        True,
        False,
        draws=20_000,
        batched=False,
        features=lambda output: output["answer"] == "yes",
        error=FALSE_ALARM,
    )
    assert rows.lower >= 0.8 * math.log(3)


def test_a_score_says_what_was_found() -> None:
    (score,) = seeded().scores()
    assert score.section == "attack" and score.knowledge and score.baseline == 0
    assert score.control == 0 and score.low == score.value and score.high == math.inf
    assert score.details["refuted"] is False and "not proven" in score.meaning


def test_it_reports_progress_and_keeps_memory_bounded() -> None:
    import tracemalloc

    seen: list[tuple[str, int, int | None]] = []
    tracemalloc.start()
    with listening(lambda *what: seen.append(what)):
        audit(gaussian(1.0, fresh()), 1, 0, draws=12_000_000, batch=500_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 400e6  # both laws in full would be 192 MB for looking alone, and copies of it
    assert ("audit: confirming the event", 6_000_000, 6_000_000) in seen


@pytest.mark.parametrize(
    "parameters",
    [{"draws": 10}, {"error": 0.0}, {"delta": 1.0}, {"batch": 0}, {"claim": ApproxDP(1, 0.1), "delta": 0.01}],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        audit(lambda _, n: np.zeros(n), 1, 0, **parameters)


def test_outputs_of_no_use_are_refused() -> None:
    for mechanism in (
        lambda _, n: np.zeros(n + 1),
        lambda _, n: 1.0,
        lambda _, n: np.zeros((n, 0)),
        lambda _, n: np.zeros(n, complex),
        lambda value, n: np.zeros((n, 1 + value)),
    ):
        with pytest.raises(DataError):
            audit(mechanism, 1, 0, draws=1_000)
    generator = fresh()
    with pytest.raises(DataError, match="not independent"):
        audit(lambda value, n: np.full(n, value + generator.laplace()), 1, 0, draws=1_000)
    with pytest.raises(ParameterError, match="no claim"):
        audit(lambda _, n: np.zeros(n), 1, 0, draws=100).refutes()
