import datetime as dt
import gzip
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.description import check
from sfumato.errors import DataError
from sfumato.io import csv, scan, write
from sfumato.schema import Column, Schema

MANY = 500_000  # rows of about 50 bytes: past the 16 MB that decide the types


def put(folder: Path, content: str | bytes, name: str = "data.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def read(path, **options) -> pa.Table:
    source, hints = csv.read(path, **options)
    assert hints is None
    return pa.Table.from_batches(source.batches(source.arrow_schema.names), schema=source.arrow_schema)


def types(table: pa.Table) -> dict[str, str]:
    return {field.name: str(field.type) for field in table.schema}


def column(path, **options) -> list:
    return read(path, **options).column("x").to_pylist()


@pytest.mark.parametrize(
    ("cells", "type_", "values"),
    [
        ("1 -2 +3", "int64", [1, -2, 3]),
        ("0 10 NA", "int64", [0, 10, None]),
        ("1 2.5 .5", "double", [1.0, 2.5, 0.5]),
        ("1e3 2 nan", "double", [1000.0, 2.0, None]),
        ("007 123 456", "string", ["007", "123", "456"]),
        ("0.5 007.5", "string", ["0.5", "007.5"]),
        ("12345678901234567890 1", "string", ["12345678901234567890", "1"]),
        ("1234567890123456789 1.5", "string", ["1234567890123456789", "1.5"]),
        ("123456789012345678 1", "int64", [123456789012345678, 1]),
        ("0x1f 12", "string", ["0x1f", "12"]),
        ("inf 1", "string", ["inf", "1"]),
        ("true FALSE NA", "bool", [True, False, None]),
        ("yes no", "string", ["yes", "no"]),
        ("1 true", "string", ["1", "true"]),
        ("2020-01-31 2020-02-29", "date32[day]", [dt.date(2020, 1, 31), dt.date(2020, 2, 29)]),
        ("2020-02-30 2020-01-01", "string", ["2020-02-30", "2020-01-01"]),
        ("20200131 20200229", "date32[day]", [dt.date(2020, 1, 31), dt.date(2020, 2, 29)]),
        ("20200231 20200229", "int64", [20200231, 20200229]),
        ("31.12.2020 1.2.2021", "date32[day]", [dt.date(2020, 12, 31), dt.date(2021, 2, 1)]),
        ("31/02/2020 01/02/2020", "string", ["31/02/2020", "01/02/2020"]),
        ("12/31/2020 1/2/2021", "date32[day]", [dt.date(2020, 12, 31), dt.date(2021, 1, 2)]),
        (
            "2020-01-31T10:30 2020-02-01",
            "timestamp[us]",
            [dt.datetime(2020, 1, 31, 10, 30), dt.datetime(2020, 2, 1)],
        ),
        ("2020-01-31T25:30 2020-02-01", "string", ["2020-01-31T25:30", "2020-02-01"]),
        (
            "2020-01-31T10:30:00.5Z 2020-01-31T10:30+02:00",
            "timestamp[us, tz=UTC]",
            [
                dt.datetime(2020, 1, 31, 10, 30, 0, 500_000, dt.UTC),
                dt.datetime(2020, 1, 31, 8, 30, tzinfo=dt.UTC),
            ],
        ),
        ("NA Namibia", "string", ["NA", "Namibia"]),
    ],
)
def test_the_rule_of_types(tmp_path, cells, type_, values):
    rows = "".join(f"k;{cell}\n" for cell in cells.split(" "))
    table = read(put(tmp_path, "k;x\n" + rows))
    assert str(table.schema.field("x").type) == type_
    assert table.column("x").to_pylist() == values


def test_empty_columns_are_text_and_spaces_are_dropped(tmp_path):
    table = read(put(tmp_path, 'a,b,c\n , x ,""\n,y , \n'))
    assert table.to_pydict() == {"a": [None, None], "b": ["x", "y"], "c": [None, None]}
    assert set(types(table).values()) == {"string"}


def test_decimal_commas_and_no_thousands(tmp_path):
    table = read(put(tmp_path, "a;b;c\n1,5;1.000,5;2\n2,25;3,5;3\n"))
    assert types(table) == {"a": "double", "b": "string", "c": "int64"}
    assert table.column("a").to_pylist() == [1.5, 2.25]


def test_quoted_cells(tmp_path):
    table = read(put(tmp_path, 'x,n\n"a\nb, ""c""",1\nplain,2\n'))
    assert table.to_pydict() == {"x": ['a\nb, "c"', "plain"], "n": [1, 2]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_encodings_and_lines(tmp_path, encoding, line):
    text = line.join(["Größe;Straße", "1,5;Ü", "2,5;ß", ""])
    told = {"encoding": encoding} if encoding == "cp1252" else {}
    table = read(put(tmp_path, text, encoding=encoding), **told)
    assert table.to_pydict() == {"Größe": [1.5, 2.5], "Straße": ["Ü", "ß"]}


def test_a_file_packed_in_many_pieces(tmp_path):
    """As bgzip does it; the first piece ends in the middle of a letter and of a row."""
    whole = ("name,n\n" + "ä,1\n" * 40).encode()
    parts = (whole[:8], whole[8:50], whole[50:])
    path = put(tmp_path, b"".join(map(gzip.compress, parts)), "t.csv.gz")
    assert read(path).to_pydict() == {"name": ["ä"] * 40, "n": [1] * 40}


def test_packed_and_other_suffixes(tmp_path):
    assert read(put(tmp_path, gzip.compress(b"a,b\n1,2\n"), "d.csv.gz")).to_pydict() == {"a": [1], "b": [2]}
    assert read(put(tmp_path, "a\tb\n1\t2\n", "d.tsv")).to_pydict() == {"a": [1], "b": [2]}


def test_missing_markers(tmp_path):
    path = put(tmp_path, "x,y\n?,a\n3,?\n")
    assert read(path).to_pydict() == {"x": ["?", "3"], "y": ["a", "?"]}
    assert read(path, missing=("?",)).to_pydict() == {"x": [None, 3], "y": ["a", None]}


def test_gaps_do_not_hide_how_numbers_and_dates_are_written(tmp_path):
    path = put(tmp_path, "x;d\n1,5;NA\nNA;31.12.2020\nNULL;NULL\n2,5;01.02.2020\n")
    assert types(read(path)) == {"x": "double", "d": "date32[day]"}


@pytest.mark.parametrize("kind", ["csv", "arrow"])
def test_a_mark_among_numbers_is_missing_where_the_schema_says_so(tmp_path, kind):
    path = put(tmp_path, "age,day\n34,31/12/2020\n?,01/02/2020\n51,?\n")
    cells = {"age": ["34", "?", "51"], "day": ["2020-12-31", "2020-02-01", "?"]}
    age = Column("age", "numeric", type="integer", missing_codes=("?",))
    schema = Schema((age, Column("day", "date", missing_codes=("?",))))
    found = scan(path if kind == "csv" else pa.table(cells), schema)
    days = [dt.date(2020, 12, 31), dt.date(2020, 2, 1), None]
    assert found.to_arrow().to_pydict() == {"age": [34, None, 51], "day": days}
    assert write(found, tmp_path / "t.parquet", schema) and check(found, schema).ok
    assert scan(tmp_path / "t.parquet").to_arrow()["age"].to_pylist() == [34, None, 51]


def test_a_schema_decides_the_type(tmp_path):
    schema = Schema((Column("x", "numeric", type="integer"), Column("y", "nominal", type="text")))
    assert read(put(tmp_path, "x,y\n007,1\n8,2\n"), schema=schema).to_pydict() == {
        "x": [7, 8],
        "y": ["1", "2"],
    }
    decimals = Schema((Column("x", "numeric", type="decimal"), Column("y", "nominal")))
    assert column(put(tmp_path, "x;y\n1,50;a\n2;b\n"), schema=decimals, decimal=",") == ["1.50", "2"]


def test_only_the_columns_asked_for_in_that_order(tmp_path):
    source, _ = csv.read(put(tmp_path, "a,b,c\n1,x,2.5\n"))
    (batch,) = source.batches(["c", "a"])
    assert list(source.batches([])) == []
    assert batch.schema.names == ["c", "a"]
    assert batch.to_pylist() == [{"c": 2.5, "a": 1}]


def test_the_source_can_be_read_again_and_says_its_dialect(tmp_path):
    source, _ = csv.read(put(tmp_path, "a;b\n1;2\n"))
    assert [list(source.batches(["a"])) for _ in range(2)][1][0].to_pydict() == {"a": [1]}
    assert str(source.origin) == "data.csv: separator ';', decimal '.', encoding utf-8, dates year first"


def test_several_files(tmp_path):
    one, two = put(tmp_path, "a,b\n1,x\n", "1.csv"), put(tmp_path, "a,b\n2.5,y\n", "2.csv")
    assert read([one, two]).to_pydict() == {"a": [1.0, 2.5], "b": ["x", "y"]}
    put(tmp_path, "a,c\n1,x\n", "3.csv")
    with pytest.raises(DataError, match=r"1 of 3 files .*3\.csv without 'b', with also 'c'"):
        read([one, two, tmp_path / "3.csv"])
    with pytest.raises(DataError, match=r"in another order than 1\.csv: 4\.csv"):
        read([one, put(tmp_path, "b,a\nx,1\n", "4.csv")])


# -- faults ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a,b\n", "no rows"),
        ("a,b", "no rows"),
        ("", "empty"),
        ("a,a,\n1,2,3\n", "no name above column 3 and names that repeat: 'a'"),
        ("a,b\n1,2\n\n3\n4,5,6\n", r"2 rows have not 2 cells like the first row \(line 4, 5\)"),
        ('a,b\n"1\n1",2\n3\n', r"1 row has not 2 cells like the first row \(line 4\)"),
        ('a,b\n1,"open\n2,3\n4,5\n', "a quote that never closes"),
    ],
)
def test_faults_of_the_file(tmp_path, content, says):
    with pytest.raises(DataError, match=says) as caught:
        read(put(tmp_path, content))
    assert caught.value.hint
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_row_names_of_pandas_and_r_get_a_name(tmp_path):
    read_ = read(put(tmp_path, ",age,sex\n0,41,m\n1,52,f\n"))
    assert read_.column_names == ["row_id", "age", "sex"]
    with pytest.raises(DataError, match="no name above column 1"):
        read(put(tmp_path, ",row_id\n0,1\n"))


def test_an_inch_mark_is_no_open_quote(tmp_path):
    assert read(put(tmp_path, 'a,b\n1,5" pipe\n2,x\n')).column("b").to_pylist() == ['5" pipe', "x"]


@pytest.fixture(scope="module")
def long_text() -> bytes:
    return b"a,b\n" + b"".join(b"%d,%b\n" % (i, b"x" * 42) for i in range(MANY))


@pytest.mark.parametrize(
    ("tail", "says"),
    [
        (b"SECRET,x\n007,y\nSECRET,z\n", r"'a' \(3 cells not integer\)"),
        (b"SECRET\n1,2,SECRET\n", r"2 rows have not 2 cells like the first row \(line 500002, 500003\)"),
        (b"1,SECRET\xe9\n", "not utf-8 text throughout"),
        (b'1,"SECRET\n2,y\n', "a quote that never closes"),
    ],
)
def test_faults_far_behind_the_head(tmp_path, long_text, tail, says):
    source, _ = csv.read(put(tmp_path, long_text + tail))
    with pytest.raises(DataError, match=says) as caught:
        for _ in source.batches(["a", "b"]):
            pass
    assert "SECRET" not in str(caught.value)
    assert caught.value.hint


def test_nothing_is_given_out_from_a_faulty_block(tmp_path, long_text):
    source, _ = csv.read(put(tmp_path, long_text + b"SECRET,x\n"))
    seen = 0
    with pytest.raises(DataError):
        for batch in source.batches(["a"]):
            seen += batch.num_rows
            assert batch.column(0).null_count == 0
    assert 0 < seen < MANY


def test_a_packed_file_cut_short(tmp_path):
    rows = b"".join(b"%d,%d\n" % (i, hash(i * 7919) % 99991) for i in range(600_000))
    packed = gzip.compress(b"a,b\n" + rows)
    with pytest.raises(DataError, match="cannot be read to its end"):
        read(put(tmp_path, packed[: len(packed) // 2], "d.csv.gz"))


def test_no_text_of_a_cell_in_any_message(tmp_path):
    contents = [
        "a,b\nSECRET\n1,2\n",
        "a,b\n1,2\n3,4,SECRET\n",
        'a,b\n1,"SECRET\n',
        "SECRET1,SECRET1\n1\n",
    ]
    for content in contents:
        with pytest.raises(DataError) as caught:
            read(put(tmp_path, content))
        message = str(caught.value)
        assert "SECRET" not in re.sub("'SECRET1'", "", message)  # a name of a column may be said


# -- against another reader ------------------------------------------------------------------------

plain = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zs"]), min_size=1, max_size=6)
rows = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-(10**17), 10**17)),
        st.one_of(st.none(), st.floats(-1e9, 1e9)),
        st.one_of(st.none(), plain.map(lambda text: "w" + text)),
        st.one_of(st.none(), st.dates(dt.date(1800, 1, 1), dt.date(2100, 1, 1))),
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=60)
@given(rows)
def test_what_arrow_wrote_comes_back(tmp_path_factory, rows):
    types_ = [pa.int64(), pa.float64(), pa.string(), pa.date32()]
    columns = [pa.array(column, type_) for column, type_ in zip(zip(*rows, strict=True), types_, strict=True)]
    table = pa.table([*columns, pa.array(["k"] * len(rows))], names=["whole", "real", "word", "day", "k"])
    path = tmp_path_factory.mktemp("d") / "data.csv"
    pa.csv.write_csv(table, path)
    schema = Schema(
        (
            Column("whole", "numeric", type="integer"),
            Column("real", "numeric", type="real"),
            Column("word", "nominal", type="text"),
            Column("day", "date", type="date"),
            Column("k", "nominal", type="text"),
        )
    )
    assert read(path, schema=schema).to_pydict() == table.to_pydict()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_empty_lines_above_the_header_do_not_make_it_a_row(tmp_path, end):
    path = put(tmp_path, end.join(["", "", "x,y", "", "1,a", "2,b", ""]))
    assert read(path).to_pydict() == {"x": [1, 2], "y": ["a", "b"]}


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_line_that_excel_puts_above_the_names(tmp_path, mark):
    path = put(tmp_path, f"{mark}sep=;\r\nname;n;m\r\nä;1;2\r\nb;3;4\r\n")
    assert read(path).to_pydict() == {"name": ["ä", "b"], "n": [1, 3], "m": [2, 4]}
    with pytest.raises(DataError, match=r"1 row has not 3 cells like the first row \(line 3\)"):
        read(put(tmp_path, "sep=;\nname;n;m\na;1\n"))


@pytest.mark.parametrize("offset", ["+99:99", "+24:00", "-01:60"])
def test_an_offset_that_no_place_has_is_no_instant(tmp_path, offset):
    day = "2020-01-01T10:00:00"
    path = put(tmp_path, "x\n" + f"{day}+01:00\n" * 3 + f"{day}{offset}\n")
    assert types(read(path)) == {"x": "string"}
    schema = Schema((Column("x", "date", type="instant"),))
    with pytest.raises(DataError, match="1 cell not instant") as caught:
        read(path, schema=schema)
    assert offset not in str(caught.value)


def test_a_quote_that_opens_in_the_header(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('sex,"age,dx\nF,1,zebra-7319\nF,"1,a\nM,2,b\n' * 3)
    with pytest.raises(DataError) as caught:
        scan(path)
    assert "zebra" not in str(caught.value) and caught.value.hint
