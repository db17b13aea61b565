"""Fit the weights of `sfumato.inference.evidence` to labelled columns that the rules leave open.

python benchmarks/evidence.py

A logistic regression (log odds of 'sensitive' against 'quasi-identifier') on the signs of every such column
of the tables that rules were tuned on, and at a weight of .4 of columns whose names are hidden, a quarter of
each file. Prints how often it is right on files that it was not fitted to (ten parts, by file), then the
weights; `fallback` adds two signs of names to them. `unseen_9` and `held` are not used.
"""

from __future__ import annotations

import random
import zlib

import numpy as np
from guesses import TABLES, files
from numpy.typing import NDArray

from sfumato.inference import _look, fallback, structure
from sfumato.inference.evidence import signs
from sfumato.inference.names import Reading
from sfumato.inference.roles import readings_of, role_of
from sfumato.schema import Role

LEFT_OUT = ("unseen_9", "held")
HIDDEN, WEIGHT_OF_HIDDEN, SHRINKAGE, PARTS = 0.25, 0.4, 2.0, 10
TELLING = (Role.QUASI_IDENTIFIER, Role.SENSITIVE)


def examples() -> list[tuple[str, list[str], bool, float]]:
    """File, signs, whether it is sensitive, and its weight."""
    found = []
    for file in (f for name in TABLES if name not in LEFT_OUT for f in files(name)):
        table = file.table()
        if table is None:
            continue
        rows = table.to_arrow().slice(0, 5_000)
        facts = {n: _look(n, rows.column(n), True)[0] for n in rows.column_names}
        labels = {c.name: {c.role, *c.also} for c in file.columns}
        for share in (0.0, HIDDEN):
            draw = random.Random(zlib.crc32(file.name.encode()))
            hidden = {n for n in facts if draw.random() < share}
            readings = dict(readings_of(facts.values()))
            readings |= {n: Reading((n.lower(),), {}) for n in hidden}
            clues = {n: role_of(facts[n], readings[n]) for n in facts}
            clues = structure.related(rows, facts, readings, clues)
            roles = {n: c.role if c.role in TELLING else None for n, c in clues.items()}
            for name in fallback.safer(facts, readings, clues):
                wanted = {"sensitive", "quasi-identifier"} & labels.get(name, set())
                if len(wanted) == 1 and (name in hidden or not share):
                    weight = WEIGHT_OF_HIDDEN if share else 1.0
                    found.append((file.name, signs(name, facts, roles), wanted == {"sensitive"}, weight))
    return found


def fitted(x: NDArray[np.float64], y: NDArray[np.float64], w: NDArray[np.float64]) -> NDArray[np.float64]:
    """Newton's steps; all weights but the last are shrunk towards 0."""
    b = np.zeros(x.shape[1])
    ridge = np.diag([SHRINKAGE] * (len(b) - 1) + [1e-6])
    for _ in range(40):
        p = 1 / (1 + np.exp(-x @ b))
        b += np.linalg.solve(
            x.T @ (x * (w * p * (1 - p) + 1e-9)[:, None]) + ridge, x.T @ (w * (y - p)) - ridge @ b
        )
    return b


def main() -> None:
    """Fit, judge on other files, print the weights."""
    found = examples()
    names = sorted({sign for _, several, _, _ in found for sign in several})
    x = np.array([[float(n in several) for n in names] + [1.0] for _, several, _, _ in found])
    y, w = np.array([s for *_, s, _ in found], float), np.array([weight for *_, weight in found])
    part = np.array([zlib.crc32(file.encode()) % PARTS for file, *_ in found])
    p = np.empty(len(found))
    for k in range(PARTS):
        p[part == k] = 1 / (1 + np.exp(-x[part == k] @ fitted(x[part != k], y[part != k], w[part != k])))
    seen = w == 1.0
    for least in (0.5, 0.65):
        right = (p > least) == (y > 0.5)
        print(f"sensitive from {least} on: {right[seen].mean():.3f} of {seen.sum()} right on other files")
    for value, name in sorted(zip(fitted(x, y, w), [*names, "to begin with"], strict=True), reverse=True):
        print(f"{value:+.1f} {name}")


if __name__ == "__main__":
    main()
