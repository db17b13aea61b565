"""How codes climb: the levels above each code, and what is lost on each."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.anonymization.code_sets import Ladder
from sfumato.errors import DataError, ParameterError, SfumatoWarning
from sfumato.hierarchy import Hierarchy, Icd9, Icd10, Recipe

NAMED = {"icd9": Icd9(chapters=True), "icd10": Icd10(chapters=True)}


def levels_of(
    place: str, values: Sequence[str], given: Hierarchy | Recipe | str | None
) -> list[tuple[str, ...]]:
    """The levels of each value without the root; a value that is not in the hierarchy stands by itself."""
    if given is None or not values:
        return [(v,) for v in values]
    recipe = NAMED.get(given) if isinstance(given, str) else given
    if recipe is None:
        raise ParameterError(
            f"{place}: no hierarchy {given!r}.", hint=f"one of {', '.join(NAMED)}, or a table"
        )
    try:
        rows = {row[0]: row[:-1] for row in recipe.over(values).rows()}
    except DataError as error:
        odd = {str(v) for v in error.values}
        if not odd or len(odd) >= len(values):
            raise
        warnings.warn(
            f"{place}: {len(odd)} codes are not in the hierarchy; they stay or are dropped.",
            SfumatoWarning, stacklevel=4,
        )  # fmt: skip
        known = [v for v in values if v not in odd]
        rows = {row[0]: row[:-1] for row in recipe.over(known).rows()}
    return [rows.get(v, (v,)) for v in values]


def ladder_of(columns: Mapping[str, Sequence[tuple[str, ...]]]) -> tuple[Ladder, list[str]]:
    """All columns under one roof, and how nodes are written: the root of each is as good as dropped.

    columns: the levels of each code, column after column.
    """
    height = max(len(row) for rows in columns.values() for row in rows)
    nodes = np.empty((height + 1, sum(map(len, columns.values()))), np.int64)
    labels: list[str] = []
    loss: list[float] = []
    at = 0
    for rows in columns.values():
        for level in range(height):
            names = [row[min(level, len(row) - 1)] for row in rows]
            seen = {name: len(labels) + i for i, name in enumerate(dict.fromkeys(names))}
            often = Counter(names)
            labels += seen
            loss += [(often[name] - 1) / max(1, len(rows) - 1) if level else 0.0 for name in seen]
            nodes[level, at : at + len(rows)] = [seen[name] for name in names]
        at += len(rows)
    nodes[height] = len(labels)
    return Ladder(nodes, np.array([*loss, 1.0])), [*labels, "*"]
