"""What a release keeps of how columns go together: conditional shares, ranks, information, interactions.

One pass over all pairs of columns gathers the facts (`two_way`); each function turns facts into scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import measures
from sfumato.assessment.reading.alignment import Pair
from sfumato.assessment.utility.sets import MOST, sets_of
from sfumato.errors import ParameterError
from sfumato.schema import Kind
from sfumato.score import Better, Score

Float = NDArray[np.float64]
_ORDERED = (Kind.NUMERIC, Kind.DATE, Kind.ORDINAL)
_RANK_WORK = 2**30  # comparisons within one pair of columns; past them its ranks are left out
_DIGITS = 12  # shares that agree so far are tied: spreading adds rounding errors


def score(
    name: str, value: float, top: float, better: Better, meaning: str, bottom: float = 0.0, **more: Any
) -> Score:
    """A utility score; the value is brought back inside its range where rounding left it."""
    inside = value if math.isnan(value) else min(max(value, bottom), top)
    more["details"] = plain(more.get("details", {}))
    return Score(name, "utility", float(inside), (bottom, top), better, meaning, **more)


def plain(value: object) -> object:
    """Details as JSON has them: what is not a number becomes None."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value


def mean(values: Iterable[float]) -> float:
    """The mean of those that have a value."""
    kept = [v for v in values if not math.isnan(v)]
    return float(np.mean(kept)) if kept else math.nan


@dataclass(frozen=True)
class TwoWay:
    """The facts about one pair of columns, before and after."""

    columns: tuple[str, ...]
    total_variation: float
    floor: float
    information: tuple[float, float]
    association: tuple[float, float]
    order: tuple[float, float]  # tau-b, where both columns have an order
    order_rho: tuple[float, float]
    conditional: tuple[measures.Conditional, measures.Conditional]  # first given second, second given first
    ranks: tuple[tuple[float, float], tuple[float, float]] = field(default=((math.nan,) * 2,) * 2)


def two_way(
    pair: Pair,
    *,
    most: int = MOST,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[TwoWay]:
    """All pairs of columns whose table can be held, one after the other; a sample where they are too many."""
    wanted = [s for s in sets_of(pair, 2, most, seed).drawn if pair.feasible(s)]
    rows = pair.rows()
    out = []
    for columns, (before, after) in pair.stream(wanted):
        out.append(_facts(pair, columns, before, after, rows))
        if progress is not None:
            progress(len(out), len(wanted))
    return out


def _facts(
    pair: Pair, columns: tuple[str, ...], before: Float, after: Float, rows: tuple[int, int]
) -> TwoWay:
    ordered = all(pair.leaves[c].column.kind in _ORDERED for c in columns)
    order = order_rho = (math.nan, math.nan)
    if ordered:
        kept = tuple(slice(0, len(pair.leaves[c].levels)) for c in columns)
        order = (measures.kendall_of_table(before[kept]), measures.kendall_of_table(after[kept]))
        order_rho = (measures.spearman_of_table(before[kept]), measures.spearman_of_table(after[kept]))
    return TwoWay(
        columns,
        measures.total_variation(before, after),
        measures.total_variation_floor(before, rows[1]),
        (
            measures.mutual_information(before, corrected=True, rows=rows[0]),
            measures.mutual_information(after, corrected=True, rows=rows[1]),
        ),
        (measures.cramers_v(before), measures.cramers_v(after)),
        order,
        order_rho,
        (measures.conditional_errors(before, after), measures.conditional_errors(before.T, after.T)),
        (_conditional_ranks(before, after), _conditional_ranks(before.T, after.T)),
    )


def _conditional_ranks(before: Float, after: Float) -> tuple[float, float]:
    """PeGS 4.3, figure 9: mean Kendall's tau-b and Spearman's rho of P(x | y), over the values y."""
    p, q, _, _ = measures.conditionals(before, after)
    if not p.size or p.size * p.shape[1] > _RANK_WORK:
        return math.nan, math.nan
    p, q = np.round(p, _DIGITS), np.round(q, _DIGITS)
    from sfumato.assessment.utility import _kernels

    return mean(_kernels.kendall_rows(p, q)), mean(_kernels.spearman_rows(p, q))


# -- conditional distributions ---------------------------------------------------------------------


def conditional(
    pair: Pair,
    *,
    given: Sequence[str] | None = None,
    facts: Sequence[TwoWay] | None = None,
    said: str = "",
) -> list[Score]:
    """Distances and rank correlations of P(x | y), averaged over values y, then over pairs of columns.

    given: condition on these columns only (the paper uses age and ZIP code); by default on every one.
    said: what is to be said of the pairs, if they are a sample.
    """
    names = tuple(pair.columns if given is None else given)
    absent = [c for c in names if c not in pair.columns]
    if absent or not names:
        raise ParameterError(
            f"{len(absent)} conditioning columns are not compared.", hint=f"name some of {pair.columns}"
        )
    records: list[dict[str, Any]] = []
    for fact in facts if facts is not None else two_way(pair):
        for side in (0, 1):
            if fact.columns[1 - side] in names:
                errors, ranks = fact.conditional[side], fact.ranks[side]
                records.append(
                    {"column": fact.columns[side], "given": fact.columns[1 - side], "mse": errors.mse,
                     "mae": errors.mae, "uniform": errors.uniform, "skipped": errors.skipped,
                     "kendall": ranks[0], "spearman": ranks[1]}
                )  # fmt: skip
    uniform, skipped = sum(r["uniform"] for r in records), sum(r["skipped"] for r in records)
    details = {"pairs": records, "uniform": uniform, "skipped": skipped}
    left = (
        f" {uniform} conditioning values have no released rows and count as uniform there; {skipped} the "
        f"original does not have are skipped.{said}"
    )
    about: dict[str, Any] = {"columns": () if given is None else names, "details": details}
    return [
        score("conditional MSE", mean(r["mse"] for r in records), 1, "lower",
              f"Mean squared difference of a column's shares among people alike in another; 0: none.{left}",
              **about),
        score("conditional MAE", mean(r["mae"] for r in records), 1, "lower",
              f"Mean difference of a column's shares among people alike in another column; 0: none.{left}",
              **about),
        score("Kendall's tau-b, conditional frequencies", mean(r["kendall"] for r in records), 1, "higher",
              "Whether levels keep their order of frequency among people alike in another column; 1: all do, "
              f"0: no better than chance, -1: reversed.{said}", -1, **about),
        score("Spearman's rho, conditional frequencies", mean(r["spearman"] for r in records), 1, "higher",
              f"As Kendall's tau-b, by the distance of ranks.{said}", -1, **about),
    ]  # fmt: skip


# -- associations ----------------------------------------------------------------------------------


def associations(pair: Pair, *, facts: Sequence[TwoWay] | None = None, said: str = "") -> list[Score]:
    """Whether the columns that go together still do: information, Cramer's V, tau-b of ordered columns.

    said: what is to be said of the pairs, if they are a sample.
    """
    facts = facts if facts is not None else two_way(pair)
    if not facts:
        return []
    before = np.array([f.information[0] for f in facts])
    after = np.array([f.information[1] for f in facts])
    records = [
        {"columns": list(f.columns), "information": list(f.information), "cramers_v": list(f.association),
         "kendall": list(f.order), "spearman": list(f.order_rho)}
        for f in facts
    ]  # fmt: skip
    matrices: dict[str, Any] = {"names": list(pair.columns)}
    for key, side in (("before", 0), ("after", 1)):
        matrices[key] = _matrix(pair, [(f.columns, f.information[side]) for f in facts])
        matrices[f"cramers_v_{key}"] = _matrix(pair, [(f.columns, f.association[side]) for f in facts])
    v = [abs(f.association[1] - f.association[0]) for f in facts]
    out = [
        score("mutual information, mean difference", mean(np.abs(after - before)), math.inf, "lower",
              "Mean change of the information (nats, less its bias) one column holds about another; 0: none."
              f"{said}",
              details={"pairs": records, "matrices": matrices}),
        score("Cramer's V, mean difference", mean(v), 1, "lower",
              f"Mean change of the association of two columns on a scale from 0 to 1; 0: none.{said}"),
        score("Kendall's tau-b, associations", _ranked(measures.kendall, before, after), 1, "higher",
              f"Whether the pairs of columns keep their order by strength of association; 1: all do.{said}",
              -1),
        score("Spearman's rho, associations", _ranked(measures.spearman, before, after), 1, "higher",
              f"As Kendall's tau-b, by the distance of ranks.{said}", -1),
    ]  # fmt: skip
    ordered = [f for f in facts if not math.isnan(f.order[0])]
    if ordered:
        changes = [(f.order[1] if not math.isnan(f.order[1]) else 0.0) - f.order[0] for f in ordered]
        out.append(
            score("tau-b between ordered columns, mean difference", mean(np.abs(changes)), 2, "lower",
                  f"Mean change of the rank correlation of two ordered columns ({len(ordered)} pairs).{said}")
        )  # fmt: skip
    return out


def _ranked(correlation: Callable[[Float, Float], float], before: Float, after: Float) -> float:
    return correlation(np.round(before, _DIGITS), np.round(after, _DIGITS)) if len(before) > 1 else math.nan


def _matrix(pair: Pair, values: Iterable[tuple[tuple[str, ...], float]]) -> list[list[float | None]]:
    place = {c: i for i, c in enumerate(pair.columns)}
    matrix: list[list[float | None]] = [[None] * len(place) for _ in place]
    for (a, b), value in values:
        matrix[place[a]][place[b]] = matrix[place[b]][place[a]] = None if math.isnan(value) else value
    return matrix


# -- log-linear models -----------------------------------------------------------------------------


def interactions(
    pair: Pair,
    sets: Sequence[Sequence[str]],
    *,
    keep: Sequence[Sequence[str]] = (),
) -> list[Score]:
    """How strongly chosen columns interact, before and after: chi-square and G^2 of a log-linear model.

    keep: the interactions the model already has; without any it is mutual independence, as in LUGS (3).
    Both statistics grow with the rows, so the released table is brought to the original's total.
    """
    out = []
    for columns, (before, after) in pair.stream(sets):
        terms = [[columns.index(c) for c in term] for term in keep if set(term) <= set(columns)]
        scaled = after * (before.sum() / after.sum()) if after.sum() > 0 else after
        first, second = measures.log_linear(before, terms), measures.log_linear(scaled, terms)
        name = " x ".join(columns)
        details = {
            "chi_square": [first.chi_square, second.chi_square], "g2": [first.g2, second.g2],
            "degrees": first.degrees, "kept": [list(t) for t in keep],
            "chance": first.degrees * before.sum() / after.sum() if after.sum() > 0 else math.nan,
        }  # fmt: skip
        for label, (a, b) in (
            ("chi-square", (first.chi_square, second.chi_square)),
            ("G2", (first.g2, second.g2)),
        ):
            out.append(
                score(f"{label} ratio, {name}", _ratio(a, b), math.inf, "neither",
                      f"How strongly these columns interact after, relative to before ({label} of a log-"
                      "linear model at equal size); 1: as before, 0: no interaction is left.",
                      columns=columns, details=details)
            )  # fmt: skip
    return out


def _ratio(before: float, after: float) -> float:
    tiny = 1e-9
    if before <= tiny:
        return 1.0 if after <= tiny else math.nan
    return after / before


def strongest(facts: Sequence[TwoWay], pair: Pair, columns: int = 3) -> tuple[str, ...] | None:
    """The columns that hold the most information about each other in the original, if a table fits."""
    value = {frozenset(f.columns): f.information[0] for f in facts}
    best = sorted(facts, key=lambda f: -f.information[0])[:10]
    found = [
        s
        for f in best
        for c in pair.columns
        if c not in f.columns and len(s := (*f.columns, c)) == columns and pair.feasible(s)
    ]
    return max(
        found, key=lambda s: sum(value.get(frozenset(p), 0.0) for p in combinations(s, 2)), default=None
    )
