"""Names of which there are very many, in parts, so that an attack can use them.

An attack holds for each column which released value may stand for which true one. For forty thousand
zip codes that table fits no memory, and without them an intruder who knows them would look harmless. A name
is its beginning and its end together: 13053 is 130 and 53. Two records agree in the name exactly if they
agree in all its parts, and the tables of the parts are small.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.assessment.reading.notation import is_everything
from sfumato.assessment.reading.scales import Names
from sfumato.schema import Column, Kind, Role, Schema, Value
from sfumato.table import Table

Trees = dict[str, Mapping[str, Sequence[Value]]]
_ROWS = 200  # generalized values whose leaves are looked up at once


@dataclass(frozen=True)
class NameParts:
    """Where the names of a column are cut: the places at which its parts begin, the first of them 0."""

    column: str
    starts: tuple[int, ...]

    @classmethod
    def of(cls, column: str, values: pa.Array, most: int) -> NameParts:
        """The longest beginning of which there are at most so many, then the longest of what follows."""
        text = _text(values)
        length = pc.max(pc.utf8_length(text)).as_py() or 1
        starts = [0]
        for end in range(2, length + 1):
            if pc.count_distinct(pc.utf8_slice_codeunits(text, starts[-1], end)).as_py() > most:
                starts.append(end - 1)
        return cls(column, tuple(starts))

    @property
    def names(self) -> tuple[str, ...]:
        """The parts, by the characters they hold: 'zip[1-3]', 'zip[4-]'."""
        ends = [*map(str, self.starts[1:]), ""]
        return tuple(f"{self.column}[{a + 1}-{b}]" for a, b in zip(self.starts, ends, strict=True))

    def beside(self, rows: pa.Table, whole: Collection[str] = ()) -> pa.Table:
        """The rows with the parts as further columns; values that are to stay whole stand in every part."""
        text = _text(rows.column(self.column))
        kept = pc.is_in(text, value_set=pa.array(list(whole), pa.string()))
        for name, start, stop in zip(self.names, self.starts, [*self.starts[1:], None], strict=True):
            rows = rows.append_column(
                name, pc.if_else(kept, text, pc.utf8_slice_codeunits(text, start, stop))
            )
        return rows

    def split(self, table: Table, whole: Collection[str] = ()) -> Table:
        """A table with the parts as further columns."""
        parts = [Column(n, Kind.NOMINAL, role=Role.QUASI_IDENTIFIER, type="text") for n in self.names]
        return Table.from_arrow(
            self.beside(table.to_arrow(), whole), Schema((*(c for c in table.schema), *parts))
        )

    def both(
        self, original: Table, released: Table, tree: Mapping[str, Sequence[Value]]
    ) -> tuple[Table, Table, Trees]:
        """Both files with parts for the column, and what generalized values stand for in each part.

        A generalized value is taken for all beginnings and all ends of the names it stands for: never for
        fewer names than those, and for a prefix, a star or a single name for no others.
        """
        leaves, values = (_text(t.codebooks([self.column])[self.column].levels) for t in (original, released))
        known = set(leaves.to_pylist())
        texts = [v for v in values.to_pylist() if v not in known]
        general = [t for t in texts if not is_everything(t)]
        reader = Names(leaves.to_pylist(), tree, "", False)
        parts = [np.array(c) for c in self.beside(pa.table({self.column: leaves})).columns[1:]]
        trees: dict[str, dict[str, list[str]]] = {name: {} for name in self.names}
        for first in range(0, len(general), _ROWS):
            some = general[first : first + _ROWS]
            for text, row in zip(some, reader.rows(some), strict=True):
                if row is not None:
                    for name, part in zip(self.names, parts, strict=True):
                        trees[name][text] = np.unique(part[row > 0]).tolist()
        whole = [t for t in texts if is_everything(t) or t in trees[self.names[0]]]
        first_, second = self.split(original), self.split(released, whole)
        return first_.drop([self.column]), second.drop([self.column]), dict(trees)


def _text(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return pc.utf8_trim_whitespace(whole.cast(pa.string()))
