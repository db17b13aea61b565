"""Singling out, linkability and inference: ties are no success, draws are nested, odd files are answered."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from assessment.attack_tables import names, table
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.assessment import attacks
from sfumato.assessment.attacks import _record_kernels
from sfumato.assessment.attacks.frames import frames, guessed, linked
from sfumato.assessment.attacks.queries import Queries, Sorted
from sfumato.assessment.attacks.success import NothingToAttack
from sfumato.errors import DataError, ParameterError
from sfumato.table import Table

HALVES = (["a", "x"], ["b"])


def small(rng: np.random.Generator, rows: int) -> Table:
    """Names and numbers with many ties, and cells missing."""
    columns: dict[str, list[object]] = {k: list(v) for k, v in names(rng, rows, {"a": 2, "b": 3}).items()}
    columns["x"] = [float(v) if v < 4 else None for v in rng.integers(0, 5, rows)]
    columns["a"] = [None if rng.random() < 0.1 else v for v in columns["a"]]
    return table(columns)


def gower(person: dict[str, object], record: dict[str, object], columns: list[str], width: float) -> float:
    """Obvious: differences of numbers over their range, 1 for other names; no number is 1 from all."""
    total = 0.0
    for c in columns:
        mine, theirs = person[c], record[c]
        if c == "x":
            missing = mine is None or theirs is None
            total += 1.0 if missing else abs(float(mine) - float(theirs)) / width  # type: ignore[arg-type]
        else:
            total += mine != theirs
    return total


def picks(distances: list[float], few: int) -> list[set[int]]:
    """Every set of the `few` nearest records, each as likely as the other."""
    edge = sorted(distances)[few - 1]
    sure = {j for j, d in enumerate(distances) if d < edge - 1e-9}
    ties = [j for j, d in enumerate(distances) if abs(d - edge) <= 1e-9]
    return [sure | set(more) for more in combinations(ties, few - len(sure))]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_the_chance_of_a_link_is_that_of_all_ways_to_break_ties(seed: int, few: int) -> None:
    rng = np.random.default_rng(seed)
    original, released = small(rng, 6), small(rng, 7)
    data = frames([original, released, None], ["a", "x", "b"])
    found = linked(data, HALVES, data.cells[0], data.cells[1], few)
    people, records = (t.to_arrow().to_pylist() for t in (original, released))
    values = [r["x"] for r in [*people, *records] if r["x"] is not None]
    width = (max(values) - min(values)) or 1.0 if values else 1.0
    for person, chance in zip(people, found, strict=True):
        ways = [picks([gower(person, r, half, width) for r in records], few) for half in HALVES]
        meet = [bool(one & two) for one in ways[0] for two in ways[1]]
        assert chance == pytest.approx(np.mean(meet))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32))
def test_the_chance_of_a_guess_is_that_of_all_nearest_records(seed: int) -> None:
    rng = np.random.default_rng(seed)
    original, released = small(rng, 6), small(rng, 7)
    data = frames([original, released, None], ["a", "b", "x"])
    exact, found = guessed(data, ["a", "b"], data.cells[0], data.cells[1], [0, 2], [0.0, 0.3])
    people, records = (t.to_arrow().to_pylist() for t in (original, released))
    for person, chance in zip(people, found, strict=True):
        near = [gower(person, r, ["a", "b"], 1.0) for r in records]
        guesses = [r["x"] for r, d in zip(records, near, strict=True) if d == min(near)]
        mine = person["x"]
        right = [g is mine if g is None or mine is None else abs(g - mine) <= 0.3 * abs(g) for g in guesses]
        assert chance == pytest.approx(np.mean(right))
    alone = guessed(data, ["a", "b"], data.cells[0], data.cells[1], [0], [0.0])[0]
    np.testing.assert_array_equal(exact, alone)  # several at once are as each by itself


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32))
def test_queries_count_as_the_obvious_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 4, (3, 30)).astype(float)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    columns = np.argsort(rng.random((20, 3)), axis=1)[:, :2]
    values = rng.integers(0, 4, (20, 2)).astype(float)
    values[rng.random(values.shape) < 0.1] = np.nan
    asked = Queries(columns, rng.integers(0, 6, (20, 2)), values)
    tests = [np.equal, np.greater_equal, np.less_equal, np.not_equal, np.greater, np.less]

    def meets(cell: float, sign: int, value: float) -> bool:
        if np.isnan(value):
            return bool(np.isnan(cell)) == (sign == 0)
        return not np.isnan(cell) and bool(tests[sign](cell, value))

    expected = [
        sum(all(meets(rows[c, i], s, v) for c, s, v in zip(*q, strict=True)) for i in range(30))
        for q in zip(asked.columns, asked.signs, asked.values, strict=True)
    ]
    assert asked.count(Sorted(rows)).tolist() == expected
    assert asked.count(Sorted(rows), 1).tolist() == [min(e, 2) for e in expected]
    slow = np.zeros(20, np.int64)
    there = Sorted(rows)
    _record_kernels.count_queries.py_func(  # type: ignore[attr-defined]
        rows, there.order, there.ordered, there.there, asked.columns, asked.signs, asked.values, 30, slow
    )
    assert slow.tolist() == expected


# -- releases that say nothing ---------------------------------------------------------------------

LEVELS = {"a": 30, "b": 20, "c": 10, "s": 5}


def files(seed: int, rows: int = 400) -> tuple[Table, Table]:
    rng = np.random.default_rng(seed)
    return table(names(rng, rows, LEVELS)), table(names(rng, rows, LEVELS))


def stars(rows: int) -> Table:
    return Table.from_arrow(pa.table({c: ["*"] * rows for c in LEVELS}))


def test_a_release_of_stars_links_nobody() -> None:
    original, control = files(1)
    score, risk = attacks.linkability(original, stars(200), (["a", "b"], ["c", "s"]), control=control)
    assert score.value == pytest.approx(1 / 200) == score.baseline == score.control
    assert risk.value == 0 and risk.high is not None and risk.high < 0.04


def test_half_a_release_of_stars_links_by_the_other_half_as_by_chance() -> None:
    original, control = files(2)
    rows = original.to_arrow()
    for hidden in (["a", "b"], ["c", "s"]):
        released = rows
        for name in hidden:
            at = released.column_names.index(name)
            released = released.set_column(at, name, pa.array(["*"] * len(rows)))
        halves = (["a", "b"], ["c", "s"])
        score, _ = attacks.linkability(original, Table.from_arrow(released), halves, control=control)
        assert score.value == pytest.approx(1 / 400)


def test_ties_are_no_links_and_the_true_ones_are() -> None:
    """Everybody distinct in both halves is linked for sure; pairs of equal halves at one in two."""
    alone = table({"a": [f"a{i}" for i in range(50)], "b": [f"b{i}" for i in range(50)]})
    assert attacks.linkability(alone, alone, (["a"], ["b"]))[0].value == 1
    pairs = table({"a": [f"a{i // 2}" for i in range(50)], "b": [f"b{i}" for i in range(50)]})
    assert attacks.linkability(pairs, pairs, (["a"], ["b"]))[0].value == pytest.approx(0.5)


def test_a_release_of_stars_infers_what_a_guess_does() -> None:
    original, control = files(3)
    rows = original.to_arrow()
    blind = pa.table({**{c: ["*"] * len(rows) for c in ("a", "b", "c")}, "s": rows["s"]})
    score, risk = attacks.inference(
        original, Table.from_arrow(blind), ["a", "b", "c"], "s", control=control, attacks=400
    )
    assert score.value == pytest.approx(score.baseline)
    assert risk.low == 0 and risk.high is not None and risk.high < 0.2


def test_nothing_to_attack_is_said() -> None:
    original, control = files(4)
    one = Table.from_arrow(original.to_arrow().slice(0, 1))
    with pytest.raises(NothingToAttack, match="one record"):
        attacks.linkability(original, one, (["a"], ["b"]), control=control)
    with pytest.raises(NothingToAttack, match="the same 's'"):
        attacks.inference(original, one, ["a"], "s", control=control)
    with pytest.raises(NothingToAttack, match="the same 's'"):
        attacks.inference(original, stars(50), ["a"], "s", control=control)
    same = Table.from_arrow(original.to_arrow().set_column(3, "s", pa.array(["s0"] * 400)))
    with pytest.raises(NothingToAttack, match="for everybody"):
        attacks.inference(same, original, ["a"], "s", control=same)
    with pytest.raises(ParameterError, match="in common"):
        attacks.linkability(original, stars(5), (["a"], ["b"]), nearest=3)
    with pytest.raises(DataError, match="one row"):
        attacks.singling_out(one, original, control=control)
    (score,) = attacks.singling_out(original, stars(300), control=control)
    assert score.value == 0 and score.details["queries"] == 0


def test_one_person_is_linked_with_an_interval_that_says_so() -> None:
    original, control = files(5)
    one = Table.from_arrow(original.to_arrow().slice(0, 1))
    score = attacks.linkability(one, original, (["a", "b"], ["c", "s"]), control=control)[0]
    assert score.low is not None and score.high is not None
    assert score.details["people"] == 1 and score.low < 0.05 and score.high == 1


# -- draws -----------------------------------------------------------------------------------------


@pytest.mark.soak
def test_more_attacks_add_people_to_those_of_fewer() -> None:
    """With everyone attacked it is the whole file: the mean of the first half and the rest."""
    original, control = files(6, 300)
    rows = original.to_arrow()
    released = Table.from_arrow(rows.slice(0, 150))
    runs = {
        "linkability": lambda n: attacks.linkability(
            original, released, (["a", "b"], ["c", "s"]), control=control, attacks=n
        ),
        "inference": lambda n: attacks.inference(
            original, released, ["a", "b"], "s", control=control, attacks=n
        ),
    }
    for run in runs.values():
        sums = []
        for n in range(1, 301):
            score = run(n)[0]
            assert score.details["people"] == n and score.control is not None
            sums.append((n * score.value, n * score.control))
        steps = np.diff(np.array([(0, 0), *sums]), axis=0)
        assert (steps > -1e-9).all() and (steps < 1 + 1e-9).all()  # each adds one person's outcome
        assert run(5_000)[0].value == pytest.approx(run(300)[0].value)


def test_more_queries_add_to_those_of_fewer() -> None:
    original, control = files(7, 300)
    hits = [0.0]
    for n in range(1, 60):
        score = attacks.singling_out(original, original, control=control, attacks=n)[1]
        assert score.details["attack"] == 1  # of a copy every description fits
        hits.append(n * score.details["control"])
    steps = np.diff(hits)
    assert (steps > -1e-9).all() and (steps < 1 + 1e-9).all()
