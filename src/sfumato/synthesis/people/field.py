"""Rows given the rows above and before them: a field of pairwise potentials, learnt, drawn and calibrated.

p(x | given) is proportional to exp(sum theta_j(x_j) + sum theta_ij(x_i, x_j)), over pairs of which one is
drawn at least: the model of `private.potentials`, of which only the first columns are drawn. Rows of a parent
are drawn one after the other; then all are moved until their tables are the wanted ones, as in
`private.calibration`, the next row moving along with the one before it. Of gaps those of the last rows of a
parent are moved: others would move everything after them in time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.progress import report
from sfumato.seeds import Key, uniform
from sfumato.synthesis.people.axes import GAPS, LEFT, NO_DAY, Floats, Ints
from sfumato.synthesis.people.layout import FieldLayout, Windows
from sfumato.synthesis.private.calibration import ROUNDS
from sfumato.synthesis.private.layout import Codes, GraphLayout, Targets
from sfumato.synthesis.private.potentials import Potentials, TargetTables, learn

_SWEEPS = 5  # of a row, before the next one of its parent is drawn
_SLACK, _DOUBT = 5.0, 0.5


@dataclass(frozen=True, eq=False)
class GivenRows:
    """What rows are drawn under: (columns above, rows), the place among the rows of a parent, and when."""

    above: Codes
    place: Ints
    windows: Windows | None

    @property
    def rows(self) -> int:
        """How many."""
        return len(self.place)

    def some(self, most: int) -> GivenRows:
        """The rows of the first parents, at most so many; those of the first parent in any case."""
        if self.rows <= most:
            return self
        first = np.flatnonzero(self.place == 0)
        after = np.append(first[1:], self.rows)
        end = int(after[max(int(np.searchsorted(after, most, side="right")) - 1, 0)])
        windows = None if self.windows is None else Windows(self.windows.base[:end], self.windows.end[:end])
        return GivenRows(np.ascontiguousarray(self.above[:, :end]), self.place[:end], windows)


@dataclass(frozen=True, eq=False)
class RowField:
    """The field of one table, frozen."""

    layout: FieldLayout
    potentials: Potentials

    @classmethod
    def learnt(cls, layout: FieldLayout, wanted: TargetTables, given: GivenRows, key: Key) -> RowField:
        """Potentials under which rows below these have the wanted tables."""
        own = _independent(wanted, layout.free, given.rows, key)
        start = layout.filled(own, given.above, given.place, None)
        refresh = _refresher(layout, given, key) if layout.follows else None
        if refresh is not None:
            refresh(start)
        if not given.rows:  # nobody has such rows, so none will be drawn
            return cls(
                layout, Potentials(wanted, np.zeros(sum(wanted.sizes)), np.zeros(len(wanted.flat)), start)
            )
        return cls(layout, learn(wanted, given=start, refresh=refresh))

    @classmethod
    def of_keys(cls, layout: FieldLayout) -> RowField:
        """Of rows that have no variable of their own."""
        none = np.empty((len(layout.sizes), 0), np.uint16)
        wanted = FieldCounts.of(layout, none).tables(layout)
        empty = np.zeros(sum(wanted.sizes)), np.zeros(len(wanted.flat))
        return cls(layout, Potentials(wanted, *empty, none))

    def drawn(self, given: GivenRows, key: Key) -> tuple[Codes, Ints | None]:
        """The own variables of rows, (variables, rows), and their days where they have some."""
        layout, wanted = self.layout, self.potentials.wanted
        if not layout.free:
            return np.empty((0, given.rows), np.uint16), None
        rows = layout.filled(
            _independent(wanted, layout.free, given.rows, key.derive("start")), given.above, given.place, None
        )
        days = None if given.windows is None else np.full(given.rows, NO_DAY)
        known = None if given.windows is None else given.windows.base.copy()
        for t in range(int(given.place.max(initial=-1)) + 1):
            report("drawing rows", t, int(given.place.max()) + 1)
            at = np.flatnonzero(given.place == t)
            self._wave(rows, at, t, given, days, known, key.derive("wave", t))
        if given.rows:
            self._calibrate(rows, given, key.derive("calibrating"))
        if days is not None and known is not None and given.windows is not None:
            at = np.flatnonzero(_last(given.place))
            days[at] = self._days(rows[:, at], given.windows.end[at], known[at], key.derive("last days"))
        return np.ascontiguousarray(rows[: layout.free]), days

    def _wave(
        self, rows: Codes, at: Ints, t: int, given: GivenRows, days: Ints | None, known: Ints | None, key: Key
    ) -> None:
        """The t-th rows of all parents, given those before."""
        layout = self.layout
        steady, first = layout.variables.steady, layout.first_before
        if t:
            rows[first : first + steady, at] = rows[:steady, at - 1]
        if days is not None and known is not None and given.windows is not None:
            if t:
                known[at] = np.where(days[at - 1] == NO_DAY, known[at - 1], days[at - 1])
            left = given.windows.end[at] - known[at]
            rows[-1, at] = LEFT.encode(left, np.ones(len(at), bool), given.place[at] == 0)
        some = np.ascontiguousarray(rows[:, at])
        for number in range(_SWEEPS):
            self._sweep(some, key, number)
        rows[: layout.free, at] = some[: layout.free]
        if days is not None and known is not None and given.windows is not None:
            days[at] = self._days(some, given.windows.end[at], known[at], key.derive("days"))

    def _days(self, rows: Codes, end: Ints, known: Ints, key: Key) -> Ints:
        """The days of rows by their gaps."""
        u = uniform(key.words(0, 0, rows.shape[1]))
        gap = GAPS.draw(rows[self.layout.free - 1].astype(np.int64), u, end - known)
        return np.where(gap == NO_DAY, NO_DAY, known + gap)

    def _sweep(self, rows: Codes, key: Key, number: int) -> None:
        from sfumato.synthesis.private import _kernels

        blocks, n = self.potentials.blocks, rows.shape[1]
        words = key.words(number, 0, n, blocks).reshape(n, blocks)
        _kernels.sweep(rows, words, self.potentials.graph, self.potentials.weights)

    def _gap_alone(self) -> GraphLayout:
        """The graph, of which the gap alone is drawn."""
        graph, gap = self.potentials.graph, self.potentials.blocks - 1
        return graph._replace(
            blocks=graph.blocks[gap : gap + 1], widths=graph.widths[gap : gap + 1],
            inner=graph.inner[gap : gap + 2], zeros=graph.zeros[gap : gap + 2],
        )  # fmt: skip

    def _calibrate(self, rows: Codes, given: GivenRows, key: Key) -> None:
        from sfumato.synthesis.people import _kernels
        from sfumato.synthesis.private import _kernels as plain

        wanted, layout, n = self.potentials.wanted, self.layout, given.rows
        scale = n / wanted.rows
        pairs, own = wanted.flat * scale, wanted.own_flat * scale
        doubt = _DOUBT * (wanted.cell_sigma * scale) ** 2
        graph = self.potentials.graph
        blocks = self.potentials.blocks - layout.variables.timed
        graph = graph._replace(widths=graph.widths[:blocks])
        counts, levels = wanted.counts(rows), np.empty(len(own), np.int64)
        plain.count_levels(rows, graph.own, levels)
        targets = Targets(
            np.stack([counts - pairs, 1 / (pairs + _SLACK + doubt)], axis=1),
            np.stack([levels - own, 1 / (own + _SLACK)], axis=1),
        )
        follows = np.append(given.place > 0, False)
        last = np.flatnonzero(_last(given.place))
        for number in range(ROUNDS):
            report("moving rows", number, ROUNDS)
            if blocks:
                words = key.words(number, 0, n, 2 * blocks).reshape(n, 2 * blocks)
                _kernels.calibrate_chain(
                    rows, words, follows, layout.first_before, graph, self.potentials.weights, targets,
                    2.0**number,
                )  # fmt: skip
            if layout.variables.timed:
                some = np.ascontiguousarray(rows[:, last])
                words = key.derive("gaps").words(number, 0, len(last), 2).reshape(-1, 2)
                _kernels.calibrate_chain(
                    some, words, np.zeros(len(last) + 1, bool), layout.first_before, self._gap_alone(),
                    self.potentials.weights, targets, 2.0**number,
                )  # fmt: skip
                rows[layout.free - 1, last] = some[layout.free - 1]


def _independent(wanted: TargetTables, free: int, rows: int, key: Key) -> Codes:
    """Own variables that know nothing of each other: where sweeps begin."""
    out = np.empty((free, rows), np.uint16)
    for j in range(free):
        ladder = np.cumsum(wanted.own[j]) / max(wanted.own[j].sum(), 1e-300)
        u = uniform(key.derive("own", j).words(0, 0, rows))
        out[j] = np.minimum(np.searchsorted(ladder, u, side="right"), len(ladder) - 1)
    return out


def _last(place: Ints) -> NDArray[np.bool_]:
    """Which rows are the last of their parent."""
    return np.append(place[1:] == 0, True)[: len(place)]


def _refresher(layout: FieldLayout, given: GivenRows, key: Key) -> Callable[[Codes], None]:
    """What follows from drawn rows: the row before, and the time left after it."""
    number = [0]

    def refresh(rows: Codes) -> None:
        layout.put_before(rows, given.place)
        if given.windows is None:
            return
        number[0] += 1
        u = uniform(key.derive("days", number[0]).words(0, 0, given.rows))
        codes, known = rows[layout.free - 1].astype(np.int64), given.windows.base.copy()
        days = np.full(given.rows, NO_DAY)
        for t in range(int(given.place.max(initial=-1)) + 1):
            at = np.flatnonzero(given.place == t)
            if t:
                known[at] = np.where(days[at - 1] == NO_DAY, known[at - 1], days[at - 1])
            gap = GAPS.draw(codes[at], u[at], given.windows.end[at] - known[at])
            days[at] = np.where(gap == NO_DAY, NO_DAY, known[at] + gap)
        rows[-1] = LEFT.encode(given.windows.end - known, np.ones(given.rows, bool), given.place == 0)

    return refresh


@dataclass(frozen=True, eq=False)
class FieldCounts:
    """What was counted of rows: every column by itself, and all pairs of a layout, one after the other."""

    rows: int
    own: tuple[Floats, ...]
    flat: Floats

    @classmethod
    def of(cls, layout: FieldLayout, rows: Codes) -> FieldCounts:
        """Of some rows.  rows: (columns, rows)."""
        own = tuple(
            np.bincount(r, minlength=s).astype(np.float64) for r, s in zip(rows, layout.sizes, strict=True)
        )
        return cls(rows.shape[1], own, _empty(layout, own).counts(rows).astype(np.float64))

    def plus(self, other: FieldCounts) -> FieldCounts:
        """Of both together."""
        own = tuple(a + b for a, b in zip(self.own, other.own, strict=True))
        return FieldCounts(self.rows + other.rows, own, self.flat + other.flat)

    def tables(self, layout: FieldLayout) -> TargetTables:
        """The tables of the rows themselves, without noise."""
        sizes, empty = layout.sizes, _empty(layout, self.own)
        tables = tuple(
            self.flat[empty.starts[q] : empty.starts[q + 1]].reshape(sizes[a], sizes[b])
            for q, (a, b) in enumerate(layout.pairs)
        )
        return replace(empty, rows=float(max(self.rows, 1)), tables=tables)


def _empty(layout: FieldLayout, own: tuple[Floats, ...]) -> TargetTables:
    sizes = layout.sizes
    return TargetTables(
        sizes, 1.0, own, layout.pairs, tuple(np.zeros((sizes[a], sizes[b])) for a, b in layout.pairs),
        np.zeros(len(layout.pairs)), layout.zeros, layout.free,
        (layout.free - 1,) if layout.variables.timed else (),
    )  # fmt: skip
