"""People who are held back before the release is made: the control that its attacks are compared with.

They are drawn by a key of their own before anything of the plan is done, and no step ever sees them: neither
the preparation nor the method, nor levels that were read off all rows. So what an attack reaches on them it
reaches without their being in the release.

Guarantee: nobody who is held back is in the input of a step; all rows of a person are on one side.
Because:   the side of a person is a keyed hash of who they are (of a row without one: of its place), the same
           each time it is asked for; `kept` and `held` are the rows of either side.
Assumes:   whose rows they are is told by the person column, and by nothing else where there is none. What was
           read before is the schema and the plan: a proposal of `init` has looked at all rows. Levels it took
           from them are cut down to those of the rows that are kept. Kinds, roles and the widths of bands
           stay: they hang on the range of a column, on a person only if theirs is its smallest or largest.
Epsilon:   each person is drawn by themselves, with a chance that no data decides. Of two tables that differ
           in one person, the rows that are kept differ in that person at most, so that what a step promises
           holds for all. A *number* of people is a chance that hangs on how many there are: plans with an
           epsilon refuse it.
Tested by: tests/plan/test_holdback.py
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.counts import canonical_type, person_ids
from sfumato.errors import DataError, SfumatoWarning
from sfumato.io.spark import is_spark
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.sources import BatchSource, EngineSource
from sfumato.table import Table

Mask = NDArray[np.bool_]
_FEWEST = 2_000  # people from which on `init` holds some back: a tenth of fewer tells too little
_SHARE, _MOST = 0.1, 10_000  # beyond so many a control gets hardly sharper


@dataclass(frozen=True, eq=False)
class Split:
    """The rows a release is made of, and those that were held back; None if nobody was.

    steps: the kept rows as the steps see them, without levels that only those who were held back have.
    people: how many were held back, and how many there are, in `unit` (person or row).
    """

    kept: Table
    steps: Table
    held: Table | None = None
    people: tuple[int, int] = (0, 0)
    unit: str = "row"

    @property
    def sentence(self) -> str:
        """What was held back, in words; empty if nobody was."""
        if self.held is None:
            return ""
        held, all_ = self.people
        unit = {"person": "people", "row": "rows"}[self.unit]
        return (
            f"{held:,} of {all_:,} {unit} were held back before anything was made; the release is made of "
            "the others, and attacks on it are compared with those who were held back"
        )


def suggested(people: int) -> float | int | None:
    """What `init` writes: a tenth, at most 10,000 people; nobody of a small table.

    A share near the limits is known from n people within 2 sqrt(.09 .91 / n): .04 from 200, .006 from 10,000.
    """
    if people < _FEWEST:
        return None
    return _SHARE if people * _SHARE <= _MOST else _MOST


def split(table: Table, wanted: float | None, key: Key) -> Split:
    """Hold people back. wanted: a share below 1, or how many; None for nobody."""
    if wanted is None:
        return Split(table, table)
    if is_spark(table.source):
        warnings.warn(
            "nobody is held back on Spark: attacks are compared with a plain guess only. Keep some people "
            "apart in a file of their own, and name it as control in [assess] instead of hold_back.",
            SfumatoWarning,
            stacklevel=2,
        )
        return Split(table, table)
    person = next(iter(table.schema.of_role(Role.PERSON)), None)
    if person is None and isinstance(table.source, EngineSource):  # an engine may give rows in another order
        table = replace(table, source=Table.from_arrow(table.to_arrow()).source, schema=_plain(table.schema))
    people = _people(table, person)
    unit = "row" if person is None else "person"
    share = _share(wanted, people, unit)
    drawn = _Draw(None if person is None else table.schema[person], share, key)
    rows, rows_held, held = drawn.sizes(table)
    if not 0 < rows_held < rows:
        raise DataError(
            f"{'nobody' if not rows_held else 'everybody'} was drawn to be held back of {people:,} {unit}s.",
            hint="hold_back: a larger part, or take it away"
            if not rows_held
            else "hold_back: a smaller part",
        )
    kept = drawn.side(table, False, rows - rows_held)
    return Split(kept, _narrowed(kept), drawn.side(table, True, rows_held), (held, people), unit)


def _share(wanted: float, people: int, unit: str) -> float:
    if wanted < 1:
        return float(wanted)
    if wanted >= people:
        raise DataError(
            f"hold_back asks for {wanted:,.0f} of {people:,} {unit}s: nothing would be left to release.",
            hint="hold_back: fewer, or a share such as 0.1",
        )
    return float(wanted) / people


def _people(table: Table, person: str | None) -> int:
    """How many people there are; a row without a person counts as one."""
    if person is None:
        return table.rows()
    found: set[object] = set()
    unknown = 0
    for batch in table.batches([person]):
        column = person_ids(table.schema[person], batch.column(0))
        unknown += column.null_count
        found.update(pc.unique(column).drop_null().to_pylist())
    return len(found) + unknown


class _Draw:
    """Who is held back: asked again and again, the answer is the same."""

    def __init__(self, person: Column | None, share: float, key: Key) -> None:
        self._column, self._share = person, share
        self._person = None if person is None else person.name
        self._rows = key.derive("row")
        self._secret = key.derive("person").to_bytes()
        self._known: dict[object, bool] = {}

    def masks(
        self, batches: Iterator[pa.RecordBatch], at: int | None
    ) -> Iterator[tuple[pa.RecordBatch, Mask]]:
        """Each batch, and which of its rows are held back. at: where the person column stands."""
        first = 0
        for batch in batches:
            words = self._rows.words(0, first, batch.num_rows)
            mask: Mask = self._below(words)
            if at is not None:
                codes = self._ids(batch.column(at)).dictionary_encode()
                sides = np.array([self._of(v) for v in codes.dictionary.to_pylist()] + [False])
                known = codes.indices.is_valid().to_numpy(zero_copy_only=False)
                place = codes.indices.fill_null(0).to_numpy(zero_copy_only=False)
                mask = np.where(known, sides[place], mask)
            first += batch.num_rows
            yield batch, mask

    def _ids(self, ids: pa.Array) -> pa.Array:
        """Equal where it is the same person, however the id was typed."""
        assert self._column is not None
        return person_ids(self._column, ids)

    def _below(self, words: NDArray[np.uint64]) -> Mask:
        return np.asarray((words >> np.uint64(11)).astype(np.float64) * 2.0**-53 < self._share)

    def _of(self, value: object) -> bool:
        if value not in self._known:
            digest = blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=8, key=self._secret)
            word = np.frombuffer(digest.digest(), "<u8").astype(np.uint64)
            self._known[value] = bool(self._below(word)[0])
        return self._known[value]

    def sizes(self, table: Table) -> tuple[int, int, int]:
        """Rows, rows held back, and people held back."""
        name = self._person or table.columns[0]
        rows = held = alone = 0
        for batch, mask in self.masks(table.batches([name]), None if self._person is None else 0):
            rows += batch.num_rows
            held += int(mask.sum())
            if self._person is not None:
                alone += int(
                    (mask & self._ids(batch.column(0)).is_null().to_numpy(zero_copy_only=False)).sum()
                )
        people = held if self._person is None else alone + sum(self._known.values())
        return rows, held, people

    def side(self, table: Table, held: bool, rows: int) -> Table:
        """The rows of one side as a table, read through the other's each time."""
        open_ = self._reader(table, held)
        arrow = pa.schema([pa.field(c.name, canonical_type(c)) for c in table.schema])
        return replace(
            table, source=BatchSource(arrow, open_, rows=rows), schema=_plain(table.schema), _books={}
        )

    def _reader(self, table: Table, held: bool) -> Callable[[Sequence[str]], Iterator[pa.RecordBatch]]:
        def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
            wanted = list(names)
            extra = [self._person] if self._person is not None and self._person not in wanted else []
            at = None if self._person is None else [*wanted, *extra].index(self._person)
            for batch, mask in self.masks(table.batches([*wanted, *extra]), at):
                rows = batch.filter(pa.array(mask if held else ~mask))
                if rows.num_rows:
                    yield rows.select(wanted)

        return read


def _plain(schema: Schema) -> Schema:
    """Batches are canonical already: their missing cells are empty."""
    return Schema(tuple(replace(c, missing_codes=()) for c in schema))


def _narrowed(table: Table) -> Table:
    """Levels that nobody answers for were read off all rows: those that only others have are left out."""
    open_ = [c for c in table.schema if c.levels is not None and not c.public and c.kind is not Kind.CODES]
    if not open_:
        return table
    names = [c.name for c in open_]
    found: dict[str, set[object]] = {n: set() for n in names}
    for batch in table.batches(names):
        for name, column in zip(names, batch.columns, strict=True):
            found[name].update(pc.unique(column).drop_null().to_pylist())
    schema = table.schema
    for column in open_:
        seen = {str(v) for v in found[column.name]}
        levels = tuple(v for v in column.levels or () if v in found[column.name] or str(v) in seen)
        if levels and len(levels) < len(column.levels or ()):
            texts = {str(v) for v in levels}
            labels = {v: label for v, label in column.labels.items() if v in texts}
            schema = schema.with_(column.name, levels=levels, labels=labels)
    return table.with_schema(schema)
