"""Classes, uniqueness and the riskiest records."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import risk_oracles as oracle
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato import criteria
from sfumato.assessment import risk
from sfumato.assessment.risk import _kernels
from sfumato.assessment.risk.classes import looked_up, row_keys, shared_keys
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.schema import Role
from sfumato.table import Table

NAMES = ("a", "b", "c", "d")
cell = st.sampled_from(["x", "y", "z", "*", None])
tables = st.lists(st.tuples(cell, cell, cell, cell), min_size=1, max_size=25)

# Six people; worked out by hand.
HAND = [
    ("30", "f", "1300"),
    ("30", "f", "1300"),
    ("30", "m", "1300"),
    ("40", "m", "1300"),
    ("40", "f", "1400"),
    ("50", "f", "1400"),
]


def hand() -> Table:
    return oracle.table(HAND, ("age", "sex", "zip"))


def by_name(scores: list[Any]) -> dict[str, Any]:
    return {s.name: s for s in scores}


def test_hand_computed_classes() -> None:
    found = risk.classes(hand(), ["age", "sex", "zip"])
    sizes = by_name(risk.class_sizes(found))
    assert sizes["k, the smallest class"].value == 1
    assert sizes["average class"].value == pytest.approx(6 / 5)
    assert sizes["k, the smallest class"].details["sizes"] == [
        {"size": 1, "classes": 4, "members": 4},
        {"size": 2, "classes": 1, "members": 2},
    ]
    unique = by_name(risk.uniqueness(found))
    assert unique["unique on all quasi-identifiers"].value == pytest.approx(4 / 6)
    # age and sex: (30,m), (40,m), (40,f), (50,f) are alone; age and zip: (40,1300), (40,1400), (50,1400)
    pairs = {
        tuple(r["columns"]): r["unique"] for r in unique["unique on two quasi-identifiers"].details["sets"]
    }
    assert pairs == {("age", "sex"): 4, ("age", "zip"): 3, ("sex", "zip"): 0}
    assert unique["unique on two quasi-identifiers"].columns == ("age", "sex")


def test_hand_computed_reasons() -> None:
    found = risk.classes(hand(), ["age", "sex", "zip"])
    (score,) = risk.riskiest(found, records=20)
    rows = score.details["riskiest"]
    assert score.value == pytest.approx(4 / 6)
    assert rows[0]["values"] == {"age": "50", "sex": "f", "zip": "1400"}
    assert rows[0]["sets"] == [["age"]]
    assert [r["smallest"] for r in rows] == [1, 2, 2, 2, None]
    both = next(r for r in rows if r["values"] == {"age": "40", "sex": "f", "zip": "1400"})
    assert both["sets"] == [["age", "sex"], ["age", "zip"]]
    assert rows[-1]["class"] == 2 and "one of 2 rows" in rows[-1]["why"]


@example([("x",) * 4, *[("x", "x", "x", "*")] * 4, ("x", "x", "*", "x")], True)
@settings(max_examples=60)
@given(tables, st.booleans())
def test_uniqueness_and_sizes_agree_with_the_oracle(rows: list[tuple[Any, ...]], wild: bool) -> None:
    found = risk.classes(oracle.table(rows, NAMES), NAMES, missing="any" if wild else "own")
    expected = oracle.sizes(rows, range(4), wild=wild)
    assert sum(found.counts.n[found.sizes == s].sum() for s in set(expected)) == len(rows)
    for size in set(expected):
        assert found.counts.n[found.sizes == size].sum() == expected.count(size)
    searched = risk.search(found)
    for places in [p for s in (1, 2, 3, 4) for p in combinations(range(4), s)]:
        assert searched.unique[places] == oracle.sizes(rows, places, wild=wild).count(1)
    average = by_name(risk.class_sizes(found))["average class"].value
    assert average == pytest.approx(len(rows) / sum(1 / s for s in expected))


@settings(max_examples=40)
@given(tables)
def test_reasons_agree_with_the_oracle(rows: list[tuple[Any, ...]]) -> None:
    found = risk.classes(oracle.table(rows, NAMES), NAMES)
    searched = risk.search(found)
    decoded = found.counts.to_arrow().select(list(NAMES)).to_pylist()
    for place, candidate in enumerate(searched.candidates.tolist()):
        row = rows.index(tuple(decoded[candidate].values()))
        reasons = oracle.minimal_sets(rows, row, 4)
        assert searched.why(place) == reasons
        assert searched.ways[place] == len(reasons)
        assert searched.smallest[place] == min(map(len, reasons))


@settings(max_examples=60)
@given(tables, st.data())
def test_persons_are_counted_once(rows: list[tuple[Any, ...]], data: st.DataObject) -> None:
    who = data.draw(st.lists(st.sampled_from(["p", "q", "r", None]), min_size=len(rows), max_size=len(rows)))
    table = oracle.table([(*r, w) for r, w in zip(rows, who, strict=True)], (*NAMES, "person"))
    found = risk.classes(table, NAMES, person="person")
    expected = oracle.persons(rows, range(4), who)
    assert found.sizes.min() == min(expected)
    assert found.population == len(set(who))
    searched = risk.search(found)
    for places in combinations(range(4), 2):
        alone = {w for w, n in zip(who, oracle.persons(rows, places, who), strict=True) if n == 1}
        assert searched.unique[places] == len(alone)


@given(tables)
def test_k_is_that_of_the_criterion(rows: list[tuple[Any, ...]]) -> None:
    table = oracle.table(rows, NAMES)
    k = by_name(risk.class_sizes(risk.classes(table, NAMES)))["k, the smallest class"].value
    assert k == criteria.KAnonymity(2).measure(table.counts(*NAMES)) == min(oracle.sizes(rows, range(4)))


@given(tables, st.booleans())
def test_generalizing_never_lowers_the_smallest_class(rows: list[tuple[Any, ...]], wild: bool) -> None:
    coarse = {"x": "xy", "y": "xy"}
    general = [(*(coarse.get(v, v) for v in r[:2]), *r[2:]) for r in rows]
    missing: Any = "any" if wild else "own"
    fine_k, coarse_k = (
        risk.classes(oracle.table(r, NAMES), NAMES, missing=missing).sizes.min() for r in (rows, general)
    )
    assert coarse_k >= fine_k


@given(tables, st.booleans())
def test_more_columns_never_lower_uniqueness(rows: list[tuple[Any, ...]], wild: bool) -> None:
    found = risk.classes(oracle.table(rows, NAMES), NAMES, missing="any" if wild else "own")
    unique = risk.search(found).unique
    for small, large in combinations(unique, 2):
        if set(small) <= set(large):
            assert unique[small] <= unique[large]


@given(tables)
def test_matching_anything_never_lowers_a_class(rows: list[tuple[Any, ...]]) -> None:
    table = oracle.table(rows, NAMES)
    own, any_ = risk.classes(table, NAMES), risk.classes(table, NAMES, missing="any")
    assert (any_.sizes >= own.sizes).all()


def test_values_are_taken_as_they_stand() -> None:
    # The schema's bins would join 31 and 32; the file does not.
    base = oracle.table([(31,), (32,), (32,)], ("age",), age="numeric")  # type: ignore[arg-type]
    table = base.with_schema(base.schema.with_("age", edges=(30, 40)))
    assert table.counts("age").cells == 1
    assert risk.classes(table, ["age"]).sizes.tolist() == [1, 2]


def test_the_cap_keeps_the_most_varied_columns() -> None:
    rng = np.random.default_rng(1)
    columns = {f"c{i:02d}": rng.integers(0, 2 + i, 300) for i in range(20)}
    found = risk.classes(Table.from_arrow(pa.table(columns)), list(columns))
    searched = risk.search(found, most=300)
    assert len(searched.unique) <= 300
    assert searched.places == tuple(range(20 - len(searched.places), 20))
    two = by_name(risk.uniqueness(found, searched=searched))["unique on two quasi-identifiers"]
    assert f"{len(searched.places)} most varied of 20" in two.meaning


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.booleans()), min_size=1, max_size=40))
def test_kernels_agree_with_their_python(cells: list[tuple[int, int, bool]]) -> None:
    keys = np.array([c[0] for c in cells], np.uint64) * np.uint64(2**59)
    owner, many = np.array([c[1] for c in cells]), np.array([c[2] for c in cells])
    expected = [
        not any(m for k2, _, m in cells if k2 == k) and len({o for k2, o, _ in cells if k2 == k}) == 1
        for k, _, _ in cells
    ]
    assert _kernels.alone(keys, owner, many).tolist() == expected
    numbered = _kernels.numbered(keys)
    assert [numbered[i] == numbered[j] for i in range(len(keys)) for j in range(len(keys))] == [
        a == b for a in keys for b in keys
    ]


def test_keys_that_outgrow_64_bits_stay_apart() -> None:
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2**31, (200, 5), dtype=np.uint32)
    codes[100:] = codes[:100]
    keys = row_keys(codes, [2**31] * 5)
    assert len(np.unique(keys)) == 100 and (keys[:100] == keys[100:]).all()


def test_files_of_different_types_are_compared() -> None:
    numbers = Table.from_arrow(pa.table({"x": [1, 2, 10**15, None]})).counts("x")
    reals = Table.from_arrow(pa.table({"x": [1.0, 2.5, 1e15, None]})).counts("x")
    text = Table.from_arrow(pa.table({"x": ["1", "4"]})).counts("x")
    a, b = shared_keys([numbers, reals])
    assert looked_up(b, a, numbers.n).tolist() == [1, 0, 1, 1]
    a, c = shared_keys([numbers, text])
    assert looked_up(c, a, numbers.n).tolist() == [1, 0]


def test_bad_input() -> None:
    table = hand()
    with pytest.raises(ParameterError, match="no quasi-identifier"):
        risk.classes(table)
    with pytest.raises(ParameterError, match="no quasi-identifier"):
        risk.classes(table, "age")
    with pytest.raises(SchemaError, match="'height'"):
        risk.classes(table, ["age", "height"])
    with pytest.raises(ParameterError, match="twice"):
        risk.classes(table, ["age", "age"])
    with pytest.raises(ParameterError, match="neither"):
        risk.classes(table, ["age"], missing="all")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="persons"):
        risk.classes(table, ["age"], person="zip", missing="any")
    with pytest.raises(ParameterError, match="person column"):
        risk.classes(table, ["age"], person="age")
    with pytest.raises(ParameterError, match="depth"):
        risk.search(risk.classes(table, ["age"]), depth=0)
    empty = risk.classes(Table.from_arrow(pa.table({"a": pa.array([], pa.string())})), ["a"])
    for score in (risk.class_sizes, risk.uniqueness, risk.riskiest, risk.intruders):
        with pytest.raises(DataError, match="no rows"):
            score(empty)


def test_the_schema_names_the_quasi_identifiers() -> None:
    table = hand()
    named = table.with_schema(table.schema.with_("age", role=Role.QUASI_IDENTIFIER))
    assert risk.classes(named).columns == ("age",)


def test_a_column_all_missing_is_one_class() -> None:
    table = Table.from_arrow(pa.table({"a": pa.array([None, None, None], pa.string())}))
    for missing in ("own", "any"):
        assert risk.classes(table, ["a"], missing=missing).sizes.tolist() == [3]  # type: ignore[arg-type]
