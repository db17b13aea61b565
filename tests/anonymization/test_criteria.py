"""Each criterion against its definition, and its promises about merging classes."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import sfumato as sf
from sfumato.anonymization.classes import classes_of
from sfumato.anonymization.problem import compress
from sfumato.criteria import All, Classes, Spread
from sfumato.errors import ParameterError

TREE = sf.Hierarchy.of_rows([["0", "low", "*"], ["1", "low", "*"], ["2", "high", "*"], ["3", "high", "*"]])
LEVELS = 4
Rows = list[list[int]]
classes_strategy = st.lists(
    st.lists(st.integers(0, LEVELS - 1), min_size=1, max_size=8), min_size=1, max_size=5
)


def classes(rows: Rows, whole: Rows | None = None) -> Classes:
    """One list of sensitive values per class."""
    label = np.repeat(np.arange(len(rows)), [len(r) for r in rows])
    code = np.array([v for r in rows for v in r], np.int64)
    every = np.bincount([v for r in whole or rows for v in r], minlength=LEVELS)
    spread = Spread.of(label, code, np.ones_like(code), len(rows), LEVELS, every, ("0", "1", "2", "3"))
    return Classes(np.array([len(r) for r in rows]), tables={"s": spread})


def distance(row: list[int], whole: Rows, ground) -> float:
    """Earth mover's distance as the transport problem it is."""
    every = [v for r in whole for v in r]
    values = sorted(set(every))
    p = [row.count(v) / len(row) for v in values]
    q = [every.count(v) / len(every) for v in values]
    m = len(values)
    cost = [ground(a, b, values) for a in values for b in values]
    equal = [[float(i == k) for i in range(m) for _ in range(m)] for k in range(m)]
    equal += [[float(j == k) for _ in range(m) for j in range(m)] for k in range(m)]
    return float(linprog(cost, A_eq=equal, b_eq=[*p, *q]).fun)


def _tree(a: int, b: int, values: list[int]) -> float:
    return 0.0 if a == b else 0.5 if a // 2 == b // 2 else 1.0


GROUND = {
    "equal": lambda a, b, values: float(a != b),
    "ordered": lambda a, b, values: abs(values.index(a) - values.index(b)) / max(len(values) - 1, 1),
    "hierarchical": _tree,
}


@settings(max_examples=40)
@given(classes_strategy, st.sampled_from(sorted(GROUND)))
def test_t_closeness_is_the_earth_movers_distance(rows, name) -> None:
    asked = sf.TCloseness(0.3, "s", name, TREE if name == "hierarchical" else None)
    wanted = [distance(r, rows, GROUND[name]) for r in rows]
    assert asked.distances(classes(rows)) == pytest.approx(wanted, abs=1e-7)


@given(classes_strategy, st.integers(1, 4), st.floats(0.3, 3), st.floats(0.2, 1))
def test_diversity_is_its_definition(rows, l, c, alpha) -> None:  # noqa: E741
    found = classes(rows)
    for i, row in enumerate(rows):
        n = sorted(Counter(row).values(), reverse=True)
        entropy = -sum(v / len(row) * math.log(v / len(row)) for v in n)
        assert sf.LDiversity(l, "s").satisfied(found)[i] == (len(n) >= l)
        if abs(entropy - math.log(l)) > 1e-6:
            assert sf.LDiversity(l, "s", "entropy").satisfied(found)[i] == (entropy >= math.log(l))
        if abs(n[0] - c * sum(n[l - 1 :])) > 1e-6:
            assert sf.LDiversity(l, "s", "recursive", c=c).satisfied(found)[i] == (n[0] < c * sum(n[l - 1 :]))
        if abs(n[0] - alpha * len(row)) > 1e-6:
            wanted = len(row) >= 2 and n[0] <= alpha * len(row)
            assert sf.AlphaK(alpha, 2, "s").satisfied(found)[i] == wanted


MONOTONE = [
    sf.KAnonymity(3), sf.LDiversity(2, "s"), sf.LDiversity(1.8, "s", "entropy"),
    sf.LDiversity(2, "s", "recursive", c=1.5), sf.AlphaK(0.6, 2, "s"), sf.TCloseness(0.3, "s"),
    sf.TCloseness(0.3, "s", "ordered"), sf.TCloseness(0.4, "s", "hierarchical", TREE),
    sf.JAnonymity(6, 0.2, 0.5), sf.KAnonymity(2) & sf.LDiversity(2, "s", "entropy"),
]  # fmt: skip


@settings(max_examples=150)
@given(st.sampled_from(MONOTONE), classes_strategy)
def test_merging_keeps_what_a_criterion_promises(asked, rows) -> None:
    good = asked.satisfied(classes(rows))
    assert asked.monotone
    for i, j in combinations(range(len(rows)), 2):
        merged = asked.satisfied(classes([rows[i] + rows[j]], rows))[0]
        if good[i] and good[j]:
            assert merged
        if asked.closed and (good[i] or good[j]):
            assert merged
    assert all(len(r) >= asked.k for r, fine in zip(rows, good, strict=True) if fine)


@given(st.integers(1, 12), st.floats(0.05, 0.95), st.integers(1, 12))
def test_j_anonymity_is_the_sum_over_the_model(k, fraction, rows) -> None:
    """P(fewer than k) by adding up C(f + u - 1, u) p^f (1 - p)^u."""
    short = sum(
        math.comb(rows + u - 1, u) * fraction**rows * (1 - fraction) ** u for u in range(max(0, k - rows))
    )
    asked = sf.JAnonymity(k, 0.05, fraction)
    if abs(short - 0.05) > 1e-9:
        assert asked.satisfied(Classes(np.array([rows])))[0] == (short <= 0.05) == (rows >= asked.k)


def test_persons_are_sets_not_sums() -> None:
    table = sf.Table.from_arrow(
        pa.table({"q": ["a", "a", "b", "b", "c", "c"], "who": ["x", "y", "x", "y", None, None]})
    )
    tree = {"q": sf.Hierarchy.of_rows([["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"]])}
    problem = compress(table, ["q"], tree, person="who")
    assert classes_of(problem, np.array([0, 0, 1])).persons.tolist() == [2, 1]
    assert classes_of(problem, np.array([0, 0, 0])).persons.tolist() == [2]
    assert classes_of(problem, np.array([0, -1, 1])).persons.tolist() == [2, 1]


def test_k_map_counts_in_the_population_and_by_weights() -> None:
    tree = {"q": sf.Hierarchy.of_rows([["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"]])}
    table = sf.Table.from_arrow(pa.table({"q": ["a", "b", "c"], "w": [1.5, 2.0, 40.0]}))
    people = sf.Table.from_arrow(pa.table({"q": ["a"] * 2 + ["b"] * 3 + ["c"] * 9}))
    for asked, k in ((sf.KMap(5, people, name="the town"), 5), (sf.KMap(3, weight="w"), 3)):
        release = sf.anonymize(table, asked, hierarchies=tree, quasi_identifiers=["q"])
        assert sorted(release.data.to_arrow()["q"].to_pylist()) == ["ab", "ab", "c"]
        assert release.guarantee.claims[0].k == k
    with pytest.raises(ParameterError, match="cannot hold"):
        sf.anonymize(table, sf.KMap(15, people), hierarchies=tree, quasi_identifiers=["q"])


def test_and_flattens_and_asks_for_the_most() -> None:
    both = sf.KAnonymity(3) & (sf.LDiversity(4, "s") & sf.KAnonymity(3))
    assert isinstance(both, All) and len(both.parts) == 2 and both.k == 4 and both.sensitive == ("s",)
    assert not (both & sf.TCloseness(0.2, "s")).closed


@pytest.mark.parametrize(
    "make",
    [
        lambda: sf.KAnonymity(0),
        lambda: sf.KAnonymity(True),
        lambda: sf.KAnonymity(2.5),
        lambda: sf.KAnonymity(2, missing="perhaps"),
        lambda: sf.KAnonymity(2, persons=True, missing="matches anything"),
        lambda: sf.LDiversity(2.5, "s"),
        lambda: sf.LDiversity(2, ""),
        lambda: sf.LDiversity(2, "s", "odd"),
        lambda: sf.LDiversity(2, "s", "recursive"),
        lambda: sf.LDiversity(2, "s", c=1),
        lambda: sf.LDiversity(0.5, "s", "entropy"),
        lambda: sf.TCloseness(1.5, "s"),
        lambda: sf.TCloseness(-0.1, "s"),
        lambda: sf.TCloseness(0.1, "s", "hierarchical"),
        lambda: sf.AlphaK(0, 2, "s"),
        lambda: sf.KMap(5),
        lambda: sf.KMap(5, weight="w", name=""),
        lambda: sf.JAnonymity(5),
        lambda: sf.JAnonymity(5, fraction=1.5),
        lambda: sf.JAnonymity(5, delta=0.9, fraction=0.5),
        lambda: All(()),
    ],
)
def test_what_makes_no_sense_is_refused(make) -> None:
    with pytest.raises(ParameterError):
        make()
