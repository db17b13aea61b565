"""Rows of several files as codes over levels they share, with what nearness asks of each level."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.assessment.copies._kernels import STEPS
from sfumato.assessment.reading import notation
from sfumato.assessment.reading.files import Meanings
from sfumato.assessment.reading.same_values import is_number, same_text
from sfumato.schema import Kind
from sfumato.table import Table

Codes = NDArray[np.int32]

_ORDERED = (Kind.NUMERIC, Kind.DATE)


@dataclass(frozen=True, eq=False)
class Cells:
    """Files as codes, (columns, rows) each, and per level, those of column c from first[c]:

    shares: of all people (originals and controls) with the level, of nobody: half of one.
    place: where a number stands among the people's, in steps; -1 for names and for missing. scale: the same
        by its value, between the smallest and largest twentieth.
    general: whether it stands for several values, as '*' and '[20, 30)' do.
    """

    columns: tuple[str, ...]
    files: tuple[Codes, ...]
    first: NDArray[np.int64]
    shares: NDArray[np.float64]
    place: Codes
    scale: Codes
    general: NDArray[np.bool_]
    numeric: NDArray[np.bool_]


def cells(
    tables: Sequence[tuple[Table, NDArray[np.int64] | None]],
    columns: Sequence[str],
    meanings: Meanings,
    apart: Collection[int],
) -> Cells:
    """tables: files, and the rows of each that are read, in order; all if None.

    apart: which of them say nothing of how frequent a value is, as the release; the others are people.
    meanings: what generalized values stand for, by column.
    """
    arrow = [_rows(table, columns, rows) for table, rows in tables]
    files = [np.empty((len(columns), a.num_rows), np.int32) for a in arrow]
    shares, places, scales, generals, numeric, first = [], [], [], [], [], [0]
    for c, name in enumerate(columns):
        ordered = all(t.schema[name].kind in _ORDERED for i, (t, _) in enumerate(tables) if i not in apart)
        texts, numbers = _levels([a.column(name) for a in arrow], ordered)
        every = pc.unique(pa.concat_arrays(texts)).drop_null()
        for file, text in zip(files, texts, strict=True):
            found = pc.index_in(text, value_set=every, skip_nulls=True).fill_null(len(every))
            file[c] = found.to_numpy(zero_copy_only=False)
        people = np.concatenate([f[c] for i, f in enumerate(files) if i not in apart])
        counts = np.bincount(people, minlength=len(every) + 1)
        words = every.to_pylist()
        values = np.array([*(numbers.get(w, np.nan) for w in words), np.nan])
        shares.append(np.maximum(counts, 0.5) / len(people))
        places.append(_places(values, counts))
        scales.append(_scale(values, counts))
        days = any(t.schema[name].kind is Kind.DATE for i, (t, _) in enumerate(tables) if i not in apart)
        unit = ("date" if days else "") if ordered else None
        generals.append(_general(words, counts, meanings.get(name, {}), unit))
        numeric.append(ordered)
        first.append(first[-1] + len(every) + 1)
    return Cells(
        tuple(columns), tuple(files), np.array(first), np.concatenate(shares), np.concatenate(places),
        np.concatenate(scales), np.concatenate(generals), np.array(numeric),
    )  # fmt: skip


def _rows(table: Table, columns: Sequence[str], rows: NDArray[np.int64] | None) -> pa.Table:
    """The chosen rows in one pass."""
    kept, seen = [], 0
    for batch in table.batches(columns):
        if rows is None:
            kept.append(batch)
            continue
        low, high = np.searchsorted(rows, [seen, seen + batch.num_rows])
        kept.append(batch.take(pa.array(rows[low:high] - seen)))
        seen += batch.num_rows
    return pa.Table.from_batches(kept)


def _levels(parts: Sequence[pa.ChunkedArray], ordered: bool) -> tuple[list[pa.Array], dict[str, float]]:
    """Each file's cells as text that is equal where values are, and the number of each text, if ordered."""
    texts = [_flat(t) for t in same_text(parts)]
    if not ordered:
        return texts, {}
    numbers: dict[str, float] = {}
    for text, part in zip(texts, parts, strict=True):
        words = pc.unique(text).drop_null().to_pylist()
        unit = "" if is_number(part.type) else "datetime" if pa.types.is_temporal(part.type) else None
        for word in words:
            value = _number(word, unit)
            if value is not None:
                numbers.setdefault(word, value)
    return texts, numbers


def _flat(text: pa.Array | pa.ChunkedArray) -> pa.Array:
    return text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text


def _number(word: str, unit: str | None) -> float | None:
    """A number or, without a unit, whatever the text looks like: a number, else a day."""
    if unit is not None:
        return notation.number(word, unit)
    value = notation.number(word)
    return notation.number(word, "datetime") if value is None else value


def _places(values: NDArray[np.float64], counts: NDArray[np.int64]) -> Codes:
    """The middle of the people with each value, among all people with a number."""
    there = ~np.isnan(values)
    out = np.full(len(values), -1, np.int32)
    order = np.flatnonzero(there)[np.argsort(values[there], kind="stable")]
    running = np.cumsum(counts[order])
    total = running[-1] if len(running) and running[-1] else 1
    out[order] = np.minimum((running - counts[order] / 2) / total * (STEPS - 1), STEPS - 1)
    return out


def _scale(values: NDArray[np.float64], counts: NDArray[np.int64]) -> Codes:
    """The value itself, from the smallest to the largest twentieth of people: 1 is near to many zeros."""
    there = ~np.isnan(values) & (counts > 0)
    if not there.any():
        return np.zeros(len(values), np.int32)
    order = np.flatnonzero(there)[np.argsort(values[there], kind="stable")]
    running = np.cumsum(counts[order]) / counts[order].sum()
    low, high = (values[order[np.searchsorted(running, q)]] for q in (0.05, 0.95))
    width = high - low or float(np.nanmax(values) - np.nanmin(values)) or 1.0
    steps = np.clip((values - low) / width * STEPS, -100 * STEPS, 100 * STEPS)
    return np.asarray(np.nan_to_num(steps), np.int32)


def _general(
    words: Sequence[str], counts: NDArray[np.int64], tree: object, unit: str | None
) -> NDArray[np.bool_]:
    """Values that nobody has and that stand for several: stars, gaps, intervals, sets, nodes of a tree.

    unit: "" for a column of numbers, "date" for one of days, None for names. 2020 is a year among days only.
    """
    out = np.zeros(len(words) + 1, bool)
    out[-1] = not counts[-1]  # a gap where nobody has one is a star by another name
    known = tree if isinstance(tree, dict) else {}
    for i, word in enumerate(words):
        if counts[i]:
            continue
        out[i] = len(known.get(word, ())) > 1 or "*" in word or notation.members(word) is not None
        if not out[i] and unit is not None and notation.number(word, unit) is None:
            span = notation.spans([word], unit)[0]
            out[i] = span is not None and not span.point
    return out
