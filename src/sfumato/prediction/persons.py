"""At most L rows of each person: what a promise to persons rests on.

Guarantee: of `rows_that_count` with L > 1, that a person who is added or removed adds or removes at most L
           rows, and changes nothing else: who stays is drawn within each person alone (counts/persons.py).
Assumes:   with L = 1 the promise is about rows. A table that shows persons with several rows is refused, as
           a row more of such a person would push another out: it would be no row added, but one replaced.
           Refusals come before anything is spent. They are not covered by the promise: they are for who
           holds the data.
Tested by: tests/prediction/test_persons.py
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts import person_ids
from sfumato.counts.persons import some_of_each
from sfumato.errors import DataError, ParameterError
from sfumato.schema import Role
from sfumato.table import Table


def rows_that_count(table: Table, most: int) -> Table:
    """The rows that a promise with this L is about; without a column of persons, all of them."""
    persons = table.schema.of_role(Role.PERSON)
    if not persons:
        return table
    if len(persons) > 1:
        raise ParameterError("more than one column says whose row it is.", hint="give one the role person")
    (person,) = persons
    rows = (table if most > 1 else table.select([person])).to_arrow()
    ids = person_ids(table.schema[person], rows[person].combine_chunks())
    if most > 1:
        return Table.from_arrow(rows.filter(pa.array(some_of_each(ids, person, most))), table.schema)
    _require_one_row(ids, person)
    return table


def _require_one_row(ids: pa.Array, person: str) -> None:
    rows = pc.value_counts(ids.drop_null()).field("counts")
    over = int(pc.sum(pc.greater(rows, 1)).as_py() or 0)
    if over:
        raise DataError(
            f"{over} persons of '{person}' have more than one row, and the promise would be about rows.",
            hint="max_rows_per_person=3 promises to persons, and takes at most three rows of each, at random",
        )
