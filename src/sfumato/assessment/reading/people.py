"""Original and control as one: what is learnt from both prefers neither."""

from __future__ import annotations

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
