"""The law of the whole machine, exactly: every noise that can be drawn, solved, rounded, and noised again.

On a lattice so coarse that it can be counted out, the chance of each published number is a finite sum. What
objective.py proves from (b) to (h) is then held against numbers: with the cell, the solver, the rounding and
its noise as they are, no output is more than exp(e + e_r) times as likely with a row as without it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.prediction import objective
from sfumato.prediction.basis import Basis
from sfumato.prediction.objective import Perturbation
from sfumato.prediction.solver import LogisticObjective, minimize

Floats = NDArray[np.float64]
INTERCEPT = Basis((), ())  # d = 1, and every row in its corner
E, E_R = Fraction(1), Fraction(1, 4)
CELL, GRID = Fraction(1, 32), Fraction(1, 128)
OFFSET = -4.0  # a row with outcome 1 is unlikely: it pulls most where the noise had to be large
REACH = 15  # scales of the noise that are counted out: what lies beyond is 3e-7 of all
NOBODY, AGAINST = (0, 0), (4, 0)  # rows with outcome 0 and 1 beside those that are there or not


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objective, "CELL", CELL)
    monkeypatch.setattr(objective, "GRID", GRID)


@cache
def grid_steps(rows: tuple[int, int], gamma: float, law: Perturbation) -> list[int]:
    """Of every noise in reach what (3) has before its noise. rows: with outcome 0 and 1."""
    outcome = np.array([0] * rows[0] + [1] * rows[1], dtype=np.int64)
    codes = np.empty((0, len(outcome)), dtype=np.int64)
    problem = LogisticObjective(INTERCEPT, codes, outcome, OFFSET, gamma, np.array([Fraction(0)]), law.loss)
    found = []
    for z in noises(law):
        (theta,) = minimize(replace(problem, noise=np.array([int(z) * CELL])), law.tolerance)
        found.append(objective._on_grid(theta))
    return found


def scale_of(law: Perturbation) -> int:
    """b of the noise in the objective, in cells."""
    return math.ceil(law.sensitivities[0] / law.epsilon)


def noises(law: Perturbation) -> NDArray[np.int64]:
    return np.arange(-REACH * scale_of(law), REACH * scale_of(law) + 1)


def published_law(steps: list[int], law: Perturbation, scale: float, places: NDArray[np.int64]) -> Floats:
    """The chance of each place of the grid. scale: of the noise after rounding; 0 for none."""
    weights = np.exp(-np.abs(noises(law)) / scale_of(law))
    away = np.abs(places[:, None] - np.array(steps)[None, :])
    kernel = np.exp(-away / scale) if scale else (away == 0).astype(np.float64)
    found: Floats = kernel @ (weights / weights.sum())
    return found


def worst_ratio(
    rows: tuple[int, int], extra: tuple[int, int], sharpness: int = 1, most: int = 1,
    gamma: float = 1.0, noise: float = 1.0,
) -> float:  # fmt: skip
    """The largest |log ratio| of an output's chances with and without the extra rows, of one person.

    gamma, noise: as parts of the law's; the noise is that after rounding. Outputs where tails would count
    that were cut off are left out: those beyond the range that noise of 5 scales reaches.
    """
    law = Perturbation(1, 1, 0, E, 10.0, most, sharpness)
    more = rows[0] + extra[0], rows[1] + extra[1]
    both = [grid_steps(r, law.gamma * gamma, law) for r in (rows, more)]
    inner = [s[len(s) // 2 + end * 5 * scale_of(law)] for s in both for end in (-1, 1)]
    places = np.arange(min(inner), max(inner) + 1)
    one, other = (published_law(s, law, noise * law.drift / float(E_R), places) for s in both)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nanmax(np.abs(np.log(one / other))))


@pytest.mark.parametrize("sharpness", [1, 2])
@pytest.mark.parametrize("rows", [NOBODY, AGAINST])
def test_no_output_is_more_likely_than_promised(rows: tuple[int, int], sharpness: int) -> None:
    found = max(worst_ratio(rows, extra, sharpness) for extra in ((1, 0), (0, 1)))
    assert found <= float(E + E_R) * (1 + 1e-3)
    assert found > 0.9 * float(E)  # the neighbours are bad ones


def test_two_rows_of_one_person_cost_no_more_together() -> None:
    assert worst_ratio(NOBODY, (0, 2), most=2) <= float(E + E_R) * (1 + 1e-3)


def test_what_is_left_out_is_caught() -> None:
    """A quarter of gamma, noise for one row where there are two, and a lattice without noise after it."""
    bound = float(E + E_R)
    assert worst_ratio(NOBODY, (0, 1), gamma=0.25) > bound
    assert worst_ratio(NOBODY, (0, 2)) > bound
    assert worst_ratio(NOBODY, (0, 1), noise=0.0) == math.inf
