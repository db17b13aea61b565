"""Whether a model learnt from the release works on real people, and whether one can tell the files apart."""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import measures
from sfumato.assessment.reading.alignment import Pair
from sfumato.assessment.reading.frames import frame_like, frames, is_numeric
from sfumato.assessment.threads import one_thread
from sfumato.assessment.utility.associations import score
from sfumato.errors import DataError, ParameterError
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

if TYPE_CHECKING:
    import pandas as pd

    from sfumato.methods.estimators import Estimator

Float = NDArray[np.float64]
_MOST_CATEGORIES = 200  # gradient boosting has at most 255 bins per column


def train_on_released(
    pair: Pair,
    target: str,
    test: Table,
    *,
    estimator: Estimator | None = None,
    most_rows: int = 50_000,
    resamples: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
) -> list[Score]:
    """Learn `target` from the release, and from the original; test both on real people neither has seen.

    test: a holdout of the original's kind, with the same columns; not part of the original.
    estimator: any scikit-learn classifier (regressor for a numeric target), which gets one-hot and scaled
    columns; by default gradient boosting. Scores: area under the curve, or R^2, with bootstrap intervals
    over the people of the test.
    """
    if target not in pair.columns or len(pair.columns) < 2:
        raise ParameterError(f"target '{target}' is not among the compared columns.", hint="name another")
    before, after = frames(pair, most_rows=most_rows, seed=seed)
    held = frame_like(pair, test, most_rows=most_rows, seed=seed)
    before, after, held = (f.dropna(subset=[target]) for f in (before, after, held))
    short = [n for n, f in (("original", before), ("released file", after), ("test", held)) if len(f) < 10]
    if short:
        raise DataError(
            f"fewer than 10 rows with a target in the {' and the '.join(short)}.", hint="more rows"
        )
    numeric = is_numeric(pair, target)
    features = [c for c in pair.columns if c != target]
    truth = _outcome(held, target, numeric)
    if np.ptp(truth) == 0:
        raise DataError("in the test the target is always the same.", hint="choose another target")
    predictions = []
    for rows, where in ((before, "original"), (after, "released file")):
        y = _outcome(rows, target, numeric)
        if not numeric and len(np.unique(y)) < 2:
            raise DataError(f"in the {where} the target is always the same.", hint="choose another target")
        filled = [c for c in features if rows[c].notna().any()]  # trees cannot cut a column without a value
        if not filled:
            raise DataError(f"in the {where} all columns but the target are missing.", hint="keep one")
        # People are set aside level by level to stop early: of a level with one person there are none left.
        levels = np.empty(0) if numeric else np.unique(y, return_counts=True)[1]
        sparse = bool((levels < 2).any()) or len(levels) > len(y) / 10
        model = _pipeline(pair, filled, numeric, estimator, seed, stops=False if sparse else "auto")
        with one_thread():
            model.fit(rows[filled], y)
            predictions.append(_predicted(model, held[filled], numeric, pair.leaves[target].size))
    return _tested(
        truth, predictions, numeric, target, (resamples, confidence, seed), (len(before), len(after))
    )


def _tested(
    truth: Float, predictions: list[Float], numeric: bool, target: str, draws: tuple[int, float, int],
    rows: tuple[int, int],
) -> list[Score]:  # fmt: skip
    resamples, confidence, seed = draws
    generator = Key.from_seed(seed).generator("bootstrap")
    values = [_skill(truth, p, numeric) for p in predictions]
    drawn: list[list[float]] = []
    for _ in range(resamples):
        chosen = generator.integers(0, len(truth), len(truth))
        drawn.append([_skill(truth[chosen], p[chosen], numeric) for p in predictions])
    table = np.array(drawn)
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]

    def spread(draws: Float) -> dict[str, float]:
        if np.isnan(draws).all():  # no draw had two levels
            return {}
        low, high = np.nanquantile(draws, tails)
        return {"low": float(low), "high": float(high), "confidence": confidence}

    what = "R^2" if numeric else "area under the curve"
    guess = 0.0 if numeric else 0.5
    bottom = -math.inf if numeric else 0.0
    details = {"original": values[0], "rows": list(rows), "test_rows": len(truth), "resamples": resamples}
    return [
        score(f"train on released, test on real: {target}", values[1], 1, "higher",
              f"{what} on real people of a model learnt from the release; {values[0]:.3g} if learnt from the "
              f"original, {guess:g} for a guess. Bootstrap interval over the people of the test.", bottom,
              columns=(target,), baseline=guess, details=details, **spread(table[:, 1])),
        score(f"lost by training on released: {target}", values[0] - values[1], math.inf, "lower",
              f"How much {what} is lost by learning from the release instead of the original; 0: nothing. "
              "Bootstrap interval, both models on the same people.", -math.inf,
              columns=(target,), **spread(table[:, 0] - table[:, 1])),
    ]  # fmt: skip


def _outcome(frame: pd.DataFrame, target: str, numeric: bool) -> Float:
    return np.asarray(frame[target] if numeric else frame[target].cat.codes, np.float64)


def _predicted(model: Any, rows: pd.DataFrame, numeric: bool, size: int) -> Float:
    """Predicted numbers, or probabilities with a column for each level; levels never seen have none."""
    if numeric:
        return np.asarray(model.predict(rows), np.float64)[:, None]
    out = np.zeros((len(rows), size))
    if hasattr(model, "predict_proba"):
        out[:, model.classes_.astype(int)] = model.predict_proba(rows)
    else:
        out[np.arange(len(rows)), model.predict(rows).astype(int)] = 1.0
    return out


def _skill(truth: Float, predicted: Float, numeric: bool) -> float:
    """R^2, or the area under the curve, one level against the rest, weighted by frequency."""
    if numeric:
        spread = float(np.square(truth - truth.mean()).sum())
        return 1 - float(np.square(truth - predicted[:, 0]).sum()) / spread if spread > 0 else math.nan
    levels, counts = np.unique(truth, return_counts=True)
    if len(levels) < 2:
        return math.nan
    areas = [_area(truth == level, predicted[:, int(level)]) for level in levels]
    return float(np.average(areas, weights=counts))


def _area(positive: NDArray[np.bool_], values: Float) -> float:
    """The chance that a person with the level is given a higher probability than one without; ties half."""
    ranks = measures.mid_ranks(values)
    n = int(positive.sum())
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(values) - n)))


def _pipeline(
    pair: Pair, features: list[str], numeric: bool, estimator: Estimator | None, seed: int, stops: object
) -> Estimator:
    """Columns made ready for the estimator: as codes for trees, one-hot and scaled for any other."""
    skl = {
        n: importlib.import_module(f"sklearn.{n}")
        for n in ("pipeline", "compose", "preprocessing", "ensemble")
    }
    numbers = [c for c in features if is_numeric(pair, c)]
    names = [c for c in features if c not in numbers]
    pre = skl["preprocessing"]
    made: Estimator
    if estimator is None:
        few = [c for c in names if pair.leaves[c].size <= _MOST_CATEGORIES]
        kind = (
            skl["ensemble"].HistGradientBoostingRegressor
            if numeric
            else skl["ensemble"].HistGradientBoostingClassifier
        )
        codes = pre.OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan
        )
        ordered = few + [c for c in names if c not in few]
        columns = skl["compose"].ColumnTransformer(
            [("names", codes, ordered), ("numbers", "passthrough", numbers)]
        )
        chosen = kind(
            categorical_features=list(range(len(few))), random_state=seed, max_iter=100, early_stopping=stops
        )
        made = skl["pipeline"].make_pipeline(columns, chosen)
        return made
    impute = importlib.import_module("sklearn.impute").SimpleImputer(keep_empty_features=True)
    ready = skl["pipeline"].make_pipeline(impute, pre.StandardScaler())
    hot = pre.OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = skl["compose"].ColumnTransformer([("names", hot, names), ("numbers", ready, numbers)])
    fresh = importlib.import_module("sklearn.base").clone(estimator)
    made = skl["pipeline"].make_pipeline(columns, fresh)
    return made


# -- telling the files apart -----------------------------------------------------------------------


def propensity(
    pair: Pair,
    *,
    estimator: Estimator | None = None,
    model: Literal["tree", "logistic"] = "tree",
    permutations: int = 50,
    most_rows: int = 10_000,
    seed: int = 0,
) -> list[Score]:
    """pMSE: how well a model tells released rows from original ones, against its null by permutation.

    estimator: any scikit-learn classifier with probabilities; by default a tree with at least 20 rows in
    each leaf (it sees interactions), or a logistic regression on single columns.
    The null is what the same model reaches when the labels are shuffled: a release that is a fresh sample
    of the same law has a ratio near 1, one with the original's very rows a ratio below.
    """
    if model not in ("tree", "logistic") or permutations < 1:
        raise ParameterError(
            "model is 'tree' or 'logistic', permutations 1 or more.", hint="propensity(pair)"
        )
    before, after = frames(pair, most_rows=most_rows, seed=seed, drawn=True)
    x = _design(pair, before, after, one_hot=estimator is not None or model == "logistic")
    labels = np.repeat([0, 1], [len(before), len(after)])
    share = len(after) / len(labels)
    chosen = _classifier(estimator, model, seed)
    observed = _pmse(chosen, x, labels, share)
    generator = Key.from_seed(seed).generator("permutations")
    null = np.array([_pmse(chosen, x, generator.permutation(labels), share) for _ in range(permutations)])
    return _propensity_scores(observed, null, (len(before), len(after)))


def _propensity_scores(observed: float, null: Float, rows: tuple[int, int]) -> list[Score]:
    from scipy.stats import beta

    runs, above = len(null), int((null >= observed - 1e-12).sum())
    p = (1 + above) / (1 + runs)
    low = float(beta.ppf(0.025, above, runs - above + 1)) if above else 0.0
    high = float(beta.ppf(0.975, above + 1, runs - above)) if above < runs else 1.0
    middle = float(null.mean())
    ratio = observed / middle if middle > 0 else (1.0 if observed <= 0 else math.inf)
    known = middle > 0 and runs > 1
    half = 1.96 * float(null.std(ddof=1)) / math.sqrt(runs) if known else 0.0
    details = {"pmse": observed, "null": list(null), "null_mean": middle, "rows": list(rows)}
    return [
        score("propensity pMSE", observed, 1, "lower",
              "How well a model tells released rows from original ones (mean squared deviation of guesses); "
              f"{middle:.2g} is reached by chance.", details=details),
        score("propensity pMSE, ratio to chance", ratio, math.inf, "lower",
              "pMSE divided by what shuffled labels reach; 1: the files cannot be told apart. The interval "
              "is that of the shuffling.",
              low=observed / (middle + half) if known else None,
              high=(observed / (middle - half) if middle > half else math.inf) if known else None,
              confidence=0.95 if known else None),
        score("propensity, p-value", p, 1, "higher",
              f"The chance of telling the files apart so well if they came from one law, {runs} shufflings "
              "(exact interval for the share of shufflings); below 0.05 they differ visibly.",
              low=min(low, p), high=max(high, p), confidence=0.95, details={"exceeded": above, "of": runs}),
    ]  # fmt: skip


def _classifier(estimator: Estimator | None, model: str, seed: int) -> Estimator:
    made: Estimator
    if estimator is not None:
        made = importlib.import_module("sklearn.base").clone(estimator)
    elif model == "tree":
        tree = importlib.import_module("sklearn.tree")
        made = tree.DecisionTreeClassifier(min_samples_leaf=20, max_depth=10, random_state=seed)
    else:
        made = importlib.import_module("sklearn.linear_model").LogisticRegression(C=1e4, max_iter=200)
    return made


def _pmse(classifier: Estimator, x: Float, labels: NDArray[np.int64], share: float) -> float:
    guesses = importlib.import_module("sklearn.base").clone(classifier).fit(x, labels).predict_proba(x)[:, 1]
    return measures.propensity_error(guesses, share)


def _design(pair: Pair, before: pd.DataFrame, after: pd.DataFrame, *, one_hot: bool) -> Float:
    """Both files as one matrix: numbers with an indicator of missing, names as codes or one-hot."""
    parts: list[Float] = []
    for name in pair.columns:
        if is_numeric(pair, name):
            values = np.concatenate([before[name].to_numpy(float), after[name].to_numpy(float)])
            gaps = np.isnan(values)
            known = values[~gaps]
            centre, width = (float(known.mean()), float(known.std())) if len(known) else (0.0, 1.0)
            parts.append(((np.where(gaps, centre, values) - centre) / (width or 1.0))[:, None])
            if gaps.any():
                parts.append(gaps.astype(float)[:, None])
            continue
        codes = np.concatenate([before[name].cat.codes, after[name].cat.codes]).astype(np.int64)
        if one_hot:
            parts.append((codes[:, None] == np.unique(codes)[None, 1:]).astype(float))
        else:
            parts.append(codes[:, None].astype(float))
    return np.hstack(parts)
