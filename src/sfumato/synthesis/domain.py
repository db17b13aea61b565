"""What a synthesizer needs of a schema: columns with their codes, what cannot be, and the way back to values.

domain = Domain.of(table.schema, constraints=[...])          # public domains only; all faults at once
rows, dropped = domain.prepared(table)                       # without rows that break a constraint
domain.decode(codes, key, first_row=0)                       # an Arrow batch; numbers drawn within bins
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import Codebook, canonical_type
from sfumato.errors import ParameterError, SchemaError, listed
from sfumato.privacy.base import ROW, Neighbours, Unit
from sfumato.privacy.differential import DifferentialPrivacy
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.schema.domains import ADVICE, search_cost, without_public_domain
from sfumato.schema.search_record import as_released
from sfumato.seeds import Key
from sfumato.sources import BatchSource
from sfumato.synthesis.bin_values import draw_within
from sfumato.synthesis.constraints import Constraint, Ordered, Within, Zero, compile_zeros
from sfumato.synthesis.differences import OrderedDifference, differences
from sfumato.table import Table

WEIGHT_UNITS = 1024  # a weight is counted in this many parts of the largest one allowed
_LEFT_OUT = (Role.IDENTIFIER, Role.PERSON, Role.WEIGHT)


class Dropped:
    """How many rows broke a constraint, once the data were read. Confidential: it is a count of them."""

    rows = 0


@dataclass(frozen=True, eq=False)
class Domain:
    """The columns that are synthesized, in order, with their codes and the combinations that cannot be.

    public: every domain is public, declared or paid for: see sfumato.schema.domains.
    columns: as the schema has them, the weight too: where their domains come from.
    weight: the column of survey weights, if rows count by weight; its last edge is the largest weight.
    differences: columns that are synthesized as what they lie after another; their books are of that.
    """

    books: tuple[Codebook, ...]
    constraints: tuple[Constraint, ...] = ()
    public: bool = True
    weight: Column | None = None
    columns: tuple[Column, ...] = ()
    differences: tuple[OrderedDifference, ...] = ()

    @classmethod
    def of(
        cls,
        schema: Schema,
        columns: Sequence[str] | None = None,
        constraints: Iterable[Constraint] = (),
        *,
        weight: str | None = None,
        ranges: bool = False,
    ) -> Domain:
        """From public domains; everything wrong with them is said at once.

        columns: by default all but identifiers, persons and weights. ranges: of numbers and days one bin is
        enough, because the caller looks closer than that.
        """
        wanted = chosen(schema, columns)
        faults = [*unusable(wanted, schema), *_weight_faults(schema, weight)]
        private = without_public_domain(c for c in wanted if c.kind not in _NOT_CODED)
        if private:
            faults.append(private)
        faults += narrow([(c.name, c.size) for c in wanted if c.public and not (ranges and c.edges)])
        _refuse(faults, ADVICE if private else "")
        books = tuple(Codebook.declared(c) for c in wanted)
        heavy = schema[weight] if weight else None
        return cls(books, tuple(constraints), True, heavy, (*wanted, *([heavy] if heavy else ())))

    @classmethod
    def of_data(
        cls,
        table: Table,
        columns: Sequence[str] | None = None,
        constraints: Iterable[Constraint] = (),
        *,
        weight: str | None = None,
    ) -> Domain:
        """As `of`, with domains that may come from the data. Then nothing differentially private follows."""
        wanted = chosen(table.schema, columns)
        faults = [*unusable(wanted, table.schema), *_weight_faults(table.schema, weight)]
        bare = [
            repr(c.name)
            for c in wanted
            if c.kind in (Kind.NUMERIC, Kind.DATE) and c.edges is None and c.type != "integer"
        ]
        if bare:
            faults.append(f"numbers or days without bins: {listed(bare)} (declare edges)")
        _refuse(faults)
        books = tuple(table.codebooks([c.name for c in wanted]).values())
        _refuse(narrow([(b.name, b.size) for b in books]))
        public = all(c.public for c in wanted)
        heavy = table.schema[weight] if weight else None
        return cls(books, tuple(constraints), public, heavy, (*wanted, *([heavy] if heavy else ())))

    def with_differences(self) -> Domain:
        """The same with ordered numbers and days as a first one and a difference."""
        found, left = differences(self.books, self.constraints)
        swapped = {d.second.name: d.book for d in found}
        swapped |= {d.first.name: d.base for d in found if d.base is not None}
        books = tuple(swapped.get(b.name, b) for b in self.books)
        return replace(self, books=books, constraints=left, differences=found)

    @cached_property
    def released(self) -> tuple[Codebook, ...]:
        """The columns of the rows that come out."""
        back = {d.book.name: d.second for d in self.differences}
        back |= {d.base.name: d.first for d in self.differences if d.base is not None}
        return tuple(back.get(b.name, b) for b in self.books)

    @property
    def declared(self) -> Domain:
        """The domain of the columns that come out; another one where tied columns are one."""
        return self

    def join(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Codes of declared columns, (columns, rows), as codes of these."""
        return codes

    def split(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Codes of these columns as codes of the declared ones."""
        return codes

    @property
    def renamed(self) -> dict[str, str]:
        """For each declared column, the one it is part of here."""
        return {n: n for n in self.names}

    def __post_init__(self) -> None:
        _ = self.zeros  # faults of the constraints are said here

    @cached_property
    def zeros(self) -> tuple[Zero, ...]:
        """The constraints as structural zeros."""
        return compile_zeros(self.constraints, self.books)

    @property
    def details(self) -> dict[str, Within]:
        """The detailed columns, drawn last within their group."""
        return {c.column: c for c in self.constraints if isinstance(c, Within)}

    def search_cost(
        self, neighbours: Neighbours = Neighbours.ADD_REMOVE, unit: Unit = ROW
    ) -> tuple[DifferentialPrivacy, ...]:
        """What finding the domains cost, for a claim to this unit; refused where there is no such claim."""
        return search_cost(self.columns, unit, neighbours)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(b.name for b in self.books)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many codes each column has, the one for missing included."""
        return tuple(b.size for b in self.books)

    @property
    def fewest(self) -> dict[str, int]:
        """The fewest codes a column has at any time: all of them, or those of its smallest group."""
        out = dict(zip(self.names, self.sizes, strict=True))
        for name, rule in self.details.items():
            group, detail = self.books[self.place(rule.group)], self.books[self.place(name)]
            out[name] = int(rule.possible(group, detail).sum(axis=1).min())
        return out

    @property
    def schema(self) -> Schema:
        """The schema of synthetic rows: what was in the source as a missing code is empty here.

        A role that was guessed, and how sure that was, the rows have told: where the domains are public
        neither leaves, unless a person has looked.
        """
        released = []
        for column in (b.column for b in self.released):
            if self.public and column.confidence:
                role = column.role if column.confirmed else Role.OTHER
                column = replace(column, role=role, confidence="")
            released.append(as_released(replace(column, missing_codes=(), reason="")))
        return Schema(tuple(released))

    def place(self, name: str) -> int:
        """Which column this is."""
        return self.names.index(name)

    # -- rows in ---------------------------------------------------------------------------------

    def violations(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows break a constraint.  codes: (columns, rows)."""
        broken = np.zeros(codes.shape[1], bool)
        for zero in self.zeros:
            broken |= zero.broken(codes)
        return broken

    def possible(self, place: int, codes: NDArray[Any]) -> NDArray[np.bool_] | None:
        """Which codes of one column the rest of each row leaves: (rows, C); None where all are for every row.

        codes: (columns, rows). Where a row keeps the constraints, its own code is among them.
        """
        out = None
        for zero in self.zeros:
            if place not in zero.columns:
                continue
            own = zero.columns.index(place)
            hit = np.ones(codes.shape[1], bool)
            for column, mask in zip(zero.columns, zero.masks, strict=True):
                if column != place:
                    hit &= mask[codes[column]]
            if hit.any():
                out = np.ones((codes.shape[1], self.sizes[place]), bool) if out is None else out
                out[hit] &= ~zero.masks[own]
        return out

    def prepared(self, table: Table) -> tuple[Table, Dropped]:
        """The table without rows that break a constraint, and with weights in whole units.

        Each row is kept or dropped, and its weight clamped and rounded, by itself: two tables that differ
        in one row still do.
        """
        dropped = Dropped()
        if not self.zeros and self.weight is None and not self.differences:
            return table, dropped
        made = {b.name: d for d in self.differences for b in (d.book, d.base) if b is not None}
        involved = sorted({c for z in self.zeros for c in z.columns})
        asked = [self.books[i] for i in involved]

        def open_(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
            dropped.rows = 0
            every = dict.fromkeys([*names, *(b.name for b in asked)])
            sources = [(n,) if n not in made else (made[n].first.name, made[n].second.name) for n in every]
            needed = list(dict.fromkeys(n for some in sources for n in some))
            for batch in table.batches(needed):
                for one in {made[n] for n in every if n in made}:
                    found = one.of_rows(batch.column(one.first.name), batch.column(one.second.name))
                    for name, array in found.items():
                        batch = batch.append_column(name, array)
                codes = np.zeros((len(self.books), batch.num_rows), np.uint32)
                for place, book in zip(involved, asked, strict=True):
                    codes[place] = book.encode(batch.column(book.name))
                broken = self.violations(codes)
                dropped.rows += int(broken.sum())
                kept = batch.select(list(names)).filter(pa.array(~broken))
                yield self._in_units(kept)

        # Units are no values of the weight column: none of them means that it is missing.
        own = None if self.weight is None else self.weight.name
        columns = [replace(c, missing_codes=()) if c.name == own else c for c in table.schema]
        schema = Schema((*columns, *(b.column for b in self.books if b.name in made)))
        arrow = pa.schema([pa.field(c.name, canonical_type(c)) for c in schema])
        return replace(table, source=BatchSource(arrow, open_), schema=schema, _books={}), dropped

    def _in_units(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.weight is None or self.weight.name not in batch.schema.names:
            return batch
        column = batch.column(self.weight.name)
        raw = column.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy(zero_copy_only=False)
        top = float(self.weight.edges[-1])  # type: ignore[index, arg-type]
        units = np.rint(np.clip(np.nan_to_num(raw) / top, 0, 1) * WEIGHT_UNITS)
        place = batch.schema.names.index(self.weight.name)
        return batch.set_column(place, self.weight.name, pa.array(units).cast(column.type))

    # -- rows out --------------------------------------------------------------------------------

    def decode(
        self, codes: NDArray[Any], key: Key, first_row: int = 0, cuts: Mapping[int, Any] | None = None
    ) -> pa.RecordBatch:
        """Codes (columns, rows) as values; numbers and days are drawn within their bins.

        key: of the release; the draws of row r depend on the key, the column's name and r alone.
        cuts: of columns whose codes are finer than their bins, the least and the largest value of each.
        """
        cuts = cuts or {}
        drawn = {
            book.name: draw_within(book, row, key.derive("within bins", book.name), first_row, cuts.get(j))
            for j, (book, row) in enumerate(zip(self.books, codes, strict=True))
            if book.column.edges is not None
        }
        for order in self.constraints:
            if isinstance(order, Ordered):
                _put_in_order(order, drawn)
        for one in self.differences:
            one.restore(drawn)
        arrays = [
            drawn[b.name].arrow() if b.name in drawn else b.decode(row)
            for b, row in zip(self.released, codes, strict=True)
        ]
        fields = pa.schema([pa.field(b.name, canonical_type(b.column)) for b in self.released])
        return pa.RecordBatch.from_arrays(arrays, schema=fields)


_NOT_CODED = (Kind.CODES, Kind.TEXT)


def chosen(schema: Schema, columns: Sequence[str] | None) -> list[Column]:
    """The columns to synthesize."""
    if columns is not None:
        if len(set(columns)) < len(columns):
            raise ParameterError("a column was named twice.", hint="name each column once")
        return list(schema.select(columns))
    return [c for c in schema if c.role not in _LEFT_OUT]


def unusable(wanted: Sequence[Column], schema: Schema) -> list[str]:
    """Columns that no synthesizer of codes can make, as sentences."""
    faults = []
    if len(wanted) < 2:
        faults.append(f"{len(wanted)} of the {len(schema)} columns can be synthesized, two are needed")
    mixed = [repr(c.name) for c in wanted if c.kind in _NOT_CODED]
    if mixed:
        faults.append(
            f"cells with several codes or free text cannot be synthesized: {listed(mixed)} "
            "(leave them out with columns=)"
        )
    naming = [repr(c.name) for c in wanted if c.role in (Role.IDENTIFIER, Role.PERSON)]
    if naming:
        faults.append(f"columns that name people are never synthesized: {listed(naming)}")
    return faults


def narrow(sizes: Iterable[tuple[str, int | None]]) -> list[str]:
    """Columns that have nothing to choose from, as a sentence."""
    single = [repr(name) for name, size in sizes if size is not None and size < 2]
    return [f"a domain of one level has nothing to draw: {listed(single)}"] if single else []


def _weight_faults(schema: Schema, weight: str | None) -> list[str]:
    if weight is None:
        return []
    column = schema[weight]
    top = column.edges[-1] if column.edges is not None else None
    if column.kind is not Kind.NUMERIC or not column.public or not np.isfinite(float(top)) or top <= 0:  # type: ignore[arg-type, operator]
        return [
            f"weight column '{weight}' needs public edges, the last is the largest weight that counts: "
            f"{column.origin}"
        ]
    return []


def _refuse(faults: list[str], hint: str = "") -> None:
    if faults:
        raise SchemaError(f"{'; '.join(faults)}.", hint=hint or "correct the schema, or choose columns")


def _put_in_order(order: Ordered, drawn: dict[str, Any]) -> None:
    """Within bins that overlap, draw the second again from where the first is."""
    first, second = drawn.get(order.first), drawn.get(order.second)
    if first is not None and second is not None:
        first.at_most(second)
        second.at_least(first)
