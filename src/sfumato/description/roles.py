"""Guesses at roles after a look at all rows: the head of a file may not tell how often values repeat.

Scanning guesses from the head and says so. What depends on repetition (does each row have a number of its
own, or each person?) and what had no filled cell there is settled here, from the counts of all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.counts import Counts
from sfumato.description.one_way import open_table
from sfumato.inference import reviewed
from sfumato.inference.facts import SAMPLED, Facts
from sfumato.inference.roles import NOTHING_FILLED, readings_of, role_of
from sfumato.inference.structure import one_person
from sfumato.io.spark import is_spark
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.sources import BatchSource
from sfumato.table import Table

_NAMES_PEOPLE = (Role.IDENTIFIER, Role.PERSON)
_CELLS = 20_000_000  # looked at together: bounds memory to about a gigabyte
_MOST_ROWS = 50_000_000  # beyond, what the head says of identifiers stands: they stay out either way


def roles_of(table: Table) -> Schema:
    """The schema of a table that was guessed from its head, settled by all rows where these may tell more.

    What a person declared is left as it is. Costs a pass over the columns in question, often none.
    """
    wanted = [c for c in table.schema if _unsettled(c)]
    if not wanted or is_spark(table.source) or table.rows() > _MOST_ROWS:
        return table.schema  # ids of a Spark table are not fetched one by one
    open_ = open_table(table, [c.name for c in wanted])
    return _settled(table.schema, {facts.name: facts for facts in _all_rows(open_, wanted)})


def settled(schema: Schema, counted: Mapping[str, Counts], rows: int) -> Schema:
    """The same from counts that are there already: every guess gets the numbers of all rows."""
    found = {
        name: facts_of(schema[name], counts, rows)
        for name, counts in counted.items()
        if schema[name].confidence and (SAMPLED in schema[name].reason or _unsettled(schema[name]))
    }
    return _settled(schema, found) if found else schema


def _unsettled(column: Column) -> bool:
    if not column.confidence or column.kind in (Kind.TEXT, Kind.CODES):
        return False
    return NOTHING_FILLED in column.reason or (column.role in _NAMES_PEOPLE and SAMPLED in column.reason)


def _settled(schema: Schema, found: Mapping[str, Facts]) -> Schema:
    readings = readings_of(found.values(), schema.names)
    clues = {name: role_of(facts, readings[name]) for name, facts in found.items()}
    clues |= one_person(found, readings, clues)
    columns = [
        reviewed(c, found[c.name], clues[c.name]) if c.name in found and _agrees(c, clues[c.name].role) else c
        for c in schema
    ]
    return Schema(tuple(columns))


def _agrees(column: Column, role: Role) -> bool:
    """All rows may say more than the head, but they take nobody's number for harmless, and undo no clue
    that came from other columns."""
    if column.role in _NAMES_PEOPLE:
        return role in _NAMES_PEOPLE
    return role is column.role or column.role is Role.OTHER or NOTHING_FILLED in column.reason


def _all_rows(table: Table, columns: Sequence[Column]) -> Iterator[Facts]:
    """The different values of some columns in all rows, and how often each occurs."""
    rows = table.rows()
    if not isinstance(table.source, BatchSource):
        for name, counts in table.one_way([c.name for c in columns]).items():
            yield facts_of(table.schema[name], counts, rows)
        return
    together = max(1, _CELLS // max(rows, 1))
    for i in range(0, len(columns), together):
        part = columns[i : i + together]
        batches = list(table.batches([c.name for c in part]))
        for k, column in enumerate(part):
            whole = pa.chunked_array([b.column(k) for b in batches]).drop_null()
            values, n = _counted(whole)
            yield Facts(column.name, column.kind, column.type, values, n, rows)


def _counted(values: pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int64]]:
    if pa.types.is_integer(values.type):  # sorting numbers that hardly repeat is quicker than hashing them
        found, n = np.unique(values.to_numpy(), return_counts=True)
        return pa.array(found), n
    found, n = pc.value_counts(values).flatten()
    return found, n.to_numpy()


def facts_of(column: Column, counts: Counts, rows: int) -> Facts:
    """What the counts of all rows say of a column."""
    levels = counts.codebooks[0].levels
    n = np.zeros(len(levels), np.int64)
    inside = counts.codes[:, 0] < len(levels)
    n[counts.codes[inside, 0]] = counts.n[inside]
    return Facts(column.name, column.kind, column.type, levels, n, rows)
