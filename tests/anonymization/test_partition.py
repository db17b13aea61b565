"""Partition: the ends of a split, the printed rule and the retrying one."""

from __future__ import annotations

import greedy_tables as gt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymization.greedy import _kernels
from sfumato.anonymization.greedy.check import bound
from sfumato.anonymization.greedy.flat import Flat
from sfumato.anonymization.problem import Problem
from sfumato.criteria import KAnonymity, LDiversity
from sfumato.errors import ParameterError


@given(gt.problems(), st.sampled_from([sf.Height(), sf.ColumnMI("y"), sf.ValueMI("y")]), st.booleans())
@settings(max_examples=80)
def test_the_ends_are_the_farthest_pair(p: Problem, loss: object, pairs: bool) -> None:
    """With and without the tables of pairs, with pruning: the distance is the largest there is."""
    costs = loss.cost(p)
    flat = Flat.of(p, costs, pairs=pairs)
    part, seeds = np.arange(p.combinations), np.ones(p.combinations, bool)
    most = flat.costs(bound(flat, part)) if loss.monotone else np.array([c.max() for c in costs])
    first, second, found = _kernels.farthest(flat, part, seeds, most, np.argsort(-most))

    def distance(s: int, t: int) -> float:
        own = sum(gt.measure(costs, p.leaves[x]) for x in (s, t))
        return 2 * gt.measure(costs, gt.bound(p, [s, t])) - own

    largest = max((distance(s, t) for s in part for t in part if s < t), default=0.0)
    assert found == pytest.approx(max(0.0, largest), abs=1e-9)
    if first >= 0:
        assert distance(first, second) == pytest.approx(found, abs=1e-9)
        side = np.empty(len(part), bool)
        rows = _kernels.divide(flat, part, first, second, side)
        assert rows == (p.n[~side].sum(), p.n[side].sum())
        for t in part:
            if t not in (first, second):
                to = [distance(min(t, e), max(t, e)) for e in (first, second)]
                if abs(to[0] - to[1]) > 1e-9:
                    assert side[t] == (to[1] < to[0])


def outlier() -> Problem:
    """Two clusters that agree in one column, and one row that is alone in all three."""
    h = gt.tree(9, (3,))
    rows = [[0, 0, 0], [0, 1, 1], [0, 2, 2], [1, 0, 1], [4, 0, 0], [4, 1, 1], [4, 2, 2], [5, 0, 1], [8, 8, 8]]
    return gt.problem([h, h, h], np.array(rows), np.ones(9, np.int64))


def test_one_outlier_freezes_the_printed_rule_and_not_the_retrying_one() -> None:
    p = outlier()
    printed = sf.Partition(rule="printed").search(p, KAnonymity(3))
    assert printed.classes()[1].tolist() == [9] and printed.about["splits"] == 0
    retrying = sf.Partition().search(p, KAnonymity(3))
    assert sorted(retrying.classes()[1]) == [4, 5]
    assert retrying.about["score"] < printed.about["score"]
    assert retrying.about["tries"] > retrying.about["splits"] >= 1


def test_tries_are_counted() -> None:
    p = outlier()
    once = sf.Partition(tries=1).search(p, KAnonymity(3))
    assert once.classes()[1].tolist() == [9]


@given(gt.problems(), st.integers(1, 5))
@settings(max_examples=60)
def test_retrying_loses_no_more_splits_than_printed(p: Problem, k: int) -> None:
    """Its parts refine nothing less: where printed splits, retrying makes the same first split."""
    printed = sf.Partition(rule="printed").search(p, KAnonymity(k))
    retrying = sf.Partition().search(p, KAnonymity(k))
    assert retrying.about["splits"] >= printed.about["splits"]
    assert retrying.about["score"] <= printed.about["score"] + 1e-9


def test_rows_enough_by_themselves_stay_as_they_are() -> None:
    p = gt.drawn(5, 30, 3, most=1)
    p = Problem(p.columns, p.hierarchies, p.leaves, p.n * 7)
    found = sf.Partition().search(p, KAnonymity(7))
    assert (found.nodes == p.leaves).all()


def test_diverse_sides_are_asked_for_while_splitting() -> None:
    p = gt.drawn(8, 400, 3, levels=3)
    plain = sf.Partition().search(p, KAnonymity(5))
    diverse = sf.Partition().search(p, KAnonymity(5) & LDiversity(3, "y"))
    assert not diverse.suppressed.any()
    assert gt.holds_by_hand(diverse, lambda rows, tables: rows >= 5 and (tables[0] > 0).sum() >= 3)
    assert diverse.about["score"] >= plain.about["score"]


def test_bad_settings_are_refused_all_at_once() -> None:
    with pytest.raises(ParameterError, match=r"rule.*tries.*loss"):
        sf.Partition(rule="other", tries=0, loss=sf.Degradation("y"))
