"""Columns together: mosaic plots and heat maps of association, before and after.

Shades are one colour at several strengths, so that they work on light and on dark ground alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import ParameterError
from sfumato.languages import Verbatim
from sfumato.report.contents import DataTable, Figure
from sfumato.report.figures.common import Spec, floats, in_expression, percent, shares, short
from sfumato.report.palette import MUTED, ORIGINAL, RELEASED
from sfumato.report.words import clean, number

_SIDE = 250  # pixels of a mosaic
_GAP = (0.014, 0.010, 0.004)  # between tiles of the first, second, third column

Array = NDArray[np.float64]


# -- mosaic --------------------------------------------------------------------------------------------


def mosaic(
    columns: Sequence[str],
    levels: Sequence[Sequence[object]],
    original: ArrayLike,
    released: ArrayLike,
    *,
    released_levels: Sequence[Sequence[object]] | None = None,
    most_levels: int = 8,
) -> Figure:
    """Two or three quasi-identifiers together: each tile is as large as its share of the rows.

    original, released: dense counts over the columns' levels. released_levels: where the release has
    other values than the original (generalized ones), they are drawn as they are.
    Tiles are blue where there are more rows than unrelated columns would give, orange where fewer.
    """
    names = [clean(c) for c in columns]
    if len(names) not in (2, 3):
        raise ParameterError("a mosaic shows two or three columns.", hint="choose quasi-identifiers")
    files = []
    for of, counts, given in (
        ("original", original, levels),
        ("released", released, released_levels or levels),
    ):
        table = floats(counts, "mosaic", len(names))
        if [len(v) for v in given] != list(table.shape):
            raise ParameterError("a mosaic needs one level for each place of its table.", hint="see levels")
        files.append((of, *_fewer([[clean(v) for v in axis] for axis in given], table, most_levels)))
    # The same scale before and after; hardly any association must not look like a strong one.
    strongest = max(0.02, *(float(np.abs(_residuals(t)).max(initial=0)) for _, _, t in files))
    panels = [_mosaic(of, names, axis, table, strongest) for of, axis, table in files]
    rows = [
        (of, *(axis[d][i] for d, i in enumerate(at)), float(table[at]), percent(float(shares(table)[at])))
        for of, axis, table in files
        for at in np.ndindex(*table.shape)
        if table[at] > 0
    ]
    empty = {of: int((table == 0).sum()) for of, _, table in files}
    return Figure(
        panels,
        f"Who is there: {', '.join(names[:-1])} and {names[-1]} together",
        "Each tile is as large as its share of the rows; blue tiles hold more rows than unrelated columns "
        f"would give, orange ones fewer. {empty['original']} combinations do not occur in the original, "
        f"{empty['released']} not in the release.",
        DataTable(
            ("file", *map(Verbatim, names), "rows", "share"),
            rows,
            "Rows by combination",
            folded=True,
            words=(0, len(names) + 2),
        ),
        (("more rows than unrelated columns would give", ORIGINAL), ("fewer", RELEASED)),
    )


def _fewer(levels: list[list[str]], table: Array, most: int) -> tuple[list[list[str]], Array]:
    """At most so many levels on each axis: the most frequent in their order, the others together."""
    for d, names in enumerate(levels):
        if len(names) <= most:
            continue
        weight = table.sum(axis=tuple(i for i in range(table.ndim) if i != d))
        kept = np.sort(np.argsort(-weight, kind="stable")[: most - 1])
        rest = np.setdiff1d(np.arange(len(names)), kept)
        others = np.take(table, rest, axis=d).sum(axis=d, keepdims=True)
        table = np.concatenate([np.take(table, kept, axis=d), others], axis=d)
        levels[d] = [names[i] for i in kept] + [f"{len(rest)} others"]
    return levels, table


def _residuals(table: Array) -> Array:
    """(p - e) / sqrt(e) against unrelated columns: comparable between files of different length."""
    p = shares(table)
    e = np.ones_like(p)
    for d in range(p.ndim):
        axis = [1] * p.ndim
        axis[d] = -1
        e = e * p.sum(axis=tuple(i for i in range(p.ndim) if i != d)).reshape(axis)
    return np.where(e > 0, (p - e) / np.sqrt(np.where(e > 0, e, 1)), 0)


def _tiles(p: Array, depth: int, box: tuple[float, float, float, float]) -> list[tuple[Any, ...]]:
    """Split a box along one axis after the other; gives (place, x0, x1, y0, y1)."""
    if p.ndim == 0:
        return [((), *box)]
    x0, x1, y0, y1 = box
    across = depth % 2 == 0
    start, length = (x0, x1 - x0) if across else (y0, y1 - y0)
    gap = min(_GAP[depth], 0.3 * length / max(1, len(p)))
    room = length - gap * (len(p) - 1)
    total = p.sum()
    out = []
    for i, part in enumerate(p):
        size = room * float(part.sum() / total) if total > 0 else room / len(p)
        inner = (start, start + size, y0, y1) if across else (x0, x1, start, start + size)
        out += [((i, *at), *rest) for at, *rest in _tiles(part, depth + 1, inner)]
        start += size + gap
    return out


def _mosaic(of: str, names: list[str], levels: list[list[str]], table: Array, strongest: float) -> Spec:
    p, r = shares(table), _residuals(table)
    values = []
    for at, x0, x1, y0, y1 in _tiles(p, 0, (0.0, 1.0, 0.0, 1.0)):
        said = ", ".join(f"{n} {levels[d][i]}" for d, (n, i) in enumerate(zip(names, at, strict=True)))
        values.append({
            "x0": x0, "x1": x1, "y0": y0, "y1": y1, "more": bool(r[at] >= 0),
            "strength": round(0.14 + 0.76 * min(1.0, abs(float(r[at])) / strongest), 3),
            "says": f"{said}: {percent(float(p[at]))} of rows ({of})",
        })  # fmt: skip
    side = {"type": "quantitative", "axis": None}
    tiles: Spec = {
        "data": {"values": values},
        "mark": {"type": "rect", "stroke": MUTED, "strokeWidth": 0.6},
        "encoding": {
            "x": {**side, "field": "x0", "scale": {"domain": [0, 1]}}, "x2": {"field": "x1"},
            "y": {**side, "field": "y0", "scale": {"domain": [1, 0]}}, "y2": {"field": "y1"},
            "fill": {"condition": {"test": "datum.more", "value": ORIGINAL}, "value": RELEASED},
            "fillOpacity": {"field": "strength", "type": "quantitative", "scale": None},
            "description": {"field": "says"},
        },
    }  # fmt: skip
    labels = _labels(levels, p)
    brief = [short(name, 16) for name in names]
    text = {"type": "text", "fontSize": 11, "color": MUTED, "aria": False}
    at = {"x": {**side, "field": "x"}, "y": {**side, "field": "y"}, "text": {"field": "text"}}
    return {
        "title": {"text": of, "subtitle": f"across {brief[0]}, down {brief[1]}"
                  + (f", across again {brief[2]}" if len(names) == 3 else ""),
                  "subtitleColor": MUTED, "subtitleFontSize": 11, "offset": 22},
        "width": _SIDE, "height": _SIDE,
        "layer": [
            tiles,
            {"data": {"values": labels["across"]}, "mark": {**text, "baseline": "bottom", "dy": -5},
             "encoding": at},
            {"data": {"values": labels["down"]}, "mark": {**text, "align": "right", "dx": -6},
             "encoding": at},
        ],
    }  # fmt: skip


def _labels(levels: list[list[str]], p: Array) -> dict[str, list[dict[str, object]]]:
    """Names over the columns of tiles and beside the first of them, where there is room for a name."""
    second = p.sum(axis=2) if p.ndim == 3 else p
    found: dict[str, list[dict[str, object]]] = {"across": [], "down": []}
    for (i,), x0, x1, _, _ in _tiles(second.sum(axis=1), 0, (0.0, 1.0, 0.0, 1.0)):
        room = int((x1 - x0) * _SIDE / 6.3)  # letters that fit over the tile
        text = short(levels[0][i], max(room, 2))
        if room >= 3 or len(levels[0][i]) <= room:
            found["across"].append({"x": (x0 + x1) / 2, "y": 0.0, "text": text})
    first = next((row for row in second if row.sum() > 0), second[0])
    taken = -1.0
    for (_, j), _, _, y0, y1 in _tiles(first[None, :], 0, (0.0, 1.0, 0.0, 1.0)):
        middle = (y0 + y1) / 2
        if y1 - y0 > 0.02 and middle - 0.025 > taken:
            found["down"].append({"x": 0.0, "y": middle, "text": short(levels[1][j], 14)})
            taken = middle + 0.025
    return found


# -- association ---------------------------------------------------------------------------------------


def associations(
    columns: Sequence[str],
    original: ArrayLike,
    released: ArrayLike,
    *,
    measure: str = "association",
    most_columns: int = 20,
) -> Figure:
    """How strongly each pair of columns hangs together: before, after, and the difference.

    original, released: square tables of a measure between -1 and 1, such as normalized mutual information
    or a rank correlation; what is not a number stays blank.
    """
    names = [clean(c) for c in columns]
    before, after = (np.asarray(m, dtype=np.float64) for m in (original, released))
    if not before.shape == after.shape == (len(names), len(names)) or not names:
        raise ParameterError(
            "associations are square tables over the columns.", hint="one row for each column"
        )
    change = after - before
    off = ~np.eye(len(names), dtype=bool)
    size = np.where(off & np.isfinite(change), np.abs(change), -1)
    note = ""
    if len(names) > most_columns:
        kept = np.sort(np.argsort(-size.max(axis=1), kind="stable")[:most_columns])
        note = f" The {most_columns} of {len(names)} columns that change most are drawn."
    else:
        kept = np.arange(len(names))
    at = np.ix_(kept, kept)
    shown = [names[i] for i in kept]
    panels = [
        _heat(title, shown, m[at], scale)
        for title, m, scale in (
            ("original", before, 1.0),
            ("released", after, 1.0),
            ("difference", change, max(0.05, float(size.max(initial=0)))),
        )
    ]
    i, j = np.unravel_index(int(size.argmax()), size.shape)
    worst = (
        f"The pair that changes most is {names[i]} and {names[j]}: "
        f"{number(float(before[i, j]))} before, {number(float(after[i, j]))} after."
        if size.max(initial=-1) >= 0
        else "There is no pair to compare."
    )
    rows = [
        (names[a], names[b], float(before[a, b]), float(after[a, b]), float(change[a, b]))
        for a in range(len(names))
        for b in range(a + 1, len(names))
    ]
    return Figure(
        panels,
        f"How columns hang together: {clean(measure)}",
        "The stronger the shade, the stronger the tie between two columns; in the difference, blue is "
        f"higher after than before, orange lower. {worst}{note}",
        DataTable(("column", "with", "original", "released", "difference"), rows, "All pairs", folded=True),
        (("positive, or higher after", ORIGINAL), ("negative, or lower after", RELEASED)),
    )


def _heat(title: str, names: list[str], table: Array, scale: float) -> Spec:
    n = len(names)
    cell = float(np.clip(230 / n, 8, 34))
    values = [
        {"i": i, "j": j, "more": bool(table[i, j] >= 0),
         "strength": round(0.04 + 0.9 * min(1.0, abs(float(table[i, j])) / scale), 3),
         "says": f"{names[i]} and {names[j]}: {number(float(table[i, j]))} ({title})"}
        for i in range(n)
        for j in range(n)
        if i != j and np.isfinite(table[i, j])
    ]  # fmt: skip
    texts = in_expression([short(name, 14) for name in names])
    axis = {"title": None, "labelExpr": f"{texts}[datum.value]",
            "labelFontSize": min(11, cell + 1),
            "labelOverlap": False}  # fmt: skip
    places = {"type": "ordinal", "scale": {"domain": list(range(n)), "paddingInner": 0.08}}
    return {
        "title": {"text": title, "subtitle": f"full shade: {number(scale)}", "subtitleColor": MUTED,
                  "subtitleFontSize": 11},
        "width": cell * n, "height": cell * n,
        "data": {"values": values},
        "mark": {"type": "rect", "cornerRadius": 1.5},
        "encoding": {
            "x": {**places, "field": "j", "axis": {**axis, "labelAngle": -45 if n > 1 else 0}},
            "y": {**places, "field": "i", "axis": axis},
            "fill": {"condition": {"test": "datum.more", "value": ORIGINAL}, "value": RELEASED},
            "fillOpacity": {"field": "strength", "type": "quantitative", "scale": None},
            "description": {"field": "says"},
        },
    }  # fmt: skip
