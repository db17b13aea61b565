"""How the values of a column relate to each other: names, numbers, days, flags, codes, free text."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.inference import known_values, names, shapes
from sfumato.inference.facts import SAMPLED
from sfumato.schema import Kind
from sfumato.sources import is_text


@dataclass(frozen=True, eq=False)
class HeadCells:
    """The filled cells of a column of the head: dictionaries decoded, '?' left out."""

    name: str
    values: pa.Array
    distinct: int
    rows: int
    type: str
    question_marks: int
    whole: bool = True

    @property
    def of_sample(self) -> str:
        """What a number from the head of the data is followed by."""
        return "" if self.whole else f" {SAMPLED}"

    @property
    def filled(self) -> int:
        """How many there are."""
        return len(self.values)

    @property
    def share_distinct(self) -> float:
        """Different values per filled cell."""
        return self.distinct / self.filled if self.filled else 0.0


def filled_cells(column: pa.ChunkedArray) -> tuple[pa.Array, int]:
    """The cells with a value, as one array, and how many were '?'."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if is_text(array.type) or pa.types.is_time(array.type):
        array = pc.utf8_trim_whitespace(array.cast(pa.string()))
        array = array.filter(pc.fill_null(pc.not_equal(array, ""), False))
    values = array.drop_null()
    if pa.types.is_uint64(values.type) and len(values) and pc.max(values).as_py() >= 2**63:
        values = values.cast(pa.string())  # a hash: no whole number of 64 bits with a sign, so it is a name
    if pa.types.is_decimal(values.type) and not shapes.fits_decimal(values):
        values = values.cast(pa.float64() if values.type.scale > 0 else pa.string())  # digits without end
    if pa.types.is_floating(values.type):
        values = values.filter(pc.invert(pc.is_nan(values)))
    marks = 0
    if is_text(values.type):
        is_mark = pc.equal(values, "?")
        marks = pc.sum(is_mark).as_py() or 0
        values = values.filter(pc.invert(is_mark)) if marks else values
    return values, marks


def kind_of(cells: HeadCells, levels: pa.Array, stored: pa.DataType) -> tuple[Kind, str, str]:
    """The kind, why, and the separator if there are several codes in a cell."""
    if pa.types.is_dictionary(stored):
        if stored.ordered:
            return Kind.ORDINAL, "an ordered categorical", ""
        if cells.type not in ("date", "datetime", "instant"):  # numbers too: their author says categories
            flag = 0 < cells.distinct <= 2
            return (Kind.FLAG if flag else Kind.NOMINAL), "a categorical", ""
    if pa.types.is_nested(stored):
        return Kind.CODES, "a list in every cell", ";"
    if cells.type in ("date", "datetime", "instant"):
        return Kind.DATE, "days" if cells.type == "date" else "days with a time", ""
    if shapes.is_compact_day(levels):
        return (
            Kind.NOMINAL,
            "days as eight digits: convert them to dates to count by month or year",
            "",
        )
    if not cells.filled:
        return Kind.NOMINAL, "no filled cell in the head of the data", ""
    if cells.type == "text":
        separator = "" if _postcodes(levels) else shapes.code_separator(cells.values)
        if separator:
            return Kind.CODES, f"several codes in a cell, divided by {separator!r}", separator
        if shapes.is_prose(cells.values, cells.share_distinct):
            return Kind.TEXT, "long cells of many words, nearly all different", ""
    if shapes.is_flag(cells.values, cells.distinct):
        count = "one value" if cells.distinct == 1 else "two values"
        return Kind.FLAG, f"{count} in {cells.filled:,} filled cells{cells.of_sample}", ""
    if cells.type == "text":
        return (
            Kind.NOMINAL,
            shapes.describe_text(levels, f"{cells.distinct:,} different{_values(cells)}"),
            "",
        )
    coded = names.codes_for(cells.name)
    if coded and cells.type == "integer":
        return Kind.NOMINAL, f"numbers that stand for something, as '{coded}' says", ""
    return Kind.NUMERIC, "numbers" if cells.type != "integer" else "whole numbers", ""


def _values(cells: HeadCells) -> str:
    return "" if cells.whole else f" values{cells.of_sample}"


def _postcodes(levels: pa.Array) -> bool:
    """'LS1 4AP' is one code, not two."""
    return bool(known_values.postcodes([v.strip() for v in levels.slice(0, 200).to_pylist()]))
