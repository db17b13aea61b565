"""Columns that are only withheld or only kept, and whole rows. Thesis: PassThroughPoset, MultiPoset."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sfumato.errors import DataError, ParameterError, listed
from sfumato.hierarchy.levels import ROOT, Hierarchy
from sfumato.hierarchy.poset import Poset, at_least_one

KEPT = "(as it was)"
_HARMLESS = ("sensitive", "weight", "other")
_MOST_ROWS = 10_000


class _Top:
    """The suppressed cell of a column whose values are not known beforehand."""

    def __repr__(self) -> str:
        return ROOT


SUPPRESSED = _Top()


@dataclass(frozen=True)
class Suppression:
    """A value, or nothing: the poset of columns without a hierarchy.

    levels: the values there are, if that is known; shares count them.
    """

    levels: tuple[Hashable, ...] | None = None

    @property
    def top(self) -> Hashable:
        """The suppressed cell."""
        return SUPPRESSED

    @property
    def height(self) -> int:
        """One step."""
        return 1

    @property
    def domain(self) -> float:
        """How many values there are."""
        return math.inf if self.levels is None else len(self.levels)

    def node(self, value: object) -> Hashable:
        """The value itself."""
        if not isinstance(value, Hashable) or (self.levels is not None and value not in self.levels):
            raise DataError("a value is not among those declared.", hint="declare it", values=[value])
        return value

    def leq(self, a: Hashable, b: Hashable) -> bool:
        """Whether they are the same, or b is suppressed."""
        return a == b or b is SUPPRESSED

    def lub(self, *members: Hashable) -> frozenset[Hashable]:
        """The value, if all have the same."""
        at_least_one(members)
        return frozenset([members[0] if all(m == members[0] for m in members) else SUPPRESSED])

    def rank(self, node: Hashable) -> float:
        """0, or 1 for the suppressed cell."""
        return float(node is SUPPRESSED)

    def share(self, node: Hashable) -> float:
        """The part of all values."""
        return 1.0 if node is SUPPRESSED else 1 / self.domain

    def label(self, node: Hashable) -> str:
        """The value as text, or a star."""
        return ROOT if node is SUPPRESSED else str(node)

    def over(self, levels: Sequence[object]) -> Hierarchy:
        """The values and one root above them."""
        texts = dict.fromkeys(str(v) for v in levels if v is not None)
        return Hierarchy.of_rows([(text, ROOT) for text in texts], name="the column")


@dataclass(frozen=True)
class PassThrough:
    """A column that is released as it is and does not count: no two cells of it are ever told apart.

    It has one node only. role: what the column can do to a person (see `sfumato.Role`); one that names
    people, or that an intruder may know, is refused, because every class would fall apart into single
    persons again.
    """

    role: str

    def __post_init__(self) -> None:
        if str(self.role) not in _HARMLESS:
            raise ParameterError(
                f"a column with the role {self.role} cannot pass through: it would give its persons away.",
                hint=f"only {', '.join(_HARMLESS)} can; drop it, replace it by pseudonyms, or generalize it",
            )

    @property
    def top(self) -> str:
        """The one node."""
        return KEPT

    @property
    def height(self) -> int:
        """There is no step."""
        return 0

    @property
    def domain(self) -> int:
        """One node."""
        return 1

    def node(self, value: object) -> str:
        """The one node, whatever the value."""
        return KEPT

    def leq(self, a: str, b: str) -> bool:
        """There is one node."""
        return True

    def lub(self, *members: str) -> frozenset[str]:
        """The one node."""
        at_least_one(members)
        return frozenset([KEPT])

    def rank(self, node: str) -> float:
        """Nothing is ever lost."""
        return 0.0

    def share(self, node: str) -> float:
        """All of the one node."""
        return 1.0

    def label(self, node: str) -> str:
        """The cell stands as it was."""
        return KEPT


@dataclass(frozen=True, eq=False)
class Product:
    """Rows: one poset for each column, and a row lies under another if each of its cells does.

    weights: how much a column counts in the rank (thesis: Weight); 1 if not given.
    """

    posets: Mapping[str, Poset[Any]]
    weights: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if not self.posets:
            raise ParameterError("a product needs at least one column.")
        given = self.weights or {}
        strange = [repr(name) for name in given if name not in self.posets]
        if strange or any(not (math.isfinite(w) and w >= 0) for w in given.values()):
            raise ParameterError(
                f"weights must be numbers from 0 on, of columns that are there; not so: {listed(strange)}."
            )

    @property
    def _parts(self) -> tuple[Poset[Any], ...]:
        return tuple(self.posets.values())

    @property
    def top(self) -> tuple[Hashable, ...]:
        """All cells suppressed."""
        return tuple(p.top for p in self._parts)

    @property
    def height(self) -> float:
        """The sum of the weights of columns that can rise."""
        return sum(self._weight(name) for name, p in self.posets.items() if p.height)

    @property
    def domain(self) -> float:
        """How many rows there can be."""
        return math.prod(p.domain for p in self._parts)

    def node(self, value: Mapping[str, object] | Iterable[object]) -> tuple[Hashable, ...]:
        """The node of a row: its cells in the order of the columns, or by name."""
        if isinstance(value, Mapping):
            value = [value[name] for name in self.posets if name in value]
        cells = list(value)
        if len(cells) != len(self.posets):
            raise DataError(f"a row has {len(cells)} cells, and there are {len(self.posets)} columns.")
        return tuple(p.node(cell) for p, cell in zip(self._parts, cells, strict=True))

    def leq(self, a: tuple[Hashable, ...], b: tuple[Hashable, ...]) -> bool:
        """Whether each cell of a lies under that of b."""
        return all(p.leq(x, y) for p, x, y in zip(self._parts, a, b, strict=True))

    def lub_sets(self, *members: tuple[Hashable, ...]) -> tuple[frozenset[Hashable], ...]:
        """The least upper bounds by column (thesis: LUB set); any choice from them is one of the rows."""
        at_least_one(members)
        columns = zip(*members, strict=True)
        return tuple(p.lub(*cells) for p, cells in zip(self._parts, columns, strict=True))

    def lub(self, *members: tuple[Hashable, ...]) -> frozenset[tuple[Hashable, ...]]:
        """All least upper bounds as rows: every choice from the sets of the columns."""
        sets = self.lub_sets(*members)
        rows = math.prod(map(len, sets))
        if rows > _MOST_ROWS:
            raise ParameterError(
                f"these rows have {rows:,} least upper bounds.", hint="lub_sets gives them column by column"
            )
        return frozenset(product(*sets))

    def _weight(self, name: str) -> float:
        return (self.weights or {}).get(name, 1.0)

    def rank(self, node: tuple[Hashable, ...]) -> float:
        """The sum over columns of w h / M (thesis: methods 1 and 2)."""
        parts = zip(self.posets.items(), node, strict=True)
        return sum(self._weight(name) * p.rank(cell) / p.height for (name, p), cell in parts if p.height)

    def share(self, node: tuple[Hashable, ...]) -> float:
        """The part of all rows that a row leaves open."""
        return math.prod(p.share(cell) for p, cell in zip(self._parts, node, strict=True))

    def label(self, node: tuple[Hashable, ...]) -> str:
        """The cells as they are written, in angle brackets."""
        return f"<{', '.join(p.label(cell) for p, cell in zip(self._parts, node, strict=True))}>"

    def labels(self, node: tuple[Hashable, ...]) -> dict[str, str]:
        """How each cell is written."""
        parts = zip(self.posets.items(), node, strict=True)
        return {name: p.label(cell) for (name, p), cell in parts}
