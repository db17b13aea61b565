"""Intervals of numbers. Thesis: RangePoset."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy._numbers import number, said
from sfumato.hierarchy._values import placed
from sfumato.hierarchy.levels import ROOT
from sfumato.hierarchy.matrix import Matrix
from sfumato.hierarchy.poset import at_least_one

_MOST_INTERVALS = 20_000


class Interval(NamedTuple):
    """The numbers from low to high, both included."""

    low: float
    high: float


@dataclass(frozen=True)
class Range:
    """Intervals within [low, high], ordered by inclusion; the top is the whole of it.

    The least upper bound of intervals is their hull, also when there are gaps between them: the hull is the
    smallest *interval* that holds all. Hulls of hulls are the hull of all, so no order matters.

    max_width: an interval wider than this tells nothing that is of use, so it is released as the top. The
    poset then has the intervals up to that width, and above them the top alone.
    whole: the numbers are whole; a leaf is one number, and the share of an interval counts its numbers.
    Otherwise the share is that of its length, and a leaf has none.

    The rank of an interval is its width (thesis: h); the height is the widest there is (M): high - low, or
    with a maximum the first width beyond it (max_width + 1 if whole; max_width itself if not, where an
    interval of exactly that width ranks as high as the top).
    """

    low: float
    high: float
    max_width: float | None = None
    whole: bool = False

    def __post_init__(self) -> None:
        faults = []
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high):
            faults.append("low and high must be numbers, low not above high")
        elif self.whole and (self.low != int(self.low) or self.high != int(self.high)):
            faults.append("low and high must be whole")
        if self.max_width is not None and not (math.isfinite(self.max_width) and self.max_width >= 0):
            faults.append("max_width must not be negative")
        if faults:
            raise ParameterError(f"this is not a range: {'; '.join(faults)}.", hint="as Range(0, 120)")

    @property
    def top(self) -> Interval:
        """All numbers."""
        return Interval(self.low, self.high)

    @property
    def limited(self) -> bool:
        """Whether some intervals are too wide to be told."""
        return self.max_width is not None and self.max_width < self.high - self.low

    @property
    def height(self) -> float:
        """The rank of the top."""
        if not self.limited:
            return self.high - self.low
        assert self.max_width is not None
        return math.floor(self.max_width) + 1 if self.whole else self.max_width

    @property
    def domain(self) -> float:
        """How many numbers there are."""
        if self.whole:
            return self.high - self.low + 1
        return 1 if self.low == self.high else math.inf

    def node(self, value: object) -> Interval:
        """The leaf of a number, or the node of an interval (two numbers)."""
        ends = value if isinstance(value, tuple) and len(value) == 2 else (value, value)
        low, high = (number(end) for end in ends)
        if low is None or high is None or not self.low <= low <= high <= self.high:
            raise DataError(
                "a value is not a number or an interval within the range.",
                hint="widen the range, or leave the cell missing",
                values=[value],
            )
        if self.whole and (low != int(low) or high != int(high)):
            raise DataError("a value is not whole.", hint="say whole=False", values=[value])
        return self._told(float(low), float(high))

    def _told(self, low: float, high: float) -> Interval:
        too_wide = self.max_width is not None and high - low > self.max_width
        return self.top if too_wide else Interval(low, high)

    def leq(self, a: Interval, b: Interval) -> bool:
        """Whether a lies within b."""
        return b.low <= a.low and a.high <= b.high

    def lub(self, *members: Interval) -> frozenset[Interval]:
        """The hull, or the top where the hull is too wide."""
        at_least_one(members)
        return frozenset([self._told(min(m.low for m in members), max(m.high for m in members))])

    def join(self, ends: NDArray[np.floating]) -> NDArray[np.float64]:
        """(..., members, 2) -> (..., 2): the least upper bound of all members, low and high."""
        low, high = ends[..., 0].min(axis=-1), ends[..., 1].max(axis=-1)
        if self.max_width is not None:
            too_wide = high - low > self.max_width
            low, high = np.where(too_wide, self.low, low), np.where(too_wide, self.high, high)
        return np.stack([low, high], axis=-1).astype(np.float64)

    def rank(self, node: Interval) -> float:
        """The width of an interval."""
        return self.height if node == self.top else node.high - node.low

    def share(self, node: Interval) -> float:
        """The part of all numbers in an interval."""
        if node == self.top:
            return 1.0
        if self.whole:
            return (node.high - node.low + 1) / self.domain
        return (node.high - node.low) / (self.high - self.low)

    def label(self, node: Interval) -> str:
        """As 30-39 or [0.5, 0.75]; a single number as it is."""
        if node == self.top and node.low < node.high:
            return ROOT
        if node.low == node.high:
            return said(node.low)
        if self.whole and node.low >= 0:
            return f"{said(node.low)}-{said(node.high)}"
        return f"[{said(node.low)}, {said(node.high)}]"

    def over(self, levels: Sequence[object]) -> Matrix:
        """All intervals between values that occur, numbered, for searches on arrays.

        The interval of all values is the top. Their number grows with the square of the values', so there
        is a limit; beyond it, `Intervals` makes fixed bands.
        """
        leaves = placed(levels, lambda v: self.node(v).low, "not numbers within the range")
        texts = {low: text for text, low in leaves.items()}
        if len(texts) < len(leaves):
            raise DataError(
                f"{len(leaves) - len(texts)} values are numbers that others are too, written differently.",
                hint="write each number in one way",
            )
        points = sorted(texts)
        widest = self.max_width if self.max_width is not None else math.inf
        spans = [(i, j) for i in range(len(points)) for j in _reach(points, i, widest)]
        if len(spans) > _MOST_INTERVALS:
            raise ParameterError(
                f"{len(points):,} values have {len(spans):,} intervals; the limit is {_MOST_INTERVALS:,}.",
                hint="give a max_width, or use fixed bands: Intervals(widths=...)",
            )
        parents: dict[Hashable, list[Hashable]] = {}
        known, all_ = set(spans), (0, len(points) - 1)
        for i, j in spans:
            above = [s for s in ((i - 1, j), (i, j + 1)) if s in known]
            parents[(i, j)] = [*above] if above or (i, j) == all_ else [all_]
        parents.setdefault(all_, [])
        names: dict[Hashable, str] = {
            (i, j): texts[points[i]] if i == j else self.label(Interval(points[i], points[j]))
            for i, j in known
        }
        names[all_] = ROOT if len(points) > 1 else texts[points[0]]
        return Matrix.of(parents, names=names)


def _reach(points: list[float], start: int, widest: float) -> range:
    """The ends of intervals from a start that are not too wide."""
    end = start
    while end + 1 < len(points) and points[end + 1] - points[start] <= widest:
        end += 1
    return range(start, end + 1)
