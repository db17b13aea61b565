"""Which released column is which of the original, and what its values are called there: judged by the values.

A release may rename columns, write 'MALE' for 'male', 1 for 'male', or inches for centimetres, and hold the
same people. So columns are matched by name, then by values; a column whose values are not the original's is
read through the spelling, the code or the scale that explains it best, if one does. What is generalized ('*',
'[20, 30)') or merely noisy is left as it is.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.assessment.reading import curves
from sfumato.assessment.reading.curves import ALIKE, distance, scale_of
from sfumato.assessment.reading.leaves import Leaves
from sfumato.assessment.reading.same_values import is_number, same_text
from sfumato.assessment.reading.units import numbers_in
from sfumato.table import Table

Floats = NDArray[np.float64]
Levels = dict[str, float]  # a value and its share

_ROWS = 20_000  # looked at, evenly spread over a file
_ENOUGH = 0.5  # of the released cells with values of the original: then they are its values
_MANY = 100  # rows from which shares of values tell which is which
_COUNTS = 0.002  # the share from which a value counts
_MOST_CODES = 200  # values a recoded column has at most


@dataclass(frozen=True)
class ColumnMatch:
    """One released column as a column of the original.

    values: what released values are called there. scale, grid: see `curves.on_scale`.
    moved: the column keeps its name and its kind of values, but they are others: an intruder who understands
        may undo it, whoever uses the file in good faith will not.
    learnt: what its values mean was learnt from the original's people, by how many have them.
    """

    released: str
    original: str
    values: Mapping[str, str] = field(default_factory=dict)
    scale: tuple[float, float] | None = None
    grid: tuple[float, ...] = ()
    moved: bool = False
    learnt: bool = False

    @property
    def sentence(self) -> str:
        """What was understood, for the notes."""
        name = f"'{self.released}'"
        said = [] if self.released == self.original else [f"is read as '{self.original}'"]
        if self.values:
            pairs = [f"{a!r} as {b!r}" for a, b in list(self.values.items())[:3]]
            pairs += ["..."] * (len(self.values) > 3)
            said.append(f"its values are read as the original's ({', '.join(pairs)})")
        said += [curves.said(self.scale)] if self.scale else []
        only = "; by intruders only, utility is that of the values as they are written" * self.moved
        return f"In the release {name} {' and '.join(said)}, judged by the values{only}."


def match_columns(
    original: Table,
    released: Table,
    meanings: Mapping[str, Mapping[str, object]] | None = None,
    *,
    half: bool = False,
) -> list[ColumnMatch]:
    """Every released column that has to be read anew; those that stand as they are are not listed.

    meanings: what generalized values stand for, by column: these are no codes. half: whether what values mean
    is learnt from every other row of the original, from the first one on.
    """
    first, second = _Sample(original, half=half), _Sample(released, meanings or {})
    same = _by_name(original.columns, released.columns)
    rest = [c for c in released.columns if c not in same]
    open_ = [c for c in original.columns if c not in same.values()]
    pairs = dict(same)
    for score, theirs, ours in sorted(
        ((_likeness(first, second, o, r), r, o) for r in rest for o in open_), key=lambda t: -t[0]
    ):
        if score > 1 - 2 * ALIKE and theirs not in pairs and ours not in pairs.values():
            pairs[theirs] = ours
    found = {r: _read(first, second, o, r, ()) for r, o in pairs.items()}
    # Codes are read by what stands beside them: first by values that need no code, then by the codes so read.
    for coded in (False, True) if any(m.values for m in found.values()) else ():
        anchors = [
            m
            for m in found.values()
            if (coded and m.values) or first.shared(m.original, second, m.released) >= _ENOUGH
        ]
        found |= {
            r: _read(first, second, m.original, r, [a for a in anchors if a.released != r])
            for r, m in found.items()
            if m.values
        }
    read = [m for m in found.values() if m.released != m.original or m.values or m.scale]
    return [replace(m, moved=m.released in same and _moved(first, second, m)) for m in read]


def _moved(first: _Sample, second: _Sample, match: ColumnMatch) -> bool:
    """Whether a column's own values, or its numbers, stand for others of the same column."""
    numbers = (first.numbers(match.original), second.numbers(match.released))
    if all(n is not None for n in numbers):
        return bool(match.scale or match.values)
    return bool(match.values) and match.values.keys() <= first.levels(match.original).keys()


def understood(released: Table, matches: Sequence[ColumnMatch]) -> pa.Table:
    """The released rows under the original's names, values and scales."""
    rows = released.to_arrow()
    names, columns = list(rows.column_names), list(rows.columns)
    taken = {m.original: m.released for m in matches}
    for i, name in enumerate(rows.column_names):
        found = next((m for m in matches if m.released == name), None)
        if found is None:
            if name in taken:  # the name of a column that is another one
                names[i] = f"{name} (as released)"
            continue
        names[i] = found.original
        columns[i] = _translated(columns[i], found)
    return pa.table(columns, names=names)


def _translated(cells: pa.ChunkedArray, match: ColumnMatch) -> pa.ChunkedArray:
    if match.scale:
        return curves.on_scale(cells, match.scale, match.grid)
    if not match.values:
        return cells
    text = same_text([cells])[0]
    old = pa.array(list(match.values), pa.string())
    at = pc.index_in(text, value_set=old)
    return pc.coalesce(pa.array(list(match.values.values()), pa.string()).take(at), text)


# -- what is in a column -------------------------------------------------------------------------


class _Sample:
    """Evenly spread rows of a file, column by column as they are asked for."""

    def __init__(
        self,
        table: Table,
        meanings: Mapping[str, Mapping[str, object]] | None = None,
        half: bool = False,
    ) -> None:
        self.columns = tuple(table.columns)
        self.meanings = meanings or {}
        step = max(1, math.ceil(table.rows() / _ROWS))
        kept, seen = [], 0
        for batch in table.batches(self.columns):
            start = -seen % step
            kept.append(batch.take(pa.array(np.arange(start, batch.num_rows, step))))
            seen += batch.num_rows
        empty = pa.table({n: pa.array([], pa.string()) for n in self.columns})
        self.rows = pa.Table.from_batches(kept) if kept else empty
        self._levels: dict[str, Levels] = {}
        self._leaves: dict[str, Leaves] = {}
        self._odd = half and step % 2 == 1  # whether it holds rows that nothing may be learnt from

    @cached_property
    def learning(self) -> _Sample:
        """The rows from which it may be learnt what values mean."""
        if not self._odd:
            return self
        other = copy(self)
        other.rows = self.rows.take(pa.array(np.arange(0, self.rows.num_rows, 2)))
        other._levels, other._leaves, other._odd = {}, {}, False
        return other

    def text(self, name: str) -> pa.Array:
        """The cells as text."""
        text = same_text([self.rows.column(name)])[0]
        return text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text

    def levels(self, name: str) -> Levels:
        """The values and their shares of the cells that are not missing."""
        if name not in self._levels:
            counted = pc.value_counts(self.text(name).drop_null())
            total = max(1, pc.sum(counted.field("counts")).as_py() or 0)
            self._levels[name] = {
                v: n / total
                for v, n in zip(
                    counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True
                )
            }
        return self._levels[name]

    def numbers(self, name: str) -> Floats | None:
        """The cells as numbers, days for dates; None where they are names."""
        cells = self.rows.column(name)
        if pa.types.is_temporal(cells.type):
            cells = pc.cast(pc.cast(cells, pa.timestamp("us"), safe=False), pa.int64())
        elif not is_number(cells.type):
            return None
        out = pc.cast(cells, pa.float64(), safe=False).drop_null().to_numpy()
        return out[np.isfinite(out)] if len(out) else None

    def measures(self, name: str) -> dict[str, float]:
        """The number of each text: of numbers, and of texts that hold one ('34 years'); else nothing."""
        if is_number(self.rows.column(name).type):
            return {v: float(v) for v in self.levels(name)}
        return numbers_in(self.levels(name))

    def shared(self, name: str, other: _Sample, theirs: str) -> float:
        """The share of the other file's cells with values that are here too, or that are general."""
        here, known, leaves = self.levels(name), other.meanings.get(name, {}), self.leaves(name)
        levels = other.levels(theirs).items()
        return sum(share for v, share in levels if v in here or v in known or leaves.general(v))

    def leaves(self, name: str) -> Leaves:
        """The values of a column, to ask which of them a general one stands for."""
        if name not in self._leaves:
            self._leaves[name] = Leaves(list(self.levels(name)))
        return self._leaves[name]


def plain(text: str) -> str:
    """Text without case, accents, spaces and punctuation: '  M\u00e4nnlich ' is 'mannlich'; 01.0 is 1."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    kept = "".join(c for c in folded if not unicodedata.combining(c))
    kept = re.sub(r"\.0+$", "", kept.strip())
    return re.sub(r"[\s_\-./,;:'\"()]+", "", kept).lstrip("0") or "0"


def _by_name(original: Sequence[str], released: Sequence[str]) -> dict[str, str]:
    """Released columns with the original's name; then with one that differs in spelling only."""
    same = {c: c for c in released if c in original}
    spelt: dict[str, list[str]] = {}
    for c in original:
        spelt.setdefault(plain(c), []).append(c)
    for c in released:
        ours = spelt.get(plain(c), [])
        if c not in same and len(ours) == 1 and ours[0] not in same.values():
            same[c] = ours[0]
    return same


# -- how alike two columns are -------------------------------------------------------------------


def _likeness(first: _Sample, second: _Sample, ours: str, theirs: str) -> float:
    """From 0 to 1: the same values about as often; else numbers, or shares, that are distributed alike."""
    a, b = first.levels(ours), second.levels(theirs)
    if not a or not b:
        return 0.0
    common = sum(min(share, b[v]) for v, share in a.items() if v in b)
    x, y = first.numbers(ours), second.numbers(theirs)
    if x is not None and y is not None and len(a) > 2:
        apart = distance(x, y)
        if apart > ALIKE:
            moved = scale_of(x, y)
            apart = 1.0 if moved is None else distance(x, moved[0] + moved[1] * y) + ALIKE / 2
        return max(common, 1 - apart)
    if max(len(a), len(b)) > _MOST_CODES or _few(first, second):
        return common
    spelt = {plain(v): share for v, share in b.items()}
    alike = sum(min(share, spelt.get(plain(v), 0.0)) for v, share in a.items())
    return max(common, alike, 1 - _profile_gap(a, b) - ALIKE / 2)


def _few(first: _Sample, second: _Sample) -> bool:
    """So few rows that shares say nothing of what a value means."""
    return bool(min(first.rows.num_rows, second.rows.num_rows) < _MANY)


def _profile_gap(a: Levels, b: Levels) -> float:
    """Total variation of the two lists of shares, the largest first; 1 where one has fewer values that count.

    Fewer values are general ones, not codes: continents are no codes for countries.
    """
    many, more = (sum(share > _COUNTS for share in v.values()) for v in (a, b))
    if abs(many - more) > max(many, more) / 5:
        return 1.0
    size = max(len(a), len(b))
    first, second = (np.sort(np.pad(list(v.values()), (0, size - len(v))))[::-1] for v in (a, b))
    return float(np.abs(first - second).sum() / 2)


# -- what the values of one column are called ----------------------------------------------------


def _read(
    first: _Sample, second: _Sample, ours: str, theirs: str, anchors: Sequence[ColumnMatch]
) -> ColumnMatch:
    a, b = first.levels(ours), second.levels(theirs)
    x, y = first.numbers(ours), second.numbers(theirs)
    if _exchanged(first, second, ours, theirs):
        return ColumnMatch(theirs, ours, _codes(first, second, ours, theirs, anchors), learnt=True)
    if x is not None and y is not None:
        if distance(x, y) > 2 * ALIKE:
            moved = scale_of(x, y)
            if moved is not None and distance(x, moved[0] + moved[1] * y) <= ALIKE:
                return ColumnMatch(theirs, ours, scale=moved, grid=curves.grid_of(x))
            some = first.learning.numbers(ours)
            bent = {} if some is None or _few(first, second) else curves.by_rank(some, second.text(theirs))
            return ColumnMatch(theirs, ours, bent, learnt=bool(bent))
        grid = curves.beside(x, y)
        return ColumnMatch(theirs, ours, scale=(0.0, 1.0) if grid else None, grid=grid)
    if first.shared(ours, second, theirs) >= _ENOUGH:
        return ColumnMatch(theirs, ours, _respelt(first, second, ours, theirs))
    measured = _measured(first, second, ours, theirs)
    if measured:
        return ColumnMatch(theirs, ours, measured)
    spelt = {plain(v): v for v in reversed(a)}  # of two values that are spelt alike the first
    values = {v: spelt[plain(v)] for v in b if plain(v) in spelt}
    if sum(b[v] for v in values) >= _ENOUGH:
        return ColumnMatch(theirs, ours, {v: w for v, w in values.items() if v != w})
    if max(len(a), len(b)) <= _MOST_CODES and _profile_gap(a, b) <= ALIKE and not _few(first, second):
        return ColumnMatch(theirs, ours, _codes(first, second, ours, theirs, anchors), learnt=True)
    return ColumnMatch(theirs, ours)


def _respelt(first: _Sample, second: _Sample, ours: str, theirs: str) -> dict[str, str]:
    """The original's spelling of cells that have another one: a few copies may be written in capitals."""
    a, general = first.levels(ours), second.meanings.get(ours, {})
    strange = {v: s for v, s in second.levels(theirs).items() if v not in a and v not in general}
    leaves = first.leaves(ours)
    key = plain if first.numbers(ours) is None else str.strip  # 1.5 is not 15
    spelt = {key(v): v for v in a} if sum(strange.values()) > _COUNTS else {}
    return {v: spelt[key(v)] for v in strange if key(v) in spelt and not leaves.general(v)}


def _measured(first: _Sample, second: _Sample, ours: str, theirs: str) -> dict[str, str]:
    """What numbers that one of the files writes with something around them are called in the original."""
    mine, other = first.measures(ours), second.measures(theirs)
    if not mine or not other:
        return {}
    x, y = (
        np.repeat(list(m.values()), np.rint([_ROWS * s.levels(n)[v] for v in m]).astype(int))
        for m, s, n in ((mine, first, ours), (other, second, theirs))
    )
    a, b = 0.0, 1.0
    if distance(x, y) > 2 * ALIKE:
        line = scale_of(x, y)
        if line is None or distance(x, line[0] + line[1] * y) > ALIKE:
            return {}
        a, b = line
    read = np.round(a + b * np.array(list(other.values())), 6)
    written = dict(zip(mine.values(), mine, strict=True))
    plainly = same_text([pa.array(read)])[0].to_pylist()
    return {v: written.get(z, t) for v, z, t in zip(other, read.tolist(), plainly, strict=True)}


def _exchanged(first: _Sample, second: _Sample, ours: str, theirs: str) -> bool:
    """Whether values have changed places: the same list of shares, but of other values."""
    a, b = first.levels(ours), second.levels(theirs)
    if max(len(a), len(b)) > _MOST_CODES or min(len(a), len(b)) < 2 or _few(first, second):
        return False
    apart = 1 - sum(min(share, b.get(v, 0.0)) for v, share in a.items())
    x, y = first.numbers(ours), second.numbers(theirs)
    if x is not None and y is not None and (distance(x, y) <= 2 * ALIKE or scale_of(x, y) is not None):
        return False
    there = 2 * len(a.keys() & b.keys()) > len(a)
    return there and apart > 3 * ALIKE and _profile_gap(a, b) <= ALIKE


def _codes(
    first: _Sample, second: _Sample, ours: str, theirs: str, anchors: Sequence[ColumnMatch]
) -> dict[str, str]:
    """The original's value of each code: as frequent, and beside the same values of the other columns."""
    from scipy.optimize import linear_sum_assignment

    first = first.learning
    a, b = first.levels(ours), second.levels(theirs)
    mine, other = list(a), list(b)
    cost = np.abs(np.array([a[v] for v in mine])[:, None] - np.array([b[v] for v in other])[None, :])
    for anchor in anchors:
        if anchor.original == ours or len(first.levels(anchor.original)) > _MOST_CODES:
            continue
        beside = list(first.levels(anchor.original))
        named = {v: k for k, v in anchor.values.items()}
        p = _beside(first, ours, mine, anchor.original, beside)
        q = _beside(second, theirs, other, anchor.released, [named.get(v, v) for v in beside])
        cost = cost + np.abs(p[:, None, :] - q[None, :, :]).sum(axis=2)  # joint shares, not conditional ones
    rows, columns = linear_sum_assignment(cost)
    return {other[j]: mine[i] for i, j in zip(rows, columns, strict=True)}


def _beside(sample: _Sample, name: str, values: list[str], anchor: str, levels: list[str]) -> Floats:
    """The joint shares of values and the levels of another column."""
    at = pc.index_in(sample.text(name), value_set=pa.array(values, pa.string())).fill_null(len(values))
    to = pc.index_in(sample.text(anchor), value_set=pa.array(levels, pa.string())).fill_null(len(levels))
    i, j = (x.to_numpy(zero_copy_only=False) for x in (at, to))
    table = np.zeros((len(values) + 1, len(levels) + 1))
    np.add.at(table, (i, j), 1)
    return np.asarray(table[:-1, :-1] / max(1, len(i)))
