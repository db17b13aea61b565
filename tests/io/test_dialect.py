import codecs
import csv
import gzip
import io
import random
import warnings
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import DataError, ParameterError, SfumatoWarning
from sfumato.io.dialect import Dialect

ROWS = "name;cost;day\nMüller;1,5;31.12.2020\nWeiß;22,25;01.02.2021\n"


def put(folder: Path, content: str | bytes, name: str = "data.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def test_german_file(tmp_path):
    with pytest.warns(SfumatoWarning, match="read as cp1252"):
        found = Dialect.detect(put(tmp_path, ROWS, encoding="cp1252"))
    assert found == Dialect(";", '"', ",", "cp1252", "DMY")
    assert str(found) == "separator ';', decimal ',', encoding cp1252, dates day first"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(tmp_path, encoding):
    path = put(tmp_path, ROWS, encoding=encoding)
    guessed = encoding == "cp1252"
    with pytest.warns(SfumatoWarning, match="not UTF-8") if guessed else nullcontext():
        assert Dialect.detect(path).encoding == encoding


def test_utf16_big_endian(tmp_path):
    path = put(tmp_path, codecs.BOM_UTF16_BE + ROWS.encode("utf-16-be"))
    assert Dialect.detect(path).encoding == "utf-16"


def test_a_character_cut_by_the_head_is_not_an_encoding_fault(tmp_path):
    text = "name,x\n" + ("é" * 90 + ",1\n") * 8_000  # more than is looked at
    for shift in range(2):
        assert Dialect.detect(put(tmp_path, "a" * shift + text)).encoding == "utf-8"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_next_to_text_with_the_others(tmp_path, separator):
    other = next(s for s in ",;|" if s != separator)
    lines = [f"id{separator}note", *[f"{i}{separator}a{other} b{other} c" for i in range(20)]]
    assert Dialect.detect(put(tmp_path, "\n".join(lines) + "\n")).separator == separator


def test_quoted_separators_and_newlines_do_not_confuse(tmp_path):
    text = 'id,note\n1,"a;b;c\nd;e;f"\n2,"x;y;z ""q"""\n3,"u;v\n\nw"\n'
    found = Dialect.detect(put(tmp_path, text))
    assert (found.separator, found.header) == (",", True)


def test_one_column_of_text_with_commas(tmp_path):
    assert Dialect.detect(put(tmp_path, "note\nhello, world\nplain\n")).separator != ","
    assert Dialect.detect(put(tmp_path, "note\nhello, world\nso, long\n")).separator != ","
    assert Dialect.detect(put(tmp_path, "wert\n1,5\n2,5\n")).decimal == ","


@pytest.mark.parametrize(
    ("days", "order"),
    [
        (["31/12/2020", "01/02/2020"], "DMY"),
        (["12/31/2020", "01/02/2020"], "MDY"),
        (["2020-12-31", "2020-01-02"], "YMD"),
        (["01.02.2020", "03.04.2020"], "DMY"),
        (["12/31/2020 10:00", "01/02/2020 11:30"], "MDY"),
    ],
)
def test_date_order(tmp_path, days, order):
    path = put(tmp_path, "id,day\n" + "".join(f"{i},{d}\n" for i, d in enumerate(days)))
    assert Dialect.detect(path).date_order == order


def test_ambiguous_dates_are_read_day_first_and_said(tmp_path):
    path = put(tmp_path, "id,day\n1,01/02/2020\n2,03/04/2020\n")
    with pytest.warns(SfumatoWarning, match="day first or month first"):
        assert Dialect.detect(path).date_order == "DMY"
    assert Dialect.detect(path, date_order="MDY").date_order == "MDY"  # no warning: it was said


def test_header(tmp_path):
    assert Dialect.detect(put(tmp_path, "id,2008,2009\n1,2,3\n")).header
    for names in ("0,1,2", "1,2,3", ",0,1"):
        assert Dialect.detect(put(tmp_path, f"{names}\n5,6,7\n")).header
    for names in ("id,0,1,2", "person,1,2,3", ",1,2,3"):  # as pandas does where the rows have names
        assert Dialect.detect(put(tmp_path, f"{names}\n7,5,6,7\n")).header
    for row in ("39, State-gov, 77516", "1,x,2", "5,6,7", "M,1,2,3", "M,1,2"):
        with pytest.warns(SfumatoWarning, match="no header"):
            assert not Dialect.detect(put(tmp_path, f"{row}\n{row}\n")).header


def test_overrides_win(tmp_path):
    found = Dialect.detect(put(tmp_path, ROWS), separator="|", encoding="latin-1", missing=("?",))
    assert (found.separator, found.encoding, found.missing) == ("|", "latin-1", ("?",))


def test_quote_limit_of_the_process_is_put_back(tmp_path):
    before = csv.field_size_limit()
    Dialect.detect(put(tmp_path, 'a,b\n1,"' + "x" * 500_000 + '"\n'))
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    "changes",
    [
        {"separator": ";;"},
        {"separator": "\n"},
        {"quote": ""},
        {"decimal": "·"},
        {"decimal": ","},  # with the default separator ','
        {"date_order": "YDM"},
        {"encoding": "nope"},
        {"missing": (9,)},
    ],
)
def test_impossible_dialects(changes):
    with pytest.raises(ParameterError):
        Dialect(**changes)


def test_unknown_override(tmp_path):
    with pytest.raises(ParameterError, match="delimiter"):
        Dialect.detect(put(tmp_path, ROWS), delimiter=";")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"a,b\n\x00,2\n", "binary"),
        (b"PK\x03\x04....", "Excel"),
        (b"PAR1....", "Parquet"),
        (b"\x1f\x8bnot really", "gzip"),
        (b"a,b\n\x81\x8d,\xff\n", "cp1252"),
    ],
)
def test_files_that_are_no_text_tables(tmp_path, content, says):
    with pytest.raises(DataError, match=says) as caught:
        Dialect.detect(put(tmp_path, content))
    assert caught.value.hint


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(DataError, match=r"no file none\.csv"):
        Dialect.detect(tmp_path / "none.csv")
    with pytest.raises(DataError, match="directory"):
        Dialect.detect(tmp_path)


def test_gzip_is_told_by_its_bytes(tmp_path):
    path = put(tmp_path, gzip.compress(ROWS.encode()), "data.csv")
    assert Dialect.detect(path).separator == ";"


cells = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8)


@settings(max_examples=60)
@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=12), st.sampled_from(",;\t|"))
def test_what_a_csv_writer_wrote_is_cut_as_it_was_written(tmp_path_factory, rows, separator):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL)
    writer.writerows([("name one", "name two", "name three"), *rows])
    path = tmp_path_factory.mktemp("d") / "data.csv"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        assert Dialect.detect(path).separator == separator


def test_any_bytes_give_a_dialect_or_a_data_error(tmp_path):
    draw = random.Random(7)
    for size in (1, 5, 40, 400):
        for _ in range(40):
            path = put(tmp_path, draw.randbytes(size))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SfumatoWarning)
                try:
                    Dialect.detect(path)
                except DataError as error:
                    assert error.hint


@pytest.mark.parametrize("part", [{"encoding": "hex"}, {"encoding": "rot13"}, {"separator": "\0"}])
def test_parts_that_are_no_text_are_refused(part):
    with pytest.raises(ParameterError):
        Dialect(**part)
