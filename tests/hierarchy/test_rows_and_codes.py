"""Cells of several codes, columns that are kept or withheld, rows, and augmented tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from posets import graphs, rows

from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy import (
    Augmented,
    Cell,
    Hierarchy,
    Matrix,
    PassThrough,
    Product,
    Range,
    SparseCodes,
    Suppression,
)
from sfumato.hierarchy.augmentation import generalized, generalized_flags, implied, implied_flags
from sfumato.schema import Role

CODES = Hierarchy.of_rows([["0010", "001", "*"], ["0011", "001", "*"], ["0020", "002", "*"]])
entries = st.dictionaries(st.sampled_from(CODES.leaves), st.integers(1, 3))


# -- codes -----------------------------------------------------------------------------------------


def told(poset: SparseCodes, cell: Cell) -> dict[str, int]:
    """What a cell tells, by the text of the nodes; withheld numbers are not there."""
    numbers = dict(cell.told)
    return {
        poset.codes.label(v): numbers.get(v, 0) for v in range(poset.codes.size) if v not in cell.withheld
    }


def counted(cell: dict[str, int]) -> dict[str, int]:
    """How many entries lie at or under each node, counted by hand."""
    return {
        **{leaf: cell.get(leaf, 0) for leaf in CODES.leaves},
        "001": cell.get("0010", 0) + cell.get("0011", 0),
        "002": cell.get("0020", 0),
        "*": sum(cell.values()),
    }


@given(st.lists(entries, min_size=1, max_size=4))
def test_the_bound_tells_exactly_what_all_cells_agree_on(cells: list[dict[str, int]]) -> None:
    poset = SparseCodes(CODES)
    (bound,) = poset.lub(*map(poset.node, cells))
    numbers = [counted(c) for c in cells]
    agreed = {v: n for v, n in numbers[0].items() if all(other[v] == n for other in numbers)}
    assert told(poset, bound) == agreed
    table = poset.indicators([bound])[0]
    assert {CODES.label(v): n for v, n in enumerate(table.tolist()) if n >= 0} == agreed


@given(st.lists(entries, min_size=1, max_size=3), st.lists(entries, min_size=1, max_size=3))
def test_different_cells_are_written_differently(a: list[dict[str, int]], b: list[dict[str, int]]) -> None:
    poset = SparseCodes(CODES)
    (first,), (second,) = poset.lub(*map(poset.node, a)), poset.lub(*map(poset.node, b))
    assert (poset.label(first) == poset.label(second)) == (first == second)


def test_how_codes_are_read_and_written() -> None:
    poset = SparseCodes(CODES, most=2)
    same = ["0010:2;0020", {"0010": 2, "0020": 1}, ["0010", "0020", "0010"], [("0010", 2), ("0020", 1)]]
    assert len({poset.node(cell) for cell in same}) == 1
    assert poset.label(poset.node(same[0])) == "0010:2;0020:1" and poset.label(poset.node(None)) == "(none)"
    (bound,) = poset.lub(poset.node("0010"), poset.node("0011"))
    assert poset.label(bound) == "0010:*;0011:*;001:1"  # one entry under 001, and none elsewhere
    (bound,) = poset.lub(poset.node("0010"), poset.node(""))
    assert poset.label(bound) == "0010:*"  # absent in one of them: not told, and 0011 is absent in both
    assert poset.label(poset.top) == "*"
    with pytest.raises(DataError) as refused:
        poset.node({"zebra": 1, "0010": 2, "0011": 1})
    for part in ("1 codes are not in", "3 codes, and at most 2"):
        assert part in refused.value.message
    assert "zebra" not in str(refused.value)
    for wrong in (0, -1, 1.5, "zebra", None, float("nan")):
        with pytest.raises(DataError, match="must be a whole number") as refused:
            poset.node({"0010": wrong})
        assert "zebra" not in str(refused.value)


def test_codes_of_a_second_table() -> None:
    poset = SparseCodes(CODES, most=2)
    persons, codes = ["ann", "ben", "ann", "ann", "cid"], ["0010", "0020", "0010", "0011", None]
    joined = poset.joined(persons, codes, everyone=["ann", "dee"])
    assert {p: poset.label(c) for p, c in joined.items()} == {
        "ann": "0010:2;0011:1", "dee": "(none)", "ben": "0020:1", "cid": "(none)",
    }  # fmt: skip
    assert poset.joined(["ann"], ["0010"], [7])["ann"] == poset.node("0010:7")
    with pytest.raises(DataError, match="1 of 1 persons have more than 2 codes"):
        poset.joined(["ann"] * 3, ["0010", "0011", "0020"])
    with pytest.raises(ParameterError, match="columns of one table"):
        poset.joined(["ann"], [])


@given(st.lists(entries, min_size=1, max_size=4))
def test_pairs_side_by_side_come_back(given_: list[dict[str, int]]) -> None:
    poset = SparseCodes(CODES)
    cells = [poset.node(e) for e in given_]
    columns = list(poset.wide(cells, "dx").values())
    if columns:
        assert poset.of_wide(columns[::2], columns[1::2]) == cells
    else:
        assert all(not e for e in given_)


def test_an_entry_may_be_a_mere_category() -> None:
    poset = SparseCodes(Matrix.of({"a1": ["a"], "a2": ["a"], "a": ["*"], "*": []}))
    assert poset.label(poset.node({"a": 2, "a1": 1})) == "a1:1;a:3"


def test_real_codes_of_real_patients(data_dir: Path) -> None:
    import pyarrow.parquet as pq

    from sfumato.hierarchy import Icd9

    path = data_dir / "icd9_hierarchy/icd9cm_hierarchy.parquet"
    poset = SparseCodes(Icd9().over(pq.read_table(path)["code"].to_pylist()))
    a, b = poset.node("42789:10;4280"), poset.node("42789:3;4289:1")
    (bound,) = poset.lub(a, b)
    assert poset.leq(a, bound) and poset.leq(b, bound)
    assert poset.label(bound) == "42789:*;4280:*;4289:*;428*:1"


# -- kept and withheld -----------------------------------------------------------------------------


@pytest.mark.parametrize("role", [Role.IDENTIFIER, Role.QUASI_IDENTIFIER, Role.PERSON, "identifier", "?"])
def test_what_names_people_does_not_pass(role: str) -> None:
    with pytest.raises(ParameterError, match="cannot pass through"):
        PassThrough(role)


def test_rows() -> None:
    product = Product({"age": Range(0, 120), "sex": Suppression(), "cost": PassThrough(Role.SENSITIVE)})
    a, b = product.node({"sex": "f", "age": 30, "cost": 1.5}), product.node([35, "f", 9])
    (bound,) = product.lub(a, b)
    assert product.labels(bound) == {"age": "[30, 35]", "sex": "f", "cost": "(as it was)"}
    assert product.rank(bound) == 5 / 120 and product.height == 2
    with pytest.raises(DataError, match="2 cells, and there are 3"):
        product.node([1, 2])
    with pytest.raises(ParameterError, match="at least one column"):
        Product({})
    with pytest.raises(ParameterError, match="columns that are there; not so: 'x'"):
        Product({"sex": Suppression()}, {"x": 1})


def test_rows_with_too_many_bounds_are_given_by_column() -> None:
    crossing = Matrix.of({"a": ["p", "q"], "b": ["p", "q"], "p": ["*"], "q": ["*"], "*": []})
    two = Product({"x": crossing, "y": crossing})
    assert {two.label(n) for n in two.lub(two.node("aa"), two.node("bb"))} == {
        "<p, p>", "<p, q>", "<q, p>", "<q, q>",
    }  # fmt: skip
    product = Product({f"c{i}": crossing for i in range(14)})
    a, b = product.node("a" * 14), product.node("b" * 14)
    assert all(len(found) == 2 for found in product.lub_sets(a, b))
    with pytest.raises(ParameterError, match="16,384 least upper bounds"):
        product.lub(a, b)


# -- augmented tables ------------------------------------------------------------------------------


@given(rows(), st.data())
def test_generalizing_is_suppressing_and_back(table: list[list[str]], data: st.DataObject) -> None:
    h = Hierarchy.of_rows(table)
    nodes = np.array(data.draw(st.lists(st.integers(0, h.root), min_size=1)))
    cells = implied(h, nodes)
    assert cells.shape == (len(nodes), h.height)
    assert (generalized(h, cells) == nodes).all()
    up = implied(h, h.parent[nodes])  # one step up is one cell less, and nothing else
    assert ((cells != up).sum(axis=1) == (nodes != h.root)).all()
    assert (up[cells != up] == -1).all()


@given(rows(), st.data())
def test_any_suppression_is_a_generalization(table: list[list[str]], data: st.DataObject) -> None:
    h = Hierarchy.of_rows(table)
    nodes = np.array(data.draw(st.lists(st.integers(0, h.root), min_size=1, max_size=5)))
    cells = implied(h, nodes)
    hidden = np.array([[data.draw(st.booleans()) for _ in range(h.height)] for _ in nodes]).reshape(
        cells.shape
    )
    found = generalized(h, np.where(hidden, -1, cells))
    for node, above, gone, was in zip(nodes.tolist(), found.tolist(), hidden, cells, strict=True):
        assert h.leq(node, above)
        left = [int(c) for c, g in zip(was, gone, strict=True) if c >= 0 and not g]
        assert above == (left[0] if left else h.root)


@settings(max_examples=50)
@given(graphs())
def test_flags_of_a_graph_come_back(parents: dict[Any, Any]) -> None:
    poset = Matrix.of(parents)
    nodes = np.arange(poset.size)
    assert generalized_flags(poset, implied_flags(poset, nodes)) == [
        frozenset([n]) for n in range(poset.size)
    ]
    (common,) = generalized_flags(poset, implied_flags(poset, nodes).all(axis=0, keepdims=True))
    assert common == poset.lub(*range(poset.size))


def test_the_table_of_the_thesis() -> None:
    zips = Hierarchy.of_rows([["02139", "0213*", "021**", "*"], ["02138", "0213*", "021**", "*"]])
    race = Hierarchy.of_rows([["White", "*"], ["Black", "*"]])
    table = Augmented(("race", "zip"), (race, zips))
    assert table.names == ("race", "zip", "zip/1", "zip/2")
    nodes = np.array([[0, zips.parent[0]], [1, 1], [race.root, zips.root]])
    assert table.texts(nodes) == {
        "race": ["White", "Black", None],
        "zip": [None, "02138", None],
        "zip/1": ["0213*", "0213*", None],
        "zip/2": ["021**", "021**", None],
    }
    assert (table.collapse(table.expand(nodes)) == nodes).all()
    lie = table.expand(nodes)
    lie[1, 1] = 0
    assert (table.collapse(lie)[1] == [1, 0]).all()  # its levels still agree: another leaf, the same group
    lie[1, 2] = zips.offsets[2]
    with pytest.raises(DataError, match="1 rows contradict themselves"):
        table.collapse(lie)
    with pytest.raises(ParameterError, match="a hierarchy for each column"):
        Augmented(("race",), (race, zips))
    with pytest.raises(ParameterError, match="same name"):
        Augmented(("zip", "zip/1"), (zips, race))
