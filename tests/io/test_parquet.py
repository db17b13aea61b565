"""Parquet files give back what is stored, in bounded memory, and damage is told without any value."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError, SfumatoWarning
from sfumato.io import file_checks, output, parquet
from sfumato.schema import Column, Kind, Schema


def stored(source, columns=None) -> pa.Table:
    names = source.arrow_schema.names if columns is None else columns
    schema = pa.schema([source.arrow_schema.field(n) for n in names])
    return pa.Table.from_batches(source.batches(names), schema=schema)


def every_type(rows: int = 300) -> pa.Table:
    at = dt.datetime(2020, 1, 2, 3, 4, 5, 6)
    return pa.table(
        {
            "u8": pa.array([i % 7 for i in range(rows)], pa.uint8()),
            "i64": pa.array([None if i % 5 == 0 else i for i in range(rows)], pa.int64()),
            "f32": pa.array([i / 3 for i in range(rows)], pa.float32()),
            "flag": pa.array([i % 2 == 0 for i in range(rows)]),
            "day": pa.array([dt.date(1900, 1, 1)] * rows),
            "at": pa.array([at] * rows, pa.timestamp("us")),
            "instant": pa.array([at] * rows, pa.timestamp("us", "Europe/Zurich")),
            "money": pa.array([None] * rows, pa.decimal128(12, 2)),
            "few": pa.array([None if i % 11 == 0 else "ab"[i % 2] for i in range(rows)]),
            "all different": pa.array([f"person {i:06d}" for i in range(rows)]),
            "large": pa.array(["x", "y", None] * (rows // 3), pa.large_string()),
            "category": pa.array(["x", "y", None] * (rows // 3)).dictionary_encode(),
            "codes": pa.array([["a"], ["b", "c"], None] * (rows // 3)),
            "a.b": pa.array(range(rows), pa.int16()),
            "a": pa.array([{"b": 1}] * rows),
        }
    )


def test_the_stored_types_and_values_come_back(tmp_path: Path) -> None:
    table = every_type()
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=70)
    source, hint = parquet.read([tmp_path / "t.parquet"])
    assert source.rows == 300 and hint is None
    back = stored(source)
    assert back.schema == source.arrow_schema
    for name in table.column_names:
        assert back[name].to_pylist() == table[name].to_pylist(), name
        if name not in ("few", "large"):
            assert back.schema.field(name).type == table.schema.field(name).type, name


def test_text_of_few_values_is_a_dictionary_and_text_of_many_is_not(tmp_path: Path) -> None:
    rows = 20_000
    table = pa.table(
        {"few": ["level one", "level two"] * (rows // 2), "many": [f"{i:012d}" for i in range(rows)]}
    )
    pq.write_table(table, tmp_path / "t.parquet", dictionary_pagesize_limit=10_000)
    source, _ = parquet.read([tmp_path / "t.parquet"])
    assert pa.types.is_dictionary(source.arrow_schema.field("few").type)
    assert pa.types.is_string(source.arrow_schema.field("many").type)
    assert stored(source)["few"].to_pylist() == table["few"].to_pylist()


def test_columns_come_in_the_order_asked_for_and_can_be_read_again(tmp_path: Path) -> None:
    pq.write_table(every_type(), tmp_path / "t.parquet")
    source, _ = parquet.read([tmp_path / "t.parquet"])
    for _ in range(2):
        batch = next(iter(source.batches(["a.b", "u8"])))
        assert batch.schema.names == ["a.b", "u8"] and batch.column(0).to_pylist()[:3] == [0, 1, 2]
    assert list(source.batches([])) == []


def test_a_folder_is_its_parts_in_the_order_of_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "data.parquet"
    folder.mkdir()
    with pytest.raises(DataError, match="no Parquet file"):
        parquet.read([folder])
    for i in (1, 0):
        pq.write_table(pa.table({"n": [2 * i, 2 * i + 1]}), folder / f"part-0000{i}.parquet")
    (folder / "_SUCCESS").touch()
    pq.write_table(pa.table({"n": [9]}), folder / ".part-00002.parquet")  # a writer has not finished it
    source, _ = parquet.read([folder])
    assert [n for batch in source.batches(["n"]) for n in batch.column(0).to_pylist()] == [0, 1, 2, 3]


def test_an_unknown_column_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    source, _ = parquet.read([tmp_path / "t.parquet"])
    with pytest.raises(DataError, match="'b', 'c'"):
        list(source.batches(["a", "b", "c"]))


def test_several_files_are_one_source_whatever_the_order_of_their_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"b": ["z"], "a": [3]}), tmp_path / "2.parquet")
    source, _ = parquet.read([tmp_path / "1.parquet", tmp_path / "2.parquet"])
    assert source.rows == 3
    assert stored(source).to_pydict() == {"a": [1, 2, 3], "b": ["x", "y", "z"]}


def test_all_differences_between_files_are_listed(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": [1.5], "c": ["x"]}), tmp_path / "2.parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "3.parquet")
    with pytest.raises(DataError) as caught:
        parquet.read([tmp_path / f"{i}.parquet" for i in (1, 2, 3)])
    for part in ("2 of 3 files", "without 'b'", "with also 'c'", "'a' (double, not int64)", "3.parquet"):
        assert part in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"secret,cell\n1,2\n", b"PAR1" + b"x" * 90 + b"PAR1"])
def test_what_is_no_parquet_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(DataError, match=r"t\.parquet is not a Parquet file") as caught:
        parquet.read([tmp_path / "t.parquet"])
    assert "secret" not in str(caught.value)


def test_a_missing_file_an_empty_folder_and_no_file_are_refused(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "no.parquet", "no file"), (tmp_path, "holds no Parquet file")):
        with pytest.raises(DataError, match=words):
            parquet.read([path])
    with pytest.raises(DataError, match="no Parquet file"):
        parquet.read([])


def test_repeated_names_are_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"t\.parquet has names that repeat: 'x'"):
        parquet.read([tmp_path / "t.parquet"])


def test_damage_inside_is_told_when_it_is_met(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    rng = np.random.default_rng(1)
    words = [f"secret {x}" for x in rng.integers(0, 10**12, 50_000)]
    pq.write_table(pa.table({"x": words}), path, row_group_size=10_000)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 3000] = bytes(b ^ 0x5A for b in content[middle : middle + 3000])
    path.write_bytes(content)
    source, _ = parquet.read([path])
    with pytest.raises(DataError, match="damaged") as caught:
        list(source.batches(["x"]))
    assert "secret" not in str(caught.value)


def test_a_file_that_changes_between_two_readings_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), path)
    source, _ = parquet.read([path])
    pq.write_table(pa.table({"a": [1, 2, 3]}), path)
    with pytest.raises(DataError, match="changed"):
        list(source.batches(["a"]))


def test_leaving_half_way_stops_the_reading_thread(tmp_path: Path) -> None:
    table = pa.table({"a": np.arange(2_000_000)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=200_000)
    source, _ = parquet.read([tmp_path / "t.parquet"])
    before = threading.active_count()
    batches = iter(source.batches(["a"]))
    next(batches)
    assert threading.active_count() == before + 1
    batches.close()
    assert threading.active_count() == before


def test_the_schema_that_sfumato_wrote_is_offered(tmp_path: Path) -> None:
    schema = Schema((Column("sex", Kind.FLAG, levels=("f", "m"), reason="2 levels in 1234 rows"),))
    output.write(pa.table({"sex": ["f", "m"]}), tmp_path / "1.parquet", schema)
    output.write(pa.table({"sex": ["f"]}), tmp_path / "2.parquet")
    _, hint = parquet.read([tmp_path / "1.parquet"])
    assert hint == schema.with_("sex", reason="")
    _, hint = parquet.read([tmp_path / "1.parquet", tmp_path / "2.parquet"])
    assert hint is None


def test_a_stored_schema_that_does_not_fit_is_left_aside(tmp_path: Path) -> None:
    table = pa.table({"a": [1]}).replace_schema_metadata({file_checks.SCHEMA_KEY: b"not = [toml"})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.warns(SfumatoWarning, match="not used"):
        _, hint = parquet.read([tmp_path / "t.parquet"])
    assert hint is None


@given(
    st.lists(st.one_of(st.none(), st.text(max_size=5)), max_size=60),
    st.integers(1, 20),
    st.sampled_from([pa.string(), pa.large_string()]),
)
def test_any_text_survives(tmp_path_factory: pytest.TempPathFactory, words, group, type_) -> None:
    path = tmp_path_factory.mktemp("p") / "t.parquet"
    pq.write_table(pa.table({"x": pa.array(words, type_)}), path, row_group_size=group)
    source, _ = parquet.read([path])
    assert stored(source)["x"].to_pylist() == words


def test_one_huge_row_group_does_not_fill_the_memory(tmp_path: Path) -> None:
    """120 MB in one row group are read in far less than that."""
    rng = np.random.default_rng(1)
    table = pa.table({"a": rng.integers(0, 2**62, 15_000_000)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=15_000_000, use_dictionary=False)
    program = f"""
import pathlib, pyarrow.parquet
from sfumato.io import parquet
def peak():  # not getrusage: there a child's peak begins with the size its parent had when it forked
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
source, _ = parquet.read([pathlib.Path({str(tmp_path / "t.parquet")!r})])
before = peak()
rows = sum(b.num_rows for b in source.batches(["a"]))
assert rows == 15_000_000
print((peak() - before) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 70
