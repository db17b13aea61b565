"""PLUGS on Spark: the table's rows are counted, dealt out, learnt, drawn and put in order by the executors.

Four steps, two of them shuffles of codes; the driver holds one number for each stretch of the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.io.spark import PIECE, engine, struct
from sfumato.seeds import Key
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.imputation.rules import checked
from sfumato.table import Table

if TYPE_CHECKING:
    import pyspark.sql

    from sfumato.synthesis.lugs.parallel import Job

Codes = NDArray[np.uint16]
Cells = NDArray[np.void]
_WORDS = 4_194_304  # of the order of the rows, looked at together


def on_executors(frame: pyspark.sql.DataFrame, domain: Domain, job: Job) -> Table:
    """The rows of PLUGS as a Spark table.  frame: the columns of the domain, in their order."""
    rows = sum(job.shares)
    stretches = max(1, -(-rows // PIECE))
    sizes = np.zeros(stretches, np.int64)
    for first in range(0, rows, _WORDS):
        words = job.order(first, min(_WORDS, rows - first))
        sizes += np.bincount(among(words, stretches), minlength=stretches)
    counted = frame.mapInArrow(_Encode(job), "cell binary").groupBy("cell").count()
    dealt = counted.mapInArrow(_Deal(job), "part int, cell binary, times long")
    parts = dealt.repartitionById(len(job.shares), "part")
    drawn = parts.mapInArrow(_Draw(job, stretches), "stretch int, word long, at long, cell binary")
    mixed = drawn.repartitionById(stretches, "stretch")
    made = mixed.mapInArrow(_Order(job, domain, sizes.tolist()), struct(domain.schema))
    return engine(made, domain.schema, frame)


@dataclass(frozen=True)
class _Encode:
    """Rows in, their codes as bytes out."""

    job: Job

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            columns = [b.encode(batch.column(j)) for j, b in enumerate(self.job.books)]
            weights = None
            if self.job.method.weight is not None:
                weights = checked(batch.column(len(columns)), self.job.method.weight)
            cells = cells_of(np.stack(columns, axis=1).astype(np.uint16), weights)
            yield pa.RecordBatch.from_arrays([_packed(cells)], names=["cell"])


@dataclass(frozen=True)
class _Deal:
    """Different rows and their numbers in, their shares among the parts out."""

    job: Job

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        kind = self.job.line
        for batch in batches:
            cells = np.frombuffer(_bytes(batch.column(0), kind.itemsize), kind)
            part, line, times = self.job.deal(cells, batch.column(1).to_numpy())
            arrays = [pa.array(part.astype(np.int32)), _packed(cells[line]), pa.array(times)]
            yield pa.RecordBatch.from_arrays(arrays, names=["part", "cell", "times"])


@dataclass(frozen=True)
class _Draw:
    """All rows of one part in, what is drawn from it out, each row with its place in the order."""

    job: Job
    stretches: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gathered = [b for b in batches if b.num_rows]
        if not gathered:
            return  # `_Order` misses its rows
        part = int(gathered[0].column(0)[0].as_py())
        cells = b"".join(_bytes(b.column(1), self.job.line.itemsize) for b in gathered)
        codes = self.job.draw(part, cells, np.concatenate([b.column(2).to_numpy() for b in gathered]))
        first = sum(self.job.shares[:part])
        words = self.job.order(first, len(codes))
        place, at = among(words, self.stretches), np.arange(first, first + len(codes))
        for start in range(0, len(codes), 65_536):
            these = slice(start, start + 65_536)
            arrays = [
                pa.array(place[these].astype(np.int32)), pa.array(words[these].view(np.int64)),
                pa.array(at[these]), _packed(cells_of(codes[these])),
            ]  # fmt: skip
            yield pa.RecordBatch.from_arrays(arrays, names=["stretch", "word", "at", "cell"])


@dataclass(frozen=True)
class _Order:
    """All rows of one stretch in, in their order and decoded out."""

    job: Job
    domain: Domain
    sizes: list[int]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gathered = [b for b in batches if b.num_rows]
        if not gathered:
            return
        stretch = int(gathered[0].column(0)[0].as_py())
        word, at = (np.concatenate([b.column(i).to_numpy() for b in gathered]) for i in (1, 2))
        if len(word) != self.sizes[stretch]:
            raise DataError("a part got no rows of the table.", hint="fewer partitions")
        width = 2 * len(self.job.books)
        cells = b"".join(_bytes(b.column(3), width) for b in gathered)
        codes = np.frombuffer(cells, np.uint16).reshape(len(word), -1)
        codes = codes[np.lexsort((at, word.view(np.uint64)))]
        key, first = Key.from_bytes(self.job.key), sum(self.sizes[:stretch])
        batch = self.domain.decode(np.ascontiguousarray(codes.T), key, first)
        yield pa.RecordBatch.from_arrays(batch.columns, names=[f"c{i}" for i in range(batch.num_columns)])


def among(words: NDArray[np.uint64], number: int) -> NDArray[np.int64]:
    """Which of so many equal stretches of the words each lies in."""
    return ((words >> np.uint64(32)) * np.uint64(number) >> np.uint64(32)).astype(np.int64)


def cells_of(codes: Codes, weights: NDArray[np.float64] | None = None) -> Cells:
    """Rows as bytes, so that they can be sorted and compared as one.  codes: (rows, columns)."""
    raw = np.ascontiguousarray(codes).view(np.uint8)
    if weights is not None:
        raw = np.hstack([raw, np.ascontiguousarray(weights[:, None]).view(np.uint8)])
    return np.ascontiguousarray(raw).view(np.dtype((np.void, raw.shape[1]))).ravel()


def _packed(cells: Cells) -> pa.Array:
    """Rows as bytes, as Arrow has them."""
    ends = (np.arange(len(cells) + 1) * cells.dtype.itemsize).astype(np.int32)
    content = np.ascontiguousarray(cells).tobytes()
    return pa.Array.from_buffers(pa.binary(), len(cells), [None, pa.py_buffer(ends), pa.py_buffer(content)])


def _bytes(array: pa.Array, width: int) -> bytes:
    """The bytes of cells of equal width, one after the other."""
    plain = array.cast(pa.large_binary())
    _, ends, content = plain.buffers()
    first = np.frombuffer(ends, np.int64, 1, offset=8 * plain.offset)[0]
    return bytes(memoryview(content)[first : first + width * len(plain)])
