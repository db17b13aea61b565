"""The common scale of one column: leaves, nodes, and how the nodes are spread over the leaves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.assessment import generalized
from sfumato.assessment.generalized import Span
from sfumato.counts import Codebook, Counts
from sfumato.schema import Column, Kind, Value

Float = NDArray[np.float64]
Tree = Mapping[str, Sequence[Value]]
_NUMBERS = ("integer", "real", "decimal")
_CLOCKS = {"date": "date", "datetime": "datetime", "instant": "datetime"}


@dataclass(frozen=True)
class Scale:
    """One column of both files."""

    leaves: Codebook
    nodes: Codebook
    spread: Float
    notes: tuple[str, ...] = ()
    cut: bool = False  # at the original's quantiles: its bins are equally frequent by construction
    own: Float | None = None  # the original's values, where each of them is a bin by itself


def common_scale(column: Column, before: Counts, after: Counts, tree: Tree, bins: int) -> Scale:
    """The scale of a column: bins for quantities and dates, levels for everything else.

    before, after: what each file holds, with its counts. tree: generalized value -> its leaves.
    """
    if column.kind in (Kind.NUMERIC, Kind.DATE) and len(before.codebooks[0].levels):
        return _Binned(column, before, after, tree, bins).scale()
    return _levels(column, before, after, tree)


def text_of(value: object) -> str:
    """A value as it would stand in a file: 1.0 is '1', true is 'true'."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    return str(value).strip()


def has_missing(counts: Counts) -> bool:
    """Whether a column that was counted openly has missing cells."""
    return bool((counts.codes[:, 0] == len(counts.codebooks[0].levels)).any())


# -- levels ----------------------------------------------------------------------------------------


def _levels(column: Column, before: Counts, after: Counts, tree: Tree) -> Scale:
    found, there = before.codebooks[0].levels, after.codebooks[0]
    levels = found
    notes = []
    if column.levels is not None and column.kind is not Kind.CODES:
        declared = Codebook.declared(column).levels
        extra = found.filter(pc.invert(pc.is_in(found, value_set=declared)))
        levels = pa.concat_arrays([declared, extra])
        if len(extra):
            notes.append(f"the original has {len(extra)} levels outside its declared domain")
    names = [text_of(v) for v in levels.to_pylist()]
    reader = _Names(names, tree, _CLOCKS.get(column.type, ""), column.type == "boolean")
    values = there.levels.to_pylist()
    rows = reader.rows([text_of(v) for v in values])
    unseen = [i for i, row in enumerate(rows) if row is None]
    spread_nodes = sum(1 for row in rows if row is not None and np.count_nonzero(row) > 1)
    if spread_nodes:
        notes.append(f"{spread_nodes} generalized values are spread evenly over the levels they stand for")
    if unseen:
        notes.append(
            f"{len(unseen)} released values are not in the original: levels of their own, "
            "unless hierarchies= says what they stand for"
        )
    leaf_column, levels = _extended(column, levels, there, unseen)
    missing = has_missing(before) or has_missing(after)
    leaves = Codebook(replace(leaf_column, missing=missing), levels, missing)
    nodes = Codebook(replace(there.column, missing=has_missing(after)), there.levels, has_missing(after))
    spread = np.zeros((nodes.size, leaves.size))
    for i, row in enumerate(rows):
        if row is not None:
            spread[i, : len(row)] = row
    spread[unseen, len(names) + np.arange(len(unseen))] = 1.0
    if nodes.missing:
        spread[-1, -1] = 1.0
    return Scale(leaves, nodes, spread, tuple(notes))


def _extended(
    column: Column, levels: pa.Array, there: Codebook, unseen: Sequence[int]
) -> tuple[Column, pa.Array]:
    """The leaves with the unseen released values after them; as text where the types do not agree."""
    kind = Kind.NOMINAL if column.kind is Kind.FLAG else column.kind
    open_ = replace(column, kind=kind, levels=None, edges=None)
    if not unseen:
        return open_, levels
    new = there.levels.take(pa.array(unseen, pa.int64()))
    if new.type == levels.type:
        return open_, pa.concat_arrays([levels, new])
    try:
        return open_, pa.concat_arrays([levels, new.cast(levels.type)])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        gaps = tuple(text_of(v) for v in column.missing_codes)
        text = replace(open_, kind=Kind.NOMINAL, type="text", missing_codes=gaps)
        return text, pa.concat_arrays([levels.cast(pa.string()), new.cast(pa.string())])


class _Names:
    """What a text stands for among named leaves."""

    def __init__(self, names: Sequence[str], tree: Tree, clock: str, truth: bool) -> None:
        self.names = list(names)
        self.places = {name: i for i, name in enumerate(names)}
        if truth:
            self.places |= {n.capitalize(): i for n, i in self.places.items()}
            self.places |= {n.upper(): i for n, i in self.places.items()}
            for digit, name in (("1", "true"), ("0", "false")):
                if name in self.places:
                    self.places[digit] = self.places[name]
        self.tree = {text_of(node): [text_of(v) for v in leaves] for node, leaves in tree.items()}
        self.clock = clock
        self.line = _measured(generalized.spans(names, clock))

    def rows(self, texts: Sequence[str]) -> list[Float | None]:
        """For each text its spread over the leaves, or None where it stands for none of them."""
        spans = generalized.spans(texts, self.clock)
        weights = [self._weights(text, span) for text, span in zip(texts, spans, strict=True)]
        return [w / w.sum() if w is not None and w.sum() > 0 else None for w in weights]

    def _weights(self, text: str, span: Span | None) -> Float | None:
        if text in self.places:
            return self._of([self.places[text]])
        if text in self.tree:
            return self._of([self.places[n] for n in self.tree[text] if n in self.places])
        if generalized.is_everything(text):
            return np.ones(len(self.names))
        parts = generalized.members(text)
        if parts is not None:
            rows = [
                self._weights(p, s) for p, s in zip(parts, generalized.spans(parts, self.clock), strict=True)
            ]
            known = [r for r in rows if r is not None]
            return np.asarray(np.max(known, axis=0)) if known else None
        matched = generalized.masked(text, self.names)
        if matched is not None:
            return matched.astype(float)
        return self.line.weights(span) if self.line is not None and span is not None else None

    def _of(self, places: Sequence[int]) -> Float:
        row = np.zeros(len(self.names))
        row[list(places)] = 1.0
        return row


# -- the number line -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Line:
    """Leaves on the number line: points, or intervals measured by whole numbers or by length."""

    spans: tuple[Span, ...]
    whole: bool
    points: bool

    def weights(self, node: Span) -> Float:
        """How much of a node falls on each leaf."""
        if self.points or node.point:
            lows = np.array([s.low for s in self.spans])
            if self.points:
                return node.holds(lows).astype(float)
            first = next((i for i, s in enumerate(self.spans) if s.holds(np.array([node.low]))[0]), None)
            return np.eye(len(self.spans))[first] if first is not None else np.zeros(len(self.spans))
        lows, highs = np.array([s.wholes() if self.whole else (s.low, s.high) for s in self.spans]).T
        low, high = node.wholes() if self.whole else (node.low, node.high)
        # an open-ended interval ends where the domain ends
        low, high = max(low, lows[np.isfinite(lows)].min()), min(high, highs[np.isfinite(highs)].max())
        weights: Float = np.clip(np.minimum(high, highs) - np.maximum(low, lows), 0, None)
        return weights


def _measured(spans: Sequence[Span | None]) -> _Line | None:
    """Named leaves on the number line, if every one of them is a number or an interval."""
    every = [s for s in spans if s is not None]
    if not every or len(every) < len(spans):
        return None
    whole = all(float(e).is_integer() or math.isinf(e) for s in every for e in (s.low, s.high))
    return _Line(tuple(every), whole, all(s.point for s in every))


class _Binned:
    """A quantity or a date: bins of the original, or as declared; beyond its range, bins of their own."""

    def __init__(self, column: Column, before: Counts, after: Counts, tree: Tree, bins: int) -> None:
        self.column, self.before, self.after, self.tree = column, before, after, tree
        self.clock = _CLOCKS.get(column.type, "")
        self.type = column.type
        self.notes: list[str] = []
        same = after.codebooks[0].column
        self.native = same.type == column.type or (same.type in _NUMBERS and column.type in _NUMBERS)
        if self.native and same.type != column.type:
            self.type = "real"
        self.cut = False
        self.own: Float | None = None
        self.edges = self.inner = self._edges(bins)

    def scale(self) -> Scale:
        """The scale of the column."""
        there = self.after.codebooks[0]
        if self.native:
            ends = column_numbers(there.levels)[[0, -1]] if len(there.levels) else np.empty(0)
            spans: list[Span | None] = [Span(float(v), float(v)) for v in ends]
            self._split(column_numbers(there.levels))
        else:
            texts = [text_of(v) for v in there.levels.to_pylist()]
            spans = generalized.spans(texts, self.clock)
            self._split(np.array([s.low for s in spans if s is not None and s.point], float))
        self._extend(spans)
        missing_after = has_missing(self.after)
        placed = None if self.native else self._rows(texts, spans)
        lost = sum(1 for row in placed if row is None) if placed is not None else 0
        missing = has_missing(self.before) or missing_after or lost > 0
        edges = tuple(self._edge(e) for e in self.edges)
        column = replace(self.column, levels=None, edges=edges, missing=missing, type=self.type)
        leaves = Codebook.declared(column)
        if placed is None:
            return Scale(leaves, leaves, np.eye(leaves.size), tuple(self.notes), self.cut, self.own)
        generalized_values = sum(1 for row in placed if row is not None and np.count_nonzero(row) > 1)
        if generalized_values:
            how = "the whole numbers" if self._whole else "the length"
            self.notes.append(f"{generalized_values} intervals are spread evenly over {how} they cover")
        if lost:
            self.notes.append(f"{lost} released values are no number or interval, counted as missing")
        nodes = Codebook(replace(there.column, missing=missing_after), there.levels, missing_after)
        spread = np.zeros((nodes.size, leaves.size))
        for i, row in enumerate(placed):
            if row is None:
                spread[i, -1] = 1.0
            else:
                spread[i, : len(row)] = row
        if missing_after:
            spread[-1, -1] = 1.0
        return Scale(leaves, nodes, spread, tuple(self.notes), self.cut, self.own)

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
        n = n[:-1]
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
        return values + 1 if self.type in ("integer", *_CLOCKS) else np.nextafter(values, np.inf)

    def _edge(self, edge: float) -> Any:
        if not self.clock:
            return int(edge) if self.type == "integer" and math.isfinite(edge) else float(edge)
        kind = pa.int32() if self.clock == "date" else pa.int64()
        stored = self.before.codebooks[0].levels.type
        limits = (date(1, 1, 1), date(9999, 12, 31))
        if math.isinf(edge):
            limit = limits[int(edge > 0)]
            zone = UTC if self.column.type == "instant" else None
            return (
                limit if self.clock == "date" else datetime(limit.year, limit.month, limit.day, tzinfo=zone)
            )
        return pa.array([int(edge)], kind).cast(stored)[0].as_py()

    def _rows(self, texts: Sequence[str], spans: Sequence[Span | None]) -> list[Float | None]:
        """The spread of each released text over the bins."""
        last = len(self.edges) - 2
        leaf_spans = tuple(
            Span(a, b, True, i == last)
            for i, (a, b) in enumerate(zip(self.edges[:-1], self.edges[1:], strict=True))
        )
        line = _Line(leaf_spans, self._whole, False)
        tree = {text_of(node): [text_of(v) for v in leaves] for node, leaves in self.tree.items()}
        rows: list[Float | None] = []
        for text, span in zip(texts, spans, strict=True):
            weights = self._row(text, span, line, tree)
            total = 0.0 if weights is None else weights.sum()
            rows.append(None if weights is None or total <= 0 else weights / total)
        return rows

    def _row(
        self, text: str, span: Span | None, line: _Line, tree: Mapping[str, Sequence[str]]
    ) -> Float | None:
        if text in tree or generalized.members(text):
            parts = tree.get(text) or generalized.members(text) or ()
            read = list(zip(parts, generalized.spans(parts, self.clock), strict=True))
            low, high = self.inner[0], self.inner[-1]  # as an interval, cut to the original's range
            inside = [(p, s) for p, s in read if s is None or (s.high >= low and s.low <= high)]
            rows = [self._row(p, s, line, {}) for p, s in inside or read]
            known = [row for row in rows if row is not None]
            return np.asarray(np.sum(known, axis=0)) if known else None
        if generalized.is_everything(text):
            span = Span(-math.inf, math.inf)
        if span is None:
            return None
        return self._placed(span, line)

    def _placed(self, span: Span, line: _Line) -> Float:
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
        return np.asarray(np.eye(len(self.edges) - 1)[place])


def edge_numbers(column: Column, stored: pa.DataType) -> Float:
    """The edges of a column as numbers."""
    edges = list(column.edges or ())
    if column.type in _CLOCKS:
        return column_numbers(pa.array(edges, stored))
    return np.array([float(e) for e in edges])  # type: ignore[arg-type]


def column_numbers(levels: pa.Array) -> Float:
    """Numbers, or dates as days or microseconds."""
    if pa.types.is_date(levels.type):
        levels = levels.cast(pa.int32())
    elif pa.types.is_timestamp(levels.type):
        levels = levels.cast(pa.int64())
    return np.asarray(levels.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
