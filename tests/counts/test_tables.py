"""`Counts` as a value, and the laws it keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.counts import Codebook, Counts
from sfumato.errors import ParameterError, SchemaError
from sfumato.schema import Column, Kind, Schema
from sfumato.table import Table

NAMES = ("a", "n", "N")
SIZES = (3, 2, 4)


def table_of(rows: list[tuple[Any, ...]]) -> Table:
    columns = [
        Column(name, Kind.NOMINAL, type="integer", levels=tuple(range(size)))
        for name, size in zip(NAMES, SIZES, strict=True)
    ]
    arrays = [pa.array([r[i] for r in rows], pa.int32()) for i in range(3)]
    return Table.from_arrow(pa.Table.from_arrays(arrays, names=list(NAMES)), Schema(tuple(columns)))


rows_ = st.lists(st.tuples(*[st.none() | st.integers(0, s - 1) for s in SIZES]), max_size=60)
subsets = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True).map(tuple)


@given(rows_, subsets)
def test_counts_are_the_oracles(rows: list[tuple[Any, ...]], columns: tuple[str, ...]) -> None:
    expected = oracles.counts([[r[NAMES.index(c)] for c in columns] for r in rows])
    assert oracles.as_dict(table_of(rows).counts(*columns)) == expected


@given(rows_, rows_)
def test_counts_add_over_partitions(first: list[Any], second: list[Any]) -> None:
    assert table_of(first).counts(*NAMES) + table_of(second).counts(*NAMES) == table_of(
        first + second
    ).counts(*NAMES)


@given(rows_, subsets)
def test_projecting_is_counting_fewer_columns(rows: list[Any], columns: tuple[str, ...]) -> None:
    whole = table_of(rows).counts(*NAMES)
    assert whole.project(*columns) == table_of(rows).counts(*columns) == whole.counts(*columns)


@given(rows_, st.none() | st.integers(0, 2))
def test_conditioning_is_counting_fewer_rows(rows: list[Any], level: int | None) -> None:
    some = [r for r in rows if r[0] == level]
    assert table_of(rows).counts(*NAMES).condition(a=level) == table_of(some).counts("n", "N")


@given(rows_)
def test_dense_and_sparse_are_the_same(rows: list[Any]) -> None:
    counted = table_of(rows).counts(*NAMES)
    assert counted.dense().sum() == counted.total == len(rows)
    assert Counts.of_dense(counted.codebooks, counted.dense()) == counted


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 2), max_size=30))
def test_more_combinations_than_64_bits_can_number(pairs: list[tuple[int, int]]) -> None:
    wide = Codebook(Column("w", Kind.NOMINAL, type="integer"), pa.array(range(2**16)), False)
    books = [wide] * 5  # 2^80 combinations
    codes = np.array([[a, 0, b, 0, 0] for a, b in pairs], np.uint32).reshape(-1, 5)
    counted = Counts.of_cells(books, codes, np.ones(len(pairs), np.int64))
    assert counted.total == len(pairs) and counted.cells == len(set(pairs))
    assert [tuple(c) for c in counted.codes[:, [0, 2]].tolist()] == sorted(set(pairs))


def test_weighting_a_level() -> None:
    counted = (
        table_of([(0, 0, 0), (1, 0, 0), (None, 0, 0)])
        .counts("a")
        .weight("a", {0: np.float32(2.5), None: 0.0})
    )
    assert oracles.as_dict(counted) == {(0,): 2.5, (1,): 1.0}
    with pytest.raises(ParameterError):
        counted.weight("a", {0: -1.0})


def test_frames_keep_a_column_called_n() -> None:
    counted = table_of([(0, 1, 2), (0, 1, 2), (0, None, 2)]).counts("n", "N")
    assert counted.to_arrow().column_names == ["n", "N", "n_"]
    assert counted.to_frame("polars").rows() == [(1, 2, 2), (None, 2, 1)]
    assert list(counted.to_frame("pandas").columns) == ["n", "N", "n_"]
    assert counted.to_frame() == counted.to_arrow()
    with pytest.raises(ParameterError, match="not known"):
        counted.to_frame("excel")  # type: ignore[arg-type]
    assert "<table>" in counted._repr_html_() and "2 cells" in repr(counted)


def test_html_is_escaped() -> None:
    table = Table.from_arrow(pa.table({"<b>": ["<script>"]}))
    assert (
        "<script>" not in table.counts("<b>")._repr_html_() and "<b>" not in table.counts("<b>")._repr_html_()
    )


@pytest.mark.parametrize("columns", [(), ("a", "a"), ("a", "unknown"), ("A",)])
def test_bad_sets_are_refused(columns: tuple[str, ...]) -> None:
    table = table_of([(0, 0, 0)])
    coded = table.encode()
    asked = [c.counts for c in (table, coded, table.counts(*NAMES))]
    for ask in (*asked, lambda *columns: coded.dense([columns])):
        with pytest.raises(ParameterError) as caught:
            ask(*columns)
        assert caught.value.hint


def test_a_name_alone_is_a_set_of_one_column_not_its_letters() -> None:
    table = Table.from_arrow(pa.table({"a": [1, 1], "b": [2, 3], "ab": [4, 4]}))
    for countable in (table, table.encode(), table.counts("a", "b", "ab")):
        for sets in (["ab"], "ab"):
            assert list(countable.tabulate(sets)) == [("ab",)]


def test_other_bad_requests() -> None:
    counted = table_of([(0, 0, 0)]).counts(*NAMES)
    with pytest.raises(SchemaError, match="no such level"):
        counted.condition(a=99)
    with pytest.raises(ParameterError, match="no column is left"):
        counted.condition(a=0, n=0, N=0)
    with pytest.raises(ParameterError, match="same levels"):
        counted.project("a") + counted.project("n")
    with pytest.raises(ParameterError, match="shape"):
        Counts.of_dense(counted.codebooks, np.zeros((2, 2)))
    wide = Codebook(Column("w", Kind.NOMINAL, type="integer"), pa.array(range(2**16)), False)
    with pytest.raises(ParameterError, match="too large"):
        Counts.of_cells([wide, wide], np.zeros((1, 2)), np.ones(1)).dense()


def test_weights_that_are_no_numbers_and_heads_before_the_first_row() -> None:
    table = table_of([(0, 0, 0)])
    with pytest.raises(ParameterError, match="finite"):
        table.counts("a").weight("a", {0: "z"})  # type: ignore[dict-item]
    with pytest.raises(ParameterError, match="before the first"):
        table.head(-1)


@given(rows_, st.integers(1, 7), st.booleans())
def test_tallies_are_counts(rows: list[Any], size: int, as_dictionary: bool) -> None:
    """One pass without a domain gives what two passes with one give."""
    arrow = table_of(rows).to_arrow()
    if as_dictionary:
        arrow = pa.table({n: arrow.column(n).dictionary_encode() for n in NAMES})
    schema = Schema(tuple(Column(n, Kind.NOMINAL, type="integer") for n in NAMES))
    parts = pa.Table.from_batches(arrow.to_batches(max_chunksize=size), arrow.schema)
    tallied = Table.from_arrow(parts, schema).one_way()
    assert tallied == {n: Table.from_arrow(arrow, schema).counts(n) for n in NAMES}
