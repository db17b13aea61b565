"""The proof of objective.py, line by line, in numbers: an inequality that fails anywhere fails here."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from private_tables import grant

from sfumato.prediction import objective, solver
from sfumato.prediction.basis import Basis
from sfumato.prediction.objective import CELL, GRID, Perturbation, published
from sfumato.prediction.solver import LogisticObjective, minimize

Floats = NDArray[np.float64]


def basis_of(linear: int, levels: tuple[int, ...] = ()) -> Basis:
    """`linear` - 1 features with codes at -1, -0.5, 0.5 and 1, and one-hot features with so many levels."""
    ordered = [np.array([[-1.0], [-0.5], [0.5], [1.0]])] * (linear - 1)
    return Basis((*ordered, *(np.eye(k) for k in levels)), (False,) * (linear - 1) + (True,) * len(levels))


def law_of(basis: Basis, epsilon: float, most: int = 1, **more: Any) -> Perturbation:
    return Perturbation(
        basis.width, basis.linear, basis.one_hot_features, Fraction(str(epsilon)), 1000.0, most, **more
    )


def loss(
    basis: Basis, law: Perturbation, X: Floats, y: Floats, row: Floats, label: int, theta: Floats,
    offset: float, gamma: float,
) -> float:  # fmt: skip
    """log density of theta with the row less that without, by points (2) to (d), for the smooth law of V."""
    hot = basis.is_one_hot
    share, e = float(law.share), float(law.epsilon)
    signs, sign = 1 - 2 * y, 1 - 2 * label
    against, own = signs * (offset + X @ theta), np.array([sign * (offset + row @ theta)])
    before = -X.T @ (signs * law.loss.slope(against)) - gamma * theta
    after = before - sign * law.loss.slope(own)[0] * row

    def log_law(v: Floats) -> float:
        cube = np.abs(v[~hot]).max()
        other = np.abs(v[hot]).sum()
        return -share * e * cube / law.most - (
            (1 - share) * e * other / (law.one_hot * law.most) if hot.any() else 0
        )

    H = (X * law.loss.curvature(against)[:, None]).T @ X + gamma * np.eye(len(theta))
    more = math.log1p(law.loss.curvature(own)[0] * row @ np.linalg.solve(H, row))
    return log_law(after) - log_law(before) + more


def corner(basis: Basis, random: np.random.Generator) -> Floats:
    """A row with |x|^2 = B: every coordinate that is not one-hot at an end."""
    codes = [int(random.choice([0, len(t) - 1])) for t in basis.tables]
    return basis.rows(np.array(codes)[:, None])[0]


def worst(
    basis: Basis, epsilon: float, rounds: int, gamma: float = 1.0, most: int = 1, sharpness: int = 1
) -> float:
    """The largest |loss| that a search over tables, rows and coefficients finds, for one row more.

    gamma: as a part of the law's.
    """
    random = np.random.default_rng(0)
    law = law_of(basis, epsilon, most, sharpness=sharpness)
    gamma *= law.gamma
    found = 0.0
    for turn in range(rounds):
        n = int(random.choice([0, 1, 2, 30]))
        codes = np.array([random.integers(0, len(t), n) for t in basis.tables]).reshape(len(basis.tables), n)
        X, y = basis.rows(codes), random.integers(0, 2, n).astype(float)
        row, label = corner(basis, random), int(random.integers(0, 2))
        theta = random.standard_t(2, basis.width) * float(random.choice([0.1, 1, 10]))
        if turn % 2:  # the score is far off, and V is largest where the row moves it back
            sign = -1.0 if label else 1.0
            theta = sign * row * random.uniform(0.5, 0.99, basis.width) * float(random.choice([0.3, 1, 3]))
            theta[0] = -sign * row[0] * np.abs(theta).max() * 1.02
        found = max(found, abs(loss(basis, law, X, y, row, label, theta, float(random.normal()), gamma)))
    return found


@pytest.mark.parametrize("sharpness", [1, 2])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize(("linear", "levels"), [(1, (3,)), (4, ()), (9, (5, 3)), (3, (2, 2, 9))])
def test_no_row_changes_the_density_by_more_than_epsilon(
    epsilon: float, linear: int, levels: tuple[int, ...], sharpness: int
) -> None:
    basis = basis_of(linear, levels)
    found = worst(basis, epsilon, 400, sharpness=sharpness)
    assert found <= epsilon * (1 + 1e-9)
    assert found > 0.6 * epsilon  # the search comes near the bound


@pytest.mark.parametrize("sharpness", [1, 2])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_less_than_gamma_is_caught(epsilon: float, sharpness: int) -> None:
    for part in (0.5, 0.8):
        assert worst(basis_of(9), epsilon, 1000, gamma=part, sharpness=sharpness) > epsilon


def test_l_rows_cost_epsilon_together() -> None:
    """gamma and noise for L rows: each of them, after any others, costs at most epsilon / L."""
    assert worst(basis_of(5, (3,)), 1.0, 600, most=4) <= 0.25 * (1 + 1e-9)


def test_cells_and_shares_cost_no_more_than_epsilon() -> None:
    """(c): a shift of u in V moves its cell by u + h at most; b and c pay for (1 + h) L in every cell."""
    random = np.random.default_rng(0)
    for linear, hot, most in ((1, 0, 1), (9, 3, 1), (30, 5, 7)):
        law = Perturbation(linear + 4 * hot, linear, hot, Fraction(1), 100.0, most)
        S, T = law.sensitivities
        assert min(S - most * (1 + CELL) / CELL, T - hot * most * (1 + CELL) / CELL) >= 0
        assert Fraction(law.gamma) >= (linear + hot) * most * (1 + CELL) and 0 < law.share <= 1
    for _ in range(2000):
        v, s = float(random.normal() * 100), float(random.uniform(-1, 1))
        moved = abs(round((Fraction(v) + Fraction(s)) / CELL) - round(Fraction(v) / CELL)) * CELL
        assert moved <= abs(Fraction(s)) + CELL


def problems() -> list[tuple[str, LogisticObjective, Perturbation]]:
    random = np.random.default_rng(1)
    found = []
    for name, n, spread in (
        ("empty", 0, 5.0),
        ("one row", 1, 5.0),
        ("apart", 300, 1.0),
        ("far", 200, 1e6),
        ("usual", 3000, 9.0),
    ):
        basis = basis_of(6, (4,))
        codes = np.array([random.integers(0, len(t), n) for t in basis.tables]).reshape(len(basis.tables), n)
        y = (codes[0] > 1).astype(np.int64) if name == "apart" else random.integers(0, 2, n)
        noise = np.array(
            [Fraction(int(v * spread * 2**30)) * CELL for v in random.normal(size=basis.width)], object
        )
        law = law_of(basis, 1.0, sharpness=2 if name in ("apart", "one row") else 1)
        found.append((name, LogisticObjective(basis, codes, y, 0.3, law.gamma, noise, law.loss), law))
    return found


@pytest.mark.parametrize(("name", "problem", "law"), problems(), ids=[n for n, *_ in problems()])
def test_the_gradient_is_as_small_as_promised(
    name: str, problem: LogisticObjective, law: Perturbation
) -> None:
    """(g), with the gradient in sixty digits; the bound in floats is never below the true norm."""
    theta = minimize(problem, law.tolerance)
    _, bound = problem.exact_gradient(theta, 60)
    assert bound <= law.tolerance
    at = np.array([float(t) for t in theta])
    for near in (at, at + 1e-3, np.zeros_like(at)):
        exact, _ = problem.exact_gradient(np.array([Fraction(float(t)) for t in near], object), 60)
        assert problem.gradient(near)[1] >= float(solver._norm(exact)) * (1 - 1e-9)


def test_where_floats_do_not_reach_it_decimals_do() -> None:
    _, problem, _ = problems()[1]
    for tolerance in (Fraction(1, 10**20), Fraction(1, 10**55)):
        theta = minimize(problem, tolerance)
        assert problem.exact_gradient(theta, 120)[1] <= tolerance


def test_decimals_reach_it_from_anywhere() -> None:
    """Also where floats said nothing at all: from a start that overflows, with steps that are safe."""
    _, problem, _ = problems()[1]
    theta = solver._in_decimals(problem, np.full(problem.basis.width, 40.0), Fraction(1, 10**12))
    assert problem.exact_gradient(theta, 60)[1] <= Fraction(1, 10**12)


def test_rounding_pays_for_the_distance_to_the_ideal() -> None:
    """(h): for any U in the cell the rounded numbers are within D steps of those of the ideal minimum."""
    random = np.random.default_rng(2)
    for name, problem, law in problems():
        if name == "far":
            continue
        theta = minimize(problem, law.tolerance)
        inside = np.array([Fraction(float(u)) * CELL for u in random.uniform(-0.5, 0.5, len(theta))], object)
        ideal = minimize(
            replace(problem, noise=problem.noise + inside),
            Fraction(1, 10**20) if len(problem.outcome) < 2 else law.tolerance,
        )  # fmt: skip
        steps = [objective._on_grid(t) for t in theta]
        wanted = [objective._on_grid(t) for t in ideal]
        assert sum(abs(a - b) for a, b in zip(steps, wanted, strict=True)) <= law.drift // 2


def test_what_is_published_is_on_the_grid_and_both_grants_are_burnt() -> None:
    _, problem, law = problems()[2]
    grants = grant(epsilon=1.0), grant(epsilon=0.01)
    found = published(problem.basis, problem.codes, problem.outcome, 0.0, law, grants)
    assert all(g.burnt for g in grants)
    assert all((Fraction(float(c)) / GRID).denominator == 1 for c in found.coefficients)
    assert found.rounding < 0.01 and np.abs(found.coefficients).max() < 50


def test_nothing_that_is_asked_of_the_law_looks_at_rows() -> None:
    basis = basis_of(4, (3,))
    one, other = law_of(basis, 1.0), law_of(basis, 1.0)
    assert (one.gamma, one.share, one.tolerance, one.drift) == (
        other.gamma,
        other.share,
        other.tolerance,
        other.drift,
    )
    assert law_of(basis, 1.0, sharpness=2).gamma == pytest.approx(2 * one.gamma)
