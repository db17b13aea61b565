"""Set people aside who play no part in a release: the control an attack is held against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.schema import Role
from sfumato.seeds import Key
from sfumato.sources import BatchSource
from sfumato.table import Table

_FEWEST = 20  # people below which a control says nothing


def split(table: Table, share: float, key: Key) -> tuple[Table, Table]:
    """The table without a random share of its people, and those. All rows of a person are on one side."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
        raise ParameterError("holdout lies between 0 and 1.", hint="holdout=0.2, or 0 for none")
    persons = table.schema.of_role(Role.PERSON)
    draw = key.generator("holdout")
    if persons:
        coded = table.encode(persons[:1])
        aside = (draw.random(coded.books[0].size) < share)[coded.codes[0]]
    else:
        aside = draw.random(table.rows()) < share
    if min(int(aside.sum()), int((~aside).sum())) < _FEWEST:
        raise DataError(
            f"{len(aside):,} rows are too few to set people aside as a control.",
            hint="give a control, or holdout=0 for none",
        )
    return _rows(table, ~aside), _rows(table, aside)


def _rows(table: Table, kept: NDArray[np.bool_]) -> Table:
    """The chosen rows, picked batch by batch as they are read."""
    source = table.source
    if not isinstance(source, BatchSource):  # an engine promises no order of rows: take them once
        return Table.from_arrow(table.to_arrow().filter(pa.array(kept)), table.schema)

    def open_(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        at = 0
        for batch in source.batches(columns):
            yield batch.filter(pa.array(kept[at : at + batch.num_rows]))
            at += batch.num_rows

    part = replace(source, open=open_, rows=int(kept.sum()), origin=None)
    return table.with_source(part)
