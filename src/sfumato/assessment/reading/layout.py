"""A release that is laid out otherwise: several columns in one, one column in several, one line per cell.

The same people in another layout are the same people. Columns that were put together are parted again, and
parts are put together, where the values then are the original's. A file with a line per cell, or a column
per person, is refused: it says nothing of rows until it is turned.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.assessment.reading.matching import plain
from sfumato.assessment.reading.same_values import is_number
from sfumato.errors import DataError, listed
from sfumato.table import Table

_ROWS = 1_000  # looked at, evenly spread over a file
_GLANCE = 50  # cells by which ways to put columns together are looked at first
_MANY = 50  # values that are not spellings of a single one
_MOST_PARTS = 200
_SURE = 0.98  # of the cells that fall into as many parts
_ENOUGH = 0.5  # of the parts, or of what was put together, with values of the original
_OPEN = 8  # columns at most that are put together in all ways

Cells = list[str | None]


def relaid(original: Table, released: Table) -> tuple[pa.Table | None, list[str]]:
    """The release in the original's layout, and what was done, in sentences; None where nothing was."""
    _require_rows_of_people(original, released)
    known = _Known(original)
    rows, notes = None, []
    for name in _unknown(known, released):
        rows = released.to_arrow() if rows is None else rows
        parts = _parted(known, rows, name)
        if parts:
            notes.append(
                f"In the release '{name}' holds several columns in one; it is read as {len(parts)} of them."
            )
            rows = _exchanged(rows, [name], parts)
    now = released if rows is None else Table.from_arrow(rows)
    open_ = [n for n in _unknown(known, now) if n not in known.columns]
    gone = [n for n in original.columns if n not in now.columns]
    if gone and 2 <= len(open_) <= _OPEN:
        rows = released.to_arrow() if rows is None else rows
        for name, used, cells in _joined(known, rows, open_, gone):
            rows = _exchanged(rows, used, {name: cells})
            notes.append(f"In the release {listed([repr(u) for u in used])} are parts of '{name}'.")
    return (rows if notes else None), notes


class _Known:
    """The values of the original's columns, as plain text (`plain`) where it is asked for."""

    def __init__(self, original: Table) -> None:
        self.columns = tuple(original.columns)
        cells = {n: pa.chunked_array([b.column(0) for b in original.batches([n])]) for n in self.columns}
        self._texts = {n: pc.unique(_texts(c)).drop_null() for n, c in cells.items()}
        self._plain: dict[str, dict[str, str]] = {}

    def values(self, name: str) -> dict[str, str]:
        """By its plain text, each value of a column."""
        if name not in self._plain:
            found: dict[str, str] = {}
            for v in self._texts[name].to_pylist():
                found.setdefault(plain(v), v)
            self._plain[name] = found
        return self._plain[name]

    def holds_one(self, name: str, cells: Sequence[str | None]) -> bool:
        """Whether some cell is a value of a column that has several: as it stands, or else as plain text."""
        there = pa.array([c for c in cells if c], pa.string())
        if len(self._texts[name]) > _MANY and pc.any(pc.is_in(there, value_set=self._texts[name])).as_py():
            return True
        return self.share(name, _counted(cells)) > 0

    def share(self, name: str, cells: Counter[str]) -> float:
        """Of the cells (`_counted`), how many are values of a column; 0 for a column of one value."""
        values, total = self.values(name), cells.total()
        if len(values) < 2 or not total:
            return 0.0
        return sum(n for c, n in cells.items() if c in values) / total


def _counted(cells: Sequence[str | None]) -> Counter[str]:
    """Cells as plain text, and how often each is there."""
    out: Counter[str] = Counter()
    for cell, n in Counter(c for c in cells if c).items():
        out[plain(cell)] += n
    return out


def _texts(cells: pa.ChunkedArray) -> pa.Array:
    text = pc.cast(cells.combine_chunks(), pa.string(), safe=False)
    return pc.replace_substring_regex(text, r"\.0+$", "") if is_number(cells.type) else text


def _some(cells: pa.ChunkedArray) -> Cells:
    step = max(1, len(cells) // _ROWS)
    out: Cells = _texts(cells.take(pa.array(np.arange(0, len(cells), step)))).to_pylist()
    return out


def _unknown(known: _Known, released: Table) -> Iterator[str]:
    """Released columns that hold text or numbers and not the values of a column of their name."""
    for name in released.columns:
        cells = pa.chunked_array([b.column(0) for b in released.batches([name])])
        if pa.types.is_nested(cells.type) or not len(cells):
            continue
        if name not in known.columns or not known.holds_one(name, _some(cells)):
            yield name


def _exchanged(rows: pa.Table, old: Sequence[str], new: Mapping[str, pa.Array]) -> pa.Table:
    rows = rows.drop_columns(list(old))
    for name, cells in new.items():
        free = name if name not in rows.column_names else f"{name} (part)"
        rows = rows.append_column(free, cells)
    return rows


# -- several columns in one ------------------------------------------------------------------------


def _parted(known: _Known, rows: pa.Table, name: str) -> dict[str, pa.Array]:
    """The parts of a column that holds at least two of the original's, by the way that shows most of them."""
    cells = rows.column(name)
    if not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
        return {}
    some = [c for c in _some(cells) if c]
    best: tuple[float, str] = (1.0, "")
    for way in _ways(some):
        split = [s for s in (_split(c, way) for c in some) if s]
        width = Counter(map(len, split)).most_common(1)
        if not width or not 1 < width[0][0] <= _MOST_PARTS or width[0][1] < _SURE * len(some):
            continue
        columns = list(zip(*(s for s in split if len(s) == width[0][0]), strict=True))
        found = _recognized(known, columns)
        best = max(best, (found, way), key=lambda b: b[0])
    return _apart(cells, name, best[1]) if best[1] else {}


def _ways(cells: Sequence[str]) -> Iterator[str]:
    """Ways to part cells: as JSON, at a sign that all of them have as often, where digits meet letters."""
    if all(c.strip()[:1] in "{[" for c in cells):
        yield "json"
    signs = Counter(s for c in cells for s in set(c) if not s.isalnum())
    for sign, many in signs.most_common(12):
        if many >= _SURE * len(cells):
            yield sign
    yield "digits"


def _split(cell: str, way: str) -> list[str]:
    if way == "json":
        try:
            found = json.loads(cell)
        except ValueError:
            return []
        values = found.values() if isinstance(found, dict) else found if isinstance(found, list) else []
        return ["" if v is None else str(v) for v in values]
    if way == "digits":
        return re.findall(r"\d+(?:\.\d+)?|[^\d]+", cell)
    return [part.strip(" '\"") for part in cell.split(way)]


def _recognized(known: _Known, columns: Sequence[Sequence[str]]) -> float:
    """How many columns of the original are among the parts, each part being one at most."""
    open_, found = list(known.columns), 0
    for part in columns:
        counted = _counted(part)
        shares = {n: known.share(n, counted) for n in open_}
        best = max(shares, key=lambda n: shares[n], default="")
        if best and shares[best] >= _ENOUGH and len(set(part)) > 1:
            found += 1
            open_.remove(best)
    return float(found)


def _apart(cells: pa.ChunkedArray, name: str, way: str) -> dict[str, pa.Array]:
    split = [_split(c, way) if c else [] for c in _texts(cells).to_pylist()]
    width = Counter(len(s) for s in split if s).most_common(1)[0][0]
    parts = {}
    for i in range(width):
        values = pa.array([s[i] if len(s) == width else None for s in split], pa.string())
        if len(pc.unique(values.drop_null())) > 1:  # what is the same everywhere says nothing
            parts[f"{name} [{i + 1}]"] = _typed(values)
    return parts


def _typed(values: pa.Array) -> pa.Array:
    """Numbers as numbers, unless zeros before them say that they are names."""
    there = pc.replace_substring_regex(values, r"^$", "?").drop_null()
    if pc.any(pc.match_substring_regex(there, r"^0\d")).as_py():
        return values
    for kind in (pa.int64(), pa.float64()):
        try:
            return pc.cast(pc.if_else(pc.equal(values, ""), None, values), kind)
        except pa.ArrowInvalid:
            continue
    return values


# -- one column in several -------------------------------------------------------------------------


def _joined(
    known: _Known, rows: pa.Table, open_: Sequence[str], gone: Sequence[str]
) -> Iterator[tuple[str, list[str], pa.Array]]:
    """Columns of the original that two or three released ones make together, with their cells."""
    left, some = list(open_), {n: _some(rows.column(n)) for n in open_}
    few = {n: cells[:: max(1, len(cells) // _GLANCE)] for n, cells in some.items()}
    glances: dict[tuple[str, ...], Counter[str]] = {}
    for name in gone:
        found = []
        for way in (w for size in (2, 3) for w in permutations(left, size)):
            if way not in glances:
                glances[way] = _counted(_together([few[n] for n in way]))
            if known.share(name, glances[way]) >= _ENOUGH / 2:  # few cells tell most ways that lead nowhere
                found.append((known.share(name, _counted(_together([some[n] for n in way]))), way))
        share, used = max(found, key=lambda f: f[0], default=(0.0, ()))
        if share >= _ENOUGH:
            values = known.values(name)
            every = _together([_texts(rows.column(n)).to_pylist() for n in used])
            cells = [None if c is None else values.get(plain(c), c) for c in every]
            left = [c for c in left if c not in used]
            yield name, list(used), _typed(pa.array(cells, pa.string()))


def _together(columns: Sequence[Cells]) -> Cells:
    """The cells put together; numbers after the first as long as the longest of them."""
    parts = []
    for i, cells in enumerate(columns):
        longest = max((len(c) for c in cells if c), default=0)
        digits = i > 0 and all(c.isdigit() for c in cells if c)
        parts.append([c.zfill(longest) if c is not None and digits else c for c in cells])
    return [
        None if any(c is None for c in cell) else "".join(str(c) for c in cell)
        for cell in zip(*parts, strict=True)
    ]


# -- one line per cell -----------------------------------------------------------------------------


def _require_rows_of_people(original: Table, released: Table) -> None:
    """Refuse a file in which a column holds the original's column names."""
    names = {plain(n) for n in original.columns if len(n) > 1}
    if len(names) < 2:
        return
    for name in released.columns:
        cells = pa.chunked_array([b.column(0) for b in released.batches([name])])
        if not (pa.types.is_string(cells.type) or pa.types.is_dictionary(cells.type)):
            continue
        found = {plain(v) for v in pc.unique(_texts(cells)).drop_null().to_pylist()[: 10 * len(names) + 10]}
        if len(found & names) >= max(2, len(names) / 2) and len(found & names) > 0.5 * len(found):
            raise DataError(
                f"the release has no row per person: its column '{name}' holds the names of the original's "
                "columns.",
                hint="turn it so that each person is a row and each variable a column, then assess it again",
            )
