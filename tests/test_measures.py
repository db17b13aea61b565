"""Each measure against scipy, or against the slow and obvious version."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from sfumato import measures
from sfumato.errors import ParameterError

TABLES = arrays(np.int64, st.tuples(st.integers(2, 5), st.integers(2, 6)), elements=st.integers(0, 30))
VECTORS = st.integers(2, 12).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 6), min_size=n, max_size=n)] * 2)
)


@given(TABLES)
def test_entropy_and_information_agree_with_their_definitions(table: np.ndarray) -> None:
    if table.sum() == 0:
        assert math.isnan(measures.entropy(table)) and math.isnan(measures.mutual_information(table))
        return
    assert measures.entropy(table) == pytest.approx(float(stats.entropy(table.ravel())), abs=1e-12)
    p = table / table.sum()
    slow = sum(
        p[i, j] * math.log(p[i, j] / (p[i].sum() * p[:, j].sum()))
        for i, j in zip(*np.nonzero(p), strict=True)
    )
    assert measures.mutual_information(table) == pytest.approx(slow, abs=1e-12)


def test_the_bias_of_information_is_taken_off() -> None:
    # Independent columns: the plug-in mean is (Kx-1)(Ky-1)/2N = 0.0225. The mean of 400 corrected estimates
    # has a standard error of 0.00053; 0.003 is more than five of them, passed with a chance below 1e-6.
    generator = np.random.default_rng()
    tables = generator.multinomial(200, np.full(16, 1 / 16), 400).reshape(-1, 4, 4)
    plain = np.mean([measures.mutual_information(t) for t in tables])
    corrected = np.mean([measures.mutual_information(t, corrected=True) for t in tables])
    assert plain > 0.018
    assert abs(corrected) < 0.003


def test_information_matrix_holds_entropies_and_pairs() -> None:
    table = np.array([[5, 1], [1, 5]])
    matrix = measures.information_matrix(["a", "b", "c"], {("a", "b"): table}, corrected=False)
    assert matrix[0, 1] == matrix[1, 0] == measures.mutual_information(table)
    assert matrix[0, 0] == pytest.approx(math.log(2))
    assert math.isnan(matrix[0, 2])


@given(TABLES, st.integers(1, 5))
def test_distances_by_hand(table: np.ndarray, factor: int) -> None:
    other = np.roll(table, 1, axis=0)
    if table.sum() == 0:
        return
    p, q = table / table.sum(), other / other.sum()
    tv = measures.total_variation(table, other * factor)
    assert tv == pytest.approx(np.abs(p - q).sum() / 2)
    assert measures.histogram_intersection(table, other * factor) == pytest.approx(1 - tv)
    assert measures.mean_squared_error(table, other) == pytest.approx(((p - q) ** 2).mean())
    assert measures.mean_absolute_error(table, other) == pytest.approx(np.abs(p - q).mean())
    assert measures.total_variation(table, table * factor) == pytest.approx(0, abs=1e-12)


def test_the_floor_is_what_a_fresh_sample_shows() -> None:
    generator = np.random.default_rng()
    p = np.array([0.5, 0.3, 0.15, 0.05])
    seen = [measures.total_variation(p, generator.multinomial(500, p)) for _ in range(2000)]
    error = np.std(seen) / math.sqrt(len(seen))
    # the formula is a large-sample one, 3% is allowed for; five standard errors: below 1e-6
    assert abs(np.mean(seen) - measures.total_variation_floor(p, 500)) < 5 * error + 0.03 * np.mean(seen)


def test_conditional_errors_by_hand() -> None:
    before = np.array([[3, 0, 2, 0], [1, 0, 2, 4]])  # x by y
    after = np.array([[1, 5, 0, 0], [1, 5, 0, 2]])
    # y=0: (.75,.25) against (.5,.5); y=1 skipped; y=2: (.5,.5) against uniform; y=3: the same.
    out = measures.conditional_errors(before, after)
    assert out == (pytest.approx(2 * 0.0625 / 6), pytest.approx(2 * 0.25 / 6), 1, 1)


@given(VECTORS)
def test_rank_correlations_agree_with_scipy(xy: tuple[list[int], list[int]]) -> None:
    x, y = np.array(xy[0]), np.array(xy[1])
    with np.errstate(all="ignore"):
        constant = len(set(x)) < 2 or len(set(y)) < 2
        tau = math.nan if constant else stats.kendalltau(x, y).statistic
        rho = math.nan if constant else stats.spearmanr(x, y).statistic
    assert measures.kendall(x, y) == pytest.approx(tau, nan_ok=True)
    assert measures.spearman(x, y) == pytest.approx(rho, nan_ok=True)
    table = np.zeros((7, 7))
    np.add.at(table, (x, y), 1)
    assert measures.kendall_of_table(table) == pytest.approx(tau, nan_ok=True)
    assert measures.spearman_of_table(table) == pytest.approx(rho, nan_ok=True)


def test_reversed_ranks_give_minus_one() -> None:
    x = np.array([3, 1, 4, 1.5, 9])
    assert measures.kendall(x, -x) == measures.spearman(x, -x) == -1
    assert measures.kendall_of_table(np.eye(4)[::-1]) == pytest.approx(-1)
    assert measures.kendall(np.arange(5000), -np.arange(5000)) == pytest.approx(-1)


@given(TABLES)
def test_independence_agrees_with_scipy(table: np.ndarray) -> None:
    table = table + 1
    for statistic, name in (("chi_square", "pearson"), ("g2", "log-likelihood")):
        theirs = stats.chi2_contingency(table, correction=False, lambda_=name)
        ours = measures.log_linear(table)
        assert getattr(ours, statistic) == pytest.approx(theirs.statistic, abs=1e-8)
        assert ours.degrees == theirs.dof
        np.testing.assert_allclose(ours.expected, theirs.expected_freq, rtol=1e-7)


def test_three_way_independence_is_the_one_of_lugs() -> None:
    table = np.random.default_rng(5).integers(1, 20, (3, 4, 2))
    ours, theirs = measures.log_linear(table), stats.chi2_contingency(table, correction=False)
    assert (ours.chi_square, ours.degrees) == (pytest.approx(theirs.statistic), theirs.dof)


def test_fitting_keeps_the_interactions_it_is_told_to() -> None:
    table = np.random.default_rng(6).integers(1, 20, (3, 4, 2)).astype(float)
    fit = measures.log_linear(table, list(combinations(range(3), 2)))
    for axis in range(3):
        np.testing.assert_allclose(fit.expected.sum(axis), table.sum(axis), rtol=1e-6)
    assert fit.degrees == 2 * 3 * 1
    # no three-way interaction: every conditional odds ratio is the same in both layers
    e = fit.expected
    odds = (e[:-1, :-1] * e[1:, 1:]) / (e[1:, :-1] * e[:-1, 1:])
    np.testing.assert_allclose(odds[..., 0], odds[..., 1], rtol=1e-4)
    full = measures.log_linear(table, [(0, 1, 2)])
    assert (full.chi_square, full.g2, full.degrees) == (pytest.approx(0), pytest.approx(0, abs=1e-9), 0)
    with pytest.raises(ParameterError):
        measures.log_linear(table, [(0, 3)])


def test_coefficients_and_intervals() -> None:
    b, a = np.array([1.0, -2.0]), np.array([1.5, -2.0])
    assert measures.coefficient_utility(b, a) == pytest.approx(math.exp(-0.25))
    assert measures.coefficient_distance(b, a) == pytest.approx(0.5)
    assert math.isnan(measures.coefficient_distance(np.array([0.0]), np.array([1.0])))
    before = np.array([[0, 2], [0, 1], [0, 1], [3, 3]])
    after = np.array([[1, 3], [5, 6], [0, 4], [3, 3]])
    np.testing.assert_allclose(measures.interval_overlap(before, after), [0.5, 0, (1 + 0.25) / 2, 1])


def test_autocorrelation_by_the_slow_sum() -> None:
    x = np.random.default_rng(1).normal(size=50)
    curve = measures.autocorrelation(x, 3)
    m = x - x.mean()
    for k in range(4):
        assert curve[k] == pytest.approx(sum(m[t] * m[t + k] for t in range(50 - k)) / (m**2).sum())
    assert np.isnan(measures.autocorrelation(np.ones(9), 3)).all()
    with pytest.raises(ParameterError):
        measures.autocorrelation(np.array([1.0]))


def test_cramers_v_runs_from_none_to_full() -> None:
    assert measures.cramers_v(np.outer([1, 2, 3], [2, 5])) == pytest.approx(0, abs=1e-7)
    assert measures.cramers_v(np.diag([3, 4, 9])) == pytest.approx(1)
    assert math.isnan(measures.cramers_v(np.array([[3, 0], [4, 0]])))


def test_tables_of_different_shape_are_refused() -> None:
    with pytest.raises(ParameterError):
        measures.total_variation(np.ones(3), np.ones(4))
    with pytest.raises(ParameterError):
        measures.mutual_information(np.ones(3))


def test_what_has_no_value_is_not_a_number() -> None:
    for measure in (measures.total_variation, measures.histogram_intersection):
        assert np.isnan(measure(np.zeros(3), np.ones(3))) and np.isnan(measure(np.ones(3), np.zeros(3)))
    assert np.isnan(measures.total_variation_floor(np.zeros(3), 5))


def test_kendall_of_numbers_without_a_sign() -> None:
    up, down = np.array([1, 2, 3], np.uint8), np.array([3, 2, 1], np.uint8)
    assert measures.kendall(up, down) == -1 and measures.kendall(up, up) == 1


def test_an_empty_table_has_no_distance() -> None:
    """Not the largest one, and above all not everything in common."""
    some, none = np.ones(3), np.zeros(3)
    assert math.isnan(measures.histogram_intersection(some, none))
    assert math.isnan(measures.total_variation(none, some))
    assert math.isnan(measures.total_variation_floor(none, 5))
