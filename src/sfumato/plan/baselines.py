"""The end posts of the map: they promise nothing, and say where its corners are.

Everything kept but names, and all associations lost.
"""

from __future__ import annotations

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
    Candidate("independent columns", independent_columns),
)
