"""Cube noise has its exact law, is drawn for a grant, and costs what it says.

Chi-square tests fail by chance with a probability below 1e-6 each, for any draw.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from private_tables import grant
from scipy.stats import chi2

from sfumato.errors import BudgetError, ParameterError
from sfumato.privacy import lattice
from sfumato.privacy.lattice import cube, cube_and_laplace, cube_sigma

DRAWS = 5_000


def require_law(drawn: list[Any], law: dict[Any, float]) -> None:
    """Chi-square of the draws against a law; what the law does not list is one cell."""
    found = Counter(drawn)
    cells = [(found[k], p * len(drawn)) for k, p in law.items() if p * len(drawn) >= 5]
    rest = len(drawn) - sum(n for n, _ in cells), len(drawn) - sum(e for _, e in cells)
    cells.append(rest)
    statistic = sum((n - e) ** 2 / max(e, 1e-9) for n, e in cells)
    assert chi2.sf(statistic, len(cells) - 1) > 1e-6


@pytest.mark.parametrize(("cells", "scale"), [(1, 2), (2, 1), (3, 1), (2, 3)])
def test_the_cube_has_its_law(cells: int, scale: int) -> None:
    reach = 8 * scale + 4
    weights = {
        z: math.exp(-max(map(abs, z)) / scale)
        for z in itertools.product(range(-reach, reach + 1), repeat=cells)
    }
    tail = sum(
        ((2 * m + 1) ** cells - (2 * m - 1) ** cells) * math.exp(-m / scale)
        for m in range(reach + 1, 60 * scale)
    )
    total = sum(weights.values()) + tail
    drawn = [tuple(lattice._cube(cells, scale).tolist()) for _ in range(DRAWS)]
    require_law(drawn, {z: w / total for z, w in weights.items()})


@pytest.mark.parametrize("scale", [1, 3])
def test_the_parts_have_their_laws(scale: int) -> None:
    q = math.exp(-1 / scale)
    geometric = {k: (1 - q) * q**k for k in range(40 * scale)}
    require_law([lattice._geometric(scale) for _ in range(DRAWS)], geometric)
    laplace = {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-40 * scale, 40 * scale)}
    require_law([lattice._laplace(scale) for _ in range(DRAWS)], laplace)
    require_law([lattice._below(7) for _ in range(DRAWS)], dict.fromkeys(range(7), 1 / 7))
    coins = [lattice._exponential_coin(scale, 5) for _ in range(DRAWS)]
    require_law(coins, {True: math.exp(-scale / 5), False: 1 - math.exp(-scale / 5)})


def test_another_scale_would_be_seen() -> None:
    drawn = [lattice._geometric(3) for _ in range(DRAWS)]
    q = math.exp(-1 / 6)
    with pytest.raises(AssertionError):
        require_law(drawn, {k: (1 - q) * q**k for k in range(100)})


def test_a_fine_lattice_has_the_spread_of_the_smooth_law() -> None:
    """At 2^30 steps a unit; the mean square of 1,000 draws is within 30% of its law, at more than 6 sigma."""
    cells, scale = 9, 2**30
    values = np.array([lattice._cube(cells, scale).astype(float) for _ in range(1000)]) / scale
    assert cube_sigma(9, 1.0) == pytest.approx(6.055, abs=1e-3)
    assert 0.7 < (values**2).mean() / cube_sigma(cells, 1.0) ** 2 < 1.3
    assert abs(values.mean()) < 0.5


def test_noise_is_for_a_grant_and_added_to_whole_numbers() -> None:
    paid = grant(epsilon=0.5)
    found = cube([1, 2, 3], 2, paid)
    assert found.scale == 4 and found.values.shape == (3,) and paid.burnt
    with pytest.raises(BudgetError):
        cube([1], 1, paid)
    with pytest.raises(BudgetError):
        cube([1], 1, grant(rho=1.0))
    for values, sensitivity in (([0.5], 1), ([1], 0), ([1], True)):
        fresh = grant(epsilon=1.0)
        with pytest.raises(ParameterError):
            cube(values, sensitivity, fresh)
        assert not fresh.burnt


def test_two_blocks_cost_no_more_than_the_grant() -> None:
    for share in (Fraction(1, 3), Fraction(9, 10)):
        first, second = cube_and_laplace((4, 5), (7, 11), share, grant(epsilon=0.7))
        assert Fraction(7, first.scale) + Fraction(11, second.scale) <= Fraction(7, 10)
        assert first.values.shape == (4,) and second.values.shape == (5,)
    alone, none = cube_and_laplace((3, 0), (1, 1), Fraction(1), grant(epsilon=1.0))
    assert alone.scale == 1 and none.values.size == 0
    for cells, share in (
        ((0, 0), Fraction(1)),
        ((1, 1), Fraction(1)),
        ((1, 1), Fraction(0)),
        ((1, 0), Fraction(2)),
    ):
        with pytest.raises(ParameterError):
            cube_and_laplace(cells, (1, 1), share, grant(epsilon=1.0))
