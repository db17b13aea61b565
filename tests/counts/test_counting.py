"""Planner, kernels, accumulators: every way of counting gives the same counts."""

from __future__ import annotations

import math
import subprocess
import sys
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import oracles
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.counts import Codebook, Coded, Counts, accumulator, cover, moments
from sfumato.counts import _kernels as kernels
from sfumato.counts.duck import connect
from sfumato.errors import DataError, ParameterError
from sfumato.io import scan
from sfumato.schema import Column, Kind, Schema
from sfumato.table import Table

LEVELS = (6, 18, 3, 4, 7, 16, 16, 13, 9, 25, 25, 3, 2)
NAMES = [f"v{i:02}" for i in range(13)]


def book(name: str, size: int) -> Codebook:
    levels = tuple(range(size))
    return Codebook.declared(Column(name, Kind.NOMINAL, type="integer", levels=levels, missing=False))


def coded(rows: int, seed: int = 0, levels: tuple[int, ...] = LEVELS) -> Coded:
    rng = np.random.default_rng(seed)
    width = np.min_scalar_type(max(levels) - 1)
    codes = np.stack([rng.integers(0, s, rows).astype(width) for s in levels])
    return Coded(tuple(book(n, s) for n, s in zip(NAMES, levels, strict=False)), codes)


# -- planner -------------------------------------------------------------------------------------

sets_ = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True).map(tuple), min_size=1)


@given(sets_, st.integers(1, 10**6))
def test_every_wanted_set_lies_in_a_joint(sets: list[tuple[str, ...]], limit: int) -> None:
    sizes = dict(zip(NAMES, LEVELS, strict=True))
    joints = cover(sets, sizes, limit)
    largest = max(math.prod(sizes[c] for c in s) for s in sets)
    assert all(any(set(s) <= set(j) for j in joints) for s in sets)
    assert all(math.prod(sizes[c] for c in j) <= max(limit, largest) for j in joints)
    assert len(joints) <= len({frozenset(s) for s in sets})
    assert joints == cover(list(reversed(sets)), sizes, limit)


def test_all_pairs_of_thirteen_columns_need_few_joints() -> None:
    joints = cover(list(combinations(NAMES, 2)), dict(zip(NAMES, LEVELS, strict=True)))
    assert len(joints) <= 13  # as many as a projective plane has lines


@pytest.mark.usefixtures("uncollected")
def test_a_wide_table_is_planned_quickly() -> None:
    names = [f"c{i}" for i in range(100)]
    start = time.process_time()
    joints = cover(list(combinations(names, 2)), dict.fromkeys(names, 10))
    assert time.process_time() - start < 5  # half a second; looking at every set for every column takes 20
    covered = {pair for joint in joints for pair in combinations(sorted(joint), 2)}
    assert len(covered) == 4950 and cover([()], {}) == [()]


# -- kernels -------------------------------------------------------------------------------------


def brute(codes: NDArray[Any], columns: list[int], sizes: list[int]) -> NDArray[np.int64]:
    table = np.zeros(sizes, np.int64)
    for row in codes[columns].T:
        table[tuple(row)] += 1
    return table.ravel()


@settings(max_examples=30)
@given(st.integers(0, 9000), st.sampled_from([np.uint8, np.uint16, np.uint32]),
       st.sampled_from([np.uint16, np.uint32]), st.integers(0, 2**32 - 1))  # fmt: skip
def test_kernel_plain_python_and_oracle_agree(rows: int, width: type, key: type, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes, columns = [5, 3, 7], [2, 0, 1]
    codes = np.stack([rng.integers(0, s, rows) for s in sizes]).astype(width)
    ordered = [sizes[c] for c in columns]
    expected = brute(codes, columns, ordered)
    few = codes[:, : min(rows, 200)]  # the uncompiled loops are slow
    for kernel, data in ((kernels.tally, codes), (kernels.tally.py_func, few)):
        banks = np.zeros((2, 105), np.uint32)
        kernel(data, np.array(columns), np.array(ordered, key), banks, np.empty(64, key))
        assert np.array_equal(banks.sum(axis=0), brute(data, columns, ordered) if data is few else expected)
    weights = rng.random(rows)
    for kernel, data in ((kernels.tally_weighted, codes), (kernels.tally_weighted.py_func, few)):
        table = np.zeros(105)
        kernel(data, np.array(columns), np.array(ordered), weights, table)
        keys = np.ravel_multi_index(tuple(data[columns].astype(np.int64)), ordered)
        assert np.allclose(table, np.bincount(keys, weights[: data.shape[1]], 105))


def test_counters_do_not_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accumulator, "_FLUSH_ROWS", 100)  # stands for 2^31 rows
    acc = accumulator.Accumulator([book("a", 2)], [("a",)])
    with ThreadPoolExecutor(2) as pool:
        for _ in range(7):
            acc.add(np.zeros((1, 90), np.uint8), None, pool)
            acc._tables[0][0, 0] += np.uint32(2**31)  # as if so many rows had come
    assert acc.flat()[0].tolist() == [7 * (2**31 + 90), 0]


# -- all ways agree ------------------------------------------------------------------------------


def test_many_sets_at_once_are_the_single_ones() -> None:
    data = coded(20_000)
    sets = [*combinations(NAMES, 2), ("v09", "v10", "v01", "v05"), ("v00",), ("v10", "v00")]
    for columns, counted in data.tabulate(sets).items():
        rows = [data.codes[data.columns.index(c)].tolist() for c in columns]
        assert oracles.as_dict(counted) == oracles.counts(list(zip(*rows, strict=True)))


def test_joints_that_do_not_fit_together_are_counted_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = coded(2_000)
    sets = [*combinations(NAMES, 2), ("v10", "v00"), ("v00",)]
    first, full = data.tabulate(sets), data.dense(sets)
    books = {b.name: b for b in data.books}
    for room in (1, 100_000):
        monkeypatch.setattr(accumulator, "_PASS_CELLS", room)
        parts = accumulator.passes(cover(sets, {b.name: b.size for b in data.books}), books)
        sizes = [sum(accumulator.cells_of(j, books) for j in part) for part in parts]
        assert len(parts) > 1 and all(s <= room or len(p) == 1 for s, p in zip(sizes, parts, strict=True))
        assert data.tabulate(sets) == first
        assert all(np.array_equal(t, full[s]) for s, t in data.dense(sets).items())


def test_one_pass_is_gone_before_the_next_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[accumulator.Accumulator]] = []
    alive: list[int] = []

    class Watched(accumulator.Accumulator):
        def __post_init__(self) -> None:
            alive.append(sum(ref() is not None for ref in made))
            made.append(weakref.ref(self))
            super().__post_init__()

    monkeypatch.setattr(accumulator, "Accumulator", Watched)
    monkeypatch.setattr(accumulator, "_PASS_CELLS", 1)
    coded(100).tabulate(list(combinations(NAMES, 2)))
    assert len(alive) > 2 and not any(alive)


def test_many_cells_are_counted_by_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    data = coded(5_000)
    weights = np.random.default_rng(1).random(5_000)
    columns = ("v09", "v01", "v10")
    plain, weighted = data.counts(*columns), data.counts(*columns, weights=weights)
    monkeypatch.setattr(accumulator, "DENSE_CELLS", 10)
    assert data.counts(*columns) == plain
    sparse = data.counts(*columns, weights=weights)
    assert np.array_equal(sparse.codes, weighted.codes) and np.allclose(sparse.n, weighted.n)


def test_more_combinations_than_64_bits_can_number() -> None:
    data = coded(500, levels=(60_000,) * 5)
    counted = data.counts(*data.columns)
    assert oracles.as_dict(counted) == oracles.counts(data.codes.T.tolist())


def test_the_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    data = coded(50_000)
    sets = list(combinations(NAMES, 2))
    first = data.tabulate(sets)
    monkeypatch.setattr(accumulator, "threads", lambda: 1)
    assert data.tabulate(sets) == first


@given(st.integers(1, 40))
@settings(max_examples=10)
def test_batch_sizes_do_not_matter(size: int) -> None:
    rng = np.random.default_rng(3)
    whole = pa.table({"a": rng.integers(0, 5, 200), "b": rng.integers(0, 3, 200)})
    parts = pa.Table.from_batches(whole.to_batches(max_chunksize=size))
    assert Table.from_arrow(parts).counts("a", "b") == Table.from_arrow(whole).counts("a", "b")


def test_no_rows() -> None:
    empty = Table.from_arrow(pa.table({"a": pa.array([], pa.string())}))
    assert (empty.rows(), empty.counts("a").total, empty.counts("a").cells) == (0, 0, 0)
    nothing = empty.with_schema(Schema((Column("a", Kind.NOMINAL, missing=False),)))  # not even missing
    assert nothing.counts("a").shape == nothing.counts("a").dense().shape == (0,)


@pytest.mark.parametrize("weights", [[1.0], [1.0, np.nan], [1.0, -1.0], [1.0, np.inf], [1.0, 1.0, 1.0]])
def test_weights_of_codes_are_one_number_per_row(weights: list[float]) -> None:
    data = Coded((book("a", 2),), np.array([[0, 1]], np.uint8))
    with pytest.raises(ParameterError, match="one finite number per row"):
        data.counts("a", weights=np.array(weights))


def test_codes_past_the_levels_are_refused() -> None:
    for code in (2, -1):
        with pytest.raises(ParameterError, match="past the levels of a"):
            Counts.of_cells([book("a", 2)], np.array([[0], [code]]), np.ones(2))
    with pytest.raises(DataError, match="past its levels"):
        Coded((book("a", 2),), np.array([[0, 2]], np.uint8))
    with pytest.raises(DataError):
        Coded((book("a", 2),), np.array([0, 1], np.uint8))
    with pytest.raises(DataError):
        Coded((book("a", 2),), np.array([[0, 1]], np.int64))


@pytest.mark.soak
def test_a_count_over_a_file_three_times_duckdbs_memory(tmp_path: Path) -> None:
    """Its six million groups alone need twice the limit, so DuckDB must use the disk."""
    rows, limit = 6_000_000, 64
    rng = np.random.default_rng(0)
    ids = np.arange(rows, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # odd: all different, no pattern
    columns: dict[str, Any] = {"id": ids.view(np.int64), "b": rng.integers(0, 2, rows).astype(np.uint8)}
    path = tmp_path / "large.parquet"
    pq.write_table(pa.table(columns | {f"x{i}": rng.random(rows) for i in range(3)}), path)
    assert path.stat().st_size > 3 * limit * 10**6
    counted = scan(path, memory_limit=f"{limit}MB").counts("id", "b")
    assert (counted.cells, counted.total) == (rows, rows)


def test_a_memory_limit_that_is_no_size() -> None:
    data = Table.from_arrow(pa.table({"a": list(range(3000)), "b": list(range(3000))}))
    with pytest.raises(ParameterError, match="memory_limit"):
        Table(data.source, data.schema, memory_limit="lots").counts("a", "b")
    for size in ("2G", "500m", "1.5 GiB", "2 gigabytes", "80%"):  # what DuckDB takes
        with connect(size):
            assert Table(data.source, data.schema, memory_limit=size).memory_limit == size


# -- weights, sums, cross-products ---------------------------------------------------------------


@pytest.fixture
def visits() -> Table:
    return Table.from_arrow(pa.table({
        "sex": ["f", "m", "f", None], "x": [1.0, 2.0, float("nan"), 4.0],
        "y": [1, 1, 1, 3], "w": [0.5, 1.0, 2.0, 4.0],
    }))  # fmt: skip


def test_weighted_counts(visits: Table) -> None:
    assert oracles.as_dict(visits.counts("sex", weight="w")) == {("f",): 2.5, ("m",): 1.0, (None,): 4.0}


def test_sums_and_cross_products(visits: Table) -> None:
    x = np.array([[1, 1, 1], [1, 2, 1], [1, 4, 3]], float)
    w = np.array([0.5, 1, 4])
    assert np.allclose(visits.cross_products(["x", "y"]).matrix, x.T @ x)
    weighted = visits.cross_products(["x", "y"], weight="w")
    assert np.allclose(weighted.matrix, x.T @ (x * w[:, None]))
    assert (weighted.rows, weighted.dropped, weighted.columns) == (3, 1, ("x", "y"))
    sums = visits.sums("sex", of=["x", "y"])
    assert oracles.as_dict(sums.groups) == {("f",): 1, ("m",): 1, (None,): 1}
    assert sums.totals.tolist() == [[1, 1], [2, 1], [4, 3]] == sums.means.tolist()
    assert visits.sums("sex", of=["y"], weight="w").totals.tolist() == [[2.5], [1.0], [12.0]]


def test_sums_hold_the_groups_and_not_the_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, held = np.random.default_rng(4), []
    rows = pa.table({"g": rng.integers(0, 50, 6_000), "x": rng.integers(0, 9, 6_000)})
    whole = Table.from_arrow(rows).sums("g", of=["x"])
    group = moments._group
    monkeypatch.setattr(moments, "_MERGE", 10)
    monkeypatch.setattr(
        moments, "_group", lambda codes, *rest: held.append(len(codes)) or group(codes, *rest)
    )
    parts = Table.from_arrow(pa.Table.from_batches(rows.to_batches(max_chunksize=20))).sums("g", of=["x"])
    assert parts.groups == whole.groups and np.array_equal(parts.totals, whole.totals)
    assert max(held) < 200


@pytest.mark.parametrize("weights", [[1.0, None], [1.0, -1.0], [1.0, float("nan")], [1.0, float("inf")]])
def test_bad_weights_are_refused(weights: list[Any]) -> None:
    table = Table.from_arrow(pa.table({"a": ["x", "y"], "w": pa.array(weights, pa.float64())}))
    with pytest.raises(DataError, match="1 missing, negative or infinite weight"):
        table.counts("a", weight="w")


def test_only_quantities_are_summed(visits: Table) -> None:
    for call in (lambda: visits.cross_products(["sex"]), lambda: visits.sums("x", of=["sex"])):
        with pytest.raises(ParameterError, match="not numeric"):
            call()
    with pytest.raises(ParameterError, match="not numeric"):
        visits.counts("x", weight="sex")


def _high_cardinality(last: str) -> pa.Table:
    n = 70_000
    return pa.table({"id": [f"i{i}" for i in range(n)], "b": [f"j{i % 100}" for i in range(n - 1)] + [last]})


def test_a_cell_outside_the_domain_is_said_in_our_words_by_the_spilling_count_too() -> None:
    levels = tuple(f"j{i}" for i in range(100))
    schema = Schema((Column("id", Kind.NOMINAL), Column("b", Kind.NOMINAL, levels=levels)))
    assert Table.from_arrow(_high_cardinality("j0"), schema).counts("id", "b").total == 70_000
    with pytest.raises(DataError, match="1 cell outside the declared domain"):
        Table.from_arrow(_high_cardinality("SECRET"), schema).counts("id", "b")


@pytest.mark.parametrize("ordered", [False, True])
def test_chunks_whose_categories_outnumber_their_codes(ordered: bool) -> None:
    """Each chunk has a dictionary of its own that 8 bits can count; all together have too many."""
    indices = pa.array(np.arange(20_000) % 100, pa.int8())
    values = [pa.array([f"{k}-{i}" for i in range(100)]) for k in range(4)]
    chunks = [pa.DictionaryArray.from_arrays(indices, v, ordered=ordered) for v in values]
    table = pa.table({"d": pa.chunked_array(chunks), "id": [f"i{i}" for i in range(80_000)]})
    for counted in (Table.from_arrow(table), scan(table)):
        assert set(counted.counts("d").n.tolist()) == {200}
        assert counted.counts("d", "id").total == counted.counts("d", "id").cells == 80_000


def test_counts_where_nothing_can_be_written() -> None:
    """A read-only installation and no cache of the user's: numba has no place for its machine code."""
    run = """
import numba.core.caching as caching
def refuse(self): raise OSError("read-only")
caching._CacheLocator.ensure_cache_path = refuse
import pyarrow as pa, sfumato as sf
assert sf.Table.from_arrow(pa.table({"x": ["a", "b", "a"]})).counts("x").n.tolist() == [2, 1]
"""
    subprocess.run([sys.executable, "-c", run], check=True)
