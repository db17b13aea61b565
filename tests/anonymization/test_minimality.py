"""What a release gives away to who knows the search: proved on tables so small that all worlds can be tried.

No criterion counts this, and the limits of each claim say so.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymization.problem import Problem, Sparse
from sfumato.hierarchy import Hierarchy

PLACE = Hierarchy.of_rows([["north", "*"], ["south", "*"]])
KNOWN = ["north", "north", "south", "south", "south"]  # what the intruder knows of five persons
AGE = Hierarchy.of_rows(
    [[str(a), f"{a // 5 * 5}-{a // 5 * 5 + 4}", f"{a // 10 * 10}s", "*"] for a in range(20, 40)]
)


def withheld(diagnoses: tuple[str, ...]) -> bool:
    """Whether the best 2-diverse file has * for the place of everybody."""
    names = tuple(sorted(set(diagnoses)))
    groups = [
        Counter(names.index(dx) for dx, at in zip(diagnoses, KNOWN, strict=True) if at == place)
        for place in PLACE.leaves
    ]
    start = np.cumsum([0, *map(len, groups)])
    code = np.array([c for g in groups for c in sorted(g)], np.int32)
    n = np.array([g[c] for g in groups for c in sorted(g)], np.int64)
    dx = Sparse("dx", len(names), start, code, n, names)
    leaves, rows = np.array([[0], [1]], np.int32), np.array([g.total() for g in groups])
    problem = Problem(("place",), (PLACE,), leaves, rows, {"dx": dx})
    found = sf.OptimalRecoding().search(problem, sf.LDiversity(2, "dx"))
    assert not found.suppressed.any()
    return bool((found.nodes == PLACE.root).all())


def test_minimality_tells_a_diagnosis_that_two_diversity_was_asked_to_hide() -> None:
    """Five persons, diagnoses HIV, HIV, flu, gout and rash, the place withheld.

    By the file alone each person has HIV in 2 of 5 worlds. The search withholds a place only if it must: in
    every world in which it does, both persons of the north have HIV.
    """
    worlds = sorted(set(permutations(["HIV", "HIV", "flu", "gout", "rash"])))
    north = np.array([[dx == "HIV" for dx in world[:2]] for world in worlds])
    assert len(worlds) == 60 and (north.mean(axis=0) == 2 / 5).all()
    seen = np.array([withheld(world) for world in worlds])
    assert 0 < seen.sum() < len(worlds) and north[seen].all()


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 19), min_size=4, max_size=12))
def test_the_smallest_box_tells_where_its_rows_lie(ages: list[int]) -> None:
    """Downcoding: a class of two rows released as 30s has one in 30-34 and one in 35-39.

    As the file reads both could be anywhere in it; but then its box would be smaller.
    """
    leaves, n = np.unique(np.array(ages, np.int32), return_counts=True)
    problem = Problem(("age",), (AGE,), leaves[:, None].astype(np.int32), n)
    for search in (sf.LocalRecoding("fast", work_limit=10**9), sf.Mondrian()):
        found = search.search(problem, sf.KAnonymity(2))
        label, sizes = found.classes()
        for c in np.flatnonzero(sizes == 2):
            mine = np.repeat(leaves[found.of[label == c]], found.n[label == c])
            node = found.nodes[label == c][0, 0]
            levels = [h for h in range(AGE.height + 1) if AGE.nodes[h][mine[0]] == node]
            below = min(levels) - 1
            if below >= 0:
                assert len({int(AGE.nodes[below][m]) for m in mine}) == 2


def test_the_claims_say_so() -> None:
    table = sf.Table.from_arrow(pa.table({"place": KNOWN, "dx": ["a", "b", "a", "b", "c"]}))
    for asked in (
        sf.KAnonymity(2),
        sf.LDiversity(2, "dx"),
        sf.TCloseness(0.9, "dx"),
        sf.AlphaK(0.9, 2, "dx"),
    ):
        release = sf.anonymize(
            table, asked, hierarchies={"place": PLACE}, quasi_identifiers=["place"], seed=1
        )
        assert "the way the groups were formed" in release.guarantee.text()
