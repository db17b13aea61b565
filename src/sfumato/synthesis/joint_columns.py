"""A domain in which columns that constraints tie are one column, for methods that draw a column at a time.

    joined(domain)              # the same domain where nothing is tied

The levels of the one column are the combinations that can be. A row has one of them, and which one follows
from that row alone; which columns are one follows from the public domain. So what a method promises of a
column with declared levels holds of this one as it stands, and neighbouring tables stay neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import Codebook, canonical_type
from sfumato.schema import Column, Kind, Schema
from sfumato.seeds import Key
from sfumato.sources import BatchSource
from sfumato.synthesis.constraints import Bools, Within, Zero
from sfumato.synthesis.domain import Domain, Dropped
from sfumato.synthesis.ties import Ints, combinations_of, tied
from sfumato.table import Table

TIED = 0.6  # share of the combinations of two columns that can be, up to which they are one
MOST = 4096  # combinations of columns that are one


@dataclass(frozen=True, eq=False)
class JointColumn:
    """Columns that are one.  parts: their places as declared; states: (parts, S) what can be, in codes.

    book: of the column that they are; its levels are the numbers of the states.
    """

    parts: tuple[int, ...]
    states: Ints
    book: Codebook

    def of_codes(self, codes: NDArray[Any], sizes: Sequence[int]) -> NDArray[np.uint32]:
        """The state of each row.  codes: (columns as declared, rows), none of which breaks a constraint."""
        shape = [sizes[j] for j in self.parts]
        place = np.zeros(math.prod(shape), np.uint32)
        place[np.ravel_multi_index(list(self.states), shape)] = np.arange(self.states.shape[1])
        return np.asarray(
            place[np.ravel_multi_index([np.asarray(codes[j], np.int64) for j in self.parts], shape)]
        )


@dataclass(frozen=True, eq=False)
class JoinedDomain(Domain):
    """A domain with joint columns in place of those that are tied.

    as_declared: the domain without them. joints: by the place they have among `books`; a column that is by
    itself is kept under its own name.
    """

    as_declared: Domain = field(kw_only=True)
    joints: Mapping[int, JointColumn] = field(kw_only=True)

    @property
    def declared(self) -> Domain:
        """The domain of the columns that come out."""
        return self.as_declared

    @property
    def released(self) -> tuple[Codebook, ...]:
        """The columns of the rows that come out."""
        return self.as_declared.released

    @property
    def renamed(self) -> dict[str, str]:
        """For each declared column, the one it is part of here."""
        names = self.as_declared.names
        out = {n: n for n in names}
        for joint in self.joints.values():
            out.update(dict.fromkeys((names[j] for j in joint.parts), joint.book.name))
        return out

    @property
    def details(self) -> dict[str, Within]:
        """The detailed columns that are by themselves, drawn last within their group."""
        return {n: c for n, c in self.as_declared.details.items() if n in self.names}

    @cached_property
    def zeros(self) -> tuple[Zero, ...]:
        """What no joint column keeps by itself."""
        homes = self._homes
        out = []
        for zero in self.as_declared.zeros:
            masks: dict[int, Bools] = {}
            for column, mask in zip(zero.columns, zero.masks, strict=True):
                place, codes = homes[column]
                own = mask if codes is None else mask[codes]
                masks[place] = masks[place] & own if place in masks else own
            if len(masks) > 1:
                out.append(Zero(tuple(masks), tuple(masks.values())))
        return tuple(out)

    @cached_property
    def _homes(self) -> dict[int, tuple[int, Ints | None]]:
        """For each declared column: its place here, and its code in each state of a joint column."""
        names = self.as_declared.names
        out: dict[int, tuple[int, Ints | None]] = {}
        for place, book in enumerate(self.books):
            joint = self.joints.get(place)
            if joint is None:
                out[names.index(book.name)] = place, None
                continue
            for part, codes in zip(joint.parts, joint.states, strict=True):
                out[part] = place, codes
        return out

    def join(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Codes of declared columns, (columns, rows), as codes of these."""
        sizes, names = self.as_declared.sizes, self.as_declared.names
        return np.stack(
            [
                self.joints[i].of_codes(codes, sizes) if i in self.joints else codes[names.index(book.name)]
                for i, book in enumerate(self.books)
            ]
        )

    def split(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Codes of these columns as codes of the declared ones."""
        homes = (self._homes[j] for j in range(len(self.as_declared.books)))
        return np.stack([codes[place] if own is None else own[codes[place]] for place, own in homes])

    def prepared(self, table: Table) -> tuple[Table, Dropped]:
        """The rows that keep the constraints, each with its joint columns."""
        source, dropped = self.as_declared.prepared(table)
        made = {j.book.name: j for j in self.joints.values()}
        books, sizes = self.as_declared.books, self.as_declared.sizes

        def open_(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
            parts = [p for n in names if n in made for p in made[n].parts]
            needed = list(
                dict.fromkeys([*(n for n in names if n not in made), *(books[p].name for p in parts)])
            )
            for batch in source.batches(needed):
                codes = {p: books[p].encode(batch.column(books[p].name)) for p in parts}
                for name in (n for n in names if n in made):
                    own = made[name].of_codes(codes, sizes)  # type: ignore[arg-type]
                    batch = batch.append_column(name, pa.array(own.astype(np.int64)))
                yield batch.select(list(names))

        schema = Schema((*source.schema, *(j.book.column for j in self.joints.values())))
        arrow = pa.schema([pa.field(c.name, canonical_type(c)) for c in schema])
        rows = source.source.rows if isinstance(source.source, BatchSource) else None
        return replace(source, source=BatchSource(arrow, open_, rows=rows), schema=schema, _books={}), dropped

    def decode(
        self, codes: NDArray[Any], key: Key, first_row: int = 0, cuts: Mapping[int, Any] | None = None
    ) -> pa.RecordBatch:
        """Codes (columns, rows) as values of the declared columns."""
        return self.as_declared.decode(self.split(codes), key, first_row, cuts)


def joined(
    domain: Domain, *, apart: Sequence[str] = (), share: float = TIED, most: int = MOST, details: bool = True
) -> Domain:
    """The domain with tied columns as one.

    apart: columns that stay by themselves. share: of the combinations of two columns that can be, up to which
    they are one. details: whether codes within their group are left to the caller, who draws them last; where
    their group is one with other columns, they are part of it.
    """
    within = (
        {domain.place(c.column): domain.place(c.group) for c in domain.details.values()} if details else {}
    )
    alone = [domain.place(n) for n in apart if n in domain.names]
    taken: set[int] = set()  # codes whose group is one with other columns: one with it too, or it is apart
    while True:
        out = {*within} - taken
        groups = tied(domain.sizes, [z for z in domain.zeros if not out & {*z.columns}], share, most, alone)
        home = {j: g for g in groups for j in g}
        torn = [d for d, g in within.items() if len(home[g]) > 1 and home[d] != home[g]]
        if not torn:
            return _of_groups(domain, [g for g in groups if len(g) > 1], most)
        alone += [within[d] for d in torn if d in taken]
        taken |= {*torn}


def _of_groups(domain: Domain, groups: Sequence[tuple[int, ...]], most: int) -> Domain:
    states = {g: combinations_of(g, domain.sizes, domain.zeros, most) for g in groups}
    groups = [g for g in groups if states[g].shape[1] > 1]
    if not groups:
        return domain
    first = {g[0]: g for g in groups}
    later = {j for g in groups for j in g[1:]}
    taken = {*domain.names}
    books: list[Codebook] = []
    joints: dict[int, JointColumn] = {}
    for place, book in enumerate(domain.books):
        if place in later:
            continue
        if place in first:
            parts = first[place]
            name = " + ".join(domain.names[j] for j in parts)
            while name in taken:
                name += "'"
            taken.add(name)
            levels = tuple(range(states[parts].shape[1]))
            book = Codebook.declared(Column(name, Kind.NOMINAL, type="integer", levels=levels, missing=False))
            joints[len(books)] = JointColumn(parts, states[parts], book)
        books.append(book)
    return JoinedDomain(
        tuple(books), domain.constraints, domain.public, domain.weight, domain.columns,
        as_declared=domain, joints=joints,
    )  # fmt: skip
