"""What every search works on: the distinct combinations of the quasi-identifiers, and how often each occurs.

The table itself is counted once, wherever it lives; from then on time and memory follow the distinct
combinations, not the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import Codebook, Counts, merged
from sfumato.errors import DataError, ParameterError, listed
from sfumato.hierarchy import Hierarchy, Numbered
from sfumato.table import Table

MISSING = "(missing)"
_NAMED = 1_000_000  # levels whose texts are kept
_NO_LIMIT = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Sparse:
    """For each combination, how often each level of one further column occurs (rows of a sparse matrix).

    start: (combinations + 1,); code, n: the levels that occur, and how often. names: how levels are written.
    missing: the last level stands for missing cells.
    """

    name: str
    levels: int
    start: NDArray[np.int64]
    code: NDArray[np.int32]
    n: NDArray[np.int64]
    names: tuple[str, ...] = ()
    missing: bool = False

    def part(self, kept: NDArray[np.bool_]) -> Sparse:
        """Some of the combinations only."""
        lengths = np.diff(self.start)
        cells = np.repeat(kept, lengths)
        start = np.append(0, np.cumsum(lengths[kept]))
        return replace(self, start=start, code=self.code[cells], n=self.n[cells])


@dataclass(frozen=True, eq=False)
class Population:
    """The combinations of a population. leaves: (combinations, columns); n: (combinations,), its members."""

    leaves: NDArray[np.int32]
    n: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Problem:
    """A table, compressed to what a search needs.

    columns: the quasi-identifiers. hierarchies: one for each, its leaves at least the values that occur.
    leaves: (combinations, columns), the leaf of each cell. n: (combinations,), how many rows.
    sensitive: what criteria look at besides. weights: how much each column counts in a loss.
    max_level: the highest level a column may be generalized to (of a poset without levels, the highest
    rank); 0: do not touch.
    persons: whose rows those of a combination are, where the table says so: codes are persons.
    survey: (combinations,), summed survey weights, by column. population: what k-map counts in.
    codes: (combinations, columns), sorted, the codes of the table's codebooks; for writing.
    """

    columns: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]
    leaves: NDArray[np.int32]
    n: NDArray[np.int64]
    sensitive: Mapping[str, Sparse] = field(default_factory=dict)
    weights: NDArray[np.float64] | None = None
    max_level: NDArray[np.int32] | None = None
    persons: Sparse | None = None
    survey: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    population: Population | None = None
    codes: NDArray[np.uint32] | None = None

    def __post_init__(self) -> None:
        q = len(self.columns)
        if q == 0 or len(self.hierarchies) != q or self.leaves.shape != (len(self.n), q):
            raise ParameterError("columns, hierarchies and combinations do not fit together.")
        if self.weights is None:
            object.__setattr__(self, "weights", np.ones(q))
        if self.max_level is None:
            object.__setattr__(self, "max_level", np.array([h.height for h in self.hierarchies], np.int32))

    @property
    def without_levels(self) -> tuple[str, ...]:
        """The columns whose posets have no levels: only some searches take them."""
        both = zip(self.columns, self.hierarchies, strict=True)
        return tuple(c for c, h in both if isinstance(h, Numbered))

    @property
    def rows(self) -> int:
        """How many rows there are in all."""
        return int(self.n.sum())

    @property
    def combinations(self) -> int:
        """How many distinct combinations there are."""
        return len(self.n)

    def part(self, kept: NDArray[np.bool_]) -> Problem:
        """Some of the combinations only."""
        return replace(
            self,
            leaves=np.ascontiguousarray(self.leaves[kept]),
            n=self.n[kept],
            sensitive={name: sparse.part(kept) for name, sparse in self.sensitive.items()},
            persons=None if self.persons is None else self.persons.part(kept),
            survey={name: weight[kept] for name, weight in self.survey.items()},
            codes=None if self.codes is None else self.codes[kept],
        )


def leaves_of(
    book: Codebook, hierarchy: Hierarchy, codes: NDArray[np.uint32]
) -> tuple[Hierarchy, NDArray[np.int32]]:
    """The leaf of each cell. Missing, where it occurs, is a leaf of its own with only the root above it."""
    texts = [str(v) for v in book.levels.to_pylist()]
    absent = [t for t in texts if t not in hierarchy.places]
    if absent:
        raise DataError(
            f"column '{book.name}': {len(absent)} of its {len(texts)} values are not in the hierarchy.",
            hint="add them to the hierarchy",
            values=absent,
        )
    if (codes == len(texts)).any():
        hierarchy = with_missing(hierarchy)
        texts.append(MISSING)
    places = np.array([hierarchy.places[t] for t in texts], np.int32)
    return hierarchy, places[codes]


def with_missing(hierarchy: Hierarchy) -> Hierarchy:
    """The hierarchy with a leaf for missing cells, alone on every level but the top."""
    if MISSING in hierarchy.places:
        return hierarchy
    if isinstance(hierarchy, Numbered):
        return hierarchy.with_missing(MISSING)
    sizes = [len(names) for names in hierarchy.labels[:-1]]
    column = np.array([[*sizes, 0]], np.int32).T
    labels = (*((*names, MISSING) for names in hierarchy.labels[:-1]), hierarchy.labels[-1])
    return Hierarchy(labels, np.hstack([hierarchy.ancestors, column]))


def compress(
    table: Table,
    columns: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    *,
    sensitive: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
    max_level: Mapping[str, int] | None = None,
    person: str | None = None,
    survey: Sequence[str] = (),
    population: Table | None = None,
) -> Problem:
    """Count the table once: the combinations of `columns`, and those with each sensitive column.

    person: the column that says whose row it is. survey: columns of survey weights to add up.
    population: a table of the population, with the same columns.
    """
    without = [repr(c) for c in columns if c not in hierarchies]
    if without:
        raise ParameterError(
            f"{len(without)} quasi-identifiers have no hierarchy: {listed(without)}.",
            hint="give hierarchies={'age': ...}",
        )
    table = _with_nobody(table, person)
    further = [*sensitive, *([person] if person else ())]
    sets = [tuple(columns), *((*columns, s) for s in further)]
    counted = table.tabulate(sets)
    joint = counted[sets[0]]
    found = [
        leaves_of(book, hierarchies[book.name], joint.codes[:, i]) for i, book in enumerate(joint.codebooks)
    ]
    leaves = np.stack([leaf for _, leaf in found], axis=1)
    used = [h for h, _ in found]
    members = None
    if population is not None:
        used, leaves, members = _population(population, columns, used, leaves)
    tables = {s: _sparse(s, counted[(*columns, s)]) for s in further}
    highest = [(max_level or {}).get(c, _highest(h)) for c, h in zip(columns, used, strict=True)]
    return Problem(
        tuple(columns),
        tuple(used),
        np.ascontiguousarray(leaves, np.int32),
        joint.n.astype(np.int64),
        {s: tables[s] for s in sensitive},
        np.array([(weights or {}).get(c, 1.0) for c in columns]),
        np.array(highest, np.int32),
        tables[person] if person else None,
        {w: _summed(joint, table.tabulate([tuple(columns)], weight=w)[tuple(columns)]) for w in survey},
        members,
        joint.codes,
    )


def _with_nobody(table: Table, person: str | None) -> Table:
    """The table in a form in which rows may be nobody's: a blank id is, whatever the schema says."""
    if person is None or table.schema[person].missing:
        return table
    books = {name: book for name, book in table._books.items() if name != person}
    return replace(table, schema=table.schema.with_(person, missing=True), _books=books)


def _highest(hierarchy: Hierarchy) -> int:
    """The highest level there is; ranks of a poset without levels may be any numbers."""
    return _NO_LIMIT if isinstance(hierarchy, Numbered) else hierarchy.height


def _population(
    table: Table, columns: Sequence[str], hierarchies: list[Hierarchy], leaves: NDArray[np.int32]
) -> tuple[list[Hierarchy], NDArray[np.int32], Population]:
    """The population's combinations under the same hierarchies. A missing cell there adds its leaf to both.

    `with_missing` puts its leaf last, so the numbers of the other leaves stay what they are.
    """
    joint = table.counts(*columns)
    found = [
        leaves_of(book, h, joint.codes[:, i])
        for i, (book, h) in enumerate(zip(joint.codebooks, hierarchies, strict=True))
    ]
    theirs = np.ascontiguousarray(np.stack([leaf for _, leaf in found], axis=1), np.int32)
    return [h for h, _ in found], leaves, Population(theirs, joint.n.astype(np.int64))


def _summed(joint: Counts, weighted: Counts) -> NDArray[np.float64]:
    """The weights of each combination, in the order of `joint`; combinations without weight have 0."""
    both = np.concatenate([joint.codes, weighted.codes])
    _, back = np.unique(both, axis=0, return_inverse=True)
    total = np.zeros(int(back.max(initial=-1)) + 1)
    total[back[joint.cells :]] = weighted.n
    return total[back[: joint.cells]]


def _sparse(name: str, counts: Counts) -> Sparse:
    """Cells are sorted by the combination first, so those of one combination lie together.

    Spellings of one person or one value are one level: they are no company and no variety.
    """
    counts = merged(counts, name)
    keys = counts.codes[:, :-1]
    first = np.append(True, (keys[1:] != keys[:-1]).any(axis=1))[: counts.cells]
    start = np.append(np.flatnonzero(first), counts.cells)
    book = counts.codebooks[-1]
    names = tuple(map(str, book.levels.to_pylist())) if len(book.levels) < _NAMED else ()
    codes, n = counts.codes[:, -1].astype(np.int32), counts.n.astype(np.int64)
    return Sparse(name, counts.shape[-1], start, codes, n, names, book.missing)
