"""Several codes in one cell, each with how often it occurs. Thesis: SparseMatrixPoset.

What a cell tells is, for every node v of the codes' poset, how many of its entries lie at or under v. A
generalization withholds some of these numbers; one cell lies under another if all that the other tells
is true of it. So the least upper bound of cells is what they agree on: one for any members, in any order.
Two patients with one code each, 001.0 and 001.1, agree on "one entry under 001".

Absent is a number like others (0), and not the same as withheld.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy._numbers import number
from sfumato.hierarchy.levels import ROOT, Hierarchy
from sfumato.hierarchy.matrix import Matrix
from sfumato.hierarchy.poset import at_least_one

NONE = "(none)"


class Cell(NamedTuple):
    """What is told of a cell: the nodes with entries and how many, and the nodes whose number is withheld.

    All other nodes have none, and that is told too.
    """

    told: tuple[tuple[int, int], ...]
    withheld: frozenset[int]


@dataclass(frozen=True, eq=False)
class SparseCodes:
    """Cells of several codes with frequencies.

    codes: the hierarchy or poset of the single codes. most: how many different codes a cell may have
    (thesis: Columns); cells with more are refused, not cut. separator: between the codes of a text cell,
    as in 4278:10;2500 (a code without a number occurs once).

    The rank of a cell counts the numbers that are withheld, and the share is their part of all.
    """

    codes: Hierarchy | Matrix
    most: int | None = None
    separator: str = ";"

    @cached_property
    def _above(self) -> list[tuple[int, ...]]:
        """Each node and all above it."""
        above: list[tuple[int, ...]] = [()] * self.codes.size
        parents = self._parents
        for i in range(self.codes.size - 1, -1, -1):
            above[i] = tuple({i, *(a for p in parents[i] for a in above[p])})
        return above

    @cached_property
    def _parents(self) -> list[list[int]]:
        parents: list[list[int]] = [[] for _ in range(self.codes.size)]
        for child, parent in self.codes.covers.tolist():
            parents[child].append(parent)
        return parents

    # -- cells -----------------------------------------------------------------------------------

    def node(self, value: object) -> Cell:
        """From a mapping of codes to numbers, a list of codes, or a text as 4278:10;2500; None is empty."""
        entries = self._entries(value)
        unknown = [code for code in entries if not self._known(code)]
        faults = []
        if unknown:
            faults.append(f"{len(unknown)} codes are not in the hierarchy")
        if self.most is not None and len(entries) > self.most:
            faults.append(f"it has {len(entries)} codes, and at most {self.most} are taken")
        if faults:
            raise DataError(
                f"a cell of codes: {'; '.join(faults)}.",
                hint="add the codes to the hierarchy; raise `most`",
                values=unknown,
            )
        told: dict[int, int] = {}
        for code, n in entries.items():
            for v in self._above[self.codes.node(code)]:
                told[v] = told.get(v, 0) + n
        return Cell(tuple(sorted(told.items())), frozenset())

    def _known(self, code: str) -> bool:
        try:
            self.codes.node(code)
        except DataError:
            return False
        return True

    def _entries(self, value: object) -> dict[str, int]:
        entries: dict[str, int] = {}
        if value is None:
            return entries
        if isinstance(value, str):
            parts: Iterable[tuple[object, int]] = map(
                _code_and_number, filter(None, value.split(self.separator))
            )
        elif isinstance(value, Mapping):
            parts = value.items()
        elif isinstance(value, Iterable):
            parts = ((v[0], v[1]) if isinstance(v, tuple) else (v, 1) for v in value)
        else:
            parts = [(value, 1)]
        for code, n in parts:
            _add(entries, code, n)
        return entries

    def joined(
        self,
        persons: Sequence[Hashable],
        codes: Sequence[object],
        numbers: Sequence[int] | None = None,
        *,
        everyone: Iterable[Hashable] = (),
    ) -> dict[Hashable, Cell]:
        """One cell for each person of a second table that has a row (name, value) per person and code.

        Rows that repeat a code are added up; missing codes are not counted. everyone: persons of the first
        table, so that those without a code have an empty cell.
        """
        numbers = [1] * len(codes) if numbers is None else numbers
        if not len(persons) == len(codes) == len(numbers):
            raise ParameterError("persons, codes and numbers must be columns of one table.")
        gathered: dict[Hashable, dict[str, int]] = {person: {} for person in everyone}
        for person, code, n in zip(persons, codes, numbers, strict=True):
            entries = gathered.setdefault(person, {})
            if code is not None:
                _add(entries, code, n)
        faults = [len(e) for e in gathered.values() if self.most is not None and len(e) > self.most]
        if faults:
            raise DataError(
                f"{len(faults)} of {len(gathered)} persons have more than {self.most} codes.",
                hint="raise `most`; cutting codes off would tell of some that they are absent",
            )
        return {person: self.node(entries) for person, entries in gathered.items()}

    def pairs(self, cell: Cell) -> list[tuple[str, int | None]]:
        """Name-value pairs that say all that is told; None: withheld. What they do not name is absent.

        A number that follows from those below it is left out, and so is a node withheld above another.
        """
        told = dict(cell.told)
        explained: dict[int, int] = {}
        over_withheld: set[int] = set()
        for v in sorted({*told, *cell.withheld}):
            for p in self._parents[v]:
                explained[p] = explained.get(p, 0) + told.get(v, 0)
                if v in cell.withheld:
                    over_withheld.add(p)
        several = isinstance(self.codes, Matrix) and not all(len(p) < 2 for p in self._parents)
        named: list[tuple[str, int | None]] = []
        for v in sorted({*told, *cell.withheld}):
            if v in cell.withheld:
                if v not in over_withheld:
                    named.append((self.codes.label(v), None))
            elif v in over_withheld or several or explained.get(v, 0) != told[v]:
                named.append((self.codes.label(v), told[v]))
        return named

    def wide(self, cells: Sequence[Cell], name: str) -> dict[str, list[str | None]]:
        """Name-value pairs side by side, as the thesis stores them: columns name_1, name_1_n, name_2, ...

        Every cell has room for the most that any has; what is left over is None.
        """
        pairs = [self.pairs(cell) for cell in cells]
        found: dict[str, list[str | None]] = {}
        for i in range(max(map(len, pairs), default=0)):
            here = [p[i] if i < len(p) else None for p in pairs]
            found[f"{name}_{i + 1}"] = [None if p is None else p[0] for p in here]
            found[f"{name}_{i + 1}_n"] = [
                None if p is None else ROOT if p[1] is None else str(p[1]) for p in here
            ]
        return found

    def of_wide(self, names: Sequence[Sequence[object]], numbers: Sequence[Sequence[object]]) -> list[Cell]:
        """Cells from name-value pairs that stand side by side: columns of codes, and as many of numbers."""
        if len(names) != len(numbers) or len({len(column) for column in (*names, *numbers)}) > 1:
            raise ParameterError("names and numbers must be columns of one table, as many of each.")
        cells = []
        for row in zip(*names, *numbers, strict=True):
            entries: dict[str, int] = {}
            for code, n in zip(row[: len(names)], row[len(names) :], strict=True):
                if code is not None and code != "":
                    _add(entries, code, n)
            cells.append(self.node(entries))
        return cells

    # -- order -----------------------------------------------------------------------------------

    @cached_property
    def top(self) -> Cell:
        """Every number withheld."""
        return Cell((), frozenset(range(self.codes.size)))

    @property
    def height(self) -> int:
        """How many numbers can be withheld."""
        return self.codes.size

    @property
    def domain(self) -> float:
        """Frequencies have no end."""
        return math.inf

    def leq(self, a: Cell, b: Cell) -> bool:
        """Whether all that b tells is true of a."""
        of_a, of_b = dict(a.told), dict(b.told)
        open_ = of_b.keys() | b.withheld
        return all(of_a.get(v) == n for v, n in b.told) and of_a.keys() | a.withheld <= open_

    def lub(self, *members: Cell) -> frozenset[Cell]:
        """What all members agree on."""
        at_least_one(members)
        # A number that all agree on stands in every cell, or in none.
        withheld = frozenset().union(*(m.withheld for m in members))
        agreed = set(members[0].told).intersection(*(m.told for m in members))
        told = tuple(sorted((v, n) for v, n in agreed if v not in withheld))
        named = {v for m in members for v, _ in m.told}
        return frozenset([Cell(told, withheld | (named - {v for v, _ in told}))])

    def rank(self, node: Cell) -> float:
        """How many numbers are withheld."""
        return float(len(node.withheld))

    def share(self, node: Cell) -> float:
        """The part of all numbers that is withheld."""
        return len(node.withheld) / self.codes.size

    def label(self, node: Cell) -> str:
        """As 4278:10;2500:* (so many at or under 4278; withheld for 2500); other codes are absent."""
        if len(node.withheld) == self.codes.size:
            return ROOT
        named = self.pairs(node)
        return self.separator.join(f"{c}:{ROOT if n is None else n}" for c, n in named) or NONE

    def indicators(self, cells: Sequence[Cell]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """(cells, nodes): the number of each node, -1 where withheld; for measures and models."""
        out = np.zeros((len(cells), self.codes.size), np.int64)
        for i, cell in enumerate(cells):
            if cell.told:
                out[i, [v for v, _ in cell.told]] = [n for _, n in cell.told]
            out[i, list(cell.withheld)] = -1
        return out


def _add(entries: dict[str, int], code: object, n: object) -> None:
    """Count entries of a code; what is no whole number is refused, not rounded."""
    exact = number(n)
    if exact is None or exact.denominator != 1 or exact < 1:
        raise DataError("the frequency of a code must be a whole number, 1 or more.", values=[n])
    entries[str(code)] = entries.get(str(code), 0) + int(exact)


def _code_and_number(text: str) -> tuple[str, int]:
    code, colon, tail = text.strip().rpartition(":")
    return (code.strip(), int(tail)) if colon and tail.strip().isdecimal() else (text.strip(), 1)
