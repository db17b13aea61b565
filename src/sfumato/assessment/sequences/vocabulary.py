"""Which released values stand for a value of the original: itself, what is above it, or what holds it.

A released code may be the code, a node of ICD, a masked text, a set, an interval or a period of the calendar,
by any tool. What stands for no value of the original is counted and said: it was not understood.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.reading.notation import is_everything, masked, members, number, spans
from sfumato.errors import DataError
from sfumato.hierarchy import Hierarchy, Icd9, Icd10, Recipe
from sfumato.hierarchy.classifications import UNKNOWN

Ints = NDArray[np.int64]
_NAMED = {"icd9": Icd9(chapters=True), "icd10": Icd10(chapters=True)}
_FEW, _MOST_ODD = 20, 0.05  # codes that say which dictionary they are of; share that may be none of it
_WEEK = re.compile(r"week of (\d{4}-\d{2}-\d{2})")
_QUARTER = re.compile(r"(\d{4})-Q([1-4])")


@dataclass(frozen=True)
class Meaning:
    """nodes: per value of the original, the numbers of the released values that stand for it.

    unread: released values that stand for none.
    """

    nodes: list[Ints]
    unread: frozenset[int]


def meaning(
    leaves: Sequence[str],
    labels: Sequence[str],
    given: Hierarchy | Recipe | str | None = None,
    *,
    unit: str = "",
) -> Meaning:
    """leaves: values of the original and the control. labels: released ones. unit: "date" for days."""
    found: list[set[int]] = [set() for _ in leaves]
    known = {label: i for i, label in enumerate(labels)}
    own = {leaf for leaf in leaves if leaf in known}
    odd = [i for i, label in enumerate(labels) if label not in own]
    paths, recipe = _paths(leaves, given) if odd else ({}, None)
    for i, leaf in enumerate(leaves):
        found[i].update(known[label] for label in (leaf, *paths.get(leaf, ())) if label in known)
    seen = set().union(*found)
    values = _Values(leaves, unit)
    for node in (i for i in odd if i not in seen):
        held = values.under(labels[node])
        seen.update([node] if len(held) else [])
        for at in held:
            found[at].add(node)
    unread = {i for i in range(len(labels)) if i not in seen}
    if recipe is not None and unread:  # a code of the same dictionary that nobody here has
        unread -= {known[label] for label in _rows(recipe, [labels[i] for i in unread])}
    return Meaning([np.array(sorted(nodes), np.int64) for nodes in found], frozenset(unread))


_Known = Hierarchy | Recipe | None


def _paths(
    leaves: Sequence[str], given: Hierarchy | Recipe | str | None
) -> tuple[dict[str, tuple[str, ...]], _Known]:
    """The levels above each value: of the hierarchy that was given, or of a dictionary it seems to be of."""
    if given is not None:
        recipe = _NAMED.get(given) if isinstance(given, str) else given
        return ({}, None) if recipe is None else (_rows(recipe, leaves), recipe)
    for recipe in _NAMED.values():
        rows = _rows(recipe, leaves)
        if len(rows) >= max(_FEW, (1 - _MOST_ODD) * len(leaves)):
            return rows, recipe
    return {}, None


def _rows(recipe: Hierarchy | Recipe, leaves: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The levels above each value that a hierarchy knows; those it does not know are left out."""
    values = sorted(set(leaves))
    try:
        rows = recipe.over(values).rows()
    except DataError as error:
        odd = {str(v) for v in error.values}
        rest = [v for v in values if v not in odd]
        if not odd or not rest:
            return {}
        rows = recipe.over(rest).rows()
    return {row[0]: row[1:-1] for row in rows if UNKNOWN not in row}


class _Values:
    """The values of the original, ready to be looked up by what a released value says."""

    def __init__(self, leaves: Sequence[str], unit: str) -> None:
        self._leaves, self._unit = leaves, unit

    @cached_property
    def _sorted(self) -> tuple[list[str], list[int]]:
        order = sorted(range(len(self._leaves)), key=self._leaves.__getitem__)
        return [self._leaves[i] for i in order], order

    @cached_property
    def _numbers(self) -> NDArray[np.float64]:
        read = (number(leaf, self._unit) for leaf in self._leaves)
        return np.array([np.nan if v is None else v for v in read], np.float64)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {leaf: i for i, leaf in enumerate(self._leaves)}

    def under(self, label: str) -> list[int]:
        """The values that a released one stands for."""
        text = label.strip()
        if is_everything(text):
            return list(range(len(self._leaves)))
        if (names := members(text)) is not None:
            return [self._places[n] for n in names if n in self._places]
        if (period := _period(text)) is not None and self._unit:
            low, high = (number(day.isoformat(), self._unit) for day in period)
            return self._between(low or 0.0, high or 0.0)
        if text.endswith("*") and "*" not in text.rstrip("*"):
            return self._starting(text.rstrip("*"))
        if (fits := masked(text, self._leaves)) is not None:
            return np.flatnonzero(fits).tolist()
        span = spans([text], self._unit)[0]
        with np.errstate(invalid="ignore"):
            return [] if span is None else np.flatnonzero(span.holds(self._numbers)).tolist()

    def _between(self, low: float, high: float) -> list[int]:
        with np.errstate(invalid="ignore"):
            return np.flatnonzero((self._numbers >= low) & (self._numbers < high)).tolist()

    def _starting(self, stem: str) -> list[int]:
        texts, order = self._sorted
        first, last = bisect_left(texts, stem), bisect_left(texts, stem + "\U0010ffff")
        return order[first:last]


def _period(text: str) -> tuple[date, date] | None:
    """The first day of a week or quarter, and that after it."""
    if match := _WEEK.fullmatch(text):
        try:
            monday = date.fromisoformat(match[1])
        except ValueError:
            return None
        return monday, monday + timedelta(7)
    if match := _QUARTER.fullmatch(text):
        year, month = int(match[1]), 3 * int(match[2]) - 2
        if not 1 <= year < 9999:
            return None
        # Weeks belong to the quarter of their Monday: its last days may be the first of the next.
        end = date(year + (month == 10), (month + 2) % 12 + 1, 1)
        return date(year, month, 1), end + timedelta(6)
    return None
