"""How much it says that a released record agrees with a person: rarer agreement says more.

Agreement in a name is worth -log2 of the share of released records that could be the person in that column.
Agreement in a number, a date or an ordered level is worth -log2 of the share of records that come *as near*
as this one: an equal value says most, one that is off by one nearly as much, a far one nothing. So nobody
has to say how large errors are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.assessment.attacks.intruder import Floats, Ints, in_threads, look
from sfumato.assessment.attacks.linkage import leaf_numbers
from sfumato.assessment.reading.alignment import Pair
from sfumato.assessment.reading.bins import column_numbers, edge_numbers
from sfumato.counts import canonical, canonical_type
from sfumato.schema import Kind
from sfumato.table import Table

Gains = NDArray[np.float32]
_DAY = 86_400e6  # microseconds, as instants are kept
_LINES = 500  # of a table of distances in memory at once


@dataclass(frozen=True, eq=False)
class Agreement:
    """People and released records, with what each agreement is worth.

    people: (n, columns), the line of each person in the table of a column; control: the same of people
    outside the data. released: (m, columns), nodes. gains: per column (lines, nodes), in bits. potential: per
    column (lines,), what agreement in all would be worth.
    """

    columns: tuple[str, ...]
    people: Ints
    control: Ints | None
    released: Ints
    gains: tuple[Gains, ...]
    potential: tuple[Floats, ...]

    def best(self, people: Ints) -> BestRecords:
        """For each of some people, (n, columns): the record that agrees best, and how far ahead it is."""
        from sfumato.assessment.attacks import _agreement_kernels as kernels

        order = np.argsort([-float(p.mean()) for p in self.potential], kind="stable")
        tables = [self.gains[c] for c in order]
        lines = np.ascontiguousarray(people[:, order])
        top = np.stack([t.max(axis=1)[lines[:, i]] for i, t in enumerate(tables)], axis=1)
        most = np.ascontiguousarray(np.cumsum(top[:, ::-1], axis=1)[:, ::-1].astype(np.float32))
        sizes = [t.size for t in tables]
        starts = np.cumsum([0, *sizes[:-1]])
        widths = np.array([t.shape[1] for t in tables])
        flat = np.concatenate([t.ravel() for t in tables])
        records = np.ascontiguousarray(self.released[:, order])
        n = len(people)
        best, second = np.zeros(n, np.float32), np.zeros(n, np.float32)
        which = np.zeros(n, np.int64)

        def search(part: slice) -> None:
            kernels.best_two(
                lines[part], records, flat, starts, widths, most[part], best[part], second[part], which[part]
            )

        in_threads(search, n)
        able = np.sum([p[people[:, c]] for c, p in enumerate(self.potential)], axis=0)
        return BestRecords(
            which, best.astype(np.float64), np.maximum(second, 0.0).astype(np.float64), np.asarray(able)
        )

    def between(self, people: Ints, records: Ints) -> Floats:
        """The agreement of each person with one record; 0 for record -1."""
        inside = (records >= 0) & (records < len(self.released))
        rows = self.released[np.where(inside, records, 0)]
        parts = [t[people[:, c], rows[:, c]] for c, t in enumerate(self.gains)]
        total: Floats = np.sum(parts, axis=0, dtype=np.float64)
        return np.where(inside, total, 0.0)


@dataclass(frozen=True, eq=False)
class BestRecords:
    """Per person: the record, its agreement in bits, that of the runner-up, and what all could be worth."""

    which: Ints
    best: Floats
    second: Floats
    able: Floats

    @cached_property
    def margin(self) -> Floats:
        """How far the best is ahead of the next."""
        return self.best - self.second

    @cached_property
    def share(self) -> Floats:
        """How much of what could agree does."""
        return self.best / np.where(self.able > 0, self.able, 1.0)


def agreement(pair: Pair, known: Sequence[str], control: Table | None = None) -> Agreement:
    """What agreement is worth in each known column, of the people and of people outside the data."""
    view = look(pair, known)
    others = None if control is None else look(pair, known, control).people
    schema = pair.original.schema.select(view.columns)
    rows = None if control is None else control.select(view.columns).with_schema(schema).to_arrow()
    tables, potentials, strangers = [], [], []
    for c, name in enumerate(view.columns):
        nodes = np.bincount(view.released[:, c], minlength=len(view.covers[c]))
        extra = np.empty(0)
        if others is not None and rows is not None:
            codes, extra = _lines(pair, name, others[:, c], rows.column(name).combine_chunks())
            strangers.append(codes)
        gains, potential = _worth(pair, name, view.covers[c], nodes, extra)
        gains[:, nodes == 0] = 0  # what no record holds agrees with nobody
        if not gains.any():  # a column that tells no record from another could not have agreed better
            potential = np.zeros(len(gains))
        tables.append(gains)
        potentials.append(potential)
    outside = np.ascontiguousarray(np.stack(strangers, axis=1)) if strangers else None
    return Agreement(view.columns, view.people, outside, view.released, tuple(tables), tuple(potentials))


def _lines(pair: Pair, name: str, codes: Ints, values: pa.Array) -> tuple[Ints, Floats]:
    """The lines of strangers: among the leaves, or further ones for numbers that nobody in the files has.

    A stranger's number must be as near to released ones as a person's would be: not rounded to theirs.
    """
    book = pair.leaves[name]
    numbers = leaf_numbers(book.column, book.levels, pair.values.get(name))
    binned = book.column.edges is not None and name not in pair.values
    if numbers is None or binned or book.column.kind is Kind.ORDINAL:
        return codes, np.empty(0)
    plain = canonical(book.column, values)
    own = column_numbers(plain) / (_DAY if pa.types.is_timestamp(plain.type) else 1)
    there = np.append(numbers, [np.nan] * (book.size + 1 - len(numbers)))[np.minimum(codes, book.size)]
    new = np.isfinite(own) & ~np.isclose(own, there, rtol=1e-12, atol=1e-12)
    if name in pair.values:  # a bin that only the release needed stands for the values it has there
        lows = np.append(edge_numbers(book.column, canonical_type(book.column))[:-1], [np.nan, np.nan])
        theirs = np.isfinite(lows) & ~np.isin(lows, pair.values[name])
        new &= ~theirs[np.minimum(codes, len(lows) - 1)] | (codes >= book.size)
    extra, at = np.unique(own[new], return_inverse=True)
    out = codes.copy()
    out[new] = book.size + 1 + at
    return out, extra


def _worth(
    pair: Pair, name: str, covers: NDArray[np.bool_], nodes: Ints, extra: Floats
) -> tuple[Gains, Floats]:
    """(lines, nodes) bits, and (lines,) of full agreement; lines are leaves, unseen, further numbers."""
    book = pair.leaves[name]
    total = int(nodes.sum())
    fits = covers.T  # (leaves + 1, nodes)
    share = (fits @ nodes) / total
    gains = np.where(fits, -np.log2(np.where(share > 0, share, 1.0))[:, None], 0.0)
    potential = -np.log2(np.maximum(share, 1 / (total + 1)))
    numbers = leaf_numbers(book.column, book.levels, pair.values.get(name))
    if numbers is None:
        return gains.astype(np.float32), potential
    named = len(numbers)
    inside = pair.spread[name][:, :named] > 0
    some = inside.any(axis=1)
    low = np.where(inside, numbers, np.inf).min(axis=1, initial=np.inf)
    high = np.where(inside, numbers, -np.inf).max(axis=1, initial=-np.inf)
    high[~some], low[~some] = -np.inf, np.inf  # no number at all: as far as can be
    lines = np.concatenate([numbers, extra])
    graded, full = np.empty((len(lines), len(nodes)), np.float32), np.empty(len(lines))
    for start in range(0, len(lines), _LINES):
        part = slice(start, min(start + _LINES, len(lines)))
        gaps = np.maximum(0.0, np.maximum(low - lines[part, None], lines[part, None] - high))
        of_leaf = np.arange(part.start, part.stop) < named
        gaps[of_leaf] = np.where(fits[:named][part], 0.0, gaps[of_leaf])
        near = np.stack([_as_near(gap, nodes) for gap in gaps])
        graded[part] = np.where(np.isfinite(gaps), -np.log2(np.maximum(near, 1 / (total + 1))), 0.0)
        full[part] = -np.log2(np.maximum((gaps == 0) @ nodes / total, 1 / (total + 1)))
    bits = np.concatenate([graded[:named], gains[named:].astype(np.float32), graded[named:]])
    return np.maximum(bits, 0), np.concatenate([full[:named], potential[named:], full[named:]])


def _as_near(gaps: Floats, nodes: Ints) -> Floats:
    """The share of records at most as far as each node."""
    order = np.argsort(gaps, kind="stable")
    held = np.cumsum(nodes[order])
    last = np.searchsorted(gaps[order], gaps, side="right") - 1
    shares: Floats = held[last] / held[-1]
    return shares
