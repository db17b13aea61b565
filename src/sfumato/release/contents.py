"""One reading of a release's data for all that is asked of it: its domains, and what its claims are about.

A file of ten million rows is decoded once. While it passes, every cell is held against the schema, and the
columns that claims name are remembered as numbers, a byte or two a row; the recounts read those. A column of
very many values, such as one that names persons, is not remembered, and read again from the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from sfumato.counts import DomainWatch, Survey, canonical, canonical_type
from sfumato.privacy import Claim
from sfumato.progress import track
from sfumato.release.dictionary import LevelsSeen
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.sources import BatchSource
from sfumato.table import Table

_MOST_BYTES = 2**29


@dataclass(frozen=True)
class ReadOnce:
    """What one reading of the data shows.

    outside: for each column, what its cells hold that the schema does not allow.
    beyond: columns of whose domain the schema tells more than the rows show, though nobody answers for it:
        levels, labels or bounds that can only be the original's.
    table: to count claims in.
    """

    outside: dict[str, str]
    beyond: tuple[str, ...]
    table: Table


def read_once(table: Table, claims: Iterable[Claim]) -> ReadOnce:
    """Read the data, and hold every cell against the schema and every domain against the cells."""
    source = table.source
    names = _claimed(table.schema, claims)
    # As they stand: no bins and no missing codes that a schema could give them.
    plain = [Column(c.name, Kind.NOMINAL, type=c.type) for c in table.schema.select(names)]
    survey = Survey(plain, _MOST_BYTES)
    watch, seen = DomainWatch(table.schema), LevelsSeen(table.schema)
    fields = pa.schema([pa.field(c.name, canonical_type(c)) for c in table.schema])
    total = source.rows if isinstance(source, BatchSource) else None
    for batch in track(source.batches(table.columns), "reading", total):
        arrays = [canonical(c, batch.column(i)) for i, c in enumerate(table.schema)]
        read = pa.RecordBatch.from_arrays(arrays, schema=fields)
        watch.look(read)
        seen.look(read)
        if names:
            survey.add(pa.RecordBatch.from_arrays([batch.column(n) for n in names], names=names))
    kept = {n: survey.column(n) for n in names if survey.remembers(n)}
    beyond = tuple(c.name for c in seen.public() if c != table.schema[c.name])
    counted = table if not kept else table.with_source(_remembering(table, kept))
    return ReadOnce(watch.faults(), beyond, counted)


def _claimed(schema: Schema, claims: Iterable[Claim]) -> list[str]:
    """The columns that claims are about; persons where a claim counts them."""
    names: dict[str, None] = {}
    for claim in claims:
        names |= dict.fromkeys([*getattr(claim, "columns", ()), *getattr(claim, "sensitive", ())])
        if claim.unit.of == "person":
            names |= dict.fromkeys(schema.of_role(Role.PERSON))
    return [n for n in schema.names if n in names]


def _remembering(table: Table, kept: dict[str, pa.ChunkedArray]) -> BatchSource:
    """The same rows; those columns from memory, whatever is beyond them from the file."""
    memory = pa.table(kept)
    file = table.source

    def open_(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if columns and set(columns) <= set(kept):
            return iter(memory.select(list(columns)).to_batches(max_chunksize=1_048_576))
        return file.batches(columns)

    if isinstance(file, BatchSource):
        return replace(file, open=open_, pieces=None)
    return BatchSource(file.arrow_schema, open_, "file", memory.num_rows)
