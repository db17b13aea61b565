"""Plain baselines for the map: they promise nothing, and mark its corners.

Everything kept, a part kept, and all associations lost.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.assessment.frontier.grid import Candidate, Made
from sfumato.schema import Role
from sfumato.seeds import Key
from sfumato.table import Table

_NAMES_PEOPLE = (Role.IDENTIFIER, Role.PERSON)


def pseudonyms_only(table: Table, key: Key) -> Made:
    """Names out, everything else as it is."""
    from sfumato.pseudonyms import pseudonymize

    if not table.schema.of_role(Role.PERSON):
        return _nameless(table)
    return pseudonymize(table, key=key)


def sample_of_rows(table: Table, key: Key, *, share: float) -> Made:
    """A random part of the rows, unchanged."""
    rows = _nameless(table).to_arrow()
    keep = key.generator("rows").random(rows.num_rows) < share
    if not keep.any():
        keep[:1] = True  # an empty release cannot be judged
    return _like(table, rows.filter(pa.array(keep)))


def swapped_cells(table: Table, key: Key, *, share: float) -> Made:
    """In each column a random part of the cells change places: one-way tables stay, associations fade."""
    rows = _nameless(table).to_arrow()
    columns = []
    for name in rows.column_names:
        draw = key.generator("cells", name)
        moved = np.flatnonzero(draw.random(rows.num_rows) < share)
        order = np.arange(rows.num_rows)
        order[moved] = draw.permutation(moved)
        columns.append(rows[name].take(pa.array(order)))
    return _like(table, pa.table(columns, schema=rows.schema))


def independent_columns(table: Table, key: Key) -> Made:
    """Every column drawn anew from its own values, independently of the others."""
    rows = _nameless(table).to_arrow()
    n = rows.num_rows
    columns = [
        rows[name].take(pa.array(key.generator("column", name).integers(0, n, n)))
        for name in rows.column_names
    ]
    return _like(table, pa.table(columns, schema=rows.schema))


def _nameless(table: Table) -> Table:
    names = [c.name for c in table.schema if c.role in _NAMES_PEOPLE]
    return table.drop(names) if names else table


def _like(table: Table, rows: pa.Table) -> Table:
    return Table.from_arrow(rows, table.schema.select(rows.column_names))


BASELINES = (
    Candidate("pseudonyms only", pseudonyms_only),
    *(Candidate("sample of rows", sample_of_rows, {"share": s}) for s in (0.05, 0.2, 0.5)),
    *(Candidate("swapped cells", swapped_cells, {"share": s}) for s in (0.1, 0.3, 0.6)),
    Candidate("independent columns", independent_columns),
)
