"""Rows that repeat people's: counted as they are, and brought down to what other people's rows would be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from private_tables import codes_of, table_of
from scipy import stats

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.synthesis.imputation.copies import Guard, Originals, shares
from sfumato.synthesis.imputation.trees import Tree
from sfumato.synthesis.imputation.variables import look

SIZES = (6, 6, 6, 6)


def people(rows: int, seed: int) -> np.ndarray:
    """Four columns that hang together: a tree of small leaves learns single persons."""
    random = np.random.default_rng(seed)
    hidden = random.integers(0, 6, rows)
    noise = random.integers(0, 6, (4, rows))
    return np.where(random.random((4, rows)) < 0.55, hidden, noise)


def test_chance_is_the_share_of_other_peoples_rows() -> None:
    table = table_of(people(1_500, 1), SIZES)
    _, frame = look(table, [f"v{j}" for j in range(4)])
    originals = Originals.of(frame)
    _, others = look(table_of(people(20_000, 2), SIZES), [f"v{j}" for j in range(4)])
    for chance, found in zip(originals.chance, shares(originals, others), strict=True):
        assert abs(chance - found) < stats.norm.isf(5e-7) * (0.25 / 1_500) ** 0.5


def test_persons_are_counted_once_however_many_rows_they_have() -> None:
    frame = {"a": np.array([0.0, 0.0, 0.0, 1.0, 2.0, 2.0])}
    whose = np.array([0, 0, 1, 1, 2, 2])
    found = Originals.of(frame, whose=whose)
    assert sorted(found.persons) == [1, 1, 2]
    assert found.chance == (0.5, 0.0)  # three of six rows have another person beside them, the rest nobody


@pytest.mark.parametrize("drawn", [(0.4, 0.3), (0.1, 0.6), (0.05, 0.05), (0.8, 0.1), (0.0, 0.2)])
def test_the_guard_leaves_the_holdouts_share_and_each_column(drawn: tuple[float, float]) -> None:
    """Rows of one person lean to a level: with fewer of them the column would lean away from it."""
    rows, random = 6_000, np.random.default_rng(1)
    kind = random.choice(3, rows, p=[1 - sum(drawn), *drawn])
    wide = random.integers(2, 10**6, rows)
    key = np.where(kind == 0, wide + 2.0, kind - 1.0)  # 0 is one person's, 1 is two persons'
    level = (random.random(rows) < np.array([0.3, 0.8, 0.5])[kind]).astype(np.float64)
    known = {
        "key": np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1.0]),
        "level": np.array([0.0, 1.0, 0.0, 0.0, 1.0, 1.0]),
    }
    originals = replace(Originals.of(known), chance=(0.15, 0.25))
    frame = {"key": key, "level": level}
    guard = Guard.of(originals, frame, {"level": np.array([0.5, 0.5])}, {})
    stays = ~guard.refused(frame, random, 0)
    kept = {n: v[stays] for n, v in frame.items()}
    reach = stats.norm.isf(5e-7) * (0.25 / len(kept["key"])) ** 0.5
    for share, chance, own in zip(shares(originals, kept), originals.chance, drawn, strict=True):
        assert share < chance + reach
        assert own == 0 or share > 0  # never none: that tells as well
        assert own < chance + reach or share > chance - reach
    if sum(drawn) < 0.8:  # else rows of nobody are too few for it
        assert abs(kept["level"].mean() - 0.5) < reach


def test_leaves_hold_persons_not_rows() -> None:
    """Forty rows of one person are not forty persons: their leaf is joined to the next."""
    x = np.repeat([[0.0], [1.0], [2.0]], 40, axis=0)
    y = np.repeat([10.0, 20.0, 30.0], 40)
    whose = np.concatenate([np.zeros(40, np.int64), np.arange(1, 81)])
    grown = Tree(least=5).learn(x, y, None)
    alone, joined = (
        set(found.law(None).draw(np.zeros((200, 1)), np.random.default_rng(1)).round())
        for found in (grown, grown.holding(5, whose, x, y))
    )
    assert alone == {10.0}
    assert len(joined) > 1
    full = grown.holding(5, np.arange(120), x, y)  # a person to a row: as it was
    assert set(full.law(None).draw(np.zeros((200, 1)), np.random.default_rng(1)).round()) == {10.0}


def test_trees_repeat_and_the_guard_stops_it() -> None:
    truth = people(3_000, 3)
    table, known = table_of(truth, SIZES), {tuple(r) for r in truth.T.tolist()}
    found, words = {}, {}
    for reject in (False, True):
        release = sf.MultipleImputation("trees", reject_copies=reject).fit(table).sample(6_000, seed=4)
        rows = codes_of(release.data).T.tolist()
        found[reject] = np.mean([tuple(r) in known for r in rows])
        words[reject] = [c.text() for c in release.guarantee if c.reason == "rows repeated"]  # type: ignore[attr-defined]
    fresh = np.mean([tuple(r) in known for r in people(50_000, 5).T.tolist()])
    reach = stats.norm.isf(5e-7) * (0.25 * (1 / 6_000 + 1 / 3_000)) ** 0.5
    assert found[False] > fresh + reach
    assert found[True] < fresh + reach
    assert "of rows of other people" in words[False][0] and "drawn again" in words[True][0]


def test_numbers_are_near_within_a_twentieth() -> None:
    table = sf.samples.discharges(600, seed=1).select(["sex", "charge_usd"])
    text = sf.MultipleImputation("trees").fit(table).sample(300, seed=1).guarantee.claims[1].text()
    assert "twentieth" in text


def test_a_guard_is_asked_for_by_yes_or_no() -> None:
    with pytest.raises(ParameterError, match=r"reject_copies.*least"):
        sf.MultipleImputation(reject_copies="yes", least=0)  # type: ignore[arg-type]
