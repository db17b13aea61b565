"""The slow, obvious versions: divergences with eighty digits, trees by trying every binary feature."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from typing import Any, NamedTuple

from sfumato.prediction.variables import TreeVariable

Table = tuple[int, int, int, int]  # n11, n10, n01, n00


def divergence(p: Sequence[Decimal], q: Sequence[Decimal], alpha: float) -> float:
    """Equation (5.1), and (5.4), (5.6) at the limits; a cell that makes it infinite makes it infinite."""
    with localcontext() as context:
        context.prec = 80
        a, total = Decimal(alpha), Decimal(0)
        for x, y in zip(p, q, strict=True):
            if y == 0 or (x == 0 and alpha > 0):
                if x > 0:
                    return math.inf
                total += y * (1 - a) / (a * (1 - a)) if alpha != 1 and y else y if alpha == 1 else Decimal(0)
                continue
            if x == 0:
                return math.inf
            if alpha == 0:
                total += y * (y / x).ln() + x - y
            elif alpha == 1:
                total += x * (x / y).ln() + y - x
            else:
                power = (a * x.ln() + (1 - a) * y.ln()).exp()
                total += (a * x + (1 - a) * y - power) / (a * (1 - a))
        return float(total)


def gain(table: Table, alpha: float) -> float:
    """D_alpha(P(X, Y) || P(X) P(Y)) of a contingency table."""
    n11, n10, n01, n00 = table
    n = sum(table)
    if not n or not (n11 + n10) or not (n01 + n00) or not (n11 + n01) or not (n10 + n00):
        return 0.0
    with localcontext() as context:
        context.prec = 80
        p = [Decimal(c) / n for c in table]
        px = [Decimal(n11 + n10) / n, Decimal(n01 + n00) / n]
        py = [Decimal(n11 + n01) / n, Decimal(n10 + n00) / n]
        q = [px[0] * py[0], px[0] * py[1], px[1] * py[0], px[1] * py[1]]
    return divergence(p, q, alpha)


def cases(table: Table) -> list[Table]:
    """The data sets one row away that can be: Table 5.1."""
    out = []
    for step in (1, -1):
        for i in range(4):
            cells = list(table)
            cells[i] += step
            if cells[i] >= 0:
                out.append((cells[0], cells[1], cells[2], cells[3]))
    return out


class Test(NamedTuple):
    """A binary feature: its variable, its number, and whether a cell passes."""

    variable: int
    number: int
    passes: Callable[[Any], bool]


def tests_of(place: int, variable: TreeVariable) -> list[Test]:
    """Every binary feature of a column, straight from the words of the documentation."""
    made: list[Callable[[Any], bool]] = []
    if variable.kind == "number":
        made += [lambda c, t=t: c is not None and c > t for t in variable.thresholds]  # type: ignore[misc]
        if variable.missing:
            made += [lambda c, t=t: c is None or c > t for t in variable.thresholds]  # type: ignore[misc]
    elif variable.kind == "ordered":
        rank = {level: i for i, level in enumerate(variable.levels)}
        above = range(len(variable.levels) - 1)
        made += [lambda c, i=i: c is not None and rank[c] > i for i in above]  # type: ignore[misc]
        if variable.missing:
            made += [lambda c, i=i: c is None or rank[c] > i for i in above]  # type: ignore[misc]
    else:
        made += [lambda c, level=level: c == level for level in variable.levels]  # type: ignore[misc]
    if variable.missing:
        made.append(lambda c: c is None)
    numbered = [Test(place, i, passes) for i, passes in enumerate(made)]
    two = variable.kind in ("category", "flag") and len(variable.levels) == 2 and not variable.missing
    return numbered[1:] if two else numbered


def contingency(rows: Sequence[Sequence[Any]], labels: Sequence[int], test: Test) -> Table:
    counts = {(x, y): 0 for x in (True, False) for y in (1, 0)}
    for row, label in zip(rows, labels, strict=True):
        counts[test.passes(row[test.variable]), label] += 1
    return counts[True, 1], counts[True, 0], counts[False, 1], counts[False, 0]


Nested = tuple[Any, ...]  # ("leaf", positives, size) or (variable, test, left, right)


def grown(
    rows: Sequence[Sequence[Any]],
    labels: Sequence[int],
    variables: Sequence[TreeVariable],
    measure: Callable[[Table], float],
    choose: Callable[[list[tuple[Test, Table]]], Test | None],
) -> Nested:
    """Both algorithms: the best test of each variable (by `measure`), then `choose` among the variables."""
    leaf = ("leaf", sum(labels), len(labels))
    if sum(labels) in (0, len(labels)):
        return leaf
    offers = []
    for i, variable in enumerate(variables):
        tried = [(t, contingency(rows, labels, t)) for t in tests_of(i, variable)]
        if tried:
            offers.append(max(tried, key=lambda pair: measure(pair[1])))
    test = choose(offers)
    if test is None:
        return leaf
    right = [test.passes(row[test.variable]) for row in rows]
    if all(right) or not any(right):
        return leaf
    sides = []
    for wanted in (False, True):
        kept = [i for i, r in enumerate(right) if r == wanted]
        sides.append(grown([rows[i] for i in kept], [labels[i] for i in kept], variables, measure, choose))
    return (test.variable, test.number, *sides)


def nested(tree: Any, place: int = 0) -> Nested:
    """A tree of the library in the oracle's form."""
    node = tree.nodes[place]
    if node.is_leaf:
        return ("leaf", node.positives, node.size)
    return (node.variable, node.test, nested(tree, node.left), nested(tree, node.right))
