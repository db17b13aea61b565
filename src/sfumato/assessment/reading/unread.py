"""Released columns that nobody understood: what they hold was neither compared nor attacked.

Such a column may be one of the original's under a code that nothing undid. What it may not be is left out:
a constant, running numbers, and new names of records that all differ (a number drawn anew for each row).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.assessment.reading.leaves import Leaves
from sfumato.assessment.reading.matching import plain
from sfumato.assessment.reading.same_values import is_number, same_text
from sfumato.schema import Kind, Role
from sfumato.table import Table

_ENOUGH = 0.5  # of the cells that must be values of the original, or general
STRANGE = 0.05  # of the cells that may be names of nobody, beyond those for names that are gone; or far out
_TOKEN = 8  # characters from which a text without a word in it is a name drawn anew
_NOT_DRAWN = 1e-6  # the chance at which signs are too unlike in frequency to have been drawn
_EXPECTED = 20  # rows of a value that is there by chance alone
_GONE = 0.1  # of the people with values that are not in the release
_NAMES_RECORDS = (Role.IDENTIFIER, Role.PERSON)
_APART = (*_NAMES_RECORDS, Role.WEIGHT)
_DIGITS = 17  # of a number
_BEYOND = 0.5  # of the original's range, on either side, that numbers may exceed it
_BESIDE = 0.05  # that most of them may: logarithms of ages are no ages, near as they are to the youngest


def unread(
    original: Table,
    released: Table,
    meanings: Mapping[str, Mapping[str, object]],
    control: Table | None = None,
) -> dict[str, float]:
    """The share of the cells that nobody understood, of columns with any; beyond what may be new by chance.

    In the order of the release, which is read as the original's as far as it was understood. control: people
    whose values are values as well.
    """
    people = [original, *([control] if control is not None else [])]
    found = {n: _unread(people, released, n, meanings.get(n, {})) for n in released.columns}
    return {n: share for n, share in found.items() if share > 0}


def too_much(found: Mapping[str, float], limit: float | None = None) -> tuple[str, ...]:
    """The columns of which so much was not understood that a limit cannot be met: copies may be there."""
    most = STRANGE if limit is None else min(STRANGE, limit)
    return tuple(n for n, share in found.items() if share > most)


def _unread(people: Sequence[Table], released: Table, name: str, general: Mapping[str, object]) -> float:
    original = people[0]
    cells = _cells(released, name)
    there = cells.drop_null()
    values = pc.unique(there)
    if len(values) < 2:
        return 0.0
    if name not in original.schema:
        return float(released.schema[name].role is not Role.WEIGHT and not _means_nothing(there, values))
    column = original.schema[name]
    if column.role in _NAMES_RECORDS:
        return float(not _could_be_names(_cells(original, name).drop_null(), there))
    if column.role is Role.WEIGHT or column.kind in (Kind.TEXT, Kind.CODES):
        return 0.0  # texts are looked for by themselves
    parts = [_cells(t, name).drop_null() for t in people if name in t.schema]
    theirs = parts[0]
    if all(is_number(t.type) or pa.types.is_temporal(t.type) for t in (there, *parts)):
        return 1 - max(_share_in_range(t, there) for t in parts)
    mine, *own = same_text([there, *parts])
    known, written = _counted(own, plain), _counted([mine])
    leaves = Leaves(list(_counted(own)))
    read = sum(n for v, n in written.items() if plain(v) in known or v in general or leaves.general(v))
    if read >= _ENOUGH * len(mine):
        return 1 - read / len(mine) - _unseen(known, {plain(v) for v in written})
    # Names of which nearly everyone has an own one are met nowhere else: they are identifiers.
    return float(len(pc.unique(theirs)) <= 0.5 * len(theirs) or not _means_nothing(there, values))


def _counted(parts: Sequence[pa.ChunkedArray], spelt: Callable[[str], str] = str) -> dict[str, int]:
    """How many cells hold each value, by its spelling."""
    out: dict[str, int] = {}
    for cells in parts:
        counted = pc.value_counts(cells)
        for v, n in zip(
            counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True
        ):
            out[spelt(v)] = out.get(spelt(v), 0) + n
    return out


def _unseen(people: Mapping[str, int], there: Collection[str]) -> float:
    """The share of cells that may be names of nobody without being a code.

    Names that stand for those that are gone ("other" for rare ones); and what people have that nobody had
    before: as many as have a name of their own (Good and Turing), and as many again.
    """
    gone = sum(n for v, n in people.items() if v not in there)
    own = sum(n == 1 for n in people.values())
    return (gone + 2 * own) / max(1, sum(people.values()))


def merged(original: Table, released: Table) -> tuple[str, ...]:
    """Columns of names that may have been merged: frequent ones are not there, and nothing general is either.

    People of the same kind have all of them, but for a chance of exp(-20) each. A column of one value tells
    nothing.
    """
    return tuple(n for n in original.columns if n in released.columns and _lacks(original, released, n))


def _lacks(original: Table, released: Table, name: str) -> bool:
    column = original.schema[name]
    if column.kind in (Kind.NUMERIC, Kind.DATE, Kind.TEXT, Kind.CODES) or column.role in _APART:
        return False
    theirs, there = (_cells(t, name).drop_null() for t in (original, released))
    if not len(theirs) or len(pc.unique(there)) < 2:
        return False
    texts = same_text([theirs, there])
    people, rows = ({plain(v["values"]): v["counts"] for v in pc.value_counts(t).to_pylist()} for t in texts)
    if not rows.keys() <= people.keys():
        return False
    gone = [n for v, n in people.items() if v not in rows and n * len(there) >= _EXPECTED * len(theirs)]
    return bool(sum(gone) >= _GONE * len(theirs))


def _cells(table: Table, name: str) -> pa.ChunkedArray:
    return pa.chunked_array([b.column(0) for b in table.batches([name])])


def _share_in_range(original: pa.ChunkedArray, released: pa.ChunkedArray) -> float:
    if not len(original) or not len(released):
        return 1.0
    first, second = (
        pc.cast(pc.cast(c, pa.timestamp("us"), safe=False), pa.int64()) if pa.types.is_temporal(c.type) else c
        for c in (original, released)
    )
    numbers = pc.cast(second, pa.float64(), safe=False)
    ends = pc.min_max(pc.cast(first, pa.float64(), safe=False)).as_py()
    shares = []
    for beyond in (_BEYOND, _BESIDE):
        room = beyond * (ends["max"] - ends["min"]) + 1e-9
        inside = pc.and_(
            pc.greater_equal(numbers, ends["min"] - room), pc.less_equal(numbers, ends["max"] + room)
        )
        shares.append(float(pc.mean(pc.cast(inside, pa.float64())).as_py() or 0.0))
    return shares[0] if shares[1] >= _ENOUGH else 0.0


def _could_be_names(theirs: pa.ChunkedArray, there: pa.ChunkedArray) -> bool:
    """Whether names of records are names: of a form that the original's have, or drawn anew.

    A column that is called as theirs may hold anything: those of a person's whole record are no names.
    """
    mine, own = same_text([there, theirs])
    mine = mine.filter(pc.invert(pc.match_substring_regex(mine, r"^\**$")))
    longest = max(_DIGITS, pc.max(pc.utf8_length(own)).as_py() or 0)
    # Numbers are names as well, with or without what stands around theirs, or read on another scale.
    forms = {*pc.unique(_form(own)).to_pylist(), "9", "9.9", "-9", "-9.9"}
    known = pc.is_in(_form(mine), value_set=pa.array(forms, pa.string()))
    fits = pc.and_(known, pc.less_equal(pc.utf8_length(mine), longest))
    if not len(mine) or pc.mean(pc.cast(fits, pa.float64())).as_py() >= 1 - STRANGE:
        return True
    values = pc.unique(there)
    return _means_nothing(pa.chunked_array([values]), values)


def _form(text: pa.Array) -> pa.Array:
    """Where letters and digits stand: 'a9' for 'P0012'."""
    return pc.replace_substring_regex(pc.replace_substring_regex(text, r"\pL+", "a"), r"\pN+", "9")


def _means_nothing(cells: pa.ChunkedArray, values: pa.Array) -> bool:
    """Running numbers, or names that all differ, have no word in them, and were drawn at random."""
    if len(values) < len(cells):
        return False
    if pa.types.is_integer(cells.type):
        ends = pc.min_max(cells).as_py()
        return bool(ends["min"] in (0, 1) and ends["max"] <= len(cells))
    if not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
        return False
    one = len(pc.unique(pc.utf8_length(values))) == 1 and pc.min(pc.utf8_length(values)).as_py() >= _TOKEN
    if not (one and pc.all(pc.match_substring_regex(values, r"^[0-9A-Za-z+/=_-]+$")).as_py()):
        return False
    return _numbered(values) or _drawn(values)


def _numbered(values: pa.Array) -> bool:
    """Whether they are running numbers with the same before each: REC00001."""
    start = values[0].as_py().rstrip("0123456789")
    digits = pc.utf8_slice_codeunits(values, len(start))
    same = pc.and_(pc.starts_with(values, start), pc.match_substring_regex(digits, r"^\d{1,18}$"))
    if not pc.all(same).as_py():
        return False
    numbers = pc.min_max(pc.cast(digits, pa.int64())).as_py()
    return bool(numbers["min"] in (0, 1) and numbers["max"] <= len(values))


def _drawn(values: pa.Array) -> bool:
    """Whether at each place the signs that occur are equally frequent: those of a person's record are not."""
    from scipy.stats import chi2

    signs = np.array(values.to_pylist()).view(np.uint32).reshape(len(values), -1)
    for place in signs.T:
        count = np.unique(place, return_counts=True)[1]
        apart = float(((count - count.mean()) ** 2).sum() / count.mean())
        if len(count) > 1 and chi2.sf(apart, len(count) - 1) < _NOT_DRAWN / signs.shape[1]:
            return False
    return True
