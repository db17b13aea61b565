"""Keys that are too many for memory: in files, looked up part by part.

Bound:   the memory of one part and of the ids that are looked up at once, whatever the number of keys.
Because: a key goes to one of `_PARTS` files by a hash of it; a file is sorted once and read whole, one at a
         time, so that memory holds a 64th of 16 bytes a key.
Limits:  whole numbers only. As much space in the temporary folder as 16 bytes a key take, or 24 where they
         are asked for in their order, in a folder that only its owner can enter, removed with the index.
         Each lookup reads every part it needs.
Tested by: tests/database/test_keys.py
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato._system import permissions
from sfumato.errors import DataError

_PARTS = 64
_SHIFT = np.uint64(58)  # the first six bits of a product say the part
_ODD = np.uint64(0x9E3779B97F4A7C15)
_MOST_ROWS = 2**31 - 1
_RECORD = np.dtype([("key", "<i8"), ("place", "<i4"), ("person", "<i4")])

Ints = NDArray[np.int64]
Places = NDArray[np.int32]


class KeyFiles:
    """The place of an id among keys, and whose that row is; the first, where a key occurs more than once.

    missing: rows without a key. repeated: how many keys occur more than once, known when it is `sealed`.
    ordered: whether they are asked for in their order.
    """

    def __init__(self, ordered: bool = False) -> None:
        self._ordered = ordered
        self._folder = own_folder(self)
        self._rows = self.missing = self.repeated = 0

    def __len__(self) -> int:
        return self._rows

    def add(self, ids: pa.Array, persons: Places | None) -> None:
        """Further rows."""
        if self._rows + len(ids) > _MOST_ROWS:  # places have 32 bits: another row would stand for this one
            raise DataError(
                f"a table with a key has more than {_MOST_ROWS:,} rows.", hint="divide the data by persons"
            )
        there = np.asarray(ids.is_valid().to_numpy(zero_copy_only=False), np.bool_)
        rows = np.empty(int(there.sum()), _RECORD)
        rows["key"] = ids.drop_null().to_numpy()
        rows["place"] = self._rows + np.flatnonzero(there)
        rows["person"] = -1 if persons is None else persons[there]
        self._rows += len(ids)
        self.missing += ids.null_count
        if self._ordered:
            with self._all.open("ab") as file:
                file.write(ids.fill_null(0).to_numpy(zero_copy_only=False).tobytes())
        for part, at in _parted(rows["key"]):
            with self._file(part).open("ab") as file:
                file.write(rows[at].tobytes())

    def sealed(self) -> KeyFiles:
        """Every part sorted, so that ids can be looked up."""
        for part in range(_PARTS):
            rows = self._read(part)
            rows = rows[np.argsort(rows["key"], kind="stable")]  # the first of several stays the first
            again = rows["key"][1:] == rows["key"][:-1]
            self.repeated += int((again & ~np.append(False, again[:-1])).sum()) if len(again) else 0
            rows.tofile(self._file(part))
        return self

    def places(self, ids: pa.Array) -> Places:
        """The place of each id; -1 for a missing one, or one that is not there."""
        return self._found(ids, "place")

    def persons(self, ids: pa.Array) -> Places:
        """The person of the row of each id; -1 where there is none."""
        return self._found(ids, "person")

    def in_order(self, at_once: int) -> Iterator[pa.Array]:
        """The ids as they came, so many at a time; none may be missing."""
        for at in range(0, self._rows, at_once):
            yield pa.array(np.fromfile(self._all, np.int64, min(at_once, self._rows - at), offset=8 * at))

    def _found(self, ids: pa.Array, column: str) -> Places:
        found = np.full(len(ids), -1, np.int32)
        if not pa.types.is_int64(ids.type):
            return found
        wanted = np.flatnonzero(np.asarray(ids.is_valid().to_numpy(zero_copy_only=False), np.bool_))
        numbers = np.asarray(ids.drop_null().to_numpy(), np.int64)
        for part, at in _parted(numbers):
            rows = self._read(part)
            if len(rows):
                keys = np.ascontiguousarray(rows["key"])
                near = np.minimum(np.searchsorted(keys, numbers[at]), len(keys) - 1)
                found[wanted[at]] = np.where(keys[near] == numbers[at], rows[column][near], -1)
        return found

    @property
    def _all(self) -> Path:
        return self._folder / "all"

    def _file(self, part: int) -> Path:
        return self._folder / f"{part:02d}"

    def _read(self, part: int) -> NDArray[np.void]:
        file = self._file(part)
        return np.fromfile(file, _RECORD) if file.exists() else np.empty(0, _RECORD)


def _parted(numbers: Ints) -> list[tuple[int, NDArray[np.int64]]]:
    """By part, where its numbers stand, in their order."""
    part = ((numbers.view(np.uint64) * _ODD) >> _SHIFT).astype(np.uint8)
    order = np.argsort(part, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(part, minlength=_PARTS)))
    return [(p, order[ends[p] : ends[p + 1]]) for p in range(_PARTS) if ends[p] < ends[p + 1]]


def own_folder(owner: object) -> Path:
    """A temporary folder that only its owner can enter, removed with the object."""
    folder = Path(tempfile.mkdtemp(prefix="sfumato-"))
    permissions.set_mode(folder, stat.S_IRWXU)
    weakref.finalize(owner, _removed, folder, os.getpid())
    return folder


def _removed(folder: Path, process: int) -> None:
    if os.getpid() == process:  # a process that was forked off holds the same folder
        shutil.rmtree(folder, ignore_errors=True)
