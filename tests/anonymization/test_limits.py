"""Limits of time and of work: a search that reaches one says so, and what it gives is valid and repeats."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import greedy_tables as gt
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymization import limits
from sfumato.anonymization.greedy.posets import generalize
from sfumato.anonymization.limits import SearchLimits
from sfumato.anonymization.problem import Problem
from sfumato.anonymization.recoding import Recoding
from sfumato.anonymization.suppression import settle
from sfumato.criteria import Criterion, KAnonymity, LDiversity
from sfumato.errors import ParameterError, SfumatoWarning
from sfumato.hierarchy import Range, Suppression

# One worker: two that need the same search at once would both compile it, a minute each.
pytestmark = pytest.mark.xdist_group("limits")

Make = Callable[..., Any]
MAKERS: dict[str, Make] = {
    "optimal": sf.OptimalRecoding,
    "optimal, some suppressed": lambda **limits: sf.OptimalRecoding(max_suppressed=0.2, **limits),
    "optimal, no bound": lambda **limits: sf.OptimalRecoding("discernibility", **limits),
    "local": sf.LocalRecoding,
    "mondrian": sf.Mondrian,
    "mondrian, relaxed": lambda **limits: sf.Mondrian("relaxed", ("c0",), **limits),
    "simulatable": sf.SimulatableRecoding,
    "datafly": sf.Datafly,
    "greedy": sf.Greedy,
    "beam": sf.Beam,
    "guided": lambda **limits: sf.ModelGuided("y", shortlist=8, **limits),
    "partition": sf.Partition,
}
K = KAnonymity(3)
FEW = {"optimal": 5, "optimal, some suppressed": 9, "datafly": 2, "local": 40}  # units, well below the end


@pytest.fixture
def table() -> Problem:
    return gt.drawn(4, 160, 4, most=2)


@pytest.fixture
def wild(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that leaps by up to an hour whenever it is asked, sometimes not at all."""
    rng, now = random.Random(), [0.0]

    def leap() -> float:
        now[0] += rng.choice([0.0, 1e-6, 1.0, 3600 * rng.random()])
        return now[0]

    monkeypatch.setattr(limits, "clock", leap)


def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second passes with each look at the clock."""
    monkeypatch.setattr(limits, "clock", count().__next__)


def stopped_by(word: str, method: Any, problem: Problem, criterion: Criterion = K) -> Recoding:
    """The recoding of a search that must be stopped, and must say so."""
    with pytest.warns(SfumatoWarning, match=f"stopped by its {word} of"):
        found: Recoding = method.search(problem, criterion)
    assert found.about["stopped"] == word
    return found


def assert_valid(found: Recoding, criterion: Criterion = K) -> None:
    """Every class satisfies the criterion, by a count of its own, and no row is lost beyond what was said."""
    label, sizes = found.classes()
    assert len(sizes) and sizes.min() >= criterion.k
    if (
        len(found.of) == found.problem.combinations
    ):  # else rows that are alike part, and only rows are counted
        settled = settle(found, criterion)
        assert criterion.satisfied(settled.classes(criterion.matching)).all()
        assert settled.suppressed == int(found.n[found.suppressed].sum())
    for j, h in enumerate(found.problem.hierarchies):
        leaf = found.problem.leaves[found.of, j]
        assert (h.nodes[h.level_of[found.nodes[:, j]], leaf] == found.nodes[:, j]).all()
    assert label.max() + 1 == len(sizes)


def same(one: Recoding, other: Recoding) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("of", "n", "nodes", "suppressed")
    )


# --- at the door --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"time_limit": 0}, "time_limit must be a number of seconds above 0"),
        ({"time_limit": -1.0}, "time_limit"),
        ({"time_limit": float("nan")}, "time_limit"),
        ({"time_limit": float("inf")}, "time_limit"),
        ({"time_limit": True}, "time_limit"),
        ({"time_limit": "60"}, "time_limit"),
        ({"work_limit": 0}, "work_limit must be a whole number from 1 up"),
        ({"work_limit": 1.5}, "work_limit"),
        ({"work_limit": True}, "work_limit"),
        ({"work_limit": "60"}, "work_limit"),
        ({"time_limit": 0, "work_limit": 0}, "time_limit.*; work_limit"),
    ],
)
def test_limits_that_are_none_are_refused(name: str, wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        MAKERS[name](**wrong)


def test_a_budget_counts_what_is_done_and_ends_once() -> None:
    left = SearchLimits(work_limit=3)
    assert left.take(2) and left.take() and left.left == 0 and not left.stopped
    assert left.take(0) and not left.take() and left.stopped == "work limit" and left.spent == 3
    assert not left.take(0)
    assert SearchLimits().left == float("inf") and SearchLimits().take(10**12)


# --- work ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAKERS)
def test_the_same_work_gives_the_same_recoding_whatever_the_clock_says(name, table, wild) -> None:
    method = MAKERS[name](work_limit=FEW.get(name, 12))
    first, second = (stopped_by("work limit", method, table) for _ in range(2))
    assert same(first, second)
    assert_valid(first)
    exact = {k: v for k, v in first.about.items() if k != "seconds"}
    assert exact == {k: v for k, v in second.about.items() if k != "seconds"}


@pytest.mark.parametrize("name", MAKERS)
def test_with_work_enough_it_comes_to_its_end_and_says_nothing(name, table, wild) -> None:
    """Nothing is warned of: a warning would fail the test."""
    ample, ended = (MAKERS[name](work_limit=10**9).search(table, K) for _ in range(2))
    assert ample.about["stopped"] == "" and same(ample, ended)


@pytest.mark.parametrize("name", MAKERS)
def test_a_limit_that_is_not_reached_changes_nothing(name, table, monkeypatch) -> None:
    monkeypatch.setattr(limits, "clock", lambda: 0.0)
    plain = MAKERS[name]().search(table, K)
    limited = MAKERS[name](time_limit=3600.0, work_limit=10**9).search(table, K)
    assert plain.about["stopped"] == limited.about["stopped"] == "" and same(plain, limited)


@pytest.mark.parametrize("name", sorted(set(MAKERS) - {"datafly", "mondrian, relaxed"}))
@pytest.mark.parametrize("limit", ["time limit", "work limit"])
def test_criteria_that_look_into_classes_hold_too(name, limit, table, monkeypatch) -> None:
    criterion = K & LDiversity(2, "y")
    ticking(monkeypatch)
    limits = {"work_limit": FEW.get(name, 6)} if limit == "work limit" else {"time_limit": 2.5}
    assert_valid(stopped_by(limit, MAKERS[name](**limits), table, criterion), criterion)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(sorted(set(MAKERS) - {"guided", "simulatable"})),  # the one takes long, the other no t
    st.integers(1, 60),
    st.sampled_from([K, KAnonymity(6), K & LDiversity(2, "y"), sf.TCloseness(0.5, "y") & K]),
)  # fmt: skip
def test_whatever_the_limit_the_recoding_is_valid(seed, name, work, criterion) -> None:
    problem = gt.drawn(seed, 60, 3, most=3)
    if not criterion.satisfied(_as_one(problem)).all():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        found = MAKERS[name](work_limit=work).search(problem, criterion)
    label, sizes = found.classes()
    assert len(sizes) and sizes.min() >= criterion.k
    settled = settle(found, criterion) if len(found.of) == problem.combinations else None
    if settled is not None:
        assert criterion.satisfied(settled.classes()).all()
        if not found.suppressed.any():  # else the suppressed are a class more, which may move the others
            assert not settled.suppressed, (label, sizes)


def _as_one(problem: Problem) -> Any:
    from sfumato.anonymization.classes import classes_of

    root = np.array([[h.root for h in problem.hierarchies]], np.int32)
    return classes_of(problem, np.zeros(problem.combinations, np.int64), root)


def test_each_limit_is_in_the_units_it_says(table) -> None:
    found = {
        name: stopped_by("work limit", MAKERS[name](work_limit=20 if name != "datafly" else 2), table).about
        for name in sorted(set(MAKERS) - {"guided", "optimal"})
    }
    assert found["optimal, some suppressed"]["checked"] <= 20 + 2
    assert found["optimal, no bound"]["checked"] <= 20
    assert found["local"]["moves"] <= 20
    assert found["mondrian"]["splits"] <= 20 and found["partition"]["tries"] == 20
    assert found["datafly"]["checked"] == 4  # the bottom, two steps up, the top


def test_more_work_never_gives_a_worse_node(table) -> None:
    scores = []
    for nodes in (1, 5, 12):
        found = stopped_by("work limit", sf.OptimalRecoding(max_suppressed=0.2, work_limit=nodes), table)
        assert found.about["bound"] <= found.about["score"] and not found.about["optimal"]
        scores.append(found.about["score"])
    ended = sf.OptimalRecoding(max_suppressed=0.2, work_limit=10**9).search(table, K).about
    assert [*scores, ended["score"]] == sorted([*scores, ended["score"]], reverse=True) and ended["optimal"]


def test_work_and_threads_go_together(table) -> None:
    """Which nodes are looked at hangs on the threads; that the best of them is valid does not."""
    assert_valid(stopped_by("work limit", sf.OptimalRecoding("loss", 0.2, None, 3, work_limit=9), table))


def test_a_limit_of_work_takes_the_place_of_the_default_of_time(wild) -> None:
    """4^12 nodes get sixty seconds where nothing is said."""
    tree = sf.Hierarchy.of_rows([[str(v), f"1:{v >> 1}", f"2:{v >> 2}", "*"] for v in range(8)])
    leaves = np.unique((8 * np.random.default_rng(5).beta(1, 4, (300, 12))).astype(np.int32), axis=0)
    big = Problem(tuple("abcdefghijkl"), (tree,) * 12, leaves, np.ones(len(leaves), np.int64))
    stopped_by("work limit", sf.OptimalRecoding(work_limit=50), big)
    with pytest.warns(SfumatoWarning, match="time limit of 60 seconds"):
        sf.OptimalRecoding().search(big, K)


def test_blocks_share_the_work_by_their_rows(wild) -> None:
    problem = gt.drawn(4, 200, 4, most=2, max_level=np.array([1, 2, 1, 2], np.int32))
    method = sf.LocalRecoding(max_suppressed=1.0, work_limit=60)
    first, second = (stopped_by("work limit", method, problem) for _ in range(2))
    assert same(first, second) and 0 < first.about["moves"] <= 60
    greedy = stopped_by("work limit", sf.Greedy(work_limit=10), problem)
    assert greedy.classes()[1].min() >= 3
    nodes = greedy.nodes[~greedy.suppressed]
    for j, h in enumerate(problem.hierarchies):
        assert (h.level_of[nodes[:, j]] <= problem.max_level[j]).all()


# --- time ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAKERS)
def test_a_search_out_of_time_says_so_and_gives_something_valid(name, table, monkeypatch) -> None:
    ticking(monkeypatch)
    assert_valid(stopped_by("time limit", MAKERS[name](time_limit=1.5), table))


def test_the_start_of_a_local_search_is_cut_short_by_a_limit_that_was_given(table, monkeypatch) -> None:
    """Not by the one of ten seconds that stands in for it: a table that takes longer is merged to its end."""
    monkeypatch.setattr(limits, "clock", count(0, 100).__next__)
    hasty = stopped_by("time limit", sf.LocalRecoding("fast", time_limit=10.0), table)
    with pytest.warns(SfumatoWarning, match="time limit of 10 seconds"):
        merged = sf.LocalRecoding("fast").search(table, K)
    assert hasty.loss() > merged.loss() and hasty.classes()[1].min() >= K.k
    assert merged.about["stopped"] == "time limit" and merged.loss() == pytest.approx(merged.about["start"])


@pytest.mark.parametrize("looks", range(1, 40, 2))
def test_a_local_search_may_be_stopped_anywhere(looks: int, table, monkeypatch) -> None:
    """After so many looks at the clock an hour is over."""

    def clock() -> Iterator[float]:
        yield from (0.0 for _ in range(looks))
        while True:
            yield 3600.0

    for criterion in (K, K & LDiversity(2, "y")):
        monkeypatch.setattr(limits, "clock", clock().__next__)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SfumatoWarning)
            found = sf.LocalRecoding("fast", time_limit=1800.0).search(table, criterion)
        assert_valid(found, criterion)
        assert found.about["stopped"] in ("time limit", "")
        assert found.about["bound"] <= found.about["score"] <= found.about["start"] + 1e-12


def test_datafly_without_time_or_hope_says_so(table) -> None:
    least = Problem(
        table.columns, table.hierarchies, table.leaves, table.n, max_level=np.array([1, 0, 0, 0], np.int32)
    )
    with pytest.raises(ParameterError, match="found nothing within its work limit of 1"):
        sf.Datafly(work_limit=1).search(
            Problem(table.columns, table.hierarchies, table.leaves, table.n,
                    max_level=np.array([2, 0, 0, 0], np.int32)), K
        )  # fmt: skip
    with pytest.raises(ParameterError, match=r"^even on the highest levels"):
        sf.Datafly(work_limit=1).search(least, K)


def test_nothing_found_within_the_limit_is_an_error_with_a_hint() -> None:
    """Not even the highest levels have few enough rows in the way, and no more was looked at."""
    problem = gt.drawn(4, 60, 3, max_level=np.array([1, 1, 0], np.int32))
    criterion = KAnonymity(3, missing="matches anything")
    with pytest.raises(ParameterError, match="found nothing within its work limit of 1") as refused:
        sf.OptimalRecoding(work_limit=1).search(problem, criterion)
    assert "more time" in refused.value.hint


# --- literal sets and posets --------------------------------------------------------------------


@pytest.mark.parametrize("limits", [{"work_limit": 17}, {"time_limit": 0.5}])
def test_literal_rows_out_of_work_or_time_still_cover_k(limits, table, monkeypatch) -> None:
    ticking(monkeypatch)
    word = "work limit" if "work_limit" in limits else "time limit"
    found = stopped_by(word, sf.Greedy(closed=False, **limits), table)
    assert found.about["k_reached"] >= 3 and not found.suppressed.any()
    full = sf.Greedy(closed=False).search(table, K)
    reached = limits.get("work_limit", 0)
    assert np.array_equal(found.nodes[:reached], full.nodes[:reached])


AGES = {"age": Range(0, 120, whole=True), "sex": Suppression(("f", "m"))}
PEOPLE = [(int(a), "fm"[int(s)]) for a, s in np.random.default_rng(1).integers(0, (90, 2), (80, 2))]


@pytest.mark.parametrize("make", [sf.Greedy, lambda **x: sf.Greedy(closed=False, **x), sf.Partition])
@pytest.mark.parametrize("limits", [{"work_limit": 5}, {"time_limit": 2.5}])
def test_posets_have_the_same_limits(make: Make, limits: dict[str, Any], monkeypatch) -> None:
    word = "work limit" if "work_limit" in limits else "time limit"
    found = []
    for _ in range(2):
        ticking(monkeypatch)
        with pytest.warns(SfumatoWarning, match=f"stopped by its {word}"):
            found.append(generalize(PEOPLE, AGES, 4, method=make(**limits)))
    assert found[0].stopped == word and found[0].nodes == found[1].nodes
    for nodes in found[0].nodes:
        covered = sum(
            all(p.leq(p.node(c), x) for p, c, x in zip(AGES.values(), row, nodes, strict=True))
            for row in PEOPLE
        )
        assert covered >= 4
    if found[0].claim == "classes":
        assert np.bincount(found[0].label).min() >= 4
    assert generalize(PEOPLE, AGES, 4, method=make(work_limit=10**9)).stopped == ""


# --- whole releases -----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [sf.Greedy, sf.Partition, sf.OptimalRecoding, sf.LocalRecoding])
def test_a_release_of_a_stopped_search_verifies_and_its_record_says_so(make: Make, tmp_path) -> None:
    rows = sf.Table.from_arrow(pa.table({"age": [a for a, _ in PEOPLE], "sex": [s for _, s in PEOPLE]}))
    posets: dict[str, Any] = AGES
    if make in (sf.OptimalRecoding, sf.LocalRecoding):
        posets = {"age": sf.hierarchy.Intervals((5, 10, 20, 40)), "sex": Suppression(("f", "m"))}
    with pytest.warns(SfumatoWarning, match="stopped by its work limit of 3"):
        release = sf.anonymize(
            rows, KAnonymity(4), method=make(work_limit=3), hierarchies=posets, seed=1,
            quasi_identifiers=["age", "sex"],
        )  # fmt: skip
    assert release.internal.extra["search"]["stopped"] == "work limit"
    release.save(tmp_path / "r")
    assert sf.verify(tmp_path / "r").ok
