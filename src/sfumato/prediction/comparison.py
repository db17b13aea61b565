"""Several scores side by side on one test set: released models, and public ones whose scores a column holds.

    found = sf.compare_scores([mine, theirs], test, "diabetes", columns=["findrisc"], subgroups=["sex"])

On a public test set figures are exact, and each model is held against the first by a paired interval. A
private one is counted with noise, for an epsilon:

Guarantee: epsilon-DP for the rows of the test set, adding or removing one.
Because:   all that is asked of them is, for each of M scores, for the whole and for each of G public ways to
           divide them, a table of counts in which a row is in one cell (score_counts.py): M (G + 1) in L1,
           L rows of a person L times that; discrete Laplace noise. All figures are arithmetic on the counts.
Assumes:   models and columns were chosen without looking at the test rows; levels of subgroups are public; no
           person has more than L rows.
Tested by: tests/prediction/test_comparison.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import DataError, ParameterError
from sfumato.prediction.card import JudgedRows, levels_of, require_classes
from sfumato.prediction.fit_budget import budget_for, debit
from sfumato.prediction.models import ReleasedModel
from sfumato.prediction.persons import rows_that_count
from sfumato.prediction.score_counts import BINS, Floats, Ints, cells, counted, figures
from sfumato.privacy import Guarantee, NoGuarantee
from sfumato.privacy.differential import DifferentialPrivacy
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.noise import laplace
from sfumato.schema.domains import grounds, search_cost, with_search
from sfumato.table import Table

_SURE = 1.959964  # deviations of a paired interval of 95%


@dataclass(frozen=True)
class ComparedScore:
    """One score: what it promises to those it was learnt from, its figures, and those of each subgroup.

    figures: rows, rate, mean_score, observed_over_predicted, auroc, calibration_error, too_small_to_say.
    ahead: by how much its area under the curve is above that of the first, with a 95% interval; only on a
        public test set.
    """

    name: str
    promise: str
    figures: dict[str, Any]
    subgroups: tuple[dict[str, Any], ...]
    ahead: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class ScoreComparison:
    """All of them, in the order they were given. guarantee: for the rows of the test set."""

    scores: tuple[ComparedScore, ...]
    guarantee: Guarantee
    noise_scale: float

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "noise_scale": self.noise_scale,
            "scores": [
                {
                    "name": s.name,
                    "promise": s.promise,
                    **s.figures,
                    **({} if s.ahead is None else {"ahead_of_the_first": list(s.ahead)}),
                    "subgroups": list(s.subgroups),
                }
                for s in self.scores
            ],
        }


def compare_scores(
    models: Sequence[ReleasedModel], test: Table, target: str, *, epsilon: float | None = None,
    columns: Sequence[str] = (), subgroups: Sequence[str] = (), ledger: Ledger | None = None,
    max_rows_per_person: int = 1,
) -> ScoreComparison:  # fmt: skip
    """Judge several scores on the same rows.

    epsilon: what the test set may cost; None says that it is public, and nothing is promised to its rows.
    columns: of the test set, each the probability that another model, a public one, gives its rows.

    >>> columns = ["bmi", "glucose", "diabetes"]
    >>> people, test = (sf.samples.diabetes(600, seed=seed).select(columns) for seed in (1, 2))
    >>> models = [
    ...     sf.PrivateLogistic(epsilon=5.0, declared_rows=600).fit(people, "diabetes").released("logistic"),
    ...     sf.AdditiveScore(epsilon=5.0, declared_rows=600).fit(people, "diabetes").released("additive"),
    ... ]
    >>> [line.name for line in sf.compare_scores(models, test, "diabetes").scores]
    ['logistic', 'additive']
    """
    names = _names(models, columns)
    if epsilon is not None:  # once: all scores are of the same rows
        test = rows_that_count(test, max_rows_per_person)
    features = {f.name: f for m in models for f in m.features}
    rows = [
        JudgedRows.of(test, target, m.features, subgroups, private=epsilon is not None,
                      max_rows_per_person=max_rows_per_person)
        for m in models
    ]  # fmt: skip
    if not models:
        rows = [
            JudgedRows.of(test, target, (), subgroups, private=epsilon is not None,
                          max_rows_per_person=max_rows_per_person)
        ]  # fmt: skip
    for model in models:
        require_classes(model, test, target)
    scores = [
        np.array([s.probability for s in m.score(r.features)]) for m, r in zip(models, rows, strict=False)
    ]
    scores += [_column(test, target, name) for name in columns]
    judged = rows[0]
    if epsilon is None:
        tables = [_tables(s, judged) for s in scores]
        guarantee, scale = Guarantee.of(NoGuarantee("the test set is public")), 0.0
    else:
        budget = budget_for(epsilon, max_rows_per_person)
        shown = [test.schema[n] for n in dict.fromkeys((*features, target, *subgroups, *columns))]
        found = search_cost(shown, budget.unit, budget.neighbours)
        grant = debit(ledger, budget, "comparison of scores")
        own = grant.claim("The scores were chosen without looking at the test rows", *grounds(shown))
        counts = np.concatenate([_tables(s, judged) for s in scores])
        noisy = laplace(counts, max_rows_per_person * len(scores) * (1 + len(judged.groups)), grant)
        tables, scale = list(np.split(noisy.values, len(scores))), noisy.scale
        guarantee = Guarantee.of(own, grant.account)
        guarantee = Guarantee(
            tuple(with_search(c, found) if isinstance(c, DifferentialPrivacy) else c for c in guarantee)
        )
    promises = [_promise(m) for m in models] + ["a public model"] * len(columns)
    compared = []
    for place, (name, promise, table) in enumerate(zip(names, promises, tables, strict=True)):
        whole, groups = _figures(table, judged, test, scale)
        ahead = None
        if epsilon is None:
            whole, groups = _exactly(whole, groups, scores[place], judged)
            ahead = _ahead(scores[place], scores[0], judged.outcome) if place else None
        compared.append(ComparedScore(name, promise, whole, groups, ahead))
    return ScoreComparison(tuple(compared), guarantee, scale)


def _names(models: Sequence[ReleasedModel], columns: Sequence[str]) -> list[str]:
    if len(models) + len(columns) < 2:
        raise ParameterError(
            "two scores at least are compared.", hint="models, or columns with others' scores"
        )
    if len(set(columns)) < len(columns):
        raise ParameterError("a column is named twice.", hint="once each")
    plain = [m.name for m in models]
    return [
        *(
            f"{n} {m.version[:8]}".strip() if plain.count(n) > 1 else n
            for n, m in zip(plain, models, strict=True)
        ),
        *columns,
    ]


def _promise(model: ReleasedModel) -> str:
    return "; ".join(c.title for c in model.guarantee if c.differential) or "nothing is promised"


def _column(test: Table, target: str, name: str) -> Floats:
    """The probabilities in a column, of the rows that have an outcome."""
    test.schema.require([name])
    kept = test.encode([target]).codes[0] < 2
    values: Floats = np.array(
        [v if isinstance(v, int | float) and not isinstance(v, bool) else math.nan
         for v in test.select([name]).to_arrow()[name].to_pylist()], dtype=np.float64
    )[kept]  # fmt: skip
    wrong = int((~((values >= 0) & (values <= 1))).sum())
    if wrong:
        raise DataError(
            f"column '{name}' holds no probability in {wrong} rows.",
            hint="a score is a number from 0 to 1, for every row that has an outcome",
        )
    return values


def _tables(scores: Floats, rows: JudgedRows) -> Ints:
    """The counts of one score, of the whole and of every subgroup, flat."""
    cell = cells(scores, rows.outcome)
    sizes = [1, *rows.groups.values()]
    return np.concatenate(
        [counted(cell, c, size) for c, size in zip([np.zeros_like(cell), *rows.codes], sizes, strict=True)]
    )


def _figures(
    counts: Ints, rows: JudgedRows, test: Table, scale: float
) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    tables = counts.reshape(-1, BINS, 2)
    named = [(name, level) for name in rows.groups for level in levels_of(test, name)]
    groups = tuple(
        {"column": name, "level": level, **figures(table, scale)}
        for (name, level), table in zip(named, tables[1:], strict=True)
    )
    return figures(tables[0], scale), groups


# -- a public test set: exact figures ----------------------------------------------------------------------


def _exactly(
    whole: dict[str, Any], groups: tuple[dict[str, Any], ...], scores: Floats, rows: JudgedRows
) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """The same figures from the scores themselves instead of their bins."""
    masks = [c == i for c, size in zip(rows.codes, rows.groups.values(), strict=True) for i in range(size)]
    found = [g | _of_scores(g, scores[m], rows.outcome[m]) for g, m in zip(groups, masks, strict=True)]
    return whole | _of_scores(whole, scores, rows.outcome), tuple(found)


def _of_scores(binned: dict[str, Any], scores: Floats, outcome: Ints) -> dict[str, Any]:
    if binned["too_small_to_say"]:
        return {}
    place = np.minimum((scores * 10).astype(np.int64), 9)
    gaps = np.abs(np.bincount(place, outcome - scores, minlength=10))
    return {
        "mean_score": float(scores.mean()),
        "observed_over_predicted": float(outcome.sum() / max(float(scores.sum()), 1e-12)),
        "auroc": float(_placements(scores, outcome)[0].mean()),
        "calibration_error": float(gaps.sum() / len(scores)),
    }


def _placements(scores: Floats, outcome: Ints) -> tuple[Floats, Floats]:
    """DeLong's components: of a case the share of others it beats, of the others that of cases above."""
    cases, others = scores[outcome == 1], scores[outcome == 0]

    def beaten(values: Floats, by: Floats) -> Floats:
        ordered = np.sort(by)
        low, high = (np.searchsorted(ordered, values, side=s) for s in ("left", "right"))
        return (low + high) / (2 * max(len(by), 1))

    return beaten(cases, others), 1 - beaten(others, cases)


def _ahead(scores: Floats, first: Floats, outcome: Ints) -> tuple[float, float, float] | None:
    """The difference of the areas under the curve and its 95% interval, by DeLong's paired variance."""
    a, b = _placements(scores, outcome), _placements(first, outcome)
    if min(len(a[0]), len(a[1])) < 2:
        return None
    gap = float(a[0].mean() - b[0].mean())
    variance = sum(float(np.var(x - y, ddof=1)) / len(x) for x, y in zip(a, b, strict=True))
    reach = _SURE * math.sqrt(variance)
    return gap, gap - reach, gap + reach
