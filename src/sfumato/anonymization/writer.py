"""Rows of the source to rows of the release, batch by batch: memory follows the combinations, not the rows.

A row's quasi-identifiers are looked up among the combinations that were counted; the piece it belongs to
says what is written. Other columns pass as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.anonymization.code_columns import CodeColumns
from sfumato.anonymization.lookup import Lookup, changed
from sfumato.anonymization.nested_columns import Chains, texts_of
from sfumato.anonymization.problem import MISSING
from sfumato.anonymization.suppression import FinalClasses
from sfumato.counts import Codebook, canonical_type
from sfumato.hierarchy import Numbered
from sfumato.io.spark import is_spark
from sfumato.release.shuffle import shuffled
from sfumato.schema import Column, Kind, Schema
from sfumato.seeds import Key
from sfumato.sources import BatchSource
from sfumato.table import Table


def released(
    table: Table,
    settled: FinalClasses,
    columns: Sequence[str],
    key: Key,
    *,
    shuffle: bool = True,
    chains: Chains | None = None,
    codes: CodeColumns | None = None,
) -> Table:
    """The released rows, written anew each time they are read.

    columns: what is kept, quasi-identifiers included. shuffle: False for counting, where order is nothing.
    chains: columns that go with a quasi-identifier, by its name. codes: what becomes of columns of codes.
    """
    writer = replace(Writer.of(table, settled, _pieces_key(key), chains or {}), codes=codes)
    schema = Schema(tuple(writer.column(table.schema[c]) for c in columns))
    fields = pa.schema([pa.field(c.name, canonical_type(c)) for c in schema])
    order = key.derive("anonymization", "order")
    rows = settled.problem.rows - settled.left_out
    if shuffle and is_spark(table.source):
        from sfumato.anonymization.executors import generalized

        return generalized(table, writer, schema, rows, order)

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        wanted = pa.schema([fields.field(n) for n in names])
        written = writer.write(table, names, wanted)
        return shuffled(written, wanted, rows, order) if shuffle else written

    return Table(BatchSource(fields, read, rows=rows), schema, table.memory_limit)


def _pieces_key(key: Key) -> Key:
    """Of whose turn it is where alike rows part: the same for all who write or read the rows of a release."""
    return key.derive("anonymization", "pieces")


def class_reader(table: Table, settled: FinalClasses, key: Key) -> Writer:
    """Says the class of each row, as `released` will write it under the same key."""
    return Writer.of(table, settled, _pieces_key(key))


@dataclass(frozen=True, eq=False)
class Writer:
    """What each combination becomes.

    keys: (combinations,), sorted, with `order` back to the combinations. first, turn: the pieces of
    combination c are first[c], first[c] + 1, ...; where there are several, its i-th row belongs to piece
    turn[start[c] + i]. texts: for each column that is changed, by its name, which quasi-identifier decides
    about it (its own place, or that of the one it goes with), and how it is written for each node.
    codes: what becomes of columns of codes, by class.
    """

    names: tuple[str, ...]
    books: tuple[Codebook, ...]
    settled: FinalClasses
    keys: Lookup
    first: NDArray[np.int64]
    start: NDArray[np.int64]
    turn: NDArray[np.int32]
    texts: Mapping[str, tuple[int, pa.Array]]
    codes: CodeColumns | None = None

    @cached_property
    def parted(self) -> NDArray[np.int64]:
        """(combinations,): how many rows each has."""
        return np.bincount(self.settled.of, self.settled.n, len(self.first)).astype(np.int64)

    @classmethod
    def of(cls, table: Table, settled: FinalClasses, key: Key, chains: Chains | None = None) -> Writer:
        """Prepare the writing: the codes of the table, and whose turn it is in split combinations."""
        problem = settled.problem
        books = table.codebooks(problem.columns)
        pieces = np.bincount(settled.of, minlength=problem.combinations)
        first = np.cumsum(pieces) - pieces
        split = np.flatnonzero(pieces > 1)
        start = np.full(problem.combinations, -1, np.int64)
        turns = []
        done = 0
        for c in split:
            mine = np.arange(first[c], first[c] + pieces[c])
            whose = np.repeat(mine, settled.n[mine])
            words = np.atleast_1d(key.words(0, done, len(whose)))
            turns.append(whose[np.argsort(words, kind="stable")].astype(np.int32))
            start[c] = done
            done += len(whose)
        assert problem.codes is not None, "the problem was compressed from a table"
        return cls(
            problem.columns,
            tuple(books.values()),
            settled,
            Lookup(problem.codes, [b.size for b in books.values()]),
            first,
            start,
            np.concatenate(turns) if turns else np.empty(0, np.int32),
            _all_texts(settled, tuple(books.values()), chains or {}),
        )

    def column(self, column: Column) -> Column:
        """What a column is in the release."""
        if self.codes is not None and column.name in self.codes.columns:
            return self.codes.column(column)
        if column.name not in self.texts:
            return column
        j, texts = self.texts[column.name]
        used = np.unique(self.settled.class_nodes[:, j])
        labels = [t for t in texts.take(pa.array(used)).to_pylist() if t is not None]
        return replace(
            column,
            kind=Kind.NOMINAL,
            type="text",
            levels=tuple(dict.fromkeys(labels)) or None,
            labels={},
            edges=None,
            clamp=False,
            missing=True,
            missing_codes=(),
            other=None,
            confirmed=False,
            provenance=None,
            reason="",
            description=f"{column.description} (generalized)".strip(),
        )

    def reads(self, names: Sequence[str]) -> list[str]:
        """The columns of the source that writing these takes: the quasi-identifiers first."""
        coded = self.codes.columns if self.codes is not None and {*names} & {*self.codes.columns} else ()
        return list(dict.fromkeys([*self.names, *(n for n in names if n not in self.led), *coded]))

    @property
    def led(self) -> frozenset[str]:
        """Columns that are written by what a quasi-identifier they go with became."""
        return frozenset(self.texts) - frozenset(self.names)

    def write(self, table: Table, names: Sequence[str], fields: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The named columns of the release, in the order of the source."""
        seen = np.zeros(len(self.first), np.int64)
        for batch in table.batches(self.reads(names)):
            yield self.written(batch, names, fields, seen)

    def combinations(self, batch: pa.RecordBatch) -> NDArray[np.int64]:
        """The combination of each row of the source."""
        return self.keys.find([book.encode(batch.column(i)) for i, book in enumerate(self.books)])

    def written(
        self, batch: pa.RecordBatch, names: Sequence[str], fields: pa.Schema, seen: NDArray[np.int64]
    ) -> pa.RecordBatch:
        """Rows of the source (the columns of `reads`) as they leave. seen: as for `_pieces`."""
        piece = self._pieces(self.combinations(batch), seen)
        stays = self.settled.label[piece] >= 0
        if not stays.all():
            batch, piece = batch.filter(pa.array(stays)), piece[stays]
        codes = self.codes if self.codes is not None and {*names} & {*self.codes.columns} else None
        cells = {} if codes is None else codes.cells(self.settled.label[piece], batch)
        arrays = []
        for name in names:
            if name in cells:
                arrays.append(cells[name])
            elif name not in self.texts:
                arrays.append(batch.column(name))
            else:
                j, texts = self.texts[name]
                arrays.append(texts.take(pa.array(self.settled.nodes[piece, j])))
        return pa.RecordBatch.from_arrays(arrays, schema=fields)

    def labels(
        self, table: Table, columns: Sequence[str]
    ) -> Iterator[tuple[NDArray[np.int64], pa.RecordBatch]]:
        """The class of each row of the source, -1 where it is left out, and the named columns beside it."""
        seen = np.zeros(len(self.first), np.int64)
        for batch in table.batches([*columns, *self.names]):
            codes = [book.encode(batch.column(len(columns) + i)) for i, book in enumerate(self.books)]
            yield self.settled.label[self._pieces(self.keys.find(codes), seen)], batch.select(list(columns))

    def _pieces(self, combination: NDArray[np.int64], seen: NDArray[np.int64]) -> NDArray[np.int64]:
        """The piece of each row. seen: how many rows of each split combination came before."""
        piece = self.first[combination]
        several = np.flatnonzero(self.start[combination] >= 0)
        if len(several):
            mine = combination[several]
            order = np.argsort(mine, kind="stable")
            ordered = mine[order]
            fresh = np.append(True, ordered[1:] != ordered[:-1])
            begin = np.flatnonzero(fresh)
            rank = np.empty(len(mine), np.int64)
            rank[order] = np.arange(len(mine)) - np.repeat(begin, np.diff(np.append(begin, len(mine))))
            place = self.start[mine] + seen[mine] + rank
            if (place >= self.start[mine] + self.parted[mine]).any():
                raise changed()
            piece[several] = self.turn[place]
            np.add.at(seen, mine, 1)
        return piece


def _all_texts(
    settled: FinalClasses, books: Sequence[Codebook], chains: Chains
) -> dict[str, tuple[int, pa.Array]]:
    """How every column is written that is not released as it was."""
    found = {book.name: (j, _texts(settled, j, book)) for j, book in enumerate(books)}
    for name, chain in chains.items():
        j = settled.problem.columns.index(name)
        found |= {column: (j, texts_of(settled, chain, column)) for column in chain.heights}
    return {name: (j, texts) for name, (j, texts) in found.items() if texts is not None}


def _texts(settled: FinalClasses, j: int, book: Codebook) -> pa.Array | None:
    """How nodes are written; None where every cell stays as it was, so that its type can stay too.

    A column counted in bins is written as bins: what was counted is what must be released.
    """
    hierarchy = settled.problem.hierarchies[j]
    kept = settled.label >= 0
    alone = MISSING not in book.levels.to_pylist()  # else that text and an empty cell were counted as one
    alone = alone and (not isinstance(hierarchy, Numbered) or hierarchy.faithful)
    own = settled.problem.leaves[settled.of[kept], j]
    if alone and book.column.edges is None and (settled.nodes[kept, j] == own).all():
        return None
    return pa.array([None if t == MISSING else t for t in hierarchy.node_labels], pa.string())
