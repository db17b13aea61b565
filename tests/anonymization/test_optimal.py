"""The optimum against brute force, and what a search says when it is stopped."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tables import criteria, problems

import sfumato as sf
from sfumato.anonymization.classes import classes_of
from sfumato.anonymization.incumbent import Incumbent
from sfumato.anonymization.lattice import Lattice
from sfumato.anonymization.loss import MEASURES
from sfumato.anonymization.problem import Problem, compress
from sfumato.anonymization.recoding import Recoding
from sfumato.errors import ParameterError, SfumatoWarning

SHARES = st.sampled_from([0.0, 0.1, 0.3, 1.0])


def brute_force(problem: Problem, criterion, measure, share: float) -> tuple[float, set[tuple[int, ...]]]:
    """Every node, by the definition: group, look at each class, suppress, score."""
    limit = math.floor(share * problem.rows + 1e-9)
    best, nodes_of_best = math.inf, set()
    root = np.array([h.root for h in problem.hierarchies])
    for levels in itertools.product(*(range(m + 1) for m in problem.max_level)):
        nodes = np.array(
            [[h.nodes[level][leaf] for h, level, leaf in zip(problem.hierarchies, levels, row, strict=True)]
             for row in problem.leaves]
        )  # fmt: skip
        kinds, label = np.unique(nodes, axis=0, return_inverse=True)
        good = criterion.satisfied(classes_of(problem, label.ravel(), kinds.astype(np.int32), matching=True))
        suppressed = ~good[label.ravel()]
        if problem.n[suppressed].sum() > limit:
            continue
        nodes[suppressed] = root
        score = measure.score(Recoding.whole(problem, nodes.astype(np.int32), suppressed))
        score = score if measure.better == "lower" else -score
        if score < best - 1e-9:
            best, nodes_of_best = score, {levels}
        elif score <= best + 1e-9:
            nodes_of_best.add(levels)
    return best if measure.better == "lower" else -best, nodes_of_best


@settings(max_examples=100)
@given(
    problems(),
    criteria(),
    st.sampled_from(sorted(set(MEASURES) - {"ncp"})),
    st.sampled_from([0.0, 0.1, 0.3, 1.0]),
)
def test_it_is_the_optimum(problem, criterion, name, share) -> None:
    table, hierarchies = problem
    counted = compress(table, list(hierarchies), hierarchies, sensitive=["s", "v"])
    method = sf.OptimalRecoding(loss=name, max_suppressed=share)
    best, nodes = brute_force(counted, criterion, method.measure, share)
    if not nodes:
        with pytest.raises(ParameterError, match="found nothing"):
            method.search(counted, criterion)
        return
    about = method.search(counted, criterion).about
    assert about["score"] == pytest.approx(best, abs=1e-9)
    assert {tuple(t.values()) for t in about["ties"]} == nodes
    assert about["optimal"] and about["checked"] <= about["nodes"] + len(counted.columns) * 10


@settings(max_examples=40)
@given(problems(missing=False), st.integers(1, 4), st.data())
def test_weights_and_highest_levels_count(problem, k, data) -> None:
    table, hierarchies = problem
    weights = {c: data.draw(st.sampled_from([0.5, 1.0, 3.0])) for c in hierarchies}
    most = {c: data.draw(st.integers(0, h.height)) for c, h in hierarchies.items()}
    counted = compress(table, list(hierarchies), hierarchies, weights=weights, max_level=most)
    method = sf.OptimalRecoding(max_suppressed=1.0)
    best, nodes = brute_force(counted, sf.KAnonymity(k), method.measure, 1.0)
    about = method.search(counted, sf.KAnonymity(k)).about
    assert about["score"] == pytest.approx(best, abs=1e-9)
    assert {tuple(t.values()) for t in about["ties"]} == nodes
    assert all(about["levels"][c] <= most[c] for c in most)


def _larger():
    table = sf.samples.discharges(3_000, seed=4)
    values = {
        c: sorted(table.counts(c).codebooks[0].levels.to_pylist()) for c in ("sex", "pay", "mdc", "county")
    }
    made = {
        c: sf.Hierarchy.of_rows([[str(v), f"{v}"[:1] + "-", "*"] for v in vs]) for c, vs in values.items()
    }
    return compress(table, list(made), made)


@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("criterion", [sf.KAnonymity(5), sf.KAnonymity(5, missing="matches anything")])
def test_stopped_early_it_gives_the_best_so_far_and_its_gap(monkeypatch, share, criterion) -> None:
    problem = _larger()
    exact = sf.OptimalRecoding(max_suppressed=share).search(problem, criterion).about["score"]
    looks = Incumbent.look

    def impatient(self: Incumbent, **how: bool) -> bool:
        if self.ties and self.checked > 12:
            raise KeyboardInterrupt
        return looks(self, **how)

    monkeypatch.setattr(Incumbent, "look", impatient)
    with pytest.warns(SfumatoWarning, match="stopped"):
        about = sf.OptimalRecoding(max_suppressed=share).search(problem, criterion).about
    assert not about["optimal"] and about["stopped"] == "interrupted"
    if about["gap"] is not None:
        assert about["score"] - about["gap"] <= exact + 1e-9 <= about["score"] + 2e-9


def test_interrupted_before_anything_was_found_nothing_comes_back(monkeypatch) -> None:
    def interrupt(self: Incumbent, **how: bool) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(Incumbent, "look", interrupt)
    with pytest.raises(KeyboardInterrupt):
        sf.OptimalRecoding().search(_larger(), sf.KAnonymity(5))


@pytest.mark.parametrize(
    "make",
    [
        lambda: sf.OptimalRecoding(loss="nothing"),
        lambda: sf.OptimalRecoding(loss=3),
        lambda: sf.OptimalRecoding(max_suppressed=1.1),
        lambda: sf.OptimalRecoding(max_suppressed=True),
        lambda: sf.OptimalRecoding(time_limit=0),
        lambda: sf.OptimalRecoding(threads=0),
        lambda: sf.Datafly(max_suppressed=-1),
    ],
)
def test_settings_out_of_range_are_refused(make) -> None:
    with pytest.raises(ParameterError):
        make()


def _random(columns: int, values: int, levels: int, rows: int = 300) -> Problem:
    g = np.random.default_rng(5)
    above = range(1, levels)
    tree = sf.Hierarchy.of_rows(
        [[str(v), *(f"{level}:{v >> level}" for level in above), "*"] for v in range(values)]
    )
    leaves = np.unique((values * g.beta(1, 4, (rows, columns))).astype(np.int32), axis=0)
    n = g.integers(1, 4, len(leaves))
    return Problem(tuple(f"c{j}" for j in range(columns)), (tree,) * columns, np.ascontiguousarray(leaves), n)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_more_values_than_64_bits_hold(share) -> None:
    """Twelve columns of 256 values, of which only two may move: small enough for brute force."""
    wide = _random(12, 256, 3)
    most = np.array([3, 3, *[0] * 9, 3], np.int32)
    leaves = wide.leaves % np.array([256, 256, *[1] * 9, 256], np.int32)
    problem = Problem(wide.columns, wide.hierarchies, leaves, wide.n, max_level=most)
    best, nodes = brute_force(problem, sf.KAnonymity(4), sf.Loss(), share)
    about = sf.OptimalRecoding(max_suppressed=share).search(problem, sf.KAnonymity(4)).about
    assert about["score"] == pytest.approx(best) and {tuple(t.values()) for t in about["ties"]} == nodes


def test_a_lattice_too_big_gives_a_good_node_and_an_honest_gap() -> None:
    """4^12 nodes, a few of them looked at: the bound never passes what a longer search finds."""
    problem = _random(12, 8, 3)
    found = {}
    for nodes in (1_500, 5_000):
        with pytest.warns(SfumatoWarning, match=f"work limit of {nodes}"):
            method = sf.OptimalRecoding(max_suppressed=0.2, work_limit=nodes)
            found[nodes] = method.search(problem, sf.KAnonymity(3)).about
    short, long = found.values()
    assert short["stopped"] == "work limit" and short["checked"] == 1_500
    assert short["nodes"] == 4**12 and not short["optimal"] and short["suppressed"] <= 0.2 * problem.rows
    assert 0 <= short["bound"] <= long["score"] + 1e-9 <= short["score"] + 2e-9 < 1


def test_many_combinations_are_searched_from_the_top(monkeypatch) -> None:
    """Where rolling all nodes up would take long; with the same optimum, and lonely rows left out too."""
    problem = _random(4, 8, 3)
    method = sf.OptimalRecoding(max_suppressed=0.2)
    exact = method.search(problem, sf.KAnonymity(3)).about
    monkeypatch.setattr("sfumato.anonymization.optimal._WORK", 0)
    monkeypatch.setattr("sfumato.anonymization.top_down._LONELY", 0)
    found = method.search(problem, sf.KAnonymity(3)).about
    assert (exact["way"], found["way"]) == ("branching", "top-down")
    assert found["optimal"] and found["score"] == pytest.approx(exact["score"], abs=1e-9)


def test_where_nothing_is_suppressed_a_lattice_too_big_may_be_solved() -> None:
    """The same 4^12 nodes: a few thousand rule out all others, and no step down is allowed."""
    problem = _random(12, 8, 3)
    about = sf.OptimalRecoding(work_limit=20_000).search(problem, sf.KAnonymity(3)).about
    assert about["optimal"] and about["gap"] < 1e-5 and about["checked"] < 20_000 and not about["suppressed"]
    levels = list(about["levels"].values())
    for j, level in enumerate(levels):
        if level:
            lower = [*levels[:j], level - 1, *levels[j + 1 :]]
            both = enumerate(zip(problem.hierarchies, lower, strict=True))
            nodes = np.stack([h.nodes[v][problem.leaves[:, i]] for i, (h, v) in both])
            _, back = np.unique(nodes, axis=1, return_inverse=True)
            assert np.bincount(back.ravel(), problem.n).min() < 3


@settings(max_examples=60)
@given(problems(), st.data())
def test_a_rare_combination_refutes_exactly_the_nodes_on_which_it_stays_rare(problem, data) -> None:
    """The packed agreements against rows counted one by one."""
    table, hierarchies = problem
    counted = compress(table, list(hierarchies), hierarchies)
    lattice = Lattice(counted, sf.Loss().cost(counted), 1.0, 1)
    one = data.draw(st.integers(0, counted.combinations - 1))
    levels = tuple(data.draw(st.integers(0, h.height)) for h in counted.hierarchies)
    near = np.empty((2, counted.combinations), np.uint64)
    lattice.agreement(one, near[1])
    nodes = lattice.nodes(levels)
    rows = int(counted.n[(nodes == nodes[one]).all(axis=1)].sum())
    for enough in (rows, rows + 1):
        found = lattice.first_short(near, np.array([1]), levels, enough)
        assert found == (-1 if rows >= enough else 0)
