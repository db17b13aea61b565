"""One column of several files as text that is equal where the values are, however a file stores them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

_NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"


def is_number(kind: pa.DataType) -> bool:
    """Whether cells of this type are numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def same_text(parts: Sequence[pa.Array | pa.ChunkedArray]) -> list[pa.Array | pa.ChunkedArray]:
    """Arrays of one column as text.

    A single '*' makes a file of numbers one of text: where another file holds numbers, '500.0' is 500; where
    it holds truth values, 'True' is true. Between files of text nothing is read into it: '007' is not '7'.
    """
    numbers = any(is_number(p.type) for p in parts)
    flags = any(pa.types.is_boolean(p.type) for p in parts)
    return [as_text(p, numbers, flags) for p in parts]


def as_text(part: pa.Array | pa.ChunkedArray, numbers: bool, flags: bool) -> pa.Array | pa.ChunkedArray:
    """One of them. numbers, flags: whether another one holds numbers, or truth values."""
    if is_number(part.type):
        return pc.cast(pc.cast(part, pa.float64(), safe=False), pa.string())
    text = pc.cast(part, pa.string())
    if numbers:
        fits = pc.fill_null(pc.match_substring_regex(text, _NUMBER), False)
        read = pc.cast(pc.utf8_trim_whitespace(pc.if_else(fits, text, None)), pa.float64())
        text = pc.if_else(fits, pc.cast(read, pa.string()), text)
    return pc.utf8_lower(text) if flags else text
