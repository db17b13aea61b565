"""Pairs of columns of a table of rows, counted with noise: what is known of them, what is bought, the tables.

A gap has sixty bins: seen with another column, neighbours are put together as far as the budget asks for it,
and share out what was measured of them as they do by themselves. What cannot be is known without looking: a
first row follows none, and only who has several rows has later ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.progress import report
from sfumato.synthesis.people.axes import GAPS, Floats, Ints
from sfumato.synthesis.people.field import FieldCounts
from sfumato.synthesis.people.layout import FieldLayout
from sfumato.synthesis.people.purchase import Offer, amounts
from sfumato.synthesis.private import allocation as budget
from sfumato.synthesis.private.graph import Pair
from sfumato.synthesis.private.layout import Bools
from sfumato.synthesis.private.measurement import allowed
from sfumato.synthesis.private.potentials import TargetTables
from sfumato.synthesis.private.purse import Purse, kept_share
from sfumato.synthesis.private.resolution import classes_of, least
from sfumato.synthesis.private.tables import estimate, independent, rake, shrink
from sfumato.synthesis.private.variables import Variable

_FIRST = 0.15  # of what a pair with the gap costs: its first rows


@dataclass(frozen=True, eq=False)
class ColumnPairs:
    """The pairs of one table.

    own: the counts of every column, as known; noise: their summed noise. rows: how many rows there are.
    alone: (column, levels) which levels of the parent's number of rows say that there is no second one.
    firsts, laters: the most rows of a person that are, or are not, the first of their parent.
    """

    layout: FieldLayout
    own: tuple[Floats, ...]
    noise: Floats
    rows: float
    alone: tuple[int, Bools] | None = None
    firsts: int = 0
    laters: int = 0

    def wanted(self, purse: Purse, exact: FieldCounts) -> TargetTables:
        """Spend what is left of a purse.  exact: what was counted of the data."""
        layout, own, pairs = self.layout, self.own, self.layout.pairs
        counted = exact.tables(layout)
        masks = [self._mask(pair) for pair in pairs]
        even = [independent(own[a], own[b], self.rows, m) for (a, b), m in zip(pairs, masks, strict=True)]
        classes = self._gap_classes(purse)
        seen = [self._seen(pair, classes) for pair in pairs]
        offers = []
        for (a, b), table, m, s in zip(pairs, counted.tables, even, seen, strict=True):
            cells = merged(table, *s).astype(np.int64)
            bias = 0.5 * budget.C * (self.noise[a] + self.noise[b])
            offers.append(Offer(cells, merged(m, *s), bias, kept_share(cells.shape) * purse.max_rows))
        found: dict[int, tuple[Floats, float]] = {}
        taken = amounts(purse, offers, self.rows, len(layout.sizes))
        for done, (q, amount) in enumerate(taken.items()):
            report(f"measuring {layout.variables.name}", done, len(taken))
            a, b = pairs[q]
            if layout.variables.timed and layout.free - 1 in (a, b):
                coarse, sigma = self._by_gap(purse, offers[q], amount, *seen[q])
            else:
                got = purse.table(offers[q].exact, pairs[q], amount, "a pair of columns")
                coarse = estimate(got.residual, got.variance, own[a], own[b], self.rows, masks[q])
                sigma = got.variance**0.5
            fine = even[q] * _spread(coarse / np.maximum(offers[q].expected, 1e-9), *seen[q])
            found[q] = rake(fine, own[a], own[b], masks[q]), sigma * coarse.size / even[q].size
        for zero in layout.zeros:
            q = pairs.index((min(zero.columns), max(zero.columns)))
            a, b = pairs[q]
            found.setdefault(q, (even[q], (self.noise[a] + self.noise[b]) / len(own[a])))
        order = sorted(found)
        return TargetTables(
            layout.sizes, self.rows, own, tuple(pairs[q] for q in order),
            tuple(found[q][0] for q in order), np.array([found[q][1] for q in order]),
            layout.zeros, layout.free, (layout.free - 1,) if layout.variables.timed else (),
        )  # fmt: skip

    def _by_gap(
        self, purse: Purse, offer: Offer, amount: float, axis: int, classes: Ints | None
    ) -> tuple[Floats, float]:
        """First rows and later ones apart: of the former a person has few. Both drawn to what is expected."""
        kinds = GAPS.first if classes is None else np.bincount(classes, GAPS.first) > 0
        out, sigmas = np.zeros(offer.expected.shape), []
        for rows, part, kind in ((self.firsts, _FIRST, kinds), (self.laters, 1 - _FIRST, ~kinds)):
            at = np.flatnonzero(kind)
            if not rows or not len(at):
                continue
            exact = np.take(offer.exact, at, axis=axis)
            got = purse.sums(exact, rows, rows**2, (0, 1), purse.amount(amount * part), "gaps by a column")
            towards = np.take(offer.expected, at, axis=axis)
            drawn = np.maximum(shrink(got.values.astype(np.float64), towards, got.sigma**2), 0.0)
            np.moveaxis(out, axis, 0)[at] = np.moveaxis(drawn, axis, 0)
            sigmas.append(got.sigma)
        return out, float(np.mean(sigmas))

    def _mask(self, pair: Pair) -> Bools | None:
        """Which cells of a pair can be; None where all can."""
        layout = self.layout
        mask, gap = allowed(layout.zeros, pair, layout.sizes), layout.free - 1
        if not layout.variables.timed or pair[0] != gap:
            return mask
        before, other = layout.first_before, pair[1]
        first = GAPS.first[:, None]
        if before <= other < before + layout.variables.steady:
            none = np.arange(layout.sizes[other]) == layout.sizes[other] - 1
            return np.asarray(first == none[None, :])
        if self.alone is not None and other == self.alone[0]:
            return np.asarray(first | ~self.alone[1][None, :])
        return mask

    def _gap_classes(self, purse: Purse) -> Ints | None:
        """Runs of gaps that have enough rows for a cell's noise; first rows and later ones apart."""
        if not self.layout.variables.timed:
            return None
        gap, pairs = self.layout.free - 1, len(self.layout.pairs)
        days = np.arange(GAPS.size) % GAPS.days.size
        branch = 2 * GAPS.first.astype(np.int64) + (days == GAPS.days.size - 1)
        variable = Variable((0,), np.arange(GAPS.size)[None], (), branch, True)
        fewest = least(pairs, self.layout.free, purse.left(pairs), purse.max_rows, purse.pure)
        return classes_of(variable, self.own[gap], fewest)

    def _seen(self, pair: Pair, classes: Ints | None) -> tuple[int, Ints | None]:
        gap = self.layout.free - 1
        return (pair.index(gap), classes) if classes is not None and gap in pair else (0, None)


def merged(table: Floats, axis: int, classes: Ints | None) -> Floats:
    """The table with cells of a class put together along an axis."""
    if classes is None:
        return table
    turned = np.moveaxis(table, axis, 0)
    out = np.zeros((int(classes.max()) + 1, *turned.shape[1:]), table.dtype)
    np.add.at(out, classes, turned)
    return np.moveaxis(out, 0, axis)


def _spread(table: Floats, axis: int, classes: Ints | None) -> Floats:
    """A number of every class for each of its cells."""
    return table if classes is None else np.take(table, classes, axis=axis)
