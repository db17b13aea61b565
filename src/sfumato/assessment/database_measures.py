"""What of links and sequences a release keeps: total variation of what parents, children and successors have.

Each measure is counted over the values as they stand, the commonest by themselves, missing as a value of
its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.database import Database
from sfumato.errors import listed
from sfumato.progress import report
from sfumato.schema import Kind, Role
from sfumato.score import Score
from sfumato.seeds import Key

Ints = NDArray[np.int64]
_DATES = ("date", "datetime", "instant")
_LEVELS, _CODES = 20, 30  # the commonest values by themselves, all others together
_GAPS = (7, 14, 30, 60, 90, 180, 365)
_MOST = 20  # children counted by themselves


def first_date(database: Database, name: str) -> str | None:
    """The first column of dates of a table."""
    return next((c.name for c in database[name].schema if c.type in _DATES), None)


@dataclass(frozen=True)
class _Side:
    """One database in memory: rows of each table, the row of a parent by (child, parent), and the person."""

    database: Database
    rows: dict[str, pa.Table]
    above: dict[tuple[str, str], Ints]
    person: dict[str, Ints]

    def texts(self, place: str) -> pa.Array:
        name, _, column = place.partition(".")
        return self.rows[name][column].combine_chunks().cast(pa.string())


def _side(database: Database) -> _Side:
    from sfumato.database.ids import key_ids
    from sfumato.database.keys import KeyIndex

    rows = {n: database[n].to_arrow() for n in database.tables if database.route(n)}
    above: dict[tuple[str, str], Ints] = {}
    person: dict[str, Ints] = {}
    for name in (n for n in database.order if n in rows):
        if database.people.needs(name):
            person[name] = database.people.of_batch(name, rows[name]).astype(np.int64)
        else:
            person[name] = np.arange(rows[name].num_rows)
        for link in (k for k in database.parents(name) if k.parent in rows):
            ids = key_ids(database[name].schema[link.column], rows[name][link.column])
            keys = key_ids(database[link.parent].schema[link.key], rows[link.parent][link.key])
            above.setdefault((name, link.parent), KeyIndex(keys).places(ids).astype(np.int64))
    return _Side(database, rows, above, person)


_Mask = dict[str, NDArray[np.bool_]] | None  # the rows that count; None for all
_Tables = dict[str, NDArray[np.float64]]
_Measure = Callable[[_Side, _Mask, dict[str, pa.Array]], _Tables]


def _half(side: _Side, first: bool, key: Key) -> dict[str, NDArray[np.bool_]]:
    """Which rows belong to a random half of the persons."""
    coin = key.generator("halves").random(side.database.people.count) < 0.5
    return {n: coin[p] == first for n, p in side.person.items()}


Shown = dict[str, tuple[list[str], NDArray[np.float64], NDArray[np.float64]]]
_NAMES_OF_GAPS = ["below 7", *(f"{a} to {b - 1}" for a, b in pairwise(_GAPS)), f"{_GAPS[-1]} and more"]


def utilities(
    original: Database,
    released: Database,
    places: Sequence[str],
    key: Key,
    skipped: list[str],
    shown: Shown | None = None,
) -> list[Score]:
    """Every measure of links and sequences that both have; what cannot be examined is added to `skipped`.

    shown: gets what can be drawn: by name, the levels and the counts of both.
    """
    before, after = _side(original), _side(released)
    missing = [n for n in before.rows if n not in after.rows]
    if missing:
        skipped.append(f"tables that the release does not have: {listed(missing)}")
    measures: dict[str, tuple[str, _Measure]] = {}
    for child in (n for n in original.order if n in before.rows and n in after.rows):
        link = next((k for k in original.parents(child) if k.parent in before.rows), None)
        if link is None or link.parent in missing:
            continue
        if (child, link.parent) not in after.above:
            skipped.append(f"{child} hangs on no row of {link.parent} in the release")
            continue
        pair = f"{link.parent} and {link.child}"
        measures[f"{link.child} per row of {link.parent}"] = (
            "how many children a parent has", _children(link.parent, link.child))  # fmt: skip
        measures[f"{pair}, pairs of columns"] = (
            "columns of a row and of its parent",
            _joint(link.child, link.parent),
        )
        for upper in original.parents(link.parent)[:1]:
            if (upper.child, upper.parent) in before.above.keys() & after.above.keys():
                words = "columns of a row and of its parent's parent"
                measures[f"{upper.parent} and {link.child}, pairs of columns"] = (
                    words, _joint(link.child, link.parent, upper.parent))  # fmt: skip
        if first_date(original, link.child) and first_date(released, link.child):
            date = str(first_date(original, link.child))
            measures[f"gaps between {link.child}"] = ("days from one to the next", _gaps(link.child, date))
            measures[f"{link.child} again within 30 days"] = ("shares", _again(link.child, date))
            measures[f"succession of {link.child}"] = (
                "values of one and of the next",
                _succession(link.child, date),
            )
    for place in (p for p in places if _has(original, p) and _has(released, p)):
        measures[f"pairs of {place}"] = ("two values of one person", _code_pairs(place))
        name = place.partition(".")[0]
        both = before.above.keys() & after.above.keys()
        ways = [
            k.parent
            for k in original.parents(name)
            if (name, k.parent) in both and k.parent != original.root  # else nothing could come back
        ]
        measures[f"repeated {place}"] = (
            "shares of values that come back", _repeats(place, ways[0] if ways else ""))  # fmt: skip
    scores = []
    for at, (name, (words, measure)) in enumerate(measures.items()):
        report("comparing links and sequences", at, len(measures))
        everything = {n: np.ones(len(p), bool) for n, p in before.person.items()}
        levels: dict[str, pa.Array] = {}
        tables = measure(before, everything, levels), measure(after, None, levels)
        value = _distance(*tables)
        _put(name, *tables, shown)
        halves = [measure(before, _half(before, first, key), levels) for first in (True, False)]
        noise = _distance(*halves)
        if value is None:
            skipped.append(f"{name}: there is nothing to compare")
            continue
        beside = (
            "" if noise is None else f" Two random halves of the original's persons differ by {noise:.3g}."
        )
        meaning = f"Total variation of {words}, original against release.{beside}"
        details = {} if noise is None else {"halves of the original": noise}
        scores.append(Score(name, "utility", value, (0, 1), "lower", meaning, details=details))
    return scores


def _put(name: str, before: _Tables, after: _Tables, shown: Shown | None) -> None:
    """Numbers of children and gaps have few levels, and an order: they are drawn."""
    if shown is None:
        return
    if "n" in before and "n" in after:
        levels = [*map(str, range(_MOST)), f"{_MOST} and more"]
        last = int(np.flatnonzero(before["n"] + after["n"]).max(initial=0)) + 1
        shown[name] = (levels[:last], before["n"][:last], after["n"][:last])
    if "gap" in before and "gap" in after:
        shown[f"{name}, in days"] = (_NAMES_OF_GAPS, before["gap"], after["gap"])


def _has(database: Database, place: str) -> bool:
    name, _, column = place.partition(".")
    return name in database.tables and column in database[name].schema


def _distance(a: _Tables, b: _Tables) -> float | None:
    """The mean total variation over the tables both have."""
    found = []
    for name in a.keys() & b.keys():
        p, q = a[name], b[name]
        if p.sum() and q.sum():
            found.append(float(np.abs(p / p.sum() - q / q.sum()).sum() / 2))
    return float(np.mean(found)) if found else None


def _kept(side: _Side, mask: _Mask, name: str) -> NDArray[np.bool_]:
    return np.ones(len(side.person[name]), bool) if mask is None else mask[name]


def _numbered(side: _Side, place: str, levels: dict[str, pa.Array], most: int) -> Ints:
    """Values by number, the commonest of the original by themselves; then all others, then missing."""
    texts = side.texts(place)
    if place not in levels:
        counted = pc.value_counts(texts.drop_null())
        order = np.argsort(-np.asarray(counted.field("counts")), kind="stable")[:most]
        levels[place] = counted.field("values").take(pa.array(order))
    at = pc.index_in(texts, value_set=levels[place]).fill_null(most)
    found = np.asarray(at.to_numpy(zero_copy_only=False), np.int64)
    return np.where(np.asarray(texts.is_null().to_numpy(zero_copy_only=False)), most + 1, found)


def _columns(side: _Side, name: str) -> list[str]:
    keys = side.database.key_columns[name]
    return [
        c.name for c in side.database[name].schema
        if c.name not in keys and c.kind in (Kind.NOMINAL, Kind.ORDINAL, Kind.FLAG) and c.type not in _DATES
        and c.role is not Role.IDENTIFIER
    ]  # fmt: skip


def _children(parent: str, child: str) -> _Measure:
    def measure(side: _Side, mask: _Mask, _: object) -> _Tables:
        rows = side.above[child, parent][_kept(side, mask, child)]
        n = np.bincount(rows[rows >= 0], minlength=side.rows[parent].num_rows)[_kept(side, mask, parent)]
        return {"n": np.bincount(np.minimum(n, _MOST), minlength=_MOST + 1).astype(np.float64)}

    return measure


def _joint(child: str, *way: str) -> _Measure:
    """Every categorical column of a row with every one of the last table on the way up from it."""
    upper = way[-1]

    def measure(side: _Side, mask: _Mask, levels: dict[str, pa.Array]) -> _Tables:
        rows = np.flatnonzero(_kept(side, mask, child))
        name, at = child, rows
        for parent in way:
            at, name = side.above[name, parent][at], parent
            rows, at = rows[at >= 0], at[at >= 0]
        width = _LEVELS + 2
        out = {}
        for a in _columns(side, upper):
            above = _numbered(side, f"{upper}.{a}", levels, _LEVELS)[at]
            for b in _columns(side, child):
                below = _numbered(side, f"{child}.{b}", levels, _LEVELS)[rows]
                out[f"{a}/{b}"] = np.bincount(above * width + below, minlength=width**2).astype(np.float64)
        return out

    return measure


def _ordered(side: _Side, name: str, date: str, mask: _Mask) -> tuple[Ints, Ints, Ints]:
    """Rows in order of person and day, with both."""
    days = side.rows[name][date].combine_chunks().cast(pa.timestamp("s")).cast(pa.int64())
    there = np.asarray(days.is_valid().to_numpy(zero_copy_only=False), bool) & _kept(side, mask, name)
    rows = np.flatnonzero(there & (side.person[name] >= 0))
    day = np.asarray(days.fill_null(0).to_numpy(zero_copy_only=False))[rows] // 86_400
    order = np.lexsort((day, side.person[name][rows]))
    return rows[order], side.person[name][rows][order], day[order]


def _gaps(name: str, date: str) -> _Measure:
    def measure(side: _Side, mask: _Mask, _: object) -> _Tables:
        _, person, day = _ordered(side, name, date, mask)
        gap = np.diff(day)[person[1:] == person[:-1]]
        return {"gap": np.bincount(np.digitize(gap, _GAPS), minlength=len(_GAPS) + 1).astype(np.float64)}

    return measure


def _again(name: str, date: str) -> _Measure:
    def measure(side: _Side, mask: _Mask, _: object) -> _Tables:
        _, person, day = _ordered(side, name, date, mask)
        soon = (np.diff(day) <= 30) & (person[1:] == person[:-1])
        return {"again": np.array([soon.sum(), len(person) - soon.sum()], np.float64)}

    return measure


def _succession(name: str, date: str) -> _Measure:
    def measure(side: _Side, mask: _Mask, levels: dict[str, pa.Array]) -> _Tables:
        rows, person, _ = _ordered(side, name, date, mask)
        same, width = person[1:] == person[:-1], _LEVELS + 2
        out = {}
        for column in _columns(side, name):
            value = _numbered(side, f"{name}.{column}", levels, _LEVELS)[rows]
            pairs = (value[:-1] * width + value[1:])[same]
            out[column] = np.bincount(pairs, minlength=width**2).astype(np.float64)
        return out

    return measure


def _code_pairs(place: str) -> _Measure:
    """Which of the commonest values the persons have together."""
    name = place.partition(".")[0]

    def measure(side: _Side, mask: _Mask, levels: dict[str, pa.Array]) -> _Tables:
        value, kept = _numbered(side, place, levels, _CODES), _kept(side, mask, name)
        rows = kept & (value < _CODES) & (side.person[name] >= 0)
        has = np.zeros((side.database.people.count, _CODES), np.float32)
        has[side.person[name][rows], value[rows]] = 1
        together = has.T @ has
        return {"pairs": together[np.triu_indices(_CODES)].astype(np.float64)}

    return measure


def _repeats(place: str, parent: str) -> _Measure:
    """How many of a person's values stand in several records: rows of the parent, or of the table itself."""
    name = place.partition(".")[0]

    def measure(side: _Side, mask: _Mask, levels: dict[str, pa.Array]) -> _Tables:
        coded = side.texts(place).dictionary_encode()
        value = np.asarray(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
        rows = _kept(side, mask, name) & (value >= 0) & (side.person[name] >= 0)
        records = side.above.get((name, parent), np.arange(len(value)))
        base = len(coded.dictionary) + 1
        once = np.unique(
            np.stack([side.person[name][rows] * base + value[rows], records[rows]], axis=1), axis=0
        )
        times = np.unique(once[:, 0], return_counts=True)[1]
        return {"repeats": np.array([(times == 1).sum(), (times > 1).sum()], np.float64)}

    return measure
