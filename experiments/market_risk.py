"""Figures 6 to 10 and tables 1 and 2 of Wei et al. (2017), in shape, on MEPS 2004.

Each repeat splits the adults in two halves: the existing market, whose members of the plan have costs and
are released by one of three methods, and the new market, where the prediction is tested.
"""

from __future__ import annotations

import csv
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from markets import AREAS, People, area, clustered, enrolled, load, released
from shape_output import arguments, picture, table

from sfumato.seeds import Key

METHODS = ("centroid", "resample", "dither")
Ratio = Callable[[np.ndarray], np.ndarray]
SHIFTS = ("none", "logistic", "counts")
CODINGS = ("dummy", "numeric")
FOCUS = "old"  # the area of figures 7 to 9


def design(codes: np.ndarray, sizes: np.ndarray, coding: str) -> np.ndarray:
    """An intercept and the features; a centroid takes the dummy of its nearest level."""
    if coding == "numeric":
        return np.column_stack([np.ones(len(codes)), codes])
    near = np.clip(np.rint(codes), 0, sizes - 1).astype(int)
    return np.column_stack(
        [np.ones(len(codes)), *(np.eye(s)[near[:, j]][:, 1:] for j, s in enumerate(sizes))]
    )


def cells(codes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    near = np.clip(np.rint(codes), 0, sizes - 1).astype(int)
    return np.ravel_multi_index(tuple(near.T), tuple(sizes))


def ratio(old: People, new: People, sizes: np.ndarray, shift: str, coding: str) -> Ratio:
    """w(x) = new(x) / old(x) as a function of the released rows; it does not look at them itself."""
    if shift == "none":
        return lambda x: np.ones(len(x))
    if shift == "counts":
        many = int(np.prod(sizes))
        p = np.bincount(cells(old.codes, sizes), old.weight, many) / old.weight.sum()
        q = np.bincount(cells(new.codes, sizes), new.weight, many) / new.weight.sum()
        table = np.divide(q, p, out=np.zeros(many), where=p > 0)
        return lambda x: table[cells(x, sizes)]
    from sklearn.linear_model import LogisticRegression

    both = np.vstack([design(old.codes, sizes, coding), design(new.codes, sizes, coding)])[:, 1:]
    weight = np.concatenate([old.weight / old.weight.sum(), new.weight / new.weight.sum()]) * len(old)
    model = LogisticRegression(max_iter=500)
    model.fit(both, np.repeat([0, 1], [len(old), len(new)]), sample_weight=weight)
    return lambda x: np.exp(model.decision_function(design(x, sizes, coding)[:, 1:]))


def scored(
    x: np.ndarray, members: People, goal: People, w: np.ndarray, sizes: np.ndarray, coding: str
) -> tuple[float, float, float]:
    """Relative bias in per cent, R2, and similarity of the estimated and the actual new members."""
    weight = members.weight * w
    features = design(x, sizes, coding)
    weighted = features * weight[:, None]
    beta = np.linalg.pinv(weighted.T @ features, hermitian=True) @ (weighted.T @ members.cost)
    guess = design(goal.codes, sizes, coding) @ beta
    mean = np.average(goal.cost, weights=goal.weight)
    bias = 100 * (np.average(guess, weights=goal.weight) / mean - 1)
    error = np.average((goal.cost - guess) ** 2, weights=goal.weight)
    r2 = 1 - error / np.average((goal.cost - mean) ** 2, weights=goal.weight)
    many = int(np.prod(sizes))
    mine = np.bincount(cells(x, sizes), weight, many) / weight.sum()
    theirs = np.bincount(cells(goal.codes, sizes), goal.weight, many) / goal.weight.sum()
    return float(bias), float(r2), float(np.minimum(mine, theirs).sum())


def one_split(people: People, split: int, ks: tuple[int, ...]) -> list[tuple]:
    """(scenario, area, k, method, shift, coding, bias, R2, similarity) of one split."""
    order = np.random.default_rng(split).permutation(len(people))
    old, rest = people[order[: len(order) // 2]], people[order[len(order) // 2 :]]
    members = enrolled(old, people)
    sizes = people.codes.max(axis=0) + 1
    markets = {"same": rest, **{name: area(rest, tilt) for name, tilt in AREAS.items()}}
    goals = {name: enrolled(market, people) for name, market in markets.items()}
    out = []

    weigh = {
        (name, shift, coding): ratio(old, market, sizes, shift, coding)
        for name, market in markets.items()
        for shift in SHIFTS
        for coding in CODINGS
    }

    def add(k: int, method: str, x: np.ndarray, name: str, shift: str, coding: str) -> None:
        w = weigh[name, shift, coding](x)
        out.append((name, k, method, shift, coding, *scored(x, members, goals[name], w, sizes, coding)))

    plain = members.codes.astype(float)
    for coding in CODINGS:
        for name in markets:
            for shift in SHIFTS:
                add(1, "original", plain, name, shift, coding)
    for k in ks:
        clusters = clustered(members, k)
        for method in METHODS:
            x = released(members, clusters, method, Key.from_seed(1_000 * split + k))
            for coding in CODINGS:
                add(k, method, x, "same", "none", coding)
                for shift in SHIFTS:
                    add(k, method, x, FOCUS, shift, coding)
    return out


def main() -> None:
    given = arguments(__doc__ or "")
    people = load()
    ks = (5, 100) if given.quick else (2, 5, 10, 20, 50, 100, 200, 500, 1_000)
    splits = given.repeats or (1 if given.quick else 200)
    kept = given.out / "market_splits.csv"
    rows = load_splits(kept) if kept.exists() and not given.quick else []
    add_splits(kept, rows, anew=True)
    done, start = {row[0] for row in rows}, time.time()
    for split in range(splits):
        if split not in done:  # a run that was stopped goes on where it was
            fresh = [(split, *row) for row in one_split(people, split, ks)]
            add_splits(kept, fresh, anew=False)
            rows += fresh
        if split % 20 == 19 or split + 1 == splits:  # what is there so far can be read while it runs
            write(averaged([row[1:] for row in rows if row[0] <= split]), given.out)
            print(f"{split + 1} of {splits} splits, {time.time() - start:.0f} s", flush=True)


def load_splits(path: Path) -> list[tuple]:
    """Splits of an earlier run; one that was not written to its end does not count."""
    lines = path.read_text().splitlines(keepends=True)
    rows = [r for r in csv.reader(line for line in lines if line.endswith("\n")) if len(r) == 9]
    read = [(int(r[0]), r[1], int(r[2]), *r[3:6], *map(float, r[6:])) for r in rows]
    most = max(Counter(row[0] for row in read).values(), default=0)
    whole = {split for split, many in Counter(row[0] for row in read).items() if many == most}
    return [row for row in read if row[0] in whole]


def add_splits(path: Path, rows: list[tuple], anew: bool) -> None:
    with path.open("w" if anew else "a", newline="") as file:
        csv.writer(file).writerows(rows)


def averaged(rows: list[tuple]) -> list[dict]:
    """Means over the splits, with the standard error of the bias."""
    names = ("market", "k", "method", "shift", "coding")
    groups: dict[tuple, list] = {}
    for row in rows:
        groups.setdefault(row[:5], []).append(row[5:])
    return [
        {
            **dict(zip(names, key, strict=True)),
            "splits": len(found),
            **dict(zip(("bias", "r2", "similarity"), np.mean(found, axis=0).tolist(), strict=True)),
            "bias, standard error": float(np.std([f[0] for f in found], ddof=1) / np.sqrt(len(found)))
            if len(found) > 1 else 0.0,
        }
        for key, found in groups.items()
    ]  # fmt: skip


def write(means: list[dict], out: Path) -> None:
    """Tables 1 and 2: the data as they are. Figures 6 to 10: by k and method."""
    for number, coding in enumerate(CODINGS, 1):
        chosen = [m for m in means if m["method"] == "original" and m["coding"] == coding]
        table(chosen, out, f"market_table_{number}")
    curves = [m for m in means if m["method"] != "original"]
    table(curves, out, "market_curves")
    for value in ("bias", "r2", "similarity"):
        picture(
            {
                "facet": {"row": {"field": "coding"}, "column": {"field": "method", "sort": list(METHODS)}},
                "spec": {
                    "mark": {"type": "line", "point": True}, "width": 200, "height": 150,
                    "encoding": {
                        "x": {"field": "k", "type": "quantitative", "scale": {"type": "log"}},
                        "y": {"field": value, "type": "quantitative"},
                        "color": {"field": "shift"}, "strokeDash": {"field": "market"},
                    },
                },
                "resolve": {"scale": {"y": "shared"}},
            },
            curves, out, f"market_{value}",
        )  # fmt: skip


if __name__ == "__main__":
    main()
