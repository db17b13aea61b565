"""Which released values stand for a value of the original: itself, what is above it, or what holds it.

A released code may be the code, a node of ICD, a masked text, a set, an interval or a period of the calendar,
by any tool. What stands for no value of the original is counted and said: it was not understood.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.reading.leaves import Leaves
from sfumato.errors import DataError
from sfumato.hierarchy import Hierarchy, Icd9, Icd10, Recipe
from sfumato.hierarchy.classifications import UNKNOWN

Ints = NDArray[np.int64]
_NAMED = {"icd9": Icd9(chapters=True), "icd10": Icd10(chapters=True)}
_FEW, _MOST_ODD = 20, 0.05  # codes that say which dictionary they are of; share that may be none of it


@dataclass(frozen=True)
class Meaning:
    """nodes: per value of the original, the numbers of the released values that stand for it.

    unread: released values that stand for none.
    """

    nodes: list[Ints]
    unread: frozenset[int]


def meaning(
    leaves: Sequence[str],
    labels: Sequence[str],
    given: Hierarchy | Recipe | Mapping[str, Iterable[str]] | str | None = None,
    *,
    unit: str = "",
) -> Meaning:
    """leaves: values of the original and the control. labels: released ones. unit: "date" for days.

    given: what is above the values: a hierarchy, the name of one, or by value all that stands above it.
    """
    found: list[set[int]] = [set() for _ in leaves]
    known = {label: i for i, label in enumerate(labels)}
    own = {leaf for leaf in leaves if leaf in known}
    odd = [i for i, label in enumerate(labels) if label not in own]
    paths, recipe = _paths(leaves, given) if odd else ({}, None)
    for i, leaf in enumerate(leaves):
        found[i].update(known[label] for label in (leaf, *paths.get(leaf, ())) if label in known)
    seen = set().union(*found)
    values = Leaves(leaves, unit)
    for node in (i for i in odd if i not in seen):
        held = values.under(labels[node])
        seen.update([node] if len(held) else [])
        for at in held:
            found[at].add(node)
    unread = {i for i in range(len(labels)) if i not in seen}
    if recipe is not None and unread:  # a code of the same dictionary that nobody here has
        unread -= {known[label] for label in _rows(recipe, [labels[i] for i in unread])}
    return Meaning([np.array(sorted(nodes), np.int64) for nodes in found], frozenset(unread))


_Known = Hierarchy | Recipe | None


def _paths(
    leaves: Sequence[str], given: Hierarchy | Recipe | Mapping[str, Iterable[str]] | str | None
) -> tuple[dict[str, tuple[str, ...]], _Known]:
    """The levels above each value: of the hierarchy that was given, or of a dictionary it seems to be of."""
    if isinstance(given, Mapping):
        return {leaf: tuple(given.get(leaf, ())) for leaf in leaves}, None
    if given is not None:
        recipe = _NAMED.get(given) if isinstance(given, str) else given
        return ({}, None) if recipe is None else (_rows(recipe, leaves), recipe)
    for recipe in _NAMED.values():
        rows = _rows(recipe, leaves)
        if len(rows) >= max(_FEW, (1 - _MOST_ODD) * len(leaves)):
            return rows, recipe
    return {}, None


def _rows(recipe: Hierarchy | Recipe, leaves: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The levels above each value that a hierarchy knows; those it does not know are left out."""
    values = sorted(set(leaves))
    try:
        rows = recipe.over(values).rows()
    except DataError as error:
        odd = {str(v) for v in error.values}
        rest = [v for v in values if v not in odd]
        if not odd or not rest:
            return {}
        rows = recipe.over(rest).rows()
    return {row[0]: row[1:-1] for row in rows if UNKNOWN not in row}
