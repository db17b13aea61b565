"""Numbers and names of records that are still in the release, under any column's name and in any disguise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.assessment.copies.disguises import disguises
from sfumato.assessment.reading.same_values import as_text, is_number, same_text
from sfumato.schema import Kind, Role
from sfumato.table import Table

_NAMES_RECORDS = (Role.IDENTIFIER, Role.PERSON)
_SHARE = 0.5  # different values per row from which a column names records
_REMEMBERED = 4_000_000  # cells of released columns that are kept while all identifiers are looked for
_SURE = 5.0  # standard errors by which rows joined by a running number must agree more than others


@dataclass(frozen=True)
class Survivor:
    """An identifier of the original that released cells hold.

    rows: released rows that hold one, of `released`. p: the chance of as many by chance.
    written: the disguise, if it is in one.
    """

    original: str
    column: str
    rows: int
    released: int
    p: float
    written: str = ""

    @property
    def share(self) -> float:
        """Of the released rows."""
        return self.rows / self.released


def survivors(original: Table, released: Table, control: Table | None) -> list[Survivor]:
    """Every identifier of the original against every column of the release that could hold it."""
    named = list(_naming(original))
    if not named:
        return []
    held = [n for n in released.columns if _could_hold(released, n)]
    small = len(held) * released.rows() <= _REMEMBERED
    known = {n: _cells(released, n) for n in held} if small else {}  # read once for all identifiers
    written = _Written(known.values())
    found = []
    for name in named:
        other = control if control is not None and name in control.schema else None
        people = [_cells(t, name) for t in (original, other) if t is not None]
        mine = _Written(people)
        for column in dict.fromkeys([*([name] if name in released.schema else []), *held]):
            cells = known[column] if column in known else _cells(released, column)
            way = _way([*people, cells])
            texts = [*(mine.text(p, way) for p in people), written.text(cells, way)]
            survivor = _survives(original, released, texts, name, column)
            if survivor is not None:
                found.append(survivor)
    return found


def _naming(table: Table) -> Iterator[str]:
    rows = table.rows()
    for column in table.schema:
        names = column.kind in (Kind.NOMINAL, Kind.TEXT) and not column.declared and rows > 1
        if column.role in _NAMES_RECORDS or (
            names and len(pc.unique(_cells(table, column.name))) > _SHARE * rows
        ):
            yield column.name


def _could_hold(table: Table, name: str) -> bool:
    cells = _cells(table, name)
    return table.schema[name].role is not Role.WEIGHT and len(pc.unique(cells)) > _SHARE * len(cells)


def _cells(table: Table, name: str) -> pa.ChunkedArray:
    return pa.chunked_array([b.column(0) for b in table.batches([name])])


def _survives(
    original: Table,
    released: Table,
    texts: list[pa.Array],
    name: str,
    column: str,
) -> Survivor | None:
    """By the disguise that shows most: its chance pays for all that were tried.

    texts: the identifiers of the original, of the control if there is one, and the cells of the release.
    """
    found, tried = [], 0
    # A column that the original has too has a meaning of its own: charges are no identifiers backwards. Nor
    # are running numbers hidden by anything: everyone's file has those.
    plain = (column != name and column in original.schema) or _runs(pc.unique(texts[0]).drop_null())
    for written, ids, there in disguises(texts[:-1], texts[-1]):
        tried += 1
        survivor = _seen(original, released, ids, there, name, column)
        if survivor is not None:
            found.append(replace(survivor, written=written))
        if plain:  # before the next disguise is put on
            break
    best = min(found, key=lambda s: s.p, default=None)
    return None if best is None else replace(best, p=min(1.0, best.p * tried))


_Way = tuple[bool, bool, bool]


class _Written:
    """Columns as text, each written once for all it is compared with."""

    def __init__(self, known: Iterable[pa.ChunkedArray]) -> None:
        self._known = {id(cells): cells for cells in known}
        self._kept: dict[tuple[int, _Way], pa.Array] = {}

    def text(self, cells: pa.ChunkedArray, way: _Way) -> pa.Array:
        """One column, known or not. way: as `_way` says."""
        if (id(cells), way) in self._kept:
            return self._kept[id(cells), way]
        whole, numbers, flags = way
        text = _flat(pc.cast(cells, pa.string()) if whole else as_text(cells, numbers, flags))
        if id(cells) in self._known:
            self._kept[id(cells), way] = text
        return text


def _way(parts: Iterable[pa.ChunkedArray]) -> _Way:
    """How columns are written so that equal cells are equal text: as they are, or as numbers or flags.

    Whole numbers are written to the last digit, which numbers with a point are not.
    """
    kinds = [p.type for p in parts]
    whole = all(pa.types.is_integer(k) or pa.types.is_string(k) for k in kinds)
    return whole, any(map(is_number, kinds)), any(map(pa.types.is_boolean, kinds))


def _seen(
    original: Table, released: Table, people: list[pa.Array], cells: pa.Array, name: str, column: str
) -> Survivor | None:
    """people: the identifiers of the original, and of the control if there is one."""
    from scipy.stats import binom, hypergeom

    ids, there = (pc.unique(t).drop_null() for t in (people[0], cells))
    if not len(ids) or not len(there):
        return None
    rows = _held(cells, ids)
    if not rows or (_runs(there) and not _joined(original, released, people[0], cells, {name, column})):
        return None
    if len(people) > 1:
        met, sizes = [_held(t, there) for t in people], [len(t) for t in people]
        p = float(hypergeom.sf(met[0] - 1, sum(sizes), sum(met), sizes[0]))
    else:
        p = float(binom.sf(rows - 1, len(cells), _density(ids)))
    return Survivor(name, column, rows, len(cells), p)


def _held(cells: pa.Array, values: pa.Array) -> int:
    return int(pc.sum(pc.is_in(cells, value_set=values, skip_nulls=True)).as_py() or 0)


def _flat(text: pa.Array | pa.ChunkedArray) -> pa.Array:
    return text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text


def _wholes(texts: pa.Array) -> NDArray[np.int64] | None:
    if not pc.all(pc.match_substring_regex(texts, r"^\d{1,15}(\.0)?$")).as_py():
        return None
    return np.asarray(pc.cast(pc.cast(texts, pa.float64()), pa.int64()).to_numpy(zero_copy_only=False))


def _density(ids: pa.Array) -> float:
    """The chance to hit an id with a number of their range; names are not hit by chance."""
    numbers = _wholes(ids)
    if numbers is None:
        return 1e-9
    return min(0.999, len(ids) / (int(numbers.max()) - int(numbers.min()) + 1))


def _runs(values: pa.Array) -> bool:
    """Whether they are running numbers, as a program gives to rows: everyone's file has those."""
    numbers = _wholes(values)
    return numbers is not None and int(numbers.min()) in (0, 1) and int(numbers.max()) <= len(numbers)


def _joined(original: Table, released: Table, ids: pa.Array, numbers: pa.Array, apart: set[str]) -> bool:
    """Whether rows with the same running number agree more than rows at random: then it is no row number."""
    at = pc.index_in(numbers, value_set=ids, skip_nulls=True)
    row = at.fill_null(-1).to_numpy(zero_copy_only=False)
    here = np.flatnonzero(row >= 0)
    shuffled = np.roll(row[here], max(1, len(here) // 2))
    for name in original.columns:
        if name not in released.schema or name in apart:
            continue
        first, second = (_flat(t) for t in same_text([_cells(original, name), _cells(released, name)]))
        mine = pc.fill_null(pc.equal(second.take(pa.array(here)), first.take(pa.array(row[here]))), False)
        other = pc.fill_null(pc.equal(second.take(pa.array(here)), first.take(pa.array(shuffled))), False)
        a, b = (float(np.asarray(x.to_numpy(zero_copy_only=False), float).mean()) for x in (mine, other))
        spread = np.sqrt(max(1e-12, (a * (1 - a) + b * (1 - b)) / len(here)))
        if a - b > _SURE * spread and len(here) > 1:
            return True
    return False
