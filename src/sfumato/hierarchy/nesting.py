"""Columns that nest in each other are one hierarchy: hospital < county < region < *.

The finest column is made more general along the others, and these go with it: a cell whose hospital is told
as its county keeps county and region; told as its region, county and hospital both say the region. So the
columns never contradict each other, and the ones above cost no class of their own: they are functions of
what the finest one is released as.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy.levels import ROOT, Hierarchy

GAP = "(none)"  # how a group without a value in its own column is written
_TAKEN = (ROOT, "(missing)", "")


@dataclass(frozen=True)
class Nested:
    """The levels of a column are other columns of the table, from fine to coarse.

    above: their names. Each value of the column must stand with one value of each of them.

    >>> import pyarrow as pa
    >>> wards = sf.scan(pa.table({"ward": ["w1", "w2", "w3", "w3"] * 3, "house": ["A", "A", "B", "B"] * 3}))
    >>> release = sf.anonymize(
    ...     wards,
    ...     sf.KAnonymity(5),
    ...     hierarchies={"ward": sf.Nested(("house",))},
    ...     quasi_identifiers=["ward", "house"],
    ... )
    >>> release.counts("ward", "house").to_arrow().to_pylist()
    [{'ward': 'A', 'house': 'A', 'n': 6}, {'ward': 'B', 'house': 'B', 'n': 6}]
    """

    above: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "above", (self.above,) if isinstance(self.above, str) else tuple(self.above))
        if not self.above or len(set(self.above)) < len(self.above):
            raise ParameterError(
                "a hierarchy over columns needs one or more other columns, each once.",
                hint="as Nested(('county', 'region'))",
            )

    def over(self, levels: Sequence[object]) -> Hierarchy:
        """Values alone do not say what they belong to: the table is asked by who has it (`chain`)."""
        raise ParameterError(
            "this hierarchy is over several columns, and only values of one were given.",
            hint="give the table: sf.anonymize, a plan",
        )

    def chain(self, name: str, rows: Sequence[Sequence[object]]) -> Chain:
        """The hierarchy of a column. rows: its values with those above, each combination once.

        A row whose own value is missing may have nothing above it either.
        """
        self._require_nested(name, rows)
        known = [tuple(None if v is None else str(v) for v in row) for row in rows if row[0] is not None]
        if not known:
            raise DataError("the column has no values.", hint="a hierarchy needs at least one")
        # A group is told apart by what is above it too: a county's name may stand in two states.
        levels: list[list[tuple[str | None, ...]]] = [[row[0:1] for row in known]]
        heights: dict[str, int] = {}
        for i, column in enumerate(self.above, 1):
            groups = [row[i:] for row in known]
            if len(set(groups)) < len(set(levels[-1])):
                levels.append(groups)
            heights[column] = len(levels) - 1
        texts = [_labels(at, heights, levels) for at in range(len(levels))]
        cells = [(*(texts[h][g] for h, g in enumerate(groups)), ROOT) for groups in zip(*levels, strict=True)]
        words = {
            column: {row[0]: row[i] for row in known if row[0] is not None}
            for i, column in enumerate(self.above, 1)
        }
        return Chain(name, Hierarchy.of_rows(cells, name=f"'{name}' with what is above it"), heights, words)

    def _require_nested(self, name: str, rows: Sequence[Sequence[object]]) -> None:
        torn: dict[str, list[str]] = {}
        for i, column in enumerate(self.above, 1):
            seen: dict[object, object] = {None: None}
            for row in rows:
                if seen.setdefault(row[0], row[i]) != row[i]:
                    torn.setdefault(column, []).append(str(row[0]))
        if torn:
            parts = [f"{len(set(values))} with several of '{column}'" for column, values in torn.items()]
            raise DataError(
                f"the values of '{name}' do not nest: {', '.join(parts)}.",
                hint=f"correct them, or give '{name}' and the others hierarchies of their own",
                values=[v for values in torn.values() for v in dict.fromkeys(values)],
            )


@dataclass(frozen=True, eq=False)
class Chain:
    """A hierarchy over columns, settled for a table.

    name: the finest column, which `hierarchy` is of. heights: for each column above, the level whose nodes
    are its values. words: {column: {value of the finest: its value there}}; None where it has none.
    """

    name: str
    hierarchy: Hierarchy
    heights: Mapping[str, int]
    words: Mapping[str, Mapping[str, str | None]]

    def cells(self, column: str, hierarchy: Hierarchy, missing: str) -> list[str | None]:
        """(nodes,): how a column above is written beside each node of the finest one.

        hierarchy: this one, or the same with a leaf called `missing` put last.
        """
        at, words = self.heights[column], self.words[column]
        labels = hierarchy.node_labels
        found: list[str | None] = []
        for node, label in enumerate(labels):
            leaf = hierarchy.leaves[int(hierarchy.first_leaf[node])]
            if int(hierarchy.level_of[node]) > at or leaf == missing:
                found.append(None if label == missing else label)
            else:
                found.append(words[leaf])
        return found


def _labels(
    at: int, heights: Mapping[str, int], levels: Sequence[Sequence[tuple[str | None, ...]]]
) -> dict[tuple[str | None, ...], str]:
    """How the groups of a level are written: as their values, with the column's name where that clashes."""
    groups = list(dict.fromkeys(levels[at]))
    if at == 0:
        return {g: str(g[0]) for g in groups}
    column = next(c for c, height in heights.items() if height == at)
    plain = [GAP if g[0] is None else g[0] for g in groups]
    others = {str(g[0]) for i, level in enumerate(levels) if i != at for g in level}
    clear = others.isdisjoint(plain) and not set(plain) & set(_TAKEN) and GAP not in plain
    if clear and len(set(plain)) == len(plain):
        return dict(zip(groups, plain, strict=True))
    return {g: f"{column}: {', '.join(GAP if w is None else w for w in g)}" for g in groups}
