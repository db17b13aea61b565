"""All persons, group by group with all their rows: from tables that are read once, in bounded memory.

Bound:   the memory of one group, of the keys of parents (`database.people`), and of what is counted.
Because: a row becomes numbers as it is read, and goes to the group of its person; where there are several
         groups they lie in a file, and one is read at a time.
Limits:  as much space in the temporary folder as those numbers take (eight bytes a column), in a file
         without a name, of which nothing is left when the process ends.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from sfumato.errors import OutputError
from sfumato.progress import report
from sfumato.synthesis.people.axes import Ints
from sfumato.synthesis.people.found_axes import AxesFound
from sfumato.synthesis.people.records import (
    Axes,
    Chunk,
    PackedRows,
    RowForm,
    arranged,
    forms_of,
    require_few,
)
from sfumato.synthesis.people.tallies import PersonQuestion, Tally

if TYPE_CHECKING:
    from sfumato.synthesis.people.structure import TableTree

_PERSONS, _GROUPS = 50_000, 256  # persons of a group; groups at most: beyond, groups are larger


class Persons(Protocol):
    """All persons, wherever their rows are: whoever has them can be asked."""

    @property
    def axes(self) -> Axes:
        """The levels and bins of every column."""
        ...

    def count(self, question: PersonQuestion[Tally]) -> Tally:
        """What it is of all persons together."""
        ...


def axes_here(structure: TableTree) -> Axes:
    """What is declared; what is not is read off the data."""
    axes: Axes = {}
    for branch in structure.branches:
        found = AxesFound.of(branch)
        if found.columns:
            found.read(structure.database[branch.name].batches(list(found.columns)))
        axes[branch.name] = found.axes(branch)
        require_few(branch, axes[branch.name])
    return axes


class PersonChunks:
    """Persons whose rows were read here.  bounds: the most rows of a parent that count."""

    def __init__(self, structure: TableTree, bounds: Mapping[str, int]) -> None:
        database = structure.database.check()
        self.axes = axes_here(structure)
        self._forms, self._bounds = forms_of(structure, self.axes), bounds
        persons = database.people.count
        self._size = max(_PERSONS, -(-persons // _GROUPS))
        self._groups = max(1, -(-persons // self._size))
        self._held: dict[str, PackedRows] = {}
        self._parted = GroupFile() if self._groups > 1 else None
        for name, form in self._forms.items():
            parts = []
            for batch, numbers in database.people.batches(name, form.columns):
                rows = form.packed(batch)
                if self._parted is None:
                    parts.append(rows)
                else:
                    self._parted.add(name, rows, np.maximum(numbers, 0).astype(np.int64) // self._size)
            if self._parted is None:
                self._held[name] = PackedRows.together([form.none(), *parts])

    def count(self, question: PersonQuestion[Tally]) -> Tally:
        """What it is of all persons together."""
        found = question(self._chunk(0))
        for group in range(1, self._groups):
            report("counting persons", group, self._groups)
            found = found.plus(question(self._chunk(group)))
        return found

    def _chunk(self, group: int) -> Chunk:
        if self._parted is None:
            return arranged(self._forms, self._held, self._bounds)
        packed = {n: self._parted.read(n, form, group) for n, form in self._forms.items()}
        return arranged(self._forms, packed, self._bounds)


class GroupFile:
    """Rows of persons by table and group, in a file without a name, gone when the process ends."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="sfumato-")  # noqa: SIM115 - closed with this object
        self._places: dict[tuple[str, int], list[tuple[int, int]]] = {}
        self._end = 0
        weakref.finalize(self, self._file.close)

    def add(self, name: str, rows: PackedRows, groups: Ints) -> None:
        """Further rows, in the order of the data.  groups: (rows,) the group of each."""
        order = np.argsort(groups, kind="stable")
        first = np.flatnonzero(np.diff(groups[order], prepend=-1))
        for at in np.split(order, first[1:]):
            if len(at):
                part = packed_bytes(rows.take(at))
                self._write(part)
                self._places.setdefault((name, int(groups[at[0]])), []).append((self._end, len(part)))
                self._end += len(part)

    def _write(self, part: bytes) -> None:
        try:
            self._file.write(part)
            self._file.flush()
        except OSError as error:
            raise OutputError(
                f"the rows of persons could not be put aside in the temporary folder ({error.strerror}).",
                hint="name a folder with more room in TMPDIR",
            ) from None

    def read(self, name: str, form: RowForm, group: int) -> PackedRows:
        """All rows of a table in a group."""
        parts = [form.none()]
        for place, size in self._places.get((name, group), ()):
            self._file.seek(place)
            parts.append(unpacked(self._file.read(size)))
        return PackedRows.together(parts)


def packed_bytes(rows: PackedRows) -> bytes:
    """Rows as bytes."""
    ids = {n: i for n, i in (("key", rows.key), ("parent", rows.parent)) if i is not None}
    cells = {f"c{j}": pa.array(np.ascontiguousarray(c)) for j, c in enumerate(rows.cells.T)}
    out = pa.BufferOutputStream()
    table = pa.table({**ids, **cells})
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return bytes(out.getvalue())


def unpacked(raw: bytes) -> PackedRows:
    """And back."""
    table = pa.ipc.open_stream(raw).read_all()
    names = [n for n in table.column_names if n not in ("key", "parent")]
    key, parent = (table[n].combine_chunks() if n in table.column_names else None for n in ("key", "parent"))
    return PackedRows(key, parent, np.stack([table[n].to_numpy() for n in names], axis=1))
