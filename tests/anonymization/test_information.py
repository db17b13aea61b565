"""Measures of information: by hand, as laws, and against what is known of independent columns."""

from __future__ import annotations

import math

import greedy_tables as gt
import numpy as np
import pytest
from hypothesis import given, settings

import sfumato as sf
from sfumato.anonymization.measure import CellMeasure, Measure
from sfumato.anonymization.outcome import outcome
from sfumato.anonymization.problem import Problem
from sfumato.anonymization.recoding import Recoding
from sfumato.criteria import KAnonymity
from sfumato.errors import ParameterError

CELLS = [sf.Height(), sf.Precision(), sf.ColumnMI("y"), sf.ColumnMI("y", graded=True), sf.ValueMI("y"),
         sf.ValueMI("y", event=0), sf.ValueMI("y", monotone=True)]  # fmt: skip


def untouched(p: Problem) -> Recoding:
    return Recoding.whole(p, p.leaves, np.zeros(p.combinations, bool))


def suppressed(p: Problem) -> Recoding:
    roots = np.tile(np.array([h.root for h in p.hierarchies], np.int32), (p.combinations, 1))
    return Recoding.whole(p, roots, np.ones(p.combinations, bool))


def test_each_says_what_it_is() -> None:
    for m in [*CELLS, sf.Degradation("y")]:
        assert isinstance(m, Measure) and m.name
        assert isinstance(m.monotone, bool) and m.better in ("lower", "higher") and m.range[0] < m.range[1]
        assert m.reads_outcome == bool(m.needs)
    assert all(isinstance(m, CellMeasure) for m in CELLS)
    assert not isinstance(sf.Degradation("y"), CellMeasure)
    assert sf.Precision().better == "higher" and sf.Precision().range == (0.0, 1.0)
    assert not sf.ValueMI("y").monotone


@given(gt.problems())
@settings(max_examples=60)
def test_cell_measures_keep_their_word(p: Problem) -> None:
    """Costs are not negative; a monotone one never falls on the way up; scores stay in their range."""
    for m in CELLS:
        costs = m.cost(p)
        for h, cost in zip(p.hierarchies, costs, strict=True):
            assert cost.shape == (h.size,) and (cost >= 0).all() and np.isfinite(cost).all()
            if m.monotone:
                assert (np.diff(cost[h.nodes], axis=0) >= -1e-12).all()
        for r in (untouched(p), suppressed(p)):
            assert m.range[0] - 1e-12 <= m.score(r) <= m.range[1] + 1e-12


def test_height_and_precision_by_hand() -> None:
    """The thesis' figure 5: one of three cells suppressed is .66; a root of three columns costs 1 of 3."""
    h = gt.tree(2, ())
    p = gt.problem([h, h, h], np.array([[0, 1, 1]]), np.ones(1, np.int64))
    one = Recoding.whole(p, np.array([[h.root, 1, 1]], np.int32), np.zeros(1, bool))
    assert sf.Precision().score(untouched(p)) == 1.0
    assert sf.Precision().score(one) == pytest.approx(2 / 3)
    assert sf.Height().score(one) == pytest.approx(1.0)
    assert sf.Precision().score(suppressed(p)) == pytest.approx(0.0)
    weighted = Problem(p.columns, p.hierarchies, p.leaves, p.n, weights=np.array([6.0, 1.0, 1.0]))
    again = Recoding.whole(weighted, one.nodes, one.suppressed)
    assert sf.Height().score(again) == 6.0
    assert sf.Precision().score(again) == pytest.approx(1 - 6 / 8)


def four(counts: list[list[int]]) -> Problem:
    """One column with a value per row of the table, and the outcome 'y' per column of it."""
    table = np.array(counts)
    x, y = (a.ravel() for a in np.indices(table.shape))
    return gt.problem([gt.tree(len(table), (2,))], x[:, None], table.ravel(), {"y": y})


def test_mutual_information_by_hand() -> None:
    p = four([[40, 0], [0, 40], [20, 20], [20, 20]])
    (bits,) = sf.ColumnMI("y", corrected=False).levels(p)
    assert bits == pytest.approx([0.5, 0.0, 0.0])
    (corrected,) = sf.ColumnMI("y").levels(p)
    assert corrected[0] == pytest.approx(0.5 - 3 * 1 / (2 * 160 * math.log(2)))
    (cost,) = sf.ColumnMI("y", corrected=False).cost(p)
    assert cost[:4] == pytest.approx(0) and cost[-1] == pytest.approx(0.5) and cost[4] == pytest.approx(0.25)
    (graded,) = sf.ColumnMI("y", corrected=False, graded=True, floor=0.0).cost(p)
    assert graded[[4, 5, 6]] == pytest.approx(0.5)  # all is lost on the first level


@given(gt.problems())
@settings(max_examples=60)
def test_values_are_worth_their_columns_information(p: Problem) -> None:
    """sum_x p(x) i(x) = I(X; C) on each level, and so are the corrections for bias."""
    values = sf.ValueMI("y", corrected=False, least=1).worth(p)
    for j, (h, bits) in enumerate(
        zip(p.hierarchies, sf.ColumnMI("y", corrected=False).levels(p), strict=True)
    ):
        rows = outcome(p, "y").by_node(p, j).sum(1)
        for level, nodes in enumerate(h.nodes):
            here = np.unique(nodes)
            assert (rows[here] * values[j][here]).sum() / p.rows == pytest.approx(bits[level], abs=1e-9)


def test_a_value_may_tell_less_than_what_it_generalizes_to() -> None:
    """Not monotone even in the population: the values of the second pair tell nothing, one of them did."""
    p = four([[80, 20], [50, 50], [20, 80], [20, 80]])
    (worth,) = sf.ValueMI("y", corrected=False).worth(p)
    assert worth[1] < worth[4]  # the second value, and the first pair
    (plain,), (monotone,) = sf.ValueMI("y").cost(p), sf.ValueMI("y", monotone=True).cost(p)
    assert plain[1] > plain[4]
    assert monotone[1] <= monotone[4] and (monotone >= plain).all()


def test_the_event_of_the_thesis() -> None:
    p = four([[30, 10], [10, 30], [20, 20], [20, 0]])
    (worth,) = sf.ValueMI("y", event=1).worth(p)
    overall = 60 / 140
    assert worth[0] == pytest.approx(abs(math.log2(0.25 / overall)))
    assert worth[1] == pytest.approx(abs(math.log2(0.75 / overall)))
    assert worth[-1] == pytest.approx(0.0)
    assert math.isfinite(worth[3]) and worth[3] > worth[0]  # never seen together
    with pytest.raises(ParameterError, match="2 outcomes"):
        sf.ValueMI("y", event=2).worth(p)


def test_rare_values_are_worth_what_is_above_them() -> None:
    p = four([[5, 0], [60, 40], [30, 70], [30, 70]])
    (worth,) = sf.ValueMI("y").worth(p)
    assert worth[0] == worth[4]
    assert sf.ValueMI("y", least=5).worth(p)[0][0] != worth[4]


def test_corrected_information_of_independent_columns_is_about_nothing() -> None:
    """2N ln 2 I is about chi-square with 80 degrees of freedom where the columns are independent.

    The mean of 60 of them, corrected, is then within z sd of 0; z = 5 has a false-alarm rate of 6e-7. The
    raw estimate is not.
    """
    rng = np.random.default_rng()
    rows, found, raw = 4_000, [], []
    for _ in range(60):
        x, y = rng.integers(0, 9, rows), rng.integers(0, 11, rows)
        p = gt.problem([gt.tree(9, ())], x[:, None], np.ones(rows, np.int64), {"y": y})
        found.append(mi(p, True))
        raw.append(mi(p, False))
    sd = math.sqrt(2 * 80 / 60) / (2 * rows * math.log(2))
    assert abs(np.mean(found)) < 5 * sd
    assert np.mean(raw) > 5 * sd


def mi(p: Problem, corrected: bool) -> float:
    """Before what falls below zero is cut off."""
    from sfumato.measures import mutual_information

    table = outcome(p, "y", None).by_node(p, 0)[: len(p.hierarchies[0].leaves)]
    return mutual_information(table, corrected=corrected) / math.log(2)


def test_outcomes_are_pooled_in_order() -> None:
    y = np.arange(100)
    p = gt.problem([gt.tree(2, ())], (y % 2)[:, None], np.ones(100, np.int64), {"y": y})
    found = outcome(p, "y", 4)
    assert found.levels == 4
    assert np.bincount(found.code, found.n).tolist() == [25, 25, 25, 25]
    by_y = found.code[np.argsort(p.sensitive["y"].code)]
    assert (np.diff(by_y) >= 0).all()


def test_a_quasi_identifier_can_be_the_target() -> None:
    p = gt.drawn(3, 300, 2)
    bits = sf.ColumnMI("c1").levels(p)
    assert bits[1][0] == max(b[0] for b in bits)
    assert sf.Greedy(loss=sf.ColumnMI("c1")).search(p, KAnonymity(3)).classes()[1].min() >= 3


def test_a_column_that_tells_nothing_is_not_destroyed_for_nothing() -> None:
    h = gt.tree(4, (2,))
    leaves = np.array([[x, z] for x in range(4) for z in range(4)])
    y = leaves[:, 0]
    p = gt.problem([h, h], leaves, np.full(16, 2), {"y": y})
    (informative, empty) = sf.ColumnMI("y").cost(p)
    assert informative.max() > 0 and empty.max() == pytest.approx(informative.max() * 1e-3)
    assert sf.ColumnMI("y", floor=0.0).cost(p)[1].max() == 0


def test_bad_settings_are_refused() -> None:
    for bad in (
        lambda: sf.ColumnMI(""),
        lambda: sf.ColumnMI("y", floor=2.0),
        lambda: sf.ValueMI("y", least=0),
        lambda: sf.ValueMI("y", event=-1),
        lambda: sf.ValueMI("y", most=1),
        lambda: sf.Degradation("y", share=1.0),
        lambda: sf.Degradation("", against="other"),
        lambda: sf.HierarchyNetwork(prior=0),
    ):
        with pytest.raises(ParameterError):
            bad()
