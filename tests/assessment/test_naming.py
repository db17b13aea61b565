"""Who is named: nearly nobody by chance, whoever stands out; a row is one person's."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.assessment.copies.cells import cells
from sfumato.assessment.copies.clearness import by_chance, clearness, lead, named
from sfumato.assessment.copies.nearness import CopyEvidence, evidence

FILES, PEOPLE = 150, 80
COLUMNS = [f"c{i}" for i in range(7)]


def people(rng: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    """Columns that hang together, with rare values."""
    kind = rng.geometric(0.4, rows)
    return {c: (rng.geometric(0.35, rows) + kind * (i % 3)).astype(str) for i, c in enumerate(COLUMNS)}


def judged(original, released, control):  # type: ignore[no-untyped-def]
    files = [sf.scan(pa.table(f)) for f in (original, released, control)]
    found = cells([(f, None) for f in files], COLUMNS, {}, apart=(1,))
    seen = tuple(evidence(found, found.files[i], found.files[1]) for i in (0, 2))
    equal = (found.files[0] == found.files[1][:, seen[0].row]).all(axis=0)
    return seen, clearness(found, (found.files[0], found.files[2]), found.files[1], seen), equal


def evident(*scores: float, row: list[int] | None = None) -> CopyEvidence:
    return CopyEvidence(np.array(scores), np.arange(len(scores)) if row is None else np.array(row))


@pytest.mark.soak
def test_in_files_of_other_people_fewer_than_one_is_named() -> None:
    """At most n / (c + 1) on average by evidence alone, fewer by both. False alarm: one in a million each."""
    rng = np.random.default_rng()
    alone, both = [], []
    for _ in range(FILES):
        seen, clear, equal = judged(*(people(rng, PEOPLE) for _ in range(3)))
        alone.append((seen[0].score > seen[1].score.max()).sum())
        both.append(len(named(seen, clear, equal)))
    assert np.mean(alone) - 4.9 * np.std(alone) / FILES**0.5 <= by_chance(PEOPLE, PEOPLE) < 1
    assert np.mean(both) + 4.9 * (np.std(both) + 0.05) / FILES**0.5 < 1


def test_whoever_has_more_evidence_is_named_and_a_row_is_one_persons() -> None:
    control, same = evident(1.0, 5.0, 3.0, 4.0), np.ones(3, bool)
    assert named((evident(5.0, 5.5, 9.0), control), None, same).tolist() == [2, 1]
    one_row = evident(5.0, 5.5, 9.0, 9.0, row=[0, 1, 1, 1])
    assert named((one_row, control), None, np.ones(4, bool)).tolist() == [2, 3]  # it speaks as much for both
    outside = np.array([8.0, 7.0, 6.0, -np.inf])
    clear = np.array([9.0, 6.0, 6.5])
    assert named((evident(5.0, 5.5, 9.0), control), (clear, outside), same).tolist() == [2]
    assert lead(np.arange(20.0)) == 5.0 and lead(control.score) == pytest.approx(13 / 9)
    assert named((evident(5.0, 5.5, 9.0), control), None, ~same).tolist() == [2]  # rows that differ lead more


def test_without_anybody_near_outside_whoever_is_near_is_named() -> None:
    nobody = evident(*[-np.inf] * 50)
    inside, outside = np.array([-np.inf, 20.0]), np.full(50, -np.inf)
    different = np.zeros(2, bool)
    assert named((evident(-np.inf, 12.0), nobody), (inside, outside), different).tolist() == [1]


def test_clearness_is_evidence_and_the_lead_over_the_next_person() -> None:
    """A twin takes the lead away; without one the row speaks twice for a person."""
    rng = np.random.default_rng(1)
    original, control = people(rng, 60), people(rng, 40)
    for c in COLUMNS:
        original[c][:2], original[c][2] = "twin", "alone"
    seen, (inside, _), _ = judged(original, {c: v[:3] for c, v in original.items()}, control)
    assert inside[:2] == pytest.approx(seen[0].score[:2], rel=1e-5)
    assert inside[2] == pytest.approx(2 * seen[0].score[2], rel=1e-5)
