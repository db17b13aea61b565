"""The start from the top: classes that satisfy from the beginning, cut for as long as both sides do."""

from __future__ import annotations

import numpy as np
import pytest
from anonymization.local_oracles import random_problem, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymization import limits
from sfumato.anonymization.local.cuts import cut_down
from sfumato.anonymization.local.forest import planted
from sfumato.anonymization.local.pace import Pace
from sfumato.anonymization.local.query import ClassQuery
from sfumato.anonymization.local.start import boxes
from sfumato.anonymization.problem import Problem, Sparse
from sfumato.criteria import Criterion


def with_codes(seed: int, codes: int = 5) -> Problem:
    """A random problem whose rows have one of some codes."""
    problem, g = random_problem(seed, 40), np.random.default_rng(seed)
    cells = [np.unique(g.integers(0, codes, n), return_counts=True) for n in problem.n]
    start = np.cumsum([0, *(len(c) for c, _ in cells)])
    code = np.concatenate([c for c, _ in cells]).astype(np.int32)
    counts = np.concatenate([n for _, n in cells]).astype(np.int64)
    dx = Sparse("dx", codes, start, code, counts, tuple(map(str, range(codes))))
    return Problem(problem.columns, problem.hierarchies, problem.leaves, problem.n, {"dx": dx})


ASKED = [
    sf.KAnonymity(3) & sf.LDiversity(2, "dx"),
    sf.KAnonymity(2) & sf.TCloseness(0.4, "dx"),
    sf.LDiversity(2.0, "dx", "entropy"),
]


@settings(max_examples=30, deadline=None)
@given(seeds, st.sampled_from(ASKED))
def test_every_class_satisfies_and_none_could_be_cut_by_its_most_even_cuts(
    seed: int, asked: Criterion
) -> None:
    problem = with_codes(seed)
    ask, f = ClassQuery(problem, asked), planted(problem)
    one = np.zeros(problem.combinations, np.int64)
    if not ask(one, boxes(f, problem.leaves, one)).all():
        return
    label = cut_down(f, problem.hierarchies, problem.leaves, problem.n, asked.k, ask, Pace(1))
    assert set(label) == set(range(int(label.max()) + 1))
    assert ask(label, boxes(f, problem.leaves, label)).all()
    for c in range(int(label.max()) + 1):
        mine = label == c
        for j, h in enumerate(problem.hierarchies):
            for level in range(h.height):
                of = h.ancestors[level][problem.leaves[:, j]]
                sizes = np.bincount(of[mine], problem.n[mine]).astype(float)
                total = sizes.sum()
                sizes[(sizes < asked.k) | (sizes > total - asked.k)] = np.inf
                node = int(np.argmin(np.abs(2 * sizes - total)))
                if np.isinf(sizes[node]):
                    continue
                trial = np.where(mine & (of == node), int(label.max()) + 1, label)
                ok = ask(trial, boxes(f, problem.leaves, trial))
                assert not (ok[c] and ok[-1])


def test_out_of_time_the_classes_are_wider_and_satisfy(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, asked = with_codes(3), ASKED[0]
    ask, f = ClassQuery(problem, asked), planted(problem)
    ticks = iter(range(10**6))
    monkeypatch.setattr(limits, "clock", lambda: float(next(ticks)))
    arguments = (f, problem.hierarchies, problem.leaves, problem.n, asked.k, ask)
    hurried = Pace(1, seconds=20.0, end=1e9)
    early, late = cut_down(*arguments, hurried), cut_down(*arguments, Pace(1))
    assert hurried.hurried and 1 <= early.max() + 1 < late.max() + 1
    assert ask(early, boxes(f, problem.leaves, early)).all()


def test_hundreds_of_codes_under_closeness_are_cut_at_once() -> None:
    """Merging from below finds little here within its share of the work, and no limit of time is needed."""
    g = np.random.default_rng(1)
    age = sf.Hierarchy.of_rows([[str(a), f"five {a // 5}", f"twenty {a // 20}", "*"] for a in range(100)])
    leaves = np.stack([g.integers(0, 100, 3000), g.integers(0, 100, 3000)], axis=1).astype(np.int32)
    cells, back, n = np.unique(leaves, axis=0, return_inverse=True, return_counts=True)
    keys, counts = np.unique(back.reshape(-1) * 440 + g.zipf(1.3, 3000) % 440, return_counts=True)
    start = np.searchsorted(keys, np.arange(len(n) + 1) * 440)
    dx = Sparse("dx", 440, start, (keys % 440).astype(np.int32), counts, tuple(map(str, range(440))))
    problem = Problem(("a", "b"), (age, age), cells, n.astype(np.int64), {"dx": dx})
    asked = sf.KAnonymity(5) & sf.TCloseness(0.3, "dx")
    label = cut_down(planted(problem), problem.hierarchies, cells, n, 5, ClassQuery(problem, asked), Pace(1))
    assert label.max() + 1 > 3
