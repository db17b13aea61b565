import datetime as dt
import decimal

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.errors import DataError, SfumatoWarning
from sfumato.io import scan, to_native
from sfumato.io.frames import from_frame
from sfumato.sources import BatchSource

PLAIN = {"n": [1, 2, 3], "N": ["a", "b", None], "x y": [1.5, None, 2.5]}


def rows(source, columns=None):
    names = list(columns or source.arrow_schema.names)
    fields = pa.schema([source.arrow_schema.field(n) for n in names])
    return pa.Table.from_batches(source.batches(names), schema=fields)


def round_trip(frame):
    source = from_frame(frame)
    return to_native(rows(source), source)


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        pl.DataFrame,
        pl.LazyFrame,
        pa.table,
        lambda data: pa.RecordBatch.from_pydict(data),
        lambda data: ds.dataset(pa.table(data)),
        lambda data: nw.from_native(pl.DataFrame(data)),
        lambda data: nw.from_native(pd.DataFrame(data)),
        lambda data: nw.from_native(pl.LazyFrame(data)),
    ],
    ids=["pandas", "polars", "lazy", "table", "batch", "dataset", "nw-polars", "nw-pandas", "nw-lazy"],
)
def test_every_frame_gives_the_same_rows(make):
    source = from_frame(make(PLAIN))
    assert isinstance(source, BatchSource)
    assert rows(source).to_pydict() == PLAIN
    assert rows(source, ["x y", "n"]).to_pydict() == {"x y": PLAIN["x y"], "n": PLAIN["n"]}
    assert rows(source).to_pydict() == PLAIN  # and again
    assert source.rows in (3, None)


def test_flavours_come_back():
    assert isinstance(round_trip(pd.DataFrame(PLAIN)), pd.DataFrame)
    assert isinstance(round_trip(pl.LazyFrame(PLAIN)), pl.LazyFrame)
    assert isinstance(round_trip(pa.table(PLAIN)), pa.Table)


def test_readers_and_strangers():
    with pytest.raises(DataError, match="only once"):
        from_frame(pa.table(PLAIN).to_reader())
    assert from_frame(object()) is None
    assert from_frame({"a": [1]}) is None


class Exporter:
    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table(PLAIN).__arrow_c_stream__(requested_schema)


def test_any_library_that_speaks_arrow():
    assert rows(from_frame(Exporter())).to_pydict() == PLAIN


def test_a_dataset_of_files(tmp_path):
    for k in range(3):
        pq.write_table(pa.table({"a": [k, k]}), tmp_path / f"{k}.parquet")
    source = from_frame(ds.dataset(tmp_path))
    assert rows(source).to_pydict() == {"a": [0, 0, 1, 1, 2, 2]}


# -- pandas ----------------------------------------------------------------------------------------


def test_whole_numbers_with_gaps_are_integers():
    source = from_frame(
        pd.DataFrame({"a": [1, None, 3], "b": [1.5, None, 2], "c": [1.0, 2.0, 3.0], "d": [np.nan] * 3})
    )
    assert [str(t) for t in source.arrow_schema.types] == ["int64", "double", "double", "double"]
    huge = from_frame(pd.DataFrame({"a": [2.0**60, None]}))
    assert str(huge.arrow_schema.types[0]) == "double"


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([1, 2, 3]),
        pd.Series([1, 2, 3], dtype="int8"),
        pd.Series([1, None, 3]),
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([1, None, 3], dtype="Int16"),
        pd.Series([1.5, None, 3], dtype="Float64"),
        pd.Series([1.5, 2.5, np.nan], dtype="float32"),
        pd.Series([True, False, True]),
        pd.Series([True, None, True], dtype="boolean"),
        pd.Series(["a", None, "b"]),
        pd.Series(["a", None, "b"], dtype="string"),
        pd.Series(["a", None, "b"], dtype=object),
        pd.Series([1, None, 3], dtype="int32[pyarrow]"),
        pd.Series(["a", None, "b"], dtype=pd.ArrowDtype(pa.string())),
        pd.Series(pd.to_datetime(["2020-01-01", None, "2021-01-01"])),
        pd.Series(pd.to_datetime(["2020-01-01 10:00", None, "2021-01-01 11:00"])).dt.tz_localize("UTC"),
        pd.Series(pd.Categorical(["a", None, "b"], categories=["c", "b", "a"], ordered=True)),
        pd.Series(pd.Categorical([1, None, 2])),
    ],
    ids=lambda s: str(s.dtype),
)
def test_pandas_types_come_back(series):
    frame = pd.DataFrame({"x": series})
    pd.testing.assert_frame_equal(round_trip(frame), frame)


def test_generalized_columns_take_a_new_type():
    frame = pd.DataFrame({"age": [30, 40], "grade": pd.Categorical(["a", "b"]), "n": [1, 2]})
    source = from_frame(frame)
    out = to_native(
        pa.table({"age": ["[30, 40)", "*"], "grade": ["*", "a"], "n": [1.5, None], "new": [1, 2]}), source
    )
    assert out["age"].tolist() == ["[30, 40)", "*"]
    assert isinstance(out["grade"].dtype, pd.CategoricalDtype)
    assert out["n"].dtype == "float64"
    gaps = to_native(pa.table({"n": pa.array([1, None], pa.int64())}), source)
    assert gaps["n"].dtype == "Int64"  # numpy has no integer with gaps


def test_mixed_objects_are_refused_all_at_once():
    frame = pd.DataFrame(
        {"a": [1, "SECRET"], "b": ["SECRET", 2], "ok": [1, 2], "c": [{1}, "x"]}, dtype=object
    )
    with pytest.raises(
        DataError, match=r"3 columns .*'a' \(object\), 'b' \(object\), 'c' \(object\)"
    ) as caught:
        from_frame(frame)
    assert "SECRET" not in str(caught.value)


def test_objects_of_one_type_are_read():
    frame = pd.DataFrame(
        {
            "day": pd.Series([dt.date(2020, 1, 1), None], dtype=object),
            "money": pd.Series([decimal.Decimal("1.50"), None], dtype=object),
            "whole": pd.Series([1, None], dtype=object),
        }
    )
    types = [str(t) for t in from_frame(frame).arrow_schema.types]
    assert types[0] == "date32[day]"
    assert types[1].startswith("decimal128")
    assert types[2] in ("int64", "double")


def test_the_index():
    plain = pd.DataFrame({"a": [1, 2]}, index=["x", "y"])
    assert from_frame(plain).arrow_schema.names == ["a"]
    named = plain.rename_axis("key")
    with pytest.warns(SfumatoWarning, match="index is read as column 'key'"):
        source = from_frame(named)
    assert source.arrow_schema.names == ["key", "a"]
    assert to_native(rows(source), source)["key"].tolist() == ["x", "y"]
    half = plain.set_index(pd.MultiIndex.from_tuples([("x", 1), ("y", 2)], names=["key", None]))
    with pytest.warns(SfumatoWarning, match="'key'"):
        assert from_frame(half).arrow_schema.names == ["key", "a"]
    clash = plain.rename_axis("a")
    with pytest.warns(SfumatoWarning), pytest.raises(DataError, match="repeat"):
        from_frame(clash)


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "repeat: 'a'"),
        (pd.DataFrame([[1, 2]], columns=["a", ""]), "without a name"),
        (pd.DataFrame([[1, 2]], columns=["a", None]), "without a name"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "repeat: '1'"),
        (pd.DataFrame(), "no columns"),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "several levels"),
        (pd.DataFrame({"p": pd.period_range("2020", periods=2, freq="D")}), "'p'"),
        (pd.DataFrame({"z": [1 + 2j]}), "'z'"),
    ],
)
def test_frames_that_cannot_be_read(frame, says):
    with pytest.raises(DataError, match=says):
        from_frame(frame)


def test_numbers_as_names_become_text():
    assert from_frame(pd.DataFrame({0: [1], 1: [2]})).arrow_schema.names == ["0", "1"]


# -- polars ----------------------------------------------------------------------------------------


def test_polars_types_come_back():
    frame = pl.DataFrame(
        {
            "e": pl.Series(["u", "v"], dtype=pl.Enum(["v", "u"])),
            "c": pl.Series(["u", None], dtype=pl.Categorical),
            "i": pl.Series([1, None], dtype=pl.Int8),
            "f": pl.Series([1.5, None], dtype=pl.Float32),
            "d": [dt.date(2020, 1, 1), None],
            "l": [["a"], ["b", "c"]],
        }
    )
    assert round_trip(frame).equals(frame)
    assert round_trip(frame).schema == frame.schema
    assert round_trip(frame.lazy()).collect().equals(frame)  # lazy for lazy


def test_lazy_polars_runs_only_what_is_asked_for():
    seen = []

    def look(frame):
        seen.append(frame.columns)
        return frame

    lazy = pl.LazyFrame({"a": [1], "b": [2]})
    source = from_frame(
        lazy.with_columns(c=pl.col("a") * 2).map_batches(
            look, schema=pl.Schema({"a": pl.Int64, "b": pl.Int64, "c": pl.Int64})
        )
    )
    seen.clear()
    assert rows(source, ["c"]).to_pydict() == {"c": [2]}
    assert len(seen) == 1


def test_fractions_do_not_become_whole_numbers_again():
    source = from_frame(pl.DataFrame({"i": [1, 2], "e": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"]))}))
    out = to_native(pa.table({"i": [1.5, 2.5], "e": ["*", "a"]}), source)
    assert out["i"].to_list() == [1.5, 2.5]
    assert out["e"].to_list() == ["*", "a"]


def test_a_lazy_query_that_fails_quotes_no_cell():
    lazy = pl.LazyFrame({"a": ["1", "SECRET"]}).with_columns(pl.col("a").cast(pl.Int64))
    with pytest.raises(DataError, match="lazy polars query failed") as caught:
        rows(from_frame(lazy))
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("cells", [[{"SECRET": 1}], [[{"SECRET": 1}]], [b"x"]])
def test_a_structure_without_a_kind_is_refused_without_its_keys(cells):
    array = pa.array(cells, pa.binary_view() if cells == [b"x"] else None)
    for data in (pa.table({"a": array}), pa.table({"a": array}).to_pandas()):
        with pytest.raises(DataError, match="'a'") as caught:
            scan(data)
        assert "SECRET" not in str(caught.value)
        assert caught.value.hint


@pytest.mark.parametrize(
    "data",
    [
        lambda: pd.Series([1], name="SECRET"),
        lambda: pl.DataFrame({"a": pl.Series([2**100], dtype=pl.Int128)}),
        lambda: pl.LazyFrame({"a": ["SECRET"]}).map_batches(lambda frame: int(frame["a"][0])),
        lambda: duckdb.connect().sql("select 1 as a, 2 as a"),
    ],
)
def test_what_arrow_cannot_take_is_refused_in_our_words(data):
    with pytest.raises(DataError) as caught:
        scan(data())
    assert caught.value.hint
    assert "SECRET" not in str(caught.value)


def test_days_and_moments_in_one_pandas_column():
    frame = pd.DataFrame({"d": pd.Series([dt.date(2020, 1, 1), dt.datetime(2020, 1, 2, 12)], dtype=object)})
    with pytest.raises(DataError, match="mixed"):
        from_frame(frame)


def test_a_path_longer_than_any_file_name():
    with pytest.raises(DataError, match="no file"):
        scan("x" * 5_000 + ".csv")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_release_does_not_list_values_that_were_taken_out(library: str) -> None:
    names = ["common", "rare"]
    if library == "pandas":
        frame = pd.DataFrame({"x": pd.Categorical(["common", "common", "rare"], names)})
    else:
        frame = pl.DataFrame({"x": ["common", "common", "rare"]}, schema={"x": pl.Enum(names)})
    table = sf.scan(frame)
    left = sf.Table.from_arrow(table.to_arrow().slice(0, 2), table.schema)
    release = sf.Release(left, sf.Guarantee(), origin=table.source).to_native()
    found = release["x"].cat.categories if library == "pandas" else release["x"].dtype.categories
    assert list(found) == ["common"]
