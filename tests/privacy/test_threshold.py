"""Values that occur often, by noise and a threshold: the exact law, the worst person, and an audit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import BudgetError, ParameterError
from sfumato.privacy import ApproxDP, Budget, Ledger, Neighbours
from sfumato.privacy.grants import Grant
from sfumato.privacy.noise import laplace, laplace_threshold, threshold


def grant(epsilon: float, delta: float, **more: object) -> Grant:
    budget = Budget(epsilon=epsilon, delta=delta, **more)  # type: ignore[arg-type]
    return Ledger.in_memory(budget).grant(epsilon=epsilon, delta=delta, purpose="test")


def splits(rows: int) -> list[list[int]]:
    """Every way in which a person's rows can lie in values that nobody else has."""
    out: list[list[int]] = [[]]
    for part in range(1, rows + 1):
        out += [[part, *rest] for rest in splits(rows - part) if not rest or rest[0] <= part]
    return out


def fails(scale: float, least: int, split: list[int]) -> float:
    """P(some new value is kept), by summing the law of the noise term by term."""
    q = math.exp(-1 / scale)
    tail = [sum((1 - q) / (1 + q) * q**z for z in range(least - c, least - c + 4000)) for c in split]
    return 1 - math.prod(1 - t for t in tail)


@given(
    st.integers(1, 6), st.floats(0.2, 5), st.sampled_from([1e-9, 1e-6, 1e-3, 0.05])
)  # fmt: skip
def test_no_person_is_found_with_more_than_delta(rows: int, epsilon: float, delta: float) -> None:
    scale = rows / epsilon
    least = threshold(scale, rows, delta)
    worst = max(fails(scale, least, s) for s in splits(rows))
    assert worst <= delta * (1 + 1e-9)
    # ... and the threshold is not far above what is needed: one less, or at L + 1, would be too little.
    q = math.exp(-1 / scale)
    bound = max(q ** (least - 1 - rows), rows * q ** (least - 2)) / (1 + q)
    assert least == rows + 1 or bound > delta * (1 - 1e-6)


def test_continuous_noise_would_need_less_than_ties_do() -> None:
    """L + b ln(L / (2 delta)), taken for whole numbers and ties, promises a delta that does not hold."""
    delta, broken = 0.05, 0
    for tenths in range(5, 60):
        scale = tenths / 10
        naive = max(math.ceil(1 + scale * math.log(1 / (2 * delta))), 2)
        q = math.exp(-1 / scale)
        broken += q ** (naive - 1) / (1 + q) > delta
    assert broken > 5


def test_what_is_kept_has_the_exact_law() -> None:
    """Kept with probability P(Z >= T - c); exact binomial bounds, false alarm below 1e-6 for all together."""
    from scipy.stats import binom

    draws, epsilon, delta = 20_000, 1.0, 0.01
    least = threshold(1.0, 1, delta)
    q = math.exp(-1.0)
    for count in (1, least - 1, least, least + 2):
        found = laplace_threshold(np.full(draws, count), 1, grant(epsilon, delta))
        assert found.threshold == least and found.scale == pytest.approx(1.0)
        t = least - count
        p = q**t / (1 + q) if t >= 1 else 1 - q ** (1 - t) / (1 + q)
        low, high = binom.interval(1 - 2e-7, draws, p)
        assert low <= found.kept.sum() <= high


def both_ways(data: list[int], neighbour: list[int], epsilon: float, delta: float, draws: int) -> sf.Audit:
    def mechanism(counts: list[int], n: int) -> np.ndarray:
        """Which values are kept, of those of the larger table; a value that does not occur never is."""
        out = np.zeros((n, len(neighbour)))
        for column, count in enumerate(counts):
            if count:
                found = laplace_threshold(
                    np.full(n, count), sum(neighbour) - sum(data), grant(epsilon, delta)
                )
                out[:, column] = found.kept
        return out

    # The claim is met exactly, so an audit that errs once in a hundred times would refute it as often.
    claim = ApproxDP(epsilon, delta)
    return sf.audit(mechanism, data, neighbour, claim=claim, draws=draws, delta=delta, error=1e-6)


@pytest.mark.parametrize(
    ("data", "neighbour"),
    [([6, 0], [6, 1]), ([5, 0], [6, 0]), ([6, 0, 0], [6, 1, 1]), ([6, 0], [6, 3]), ([7, 0], [8, 1])],
)
def test_the_audit_refutes_nothing(data: list[int], neighbour: list[int]) -> None:
    assert not both_ways(data, neighbour, 1.0, 0.02, 20_000).refutes()


@pytest.mark.soak
@pytest.mark.parametrize("rows", [1, 2, 4])
def test_the_audit_refutes_nothing_for_any_split(rows: int) -> None:
    for split in splits(rows)[1:]:
        data = [12, 9] + [0] * len(split)
        assert not both_ways(data, [12, 9, *split], 1.0, 0.02, 100_000).refutes()


def test_the_audit_sees_a_threshold_that_is_too_low() -> None:
    """One less on the threshold, and a person alone in a value is found more often than delta allows."""
    epsilon, delta = 1.0, 0.02
    low = threshold(1.0, 1, delta) - 1

    def mechanism(counts: list[int], n: int) -> np.ndarray:
        if not counts[0]:
            return np.zeros((n, 1))
        ledger = Ledger.in_memory(Budget(epsilon=epsilon))
        noisy = laplace(np.full(n, counts[0]), 1, ledger.grant(epsilon=epsilon, purpose="test"))
        return (noisy.values >= low).reshape(-1, 1).astype(float)

    claim = ApproxDP(epsilon, delta)
    assert sf.audit(mechanism, [0], [1], claim=claim, draws=200_000, delta=delta, error=1e-6).refutes()


def test_what_is_no_search_is_refused() -> None:
    with pytest.raises(BudgetError, match="without a delta"):
        pure = Ledger.in_memory(Budget(epsilon=1)).grant(epsilon=1, purpose="test")
        laplace_threshold([5], 1, pure)
    with pytest.raises(ParameterError, match="add/remove"):
        laplace_threshold([5], 1, grant(1.0, 1e-6, neighbours=Neighbours.REPLACE))
    with pytest.raises(ParameterError, match="sensitivity"):
        laplace_threshold([5], 0, grant(1.0, 1e-6))
    used = grant(1.0, 1e-6)
    laplace_threshold([5], 1, used)
    with pytest.raises(BudgetError, match="not used before"):
        laplace_threshold([5], 1, used)


def test_a_budget_of_epsilon_may_have_a_delta() -> None:
    ledger = Ledger.in_memory(Budget(epsilon=1, delta=1e-8))
    one = ledger.grant(epsilon=0.25, delta=4e-9, purpose="test")
    assert one.claim() == ApproxDP(0.25, 4e-9)
    purse = Ledger.within(one)
    purse.grant(epsilon=0.125, delta=4e-9, purpose="test").burn()
    with pytest.raises(BudgetError):
        purse.grant(epsilon=0.125, delta=1e-9, purpose="test")
    with pytest.raises(BudgetError):
        ledger.grant(epsilon=0.1, delta=7e-9, purpose="test")
    with pytest.raises(BudgetError, match="pure epsilon"):
        Ledger.in_memory(Budget(epsilon=1)).grant(epsilon=0.1, delta=1e-9, purpose="test")
    assert ledger.claim() == ApproxDP(0.25, 4e-9)


def test_a_budget_of_rho_pays_the_same_noise() -> None:
    ledger = Ledger.in_memory(Budget(rho=1, delta=1e-6))
    found = laplace_threshold([500, 1], 1, ledger.grant(epsilon=0.5, delta=1e-9, purpose="test"))
    assert found.scale == pytest.approx(2.0) and found.kept.tolist() == [True, False]
    found = laplace_threshold([500, 1], 1, ledger.grant(rho=0.125, delta=1e-9, purpose="test"))
    assert found.scale == pytest.approx(2.0) and found.kept.tolist() == [True, False]
    assert ledger.spent == pytest.approx(0.25)
