"""What one person can change: how far two neighbouring databases are apart in everything that is counted.

Neighbours: two databases, one of which has one person more, with all rows of that person in all tables. Rows
beyond the bounds do not count; which ones depends on the rows of one parent alone, so that what counts of
everybody else is the same in both. A count over the whole database is a sum over persons, and is added up
over groups of persons, each with all their rows (`tallies`): who counts which of them changes nothing. Two
neighbours' counts therefore differ by what the one person adds, and that is bounded here, by L1 and by L2
squared.

Notation: s = the most rows of a person in a table: the product of the bounds on the way down to it. d = the
most codes of a set, each once; G = how many classes (or codes) there are; q = min(d, G).

    a table of rows     t  each row adds 1 to one cell. L1 <= s; L2 <= s, by the triangle inequality, reached
                           when all rows lie in one cell. Of the centred table H t: L2^2 <= s^2 p, as each row
                           adds a vector of squared length p (`private.purse`, point 1).
    rows by their place    a parent has one first row: of a table below which each parent has at most b rows,
                           s / b rows of a person are first ones, s - s / b are not.
    codes                  a set adds 1 to at most q different cells: a vector of L1 <= q and L2 <= sqrt(q).
                           s sets: L1 <= s q, L2 <= s sqrt(q).
    groups of codes        a set adds at most d in all, perhaps to one cell: L1, L2 <= s d.
    sets with a class      as codes: a class counts once in a set, however many of its codes are there.
    sets with a class,     a set has one level of the variable, so at most q cells are raised by 1:
      by level             L1 <= s q, L2 <= s sqrt(q).
    sets with two classes  at most b = q (q - 1) / 2 cells of a set: L1 <= s b, L2 <= s sqrt(b).
    classes that come back counted are sets of a person in which a class is that an earlier set of the person
                           has. The first set of a person adds nothing, each later one at most 1 to q cells:
                           L1 <= (s - 1) q, L2 <= (s - 1) sqrt(q). Their sum over classes is one number, with
                           L1 = L2 <= (s - 1) q.
    persons with a class   a person counts once in each class that two of their sets have, or more. Their sets
      in two sets          hold at most s q classes in all, such a class two of them at least: L1 <= b and
                           L2 <= sqrt(b), with b = min(G, s q / 2), rounded down. Their sum: L1 = L2 <= b.
    a distance             ||t - m||_1 for a known m: a person changes it by at most the L1 of t.

Tested by: tests/synthesis/test_linked_bounds.py, by counting everything with and without a person.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.synthesis.people.structure import TableTree


@dataclass(frozen=True)
class Sensitivity:
    """How far one person moves an array of counts: at most `taxi` in L1, the root of `squared` in L2."""

    taxi: int
    squared: int


@dataclass(frozen=True)
class PersonBounds:
    """The most rows of one person in each table.  children: by table, the most rows of one parent."""

    structure: TableTree
    children: Mapping[str, int]

    def rows(self, name: str) -> int:
        """s: the most rows of a person in a table."""
        way = [name, *self.structure.above(name)]
        return math.prod(self.children[n] for n in way if self.structure[n].link is not None)

    def first_rows(self, name: str) -> int:
        """s / b: the most of them that are the first of their parent."""
        return self.rows(name) // self.children[name]

    def later_rows(self, name: str) -> int:
        """s - s / b: the most of them that are not."""
        return self.rows(name) - self.first_rows(name)

    @property
    def all_rows(self) -> int:
        """The most rows of a person in all tables together: what the promise names."""
        return sum(self.rows(b.name) for b in self.structure.branches)

    def sets(self, name: str) -> SetBounds:
        """Of a table of sets."""
        return SetBounds(self.rows(str(self.structure[name].parent)), self.children[name])


@dataclass(frozen=True)
class SetBounds:
    """sets: s, the most sets of a person; codes: d, the most codes of a set."""

    sets: int
    codes: int

    def held(self, classes: int) -> Sensitivity:
        """Sets by code, by class, or by class and level of one variable."""
        q = min(self.codes, classes)
        return Sensitivity(self.sets * q, self.sets**2 * q)

    @property
    def groups(self) -> Sensitivity:
        """Codes by group."""
        return Sensitivity(self.sets * self.codes, (self.sets * self.codes) ** 2)

    def both(self, classes: int) -> Sensitivity:
        """Sets with two classes."""
        q = min(self.codes, classes)
        pairs = q * (q - 1) // 2
        return Sensitivity(self.sets * pairs, self.sets**2 * pairs)

    @property
    def distance(self) -> int:
        """The most that a person changes a distance by, of sets by class and level."""
        return self.sets * self.codes

    def again(self, classes: int) -> Sensitivity:
        """Sets of a person beyond the first with a class."""
        q = min(self.codes, classes)
        return Sensitivity((self.sets - 1) * q, (self.sets - 1) ** 2 * q)

    def again_in_all(self, classes: int) -> Sensitivity:
        """The same, summed over classes."""
        most = (self.sets - 1) * min(self.codes, classes)
        return Sensitivity(most, most**2)

    def twice(self, classes: int) -> Sensitivity:
        """Persons with a class in two sets."""
        most = self._in_two(classes)
        return Sensitivity(most, most)

    def twice_in_all(self, classes: int) -> Sensitivity:
        """The same, summed over classes."""
        most = self._in_two(classes)
        return Sensitivity(most, most**2)

    def _in_two(self, classes: int) -> int:
        if self.sets < 2:
            return 0
        return min(classes, self.sets * min(self.codes, classes) // 2)
