"""The scale of a quantity or a date: bins of the original, and released values spread over them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import pairwise

import numpy as np
import pyarrow as pa

from sfumato.assessment.reading import notation
from sfumato.assessment.reading.lines import CLOCKS, ColumnScale, Float, Line, Tree, has_missing, text_of
from sfumato.assessment.reading.notation import Span
from sfumato.counts import Codebook, Counts
from sfumato.schema import Column, Value

_NUMBERS = ("integer", "real", "decimal")
_FIRST, _LAST = date(1, 1, 1), date(9999, 12, 31)
_DIGITS = 12  # of a label: enough to tell edges apart, too few to show what binary numbers add


class Binned:
    """A quantity or a date: bins of the original, or as declared; beyond its range, bins of their own."""

    def __init__(self, column: Column, before: Counts, after: Counts, tree: Tree, bins: int) -> None:
        self.column, self.before, self.after, self.tree = column, before, after, tree
        self.clock = CLOCKS.get(column.type, "")
        self.type = column.type
        self.notes: list[str] = []
        same = after.codebooks[0].column
        self.native = same.type == column.type or (same.type in _NUMBERS and column.type in _NUMBERS)
        if self.native and same.type != column.type:
            self.type = "real"
        self.cut = False
        self.own: Float | None = None
        self.edges = self.inner = self._edges(bins)

    def scale(self) -> ColumnScale:
        """The scale of the column."""
        there = self.after.codebooks[0]
        if self.native:
            ends = column_numbers(there.levels)[[0, -1]] if len(there.levels) else np.empty(0)
            spans: list[Span | None] = [Span(float(v), float(v)) for v in ends]
            self._split(column_numbers(there.levels))
        else:
            texts = [text_of(v) for v in there.levels.to_pylist()]
            spans = notation.spans(texts, self.clock)
            self._split(np.array([s.low for s in spans if s is not None and s.point], float))
        self._extend(spans)
        missing_after = has_missing(self.after)
        placed = None if self.native else self._rows(texts, spans)
        lost = sum(1 for row in placed if row is None) if placed is not None else 0
        missing = has_missing(self.before) or missing_after or lost > 0
        edges = self._as_values(self.edges)
        column = replace(self.column, levels=None, edges=edges, missing=missing, type=self.type)
        names = pa.array(bin_names(self.edges), pa.string())
        leaves = Codebook.declared(column) if self.clock else Codebook(column, names, missing)
        if placed is None:
            return ColumnScale(leaves, leaves, None, tuple(self.notes), self.cut, self.own)
        generalized_values = sum(1 for row in placed if row is not None and np.count_nonzero(row) > 1)
        if generalized_values:
            how = "the whole numbers" if self._whole else "the length"
            self.notes.append(f"intervals spread evenly over {how} they cover: {generalized_values}")
        if lost:
            self.notes.append(
                f"released values that are neither a number nor an interval, counted as missing: {lost}"
            )
        nodes = Codebook(replace(there.column, missing=missing_after), there.levels, missing_after)
        spread = np.zeros((nodes.size, leaves.size))
        for i, row in enumerate(placed):
            if row is None:
                spread[i, -1] = 1.0
            else:
                spread[i, : len(row)] = row
        if missing_after:
            spread[-1, -1] = 1.0
        return ColumnScale(leaves, nodes, spread, tuple(self.notes), self.cut, self.own)

    @property
    def _whole(self) -> bool:
        return self.column.type in ("integer", "date")

    def _edges(self, bins: int) -> Float:
        """Declared, or the original's own values where they are few, or its quantiles."""
        if self.column.edges is not None:
            return edge_numbers(self.column, self.before.codebooks[0].levels.type)
        values = column_numbers(self.before.codebooks[0].levels)
        n = np.zeros(len(values) + 1)
        n[self.before.codes[:, 0]] = self.before.n
        finite = np.isfinite(values)  # what is infinite lies outside every range, in a bin of its own
        values, n = values[finite], n[:-1][finite]
        if len(values) <= bins:
            self.own = values
            gap = values[-1] - values[-2] if len(values) > 1 else 1.0
            return np.append(values, values[-1] + (1.0 if self._whole else gap))
        self.cut = True
        self.notes.append(f"cut at the original's quantiles into at most {bins} bins, heavy values apart")
        heavy = np.flatnonzero(n > n.sum() / bins)
        rest = n.copy()
        rest[heavy] = 0  # a heavy value is a bin by itself; the others share the remaining ones
        wanted = max(2, bins - len(heavy))
        places = np.searchsorted(np.cumsum(rest), rest.sum() * np.arange(1, wanted) / wanted)
        ends = [0, len(values) - 1]
        places = np.concatenate([ends, places, heavy, heavy + 1]).clip(0, len(values) - 1)
        edges: Float = values[np.unique(places)]
        return edges

    def _split(self, released: Float) -> None:
        """Where values are bins of their own, bins for released ones in between: they are other values."""
        inside = released[(released >= self.edges[0]) & (released < self.edges[-1])]
        if self.own is not None and len(others := np.setdiff1d(inside, self.own)):
            ends = self._next(self.own[np.searchsorted(self.own, others) - 1])
            self.edges = self.inner = np.union1d(self.edges, ends)
            self.notes.append("released values between those of the original have bins of their own")

    def _extend(self, spans: Sequence[Span | None]) -> None:
        """Bins for what lies below or above the original's range."""
        if self.column.clamp:
            return
        own = column_numbers(self.before.codebooks[0].levels)
        low = min([own[0], *(s.high for s in spans if s is not None)])
        high = max([own[-1], *(s.low for s in spans if s is not None)])
        below = low < self.edges[0]
        above = high >= self.edges[-1] if self.own is not None else high > self.edges[-1]
        if below or above:
            if above and self.own is None:  # the last bin is no longer closed, and keeps its end
                self.edges = np.append(self.edges[:-1], self._next(self.edges[-1:]))
            self.edges = np.concatenate([[-np.inf] * int(below), self.edges, [np.inf] * int(above)])
            self.notes.append("values outside the range of the bins have bins of their own")

    def _next(self, values: Float) -> Float:
        """The next number above each: a whole one, or the next a computer has."""
        return values + 1 if self.type in ("integer", *CLOCKS) else np.nextafter(values, np.inf)

    def _as_values(self, edges: Float) -> tuple[Value, ...]:
        """The edges as values of the column: what has no end is the first or the last day there is."""
        if not self.clock:
            whole = self.type == "integer"
            return tuple(int(e) if whole and math.isfinite(e) else float(e) for e in edges)
        kind = pa.int32() if self.clock == "date" else pa.int64()
        ends = np.isinf(edges)
        numbers = pa.array(np.where(ends, 0, edges).astype(np.int64)).cast(kind)
        found: list[Value] = numbers.cast(self.before.codebooks[0].levels.type).to_pylist()
        zone = UTC if self.column.type == "instant" else None
        for place in np.flatnonzero(ends):
            limit = _LAST if edges[place] > 0 else _FIRST
            at = limit if self.clock == "date" else datetime(limit.year, limit.month, limit.day, tzinfo=zone)
            found[place] = at
        return tuple(found)

    def _rows(self, texts: Sequence[str], spans: Sequence[Span | None]) -> list[Float | None]:
        """The spread of each released text over the bins."""
        last = len(self.edges) - 2
        edges = self.edges.copy()
        own = column_numbers(self.before.codebooks[0].levels)
        if math.isinf(self.inner[0]):  # declared without an end: it ends where the original does
            edges[0] = min(own[0], edges[1])
        if math.isinf(self.inner[-1]):
            edges[-1] = max(own[-1], edges[-2])
        leaf_spans = tuple(Span(a, b, True, i == last) for i, (a, b) in enumerate(pairwise(edges)))
        line = Line(leaf_spans, self._whole, False)
        tree = {text_of(node): [text_of(v) for v in leaves] for node, leaves in self.tree.items()}
        rows: list[Float | None] = []
        for text, span in zip(texts, spans, strict=True):
            weights = self._row(text, span, line, tree)
            total = 0.0 if weights is None else weights.sum()
            rows.append(None if weights is None or total <= 0 else weights / total)
        return rows

    def _row(
        self, text: str, span: Span | None, line: Line, tree: Mapping[str, Sequence[str]]
    ) -> Float | None:
        if text in tree or notation.members(text):
            parts = tree.get(text) or notation.members(text) or ()
            read = list(zip(parts, notation.spans(parts, self.clock), strict=True))
            low, high = self.inner[0], self.inner[-1]  # as an interval, cut to the original's range
            inside = [(p, s) for p, s in read if s is None or (s.high >= low and s.low <= high)]
            total: Float | None = None  # added up one by one: a year of days in bins of days is large
            for part, its in inside or read:
                row = self._row(part, its, line, {})
                total = row if total is None or row is None else total + row
            return total
        if notation.is_everything(text):
            span = Span(-math.inf, math.inf)
        if span is None:
            return None
        return self._placed(span, line)

    def _placed(self, span: Span, line: Line) -> Float:
        """A span over the bins: what overlaps the original's range, or else the outer bin it lies in."""
        if self.column.clamp:
            low, high = np.clip([span.low, span.high], self.edges[0], self.edges[-1])
            span = Span(low, high, span.with_low or low == high, span.with_high or low == high)
        if self.own is not None and not span.point:
            inside = (span.holds(self.inner[:-1]) & np.isin(self.inner[:-1], self.own)).astype(float)
            if inside.any():
                return np.concatenate(
                    [[0.0] * int(math.isinf(self.edges[0])), inside, [0.0] * int(math.isinf(self.edges[-1]))]
                )
        weights = line.weights(span)
        if weights.sum() > 0:
            return weights
        middle = np.array([np.nan_to_num((max(span.low, -1e300) + min(span.high, 1e300)) / 2)])
        place = int(np.clip(np.searchsorted(self.edges, middle[0], side="right") - 1, 0, len(self.edges) - 2))
        weights = np.zeros(len(self.edges) - 1)
        weights[place] = 1.0
        return weights


def edge_numbers(column: Column, stored: pa.DataType) -> Float:
    """The edges of a column as numbers."""
    edges = list(column.edges or ())
    if column.type in CLOCKS:
        return column_numbers(pa.array(edges, stored))
    return np.array([float(e) for e in edges])  # type: ignore[arg-type]


def column_numbers(levels: pa.Array) -> Float:
    """Numbers, or dates as days or microseconds."""
    if pa.types.is_date(levels.type):
        levels = levels.cast(pa.int32())
    elif pa.types.is_timestamp(levels.type):
        levels = levels.cast(pa.int64())
    return np.asarray(levels.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def told_apart(levels: pa.Array) -> bool:
    """Whether the values differ as numbers of a computer: whole ones beyond 2^53 are numbers of records.

    Infinite ones alone have no range that could be cut.
    """
    numbers = column_numbers(levels)
    return len(np.unique(numbers)) == len(levels) and bool(np.isfinite(numbers).any())


def bin_names(edges: Float) -> list[str]:
    """'[0, 5)', '[5, 10]': the last bin is closed, and so is one that ends just above a number.

    A bin that was closed and then got a neighbour ends at the next number a computer has: 9.3 is in it,
    and its name is '[5, 9.3]', not '[5, 9.300000000000002)'; that of the neighbour is '(9.3, inf]'.
    """
    shown, just_above = zip(*(_shown(float(e)) for e in edges), strict=True)
    if len(set(zip(shown, just_above, strict=True))) < len(edges):  # too close for so few digits
        shown, just_above = tuple(_plain(float(e)) for e in edges), (False,) * len(edges)
    last = len(edges) - 2
    return [
        f"{'(' if just_above[i] else '['}{shown[i]}, {shown[j]}{']' if just_above[j] or i == last else ')'}"
        for i, j in pairwise(range(len(edges)))
    ]


def _shown(edge: float) -> tuple[str, bool]:
    """An edge in few digits, and whether it lies just above the number these digits are."""
    short = float(f"{edge:.{_DIGITS}g}")
    return _plain(short), short != edge and float(np.nextafter(short, np.inf)) == edge


def _plain(edge: float) -> str:
    return str(edge).removesuffix(".0")
