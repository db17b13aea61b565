"""By whom the codes of a release are read: by original and control as one, or by every other original.

What is learnt from both prefers neither. Where there is no control, half of the originals stay apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.assessment.reading.files import opened
from sfumato.table import Table

_MOST_ROWS = 200_000  # of both: a reading of more overfits nobody


def everyone(original: Table, control: object) -> Table:
    """The people of both files, by whom the codes of a release are read.

    Codes are read by what stands beside them. Read by the original alone, rows of other people come nearer to
    it than to the control, the more so the more codes there are: that would look like copying. A control
    that lacks columns, or holds something else in them, is left out here and refused elsewhere.
    """
    if control is None:
        return original
    other = opened(control, "the control", keep_text=True)
    names = list(original.columns)
    if not set(names) <= set(other.columns) or original.rows() + other.rows() > _MOST_ROWS:
        return original
    first, second = original.to_arrow(), other.select(names).to_arrow()
    try:
        both = pa.concat_tables([first, second.cast(first.schema)])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
        return original
    return Table.from_arrow(both, original.schema)


def every_other(original: Table) -> Table:
    """The originals by whom no code was read: the second one, the fourth, and so on."""
    rows = original.to_arrow()
    return Table.from_arrow(rows.take(pa.array(np.arange(1, rows.num_rows, 2))), original.schema)


def in_whole(people: tuple[Mapping[str, Any], ...]) -> tuple[Mapping[str, Any], ...]:
    """People named among those, by their rows in the original."""
    name = "row of the original"
    return tuple({**p, name: 2 * p[name] + 1} for p in people)


def all_alike(table: Table, columns: Iterable[str]) -> bool:
    """Whether every row has the same values in these columns."""
    return all(
        len(table.codebooks([name])[name].levels) <= 1 and len(table.counts(name).n) <= 1 for name in columns
    )
