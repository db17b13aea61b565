"""A fitted model of linked tables, and as many persons of it as are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from sfumato.counts import canonical_type
from sfumato.database import Database
from sfumato.io.spark import is_spark
from sfumato.privacy import Guarantee
from sfumato.release import DatabaseRelease, InternalRecord
from sfumato.schema import Role, Schema
from sfumato.schema.column import Column
from sfumato.schema.search_record import as_released
from sfumato.seeds import Key
from sfumato.sources import BatchSource
from sfumato.synthesis.checks import whole
from sfumato.synthesis.imputation.promises import key_of
from sfumato.synthesis.people.executors import ExecutorBatches
from sfumato.synthesis.people.generation import Generator, released_columns
from sfumato.table import Table

_AT_ONCE, _STEP = 200_000, 65_536  # persons drawn together: up to so many all of them, beyond in steps
_ABOUT = (
    "Synthetic persons with their linked records, drawn from counts of person-level data. Nobody was copied, "
    "but a drawn person may equal one of the data; what was learnt from persons is bounded by what is "
    "promised below, and by nothing else."
)


@dataclass(frozen=True, eq=False)
class LinkedModel:
    """What `LinkedSynthesizer.fit` gives back: persons without end, each with all their records.

    persons: how many the data have, as far as it may be known.

    >>> model = sf.LinkedSynthesizer().fit(sf.samples.hospital(60))
    >>> release = model.sample(25, seed=1)
    >>> release.data["patients"].rows()
    25
    >>> release.data.check().order
    ('patients', 'stays', 'diagnoses')
    """

    generator: Generator
    guarantee: Guarantee
    persons: int
    plan: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        tables = ", ".join(b.name for b in self.generator.structure.branches)
        return f"LinkedModel({tables}; about {self.persons:,} persons)"

    def sample(
        self, persons: int | None = None, *, key: Key | None = None, seed: int | None = None
    ) -> DatabaseRelease:
        """So many persons with all their records; as many as the data have if no number is given.

        Tables are drawn when they are read, the same for the same key; where the persons of the data live in
        Spark, by its executors. seed: for tests and teaching.
        """
        many = self.persons if persons is None else whole("persons", persons)
        own = key_of(key, seed)
        structure = self.generator.structure
        before = structure.database
        drawn = self._drawn(many, own.derive("linked synthesis"))
        apart = before.apart - structure.staff
        tables = {n: before[n] for n in apart}
        for branch in structure.branches:
            columns = [self._released(branch.name, c) for c in released_columns(structure, branch)]
            tables[branch.name] = drawn(branch.name, Schema(tuple(columns)))
        links = tuple(
            replace(link, reason="")
            for link in before.links
            if link.child in tables and link.column in tables[link.child].columns
        )
        keys = {n: key for n, key in before.keys.items() if n in tables}
        return DatabaseRelease(
            Database(
                {n: tables[n] for n in before.tables if n in tables}, links, keys, apart, form=before.form
            ),
            self.guarantee,
            InternalRecord(key=own, seed=seed, plan={**self.plan, "persons": many}),
            _ABOUT,
        )

    def _drawn(self, many: int, key: Key) -> Callable[[str, Schema], Table]:
        """How a table is drawn, by its name: here, or where the data live."""
        root = self.generator.structure.database[self.generator.structure.root.name]
        step = many if many <= _AT_ONCE else _STEP
        if is_spark(root.source):
            return ExecutorBatches.of(self.generator, many, step, key, root.source).table
        return _Batches(self.generator, many, step, key).table

    def _released(self, table: str, column: Column) -> Column:
        keys = self.generator.structure.database.key_columns[table]
        if column.name in keys:
            role = Role.PERSON if column.role is Role.PERSON else Role.OTHER
            words = f"{column.description} (synthetic)".strip()
            return Column(column.name, column.kind, role, column.type, description=words)
        if column.confidence and any(claim.differential for claim in self.guarantee):
            column = replace(column, role=Role.OTHER, confidence="")  # what was guessed, the rows have told
        return as_released(replace(column, missing_codes=(), reason=""))


class _Batches:
    """Persons in batches, each with all their rows; a single batch is kept once it is drawn."""

    def __init__(self, generator: Generator, persons: int, step: int, key: Key) -> None:
        self._generator, self._persons, self._step, self._key = generator, persons, step, key
        self._kept: dict[str, pa.Table] | None = None

    def table(self, name: str, schema: Schema) -> Table:
        """A table whose rows are drawn anew each time it is read."""

        def open_(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
            for rows in self._drawn(name):
                yield from rows.select(list(columns)).to_batches()

        arrow = pa.schema([pa.field(c.name, canonical_type(c)) for c in schema])
        return Table(BatchSource(arrow, open_), schema)

    def _drawn(self, name: str) -> Iterator[pa.Table]:
        """Of many batches the table itself with those above it alone: others are drawn when they are read."""
        if self._persons <= self._step:
            if self._kept is None:
                self._kept = self._batch(0, dict.fromkeys(self._names(), 0))
            yield self._kept[name]
            return
        first = dict.fromkeys(self._generator.with_above(name), 0)
        for number in range(-(-self._persons // self._step)):
            tables = self._batch(number, first, name)
            yield tables[name]
            first = {n: first[n] + tables[n].num_rows for n in first}

    def _batch(self, number: int, first: Mapping[str, int], name: str | None = None) -> dict[str, pa.Table]:
        many = min(self._step, self._persons - number * self._step)
        return self._generator.tables(many, self._key.derive("batch", number), first, name)

    def _names(self) -> list[str]:
        return [b.name for b in self._generator.structure.branches]
