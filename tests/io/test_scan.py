import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from declared import PUBLIC

from sfumato.errors import DataError, ParameterError, SchemaError, SfumatoError, SfumatoWarning
from sfumato.io import scan, write
from sfumato.schema import Column, Kind, Schema

STAYS = pa.table(
    {
        "id": list(range(40)),
        "sex": ["m", "f"] * 20,
        "cost": [i * 1.5 for i in range(40)],
        "note": [f"came on day {i} with a cough and was told to rest" for i in range(40)],
    }
)
SCHEMA = Schema(
    (
        Column("id", "nominal", role="identifier", type="integer"),
        Column("sex", "flag", role="quasi-identifier"),
        Column("cost", "numeric", role="sensitive"),
    )
)


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        yield


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".xlsx", ".sav", ".dta"])
def test_what_we_write_we_read(tmp_path, suffix):
    table = STAYS.drop_columns(["note"])
    write(table, tmp_path / f"stays{suffix}")
    found = scan(tmp_path / f"stays{suffix}")
    assert found.columns == ("id", "sex", "cost")
    assert found.schema["id"].role == "identifier"
    assert found.schema["sex"].role == "quasi-identifier"
    back = found.to_arrow()
    assert back["cost"].to_pylist() == table["cost"].to_pylist()
    assert sorted(found.counts("sex").n.tolist()) == [20, 20]


def test_arrow_files(tmp_path):
    pa.feather.write_feather(STAYS.drop_columns(["note"]), tmp_path / "a.arrow", compression="uncompressed")
    assert scan(tmp_path / "a.arrow").rows() == 40
    (tmp_path / "b.arrow").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"b\.arrow"):
        scan(tmp_path / "b.arrow")


def test_patterns_and_lists(tmp_path):
    for k in range(3):
        pq.write_table(pa.table({"x": [k] * 10, "y": ["a", "b"] * 5}), tmp_path / f"part{k}.parquet")
        (tmp_path / f"part{k}.csv").write_text("x,y\n" + f"{k},a\n" * 10)
    assert scan(str(tmp_path / "*.parquet")).rows() == 30
    assert scan(str(tmp_path / "part?.csv")).rows() == 30
    assert scan([tmp_path / "part0.csv", tmp_path / "part2.csv"]).counts("x").n.tolist() == [10, 10]
    with pytest.raises(DataError, match="2 formats"):
        scan(str(tmp_path / "part0.*"))
    with pytest.raises(DataError, match=r"no file matches none\*"):
        scan(str(tmp_path / "none*.csv"))


def test_the_dialect_is_on_the_table(tmp_path):
    (tmp_path / "d.csv").write_text("a;b\n1,5;x\n2,5;y\n")
    assert str(scan(tmp_path / "d.csv").source.origin).endswith(
        "separator ';', decimal ',', encoding utf-8, dates year first"
    )


def test_overrides_reach_the_reader(tmp_path):
    (tmp_path / "d.csv").write_bytes("a;b;c\n01/02/2020;?;\xe9\n03/04/2020;2,5;x\n".encode("latin-1"))
    table = scan(tmp_path / "d.csv", separator=";", decimal=",", encoding="latin-1", dates="MDY", missing="?")
    first = table.to_arrow().to_pylist()[0]
    assert (first["a"].month, first["b"], first["c"]) == (1, None, "é")


def test_free_text_is_dropped_and_said():
    with pytest.warns(SfumatoWarning, match="1 column of free text dropped: 'note'"):
        assert scan(STAYS).columns == ("id", "sex", "cost")
    assert scan(STAYS, keep_text=True).schema["note"].kind is Kind.TEXT
    with pytest.raises(DataError, match="every column is free text"):
        scan(STAYS.select(["note"]))


def test_a_schema_is_a_value_or_a_file(tmp_path):
    table = STAYS.drop_columns(["note"])
    assert scan(table, SCHEMA).schema == SCHEMA
    (tmp_path / "s.toml").write_text(SCHEMA.to_toml())
    assert scan(table, tmp_path / "s.toml").schema == SCHEMA
    assert scan(table, str(tmp_path / "s.toml")).schema == SCHEMA
    with pytest.raises(SchemaError, match="no schema file"):
        scan(table, tmp_path / "none.toml")
    with pytest.raises(ParameterError, match="schema is a dict"):
        scan(table, {"id": "nominal"})


def test_schema_and_data_must_name_the_same_columns():
    schema = Schema((*SCHEMA.columns, Column("ward", "nominal"), Column("bed", "nominal")))
    with pytest.raises(
        SchemaError, match="differ in 3 columns: 2 named by the schema but not read: 'ward', 'bed'; 1 in"
    ):
        scan(STAYS, schema)
    assert scan(STAYS, SCHEMA, columns=SCHEMA.names).columns == SCHEMA.names


def test_columns():
    assert scan(STAYS, columns=["cost", "id"]).columns == ("cost", "id")
    with pytest.raises(DataError, match="no column 'bed'"):
        scan(STAYS, columns=["id", "bed"])
    with pytest.raises(DataError, match="no column was chosen"):
        scan(STAYS, columns=[])


def test_a_schema_decides_the_types_of_a_text_file(tmp_path):
    (tmp_path / "d.csv").write_text("zip,n\n12345,1\n54321,2\n")
    schema = Schema((Column("zip", "nominal", type="text"), Column("n", "numeric", type="real")))
    assert scan(tmp_path / "d.csv", schema).to_arrow().to_pydict() == {
        "zip": ["12345", "54321"],
        "n": [1.0, 2.0],
    }


def test_types_without_a_kind_are_refused_unless_left_out():
    table = pa.table(
        {"a": [1], "s": [{"x": 1}], "b": [b"x"], "d": pa.array([1], pa.duration("s")), "l": [["q"]]}
    )
    with pytest.raises(DataError, match=r"3 columns of a type without a kind: 's' .*'b' \(binary\), 'd'"):
        scan(table)
    assert scan(table, columns=["a", "l"]).columns == ("a", "l")


def test_categories_count_as_levels_only_where_someone_declared_them(tmp_path):
    words = pa.table({"x": pa.array(["a", "b", "c"] * 20).dictionary_encode()})
    pq.write_table(words, tmp_path / "x.parquet")
    assert scan(tmp_path / "x.parquet").schema["x"].levels is None
    assert scan(words).schema["x"].levels is None
    frame = pd.DataFrame({"x": pd.Categorical(["a", "b"] * 20, categories=["a", "b", "c"])})
    assert scan(frame).schema["x"].levels == ("a", "b", "c")


def test_nothing_is_ever_confirmed_by_looking(tmp_path):
    confirmed = Schema((Column("x", "nominal", levels=("a", "b"), provenance=PUBLIC),))
    write(pa.table({"x": ["a", "b"] * 20}), tmp_path / "x.parquet", confirmed)
    assert not scan(tmp_path / "x.parquet").schema["x"].public
    assert scan(tmp_path / "x.parquet", confirmed).schema["x"].public


@pytest.mark.parametrize(
    ("data", "options", "says"),
    [
        (STAYS, {"separator": ";"}, "separator cannot be said of a frame"),
        (STAYS, {"table": "t"}, "table cannot be said of a frame"),
        ("duckdb:///x", {"decimal": ","}, "decimal cannot be said of a database"),
        ("x.parquet", {"dates": "DMY", "sheet": 1}, "dates, sheet cannot be said of a Parquet file"),
        ("x.csv", {"sheet": "a"}, "sheet cannot be said of a text table"),
        (pa.table({"a": [1, 2]}), {"memory_limit": "lots"}, "memory_limit is not a size"),
        (STAYS, {"missing": 5}, "missing cannot be said of a frame"),
    ],
)
def test_options_without_meaning_are_refused(data, options, says):
    with pytest.raises(ParameterError, match=says):
        scan(data, **options)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("none.csv", "no file none.csv"),
        ("none.parquet", "no file none.parquet"),
        ("none", "no file none"),
        ("", "path is empty"),
        (".", "directory"),
        ([], "list cannot be read"),
        (object(), "object cannot be read"),
        ({"a": [1]}, "dict cannot be read"),
        (None, "NoneType cannot be read"),
        (pa.table({"a": pa.array([], pa.int64())}), "no rows"),
        (np.zeros((2, 2)), "ndarray cannot be read"),
    ],
)
def test_data_that_cannot_be_read(data, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=says) as caught:
        scan(data)
    assert caught.value.hint


def test_unknown_suffix(tmp_path):
    (tmp_path / "x.docx").write_text("x")
    with pytest.raises(DataError, match=r"unknown kind of file: x\.docx"):
        scan(tmp_path / "x.docx")


@pytest.mark.parametrize(
    "suffix", [".csv", ".parquet", ".xlsx", ".sav", ".dta", ".sas7bdat", ".arrow", ".csv.gz"]
)
def test_any_bytes_under_any_suffix_give_a_clear_error(tmp_path, suffix, quiet):
    draw = np.random.default_rng(11)
    for size in (0, 1, 30, 3000):
        path = tmp_path / f"x{size}{suffix}"
        path.write_bytes(draw.bytes(size))
        with pytest.raises(SfumatoError) as caught:
            scan(path).to_arrow()
        assert caught.value.hint


@pytest.mark.soak
def test_reading_keeps_little_in_memory(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "1,x\n" * 6_000_000)
    # Not getrusage: a child's peak there begins with the size its parent had when it forked.
    script = "import sys; from sfumato.io import scan; scan(sys.argv[1]).rows()\n"
    script += "print(next(l.split()[1] for l in open('/proc/self/status') if l.startswith('VmHWM')))"
    env = dict(os.environ, PYTHONPATH=str(Path(__file__).parents[2] / "src"))
    peak = int(
        subprocess.run([sys.executable, "-c", script, path], env=env, capture_output=True, check=True).stdout
    )
    assert peak < 700_000  # kB; as Arrow text the columns alone would be past 100 MB, as Python objects a GB


@pytest.mark.soak
def test_messy_real_files(data_dir, quiet):
    seen = 0
    for path in [*data_dir.glob("**/*.csv"), *data_dir.glob("*/*.parquet")]:
        try:
            table = scan(path)
        except DataError as error:
            assert error.hint
            continue
        assert all(column.reason and not column.confirmed for column in table.schema)
        seen += 1
    assert seen > 5
