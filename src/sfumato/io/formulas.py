"""Text that a spreadsheet would run: marked with an apostrophe when written, and unmarked when read back.

A cell of a CSV file that begins with =, +, -, @, a tab or a return is a formula to a spreadsheet, unless
it is a plain signed number. Such text gets one apostrophe before it. Text that begins with apostrophes and
then with one of these signs gets one more, so that `unmarked(marked(text)) == text` for every text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.sources import BatchSource, Source, is_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MARK = "apostrophe"
"""How a release's manifest names this way of writing text."""

_FORMULA = r"^'*[=+\-@\t\r]"
_MARKED = r"^'('*[=+\-@\t\r])"
_NUMBER = r"^[+\-]?[0-9]+([.,][0-9]+)?([eE][+\-]?[0-9]+)?$"


def marked(text: pa.Array) -> pa.Array:
    """Arrow text as a spreadsheet leaves it alone."""
    risky = pc.and_(
        pc.match_substring_regex(text, _FORMULA), pc.invert(pc.match_substring_regex(text, _NUMBER))
    )
    return pc.if_else(risky, pc.binary_join_element_wise("'", text, "", null_handling="emit_null"), text)


def unmarked(text: pa.Array) -> pa.Array:
    """Arrow text as it was before `marked`."""
    return pc.replace_substring_regex(text, _MARKED, r"\1", max_replacements=1)


def unmarked_source(source: Source) -> Source:
    """A source of marked text that gives the text as it was."""
    if not isinstance(source, BatchSource):
        return source

    def open_(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in source.batches(columns):
            arrays = [unmarked(a) if is_text(a.type) else a for a in batch.columns]
            yield pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)

    return replace(source, open=open_, pieces=None)
