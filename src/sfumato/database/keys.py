"""Looking ids up among keys: an index that is built once, in few bytes a key.

Whole numbers, the most common keys, take 4 to 20 bytes each beside the ids themselves: a table of places
where they lie close together, else a sorted copy; very many of them go to files (`key_files`). Texts go by
numbers of 64 bits that are made of them, and are then compared: two texts with one number cost time, and
are never taken for the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.database.ids import key_ids
from sfumato.database.key_files import KeyFiles
from sfumato.table import Table

_CLOSE = 4  # places of a table for each key, at most: sparser keys are sorted
_PIECE = 65_536  # texts made into numbers at once
_WEIGHTS = np.cumprod(np.full(1_021, 0x9E3779B97F4A7C15, np.uint64))  # of places in a text
_LOOK = 1_048_576  # ids looked up at once
_AT_ONCE = 4_194_304  # keys sorted at once; more are read in several turns
_MOST_HELD = 1_048_576  # keys of a table that are held in memory; more go to files

Ints = NDArray[np.int64]


class KeyIndex:
    """The place of an id among keys, and whose that row is; the first, where a key occurs more than once."""

    def __init__(self, ids: pa.Array, persons: NDArray[np.int32] | None = None) -> None:
        self.ids = ids
        self._persons = np.full(len(ids), -1, np.int32) if persons is None else persons

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def missing(self) -> int:
        """Rows without a key."""
        return int(self.ids.null_count)

    @cached_property
    def repeated(self) -> int:
        """How many keys occur more than once."""
        return repeated(self.ids)

    def in_order(self, at_once: int) -> Iterator[pa.Array]:
        """The ids as they came, so many at a time."""
        return (self.ids.slice(at, at_once) for at in range(0, len(self.ids), at_once))

    def persons(self, ids: pa.Array) -> NDArray[np.int32]:
        """The person of the row of each id; -1 where there is none."""
        at = self.places(ids)
        if not len(self.ids):
            return at
        return np.where(at >= 0, self._persons[at], np.int32(-1))

    def places(self, ids: pa.Array) -> NDArray[np.int32]:
        """The place of each id; -1 for a missing one, or one that is not there."""
        if ids.type != self.ids.type or not len(self.ids):
            return np.full(len(ids), -1, np.int32)
        if not pa.types.is_int64(self.ids.type):
            return self._spelt(ids)
        at = self._close(_numbers(ids)) if self._table is not None else self._among(_numbers(ids))
        return at if not ids.null_count else np.where(_there(ids), at, np.int32(-1))

    def _spelt(self, texts: pa.Array) -> NDArray[np.int32]:
        ordered = self._sorted[0]
        if (ordered[1:] == ordered[:-1]).any():  # a key occurs twice, or two have one number
            found = pc.index_in(texts, value_set=self.ids, skip_nulls=True)
            return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), np.int32)
        at = self._among(_numbers(texts))
        same = pc.equal(texts, self.ids.take(pa.array(np.maximum(at, 0)))).fill_null(False)
        return np.where(np.asarray(same.to_numpy(zero_copy_only=False)) & (at >= 0), at, np.int32(-1))

    def _close(self, numbers: Ints) -> NDArray[np.int32]:
        assert self._table is not None
        first, table = self._table
        inside = (numbers >= first) & (numbers <= first + len(table) - 1)
        return np.where(inside, table[np.where(inside, numbers - first, 0)], np.int32(-1))

    def _among(self, numbers: Ints) -> NDArray[np.int32]:
        ordered, order = self._sorted
        at = np.minimum(np.searchsorted(ordered, numbers), len(ordered) - 1)
        return np.where(ordered[at] == numbers, order[at], np.int32(-1))

    @cached_property
    def _table(self) -> tuple[int, NDArray[np.int32]] | None:
        """The smallest key, and by distance from it the place of each; None if they lie far apart."""
        ends = pc.min_max(self.ids)
        least, most = ends["min"].as_py(), ends["max"].as_py()
        if least is None or most - least >= _CLOSE * len(self.ids):
            return None
        there = np.flatnonzero(_there(self.ids))[::-1]  # the first of several is written last
        table = np.full(most - least + 1, -1, np.int32)
        table[_numbers(self.ids)[there] - least] = there
        return least, table

    @cached_property
    def _sorted(self) -> tuple[Ints, NDArray[np.int32]]:
        there = np.flatnonzero(_there(self.ids)).astype(np.int32)
        numbers = _numbers(self.ids)[there]
        order = np.argsort(numbers, kind="stable")
        return (
            (numbers[order], there[order])
            if len(order)
            else (np.zeros(1, np.int64), np.full(1, -1, np.int32))
        )


def gathered_keys(
    parts: Iterable[tuple[pa.Array, NDArray[np.int32] | None]], kind: pa.DataType, ordered: bool = False
) -> KeyIndex | KeyFiles:
    """An index of keys that come many at a time, with the numbers of their persons; in files if it is large.

    kind: of the ids, where there are none. ordered: whether they are asked for in their order.
    """
    held: list[tuple[pa.Array, NDArray[np.int32] | None]] = []
    files: KeyFiles | None = None
    for part in parts:
        held.append(part)
        many = files is not None or sum(len(ids) for ids, _ in held) > _MOST_HELD
        if many and pa.types.is_int64(part[0].type):
            files = KeyFiles(ordered) if files is None else files
            for ids, persons in held:
                files.add(ids, persons)
            held = []
    if files is not None:
        return files.sealed()
    known = [persons for _, persons in held if persons is not None]
    return KeyIndex(
        pa.concat_arrays([ids for ids, _ in held]) if held else pa.array([], kind),
        np.concatenate(known) if known else None,
    )


def read_keys(table: Table, key: str) -> KeyIndex | KeyFiles:
    """An index of a column of a table."""
    parts = ((ids[key], None) for ids in id_batches(table, [key]))
    return gathered_keys(parts, pa.string() if table.schema[key].type == "text" else pa.int64())


def id_batches(table: Table, columns: list[str]) -> Iterator[dict[str, pa.Array]]:
    """The canonical ids of several columns, many rows at a time."""
    for batch in gathered(table.batches(columns), _LOOK) if columns else ():
        yield {n: key_ids(table.schema[n], batch.column(i)) for i, n in enumerate(columns)}


def gathered(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of at least so many, but for the last."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= rows:
            yield pa.concat_batches(waiting)
            waiting = []
    if waiting:
        yield pa.concat_batches(waiting)


def distinct(ids: pa.Array) -> pa.Array:
    """The values that occur, each once."""
    present = ids.drop_null()
    if not pa.types.is_int64(present.type):
        return pc.unique(present)
    return pa.array(_levels(_numbers(present)))


def repeated(ids: pa.Array) -> int:
    """How many values of a key occur more than once."""
    present = ids.drop_null()
    numbers = _numbers(present)
    twice = _twice(numbers)
    if pa.types.is_int64(present.type) or not len(twice):
        return len(twice)
    return len(_twice(_codes(_with(present, twice))))


def repeated_keys(table: Table, column: str, rows: int, at_once: int | None = None) -> int:
    """The same of a column that is not held: a part at a time, by the remainder of its numbers."""
    found = 0
    for twice in _repeated_parts(table, column, rows, at_once or _AT_ONCE):
        if table.schema[column].type != "text" or not len(twice):
            found += len(twice)
            continue
        alike = [_with(ids[column].drop_null(), twice) for ids in id_batches(table, [column])]
        found += repeated(pa.concat_arrays(alike))
    return found


def repeated_numbers(table: Table, column: str) -> Ints:
    """The numbers of keys that occur more than once; of texts those that may."""
    found = list(_repeated_parts(table, column, table.rows(), _AT_ONCE))
    return np.concatenate(found)


def _repeated_parts(table: Table, column: str, rows: int, at_once: int) -> Iterator[Ints]:
    parts = max(1, -(-rows // at_once))
    for part in range(parts):
        own = [_part(_numbers(ids[column].drop_null()), part, parts) for ids in id_batches(table, [column])]
        yield _twice(np.concatenate(own)) if own else np.empty(0, np.int64)


def among(ids: pa.Array, numbers: Ints) -> NDArray[np.bool_]:
    """Whether the number of each id is one of these."""
    return np.isin(_numbers(ids), numbers)


def _with(texts: pa.Array, numbers: Ints) -> pa.Array:
    """The texts that have one of these numbers."""
    return texts.filter(pa.array(np.isin(_numbers(texts), numbers)))


def _part(numbers: Ints, part: int, parts: int) -> Ints:
    return numbers if parts == 1 else numbers[numbers % parts == part]


def _levels(numbers: Ints) -> Ints:
    ordered = np.sort(numbers)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def _twice(numbers: Ints) -> Ints:
    """The numbers that occur more than once, each once."""
    ordered = np.sort(numbers)
    return _levels(ordered[1:][ordered[1:] == ordered[:-1]])


def _codes(texts: pa.Array) -> Ints:
    return np.asarray(texts.dictionary_encode().indices.to_numpy(zero_copy_only=False), np.int64)


def _numbers(ids: pa.Array) -> Ints:
    """The numbers of ids, and such as are made of texts; anything below a missing one."""
    if pa.types.is_int64(ids.type):
        filled = ids.fill_null(0) if ids.null_count else ids
        return np.asarray(filled.to_numpy(zero_copy_only=False), np.int64)
    pieces = [_made(ids.slice(at, _PIECE)) for at in range(0, len(ids), _PIECE)]
    return np.concatenate(pieces) if pieces else np.empty(0, np.int64)


def _made(texts: pa.Array) -> Ints:
    """A number of 64 bits for each text: the sum of its bytes, each times a number of its place."""
    texts = texts.fill_null("") if texts.null_count else texts
    _, offsets, characters = texts.buffers()
    ends = np.frombuffer(offsets, np.int32, len(texts) + 1, offset=4 * texts.offset).astype(np.int64)
    raw = np.frombuffer(characters, np.uint8) if characters is not None else np.empty(0, np.uint8)
    raw = raw[ends[0] : ends[-1]]
    ends = ends - ends[0]
    place = np.arange(len(raw)) - np.repeat(ends[:-1], np.diff(ends))
    total = np.append(np.uint64(0), np.cumsum((raw + np.uint64(1)) * _WEIGHTS[place % len(_WEIGHTS)]))
    return np.asarray(total[ends[1:]] - total[ends[:-1]]).view(np.int64)


def _there(ids: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(ids.is_valid().to_numpy(zero_copy_only=False), np.bool_)
