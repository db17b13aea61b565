"""Sets of codes, counted with noise: codes along their tree, then classes by all that stands above them.

What one person changes is in `bounds`. No count is divided by one that noise may have put near 0: classes are
so large that noise does not decide them, and all that is wanted is drawn towards what is expected without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sfumato.synthesis.people.axes import Floats, Ints
from sfumato.synthesis.people.bounds import Sensitivity, SetBounds
from sfumato.synthesis.people.layout import SetTables
from sfumato.synthesis.people.purchase import Offer, amounts
from sfumato.synthesis.people.sets import CodeKinds, SetCounts, SetModel, starts_of
from sfumato.synthesis.private import allocation as budget
from sfumato.synthesis.private.layout import Bools, Codes
from sfumato.synthesis.private.levels import of_states
from sfumato.synthesis.private.purse import Measurement, Purse
from sfumato.synthesis.private.resolution import MAX_CLASSES, least
from sfumato.synthesis.private.tables import shrink
from sfumato.synthesis.private.variables import Variable

_CODES, _HELD, _BOTH, _AGAIN, _TWICE, _SUMS = (
    0.3,
    0.08,
    0.12,
    0.07,
    0.02,
    0.02,
)  # of the purse; by level: the rest


@dataclass(frozen=True, eq=False)
class PilotSets:
    """Rows that were drawn, for which sets will be: how many codes each has, and (variables, rows)."""

    many: Ints
    levels: Codes


@dataclass(frozen=True, eq=False)
class SetMeasurement:
    """The sets of one table. rows, codes: how many sets and codes there are, as known from above."""

    purse: Purse
    bounds: SetBounds
    rows: float
    codes: float

    def kinds(self, exact: Ints, tree: tuple[Ints, ...], above: int) -> CodeKinds:
        """How often each code occurs, and classes.  tree: groups of codes, the coarsest first."""
        fine = self._fine(exact, tree)
        spread = self.bounds.held(len(exact)).squared ** 0.5
        tables = above + 1
        fewest = least(tables, tables, self.purse.left(tables), 1, self.purse.pure) * spread
        return CodeKinds(fine, tree_classes(tree, fine, fewest))

    def model(self, kinds: CodeKinds, exact: SetCounts, sizes: tuple[int, ...], pilot: PilotSets) -> SetModel:
        """Spend what is left of the purse."""
        fine, classes, number = kinds.fine, kinds.classes, kinds.number
        total = np.asarray(np.bincount(classes, fine, minlength=number), np.float64)
        single = np.bincount(classes, minlength=number) == 1
        held = self._held(exact.held, total, single)
        again, share, again_sigma = self._again(exact, held, single)
        twice, twice_sigma = self._twice(exact.tables, again)
        both, both_sigma = self._both(exact.tables, held, pilot)
        above, above_sigma = self._above(exact.tables, held, sizes, pilot)
        wanted = SetTables(total, above, both, again, twice)
        sigma = (0.0, above_sigma, both_sigma, again_sigma, twice_sigma)
        return SetModel(self.rows, sizes, wanted, sigma, classes, fine, np.full((2, number), share))

    def _sums(self, values: Floats | Ints, most: Sensitivity, part: float, purpose: str) -> Measurement:
        amount = self.purse.amount(self.purse.total * part)
        whole = np.asarray(values).astype(np.int64)
        return self.purse.sums(whole, max(most.taxi, 1), max(most.squared, 1), (0,), amount, purpose)

    def _fine(self, exact: Ints, tree: tuple[Ints, ...]) -> Floats:
        """How often each code occurs: measured by itself and by groups, put together."""
        size = len(exact)
        shapes = [size, *(int(t.max()) + 1 for t in tree)]
        parts = _CODES * budget.split_one_way(shapes)
        own = self._sums(exact, self.bounds.held(size), parts[0], "codes")
        levels = [
            self._sums(np.asarray(np.bincount(t, exact)), self.bounds.groups, part, "groups of codes")
            for t, part in zip(tree, parts[1:], strict=True)
        ]
        variable = Variable((0,), np.arange(size)[None], tree)
        return of_states(variable, own, levels, self.codes)

    def _held(self, exact: Floats, total: Floats, single: Bools) -> Floats:
        """(G,) sets that have a class: of a single code as often as it occurs, of others at most so often."""
        number = len(exact)
        found = self._sums(exact, self.bounds.held(number), _HELD, "sets with a class")
        least_ = total / self.bounds.codes
        return np.where(single, total, np.clip(found.values.astype(np.float64), least_, total))

    def _again(self, exact: SetCounts, held: Floats, single: Bools) -> tuple[Floats, float, Floats]:
        """(G + 1,) classes that come back; how often with the same code; the noise of each."""
        number = len(held)
        if self.bounds.sets < 2:
            return np.zeros(number + 1), 0.0, np.zeros(number + 1)
        most, summed = self.bounds.again(number), self.bounds.again_in_all(number)
        back, same = exact.tables.again, exact.taken.sum(axis=0)
        found = self._sums(back[:number], most, _AGAIN, "classes that come back")
        numbers = [back[number], back[:number][~single].sum(), same[~single].sum()]
        whole, several, kept = (
            self._sums(np.array([n]), summed, _SUMS, "classes that come back, in all") for n in numbers
        )
        every = max(float(whole.values[0]), 0.0)
        towards = held**2 / max(float((held**2).sum()), 1e-9) * every
        drawn = _drawn(found, towards)
        drawn = drawn * (every / max(float(drawn.sum()), 1e-9))
        # The share of two noisy numbers: where there are few of either it is drawn towards a half.
        doubt = several.sigma
        share = (max(float(kept.values[0]), 0.0) + doubt / 2) / (max(float(several.values[0]), 0.0) + doubt)
        sigma = np.append(np.full(number, found.sigma), whole.sigma)
        return np.append(drawn, every), min(share, 1.0), sigma

    def _twice(self, exact: SetTables, again: Floats) -> tuple[Floats, Floats]:
        """(G + 1,) persons with a class in two sets or more; the noise of each."""
        number, most = len(again) - 1, self.bounds.sets - 1
        if self.bounds.sets < 2:
            return np.zeros(number + 1), np.zeros(number + 1)
        found = self._sums(
            exact.twice[:number], self.bounds.twice(number), _TWICE, "persons with a class twice"
        )
        whole = self._sums(
            exact.twice[number:],
            self.bounds.twice_in_all(number),
            _SUMS,
            "persons with a class twice, in all",
        )
        every = float(np.clip(whole.values[0], again[-1] / most, again[-1]))
        drawn = _drawn(found, again[:number] * (every / max(float(again[-1]), 1e-9)))
        drawn = np.clip(drawn, again[:number] / most, again[:number])
        drawn = drawn * (every / max(float(drawn.sum()), 1e-9))
        return np.append(drawn, every), np.append(np.full(number, found.sigma), whole.sigma)

    def _both(self, exact: SetTables, held: Floats, pilot: PilotSets) -> tuple[Floats, Floats]:
        """(G, G) sets with two classes, the smaller first; the noise of each cell."""
        both, sigma = self._by_two(held, pilot), np.full(exact.both.shape, np.inf)
        upper, most = np.triu_indices(len(held), 1), self.bounds.both(len(held))
        if most.squared:  # at least two classes, and two codes to a set
            found = self._sums(exact.both[upper], most, _BOTH, "sets with two classes")
            both[upper], sigma[upper] = _drawn(found, both[upper]), found.sigma
        return both, sigma

    def _above(
        self, exact: SetTables, held: Floats, sizes: tuple[int, ...], pilot: PilotSets
    ) -> tuple[Floats, Floats]:
        """Sets with a class by level, variable by variable; the noise of each cell.

        A table that is not bought has infinite noise: nothing is moved on its account.
        """
        number, at = len(held), starts_of(sizes, len(held))
        above, most = _by_level(held, sizes, pilot), self.bounds.held(number)
        offers = [
            Offer(exact.above[a:b].astype(np.int64), above[a:b], 0.0, most.squared**0.5)
            for a, b in pairwise(at)
        ]
        sigma = np.full(len(above), np.inf)
        for q, amount in amounts(self.purse, offers, self.codes, len(offers)).items():
            found = self.purse.sums(
                offers[q].exact, most.taxi, most.squared, (0,), amount, "sets by class and level"
            )
            cells = _drawn(found, offers[q].expected).reshape(-1, number)
            cells = cells * (held / np.maximum(cells.sum(axis=0), 1e-9))
            above[at[q] : at[q + 1]], sigma[at[q] : at[q + 1]] = cells.ravel(), found.sigma
        return above, sigma

    def _by_two(self, held: Floats, pilot: PilotSets) -> Floats:
        """m: two classes meet as often as rows of so many codes let any two codes meet."""
        many = pilot.many.astype(np.float64)
        meeting = float((many * (many - 1)).sum()) / max(float(many.sum()) ** 2, 1.0) * max(len(many), 1)
        return np.triu(np.outer(held, held) * (meeting / self.rows), 1)


def _by_level(held: Floats, sizes: tuple[int, ...], pilot: PilotSets) -> Floats:
    """m: classes spread over levels as all codes are, by the rows that were drawn."""
    parts = []
    for level, size in zip(pilot.levels, sizes, strict=True):
        codes = np.bincount(level, pilot.many, minlength=size).astype(np.float64)
        parts.append(np.outer(codes / max(codes.sum(), 1.0), held).ravel())
    return np.concatenate(parts) if parts else np.empty(0)


def _drawn(found: Measurement, towards: Floats) -> Floats:
    """Noisy counts drawn towards what is expected, none negative."""
    return np.maximum(shrink(found.values.astype(np.float64), towards, found.sigma**2), 0.0)


def tree_classes(tree: tuple[Ints, ...], counts: Floats, fewest: float) -> Ints:
    """The class of each code: itself, else the rest of the smallest group that has enough, else of all."""
    while True:
        found = _classes(tree, counts, fewest)
        if found.max() < MAX_CLASSES:
            return found
        fewest = max(1.3 * fewest, 1e-9)


def _classes(tree: tuple[Ints, ...], counts: Floats, fewest: float) -> Ints:
    out = np.full(len(counts), -1, np.int64)
    number = 0
    for groups in (np.arange(len(counts)), *reversed(tree)):
        open_ = out < 0
        rest = np.bincount(groups, counts * open_)
        enough = (rest >= fewest)[groups] & open_
        names, places = np.unique(groups[enough], return_inverse=True)
        out[enough] = number + places
        number += len(names)
    if (out < 0).any():
        out[out < 0] = number
    return out
