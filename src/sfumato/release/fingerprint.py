"""Which table a release was made from, told only to who holds the key.

A plain hash of a table is an oracle: whoever can guess the table, or all of it but one cell, hashes the
guess and compares. Under a secret key the comparison is the owner's alone.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.counts import canonical
from sfumato.io.spark import is_spark
from sfumato.schema import Column
from sfumato.seeds import Key
from sfumato.sources import executor_fault

if TYPE_CHECKING:
    from sfumato.table import Table

_ROWS = 65_536


def fingerprint(table: Table, key: Key) -> str:
    """HMAC-SHA-256 of a table's canonical content: names, types and cells, in the order of its rows.

    The same for every engine and any chunking, as the canonical batches are; different when the
    engine gives the rows in another order. Rows of Spark have no order, and are hashed by its executors:
    their sum is another fingerprint than that of the same rows in a file.
    """
    if is_spark(table.source):
        return _of_rows(table, key)
    return fingerprint_batches(table.batches(), [(c.name, c.type) for c in table.schema], key)


def fingerprint_batches(batches: Iterable[pa.RecordBatch], columns: list[tuple[str, str]], key: Key) -> str:
    """The same of canonical batches that are read for another purpose too."""
    mac = hmac.new(key.derive("release", "fingerprint").to_bytes(), digestmod="sha256")
    mac.update(json.dumps(columns).encode() + b"\n")
    for block in in_blocks(batches, _ROWS):
        mac.update(block.num_rows.to_bytes(8, "little"))
        for column in block.columns:
            for piece in _content(column.combine_chunks()):
                mac.update(piece)
    return mac.hexdigest()


def _of_rows(table: Table, key: Key) -> str:
    """The sum of keyed hashes of the rows, whatever their order and partitions."""
    source = table.source
    assert is_spark(source)
    frame = source.frame.select([source.inner(c) for c in table.columns]).to_native()
    secret = key.derive("release", "fingerprint", "rows").to_bytes()
    try:
        found = frame.mapInArrow(_RowHashes(list(table.schema), secret), "total binary, rows long").toArrow()
    except Exception as error:
        raise executor_fault(error) from None
    total = sum(int.from_bytes(t, "little") for t in found["total"].to_pylist()) % 2**256
    columns = json.dumps([(c.name, c.type) for c in table.schema]).encode()
    mac = hmac.new(secret, columns + b"\n", digestmod="sha256")
    mac.update(sum(found["rows"].to_pylist()).to_bytes(8, "little") + total.to_bytes(32, "little"))
    return mac.hexdigest()


@dataclass(frozen=True, repr=False)
class _RowHashes:
    """Runs on an executor: the rows of a partition in, the sum of their keyed hashes out."""

    columns: list[Column]
    secret: bytes

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total = rows = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            arrays = [canonical(c, batch.column(i)) for i, c in enumerate(self.columns)]
            table = np.hstack([self._wide(a) for a in arrays])
            content, width = table.tobytes(), table.shape[1]
            for at in range(0, len(content), width):
                hashed = blake2b(content[at : at + width], digest_size=32, key=self.secret)
                total += int.from_bytes(hashed.digest(), "little")
            rows += batch.num_rows
        arrays = [pa.array([(total % 2**256).to_bytes(32, "little")], pa.binary()), pa.array([rows])]
        yield pa.RecordBatch.from_arrays(arrays, names=["total", "rows"])

    def _wide(self, array: pa.Array) -> NDArray[np.uint8]:
        """The cells of a column as bytes of one width, (rows, width): what is longer by its own hash."""
        codes = array.dictionary_encode()
        spelt = pc.cast(codes.dictionary, pa.large_string()).to_pylist()
        hashed = [blake2b(s.encode(), digest_size=16, key=self.secret).digest() for s in spelt]
        levels = np.frombuffer(b"".join([*hashed, bytes(16)]), np.uint8).reshape(-1, 16)
        rows: NDArray[np.uint8] = levels[codes.indices.fill_null(len(hashed)).to_numpy(zero_copy_only=False)]
        return rows


def in_blocks(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of exactly `rows` rows, the last one shorter."""
    waiting: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        while held + batch.num_rows >= rows:
            cut = rows - held
            yield pa.Table.from_batches([*waiting, batch.slice(0, cut)])
            batch, waiting, held = batch.slice(cut), [], 0
        if batch.num_rows:
            waiting.append(batch)
            held += batch.num_rows
    if held:
        yield pa.Table.from_batches(waiting)


def _content(array: pa.Array) -> Iterator[bytes]:
    """What the cells are, without what Arrow leaves open: padding, offsets, the bytes below a null."""
    yield np.packbits(array.is_null().to_numpy(zero_copy_only=False)).tobytes()
    kind = array.type
    if pa.types.is_boolean(kind):
        yield np.packbits(array.fill_null(False).to_numpy(zero_copy_only=False)).tobytes()
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        yield array.fill_null(0).to_numpy(zero_copy_only=False).tobytes()
    elif pa.types.is_temporal(kind):
        whole = array.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())
        yield whole.fill_null(0).to_numpy(zero_copy_only=False).tobytes()
    else:
        text = array.cast(pa.large_string()).fill_null("")
        yield pc.binary_length(text).to_numpy(zero_copy_only=False).tobytes()
        yield _characters(text)


def _characters(text: pa.Array) -> bytes:
    """The bytes of all cells, one after the other."""
    _, places, characters = text.buffers()
    ends = np.frombuffer(places, np.int64, len(text) + 1, offset=8 * text.offset)
    return b"" if characters is None else bytes(memoryview(characters)[ends[0] : ends[-1]])
