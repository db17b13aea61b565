"""The hierarchy of a column as the plan says, over the values that were counted: rows under every node, and
what it would cost.

Values are those that the run will meet: what the schema declares and what occurs, cut off where the plan says
so. A tree is kept until the data, or what the plan says of its columns, changes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, SfumatoError
from sfumato.hierarchy import Hierarchy, Nested, parse_levels
from sfumato.plan.nested_columns import arranged, settles
from sfumato.plan.recipes import recipe
from sfumato.schema import Column, Kind
from sfumato.studio.look import Look
from sfumato.studio.tree_edits import with_values

_KEPT = 24  # trees
_FIRST = 1000  # rows that are looked at before all are
_NESTED = (Kind.NOMINAL, Kind.ORDINAL, Kind.FLAG)
_MOST_NESTED = 20_000  # values of the finest column


@dataclass(frozen=True)
class LevelLoss:
    """One level, if the whole column were told on it. few: rows in nodes of fewer than k rows.

    loss: the mean over rows of (share of all values under its node - 1/D) / (1 - 1/D).
    """

    level: int
    nodes: int
    smallest: int
    few: int
    loss: float


@dataclass(frozen=True, eq=False)
class ColumnTree:
    """A hierarchy with rows. rows: (nodes,), how many lie under each. missing: rows without a value."""

    name: str
    hierarchy: Hierarchy
    rows: NDArray[np.int64]
    missing: int

    @classmethod
    def of(cls, name: str, found: Hierarchy, values: Mapping[str, int], missing: int) -> ColumnTree:
        """From how many rows have each value."""
        own = np.array([values.get(leaf, 0) for leaf in found.leaves], np.int64)
        rows = np.bincount(found.nodes.ravel(), np.tile(own, len(found.labels)), found.size)
        return cls(name, found, rows.astype(np.int64), missing)

    @property
    def total(self) -> int:
        """All rows."""
        return int(self.rows[self.hierarchy.root]) + self.missing

    @cached_property
    def mark(self) -> str:
        """By what a form knows that its numbers of nodes are those of this tree."""
        found = self.hierarchy
        said = json.dumps(found.labels).encode() + found.ancestors.tobytes()
        return hashlib.blake2b(said, digest_size=6).hexdigest()

    @cached_property
    def _loss(self) -> NDArray[np.float64]:
        """(nodes,): as `Hierarchy.loss`; a missing cell, where there is one, counts as a value more."""
        domain = len(self.hierarchy.leaves) + bool(self.missing)
        loss = (self.hierarchy.leaf_counts - 1) / max(1, domain - 1)
        if domain > 1:
            loss[self.hierarchy.root] = 1.0
        return loss

    def levels(self, k: int) -> list[LevelLoss]:
        """What each level would cost the whole column."""
        found = []
        for level in range(self.hierarchy.height + 1):
            nodes = self.hierarchy.nodes[level]
            under = np.unique(nodes)
            here = self.rows[under]
            if level < self.hierarchy.height and self.missing:
                here = np.append(here, self.missing)
            elif self.missing:
                here = here + self.missing
            own = self.rows[self.hierarchy.nodes[0]]
            lost = float((own * self._loss[nodes]).sum()) + self.missing * (level == self.hierarchy.height)
            filled = here[here > 0]
            found.append(
                LevelLoss(
                    level,
                    len(under),
                    int(filled.min(initial=self.total)),
                    int(here[here < k].sum()),
                    lost / max(1, self.total),
                )
            )
        return found

    def least_loss(self, k: int) -> float:
        """What the column loses at least where every row is told as a node that holds k rows or more.

        Each row as the lowest such node above its value: other columns can only make it more. (A row that is
        suppressed counts as *.)
        """
        own = self.rows[self.hierarchy.nodes[0]]
        left = np.ones(len(own), bool)
        lost = float(self.missing) if self.missing < k else 0.0
        for level in range(self.hierarchy.height + 1):
            nodes = self.hierarchy.nodes[level]
            fits = left & ((self.rows[nodes] >= k) | (level == self.hierarchy.height))
            lost += float((own[fits] * self._loss[nodes[fits]]).sum())
            left &= ~fits
        return lost / max(1, self.total)


# -- finding -------------------------------------------------------------------------------------------


class TreeShelf:
    """The trees of one state of the data; made when they are asked for."""

    @classmethod
    def of(cls, look: Look) -> TreeShelf:
        """The one of what was counted."""
        found: TreeShelf = look.memory.setdefault("trees", cls())
        return found

    def __init__(self) -> None:
        self._kept: dict[tuple[str, ...], ColumnTree | SfumatoError] = {}
        self._nested: dict[frozenset[str], dict[str, tuple[str, ...]]] = {}

    def tree(
        self, look: Look, column: Column, entry: Mapping[str, Any], texts: Mapping[str, str], folder: Path
    ) -> ColumnTree:
        """The tree of a column as an entry of the plan says it."""
        given = entry["hierarchy"]
        file = given.get("file", "") if isinstance(given, dict) else ""
        said = json.dumps(dict(entry), default=str)
        key = repr(column), said, texts.get(str(file), "")
        if key not in self._kept:
            try:
                self._kept[key] = _made(look, column, entry, texts, folder)
            except SfumatoError as error:
                self._kept[key] = error
            while len(self._kept) > _KEPT:
                self._kept.pop(next(iter(self._kept)))
        found = self._kept[key]
        if isinstance(found, SfumatoError):
            raise found
        return found

    def nested(self, look: Look, columns: Sequence[Column]) -> dict[str, tuple[str, ...]]:
        """Columns that nest in each other, in all rows and not by chance: {finest: those above}."""
        key = frozenset(c.name for c in columns)
        if key not in self._nested:
            self._nested[key] = _nested(look, columns)
        return self._nested[key]


def values_of(look: Look, column: Column, entry: Mapping[str, Any]) -> tuple[dict[Any, int], int]:
    """How many rows have each value that the run will meet, and how many have none."""
    if column.name not in look.coded:
        raise DataError("this column was not counted value by value.", hint="it is too large, or free text")
    levels = look.levels(column.name)
    if not levels:
        raise DataError(
            "this column has too many values for a tree, or none.", hint="leave it out, or round it"
        )
    n = look.rows_of(column.name)
    found: dict[Any, int] = dict.fromkeys(column.levels or (), 0)
    for level, rows in zip(levels, n[:-1].tolist(), strict=True):
        value = _cut(level, entry.get("bottom"), entry.get("top"))
        found[value] = found.get(value, 0) + rows
    return found, int(n[-1])


def _cut(value: object, low: object, high: object) -> object:
    """A number that is no further out than the plan lets it be."""
    for end, sign in ((low, 1), (high, -1)):
        if (
            isinstance(value, int | float | Decimal)
            and isinstance(end, int | float)
            and sign * value < sign * end
        ):
            value = type(value)(end)
    return value


def _made(
    look: Look, column: Column, entry: Mapping[str, Any], texts: Mapping[str, str], folder: Path
) -> ColumnTree:
    given = entry["hierarchy"]
    values, missing = values_of(look, column, entry)
    written: dict[str, int] = {}
    for value, n in values.items():
        written[str(value)] = written.get(str(value), 0) + n
    if isinstance(given, dict) and given.get("recipe") == "levels" and given.get("file") in texts:
        made: Any = parse_levels(texts[given["file"]], name=str(given["file"]))
    else:
        try:
            made = recipe(given, folder)
        except (TypeError, ValueError, KeyError):
            raise DataError(
                "the recipe has settings that do not fit together.", hint="choose another"
            ) from None
    if isinstance(made, Nested):
        return ColumnTree.of(column.name, _chained(look, column.name, made), written, missing)
    if isinstance(made, Hierarchy):
        return ColumnTree.of(column.name, covering(made, list(written)), written, missing)
    return ColumnTree.of(column.name, made.over(list(values)), written, missing)


class NotCovered(DataError):
    """A table of levels that lacks values of its column."""

    def __init__(self, absent: int, values: int) -> None:
        super().__init__(
            f"{absent:,} of the {values:,} values of the column are not in the table of levels.",
            hint="add them to it, or put them directly below *",
        )


def covering(found: Hierarchy, values: Sequence[str], *, add: bool = False) -> Hierarchy:
    """The hierarchy, once it has all values. add: those that it lacks are put directly below *."""
    absent = [v for v in values if v not in found.places]
    if absent and not add:
        raise NotCovered(len(absent), len(values))
    return with_values(found, absent) if absent else found


# -- columns that nest ---------------------------------------------------------------------------------


def _chained(look: Look, name: str, given: Nested) -> Hierarchy:
    """The hierarchy of a column along others, from each combination of them that occurs."""
    names = [name, *given.above]
    unknown = [n for n in names if n not in look.coded]
    if unknown:
        raise DataError("a column above was not counted.", hint="choose another recipe")
    groups = look.groups(names)
    first = np.unique(groups, return_index=True)[1]
    levels = [[*look.levels(n), None] for n in names]
    codes = [look.codes(n)[first] for n in names]
    rows = [[own[int(c)] for own, c in zip(levels, row, strict=True)] for row in zip(*codes, strict=True)]
    return given.chain(name, rows).hierarchy


def _nested(look: Look, columns: Sequence[Column]) -> dict[str, tuple[str, ...]]:
    sizes = {c.name: look.columns[c.name].levels for c in columns if c.name in look.coded}
    names = [c.name for c in columns if c.kind in _NESTED and 2 <= sizes.get(c.name, 0) <= _MOST_NESTED]
    names.sort(key=lambda n: -sizes[n])
    settled = {
        (a, b) for i, a in enumerate(names) for b in names[i + 1 :] if sizes[a] > 2 and _settles(look, a, b)
    }
    return arranged(names, settled)


def _settles(look: Look, fine: str, coarse: str) -> bool:
    """Whether each value of a column stands with one of another; most pairs are told apart by a few rows."""
    a, b = look.codes(fine), look.codes(coarse)
    for part in (slice(0, _FIRST), slice(None)):
        own = np.zeros(look.columns[fine].levels + 1, b.dtype)
        own[a[part]] = b[part]
        if (own[a[part]] != b[part]).any():
            return False
    pairs, n = np.unique(np.stack([a, b], axis=1).astype(np.int64), axis=0, return_counts=True)
    return settles(pairs, n.astype(float), look.columns[fine].levels, look.columns[coarse].levels)
