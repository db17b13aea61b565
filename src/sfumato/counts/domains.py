"""Do the cells lie in the domain that the schema declares? Counted to the last row; no value is said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts.codebook import Codebook
from sfumato.counts.values import canonical
from sfumato.errors import DataError, listed
from sfumato.schema import Column, Kind


class DomainWatch:
    """Looks at the batches of a table as they pass, and knows at their end what its schema does not allow."""

    hint = "sfumato schema check shows them; correct the cells, or extend the domain"

    def __init__(self, columns: Iterable[Column]) -> None:
        self._columns = tuple(columns)
        self._books = {c.name: _book(c) for c in self._columns if c.declared}
        self._outside = dict.fromkeys((c.name for c in self._columns), 0)
        self._missing = dict(self._outside)

    def look(self, batch: pa.RecordBatch) -> None:
        """Count what this batch holds."""
        for column in self._columns:
            array, book = batch.column(column.name), self._books.get(column.name)
            if book is not None:
                places = book.locate(_single_codes(column, array) if column.kind is Kind.CODES else array)
                self._outside[column.name] += int((places < 0).sum())
            if not column.missing:
                found = canonical(column, array) if column.missing_codes else array
                self._missing[column.name] += int(found.null_count)

    def faults(self) -> dict[str, str]:
        """What is wrong with each column, in words; nothing for a column that fits."""
        faults = {}
        for column in self._columns:
            name, word = column.name, "code" if column.kind is Kind.CODES else "cell"
            faults[name] = ", ".join(
                [
                    *_number(self._outside[name], word, "outside the declared domain"),
                    *_number(self._missing[name], "missing cell", "but missing = false"),
                ]
            )
        return faults

    @property
    def message(self) -> str:
        """All columns with faults in one sentence, without its point; empty if there are none."""
        found = [f"'{name}' ({fault})" for name, fault in self.faults().items() if fault]
        columns = f"{len(found)} column{'s' * (len(found) > 1)}"
        return f"{columns} with cells that the schema does not allow: {listed(found)}" if found else ""

    def raise_if_any(self) -> None:
        """One error for all columns."""
        if self.message:
            raise DataError(f"{self.message}.", hint=self.hint)


def watched(batches: Iterable[pa.RecordBatch], columns: Iterable[Column]) -> Iterator[pa.RecordBatch]:
    """The same batches; at their end an error if they hold what their columns do not allow."""
    watch = DomainWatch(columns)
    for batch in batches:
        watch.look(batch)
        yield batch
    watch.raise_if_any()


def _book(column: Column) -> Codebook:
    single = replace(column, kind=Kind.NOMINAL, missing=True) if column.kind is Kind.CODES else column
    return Codebook.declared(single)


def _single_codes(column: Column, array: pa.Array) -> pa.Array:
    """The codes of all cells, each as often as it is written."""
    return pc.list_flatten(pc.split_pattern(array.drop_null(), column.separator))


def _number(n: int, word: str, what: str) -> list[str]:
    comma = "," * what.startswith("but")
    return [f"{n:,} {word}{'s' * (n > 1)}{comma} {what}"] if n else []
