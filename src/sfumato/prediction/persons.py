"""Whether a table keeps to the number of rows per person that a promise rests on."""

from __future__ import annotations

import pyarrow.compute as pc

from sfumato.counts import person_ids
from sfumato.errors import DataError
from sfumato.schema import Role
from sfumato.table import Table


def require_rows_per_person(table: Table, most: int) -> None:
    """Refuse a table in which persons have more rows than was said; without a person column nothing is known.

    Asked before anything is spent. The refusal itself is not covered by the promise: it is for who holds the
    data.
    """
    for column in table.schema:
        if column.role is not Role.PERSON:
            continue
        persons = person_ids(column, table.select([column.name]).to_arrow()[column.name].combine_chunks())
        rows = pc.value_counts(persons.drop_null()).field("counts")
        over = int(pc.sum(pc.greater(rows, most)).as_py() or 0)
        if over:
            raise DataError(
                f"{over} persons of '{column.name}' have more rows than max_rows_per_person, {most}.",
                hint="say how many rows a person has at most: max_rows_per_person=...",
            )
