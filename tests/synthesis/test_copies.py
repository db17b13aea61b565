"""Rows that repeat people's: counted as they are, and brought down to what other people's rows would be."""

from __future__ import annotations

import numpy as np
import pytest
from private_tables import codes_of, table_of
from scipy import stats

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.synthesis.imputation.copies import Guard, Originals, shares
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
    variables, frame = look(table, [f"v{j}" for j in range(4)])
    originals = Originals.of(frame, variables)
    _, others = look(table_of(people(20_000, 2), SIZES), [f"v{j}" for j in range(4)])
    for chance, found in zip(originals.chance, shares(originals, others), strict=True):
        assert abs(chance - found) < stats.norm.isf(5e-7) * (0.25 / 1_500) ** 0.5


@pytest.mark.parametrize("drawn", [(0.4, 0.3), (0.1, 0.6), (0.05, 0.05), (0.9, 0.1), (0.0, 0.2)])
def test_the_guard_leaves_the_holdouts_share(drawn: tuple[float, float]) -> None:
    originals = Originals(np.arange(9, dtype=np.uint64), np.ones(9, np.int64), (0.15, 0.25))
    guard = Guard.of(originals, drawn)
    kept = [s * a for s, a in zip(drawn, guard.stay, strict=True)]
    whole = sum(kept) + 1 - sum(drawn)
    for share, chance, own, stay in zip(kept, originals.chance, drawn, guard.stay, strict=True):
        assert 0 < stay <= 1
        if whole < 1 and sum(drawn) < 1:
            assert share / whole <= chance + 1e-9 or stay == 1
            assert stay == 1 or share / whole == pytest.approx(chance)
        assert own == 0 or share > 0  # never none: that tells as well


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
    with pytest.raises(ParameterError, match="reject_copies"):
        sf.MultipleImputation(reject_copies="yes")  # type: ignore[arg-type]
