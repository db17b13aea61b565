"""The slow, obvious versions of risk: rows as tuples, loops over pairs."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pyarrow as pa

from sfumato.schema import Column, Kind, Schema
from sfumato.table import Table

Rows = Sequence[Sequence[Any]]


def table(rows: Rows, names: Sequence[str], **kinds: Kind) -> Table:
    """A table of text and whole-number columns."""
    columns = list(zip(*rows, strict=True)) if rows else [[] for _ in names]
    arrays = [pa.array(list(c), pa.string() if not _whole(c) else pa.int64()) for c in columns]
    described = [
        Column(
            n,
            kinds.get(n, Kind.NOMINAL),
            type="integer" if pa.types.is_integer(a.type) else "text",
        )
        for n, a in zip(names, arrays, strict=True)
    ]
    return Table.from_arrow(pa.table(dict(zip(names, arrays, strict=True))), Schema(tuple(described)))


def _whole(cells: Sequence[Any]) -> bool:
    return any(isinstance(c, int) for c in cells)


def may_match(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two rows may mean the same person: a gap or a star matches anything."""
    wild = (None, "*")
    return all(x == y or x in wild or y in wild for x, y in zip(a, b, strict=True))


def sizes(rows: Rows, places: Sequence[int], *, wild: bool = False) -> list[int]:
    """For each row how many rows share its class."""
    parts = [tuple(r[p] for p in places) for r in rows]
    return [sum(may_match(a, b) if wild else a == b for b in parts) for a in parts]


def persons(rows: Rows, places: Sequence[int], who: Sequence[Any]) -> list[int]:
    """For each row how many different persons share its class; no person is one person."""
    parts = [tuple(r[p] for p in places) for r in rows]
    return [len({w for b, w in zip(parts, who, strict=True) if a == b}) for a in parts]


def minimal_sets(rows: Rows, row: int, depth: int) -> list[tuple[int, ...]]:
    """The smallest sets of columns on which a row is alone."""
    found: list[tuple[int, ...]] = []
    for size in range(1, depth + 1):
        for places in combinations(range(len(rows[0])), size):
            inner = any(set(f) <= set(places) for f in found)
            if not inner and sizes(rows, places)[row] == 1:
                found.append(places)
    return found


def by_class(rows: Rows, sensitive: Sequence[Any]) -> list[Counter[Any]]:
    out: dict[tuple[Any, ...], Counter[Any]] = defaultdict(Counter)
    for row, value in zip(rows, sensitive, strict=True):
        out[tuple(row)][value] += 1
    return list(out.values())


def entropy_l(rows: Rows, sensitive: Sequence[Any]) -> float:
    def h(c: Counter[Any]) -> float:
        n = c.total()
        return -sum(x / n * math.log(x / n) for x in c.values())

    return math.exp(min(h(c) for c in by_class(rows, sensitive)))


def recursive_l(rows: Rows, sensitive: Sequence[Any], c: float) -> int:
    def one(counter: Counter[Any]) -> int:
        r = sorted(counter.values(), reverse=True)
        fits = [k for k in range(1, len(r) + 1) if r[0] < c * sum(r[k - 1 :])]
        return max(fits, default=0)

    return min(one(k) for k in by_class(rows, sensitive))


def t(rows: Rows, sensitive: Sequence[Any], *, ordered: bool) -> float:
    levels = sorted(set(sensitive), key=lambda v: (v is None, v))
    n = len(sensitive)
    whole = [sensitive.count(v) / n if isinstance(sensitive, list) else 0 for v in levels]
    worst = 0.0
    for counter in by_class(rows, sensitive):
        own = [counter[v] / counter.total() for v in levels]
        if ordered:
            gaps = [abs(sum(own[: i + 1]) - sum(whole[: i + 1])) for i in range(len(levels) - 1)]
            far = sum(gaps) / (len(levels) - 1) if len(levels) > 1 else 0.0
        else:
            far = sum(abs(a - b) for a, b in zip(own, whole, strict=True)) / 2
        worst = max(worst, far)
    return worst
