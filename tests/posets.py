"""Small posets of every kind with all their nodes, random ones too, and the slow, obvious answers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import date, timedelta
from itertools import product
from typing import Any

from hypothesis import strategies as st

from sfumato.hierarchy import (
    Cell,
    DateOfBirth,
    Hierarchy,
    Interval,
    Matrix,
    PassThrough,
    PowerSet,
    Product,
    Range,
    SparseCodes,
    Suppression,
)
from sfumato.hierarchy.births import GRANULARITIES
from sfumato.hierarchy.rows import SUPPRESSED

Case = tuple[Any, list[Any]]  # a poset and all its nodes


def least(poset: Any, universe: Sequence[Any], members: Sequence[Any]) -> frozenset[Any]:
    """Upper bounds without another upper bound below them, by looking at every node."""
    bounds = [b for b in universe if all(poset.leq(m, b) for m in members)]
    return frozenset(b for b in bounds if not any(o != b and poset.leq(o, b) for o in bounds))


# -- random hierarchies and graphs -----------------------------------------------------------------


@st.composite
def rows(draw: st.DrawFn, most: int = 12) -> list[list[str]]:
    """A table of levels: nested groups of random sizes."""
    leaves = draw(st.integers(1, most))
    table = [[f"v{i}"] for i in range(leaves)]
    groups = list(range(leaves))
    for height in range(1, draw(st.integers(1, 4))):
        names = {g: draw(st.integers(0, max(0, len(set(groups)) - 1))) for g in set(groups)}
        groups = [names[g] for g in groups]
        for row, g in zip(table, groups, strict=True):
            row.append(f"{height}.{g}")
    return [[*row, "*"] for row in draw(st.permutations(table))]


@st.composite
def graphs(draw: st.DrawFn, most: int = 12) -> dict[Hashable, list[Hashable]]:
    """Parents of nodes 0 to n - 1, several each, one top; in any order."""
    size = draw(st.integers(1, most))
    above: dict[Hashable, list[Hashable]] = {size - 1: []}
    for i in range(size - 1):
        above[i] = list(draw(st.sets(st.integers(i + 1, size - 1), min_size=1, max_size=3)))
    return {node: above[node] for node in draw(st.permutations(sorted(above, key=str)))}


# -- one strategy for each kind --------------------------------------------------------------------


@st.composite
def hierarchies(draw: st.DrawFn) -> Case:
    h = Hierarchy.of_rows(draw(rows()))
    return h, list(range(h.size))


@st.composite
def matrices(draw: st.DrawFn) -> Case:
    m = Matrix.of(draw(graphs()))
    return m, list(range(m.size))


@st.composite
def ranges(draw: st.DrawFn) -> Case:
    high, widest = draw(st.integers(0, 6)), draw(st.none() | st.integers(0, 7))
    poset = Range(0, high, widest, whole=draw(st.booleans()))
    nodes = {Interval(a, b) for a in range(high + 1) for b in range(a, high + 1)}
    if widest is not None:
        nodes = {n for n in nodes if n.high - n.low <= widest} | {poset.top}
    return poset, sorted(nodes)


@st.composite
def power_sets(draw: st.DrawFn) -> Case:
    poset = PowerSet(draw(st.integers(1, 3)))
    return poset, ["".join(signs) for signs in product("01*", repeat=poset.bits)]


@st.composite
def births(draw: st.DrawFn) -> Case:
    base = draw(st.dates(date(2003, 12, 25), date(2004, 3, 3)))
    poset = DateOfBirth(base, (0, 2), draw(st.sampled_from(["by year", "by day"])), oldest=4)
    span = (base - poset.earliest).days
    border = [poset.earliest, base, date(2002, 12, 31), date(2003, 1, 1), date(2003, 2, 28)]
    days = {
        d
        for d in (*border, *(base - timedelta(draw(st.integers(0, span))) for _ in range(6)))
        if poset.earliest <= d <= base
    }
    days |= {min(poset.at(d, g).last, base) for d in days for g in ("month", "year", "band")}
    return poset, sorted({poset.at(d, g) for d in days for g in GRANULARITIES})


@st.composite
def sparse_codes(draw: st.DrawFn) -> Case:
    codes: Hierarchy | Matrix = Hierarchy.of_rows([["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]])
    if draw(st.booleans()):
        codes = Matrix.of({"a": ["x", "y"], "b": ["y"], "x": ["*"], "y": ["*"], "*": []})
    poset = SparseCodes(codes)
    entries = st.dictionaries(st.sampled_from(codes.leaves), st.integers(1, 2))
    cells = [poset.node(draw(entries)) for _ in range(2)]
    numbers = [sorted({dict(c.told).get(v, 0) for c in cells}) for v in range(codes.size)]
    nodes = {poset.top, *cells}  # and all that could be told with their numbers
    for choice in product(*((-1, *n) for n in numbers)):
        told = tuple((v, n) for v, n in enumerate(choice) if n > 0)
        nodes.add(Cell(told, frozenset(v for v, n in enumerate(choice) if n < 0)))
    return poset, sorted(nodes, key=lambda c: (c.told, sorted(c.withheld)))


@st.composite
def products(draw: st.DrawFn) -> Case:
    first, some = draw(matrices())
    parts = {"m": first, "p": PassThrough("other"), "s": Suppression(), "r": Range(0, 1, whole=True)}
    nodes = [some, ["(as it was)"], ["u", "v", SUPPRESSED], [Interval(0, 0), Interval(1, 1), Interval(0, 1)]]
    return Product(parts, {"m": 2.0}), list(product(*nodes))


@st.composite
def suppressions(draw: st.DrawFn) -> Case:
    return Suppression(draw(st.none() | st.just(("u", "v", "w")))), ["u", "v", "w", SUPPRESSED]


@st.composite
def pass_throughs(draw: st.DrawFn) -> Case:
    return PassThrough(draw(st.sampled_from(["other", "sensitive", "weight"]))), ["(as it was)"]


KINDS = {
    "hierarchy": hierarchies(),
    "matrix": matrices(),
    "range": ranges(),
    "power set": power_sets(),
    "date of birth": births(),
    "sparse codes": sparse_codes(),
    "suppression": suppressions(),
    "pass-through": pass_throughs(),
    "product": products(),
}
