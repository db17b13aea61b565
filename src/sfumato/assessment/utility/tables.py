"""What a release keeps: distances of one-, two- and three-way tables, ranks, missing cells.

All of it is comparisons of counts over common levels (`align`), so an anonymized file and a synthetic one
stand on one scale. The values are exact for the two files at hand and carry no interval, except where
only a sample of the tables was counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import measures
from sfumato.assessment.reading.alignment import Pair
from sfumato.assessment.utility.associations import (
    TwoWay,
    associations,
    conditional,
    interactions,
    mean,
    score,
    strongest,
    two_way,
)
from sfumato.assessment.utility.sets import MOST, ColumnSets, sets_of
from sfumato.errors import ParameterError
from sfumato.score import Score

__all__ = [
    "associations", "column_scores", "conditional", "distances", "frequency_ranks", "interactions",
    "marginals", "missing_rates", "utility",
]  # fmt: skip

Float = NDArray[np.float64]
_WAYS = {1: "columns", 2: "pairs", 3: "triples"}
_DIGITS = 12
_LEVELS_SHOWN = 200


def utility(
    pair: Pair,
    *,
    ways: int = 3,
    most: int = 2_000,
    given: Sequence[str] | None = None,
    interact: Sequence[Sequence[str]] | None = None,
    seed: int = 0,
) -> list[Score]:
    """Every score that needs nothing but the two files.

    ways: total variation up to so many columns at once. most: count at most so many sets of each size.
    given: the columns to condition on. interact: sets of columns for the log-linear models; by default the
    three that hold the most information about each other.
    """
    facts = two_way(pair, most=most, seed=seed)
    said = sets_of(pair, 2, most, seed).said
    out = [*marginals(pair), *frequency_ranks(pair), *missing_rates(pair)]
    out += distances(pair, ways=range(1, ways + 1), most=most, seed=seed, facts=facts)
    if facts:
        out += conditional(pair, given=given, facts=facts, said=said)
        out += associations(pair, facts=facts, said=said)
        chosen = strongest(facts, pair) if interact is None else None
        sets = ([chosen] if chosen else []) if interact is None else list(interact)
        out += interactions(pair, sets)
    return out + column_scores(pair)


def _one_way(pair: Pair) -> dict[str, tuple[Float, Float]]:
    return {c: pair.one_way(c) for c in pair.columns}


# -- one column ------------------------------------------------------------------------------------


def marginals(pair: Pair) -> list[Score]:
    """PeGS 4.3: MSE and MAE of the shares, averaged over categories, then over columns; intersection."""
    tables = _one_way(pair)
    kinds = {
        "mse": measures.mean_squared_error, "mae": measures.mean_absolute_error,
        "intersection": measures.histogram_intersection,
    }  # fmt: skip
    records: list[dict[str, Any]] = [
        {"column": name, "levels": before.size, **{k: f(before, after) for k, f in kinds.items()}}
        for name, (before, after) in tables.items()
    ]

    def average(key: str) -> float:
        return mean(float(r[key]) for r in records)

    return [
        score("marginal MSE", average("mse"), 1, "lower",
              "Mean squared difference between the shares of a level before and after; 0: none.",
              details={"columns": records}),
        score("marginal MAE", average("mae"), 1, "lower",
              "Mean difference between the shares of a level before and after; 0: none."),
        score("histogram intersection", average("intersection"), 1, "higher",
              "The part of a column's histogram that both files have in common; 1: all of it."),
    ]  # fmt: skip


def frequency_ranks(pair: Pair) -> list[Score]:
    """PeGS 4.3, figure 8: whether levels keep their order of frequency, averaged over columns."""
    records: list[dict[str, Any]] = []
    for name, tables in _one_way(pair).items():
        if name in pair.cut:
            continue
        p, q = (np.round(measures.shares(t), _DIGITS) for t in tables)
        records.append(
            {"column": name, "kendall": measures.kendall(p, q), "spearman": measures.spearman(p, q)}
        )
    undefined = sum(1 for r in records if math.isnan(float(r["kendall"])))
    undefined += len(pair.cut)
    note = (
        f" {undefined} columns of equally frequent levels or quantile bins are left out." if undefined else ""
    )
    return [
        score("Kendall's tau-b, frequencies", mean(float(r["kendall"]) for r in records), 1, "higher",
              "Whether the levels of a column keep their order of frequency; 1: all do, 0: no better than "
              f"chance, -1: reversed.{note}", -1, details={"columns": records}),
        score("Spearman's rho, frequencies", mean(float(r["spearman"]) for r in records), 1, "higher",
              f"As Kendall's tau-b, by the distance of ranks.{note}", -1),
    ]  # fmt: skip


def missing_rates(pair: Pair) -> list[Score]:
    """The share of missing cells, before and after."""
    records: list[dict[str, Any]] = []
    for name, tables in _one_way(pair).items():
        rates = [float(measures.shares(t)[-1]) if pair.leaves[name].missing else 0.0 for t in tables]
        records.append({"column": name, "before": rates[0], "after": rates[1]})
    change = mean(abs(float(r["after"]) - float(r["before"])) for r in records)
    return [
        score("missing rate, mean difference", change, 1, "lower",
              "Mean change of the share of missing cells in a column; 0: none.", details={"columns": records})
    ]  # fmt: skip


def column_scores(pair: Pair) -> list[Score]:
    """For each column its total variation, with the shares of its levels before -> after behind it."""
    rows = pair.rows()[1]
    out = []
    for name, (before, after) in _one_way(pair).items():
        p, q = measures.shares(before), measures.shares(after)
        shown = np.sort(np.argsort(-np.maximum(p, q), kind="stable")[:_LEVELS_SHOWN])
        book = pair.leaves[name]
        values = book.levels.to_pylist()
        levels = [
            {
                "level": None if i == len(values) else str(values[i]),
                "before": float(p[i]),
                "after": float(q[i]),
            }
            for i in shown
        ]
        details = {
            "levels": levels, "not_shown": len(p) - len(shown),
            "floor": measures.total_variation_floor(before, rows),
            "information": [measures.entropy(before), measures.entropy(after)],
        }  # fmt: skip
        out.append(
            score(f"total variation, column {name}", measures.total_variation(before, after), 1, "lower",
                  "The share of people who would have to change their level to make both files alike.",
                  columns=(name,), details=details)
        )  # fmt: skip
    return out


# -- one, two, three columns -----------------------------------------------------------------------


def distances(
    pair: Pair,
    *,
    ways: int | Sequence[int] = 2,
    most: int = MOST,
    seed: int = 0,
    facts: Sequence[TwoWay] = (),
) -> list[Score]:
    """Mean total variation of all tables of so many columns; of a random sample, where they are too many.

    ways: a number of columns, or several: they are then counted together, small tables from larger ones.
    facts: what is known of pairs already; those are not counted again.
    """
    wanted = (ways,) if isinstance(ways, int) else tuple(dict.fromkeys(ways))
    if not all(1 <= w <= 4 for w in wanted) or most < 2:
        raise ParameterError("ways must be 1 to 4, and most at least 2.", hint="distances(pair, ways=3)")
    drawn = {w: sets_of(pair, w, most, seed) for w in wanted if w <= len(pair.columns)}
    known = {f.columns: f for f in facts}
    rows = pair.rows()[1]
    records: dict[int, list[dict[str, Any]]] = {w: [] for w in drawn}
    for fact in (known[s] for sets in drawn.values() for s in sets.drawn if s in known):
        records[2].append({"columns": list(fact.columns), "value": fact.total_variation, "floor": fact.floor})
    for columns in drawn[1].drawn if 1 in drawn else ():
        before, after = pair.one_way(columns[0])
        records[1].append(_record(columns, before, after, rows))
    wide = [
        s for w, sets in drawn.items() for s in sets.drawn if w > 1 and s not in known and pair.feasible(s)
    ]
    for columns, (before, after) in pair.stream(wide):
        records[len(columns)].append(_record(columns, before, after, rows))
    return [_distance(w, found, drawn[w]) for w, found in records.items() if found]


def _record(columns: tuple[str, ...], before: Float, after: Float, rows: int) -> dict[str, Any]:
    value, floor = measures.total_variation(before, after), measures.total_variation_floor(before, rows)
    return {"columns": list(columns), "value": value, "floor": floor}


def _distance(ways: int, records: list[dict[str, Any]], sets: ColumnSets) -> Score:
    """The mean over the tables that were counted; those of too many cells are not."""
    drawn, total = len(sets.drawn), sets.total
    values, floor = [float(r["value"]) for r in records], mean(float(r["floor"]) for r in records)
    said, more = _stated(values, drawn, total)
    if len(records) < drawn:
        said += f" {drawn - len(records)} tables with too many cells are left out."
    label = _WAYS.get(ways, f"{ways} columns")
    largest = sorted(records, key=lambda r: -float(r["value"]))[:50]
    return score(
        f"total variation, {label}", mean(values), 1, "lower",
        f"Mean share of people who would have to move to make both files alike, looking at {label}; "
        f"0: alike, about {floor:.2g} comes from the size of the release alone.{said}",
        details={"floor": floor, "sets": len(records), "of": total, "largest": largest}, **more,
    )  # fmt: skip


def _stated(values: Sequence[float], drawn: int, total: int) -> tuple[str, dict[str, Any]]:
    """What is said of a sample: its size, and a 95% interval for the mean over all sets."""
    if drawn == total or len(values) < 2:
        return "", {}
    from scipy.stats import t

    half = float(t.ppf(0.975, len(values) - 1)) * float(np.std(values, ddof=1))
    half *= math.sqrt((1 - drawn / total) / len(values))
    centre = mean(values)
    interval = {"low": max(0.0, centre - half), "high": min(1.0, centre + half), "confidence": 0.95}
    return f" From a random sample of {drawn:,} of {total:,} (Student's interval).", interval
