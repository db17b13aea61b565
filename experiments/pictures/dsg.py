"""The DSG toolkit's thesis, figures 16 to 24: diabetes130 (days in hospital) and MEPS (a year's cost)."""

from __future__ import annotations

from pictures.marks import Picture, Row, bars, dots, lines, name, number, panels

_ALGORITHMS = ("Greedy (literal)", "Greedy", "Partition (printed)", "Partition", "Model-guided",
               "Model-guided (leaking)")  # fmt: skip
_MEASURES = ("Vinterbo", "Col-MI", "Value-MI", "prediction", "outcome")
_SAME = "(not released)"
_Key = tuple[str, float, str, str, str]


def _means(rows: list[Row]) -> dict[_Key, float]:
    """Mean error of a row, by data, size, whether there are extraneous columns, algorithm and measure."""
    found: dict[_Key, list[float]] = {}
    for r in rows:
        key = (r["data"].split(":")[0], r["rows"], r["extraneous"], r["algorithm"], r["measure"])
        found.setdefault(key, []).append(r["error"] / r["rows"])
    return {k: sum(v) / len(v) for k, v in found.items()}


def _above(rows: list[Row]) -> list[Row]:
    """Figures 20 to 23: error in percent above that of the rows as they were, at the largest size."""
    means, most = _means(rows), max(r["rows"] for r in rows)
    return [
        {"algorithm": algorithm, "measure": measure,
         "error": 100 * (value / means[data, size, extra, _SAME, ""] - 1),
         "what": f"{data}, {'with' if extra == 'True' else 'without'} extraneous columns"}
        for (data, size, extra, algorithm, measure), value in means.items()
        if size == most and algorithm != _SAME
    ]  # fmt: skip


def _by_size(rows: list[Row]) -> list[Row]:
    """Figure 24: all columns, each algorithm with the measure whose error over all sizes is least."""
    means = _means(rows)
    totals: dict[tuple[str, str, str], float] = {}
    for (data, size, extra, algorithm, measure), value in means.items():
        if extra == "True":
            key = (data, algorithm, measure)
            totals[key] = totals.get(key, 0.0) + value * size
    best = {min((m for m in totals if m[:2] == t[:2]), key=lambda m: totals[m]) for t in totals}
    shown = (*_ALGORITHMS[:4], _SAME)
    return [
        {"data": data, "rows": size, "algorithm": algorithm, "error": value}
        for (data, size, extra, algorithm, measure), value in means.items()
        if extra == "True" and algorithm in shown and (data, algorithm, measure) in best
    ]


def _ratios(rows: list[Row]) -> list[Row]:
    used = {"True": "used by the model", "False": "extraneous"}
    return [{**r, "data": r["data"].split(":")[0], "column is": used[r["used by the model"]]} for r in rows]


PICTURES = {
    "dsg-ratios": Picture(
        "dsg/figure_16",
        panels(
            dots(number("ratio", "information, against a shuffle", log=True, ticks=(4, 40, 400)),
                 {**name("column", None), "sort": "-x"}, name("column is", None), size=45),
            "data", free="y", height=210,
        ),
        _ratios,
    ),
    "dsg-height": Picture(
        "dsg/figure_19",
        bars({**number("height", "height lost, mean of 30 draws", zero=True), "aggregate": "mean"},
             {**name("algorithm", None), "sort": "x"}) | {"height": 110},
    ),
    "dsg-errors": Picture(
        "dsg/errors",
        panels(
            dots(number("error", "error above unreleased rows, %"),
                 name("algorithm", None, order=_ALGORITHMS), name("measure", order=_MEASURES), size=45),
            "what", free="x", height=110,
        ),
        _above,
    ),
    "dsg-sizes": Picture(
        "dsg/errors",
        panels(lines(number("rows", log=True, ticks=(50, 100, 1000)), number("error", "error of a row, mean"),
                     name("algorithm", order=(*_ALGORITHMS[:4], _SAME))), "data", free="y"),
        _by_size,
    ),
    "dsg-cost": Picture(
        "dsg/cost",
        lines(number("combinations", "different rows", log=True), number("seconds", log=True),
              name("search")),
    ),
}  # fmt: skip
