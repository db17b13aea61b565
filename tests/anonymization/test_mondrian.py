"""Mondrian against a slow version of itself, and its promises on random tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from anonymization.local_oracles import covers, labels, lowest, random_problem, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.anonymization.classes import classes_of
from sfumato.anonymization.mondrian import Mondrian
from sfumato.anonymization.problem import Problem
from sfumato.criteria import KAnonymity, LDiversity
from sfumato.errors import DataError, ParameterError


def strict(problem: Problem, members: list[int], k: int) -> list[list[int]]:
    """Split by the widest column whose non-empty children all have k rows; then each child."""
    assert problem.weights is not None
    tops = [lowest(h, problem.leaves[members, j]) for j, h in enumerate(problem.hierarchies)]
    width = [w * h.loss[t] for w, h, t in zip(problem.weights, problem.hierarchies, tops, strict=True)]
    for j in np.argsort(-np.array(width), kind="stable"):
        h = problem.hierarchies[j]
        if h.level_of[tops[j]] == 0:
            continue
        children: dict[int, list[int]] = {}
        for i in members:
            child = int(h.nodes[h.level_of[tops[j]] - 1][problem.leaves[i, j]])
            children.setdefault(child, []).append(i)
        if all(problem.n[c].sum() >= k for c in children.values()):
            return [part for c in children.values() for part in strict(problem, c, k)]
    return [members]


@given(seeds, st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_strict_is_the_recursion_of_the_paper(seed: int, k: int) -> None:
    problem = replace(random_problem(seed, 30), weights=np.array([1.0, 1.1, 1.23]))
    if problem.rows < k:
        return
    recoding = Mondrian().search(problem, KAnonymity(k))
    expected = {
        tuple(lowest(h, problem.leaves[part, j]) for j, h in enumerate(problem.hierarchies))
        for part in strict(problem, list(range(problem.combinations)), k)
    }
    assert {tuple(row) for row in recoding.nodes.tolist()} == expected


@pytest.mark.parametrize("method", [Mondrian(), Mondrian("relaxed"), Mondrian(ordered=("c0", "c1")),
                                    Mondrian("relaxed", ordered=("c0", "c1"))])  # fmt: skip
@given(seed=seeds, k=st.integers(1, 6))
@settings(max_examples=15, deadline=None)
def test_every_class_has_k_rows_and_every_node_covers(method: Mondrian, seed: int, k: int) -> None:
    problem = random_problem(seed, 40)
    if problem.rows >= k:
        recoding = method.search(problem, KAnonymity(k))
        assert recoding.classes()[1].min() >= k
        assert covers(recoding) and not recoding.suppressed.any()


@pytest.mark.parametrize("kind", ["strict", "relaxed"])
@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_every_class_is_diverse(kind: str, seed: int) -> None:
    problem = random_problem(seed, 40, sensitive=True)
    criterion = KAnonymity(2) & LDiversity(2, "dx", "entropy")
    try:
        recoding = Mondrian(kind, ordered=("c0",)).search(problem, criterion)  # type: ignore[arg-type]
    except DataError:
        return
    label, _ = labels(recoding)
    assert criterion.satisfied(classes_of(problem, label)).all()


def test_relaxed_divides_the_rows_of_the_median() -> None:
    """Six rows of one value between two others: strict cannot cut in the middle, relaxed can."""
    problem = random_problem(2, 3, columns=1)
    h = problem.hierarchies[0]
    if len(h.leaves) < 3:
        pytest.skip("needs three leaves")
    problem = replace(problem, leaves=np.array([[0], [1], [2]], np.int32), n=np.array([1, 6, 1]))
    relaxed = Mondrian("relaxed", ordered=("c0",)).search(problem, KAnonymity(4))
    assert relaxed.n.sum() == 8 and relaxed.classes()[1].min() >= 4


def test_parameters_are_checked() -> None:
    for wrong in ({"kind": "loose"}, {"ordered": "age"}, {"max_suppressed": -1}):
        with pytest.raises(ParameterError):
            Mondrian(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="not quasi-identifiers"):
        Mondrian(ordered=("shoe size",)).search(random_problem(1, 5), KAnonymity(2))
