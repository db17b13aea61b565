"""One reading of an open domain: the same counts and codes as two readings give."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.counts import Codebook, Survey
from sfumato.counts import survey as module
from sfumato.schema import Column, Kind, Schema
from sfumato.sources import BatchSource
from sfumato.table import Table

EVERYTHING = 2**30


def _surveyed(column: Column, batches: list[pa.Array], most_bytes: int = EVERYTHING) -> Survey:
    survey = Survey([column], most_bytes)
    for array in batches:
        survey.add(pa.RecordBatch.from_arrays([array], names=[column.name]))
    return survey


def _agrees(column: Column, batches: list[pa.Array]) -> None:
    """Against a table that looks for levels first and encodes then."""
    whole = pa.table({column.name: pa.chunked_array([b.cast(batches[0].type) for b in batches])})
    twice = Table.from_arrow(whole, Schema((column,)))
    expected = twice.encode([column.name])
    survey = _surveyed(column, batches)
    counts = survey.counts()[column.name]
    assert counts == twice.counts(column.name)
    out = np.empty(survey.rows, expected.books[0].dtype)
    survey.encode(counts.codebooks[0], out)
    assert np.array_equal(out, expected.codes[0])


CELLS = {
    "text": (Column("c", Kind.NOMINAL, type="text", missing_codes=("?",)),
             st.sampled_from(["a", "b", "?", "", "ä"])),
    "near": (Column("c", Kind.NUMERIC, type="integer", missing_codes=(-9,)), st.integers(-10, 30)),
    "far": (Column("c", Kind.NUMERIC, type="integer"), st.sampled_from([-(2**62), 0, 5, 2**61])),
    "real": (Column("c", Kind.NUMERIC, type="real"), st.sampled_from([0.0, -0.0, float("nan"), 1.5, 1e300])),
    "flag": (Column("c", Kind.FLAG, type="boolean"), st.booleans()),
    "date": (Column("c", Kind.DATE, type="date"), st.dates(date(2020, 1, 1), date(2020, 1, 9))),
    "codes": (Column("c", Kind.CODES, type="text"), st.sampled_from(["b;a", "a;b", "a", " "])),
    "decimal": (Column("c", Kind.NUMERIC, type="decimal"), st.sampled_from([Decimal("1.50"), Decimal("0")])),
    "number as name": (Column("c", Kind.NOMINAL, type="text"), st.integers(0, 7)),
}  # fmt: skip


@pytest.mark.parametrize("kind", CELLS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_one_reading_gives_the_counts_and_codes_of_two(kind: str, data: st.DataObject) -> None:
    column, cells = CELLS[kind]
    drawn = data.draw(st.lists(st.lists(st.none() | cells, max_size=12), min_size=1, max_size=4))
    type_ = (
        pa.array([next(v for part in drawn for v in part if v is not None)]).type
        if any(v is not None for part in drawn for v in part)
        else pa.string()
        if column.type == "text"
        else pa.null()
    )
    if type_ == pa.null():
        return
    if pa.types.is_decimal(type_):
        type_ = pa.decimal128(10, 2)
    _agrees(column, [pa.array(part, type_) for part in drawn])


def test_dictionaries_that_change_between_batches() -> None:
    column = Column("c", Kind.NOMINAL, type="text", missing_codes=("?",))
    first = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2], pa.int8()), pa.array(["x", "y", "?"]))
    second = pa.DictionaryArray.from_arrays(pa.array([1, 1, 0], pa.int32()), pa.array(["y", "z", "unused"]))
    survey = _surveyed(column, [first, first, second])
    counts = survey.counts()["c"]
    assert counts.codebooks[0].levels.to_pylist() == ["x", "y", "z"]
    assert dict(zip(["x", "y", "z", None], counts.dense().tolist(), strict=True)) == {
        "x": 2, "y": 3, "z": 2, None: 4,
    }  # fmt: skip
    out = np.empty(11, np.uint8)
    survey.encode(counts.codebooks[0], out)
    assert out.tolist() == [0, 1, 3, 3, 0, 1, 3, 3, 2, 2, 1]


def test_a_codebook_of_bins_encodes_what_was_read() -> None:
    column = Column("age", Kind.NUMERIC, type="integer", edges=(0, 10, 20, 30))
    open_ = Column("age", Kind.NUMERIC, type="integer")
    survey = _surveyed(open_, [pa.array([3, 12, None, 30, 12])])
    out = np.empty(5, np.uint8)
    survey.encode(Codebook.declared(column), out)
    assert out.tolist() == [0, 1, 3, 2, 1]


def test_too_many_values_or_bytes_are_counted_but_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    column = Column("id", Kind.NOMINAL, type="text")
    batches = [pa.array([str(i) for i in range(k, k + 40)]) for k in (0, 20, 40)]
    expected = _surveyed(column, batches).counts()["id"]
    monkeypatch.setattr(module, "MOST_VALUES", 50)
    wide = _surveyed(column, batches)
    assert not wide.remembers("id") and wide.counts()["id"] == expected
    monkeypatch.undo()
    heavy = _surveyed(column, batches, most_bytes=100)
    assert not heavy.remembers("id") and heavy.counts()["id"] == expected
    light = _surveyed(column, batches, most_bytes=120)
    assert light.remembers("id")


def test_a_table_is_read_once() -> None:
    rows = pa.table({"a": ["x", "y", None], "n": [1, 2, 2]})
    opened = []

    def open_(columns: list[str]) -> list[pa.RecordBatch]:
        opened.append(tuple(columns))
        return rows.select(columns).to_batches()  # type: ignore[no-any-return]

    table = Table(BatchSource(rows.schema, open_, "test", 3), Table.from_arrow(rows).schema)
    found = table.survey()
    counts = found.counts()
    codes = np.empty((2, 3), np.uint8)
    for row, name in zip(codes, ("a", "n"), strict=True):
        found.encode(counts[name].codebooks[0], row)
    assert codes.tolist() == [[0, 1, 2], [0, 1, 1]]
    assert opened == [("a", "n")]


def test_a_table_takes_codebooks_as_they_are() -> None:
    table = Table.from_arrow(pa.table({"a": ["x", "y", "x"], "w": [1.0, 2.0, 3.0], "b": [1, 2, 3]}))
    book = Codebook.of_values(table.schema["a"], pa.array(["y", "z", "x"]), sort=False)
    coded = table.with_codebooks([book], beside=["w"])
    assert coded.columns == ("a", "w")
    assert coded.encode(["a"]).codes.tolist() == [[2, 0, 2]]
    assert coded.counts("a", weight="w").dense().tolist() == [2.0, 0.0, 4.0, 0.0][: book.size]
