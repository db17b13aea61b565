"""Faults that are planted in tables of strangers are found, and safe tables are let through."""

from __future__ import annotations

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.assessment.tables import assess_tables
from sfumato.errors import DataError, ParameterError


def long(rows: list[tuple[object, ...]], *names: str) -> pa.Table:
    columns = list(zip(*rows, strict=True))
    counts = [None if v is None else str(v) for v in columns[-1]]
    data = {name: list(map(str, values)) for name, values in zip(names, columns, strict=False)}
    return pa.table({**data, "count": pa.array(counts, pa.string())})


RECTANGLE = [
    ("a", "x", "*"), ("a", "y", "*"), ("a", "z", 30), ("a", "_T", 52),
    ("b", "x", "*"), ("b", "y", "*"), ("b", "z", 40), ("b", "_T", 81),
    ("_T", "x", 33), ("_T", "y", 30), ("_T", "z", 70), ("_T", "_T", 133),
]  # fmt: skip


def changed(rows, place, value):
    return [(*row[:-1], value) if row[:-1] == place else row for row in rows]


def test_a_safe_table_is_let_through() -> None:
    risk = assess_tables(long(RECTANGLE, "g", "h"), "g,h")
    assert risk.met and len(risk.cells) == 4 and not any(risk.cells["known"].to_pylist())


def test_a_cell_alone_in_its_row_is_known_by_sums() -> None:
    rows = changed(changed(RECTANGLE, ("a", "x"), 19), ("b", "x"), 14)
    risk = assess_tables(long(rows, "g", "h"), "g,h")
    assert not risk.met
    assert [(f["g"], f["h"], f["low"], f["by_sums"]) for f in risk.faults.to_pylist()] == [
        ("a", "y", 3, True)
    ]


def test_ranges_and_bounds_are_read() -> None:
    rows = changed(changed(RECTANGLE, ("a", "x"), "1-4"), ("a", "y"), "≤ 30")
    risk = assess_tables(long(rows, "g", "h"), "g,h")
    cells = {(c["g"], c["h"]): c for c in risk.cells.to_pylist()}
    assert (cells["a", "x"]["low"], cells["a", "x"]["high"]) == (1, 4) and risk.met
    rows = changed(RECTANGLE, ("a", "x"), "<2")
    assert assess_tables(long(rows, "g", "h"), "g,h").shown == 1  # not zero and below 2


def test_differencing_over_two_tables() -> None:
    """Without the second table the cells hide each other; it shows one of them under another name."""
    rows = [
        ("a", "_T", "*"), ("b", "_T", "*"), ("c", "_T", 60), ("_T", "_T", 92),
        ("_T", "x", 50), ("_T", "y", 42),
    ]  # fmt: skip
    assert assess_tables(long(rows, "g", "h"), "g;h").met
    more = [
        *rows,
        ("a", "x", 2),
        ("a", "y", 1),
        ("b", "x", 18),
        ("b", "y", 11),
        ("c", "x", 30),
        ("c", "y", 30),
    ]
    risk = assess_tables(long(more, "g", "h"), "g,h")
    assert not risk.met and risk.shown == 2
    assert {f["g"] for f in risk.faults.to_pylist()} == {"a"}


def test_zeros_tell() -> None:
    """Two withheld parts of 2: where zeros are shown, both are 1."""
    rows = [("a", "*"), ("b", "*"), ("c", 30), ("_T", 32)]
    assert not assess_tables(long(rows, "g"), "g").met
    assert assess_tables(long(rows, "g"), "g", zeros=False).faults.num_rows == 2  # 0 to 2: both are small
    assert not any(assess_tables(long(rows, "g"), "g", zeros=False).cells["known"].to_pylist())


def test_a_single_child_tells_its_parent() -> None:
    rows = [
        ("A", "a", 3), ("A", "_T", "*"), ("B", "b", "*"), ("B", "c", "*"), ("B", "_T", "*"), ("_T", "_T", 60),
    ]  # fmt: skip
    risk = assess_tables(long(rows, "area", "county"), "area>county")
    assert risk.shown == 1
    assert [f["area"] for f in risk.faults.to_pylist()] == ["A"]


def test_rounding_is_taken_into_account() -> None:
    rows = [("a", 0), ("b", 30), ("_T", 30)]
    risk = assess_tables(long(rows, "g"), "g", base=3)
    assert max(risk.cells["high"].to_pylist()) > 30 and risk.shown == 0


def test_bad_input_is_refused() -> None:
    with pytest.raises(DataError, match="do not add up"):
        assess_tables(long(changed(RECTANGLE, ("_T", "_T"), 134), "g", "h"), "g,h")
    with pytest.raises(DataError, match="negative"):
        assess_tables(long(changed(RECTANGLE, ("a", "z"), -1), "g", "h"), "g,h")
    with pytest.raises(DataError, match="have no total"):
        assess_tables(long([r for r in RECTANGLE if r[0] != "_T"], "g", "h"), "g,h")
    with pytest.raises(DataError, match="twice"):
        assess_tables(long([*RECTANGLE, RECTANGLE[0]], "g", "h"), "g,h")
    with pytest.raises(ParameterError, match="minimum"):
        assess_tables(long(RECTANGLE, "g", "h"), "g,h", minimum=1)
    with pytest.raises(ParameterError, match="unknown column"):
        assess_tables(long(RECTANGLE, "g", "h"), "g,nowhere")


def test_what_tabulate_gives_out_is_let_through() -> None:
    from tabulation.test_tabulate import stays

    release = sf.tabulate(stays(), "county,age", method=sf.CellSuppression(effort="fast"))
    assert assess_tables(release.data, "county,age").met
