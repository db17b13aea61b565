"""Sets of codes: the diagnoses of a stay, given the stay, its person, and what the person has had before.

Counted are, for classes of codes (a common code is a class by itself, rare ones share one with their
neighbours in the dictionary): codes; rows that have a class, by every variable above; rows that have two
classes; rows of a person with a class that an earlier row has, and persons with a class in two rows. Sets are
drawn by frequency and moved until they have these tables. Within a class a code is drawn by its own
frequency, or is one the person has had.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.progress import report
from sfumato.seeds import Key, uniform
from sfumato.synthesis.people.axes import Floats, Ints, ValueAxis
from sfumato.synthesis.people.layout import SetTables
from sfumato.synthesis.private.layout import Codes
from sfumato.synthesis.private.resolution import classes_of
from sfumato.synthesis.private.variables import Variable

_ROUNDS = 16
_FIRST_BETA = 0.25
_SLACK, _DOUBT = 5.0, 0.5
_SUMS = 10.0  # a sum over classes is one number where they are many: it weighs more than one of them
_TRIES = 8
_NONE = 1e-9  # the weight of a code that nobody has: drawn only where a class has no other
_PREFIX = 3  # letters of a code that say which others it is like


@dataclass(frozen=True, eq=False)
class CodeSets:
    """Sets as they are: (rows, most) numbers of codes, -1 beyond; how many; whose rows, neighbours."""

    slots: Ints
    many: Ints
    person: Ints

    @classmethod
    def of(cls, parent: Ints, codes: Ints, rows: int, person: Ints, most: int) -> CodeSets:
        """From single codes and the row each is of; a code counts once in a row."""
        keys = np.stack([parent, codes])
        _, at = np.unique(keys, axis=1, return_index=True)
        at = np.sort(at)
        parent, codes = parent[at], codes[at]
        first = np.searchsorted(parent, np.arange(rows))
        place = np.arange(len(parent)) - first[parent]
        inside = place < most
        slots = np.full((rows, max(most, 1)), -1, np.int64)
        slots[parent[inside], place[inside]] = codes[inside]
        return cls(slots, np.bincount(parent[inside], minlength=rows).astype(np.int64), person)

    def classed(self, classes: Ints) -> CodeSets:
        """The same in classes."""
        return CodeSets(np.where(self.slots >= 0, classes[self.slots], -1), self.many, self.person)

    def tables(self, classes: int, levels: Codes, sizes: tuple[int, ...]) -> SetTables:
        """What is counted of them.  levels: (variables above, rows)."""
        from sfumato.synthesis.people._set_kernels import count_sets

        at = starts_of(sizes, classes)
        lone, pairs = np.zeros(classes), np.zeros((classes, classes))
        out = SetTables(lone, np.zeros(int(at[-1])), pairs, np.zeros(classes + 1), np.zeros(classes + 1))
        count_sets(self.slots, self.many, self.person, levels.astype(np.int64), at, *out)
        return out

    def held(self, number: int) -> Floats:
        """(G,) sets that have a class, of sets in classes."""
        slots = np.sort(self.slots, axis=1)
        fresh = np.diff(slots, axis=1, prepend=-1) != 0
        return np.bincount(slots[fresh & (slots >= 0)], minlength=number).astype(np.float64)

    def counted(self, classes: Ints, levels: Codes, sizes: tuple[int, ...]) -> SetCounts:
        """All that is counted of them.  classes: of each code."""
        number, inside = int(classes.max()) + 1, self.classed(classes)
        return SetCounts(
            len(self.many), inside.tables(number, levels, sizes), inside.held(number),
            *self.repeated(classes, number),
        )  # fmt: skip

    def repeated(self, classes: Ints, number: int) -> tuple[Floats, Floats]:
        """(2, G) rows with a class that an earlier row of the person has; those with the very code again.

        By whether that code has come back before.
        """
        from sfumato.synthesis.people._set_kernels import count_repeats

        chances, taken = np.zeros((2, number)), np.zeros((2, number))
        first = np.searchsorted(self.person, self.person)
        count_repeats(self.slots, self.many, first, classes, chances, taken)
        return chances, taken


@dataclass(frozen=True, eq=False)
class SetCounts:
    """What was counted of sets in classes: how many, their tables, sets that have a class, and `repeated`."""

    rows: int
    tables: SetTables
    held: Floats
    chances: Floats
    taken: Floats

    def plus(self, other: SetCounts) -> SetCounts:
        """Of both groups of persons together."""
        return SetCounts(
            self.rows + other.rows,
            SetTables(*(a + b for a, b in zip(self.tables, other.tables, strict=True))),
            self.held + other.held, self.chances + other.chances, self.taken + other.taken,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class CodeKinds:
    """How often each code occurs, and the class of each."""

    fine: Floats
    classes: Ints

    @property
    def number(self) -> int:
        """How many classes there are."""
        return int(self.classes.max()) + 1


def starts_of(sizes: tuple[int, ...], classes: int) -> Ints:
    """Where the cells of each variable above begin."""
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, np.int64) * classes)]).astype(np.int64)


def code_classes(axis: ValueAxis, counts: Floats, fewest: float) -> Ints:
    """The class of each code: its own, or one with others that begin alike."""
    texts = axis.book.levels.cast(pa.string()).to_pylist()
    stems = [t[:_PREFIX] for t in texts] + [""] * (axis.size - len(texts))
    groups = np.unique(stems, return_inverse=True)[1].astype(np.int64)
    variable = Variable((0,), np.arange(axis.size)[None], (groups,))
    found = classes_of(variable, counts, fewest)
    return np.arange(axis.size) if found is None else found


@dataclass(frozen=True, eq=False)
class SetModel:
    """All that is known of the sets of a table.

    rows: how many sets the tables are of; sizes: of the variables above. wanted: the tables; sigma: the noise
    of a cell of each, or of every cell; a cell of infinite noise counts for nothing. classes: of each code;
    fine: (K,) how often each occurs. again: (2, G) how likely a class comes back with the same code, before
    and after one has.
    """

    rows: float
    sizes: tuple[int, ...]
    wanted: SetTables
    sigma: tuple[float | Floats, ...]
    classes: Ints
    fine: Floats
    again: Floats

    @classmethod
    def exact(cls, kinds: CodeKinds, counted: SetCounts, sizes: tuple[int, ...]) -> SetModel:
        """Without noise."""
        wanted, again = counted.tables, counted.taken / np.maximum(counted.chances, 1.0)
        return cls(
            float(max(counted.rows, 1)), sizes, wanted, (0.0,) * len(wanted), kinds.classes, kinds.fine, again
        )

    def drawn(self, many: Ints, person: Ints, levels: Codes, key: Key) -> Ints:
        """(rows, most) codes of sets of these sizes, -1 beyond. person: rising; levels: as in `sizes`."""
        if not len(many) or not many.max():
            return np.full((len(many), 1), -1, np.int64)
        number = len(self.wanted.total)
        room = np.bincount(self.classes[self.fine > 0], minlength=number)
        room = np.where(room == 0, np.bincount(self.classes, minlength=number), room)
        many = np.minimum(many, int(room.sum()))
        first = np.searchsorted(person, person)
        slots = self._classes(many, person, levels, room, first, key)
        return self._codes(slots, many, first, key)

    def _classes(self, many: Ints, person: Ints, levels: Codes, room: Ints, first: Ints, key: Key) -> Ints:
        """Classes by frequency, moved until their tables are the wanted ones."""
        from sfumato.synthesis.people._set_kernels import calibrate_sets

        rows, most, number = len(many), int(many.max()), len(self.wanted.total)
        shares = np.bincount(self.classes, self.fine + _NONE)
        ladder = np.cumsum(shares) / shares.sum()
        slots = _first(many, most, room, ladder, key.derive("first"))
        scale = rows / self.rows
        wanted = SetTables(*(t * scale for t in self.wanted))
        total = float(wanted.total.sum())
        wanted = wanted._replace(total=wanted.total * (many.sum() / max(total, _NONE)))
        doubts = [_DOUBT * (s * scale) ** 2 for s in self.sigma]
        costs = SetTables(*(1 / (t + _SLACK + d) for t, d in zip(wanted, doubts, strict=True)))
        for sums in (costs.again, costs.twice):
            sums[-1] *= _SUMS
        counts = CodeSets(slots, many, person).tables(number, levels, self.sizes)
        last, at = np.searchsorted(person, person, side="right"), starts_of(self.sizes, number)
        plain = levels.astype(np.int64)
        for turn in range(_ROUNDS):
            report("moving codes", turn, _ROUNDS)
            words = key.derive("moving").words(turn, 0, rows, 3 * most).reshape(rows, most, 3)
            calibrate_sets(
                slots, many, first, last, plain, at, room, ladder, words, counts, wanted, costs,
                _FIRST_BETA * 2.0 ** (turn // 2),
            )  # fmt: skip
        return slots

    def _codes(self, slots: Ints, many: Ints, first: Ints, key: Key) -> Ints:
        """A code for each class of each set."""
        from sfumato.synthesis.people._set_kernels import give_codes

        rows, most, number = len(many), int(many.max()), len(self.wanted.total)
        order = np.argsort(self.classes, kind="stable")
        start = np.searchsorted(self.classes[order], np.arange(number + 1))
        upto = np.concatenate([[0.0], np.cumsum((self.fine + _NONE)[order])])
        words = key.derive("codes").words(0, 0, rows, _TRIES * most).reshape(rows, most, _TRIES)
        out = np.full((rows, most), -1, np.int64)
        give_codes(slots, many, first, self.classes, order, start, upto, self.again, words, out)
        return out


def _first(many: Ints, most: int, room: Ints, ladder: Floats, key: Key) -> Ints:
    """Classes by frequency; a class that is full in a row gives way to the next that is not."""
    rows = len(many)
    u = uniform(key.words(0, 0, rows, max(most, 1))).reshape(rows, -1)
    slots = np.minimum(np.searchsorted(ladder, u, side="right"), len(ladder) - 1).astype(np.int64)
    slots[np.arange(slots.shape[1])[None, :] >= many[:, None]] = -1
    for i in range(1, slots.shape[1]):
        for _ in range(len(ladder)):
            full = (slots[:, :i] == slots[:, i : i + 1]).sum(axis=1) >= room[slots[:, i]]
            full &= slots[:, i] >= 0
            if not full.any():
                break
            slots[full, i] = (slots[full, i] + 1) % len(ladder)
    return slots
