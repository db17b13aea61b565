"""The pictures of a report, from the counts that the scores came from."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.assessment.case import Case
from sfumato.assessment.reading.alignment import Pair
from sfumato.assessment.reading.frames import unbounded
from sfumato.assessment.reading.order import in_order
from sfumato.errors import SfumatoError, SfumatoWarning
from sfumato.report import Figure
from sfumato.schema import Kind, Value
from sfumato.score import Score

Pictures = tuple[tuple[str, Figure], ...]
_MOSAIC = 3
_MOSAIC_LEVELS = 60  # more tiles than that show nothing


def pictures(case: Case, scores: Sequence[Score]) -> Pictures:
    """All that can be drawn of this case; what cannot is left out."""
    makers: list[tuple[str, Callable[[], Figure | None]]] = [
        ("utility", lambda: _marginals(case)),
        ("utility", lambda: _associations(case, scores)),
        ("risk", lambda: _mosaic(case)),
        ("risk", lambda: _class_sizes(case)),
        ("attack", lambda: _attacks(scores)),
    ]
    out = []
    for section, make in makers:
        try:
            figure = make()
        except SfumatoError as error:
            warnings.warn(f"a picture is left out: {error.message}", SfumatoWarning, stacklevel=4)
            continue
        if figure is not None:
            out.append((section, figure))
    return tuple(out)


def levels_of(pair: Pair, name: str) -> list[str]:
    """The levels of a column as the report shows them; it is internal."""
    book = pair.leaves[name]
    if book.column.edges is None:
        names = [book.column.label(v) for v in book.levels.to_pylist()]
    else:
        names = _bins(book.column.edges, set(pair.values.get(name, ())))
    return names + ["missing"] * bool(book.missing)


def _ordered(pair: Pair, name: str) -> tuple[list[str], list[int]]:
    """The levels as they are read, and their places: in the order a person declared, else in a plain one."""
    levels = levels_of(pair, name)
    book, declared = pair.leaves[name], pair.original.schema[name]
    places = list(range(len(levels)))
    own = len(levels) - bool(book.missing)  # missing stays last
    if book.column.edges is None and declared.kind is not Kind.ORDINAL:
        places[:own] = in_order(levels[:own])
    return [levels[i] for i in places], places


def _bins(edges: Sequence[Value], own: set[float]) -> list[str]:
    """Bins in few digits; one that holds a single value is that value."""
    ends, last = _brief(edges), len(edges) - 2
    names = []
    for i, (a, b) in enumerate(pairwise(edges)):
        if (own and a in own) or (isinstance(a, int) and b == a + 1 and i < last):
            names.append(ends[i])
        elif unbounded(a):
            names.append(f"below {ends[i + 1]}")
        elif unbounded(b):
            names.append(f"from {ends[i]}")
        else:
            names.append(f"[{ends[i]}, {ends[i + 1]}{']' if i == last else ')'}")
    return names


def _brief(edges: Sequence[Value]) -> list[str]:
    """Each edge in as few digits as tell all of them apart."""
    if not any(isinstance(e, float) for e in edges):
        return [str(e) for e in edges]
    for digits in (3, 4, 6, 9, 12):
        short = [float(f"{e:.{digits}g}") for e in edges]
        if len(set(short)) == len(edges):
            return [str(e).removesuffix(".0") for e in short]
    return [str(e) for e in edges]


def _marginals(case: Case) -> Figure | None:
    from sfumato.report.figures import marginals

    tables = case.plain_pair.tabulate([(c,) for c in case.plain_pair.columns])
    shown = {}
    for (name,), (before, after) in tables.items():
        levels, order = _ordered(case.plain_pair, name)
        shown[name] = (levels, before[order], after[order])
    return marginals(shown)


def _associations(case: Case, scores: Sequence[Score]) -> Figure | None:
    from sfumato.report.figures import associations

    found: Any = next((s.details["matrices"] for s in scores if "matrices" in s.details), None)
    if found is None or len(found["names"]) < 2:
        return None
    before, after = (np.array(found[f"cramers_v_{side}"], dtype=float) for side in ("before", "after"))
    return associations(found["names"], before, after, measure="Cramer's V")


def _mosaic(case: Case) -> Figure | None:
    from sfumato.report.figures import mosaic

    pair = case.plain_pair
    known = [c for c in case.known if c in pair.columns]
    small = [c for c in known if max(pair.leaves[c].size, pair.nodes[c].size) <= _MOSAIC_LEVELS]
    chosen = tuple(sorted(small, key=lambda c: pair.leaves[c].size)[:_MOSAIC])
    if len(chosen) < 2:
        return None
    levels, orders = zip(*(_ordered(pair, c) for c in chosen), strict=True)
    before, after = (counts[np.ix_(*orders)] for counts in pair.tabulate([chosen])[chosen])
    return mosaic(chosen, levels, before, after)


def _class_sizes(case: Case) -> Figure | None:
    from sfumato.assessment.risk.classes import classes
    from sfumato.report.figures import class_sizes

    if not case.known:
        return None
    before = classes(case.files.original, case.files.quasi_identifiers)
    return class_sizes(before.counts.n, case.classes.counts.n)


def _attacks(scores: Sequence[Score]) -> Figure | None:
    from sfumato.report.figures import attacks

    tried = [s for s in scores if s.section == "attack" and s.range == (0, 1) and np.isfinite(s.value)]
    return attacks(tried) if tried else None
