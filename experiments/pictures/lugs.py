"""LUGS, figures 2 to 7: DE-SynPUF's inpatient claims."""

from __future__ import annotations

from pictures.marks import Picture, Row, folded, lines, name, number, panels, where

_KINDS = ("2 min-hashes", "exact")
_KEYS = name("keys", order=("original", *_KINDS))
_LOG_L = number("log_l", "log l")
_STATISTICS = {
    "chi_square": "chi-square of independence",
    "missing": "missing cells, share",
    "artificial": "rows that nobody has, share",
}
_SCORES = {"mse": "mean squared error", "auc": "AUC"}


def _smoothed(rows: list[Row]) -> list[Row]:
    """Three of the log l, and the original in every panel."""
    kept = [r for r in rows if r["log_l"] in ("original", 0.05, 0.2, 0.69) and r["share"] > 0]
    return [
        {**r, "what": f"{column}, {keys}", "log_l": f"{r['log_l']}", "rank": r["rank"] + 1}
        for column in ("ICD9", "DRG")
        for keys in _KINDS
        for r in kept
        if r["column"] == column and r["keys"] in (keys, "original")
    ]


def _by_lambda(rows: list[Row]) -> list[Row]:
    """The original stands at log l = 0, whatever the keys."""
    long = folded([{**r, "lambda": f"{r['lambda']:g}"} for r in rows], _SCORES)
    return [
        {**r, "what": f"{title}, {keys}"}
        for title in _SCORES.values()
        for keys in _KINDS
        for r in long
        if r["what"] == title and r["keys"] in (keys, "original")
    ]


PICTURES = {
    "lugs-path": Picture(
        "lugs_path",
        {
            "mark": {"type": "tick", "thickness": 1.5}, "width": 420, "height": 120,
            "encoding": {
                "x": number("sweep"),
                "y": {"field": "Age", "type": "ordinal", "title": "age group", "sort": "descending"},
                "color": {"field": "Amount", "type": "ordinal", "title": "amount"},
            },
        },
        lambda rows: [r for r in rows if "" not in (r["Age"], r["Amount"])],
    ),
    "lugs-autocorrelation": Picture(
        "lugs_autocorrelation",
        panels(lines(number("lag"), number("autocorrelation", zero=True), name("column")), "keys",
               order=_KINDS),
        where(log_l=0.1),
    ),
    "lugs-marginals": Picture(
        "lugs_marginals",
        panels(lines(number("rank", "rank in the original"), number("share", log=True),
                     name("log_l", "log l"), points=False), "what", free="y"),
        _smoothed,
    ),
    "lugs-statistics": Picture(
        "lugs",
        panels(lines(_LOG_L, number("value", " ", zero=True), _KEYS), "what", columns=3, free="y", width=160),
        lambda rows: folded(rows, _STATISTICS),
    ),
    "lugs-prediction": Picture(
        "lugs_lambda",
        panels(lines(_LOG_L, number("value", " "), name("lambda")), "what", free="y"),
        _by_lambda,
    ),
}  # fmt: skip
