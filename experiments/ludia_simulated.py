"""Dissertation, section 4.5.1, figures 4.4 and 4.5: four simulated worlds, five partitions, MP to CUDIA.

    python experiments/ludia_simulated.py [--quick] [--out DIR] [--repeats N]

The print leaves c and beta open: they are drawn from the standard normal, anew in each repeat. LUDIA's
default was chosen while looking at worlds of the first seeds; those here begin at 10,000.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # matrices of five rows: threads of BLAS only wait on each other

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.reconstruction.aggregate import Aggregates
from sfumato.reconstruction.baselines import EcologicalRegression, MoorePenrose
from sfumato.reconstruction.cudia import CUDIA
from sfumato.reconstruction.ludia import LUDIA

sys.path.insert(0, str(Path(__file__).parent))
from reconstruction_output import options, save_picture, save_table

WORLDS = ("low rank", "fixed effect", "random intercept", "random slope")
PARTITIONS = 5
FRESH = 10_000
METHODS: dict[str, Any] = {
    "MP": MoorePenrose(),
    "ER": EcologicalRegression(),
    "ER + correction": EcologicalRegression(correction=True),
    "LUDIA, as printed": LUDIA(rank=99, iterations=10, sharing="even"),  # the rank of X
    "LUDIA": LUDIA(shrinkage=1.0),  # rank and stop by held-out groups
    "LUDIA, daring": LUDIA(sharing=None, most_iterations=10, shrinkage=1.0),  # the sharing too
    "CUDIA, deterministic": CUDIA(3, correction=False, seed=1),
}
SELDOM = {"CUDIA, MCEM": CUDIA(3, "mcem", correction=False, iterations=10, seed=1)}


def world(name: str, per: int, rng: np.random.Generator) -> tuple[dict[str, Any], np.ndarray]:
    """Individuals with their partition, and y."""
    n = per * PARTITIONS
    g = rng.permutation(np.concatenate([np.arange(PARTITIONS), rng.integers(0, PARTITIONS, n - PARTITIONS)]))
    if name == "low rank":
        data = rng.normal(size=(n, 2)) @ rng.normal(size=(5, 2)).T + 0.4 * rng.normal(size=(n, 5))
        x, y = data[:, :4], data[:, 4]
    else:
        x = rng.normal(size=(n, 2))
        y = rng.normal() + x @ rng.normal(size=2) + 0.2 * rng.normal(size=n)
        if name == "random intercept":
            y = y + 0.2 * rng.normal(size=PARTITIONS)[g]
        if name == "random slope":
            y = y + np.sum(x * (0.2 * rng.normal(size=(PARTITIONS, 2)))[g], axis=1)
    return {**{f"x{j}": x[:, j] for j in range(x.shape[1])}, "g": g.astype(str)}, y


def errors(name: str, per: int, seed: int, methods: dict[str, Any]) -> dict[str, float]:
    """Mean absolute error of each method on one data set."""
    columns, y = world(name, per, np.random.default_rng([WORLDS.index(name), per, seed]))
    table = sf.Table.from_arrow(pa.table({**columns, "y": y}))
    made = Aggregates.compute(table, "g", "y")
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.SfumatoWarning)  # groups of one, in the smallest worlds
        for title, method in methods.items():
            fitted = method.fit(table.drop(["y"]), made)
            found[title] = float(np.abs(fitted.reconstruct().numbers()[:, 0] - y).mean())
    return found


def figure_4_4(sizes: list[int], repeats: int, seldom: int) -> list[dict[str, Any]]:
    rows = []
    for name in WORLDS:
        for per in sizes:
            runs: dict[str, list[float]] = {}
            for seed in range(repeats):
                methods = METHODS | SELDOM if seed < seldom else METHODS
                for title, error in errors(name, per, FRESH + seed, methods).items():
                    runs.setdefault(title, []).append(error)
            for title, found in runs.items():
                rows.append(
                    {
                        "world": name, "points per partition": per, "method": title, "repeats": len(found),
                        "median MAE": float(np.median(found)), "mean MAE": float(np.mean(found)),
                        "sd": float(np.std(found)),
                    }
                )  # fmt: skip
            print(name, per, {r["method"]: round(r["median MAE"], 3) for r in rows[-len(runs) :]}, flush=True)
    return rows


def starts(draws: int) -> list[dict[str, Any]]:
    """Figure 4.5: reconstructed against original values of a random-intercept world, three starts.

    The points of the first world; in the title the median error over all of them.
    """
    common = {"rank": 2, "iterations": 10, "sharing": "even"}
    methods = {
        "MP": MoorePenrose(), "ER": EcologicalRegression(), "LUDIA from MP": LUDIA(**common),
        "LUDIA from ER": LUDIA(start="er", **common),
        "LUDIA from a random start": LUDIA(start="random", seed=1, **common),
    }  # fmt: skip
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {title: [] for title in methods}
    for seed in range(draws):
        columns, y = world("random intercept", 50, np.random.default_rng([FRESH, seed]))
        table = sf.Table.from_arrow(pa.table({**columns, "y": y}))
        made = Aggregates.compute(table, "g", "y")
        for title, method in methods.items():
            found[title].append((y, method.fit(table.drop(["y"]), made).reconstruct().numbers()[:, 0]))
    return [
        {"method": f"{title}: {np.median([np.abs(a - b).mean() for a, b in pairs]):.2f}",
         "original": float(a), "reconstructed": float(b)}
        for title, pairs in found.items()
        for a, b in zip(*pairs[0], strict=True)
    ]  # fmt: skip


def honest(rows: list[dict[str, Any]]) -> str:
    """What holds of the paper's ordering, read off the table."""
    lines = []
    found = {(r["world"], r["points per partition"], r["method"]): r["median MAE"] for r in rows}
    sizes = sorted({r["points per partition"] for r in rows})
    for name in WORLDS:
        for per in sizes:
            here = {m: found[name, per, m] for m in METHODS}
            order = sorted(here, key=lambda m: here[m])
            lines.append(
                f"- {name}, {per} points: best {order[0]} ({here[order[0]]:.2f}), worst {order[-1]} "
                f"({here[order[-1]]:.2f}). LUDIA against ER: {_better(here, 'ER')}, "
                f"against MP: {_better(here, 'MP')}."
            )
    return "\n".join(lines) + "\n"


def _better(here: dict[str, float], other: str) -> str:
    return "better" if here["LUDIA"] < here[other] else "not better"


def main() -> None:
    chosen = options(__doc__ or "")
    sizes, repeats, seldom = ([10, 50], 2, 1) if chosen.quick else ([10, 50, 100, 500], 100, 5)
    rows = figure_4_4(sizes, chosen.repeats or repeats, seldom)
    save_table(rows, chosen.out / "ludia_simulated")
    (chosen.out / "ludia_simulated.txt").write_text(honest(rows), encoding="utf-8")
    save_picture(
        {
            "data": {"values": rows},
            "facet": {"field": "world", "columns": 2, "sort": list(WORLDS)},
            "spec": {
                "mark": {"type": "line", "point": True}, "width": 300, "height": 200,
                "encoding": {
                    "x": {"field": "points per partition", "type": "quantitative", "scale": {"type": "log"}},
                    "y": {"field": "median MAE", "type": "quantitative", "scale": {"type": "log"}},
                    "color": {"field": "method", "type": "nominal"},
                },
            },
            "resolve": {"scale": {"y": "independent"}},
        },
        chosen.out / "ludia_simulated",
    )  # fmt: skip
    points = starts(2 if chosen.quick else 50)
    save_table(points, chosen.out / "ludia_starts")
    save_picture(
        {
            "data": {"values": points},
            "facet": {"field": "method", "columns": 5, "sort": None},
            "spec": {
                "mark": {"type": "circle", "size": 12}, "width": 160, "height": 160,
                "encoding": {
                    "x": {"field": "original", "type": "quantitative"},
                    "y": {"field": "reconstructed", "type": "quantitative"},
                },
            },
        },
        chosen.out / "ludia_starts",
    )  # fmt: skip
    print(honest(rows))


if __name__ == "__main__":
    main()
