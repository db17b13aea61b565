"""Planted faults, each beside a table without it: the attacker tells one from the other."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cells import Attacker, Published, Relations, Target


def risk(columns: dict[str, list[object]], layout: str, **more) -> sf.TableRisk:
    return sf.assess_tables(pa.table(columns), layout, **more)


def two_columns(a, b, counts):
    return {"a": a, "b": b, "count": [str(c) for c in counts]}


GRID_A = ["x", "x", "x", "y", "y", "y", "z", "z", "z", "_T", "_T", "_T"]
GRID_B = ["1", "2", "_T"] * 4


def test_one_cell_of_a_row() -> None:
    planted = two_columns(GRID_A, GRID_B, ["*", 9, 12, 20, 20, 40, 8, 8, 16, 31, 37, 68])
    assert not risk(planted, "a,b").met
    safe = two_columns(GRID_A, GRID_B, ["*", "*", 12, "*", "*", 40, 8, 8, 16, 31, 37, 68])
    assert risk(safe, "a,b").met


def test_differencing_over_two_tables() -> None:
    """By age and by sex the same county is shown; the total over one is told by the other."""
    cells = {
        "county": ["_T", "_T", "_T", "_T", "_T"],
        "age": ["old", "young", "_T", "_T", "_T"],
        "sex": ["_T", "_T", "m", "f", "_T"],
        "count": ["*", "18", "11", "10", "*"],
    }
    assert not risk(cells, "county,age;county,sex").met  # 11 + 10 - 18 = 3
    assert risk({**cells, "count": ["*", "18", "*", "10", "*"]}, "county,age;county,sex").met


def test_differencing_over_quarters() -> None:
    """The year and three quarters are shown, the fourth is withheld."""
    cells = {
        "quarter": ["q1", "q2", "q3", "q4", "_T"],
        "count": ["20", "22", "30", "*", "75"],
    }
    assert not risk(cells, "quarter").met
    assert risk({**cells, "count": ["20", "*", "30", "*", "75"]}, "quarter").met


def test_a_single_child_of_a_hierarchy() -> None:
    """The only county of an area is the area: one is withheld, the other shown."""
    cells = {
        "area": ["N", "N", "S", "S", "S", "_T"],
        "county": ["n1", "_T", "s1", "s2", "_T", "_T"],
        "count": ["*", "3", "30", "9", "39", "42"],
    }
    found = risk(cells, "area>county")
    assert not found.met and found.shown == 1
    assert not risk({**cells, "count": ["*", "*", "30", "9", "39", "42"]}, "area>county").met
    safe = ["*", "*", "*", "9", "*", "42"]
    assert risk({**cells, "count": safe}, "area>county").met


def test_zeros_tell_that_others_are_not() -> None:
    """Two withheld parts of 2: where every zero is shown, both are 1."""
    cells = {"a": ["x", "y", "z", "_T"], "count": ["*", "*", "0", "2"]}
    assert not risk(cells, "a").met
    found = risk(cells, "a", zeros=False)
    assert found.cells["low"].to_pylist() == [0.0, 0.0]
    assert risk({**cells, "count": ["*", "*", "0", "9"]}, "a").met


def test_a_contributor_takes_his_own_off() -> None:
    """Two people alone in two cells of a row hide each other from all but each other."""
    relations = Relations.of_sums(4, [(3, [0, 1, 2])])
    values = np.array([1.0, 1.0, 30.0, 32.0])
    targets = [Target(0, 1, 1), Target(1, 1, 1)]
    pair = Published.of_values(relations, values, np.array([True, True, False, False]))
    found = Attacker(pair, values).judge(targets, alone=[0, 1])
    assert set(found.victims) == {(0, 1), (1, 0)}
    third = Published.of_values(relations, values, np.array([True, True, True, False]))
    assert not Attacker(third, values).judge(targets, alone=[0, 1]).victims


def test_two_contributors_together_take_theirs_off() -> None:
    """Three people alone in the three withheld cells of a row: any two of them know the third."""
    relations = Relations.of_sums(4, [(3, [0, 1, 2])])
    hidden = np.array([True, True, True, False])
    targets = [Target(c, 1, 1) for c in range(3)]
    values = np.array([1.0, 1.0, 1.0, 3.0])
    attacker = Attacker(Published.of_values(relations, values, hidden), values)
    assert not attacker.judge(targets, alone=[0, 1, 2]).found
    found = attacker.judge(targets, alone=[0, 1, 2], coalition=2)
    assert set(found.coalitions) == {((0, 1), 2), ((0, 2), 1), ((1, 2), 0)} and found.found == 3
    values = np.array([2.0, 1.0, 1.0, 4.0])  # the two of cell 0 are a coalition, but leave two cells open
    attacker = Attacker(Published.of_values(relations, values, hidden), values)
    found = attacker.judge(targets, alone={0: 2, 1: 1, 2: 1}, coalition=2)
    assert found.coalitions == (((1, 2), 0),) and not found.victims


def test_a_total_of_one_person_is_no_victim_of_his() -> None:
    """Cell 0 is the only part of cell 1: who is alone in the one is alone in the other."""
    relations = Relations.of_sums(5, [(1, [0]), (4, [1, 2, 3])])
    values = np.array([1.0, 1.0, 2.0, 7.0, 10.0])
    withheld = np.array([True, True, True, True, False])
    published = Published.of_values(relations, values, withheld, least=1.0)
    targets = [Target(0, 1, 4), Target(1, 1, 4), Target(2, 1, 4)]
    found = Attacker(published, values).judge(targets, alone=[0, 1])
    assert found.found == 0 and not found.victims
    # The same without the equality: cell 2 alone hides cell 1, and whoever is in it knows both.
    apart = Published.of_values(relations, values, np.array([True, True, True, False, False]), least=1.0)
    assert (0, 2) in Attacker(apart, values).judge(targets, alone=[0]).victims


def test_rounding_that_totals_undo() -> None:
    """Rounded to 5, parts of 0 with a total of 10: each of two must be near its end."""
    planted = {"a": ["x", "y", "_T"], "count": ["5", "5", "20"]}
    found = risk(planted, "a", base=5, minimum=10)
    assert (found.cells["high"].to_numpy() - found.cells["low"].to_numpy()).max() <= 4
    safe = {"a": ["x", "y", "_T"], "count": ["10", "10", "20"]}
    assert risk(safe, "a", base=5).met


@pytest.mark.parametrize("weights", [(1.5, 0.25), (3.0, 7.0)])
def test_weights_tell(weights) -> None:
    """A plain and a weighted total of the same two cells: two equations for two unknowns."""
    values = np.array([2.0, 30.0, 32.0, weights[0] * 2 + weights[1] * 30])
    zero = np.zeros(2)
    relations = Relations.of_entries(
        2, 4, [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 3], [1, 1, -1, *weights, -1], zero, zero
    )
    hidden = np.array([True, True, False, False])
    found = Attacker(Published.of_values(relations, values, hidden), values).judge([Target(0, 1, 4)])
    assert found.exact.all() and found.found == 1
    hidden[3] = True
    beside = Published.of_values(relations, values, hidden, whole=False)
    assert Attacker(beside, values).judge([Target(0, 1, 4)]).found == 0


def test_a_range_beside_a_total() -> None:
    """1-4 in two cells of 8: both are 4."""
    assert not risk({"a": ["x", "y", "z", "_T"], "count": ["1-4", "1-4", "20", "28"]}, "a").met
    assert risk({"a": ["x", "y", "z", "_T"], "count": ["1-4", "1-4", "*", "28"]}, "a").met


# -- three ways: programs with fractions are not enough -------------------------------------------


def cube(values: np.ndarray) -> tuple[Relations, np.ndarray, np.ndarray]:
    """Relations, cells and numbers of a table with totals over all axes."""
    full = values.astype(float)
    for axis in range(values.ndim):
        full = np.concatenate([full, full.sum(axis=axis, keepdims=True)], axis=axis)
    number = np.arange(full.size).reshape(full.shape)
    sums = []
    for axis in range(values.ndim):
        lines = np.moveaxis(number, axis, -1).reshape(-1, full.shape[axis])
        sums += [(int(line[-1]), line[:-1].tolist()) for line in lines]
    return Relations.of_sums(full.size, sums), full.ravel(), number


def whole_fillings(published: Published, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The withheld cells, and every whole filling of them up to `most` that fits."""
    cells = published.open
    grid = np.stack(np.meshgrid(*[np.arange(most + 1, dtype=np.float32)] * len(cells), indexing="ij"), -1)
    grid = grid.reshape(-1, len(cells))
    matrix = published.relations.matrix.toarray()
    known = np.where(np.isin(np.arange(matrix.shape[1]), cells), 0.0, published.low)
    rest = (matrix @ known).astype(np.float32)
    fits = np.ones(len(grid), bool)
    for row, told in zip(matrix[:, cells].astype(np.float32), rest, strict=True):
        fits &= np.abs(grid @ row + told) < 1e-3
    return cells, grid[fits]


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.integers(0, 2), min_size=12, max_size=12), st.sets(st.integers(0, 11), min_size=5, max_size=8)
)
def test_three_ways_agree_with_every_whole_filling(inner, hidden) -> None:
    relations, values, number = cube(np.array(inner).reshape(2, 2, 3))
    withheld = np.zeros(len(values), bool)
    withheld[number[:2, :2, :3].ravel()[sorted(hidden)]] = True
    published = Published.of_values(relations, values, withheld)
    cells, every = whole_fillings(published, 4)
    found = Attacker(published, values).judge([Target(int(c), -np.inf, np.inf) for c in cells], ends=True)
    np.testing.assert_allclose(found.low, every.min(axis=0), atol=1e-6)
    np.testing.assert_allclose(found.high, every.max(axis=0), atol=1e-6)


def test_fractions_do_not_count_as_doubt() -> None:
    """A half of somebody fits these sums, and no whole person does: the reader knows every cell."""
    # Three sums of pairs fix three cells; with whole numbers nothing else fits.
    relations = Relations.of_entries(
        3, 6, [0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 3, 1, 2, 4, 0, 2, 5], [1, 1, -1] * 3,
        np.array([0.0, 0.0, -1.0]), np.array([0.0, 0.0, 1.0]),
    )  # fmt: skip
    values = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
    withheld = np.array([True, True, True, False, False, False])
    published = Published.of_values(relations, values, withheld)
    found = Attacker(published, values).judge([Target(0, 1, 1.5)], ends=True)
    fits = [
        x
        for x in itertools.product(range(4), repeat=3)
        if x[0] + x[1] == 2 and x[1] + x[2] == 2 and abs(x[0] + x[2] - 2) <= 1
    ]
    assert {x[0] for x in fits} == {1}
    assert found.low[0] == found.high[0] == 1.0 and found.exact.all()


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("1,000", 1000, 1000), ("1.234", 1234, 1234), ("12.0", 12, 12), ("1 234", 1234, 1234),
        ("< 5", 0, 4), ("<=5", 0, 5), ("fewer than 10", 0, 9), ("5+", 5, np.inf), ("≥ 5", 5, np.inf),
        ("1-4", 1, 4), ("1 to 4", 1, 4), ("c", 0, np.inf), ("", 0, np.inf), ("5 or fewer", 0, 5),
    ],
)  # fmt: skip
def test_counts_as_people_write_them(text, low, high) -> None:
    from sfumato.cells.written import told_bounds

    found = told_bounds([text], "n")
    assert (found[0][0], found[1][0]) == (low, high)


def test_another_sign_for_totals() -> None:
    cells = {"a": ["x", "y", "Total"], "count": ["*", "28", "30"]}
    assert not risk(cells, "a", total="Total").met
    with pytest.raises(sf.SfumatoError, match="have no total"):
        risk(cells, "a")
