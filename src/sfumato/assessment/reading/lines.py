"""What every scale rests on: leaves, nodes, and how much of a node falls on each leaf."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.reading.notation import Span
from sfumato.counts import Codebook, Counts
from sfumato.schema import Value

Tree = Mapping[str, Sequence[Value]]
Float = NDArray[np.float64]
CLOCKS = {"date": "date", "datetime": "datetime", "instant": "datetime"}


@dataclass(frozen=True)
class ColumnScale:
    """One column of both files."""

    leaves: Codebook
    nodes: Codebook
    spread: Float | None  # None: each node is the leaf of the same place
    notes: tuple[str, ...] = ()
    cut: bool = False  # at the original's quantiles: its bins are equally frequent by construction
    own: Float | None = None  # the original's values, where each of them is a bin by itself


class Spreads(dict[str, Float]):
    """(nodes, leaves) by column. Where nodes are leaves the matrix is made when asked for, and not kept.

    Of hundreds of columns with thousands of values each they would take all the memory there is.
    """

    def __init__(self, scales: Mapping[str, ColumnScale]) -> None:
        super().__init__({n: s.spread for n, s in scales.items() if s.spread is not None})
        self._sizes = {n: s.leaves.size for n, s in scales.items() if s.spread is None}

    def __missing__(self, column: str) -> Float:
        return np.eye(self._sizes[column])

    def is_identity(self, column: str) -> bool:
        """Whether each node of the column is the leaf of the same place."""
        return column in self._sizes


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


@dataclass(frozen=True)
class Line:
    """Leaves on the number line: points, or intervals measured by whole numbers or by length."""

    spans: tuple[Span, ...]
    whole: bool
    points: bool
    reach: float = 0.0  # how far a leaf with an open end goes: '60+' beside '30-59' as far as that one

    def weights(self, node: Span) -> Float:
        """How much of a node falls on each leaf."""
        lows, highs, with_low, with_high = self._ends
        if self.points:
            return node.holds(lows).astype(float)
        weights: Float
        if node.point:
            above = (lows < node.low) | ((lows == node.low) & with_low)
            held = np.flatnonzero(above & ((highs > node.low) | ((highs == node.low) & with_high)))
            weights = np.zeros(len(self.spans))
            weights[held[:1]] = 1.0
            return weights
        lows, highs = self._measured
        low, high = node.wholes() if self.whole else (node.low, node.high)
        down, up = np.isinf(lows), np.isinf(highs)
        lows, highs = np.where(down, highs - self.reach, lows), np.where(up, lows + self.reach, highs)
        # an open-ended interval ends where the domain ends
        first, last = max(low, lows.min()), min(high, highs.max())
        weights = np.clip(np.minimum(last, highs) - np.maximum(first, lows), 0, None)
        if self.reach and not weights.any():  # it lies in an open end, beyond its reach
            weights = ((down & (high <= highs)) | (up & (low >= lows))).astype(float)
        return weights

    @cached_property
    def _ends(self) -> tuple[Float, Float, NDArray[np.bool_], NDArray[np.bool_]]:
        lows, highs = np.array([(s.low, s.high) for s in self.spans], float).reshape(-1, 2).T
        closed = np.array([(s.with_low, s.with_high) for s in self.spans], bool).reshape(-1, 2).T
        return lows, highs, closed[0], closed[1]

    @cached_property
    def _measured(self) -> tuple[Float, Float]:
        ends = [s.wholes() if self.whole else (s.low, s.high) for s in self.spans]
        lows, highs = np.array(ends, float).T
        return lows, highs


def measured(spans: Sequence[Span | None]) -> Line | None:
    """Named leaves on the number line, if every one of them is a number or an interval."""
    every = [s for s in spans if s is not None]
    if not every or len(every) < len(spans):
        return None
    whole = all(float(e).is_integer() or math.isinf(e) for s in every for e in (s.low, s.high))
    ends = [s.wholes() if whole else (s.low, s.high) for s in every if not s.point]
    closed = [high - low for low, high in ends if math.isfinite(high - low)]
    reach = float(np.mean(closed)) if closed else 1.0
    return Line(tuple(every), whole, all(s.point for s in every), reach)
