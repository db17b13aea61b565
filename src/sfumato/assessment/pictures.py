"""The pictures of a report, from the counts that the scores came from."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.assessment.case import Case
from sfumato.counts import Codebook
from sfumato.errors import SfumatoError, SfumatoWarning
from sfumato.report import Figure
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


def levels_of(book: Codebook) -> list[str]:
    """The levels as the report shows them; it is internal."""
    column = book.column
    if column.edges is not None:
        ends = list(column.edges)
        names = [f"[{a}, {b})" for a, b in pairwise(ends)]
        names[-1] = f"[{ends[-2]}, {ends[-1]}]"
    else:
        names = [column.label(v) for v in book.levels.to_pylist()]
    return names + ["missing"] * bool(book.missing)


def _marginals(case: Case) -> Figure | None:
    from sfumato.report.figures import marginals

    tables = case.pair.tabulate([(c,) for c in case.pair.columns])
    return marginals({s[0]: (levels_of(case.pair.leaves[s[0]]), *both) for s, both in tables.items()})


def _associations(case: Case, scores: Sequence[Score]) -> Figure | None:
    from sfumato.report.figures import associations

    found: Any = next((s.details["matrices"] for s in scores if "matrices" in s.details), None)
    if found is None or len(found["names"]) < 2:
        return None
    before, after = (np.array(found[f"cramers_v_{side}"], dtype=float) for side in ("before", "after"))
    return associations(found["names"], before, after, measure="Cramer's V")


def _mosaic(case: Case) -> Figure | None:
    from sfumato.report.figures import mosaic

    pair = case.pair
    known = [c for c in case.known if c in pair.columns]
    small = [c for c in known if max(pair.leaves[c].size, pair.nodes[c].size) <= _MOSAIC_LEVELS]
    chosen = tuple(sorted(small, key=lambda c: pair.leaves[c].size)[:_MOSAIC])
    if len(chosen) < 2:
        return None
    before, after = pair.tabulate([chosen])[chosen]
    return mosaic(chosen, [levels_of(pair.leaves[c]) for c in chosen], before, after)


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
