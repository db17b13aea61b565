"""PeGS with parents chosen privately, from end to end: the law of parents and row together, by enumeration.

The exact law bounds what the whole mechanism gives away, without any sampling error; the draws of whole fits
are then held against that law.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from pegs_oracle import FALSE_ALARM, State, law_of, misfit, tiny

from sfumato.seeds import Key
from sfumato.synthesis import parents as choosing
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.pegs import PeGS
from sfumato.synthesis.sampler import Sampler

SIZES = (2, 2, 2)
TIED: list[State] = [(0, 0, 0)] * 6 + [(1, 1, 1)] * 6 + [(0, 1, 0)] * 2 + [(1, 0, 1)] * 2 + [(0, 1, 1)] * 2
CASES: list[tuple[list[State], list[State]]] = [
    (TIED, [*TIED, (0, 1, 0)]),
    (TIED, [*TIED, (1, 0, 0)]),
    ([(0, 1, 0)] * 2 + [(1, 0, 1)] * 2, [(0, 1, 0)] * 2 + [(1, 0, 1)] * 2 + [(1, 1, 1)]),
    ([(0, 0, 0)] * 30, [(0, 0, 0)] * 30 + [(1, 1, 1)]),
    ([(0, 0, 1)], []),
]


def dependence(rows: list[State], a: int, b: int) -> int:
    """The whole part of sum |t - t_a t_b / n|, from the definition."""
    n = len(rows)
    both, first, second = (
        Counter((r[a], r[b]) for r in rows),
        Counter(r[a] for r in rows),
        Counter(r[b] for r in rows),
    )
    total = sum(abs(n * both[x, y] - first[x] * second[y]) for x in range(2) for y in range(2))
    return total // n if n else 0


def picks(rows: list[State], epsilon: float, noise: bool = True) -> dict[tuple[int, ...], float]:
    """The chance of each (parent of v0, of v1, of v2): permute-and-flip between two, for a third each."""
    chances = []
    for i in range(3):
        others = [j for j in range(3) if j != i]
        scores = [dependence(rows, min(i, j), max(i, j)) for j in others]
        gap = abs(scores[0] - scores[1])
        low = math.exp(-gap * (epsilon / 3) / (2 * choosing.SENSITIVITY)) / 2 if noise else 0.5 * (not gap)
        chances.append({others[int(np.argmax(scores))]: 1 - low, others[int(np.argmin(scores))]: low})
        if gap == 0:
            chances[-1] = dict.fromkeys(others, 0.5)
    return {
        chosen: math.prod(c[p] for c, p in zip(chances, chosen, strict=True))
        for chosen in product(*(sorted(c) for c in chances))
    }


def whole_law(rows: list[State], method: PeGS, block: int | None, noise: bool = True) -> dict[Any, float]:
    """Of parents and released rows together."""
    fitted = method.fit(tiny(rows, SIZES))
    [alpha] = set(fitted.alphas(block or 1).values())
    out: dict[Any, float] = {}
    for chosen, chance in picks(rows, method.on_parents, noise).items():
        law = law_of(rows, SIZES, {i: [p] for i, p in enumerate(chosen)}, alpha, block=block)
        out |= {(chosen, drawn): chance * p for drawn, p in law.items()}
    return out


def loss(laws: list[dict[Any, float]]) -> float:
    found = [abs(math.log(laws[0][k] / laws[1][k])) if laws[0][k] and laws[1][k] else math.inf
             for k in laws[0] if laws[0][k] or laws[1][k]]  # fmt: skip
    return max(found)


@pytest.mark.parametrize("block", [None, 2])
@pytest.mark.parametrize("case", CASES)
def test_the_exact_loss_is_within_the_claim(case: tuple[list[State], list[State]], block: int | None) -> None:
    method = PeGS(epsilon_per_row=0.75 / (block or 1), parents=1, parents_epsilon=0.5, block=block)
    claim = method.fit(tiny(case[0], SIZES)).sample(block or 1).guarantee.claims[0]
    assert claim.epsilon == pytest.approx(1.25)  # type: ignore[attr-defined]
    assert loss([whole_law(rows, method, block) for rows in case]) <= 1.25 * (1 + 1e-9)


def test_without_noise_in_the_choice_it_is_not() -> None:
    """The same count catches parents read off the data."""
    method = PeGS(epsilon_per_row=0.75, parents=1, parents_epsilon=0.5)
    assert any(loss([whole_law(rows, method, None, noise=False) for rows in case]) > 1.25 for case in CASES)


@pytest.mark.parametrize("draws", [250, pytest.param(20_000, marks=pytest.mark.soak)])
def test_whole_fits_follow_that_law(draws: int) -> None:
    """Parents, and rows, of fits that are made anew each time."""
    rows, table = CASES[0][1], tiny(CASES[0][1], SIZES)
    method = PeGS(epsilon_per_row=3.0, parents=1, parents_epsilon=6.0)
    law = whole_law(rows, method, None)
    domain = Domain.of(table.schema)
    parents, drawn = np.empty((3, draws), np.int64), np.empty((3, draws), np.int64)
    for i in range(draws):
        fitted = method.fit(table)
        parents[:, i] = [domain.place(p[0]) for p in fitted.blocks.parents.values()]
        drawn[:, i] = Sampler(fitted.laws(1), Key.fresh()).codes(0, 1)[:, 0]
    by_parents: Counter[Any] = Counter()
    by_row: Counter[Any] = Counter()
    for (chosen, row), p in law.items():
        by_parents[(chosen,)] += p  # type: ignore[assignment]
        by_row[row] += p  # type: ignore[assignment]
    assert misfit(parents, by_parents) > FALSE_ALARM / 2
    assert misfit(drawn, by_row) > FALSE_ALARM / 2
