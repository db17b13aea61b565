"""Which leaves of several releases are the same values: bins may be cut further in one than in another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date

import numpy as np

from sfumato.assessment.attacks.intruder import Ints
from sfumato.assessment.reading.alignment import Pair
from sfumato.assessment.reading.lines import text_of
from sfumato.counts import Codebook
from sfumato.errors import DataError
from sfumato.schema import Value


def shared_levels(pairs: Sequence[Pair], column: str) -> list[Ints]:
    """For each release, where each of its leaves (and the unseen one) stands among all leaves by value."""
    _require_same_bins(pairs, column)
    places: dict[object, int] = {}
    out = []
    for pair in pairs:
        book = pair.leaves[column]
        names = [*_leaf_names(book), *([None] * book.missing)]
        out.append([places.setdefault(n, len(places)) for n in names])
    return [np.array([*where, len(places)], np.int64) for where in out]


def _leaf_names(book: Codebook) -> list[object]:
    """What a leaf is in every release of one original: its text, or where its bin begins.

    A release cuts further bins for values the original does not have, before, between and behind its own:
    then '[5, 7)' here is '[5, 6)' there. Of the original both hold the same, as where it begins tells.
    """
    edges = book.column.edges
    return [text_of(v) for v in book.levels.to_pylist()] if edges is None else list(edges[:-1])


def _require_same_bins(pairs: Sequence[Pair], column: str) -> None:
    """Ranges that two originals were cut into differently are neither the same values nor other ones."""
    if all(column in p.values for p in pairs):  # each bin is one value of its original
        return
    if len({_begins(p.leaves[column].column.edges or ()) for p in pairs}) > 1:
        raise DataError(
            f"'{column}' is cut into different bins in the originals.",
            hint="give it edges in the schema, the same in all of them",
        )


def _begins(edges: Sequence[Value]) -> tuple[Value, ...]:
    """Where bins begin, without those that a release added before and behind the original's range."""
    ends = [_endless(e) for e in (edges[0], edges[-1])] if edges else [False, False]
    return tuple(edges[ends[0] : len(edges) - 1 - ends[1]])


def _endless(edge: Value) -> bool:
    if isinstance(edge, date):  # also a datetime; the first and the last day there are
        return edge.year in (date.min.year, date.max.year)
    return isinstance(edge, float) and math.isinf(edge)
