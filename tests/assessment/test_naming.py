"""Who is named: nearly nobody by chance, whoever stands out; a row is one person's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.assessment.copies.cells import cells
from sfumato.assessment.copies.clearness import PLACE, bar, by_chance, clearness, named
from sfumato.assessment.copies.nearness import evidence

FILES, PEOPLE = 4_000, 120
Draw = Callable[[np.random.Generator, int], np.ndarray]

TAILS: dict[str, Draw] = {
    "exponential": lambda rng, n: rng.exponential(size=n),
    "normal": lambda rng, n: rng.normal(20, 5, n),
    "heavy": lambda rng, n: rng.pareto(1.5, n),
    "few are near": lambda rng, n: np.where(rng.random(n) < 0.02, rng.gamma(9, 3, n), -np.inf),
    "whole numbers": lambda rng, n: rng.poisson(4, n).astype(float),
}


@pytest.mark.parametrize("kind", TAILS)
def test_in_files_of_other_people_fewer_than_one_is_named(kind: str) -> None:
    """On average, and never more often than 1 / (controls + 1) each. False alarm: one in a million."""
    rng = np.random.default_rng()
    rows = np.arange(PEOPLE)
    counts = np.array(
        [len(named(TAILS[kind](rng, PEOPLE), rows, TAILS[kind](rng, PEOPLE))) for _ in range(FILES)]
    )
    noise = 4.9 * (counts.std() + 0.05) / FILES**0.5
    most = by_chance(PEOPLE, PEOPLE) if kind in ("exponential", "normal") else 0.85
    assert counts.mean() - noise <= most
    assert by_chance(10_000, 10_000) == pytest.approx(0.471, abs=1e-3)


def test_whoever_leads_is_named_and_a_row_is_one_persons() -> None:
    control = np.arange(20.0)
    lead = np.arange(1.0, PLACE).mean()
    assert bar(control) == 19 + lead
    clear = np.array([19 + lead, 24.5, 40.0, 35.0, 40.0])
    assert named(clear, np.arange(5), control).tolist() == [2, 4, 3, 1]
    one_row = np.array([0, 1, 1, 1, 1])
    assert named(clear, one_row, control).tolist() == [2, 4]  # two who are alike, and as clear


def test_without_anybody_near_outside_whoever_is_near_is_named() -> None:
    nobody = np.full(50, -np.inf)
    assert named(np.array([-np.inf, 12.0]), np.arange(2), nobody).tolist() == [1]
    assert bar(np.append(nobody, 9.0)) == 10.0 and bar(np.append(nobody, -3.0)) == 0.0
    assert bar(np.array([])) == -np.inf


def test_clearness_is_evidence_and_the_lead_over_the_next_person() -> None:
    """A twin takes the lead away; without one the row speaks twice for a person."""
    rng = np.random.default_rng(1)
    columns = [f"c{i}" for i in range(6)]
    table = {c: rng.integers(0, 9, 60).astype(str) for c in columns}
    for c in columns:
        table[c][:2], table[c][2] = "twin", "alone"
    files = [
        sf.scan(pa.table({c: v[part] for c, v in table.items()})) for part in (slice(0, 40), slice(40, 60))
    ]
    released = sf.scan(pa.table({c: v[:3] for c, v in table.items()}))
    found = cells([(files[0], None), (released, None), (files[1], None)], columns, {}, apart=(1,))
    seen = tuple(evidence(found, found.files[i], found.files[1]) for i in (0, 2))
    inside, outside = clearness(found, (found.files[0], found.files[2]), found.files[1], seen)
    assert inside[:2] == pytest.approx(seen[0].score[:2], rel=1e-5)
    assert inside[2] == pytest.approx(2 * seen[0].score[2], rel=1e-5)
    assert named(inside, seen[0].row, outside)[0] == 2
