"""The attacker against every filling there is, and against faults that were planted."""

from __future__ import annotations

import numpy as np
import pytest
from cells.cell_tables import fillings, two_way
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.cells import Attacker, Published, Relations, Target, recovered
from sfumato.errors import DataError, ParameterError


def judged(published, filling, cells, **more):
    return Attacker(published, filling).judge([Target(int(c), 0.0, 0.0) for c in cells], ends=True, **more)


INNER = np.array([0, 1, 2, 4, 5, 6, 8, 9, 10])
# A rectangle, in which cells can move, and what lies beside it.
HIDDEN = st.builds(
    lambda row, column, more: {3 * r + c for r in {0, 1, 2} - {row} for c in {0, 1, 2} - {column}} | more,
    st.integers(0, 2),
    st.integers(0, 2),
    st.sets(st.integers(0, 8), max_size=2),
)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 3), min_size=9, max_size=9),
    HIDDEN,
    st.sampled_from([0.0, 1.0]),
    st.booleans(),
)
def test_agrees_with_every_whole_filling(inner, hidden, least, knows_truth) -> None:
    """Corners of a table of two ways are whole: the programs' ends are those of whole fillings."""
    relations, values = two_way(np.array(inner, float).reshape(3, 3))
    withheld = np.zeros(16, bool)
    withheld[INNER[sorted(hidden)]] = True
    published = Published.of_values(relations, values, withheld, least=least)
    cells = np.flatnonzero(withheld)
    every = fillings(published, 7)
    found = judged(published, values if knows_truth else None, cells)
    for i, cell in enumerate(cells):
        assert found.low[i] == pytest.approx(every[:, cell].min())
        assert found.high[i] == pytest.approx(every[:, cell].max())
    sums = recovered(published)
    assert sums is not None
    spread = every[:, cells].max(axis=0) > every[:, cells].min(axis=0)
    assert not (sums[cells] & spread).any()


@pytest.mark.parametrize("seed", range(3))
def test_large_tables_are_examined_as_small_ones_are(seed) -> None:
    """Where elimination is cut short, changes that keep all sums are drawn: the same cells are determined."""
    rng = np.random.default_rng(seed)
    relations, values = two_way(rng.integers(1, 9, (12, 9)).astype(float))
    withheld = rng.random(len(values)) < 0.35
    withheld[:10] = False
    withheld[3] = True  # alone in its row
    published = Published.of_values(relations, values, withheld, least=0.0)
    slowly, drawn = recovered(published), recovered(published, work_limit=0)
    assert slowly is not None and drawn is not None
    assert slowly.any() and not slowly[withheld].all()
    assert np.array_equal(slowly, drawn)


def test_hints_are_checked_and_save_programs() -> None:
    """A movement of a rectangle saves programs; what breaks a total or moves a shown cell does not."""
    relations, values = two_way(np.array([[2.0, 3, 9], [4, 2, 9], [9, 9, 9]]))
    withheld = np.zeros(16, bool)
    corners = np.array([0, 1, 4, 5])
    withheld[corners] = True
    published = Published.of_values(relations, values, withheld, least=1.0)
    targets = [Target(int(c), 1.0, 3.0) for c in (0, 5)]
    alone = Attacker(published, values).judge(targets)
    right = (corners, np.array([1.0, -1.0, -1.0, 1.0]))
    helped = Attacker(published, values).judge(targets, hints=[right])
    assert alone.covered.all() and helped.covered.all() and helped.whole.all()
    assert helped.programs == 0 < alone.programs
    wrong = [
        (corners, np.array([1.0, 1.0, -1.0, 1.0])),
        (np.array([0, 1]), np.array([1.0, -1.0])),
        (np.array([0, 2, 4, 6]), np.array([1.0, -1.0, -1.0, 1.0])),
    ]
    tight = Published.of_values(relations, values, np.isin(np.arange(16), [0, 1]), least=1.0)
    opened = Attacker(tight, values).judge(targets[:1], hints=[*wrong, right])
    assert not opened.covered.any() and opened.exact.all()
    assert Attacker(published, values).judge(targets, hints=wrong).programs == alone.programs


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 3), min_size=9, max_size=9),
    HIDDEN,
    st.integers(0, 8),
)
def test_a_contributor_finds_what_every_filling_says(inner, hidden, own) -> None:
    relations, values = two_way(np.array(inner, float).reshape(3, 3))
    withheld = np.zeros(16, bool)
    withheld[INNER[sorted(hidden | {own})]] = True
    published = Published.of_values(relations, values, withheld, least=1.0)
    cells = np.flatnonzero(withheld)
    contributor = int(INNER[own])
    found = Attacker(published, values).judge(
        [Target(int(c), values[c], values[c]) for c in cells], alone=[contributor]
    )
    every = fillings(published, 7)
    every = every[every[:, contributor] == values[contributor]]
    known = {int(c) for c in cells if c != contributor and np.ptp(every[:, c]) == 0}
    assert {victim for _, victim in found.victims} == known


def test_rank_finds_what_no_bound_is_needed_for() -> None:
    relations, values = two_way(np.arange(1.0, 10.0).reshape(3, 3))
    withheld = np.zeros(16, bool)
    withheld[[0, 1, 4, 5, 10]] = True  # a rectangle, and one cell alone
    published = Published.of_values(relations, values, withheld, least=-np.inf, whole=False)
    found = recovered(published)
    assert found is not None and np.flatnonzero(found).tolist() == [10]
    judgement = judged(published, values, [0, 10])
    assert judgement.exact.tolist() == [False, True]
    assert np.isinf(judgement.high[0]) and np.isinf(judgement.low[0])


def test_differencing_over_two_tables() -> None:
    """Two tables with one withheld cell each row are safe apart; that they share a total gives both away."""
    # cells: a, b, a+b | c, d, c+d with b = c (the same people in two tables)
    relations = Relations.of_sums(6, [(2, [0, 1]), (5, [3, 4]), (1, [3])])
    values = np.array([3.0, 4.0, 7.0, 4.0, 9.0, 13.0])
    withheld = np.array([True, True, False, False, False, False])
    found = judged(Published.of_values(relations, values, withheld), values, [0, 1])
    assert found.exact.all() and found.arithmetic is not None and found.arithmetic.all()
    apart = Relations.of_sums(6, [(2, [0, 1]), (5, [3, 4])])
    assert not judged(Published.of_values(apart, values, withheld), values, [0, 1]).exact.any()


def test_zeros_and_ones_open_cells_that_rank_does_not() -> None:
    """Two withheld parts of a total of 2, where zeros are published: both are 1."""
    relations = Relations.of_sums(3, [(2, [0, 1])])
    values = np.array([1.0, 1.0, 2.0])
    withheld = np.array([True, True, False])
    found = judged(Published.of_values(relations, values, withheld, least=1.0), values, [0, 1])
    assert found.exact.all() and not found.arithmetic.any()
    shown = judged(Published.of_values(relations, values, withheld, least=0.0), values, [0, 1])
    assert shown.low.tolist() == [0.0, 0.0] and shown.high.tolist() == [2.0, 2.0]


def test_rounding_is_undone_by_a_total() -> None:
    """Parts rounded to 5 each lie within 4 of what is shown; the total's range cuts them."""
    relations = Relations.of_sums(3, [(2, [0, 1])])
    low, high = np.array([1.0, 1.0, 18.0]), np.array([9.0, 9.0, 18.0])
    published = Published(relations, low, high, np.ones(3, bool))
    found = Attacker(published).judge([Target(0, 1, 9), Target(1, 1, 9)])
    assert not found.covered.any() and found.exact.all() and found.low.tolist() == [9.0, 9.0]


def test_a_covered_target_has_whole_witnesses() -> None:
    relations, values = two_way(np.array([[1, 9, 9], [9, 9, 9], [9, 9, 9]], float))
    withheld = np.zeros(16, bool)
    withheld[[0, 1, 4, 5]] = True
    published = Published.of_values(relations, values, withheld, least=1.0)
    found = Attacker(published, values).judge([Target(0, 1, 4)])
    assert found.covered.all() and found.whole.all() and found.found == 0 and found.by_program_only == 0
    assert not Attacker(published, values).judge([Target(0, 1, 10)]).covered.any()


def test_what_does_not_fit_is_refused() -> None:
    relations, values = two_way(np.ones((2, 2)))
    values[0] += 1
    with pytest.raises(DataError, match="do not fit"):
        Attacker(Published.of_values(relations, values, np.zeros(9, bool)), values)
    with pytest.raises(DataError, match="do not add up"):
        Attacker(Published.of_values(relations, values, np.zeros(9, bool)))
    with pytest.raises(ParameterError, match="needs its bounds"):
        Published(relations, np.zeros(2), np.zeros(2), np.ones(2, bool))
    with pytest.raises(ParameterError, match="not a number"):
        Published(relations, np.full(9, np.nan), np.zeros(9), np.ones(9, bool))
    with pytest.raises(DataError, match="above the upper"):
        Published(relations, np.ones(9), np.zeros(9), np.ones(9, bool))
    with pytest.raises(ParameterError, match="not there"):
        Relations.of_sums(2, [(0, [1, 2])])


def test_a_published_target_is_known() -> None:
    relations, values = two_way(np.ones((2, 2)))
    found = Attacker(Published.of_values(relations, values, np.zeros(9, bool)), values).judge(
        [Target(0, 1, 4)]
    )
    assert found.exact.all() and found.found == 1
