"""Earlier releases of the same people: two files that are each k-anonymous need not be so together.

Whoever holds both knows of a person the class in each, and looks for them in the intersection. So a release
is refused unless every non-empty intersection of its classes with those of all earlier releases holds k
persons. A coarsening of an earlier release passes: its intersections are the earlier classes. Where people
come and go, "not in that release" counts as one more class (as in m-invariance: who is new, or gone, must
not be few).

Guarantee: an intruder with all releases in the register, and the quasi-identifiers of a person in each,
           is left with k persons, k the smallest any of them was made with.
Because:   what such an intruder can tell apart is the tuple of classes (`_signature`), and every tuple that
           occurs is held by k persons (`check`), each time a release is added.
Assumes:   all releases of these people are in the register, under ids that stay the same; without a column
           of persons: the same rows in the same order. Sensitive values are not compared across releases.
Tested by: tests/anonymization/test_register.py
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sfumato.anonymization.settling import Settled
from sfumato.anonymization.writing import Writer
from sfumato.errors import DataError, ParameterError
from sfumato.io.atomic import atomic_file, owner_only
from sfumato.release import read_key, write_key
from sfumato.schema import Role
from sfumato.seeds import Key
from sfumato.table import Table

_KEY = "register.key"
_ROWS = "rows"
_PERSONS = "persons"


@dataclass(frozen=True, eq=False)
class Entry:
    """A release, as the register keeps it: who (a keyed pseudonym, or the number of a row), and the class."""

    who: pa.Array
    classes: NDArray[np.int64]
    k: int
    by: str


@dataclass(frozen=True)
class Register:
    """A folder that must not leave the house: one file per release, and the key of its pseudonyms."""

    folder: str | Path

    def check(self, table: Table, settled: Settled, asked: Any, key: Key | None = None) -> Entry:
        """The entry of a release that may be made; refused with the reason otherwise."""
        entry = self._entry(table, settled, asked, key or Key.fresh())
        earlier = [*self._entries()]
        if not earlier:
            return entry
        if any(e.by != entry.by for e in earlier):
            raise DataError(
                "the register holds releases by rows and this one goes by persons, or the other way round.",
                hint="give the column of persons its role in every schema",
            )
        if entry.by == _ROWS and any(len(e.who) != len(entry.who) for e in earlier):
            raise DataError(
                "the table has other rows than at an earlier release, and no column says whose they are.",
                hint="give the column of persons its role in the schema",
            )
        least, groups = _intersections([*earlier, entry])
        k = min(e.k for e in [*earlier, entry])
        small = int((groups < k).sum())
        if small:
            raise ParameterError(
                f"together with {len(earlier)} earlier release{'s' * (len(earlier) > 1)} this one would "
                f"leave {small} groups of fewer than {k} persons, the smallest of {least}.",
                hint="release a coarsening of the earlier one (higher levels for the same columns)",
            )
        return entry

    def add(self, entry: Entry) -> None:
        """Write an entry down."""
        folder = self._made()
        number = len(list(folder.glob("release-*.parquet"))) + 1
        table = pa.table({"who": entry.who, "class": pa.array(entry.classes)})
        table = table.replace_schema_metadata({"k": str(entry.k), "by": entry.by})
        with atomic_file(folder / f"release-{number:04d}.parquet") as draft:
            pq.write_table(table, draft)
            owner_only(draft)

    def copied(self, folder: Path) -> Register:
        """A copy to check a release against and to enter it in, while it may still be refused."""
        shutil.rmtree(folder, ignore_errors=True)
        if Path(self.folder).is_dir():
            shutil.copytree(self.folder, folder)
        return Register(folder)

    def adopt(self, copy: Register) -> None:
        """Take over the last entry of a copy, and its key where there is none; twice is as good as once."""
        if not copy._files():
            return
        folder, last = self._made(), copy._files()[-1]
        if self.grown(copy):
            raise ParameterError(
                "another release of these people was entered into the register meanwhile.", hint="run again"
            )
        key = Path(copy.folder) / _KEY
        if key.exists() and not (folder / _KEY).exists():
            with atomic_file(folder / _KEY) as draft:
                write_key(draft, read_key(key))
        there = self._files()
        if last in there:
            return
        with atomic_file(folder / f"release-{len(there) + 1:04d}.parquet") as draft:
            draft.write_bytes(last)
            owner_only(draft)

    def grown(self, copy: Register) -> bool:
        """Whether there are entries that a copy has not seen."""
        return not set(self._files()) <= set(copy._files())

    def _files(self) -> list[bytes]:
        return [p.read_bytes() for p in sorted(Path(self.folder).glob("release-*.parquet"))]

    def _made(self) -> Path:
        folder = Path(self.folder)
        folder.mkdir(parents=True, exist_ok=True)
        owner_only(folder)
        return folder

    def _key(self) -> Key:
        path = self._made() / _KEY
        if not path.exists():
            write_key(path, Key.fresh())
        return read_key(path)

    def _entries(self) -> Iterator[Entry]:
        folder = Path(self.folder)
        for path in sorted(folder.glob("release-*.parquet")) if folder.is_dir() else ():
            try:
                table = pq.read_table(path)
                said = table.schema.metadata
                yield Entry(
                    table["who"].combine_chunks(),
                    table["class"].to_numpy(),
                    int(said[b"k"]),
                    said[b"by"].decode(),
                )
            except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
                raise DataError(f"{path.name} in the register cannot be read.", hint="restore it") from None

    def _entry(self, table: Table, settled: Settled, asked: Any, key: Key) -> Entry:
        person = next(iter(table.schema.of_role(Role.PERSON)), None)
        writer = Writer.of(table, settled, key.derive("anonymization", "pieces"))
        k = asked.criterion.k
        if person is None:
            labels = [label for label, _ in writer.labels(table, ())]
            found = np.concatenate(labels) if labels else np.empty(0, np.int64)
            return Entry(pa.array(np.arange(len(found))), found, k, _ROWS)
        return Entry(*_by_person(writer.labels(table, (person,)), self._key()), k, _PERSONS)


def _by_person(
    parts: Iterator[tuple[NDArray[np.int64], pa.RecordBatch]], key: Key
) -> tuple[pa.Array, NDArray[np.int64]]:
    """Each person once. Someone in several classes is known by all of them: each such set has a number."""
    from sfumato.pseudonyms import pseudonyms

    pairs = []
    for label, batch in parts:
        ids = pc.fill_null(pseudonyms(batch.column(0), key.derive("register")), "")
        pairs.append(
            pa.table({"who": ids, "class": pa.array(label)}).group_by(["who", "class"]).aggregate([])
        )
    if not pairs:
        return pa.array([], pa.string()), np.empty(0, np.int64)
    table = (
        pa.concat_tables(pairs)
        .group_by(["who", "class"])
        .aggregate([])
        .sort_by([("who", "ascending"), ("class", "ascending")])
    )
    who = table["who"].combine_chunks()
    code = who.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    label = table["class"].to_numpy()
    names = who.take(pa.array(np.flatnonzero(np.append(True, code[1:] != code[:-1]))))
    sets: dict[tuple[int, ...], int] = {}
    begin = np.append(np.flatnonzero(np.append(True, code[1:] != code[:-1])), len(code))
    found = np.empty(len(names), np.int64)
    for i in range(len(names)):
        shown = tuple(c for c in label[begin[i] : begin[i + 1]].tolist() if c >= 0)
        found[i] = sets.setdefault(shown, len(sets)) if shown else -1
    return names, found


def _intersections(entries: Sequence[Entry]) -> tuple[int, NDArray[np.int64]]:
    """How many persons share each tuple of classes; who is not in a release has -1 there."""
    everyone = pc.unique(pa.chunked_array([e.who for e in entries])).drop_null()
    label = np.full((len(everyone), len(entries)), -1, np.int64)
    for j, entry in enumerate(entries):
        place = pc.index_in(entry.who, value_set=everyone).to_numpy(zero_copy_only=False)
        label[place, j] = entry.classes
    present = (label >= 0).any(axis=1)  # in no release at all: nothing to find
    _, groups = np.unique(label[present], axis=0, return_counts=True)
    return int(groups.min(initial=2**62)), groups.astype(np.int64)
