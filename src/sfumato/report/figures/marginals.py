"""How often each value occurs, and in how large a crowd a row stands: before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import ParameterError
from sfumato.report.contents import DataTable, Figure
from sfumato.report.figures.common import (
    FILES,
    FILES_KEY,
    Spec,
    floats,
    in_expression,
    percent,
    shares,
    short,
)
from sfumato.report.palette import MUTED
from sfumato.report.words import clean

Array = NDArray[np.float64]


def marginals(
    tables: Mapping[str, tuple[Sequence[object], ArrayLike, ArrayLike]],
    *,
    most_columns: int = 24,
    most_levels: int = 20,
) -> Figure:
    """The shares of each column's values, original behind and released before it.

    tables: column -> (levels, counts in the original, counts in the release), in the levels' order.
    Of more columns than `most_columns`, those that differ most are drawn.
    """
    found = []
    for name, (levels, before, after) in tables.items():
        p, q = (shares(floats(c, "marginals", 1)) for c in (before, after))
        if not len(levels) == len(p) == len(q):
            raise ParameterError(f"column '{name}': one count for each level.", hint="levels, counts, counts")
        found.append((str(name), [clean(v) for v in levels], p, q, 0.5 * float(np.abs(p - q).sum())))
    if not found:
        raise ParameterError("there is no column to draw.", hint="give at least one")
    drawn = found
    if len(found) > most_columns:
        chosen = {f[0] for f in sorted(found, key=lambda f: -f[4])[:most_columns]}
        drawn = [f for f in found if f[0] in chosen]
    panels = [_column(name, levels, p, q, most_levels) for name, levels, p, q, _ in drawn]
    worst = max(found, key=lambda f: f[4])
    rows = [(name, v, percent(a), percent(b)) for name, levels, p, q, _ in found
            for v, a, b in zip(levels, p, q, strict=True)]  # fmt: skip
    only = (
        f"The {len(drawn)} of {len(found)} columns that differ most are drawn. "
        if len(drawn) < len(found)
        else ""
    )
    return Figure(
        panels,
        "How often each value occurs",
        f"Shares of rows by value: the wide pale bar is the original, the narrow one the release. {only}"
        f"The column that differs most is {worst[0]}: {percent(worst[4])} of its rows would have to change.",
        DataTable(
            ("column", "value", "original", "released"),
            rows,
            "Shares of rows by value",
            folded=True,
            words=(2, 3),
        ),
        FILES_KEY,
    )


def _column(name: str, levels: list[str], p: Array, q: Array, most: int) -> Spec:
    """The panel of a column. Rare values of a long list are told in words: a bar for them dwarfs the rest."""
    if len(levels) <= most:
        return _bars(name, levels, p, q)
    kept = np.sort(np.argsort(-(p + q), kind="stable")[:most])
    rest = np.setdiff1d(np.arange(len(levels)), kept)
    before, after = percent(float(p[rest].sum())), percent(float(q[rest].sum()))
    note = f"and {len(rest):,} others: {before} before, {after} after"
    return _bars(name, [levels[i] for i in kept], p[kept], q[kept], note=note)


def _bars(
    name: str,
    levels: list[str],
    p: Array,
    q: Array,
    *,
    width: int = 210,
    axis: str | None = None,
    note: str = "",
) -> Spec:
    # Two levels may be written alike (1 and "1"), so the place counts and the text is only shown.
    values = [
        {"i": i, "level": v, "of": of, "share": round(float(s), 6), "says": f"{v}: {percent(s)} ({of})"}
        for of, column in (("original", p), ("released", q))
        for i, (v, s) in enumerate(zip(levels, column, strict=True))
    ]
    title: Spec = {"text": short(clean(name), 44)}
    if note:
        title |= {"subtitle": note, "subtitleColor": MUTED, "subtitleFontSize": 11}
    named = {
        "labelExpr": f"{in_expression([short(v, 22) for v in levels])}[datum.value]",
        "values": list(range(len(levels))),
    }
    share = {
        "field": "share", "type": "quantitative", "scale": {"nice": True, "domainMin": 0},
        "axis": {"format": ".0%", "tickCount": 4, "title": axis},
    }  # fmt: skip
    row = {"field": "i", "type": "ordinal", "axis": {**named, "title": None}}
    colour = {"field": "of", "type": "nominal", "scale": FILES, "legend": None}
    base = {"y": row, "x": share, "color": colour, "description": {"field": "says"}}
    return {
        "title": title,
        "width": width,
        "height": {"step": 18},
        "data": {"values": values},
        "layer": [
            {"transform": [{"filter": "datum.of == 'original'"}],
             "mark": {"type": "bar", "height": 15, "opacity": 0.42, "cornerRadiusEnd": 2}, "encoding": base},
            {"transform": [{"filter": "datum.of == 'released'"}],
             "mark": {"type": "bar", "height": 7, "cornerRadiusEnd": 2}, "encoding": base},
        ],
    }  # fmt: skip


_EDGES = (1, 2, 3, 5, 10, 20, 50, 100, 1_000, 10_000)


def class_sizes(original: ArrayLike, released: ArrayLike, *, k: int | None = None) -> Figure:
    """In how large a crowd the rows stand: rows by the size of their class, before and after.

    original, released: the sizes of the classes, one number for each.
    k: the size that was asked for; smaller classes are then counted in the description.
    """
    edges = np.array(sorted({*_EDGES, *([k] if k else [])}), dtype=np.float64)
    names = [_bin(int(a), int(b)) for a, b in pairwise(edges)] + [f"{int(edges[-1]):,}+"]
    found, below = {}, {}
    for of, given in (("original", original), ("released", released)):
        sizes = floats(given, "class sizes", 1)
        sizes = sizes[sizes > 0]
        place = np.clip(np.searchsorted(edges, sizes, side="right") - 1, 0, len(edges) - 1)
        found[of] = shares(np.bincount(place, weights=sizes, minlength=len(edges)).astype(np.float64))
        below[of] = float(found[of][edges < k].sum()) if k else float(found[of][0])
    last = int(np.flatnonzero(found["original"] + found["released"]).max(initial=0)) + 1
    p, q = found["original"][:last], found["released"][:last]
    rows = [(name, percent(a), percent(b)) for name, a, b in zip(names, p, q, strict=False)]
    spec = _bars("rows in the class", names[:last], p, q, width=330, axis="share of rows")
    small = f"smaller than {k}" if k else "of one row (unique)"
    return Figure(
        spec,
        "In how large a crowd a row stands",
        "Rows by the number of rows that share their quasi-identifiers. In classes "
        f"{small} are {percent(below['original'])} of the original's rows and {percent(below['released'])} "
        "of the release's.",
        DataTable(
            ("rows in the class", "original", "released"),
            rows,
            "Rows by class size",
            folded=True,
            words=(1, 2),
            mixed=(0,),
        ),
        FILES_KEY,
    )


def _bin(first: int, beyond: int) -> str:
    return f"{first:,}" if beyond == first + 1 else f"{first:,}–{beyond - 1:,}"
