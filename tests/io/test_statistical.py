"""SPSS, Stata and SAS: values, labels and missing codes survive both ways."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError, OutputError, SfumatoWarning
from sfumato.io import output, scan, statistical, statistical_output
from sfumato.schema import Column, Kind, Schema

pyreadstat = pytest.importorskip("pyreadstat")
pd = pytest.importorskip("pandas")


def spss_file(path: Path) -> Path:
    frame = pd.DataFrame(
        {
            "health": [1.0, 2.0, -9.0, 98.0, None, 3.0],
            "region": ["q", "", "x", None, "é", "NA"],
            "age": [40.0, 41.0, 42.0, 43.0, 44.0, 45.0],
            "born": [dt.date(1900, 1, 1)] * 5 + [None],
            "income": [70.5, -5, 80, None, -1, 60.0],
            "seen": [dt.datetime(2020, 1, 2, 3, 4, 5, 250_000)] * 6,
        }
    )
    pyreadstat.write_sav(
        frame,
        path,
        missing_ranges={
            "health": [{"lo": 97, "hi": 99}, -9],
            "region": ["NA"],
            "income": [{"lo": -1e300, "hi": -1}],
        },
        variable_value_labels={
            "health": {1: "good", 2: "fair", 3: "bad", -9: "refused"},
            "income": {-1: "unknown"},
            "region": {"q": "Quebec"},
        },
        column_labels={"health": "How is your health?", "income": "Monthly income"},
        variable_measure={"health": "ordinal", "income": "scale", "region": "nominal"},
        variable_format={"age": "F3.0"},
    )
    return path


def stata_file(path: Path) -> Path:
    frame = pd.DataFrame(
        {
            "smoker": pd.Series([1, 2, "a", "b", 2, 1], dtype=object),
            "weight": pd.Series([71.5, "a", None, 62.5, 83.0, "z"], dtype=object),
            "name": ["q", "", "x", None, "é", "z"],
            "born": [dt.date(2000, 1, 1)] * 6,
            "seen": [dt.datetime(2000, 1, 1, 12, 30)] * 6,
        }
    )
    pyreadstat.write_dta(
        frame,
        path,
        missing_user_values={"smoker": ["a", "b"], "weight": ["a", "z"]},
        variable_value_labels={"smoker": {1: "yes", 2: "no", "a": "refused", "b": "not asked"}},
        column_labels={"smoker": "Do you smoke?"},
    )
    return path


def table(source: Any) -> pa.Table:
    return pa.Table.from_batches(source.batches(source.arrow_schema.names), schema=source.arrow_schema)


def test_spss_dictionary_becomes_the_schema(tmp_path: Path) -> None:
    source, schema = statistical.read(spss_file(tmp_path / "t.sav"))
    health, region, age, born, income, seen = schema
    assert (health.kind, health.type) == (Kind.ORDINAL, "integer")
    assert health.description == "How is your health?"
    assert health.labels == {"1": "good", "2": "fair", "3": "bad", "-9": "refused"}
    assert health.missing_codes == (-9, 97, 98, 99)
    assert (region.kind, region.labels, region.missing_codes) == (Kind.NOMINAL, {"q": "Quebec"}, ("NA",))
    assert (age.kind, age.type) == (Kind.NUMERIC, "integer")
    assert (born.kind, born.type, seen.type) == (Kind.DATE, "date", "datetime")
    assert (income.kind, income.type, income.missing_codes) == (Kind.NUMERIC, "real", (-5.0, -1.0))
    assert not any(c.confirmed for c in schema)
    read = table(source)
    assert source.rows == 6
    assert read["health"].to_pylist() == [1, 2, -9, 98, None, 3]
    assert read["region"].to_pylist() == ["q", None, "x", None, "é", "NA"]
    assert read["born"].to_pylist() == [dt.date(1900, 1, 1)] * 5 + [None]
    assert read["seen"].to_pylist() == [dt.datetime(2020, 1, 2, 3, 4, 5, 250_000)] * 6


def test_letters_for_missing_become_codes(tmp_path: Path) -> None:
    source, schema = statistical.read(stata_file(tmp_path / "t.dta"))
    a, b, z = (statistical.tag_code(t) for t in "abz")
    assert schema["smoker"].missing_codes == (b, a)
    assert schema["smoker"].labels == {"1": "yes", "2": "no", str(a): "refused", str(b): "not asked"}
    assert schema["smoker"].kind is Kind.NOMINAL and schema["smoker"].type == "integer"
    assert set(schema["weight"].missing_codes) == {float(a), float(z)}
    read = table(source)
    assert read["smoker"].to_pylist() == [1, 2, a, b, 2, 1]
    assert read["weight"].to_pylist() == [71.5, a, None, 62.5, 83.0, z]
    assert read["born"].to_pylist() == [dt.date(2000, 1, 1)] * 6
    assert read["seen"].to_pylist() == [dt.datetime(2000, 1, 1, 12, 30)] * 6


@given(st.sampled_from("abcdefghijklmnopqrstuvwxyz_"))
def test_letters_and_codes_are_one_to_one(tag: str) -> None:
    code = statistical.tag_code(tag)
    assert statistical.code_tag(code) == statistical.code_tag(float(code)) == tag
    assert int(float(code)) == code
    assert statistical.tag_code(tag.upper()) == code


@pytest.mark.parametrize(
    "number", [0, -9, 1.5, float("nan"), float("inf"), -9_007_199_254_740_000, True, "a"]
)
def test_other_numbers_are_no_letters(number: Any) -> None:
    assert statistical.code_tag(number) is None


def by_reader(path: Path, target: Path) -> None:
    source, schema = statistical.read(path)
    output.write(source, target, schema)


def by_table(path: Path, target: Path) -> None:
    """As a user does it, and `sfumato convert`: a table knows missing cells only, yet the codes come back."""
    table = scan(path)
    output.write(table, target, table.schema)


@pytest.mark.parametrize("suffix", [".sav", ".zsav"])
@pytest.mark.parametrize("convert", [by_reader, by_table])
def test_spss_round_trip(tmp_path: Path, suffix: str, convert: Any) -> None:
    path = spss_file(tmp_path / "t.sav")
    convert(path, tmp_path / f"back{suffix}")
    before, old = pyreadstat.read_sav(path, user_missing=True)
    after, new = pyreadstat.read_sav(tmp_path / f"back{suffix}", user_missing=True)
    pd.testing.assert_frame_equal(before, after)
    for what in ("missing_ranges", "variable_value_labels", "column_names_to_labels", "variable_measure",
                 "original_variable_types"):  # fmt: skip
        assert getattr(old, what) == getattr(new, what), what


@pytest.mark.parametrize("convert", [by_reader, by_table])
def test_stata_round_trip(tmp_path: Path, convert: Any) -> None:
    path = stata_file(tmp_path / "t.dta")
    convert(path, tmp_path / "back.dta")
    # As lists: read as pandas, version 1.3.7 leaves numbers of its own where an integer is missing.
    before, old = pyreadstat.read_dta(path, user_missing=True, output_format="dict")
    after, new = pyreadstat.read_dta(tmp_path / "back.dta", user_missing=True, output_format="dict")
    assert before == after
    for what in ("missing_user_values", "variable_value_labels", "column_names_to_labels"):
        assert getattr(old, what) == getattr(new, what), what


@pytest.mark.parametrize("suffix", [".sav", ".parquet", ".arrow"])
def test_letters_of_stata_survive_where_there_is_a_place_for_them(tmp_path: Path, suffix: str) -> None:
    by_table(stata_file(tmp_path / "t.dta"), tmp_path / f"there{suffix}")
    by_table(tmp_path / f"there{suffix}", tmp_path / "back.dta")
    before, old = pyreadstat.read_dta(tmp_path / "t.dta", user_missing=True, output_format="dict")
    after, new = pyreadstat.read_dta(tmp_path / "back.dta", user_missing=True, output_format="dict")
    assert {n: before[n] for n in ("smoker", "weight")} == {n: after[n] for n in ("smoker", "weight")}
    assert old.variable_value_labels == new.variable_value_labels


@pytest.mark.parametrize("suffix", [".sav", ".dta", ".xpt"])
def test_days_far_away_are_written_as_they_are(tmp_path: Path, suffix: str) -> None:
    """9999-12-31 is how insurers write that there is no end."""
    days = [dt.date(9999, 12, 31), dt.date(1583, 1, 1), dt.date(2024, 2, 29), None]
    moments = [dt.datetime(9999, 12, 31, 23, 59, 59), dt.datetime(2024, 2, 29, 1, 2, 3), None, None]
    output.write(pa.table({"end": days, "seen": moments}), tmp_path / f"t{suffix}")
    assert scan(tmp_path / f"t{suffix}").to_arrow().to_pydict() == {"end": days, "seen": moments}


def test_what_a_person_changed_about_missing_codes_is_written(tmp_path: Path) -> None:
    path = spss_file(tmp_path / "t.sav")
    table = scan(path)
    health = table.schema["health"]
    changed = table.with_schema(table.schema.with_("health", missing_codes=(health.missing_codes[0],)))
    output.write(changed, tmp_path / "new.sav")
    codes = scan(tmp_path / "new.sav").schema["health"].missing_codes
    assert codes == health.missing_codes[:1] != health.missing_codes


def test_transport_files_keep_values_and_say_what_is_lost(tmp_path: Path) -> None:
    source, schema = statistical.read(spss_file(tmp_path / "t.sav"))
    with pytest.warns(SfumatoWarning, match="value labels"):
        output.write(source, tmp_path / "t.xpt", schema)
    back, again = statistical.read(tmp_path / "t.xpt")
    assert back.rows == 6 and table(back).to_pydict() == table(source).to_pydict()
    assert again["health"].description == "How is your health?"
    assert (again["health"].type, again["born"].type, again["seen"].type) == ("integer", "date", "datetime")


@pytest.mark.parametrize("suffix", [".sav", ".dta", ".xpt"])
def test_codes_without_a_mark_are_told_and_text_among_numbers_stays_out(tmp_path: Path, suffix: str) -> None:
    never = dt.date(9999, 12, 31)
    schema = Schema((
        Column("age", Kind.NUMERIC, type="integer", missing_codes=("?",)),
        Column("died", Kind.DATE, missing_codes=(never,)),
        Column("sex", Kind.NOMINAL, missing_codes=("u",)),
    ))  # fmt: skip
    cells = {"age": ["3", "?"], "died": [never, dt.date(2020, 1, 2)], "sex": ["u", "f"]}
    with pytest.warns(SfumatoWarning, match="'died'.*stay as plain values") as told:
        output.write(scan(pa.table(cells), schema), tmp_path / f"t{suffix}")
    assert ("'sex'" in str(told[0].message)) == (suffix != ".sav") and "'age'" not in str(told[0].message)
    found = table(statistical.read(tmp_path / f"t{suffix}")[0]).to_pydict()
    assert found == {**cells, "age": [3, None]}


def test_portable_files_are_read(tmp_path: Path) -> None:
    frame = pd.DataFrame({"A": [1.0, 2.0], "B": ["x", "y"]})
    pyreadstat.write_por(frame, tmp_path / "t.por")
    source, _ = statistical.read(tmp_path / "t.por")
    assert table(source).to_pydict() == {"A": [1, 2], "B": ["x", "y"]}


def test_long_files_come_in_chunks_and_can_be_read_again(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(statistical, "_CHUNK_CELLS", (100, 100))
    frame = pd.DataFrame({"i": range(1000), "t": [f"t{i % 9}" for i in range(1000)]})
    for suffix, writer in ((".sav", pyreadstat.write_sav), (".dta", pyreadstat.write_dta),
                           (".xpt", pyreadstat.write_xport)):  # fmt: skip
        writer(frame, tmp_path / f"t{suffix}")
        source, _ = statistical.read(tmp_path / f"t{suffix}")
        for _ in range(2):
            batches = list(source.batches(["t", "i"]))
            assert len(batches) == 20
            assert pa.Table.from_batches(batches)["i"].to_pylist() == list(range(1000)), suffix


def test_a_labelled_column_with_fractions_stays_real(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.0, 1.5, 2.0]})
    pyreadstat.write_sav(frame, tmp_path / "t.sav", variable_value_labels={"x": {1.0: "one", 1.5: "more"}})
    source, schema = statistical.read(tmp_path / "t.sav")
    assert schema["x"].type == "real" and schema["x"].labels == {"1.0": "one", "1.5": "more"}
    assert table(source)["x"].to_pylist() == [1.0, 1.5, 2.0]


def test_labels_of_missing_codes_alone_leave_a_number_a_number(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.0, -1.0]})
    pyreadstat.write_sav(
        frame, tmp_path / "t.sav", variable_value_labels={"x": {-1.0: "refused"}}, missing_ranges={"x": [-1]}
    )
    _, schema = statistical.read(tmp_path / "t.sav")
    assert schema["x"].kind is Kind.NUMERIC and schema["x"].missing_codes == (-1,)


@pytest.mark.parametrize("suffix", [".sav", ".dta", ".xpt", ".sas7bdat", ".por"])
def test_damaged_files_are_refused_without_values(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t{suffix}"
    for content in (b"", b"secret,cell\n1,2\n" * 200):
        path.write_bytes(content)
        with pytest.raises(DataError) as caught:
            statistical.read(path)
        assert "secret" not in str(caught.value)


def test_a_file_cut_short_is_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame({"i": range(5000), "t": ["secret"] * 5000})
    for suffix, writer in ((".sav", pyreadstat.write_sav), (".dta", pyreadstat.write_dta)):
        path = tmp_path / f"t{suffix}"
        writer(frame, path)
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(DataError) as caught:
            source, _ = statistical.read(path)
            list(source.batches(["i", "t"]))
        assert "secret" not in str(caught.value)


def test_missing_files_unknown_suffixes_and_columns(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file t\.sav"):
        statistical.read(tmp_path / "t.sav")
    with pytest.raises(DataError, match="'klingon' is not a known encoding"):
        statistical.read(spss_file(tmp_path / "u.sav"), encoding="klingon")
    with pytest.raises(DataError, match="no SAS, SPSS or Stata file"):
        statistical.read(tmp_path / "t.txt")
    source, _ = statistical.read(spss_file(tmp_path / "t.sav"))
    with pytest.raises(DataError, match="'no'"):
        list(source.batches(["no"]))


@given(st.sets(st.integers(-20, 20), max_size=8))
def test_spss_marks_cover_exactly_the_codes(codes: set[int]) -> None:
    ranges = statistical_output.spss_missing([float(c) for c in codes])
    if ranges is None:
        assert len(codes) > 3
        return
    assert {c for c in range(-20, 21) if any(r["lo"] <= c <= r["hi"] for r in ranges)} == codes
    assert len(ranges) <= 2 or (all(r["lo"] == r["hi"] for r in ranges) and len(ranges) == 3)


def test_a_schema_alone_carries_labels_and_codes_into_spss(tmp_path: Path) -> None:
    schema = Schema(
        (
            Column("x", Kind.NOMINAL, type="integer", labels={"1": "one", "-9": "none"},
                   missing_codes=(-9, 97, 98, 99), description="An x"),
            Column("d", Kind.DATE, type="date"),
        )
    )  # fmt: skip
    data = pa.table({"x": [1, -9, None], "d": [dt.date(1950, 2, 3), None, dt.date(2020, 2, 29)]})
    output.write(data, tmp_path / "t.sav", schema)
    frame, meta = pyreadstat.read_sav(tmp_path / "t.sav", user_missing=True)
    assert meta.missing_ranges == {"x": [{"lo": 97.0, "hi": 99.0}, {"lo": -9.0, "hi": -9.0}]}
    assert meta.variable_value_labels == {"x": {1.0: "one", -9.0: "none"}}
    assert meta.column_names_to_labels["x"] == "An x"
    assert (meta.variable_measure["x"], meta.original_variable_types["x"]) == ("nominal", "F8.0")
    assert frame["d"].tolist()[0] == dt.date(1950, 2, 3)


def test_what_does_not_fit_is_refused_or_told(tmp_path: Path) -> None:
    for data, words in (
        (pa.table({"a b": [1], "ok": [1], "1st": [2]}), "'a b', '1st'"),
        (pa.table({"Age": [1], "age": [1]}), "differ in case only"),
        (pa.table({"id": [2**60]}), "beyond 2"),
        (pa.table({"x": [[1]]}), "cannot hold"),
    ):
        with pytest.raises(OutputError, match=words):
            output.write(data, tmp_path / "t.sav")
    many = Schema((Column("x", Kind.NUMERIC, type="integer", missing_codes=(-9, -7, -5, -3)),))
    with pytest.warns(SfumatoWarning, match="missing codes beyond"):
        output.write(pa.table({"x": [1]}), tmp_path / "t.sav", many)
    few = Schema((Column("x", Kind.NUMERIC, type="integer", missing_codes=(-9,)),))
    with pytest.warns(SfumatoWarning, match="stay as plain values"):
        output.write(pa.table({"x": [1, -9]}), tmp_path / "t.dta", few)
    assert pyreadstat.read_dta(tmp_path / "t.dta")[0]["x"].tolist() == [1, -9]


def test_long_labels_are_cut_and_told(tmp_path: Path) -> None:
    column = Column("x", Kind.NOMINAL, type="integer", labels={"1": "é" * 100}, description="L" * 400)
    for suffix, most in ((".sav", 255), (".dta", 80)):
        with pytest.warns(SfumatoWarning, match=f"labels of more than {most} bytes"):
            output.write(pa.table({"x": [1]}), tmp_path / f"t{suffix}", Schema((column,)))
        _, back = statistical.read(tmp_path / f"t{suffix}")
        assert back["x"].description == "L" * most
        assert back["x"].labels["1"] == "é" * (60 if suffix == ".sav" else 100)


def test_polars_serves_where_pandas_is_not_installed(tmp_path: Path, monkeypatch: Any) -> None:
    pytest.importorskip("polars")
    files = {
        pyreadstat.read_sav: spss_file(tmp_path / "t.sav"),
        pyreadstat.read_dta: stata_file(tmp_path / "t.dta"),
    }
    monkeypatch.setitem(sys.modules, "pandas", None)
    for reader, path in files.items():
        source, schema = statistical.read(path)
        output.write(source, tmp_path / f"back{path.suffix}", schema)
        before, _ = reader(path, user_missing=True, output_format="dict")
        after, _ = reader(tmp_path / f"back{path.suffix}", user_missing=True, output_format="dict")
        assert before == after


def test_dates_that_no_calendar_has_are_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame({"d": [1e15]})
    pyreadstat.write_sav(frame, tmp_path / "t.sav", variable_format={"d": "DATE11"})
    source, _ = statistical.read(tmp_path / "t.sav")
    with pytest.raises(DataError, match="'d' has 1 dates outside"):
        list(source.batches(["d"]))
