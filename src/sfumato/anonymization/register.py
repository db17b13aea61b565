"""Earlier releases of the same people: two files that are each k-anonymous need not be so together.

Whoever holds both knows of a person the class in each, and looks for them in the intersection. So a release
is refused unless every non-empty intersection of its classes with those of all earlier releases holds k
persons. A coarsening of an earlier release passes: its intersections are the earlier classes. Where people
come and go, "not in that release" counts as one more class (as in m-invariance: who is new, or gone, must
not be few). What was asked of a sensitive column is asked of every intersection too, of the values each
release tells of its persons: else both together tell what neither does alone.

Guarantee: an intruder with all releases in the register, and the quasi-identifiers of a person in each,
           is left with k persons, k the smallest any of them was made with; and the values these persons have
           in a sensitive column are as diverse, or as close to the whole, as the weakest of what all releases
           that have the column were asked for.
Because:   what such an intruder can tell apart is the tuple of classes, and every tuple that occurs is held
           by k persons whose values satisfy (`check`), each time a release is added.
Assumes:   all releases of these people are in the register, under ids that stay the same; without a column
           of persons: the same rows in the same order. Releases that have a sensitive column and asked
           nothing of it promise nothing of it together (a warning says so); t-closeness by a hierarchy is
           not compared. The intruder does not know how a person's value changes from release to release.
Tested by: tests/anonymization/test_register.py
"""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sfumato.anonymization.intersections import (
    Intersections,
    RegisterEntry,
    ReleasedValues,
    demands_of,
    gathered,
)
from sfumato.anonymization.suppression import FinalClasses
from sfumato.anonymization.writer import Writer
from sfumato.counts import person_ids, representatives
from sfumato.errors import DataError, ParameterError, SfumatoWarning, listed
from sfumato.io.atomic import atomic_file, owner_only
from sfumato.release import read_key, write_key
from sfumato.schema import Column, Role
from sfumato.seeds import Key
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.anonymization.request import Request

_KEY = "register.key"
_ROWS = "rows"
_PERSONS = "persons"


@dataclass(frozen=True)
class Register:
    """A folder that must not leave the house: one file per release, and the key of its pseudonyms.

    >>> people = sf.samples.members(100).select(["id", "sex", "region"])
    >>> people = people.with_schema(people.schema.with_("id", role="person"))
    >>> asked = {"hierarchies": dict.fromkeys(["sex", "region"], sf.hierarchy.Suppression())}
    >>> first = sf.anonymize(people, sf.KAnonymity(5), register=sf.Register("register"), **asked)
    >>> second = sf.anonymize(people, sf.KAnonymity(50), register=sf.Register("register"), **asked)
    >>> second.guarantee.claims[0].title
    'k-anonymity with k = 100 persons'
    """

    folder: str | Path

    def check(
        self, table: Table, settled: FinalClasses, asked: Request, key: Key | None = None
    ) -> RegisterEntry:
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
        self._refuse([*earlier, entry])
        return entry

    def _refuse(self, entries: list[RegisterEntry]) -> None:
        """The last of these, if the others make it tell too much; all reasons at once."""
        found = Intersections(entries)
        k = min(e.k for e in entries)
        faults = []
        small = int((found.sizes < k).sum())
        if small:
            faults.append(f"{small} groups of fewer than {k} persons, the smallest of {found.sizes.min()}")
        common, lost = found.common_demands()
        for asked in common:
            broken = found.broken(asked)
            if broken:
                faults.append(f"{broken} groups of persons without {asked.describe()}")
        earlier = len(entries) - 1
        if faults:
            raise ParameterError(
                f"together with {earlier} earlier release{'s' * (earlier > 1)} this one would "
                f"leave {', and '.join(faults)}.",
                hint="release a coarsening of the earlier one (higher levels for the same columns)",
            )
        if lost:
            warnings.warn(
                f"not all releases that have {listed([repr(c) for c in lost])} asked the same of it: each "
                "keeps its own promise about it, all together make none.",
                SfumatoWarning,
                stacklevel=5,
            )

    def add(self, entry: RegisterEntry) -> None:
        """Write an entry down."""
        folder = self._made()
        number = len(list(folder.glob("release-*.parquet"))) + 1
        table = pa.table({"who": entry.who, "class": pa.array(entry.classes), **_listed(entry)})
        levels = {c: v.levels for c, v in entry.values.items()}
        said = {"published": entry.published, "demands": entry.demands, "levels": levels}
        table = table.replace_schema_metadata({"k": str(entry.k), "by": entry.by, "more": json.dumps(said)})
        with atomic_file(folder / f"release-{number:04d}.parquet", private=True) as draft:
            pq.write_table(table, draft)

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
        with atomic_file(folder / f"release-{len(there) + 1:04d}.parquet", private=True) as draft:
            draft.write_bytes(last)

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

    def _entries(self) -> Iterator[RegisterEntry]:
        folder = Path(self.folder)
        for path in sorted(folder.glob("release-*.parquet")) if folder.is_dir() else ():
            try:
                table = pq.read_table(path)
                said = table.schema.metadata
                yield RegisterEntry(
                    table["who"].combine_chunks(),
                    table["class"].to_numpy(),
                    int(said[b"k"]),
                    said[b"by"].decode(),
                    **_more(table, said.get(b"more")),
                )
            except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
                raise DataError(f"{path.name} in the register cannot be read.", hint="restore it") from None

    def _entry(self, table: Table, settled: FinalClasses, asked: Request, key: Key) -> RegisterEntry:
        person = next(iter(table.schema.of_role(Role.PERSON)), None)
        counted = asked.by_value()
        writer = Writer.of(table, settled, key.derive("anonymization", "pieces"))
        demands = demands_of(asked.criterion)
        columns = tuple(dict.fromkeys(d["column"] for d in demands))
        books = counted.codebooks(columns) if columns else {}
        same = {c: representatives(book) for c, book in books.items()}
        labels: list[pa.Table] = []
        shown: list[pa.Table] = []
        ids = self._key() if person is not None else None
        for label, batch in writer.labels(counted, (person, *columns) if person else columns):
            who = (
                _ids(table.schema[person], batch.column(0), ids)
                if person and ids is not None
                else _numbers(labels, len(label))
            )
            labels.append(pa.table({"who": who, "class": pa.array(label)}))
            codes = {c: pa.array(same[c][books[c].encode(batch.column(c))]) for c in columns}
            shown.append(pa.table({"who": who, **codes}).filter(pa.array(label >= 0)))
        by = _ROWS if person is None else _PERSONS
        names, classes = _as_rows(labels) if person is None else _by_person(labels)
        values = {
            c: gathered([t.select(["who", c]) for t in shown], names, c, books[c].size) for c in columns
        }
        return RegisterEntry(names, classes, asked.criterion.k, by, tuple(asked.released), demands, values)


def _ids(column: Column, ids: pa.Array, key: Key) -> pa.Array:
    from sfumato.pseudonyms import pseudonyms

    return pc.fill_null(pseudonyms(person_ids(column, ids), key.derive("register")), "")


def _numbers(before: Sequence[pa.Table], rows: int) -> pa.Array:
    start = sum(t.num_rows for t in before)
    return pa.array(np.arange(start, start + rows))


def _as_rows(parts: Sequence[pa.Table]) -> tuple[pa.Array, NDArray[np.int64]]:
    if not parts:
        return pa.array([], pa.int64()), np.empty(0, np.int64)
    table = pa.concat_tables(parts)
    return table["who"].combine_chunks(), table["class"].to_numpy()


def _listed(entry: RegisterEntry) -> dict[str, pa.Array]:
    """The values of each person as lists: codes, and how often each."""
    found = {}
    for column, values in entry.values.items():
        order = np.argsort(values.who, kind="stable")
        ends = np.append(0, np.cumsum(np.bincount(values.who, minlength=len(entry.who)))).astype(np.int32)
        for name, cells in (("code", values.code), ("n", values.n)):
            found[f"{name}:{column}"] = pa.ListArray.from_arrays(pa.array(ends), pa.array(cells[order]))
    return found


def _more(table: pa.Table, said: bytes | None) -> dict[str, Any]:
    """What earlier versions did not write down."""
    if said is None:
        return {}
    told = json.loads(said)
    values = {}
    for column, levels in told["levels"].items():
        code, n = (table[f"{name}:{column}"].combine_chunks() for name in ("code", "n"))
        lengths = pc.list_value_length(code).to_numpy(zero_copy_only=False)
        values[column] = ReleasedValues(
            np.repeat(np.arange(len(lengths)), lengths),
            code.flatten().to_numpy(zero_copy_only=False),
            n.flatten().to_numpy(zero_copy_only=False),
            int(levels),
        )
    return {"published": tuple(told["published"]), "demands": tuple(told["demands"]), "values": values}


def _by_person(parts: Sequence[pa.Table]) -> tuple[pa.Array, NDArray[np.int64]]:
    """Each person once. Someone in several classes is known by all of them: each such set has a number."""
    pairs = [t.group_by(["who", "class"]).aggregate([]) for t in parts]
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
