"""Small files to attack, and the slow, obvious versions of what the attacks compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sfumato.assessment.reading.alignment import Pair, align
from sfumato.table import Table

SURE = 1 - 1e-6  # the false-alarm rate of every statistical test is 1e-6


def table(columns: Mapping[str, Sequence[object]]) -> Table:
    return Table.from_arrow(pa.table({k: pa.array(list(v)) for k, v in columns.items()}))


def names(rng: np.random.Generator, rows: int, levels: Mapping[str, int]) -> dict[str, list[str]]:
    """Independent, uniform columns of names."""
    return {c: [f"{c}{x}" for x in rng.integers(0, n, rows)] for c, n in levels.items()}


def covers(cell: object, value: object) -> bool:
    """Whether a released cell may stand for a value: '*', '{a, b}', or the value itself."""
    text = str(cell)
    if text == "*":
        return True
    if text.startswith("{"):
        return str(value) in [x.strip() for x in text[1:-1].split(",")]
    return text == str(value)


def fitting(pair: Pair, known: Sequence[str]) -> np.ndarray:
    """(people, records): whether each record may be each person, by looking at every cell."""
    people, records = (t.select(list(known)).to_arrow().to_pylist() for t in (pair.original, pair.released))
    return np.array([[all(covers(r[c], p[c]) for c in known) for r in records] for p in people])


def generalize(rng: np.random.Generator, values: Sequence[str], levels: Sequence[str]) -> list[str]:
    """Some cells as they are, some as a set around the value, some suppressed."""
    out = []
    for value in values:
        how = rng.integers(0, 3)
        others = [str(x) for x in rng.choice(levels, 2)]
        out.append([value, "{" + ", ".join(dict.fromkeys([value, *others])) + "}", "*"][how])
    return out


def generalized_pair(seed: int, rows: int = 40) -> Pair:
    rng = np.random.default_rng(seed)
    original = names(rng, rows, {"a": 6, "b": 4, "c": 3, "s": 5})
    released = {c: v if c == "s" else generalize(rng, v, sorted(set(v))) for c, v in original.items()}
    return align(table(original), table(released))


def ring(people: int, k: int) -> Pair:
    """k-ambiguous, not k-anonymous: record i covers persons i .. i + k - 1 (or the last k)."""
    values = [f"v{i:03d}" for i in range(people)]
    sets = []
    for i in range(people):
        first = min(i, people - k)
        sets.append("{" + ", ".join(values[first : first + k]) + "}")
    return align(table({"x": values}), table({"x": sets}))


def literal_greedy(seed: int, rows: int, k: int) -> Pair:
    """Each row is released as the hull of itself and the k - 1 rows whose addition widens it least."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 12, (rows, 3))
    cells: dict[str, list[str]] = {f"x{c}": [] for c in range(3)}
    for i in range(rows):
        members = [i]
        while len(members) < k:
            low, high = points[members].min(axis=0), points[members].max(axis=0)
            width = (np.maximum(high, points) - np.minimum(low, points)).sum(axis=1).astype(float)
            width[members] = np.inf
            members.append(int(width.argmin()))
        low, high = points[members].min(axis=0), points[members].max(axis=0)
        for c in range(3):
            cells[f"x{c}"].append("{" + ", ".join(f"n{v}" for v in range(low[c], high[c] + 1)) + "}")
    original = {f"x{c}": [f"n{v}" for v in points[:, c]] for c in range(3)}
    return align(table(original), table(cells))
