"""Figures 3 to 5 of Wei et al. (2017): how often members of a plan are found by their quasi-identifiers.

For each method the attack of section 4.3 is played many times (nearest released row, ties at random), by
equivalence class of the original; and the exact chance given each draw (Rao and Blackwell), whose largest
value over records is what the promise of 1/k is about.
"""

from __future__ import annotations

import numpy as np
from markets import People, clustered, enrolled, load, released
from scipy import stats
from shape_output import arguments, picture, table

from sfumato.anonymization.shape.reidentification import Nearest
from sfumato.seeds import Key

METHODS = ("centroid", "resample", "dither")
ROWS = 4_000


def plan(seed: int = 0) -> People:
    """Members of the plan, one row a person: drawn by weight, without replacement."""
    people = enrolled(load(), load())
    draw = np.random.default_rng(seed)
    chosen = draw.choice(len(people), ROWS, replace=False, p=people.weight / people.weight.sum())
    members = people[chosen]
    return People(members.codes, members.cost, np.ones(ROWS))


def played(members: People, k: int, method: str, trials: int) -> tuple[np.ndarray, float, float]:
    """How often each record was found; the largest exact chance; the mean exact chance."""
    clusters = clustered(members, k)
    scale = members.codes.std(axis=0)
    original = members.codes / scale
    hits, worst, mean = np.zeros(len(members)), 0.0, 0.0
    for trial in range(trials):
        out = released(members, clusters, method, Key.from_seed(trial)) / scale
        near = Nearest.of(original, out)
        exact = near.share(clusters.label) / clusters.sizes[clusters.label]
        draw = np.random.default_rng(trial)
        if method == "centroid":  # the release is the same each time: all plays at once
            return draw.binomial(trials, near.own()).astype(float), float(exact.max()), float(exact.mean())
        worst, mean = max(worst, float(exact.max())), mean + float(exact.mean()) / trials
        hits += draw.random(len(hits)) < near.own()
    return hits, worst, mean


def main() -> None:
    given = arguments(__doc__ or "")
    members = plan()
    _, group = np.unique(members.codes, axis=0, return_inverse=True)
    size = np.bincount(group.ravel())
    summary, bars, gaps = [], [], []
    some = 20 if given.quick else given.repeats
    for k, trials in ((5, some or 1_000), (10, some or 2_000)):
        by_method = {}
        for method in METHODS:
            hits, worst, mean = played(members, k, method, trials)
            by_class = np.bincount(group.ravel(), hits) / size / trials
            by_method[method] = by_class
            low = np.nan_to_num(stats.beta.ppf(1e-6 / len(members), hits, trials - hits + 1))
            summary.append(
                {
                    "k": k, "method": method, "trials": trials, "1/k": 1 / k,
                    "mean, played": float(hits.mean() / trials),
                    "mean, exact": mean, "largest exact of a record": worst,
                    "largest by class, played": float(by_class.max()),
                    "records proven above 1/k": int((low > 1 / k).sum()),
                }
            )  # fmt: skip
            counts, edges = np.histogram(by_class, bins=20, range=(0, 1.5 / k))
            bars += [
                {"k": k, "method": method, "frequency": float(e), "classes": int(c)}
                for c, e in zip(counts, edges[:-1], strict=True)
            ]
        better = by_method["resample"] - by_method["centroid"]  # figure 3(d): below 0, resampling hides more
        counts, edges = np.histogram(better, bins=20, range=(-0.75 / k, 0.75 / k))
        gaps += [
            {"k": k, "difference": float(e), "classes": int(c), "below 0": int((better < 0).sum())}
            for c, e in zip(counts, edges[:-1], strict=True)
        ]
        table(summary, given.out, "reidentification")
        print(f"k = {k} done", flush=True)
    print(table(summary, given.out, "reidentification"))
    panel = {
        "mark": "bar", "width": 220, "height": 120,
        "encoding": {
            "x": {"field": "frequency", "type": "quantitative", "title": "re-identified, share of trials"},
            "y": {"field": "classes", "type": "quantitative"},
        },
    }  # fmt: skip
    table(bars, given.out, "reidentification_classes")
    facet = {"row": {"field": "k"}, "column": {"field": "method", "sort": list(METHODS)}}
    picture({"facet": facet, "spec": panel}, bars, given.out, "reidentification_classes")
    table(gaps, given.out, "reidentification_differences")
    panel = {
        **panel,
        "encoding": {
            "x": {"field": "difference", "type": "quantitative", "title": "resampling less centroids"},
            "y": {"field": "classes", "type": "quantitative"},
        },
    }
    picture(
        {"facet": {"row": {"field": "k"}}, "spec": panel}, gaps, given.out, "reidentification_differences"
    )
    ks = (5, 20) if given.quick else (2, 5, 10, 20, 50, 100, 200, 500)
    curve = [
        {"k": k, "method": m, "frequency": float(hits.mean() / t)}
        for k in ks
        for m in METHODS
        for t in [5 if given.quick else max(given.repeats or 2_000, 100) // 10]
        for hits, _, _ in [played(members, k, m, t)]
    ] + [{"k": k, "method": "1/k", "frequency": 1 / k} for k in ks]
    table(curve, given.out, "reidentification_by_k")
    picture(
        {
            "mark": {"type": "line", "point": True}, "width": 420, "height": 260,
            "encoding": {
                "x": {"field": "k", "type": "quantitative", "scale": {"type": "log"}},
                "y": {"field": "frequency", "type": "quantitative", "scale": {"type": "log"}},
                "color": {"field": "method"},
            },
        },
        curve, given.out, "reidentification_by_k",
    )  # fmt: skip


if __name__ == "__main__":
    main()
