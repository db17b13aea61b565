"""The cheapest movement in a cell's neighbourhood, against HiGHS on the whole table."""

from __future__ import annotations

import numpy as np
import pytest
from cells.test_catalogue import cube

from sfumato.cells import Movements, Relations, _kernels


def setting(seed: int) -> tuple[Movements, np.ndarray, np.ndarray]:
    """Movements of a table of three ways, some cells of which stay, and costs."""
    rng = np.random.default_rng(seed)
    relations, values, _ = cube(rng.integers(1, 8, (4, 3, 5)))
    stays = rng.random(len(values)) < 0.3
    up = np.where(stays, 0.0, rng.choice([1.0, 4.0, np.inf], len(values)))
    down = np.where(stays, 0.0, values - 1)
    return Movements(relations, up, down, True, values), *rng.uniform(0.05, 1, (2, len(values)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("fixed", [None, 3])
def test_it_costs_what_the_whole_program_costs(seed: int, fixed: int | None, monkeypatch) -> None:
    ways, rise, fall = setting(seed)
    found = 0
    for cell in range(0, ways.cells, 3):
        for amount in (1.0, 3.0, -2.0):
            if cell == fixed:
                continue
            near = ways.cheapest(
                cell, amount, rise, fall, still=() if fixed is None else (fixed,), nearby=True
            )
            with monkeypatch.context() as patch:
                patch.setattr(_kernels, "cheapest", lambda *_: False)
                whole = ways.cheapest(cell, amount, rise, fall, still=() if fixed is None else (fixed,))
            assert (near is None) == (whole is None)
            if near is None or whole is None:
                continue
            found += 1
            assert near[cell] == amount and ways.keeps(near) and (fixed is None or near[fixed] == 0)
            assert np.all((near <= ways.up + 1e-6) & (near >= -ways.down - 1e-6))
            cost = [np.maximum(m, 0) @ rise + np.maximum(-m, 0) @ fall for m in (near, whole)]
            assert cost[0] == pytest.approx(cost[1], rel=1e-6)
    assert found > 20


def test_the_plain_kernel_agrees_with_the_compiled_one() -> None:
    ways, rise, fall = setting(0)
    plain, fast = np.zeros(ways.cells), np.zeros(ways.cells)
    asked = (*ways._sparse, np.concatenate([rise, fall]), 4, 1.0, 250)
    assert _kernels.cheapest(*asked, fast) == _kernels.cheapest.py_func(*asked, plain)
    np.testing.assert_allclose(plain, fast, atol=1e-9)


def test_what_is_too_long_is_given_up_nearby_and_found_by_the_whole_program() -> None:
    """A chain of pairs: each cell moves the next, more of them than steps are allowed."""
    n = 300
    rows = np.repeat(np.arange(n - 1), 2)
    cells = np.column_stack([np.arange(n - 1), np.arange(1, n)]).ravel()
    zero = np.zeros(n - 1)
    relations = Relations.of_entries(n - 1, n, rows, cells, [1.0, -1.0] * (n - 1), zero, zero)
    ways = Movements(relations, np.full(n, 9.0), np.full(n, 9.0), True, np.full(n, 9.0))
    ones = np.ones(n)
    assert ways.cheapest(0, 1.0, ones, ones, nearby=True) is None
    moved = ways.cheapest(0, 1.0, ones, ones)
    assert moved is not None and np.array_equal(moved, ones)
