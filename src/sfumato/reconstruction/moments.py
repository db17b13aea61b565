"""Sufficient statistics X'X and A X, summed where the data lives: batch by batch, on Spark by the executors.

They are sums over people, so any cut of the table gives the same, and n enters nothing that comes after.
Rows are kept apart by which numbers they miss (their pattern), so that missing values can be dealt with from
the sums alone: an indicator is a sum over patterns, and EM for a normal X needs sums and products per
pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import DataError, listed
from sfumato.features.design import Design
from sfumato.progress import track
from sfumato.reconstruction.groups import Grouping
from sfumato.sources import BatchSource, EngineSource, executor_fault
from sfumato.table import Table

Real = NDArray[np.float64]
Missing = Literal["indicator", "em", "refuse"]

MOST_PATTERNS = 256
"""Ways in which numbers may be missing together."""
_STEPS = 1_000  # of EM
_BLOCK = (
    16_384  # people at a time: their X stays in the cache, and memory does not follow the source's batches
)


@dataclass
class PatternSums:
    """Cross-products and group sums by pattern of missing numbers; grows batch by batch.

    cross: pattern -> (d, d).  sums: pattern -> (p, d), the sums of X over the people of each row of A.
    A pattern is the bits of which numbers are missing, as a whole number.
    """

    design: Design
    grouping: Grouping
    cross: dict[int, Real] = field(default_factory=dict)
    sums: dict[int, Real] = field(default_factory=dict)

    def add(self, batch: pa.RecordBatch, names: Sequence[str]) -> None:
        """One batch more; names: of its columns."""
        for start in range(0, batch.num_rows, _BLOCK):
            part = batch.slice(start, _BLOCK)
            self._add_block(dict(zip(names, part.columns, strict=True)))

    def _add_block(self, columns: Mapping[str, pa.Array]) -> None:
        x, gaps = self.design.matrix(columns)
        rows = self.grouping.of(columns)
        if not gaps.any():
            self._add(0, x, rows)
            return
        patterns = np.packbits(gaps, axis=1)
        found, which = np.unique(patterns, axis=0, return_inverse=True)
        for k, bits in enumerate(found):
            here = which.reshape(-1) == k
            number = int.from_bytes(bits.tobytes(), "big")
            self._add(number, x[here], rows[:, here])

    def _add(self, pattern: int, x: Real, rows: NDArray[np.int64]) -> None:
        from sfumato.reconstruction._kernels import add_rows

        if pattern not in self.cross:
            if len(self.cross) == MOST_PATTERNS:
                raise DataError(
                    f"numbers are missing in more than {MOST_PATTERNS} combinations of columns.",
                    hint="leave out the columns that miss most by columns=[...]",
                )
            self.cross[pattern] = np.zeros((self.design.width, self.design.width))
            self.sums[pattern] = np.zeros((len(self.grouping.sizes), self.design.width), order="F")
        xt = np.ascontiguousarray(x.T)
        self.cross[pattern] += xt @ xt.T
        for level in rows:
            add_rows(np.ascontiguousarray(level), xt, self.sums[pattern].T)

    def merge(self, pattern: int, cross: Real, sums: Real) -> None:
        """What an executor summed."""
        self.cross[pattern] = self.cross.get(pattern, 0.0) + cross
        self.sums[pattern] = self.sums.get(pattern, 0.0) + sums

    def missing_in(self, pattern: int) -> NDArray[np.bool_]:
        """Which numbers a pattern misses, (numbers,)."""
        width = -(-len(self.design.numbers) // 8)
        bits = np.frombuffer(pattern.to_bytes(width, "big"), np.uint8)
        return np.unpackbits(bits, count=len(self.design.numbers)).astype(bool)


@dataclass(frozen=True, eq=False)
class Filler:
    """How a batch becomes the X that the moments are about: shifted numbers, dummies, and what stands for
    gaps.

    indicators: numbers that get an indicator column.  maps: pattern -> (d, d), X filled is X @ map.
    """

    design: Design
    indicators: tuple[int, ...] = ()
    maps: Mapping[bytes, Real] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of X, the constant first."""
        more = tuple(f"{self.design.numbers[j].name} missing" for j in self.indicators)
        return (*self.design.names, *more)

    def matrix(self, columns: Mapping[str, pa.Array]) -> Real:
        """X of a batch, (people, d), complete."""
        x, gaps = self.design.matrix(columns)
        if self.indicators:
            return np.column_stack([x, gaps[:, list(self.indicators)].astype(np.float64)])
        if self.maps and gaps.any():
            patterns = np.packbits(gaps, axis=1)
            for bits in np.unique(patterns, axis=0):
                here = (patterns == bits).all(axis=1)
                x[here] = x[here] @ self.maps[bits.tobytes()] if bits.tobytes() in self.maps else x[here]
        return x


@dataclass(frozen=True, eq=False)
class Moments:
    """X'X and A X of the completed X, the constant first.

    xx: (d, d).  ax: (p, d), means of X over the people of each row of A.  rows: n.
    """

    xx: Real
    ax: Real
    rows: int
    filler: Filler

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of X."""
        return self.filler.names


def moments_of(table: Table, design: Design, grouping: Grouping, missing: Missing) -> Moments:
    """One reading of the table; on Spark by its executors."""
    names = list(dict.fromkeys([*design.columns, *grouping.columns]))
    sums = PatternSums(design, grouping)
    if isinstance(table.source, EngineSource) and table.source.flavour == "spark":
        _on_spark(table, names, sums)
    else:
        # As stored: text that is kept as a dictionary is looked up by its few values, not cell by cell.
        total = table.source.rows if isinstance(table.source, BatchSource) else None
        for batch in track(table.source.batches(names), "summing", total):
            sums.add(batch, names)
    return completed(sums, missing)


# -- missing numbers -------------------------------------------------------------------------------


def completed(sums: PatternSums, missing: Missing) -> Moments:
    """The moments of X without gaps."""
    sizes = sums.grouping.sizes[:, None]
    gaps = {p: sums.missing_in(p) for p in sums.cross}
    incomplete = np.flatnonzero(np.any(list(gaps.values()), axis=0)) if gaps else np.empty(0, np.int64)
    rows = round(sum(float(c[0, 0]) for c in sums.cross.values()))
    if not len(incomplete):
        xx = sum(sums.cross.values(), np.zeros((sums.design.width, sums.design.width)))
        ax = sum(sums.sums.values(), np.zeros((len(sizes), sums.design.width)))
        return Moments(xx, ax / sizes, rows, Filler(sums.design))
    if missing == "refuse":
        named = [repr(sums.design.numbers[j].name) for j in incomplete]
        raise DataError(
            f"{len(named)} columns of X have missing numbers: {listed(named)}.",
            hint="missing='indicator' or 'em', or other columns=[...]",
        )
    return _indicated(sums, gaps, incomplete, rows) if missing == "indicator" else _expected(sums, gaps, rows)


def _indicated(
    sums: PatternSums, gaps: Mapping[int, NDArray[np.bool_]], incomplete: NDArray[np.int64], rows: int
) -> Moments:
    """A column of 0 and 1 beside each number that has gaps; the gaps themselves stand at zero."""
    d, q = sums.design.width, len(incomplete)
    xx = np.zeros((d + q, d + q))
    ax = np.zeros((len(sums.grouping.sizes), d + q))
    for p, cross in sums.cross.items():
        one = gaps[p][incomplete].astype(np.float64)
        xx[:d, :d] += cross
        xx[:d, d:] += np.outer(cross[:, 0], one)
        xx[d:, d:] += cross[0, 0] * np.outer(one, one)
        ax[:, :d] += sums.sums[p]
        ax[:, d:] += np.outer(sums.sums[p][:, 0], one)
    xx[d:, :d] = xx[:d, d:].T
    filler = Filler(sums.design, tuple(int(j) for j in incomplete))
    return Moments(xx, ax / sums.grouping.sizes[:, None], rows, filler)


def _expected(sums: PatternSums, gaps: Mapping[int, NDArray[np.bool_]], rows: int) -> Moments:
    """EM for a normal X on the moments: each gap becomes its expectation given the rest of the row.

    X'X gets the conditional covariance of the gaps added, so that it is what a complete X would give.
    """
    d = sums.design.width
    absent = {p: np.concatenate([[False], g, np.zeros(d - 1 - len(g), bool)]) for p, g in gaps.items()}
    second = sum(sums.cross.values(), np.zeros((d, d)))
    seen = sum((np.outer(~a, ~a) * sums.cross[p][0, 0] for p, a in absent.items()), np.zeros((d, d)))
    second = np.where(np.eye(d, dtype=bool), second / np.maximum(seen, 1.0), 0.0)  # a start without ties
    first = sum((c[0] for c in sums.cross.values()), np.zeros(d)) / np.maximum(np.diag(seen), 1.0)
    second += np.outer(first, first) * ~np.eye(d, dtype=bool)
    maps: dict[int, Real] = {}
    for _ in range(_STEPS):
        maps, xx = {}, np.zeros((d, d))
        for p, a in absent.items():
            fill, spread = _regression(second, a)
            maps[p] = fill
            xx += fill.T @ sums.cross[p] @ fill + sums.cross[p][0, 0] * spread
        update = xx / rows
        change = np.max(
            np.abs(update - second) / np.sqrt(np.outer(np.diag(update), np.diag(update)) + 1e-300)
        )
        second = update
        if change < 1e-8:
            break
    ax = sum((sums.sums[p] @ maps[p] for p in absent), np.zeros((len(sums.grouping.sizes), d)))
    bits = {np.packbits(gaps[p]).tobytes(): m for p, m in maps.items() if absent[p].any()}
    return Moments(second * rows, ax / sums.grouping.sizes[:, None], rows, Filler(sums.design, maps=bits))


def _regression(second: Real, absent: NDArray[np.bool_]) -> tuple[Real, Real]:
    """X filled = X @ fill, and the covariance of what is missing given what is there."""
    d = len(second)
    fill, spread = np.eye(d), np.zeros((d, d))
    if not absent.any():
        return fill, spread
    there = np.flatnonzero(~absent)
    gone = np.flatnonzero(absent)
    slopes = np.linalg.lstsq(second[np.ix_(there, there)], second[np.ix_(there, gone)], rcond=1e-12)[0]
    fill[np.ix_(gone, gone)] = 0.0
    fill[np.ix_(there, gone)] = slopes
    spread[np.ix_(gone, gone)] = second[np.ix_(gone, gone)] - second[np.ix_(gone, there)] @ slopes
    return fill, spread


# -- Spark -----------------------------------------------------------------------------------------


class _Executor:
    """Sums the rows of one partition where they are; one small row per pattern travels back."""

    def __init__(self, design: Design, grouping: Grouping, names: list[str]) -> None:
        self.design, self.grouping, self.names = design, grouping, names

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sums = PatternSums(self.design, self.grouping)
        for batch in batches:
            sums.add(batch, self.names)
        for p, cross in sums.cross.items():
            parts = [[str(p)], [cross.tobytes()], [np.ascontiguousarray(sums.sums[p]).tobytes()]]
            types = [pa.string(), pa.binary(), pa.binary()]
            yield pa.RecordBatch.from_arrays(
                [pa.array(v, t) for v, t in zip(parts, types, strict=True)],
                names=["pattern", "cross", "sums"],
            )


def _on_spark(table: Table, names: list[str], sums: PatternSums) -> None:
    source: Any = table.source
    frame = source.frame.select([source.inner(c) for c in names]).to_native()
    run = _Executor(sums.design, sums.grouping, names)
    try:
        parts = frame.mapInArrow(run, "pattern string, cross binary, sums binary").toArrow()
    except Exception as error:
        raise executor_fault(error) from None
    d = sums.design.width
    for pattern, cross, group in zip(*(parts.column(i).to_pylist() for i in range(3)), strict=True):
        sums.merge(int(pattern), np.frombuffer(cross).reshape(d, d), np.frombuffer(group).reshape(-1, d))
