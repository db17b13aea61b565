"""Which table a release was made from, told only to who holds the key.

A plain hash of a table is an oracle: whoever can guess the table, or all of it but one cell, hashes the
guess and compares. Under a secret key the comparison is the owner's alone.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.seeds import Key

if TYPE_CHECKING:
    from sfumato.table import Table

_ROWS = 65_536


def fingerprint(table: Table, key: Key) -> str:
    """HMAC-SHA-256 of a table's canonical content: names, types and cells, in the order of its rows.

    The same for every engine and any chunking, as the canonical batches are; different when the
    engine gives the rows in another order.
    """
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
