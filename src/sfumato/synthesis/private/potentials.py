"""Potentials whose model has the tables: learnt by following particles, and frozen.

The model is p(x) proportional to exp(sum theta_j(x_j) + sum theta_ij(x_i, x_j)). Particles are moved by
block Gibbs; where they count less than the table wants, the potential rises. All of it is arithmetic on
noisy tables with public randomness: whoever has the tables gets the same potentials.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.errors import DataError
from sfumato.progress import report
from sfumato.seeds import Key, bounded, uniform
from sfumato.synthesis.constraints import Zero
from sfumato.synthesis.private.graph import Pair, blocks_of, build, starts, table_order
from sfumato.synthesis.private.layout import SLACK, Codes, Floats, GraphLayout, Ints, PotentialWeights
from sfumato.synthesis.private.tables import independent
from sfumato.synthesis.private.triples import TripleTables, shown_by

SWEEPS = 15
_WARM_UP = 3  # sweeps before the first comparison
_FIRST_STEP, _LAST_STEP = 1.0, 0.25
_AVERAGED = 0.4  # of the sweeps, the last ones
_LEAST, _MOST = 10_000, 50_000  # particles
_LIMIT = 20.0  # of a potential, so that products of a row's weights stay within a double
_TRIES = 200
_AGAIN = (8, 12)  # sweeps after which tables are estimated anew
_REMEMBERED = 4  # sweeps that what particles show is a mean of

Again = Callable[["TargetTables", Floats, Floats], "TargetTables"]


@dataclass(frozen=True, eq=False)
class TargetTables:
    """What the model should show: the tables, all for `rows` rows.

    own: one per column; pairs: the edges, tables: one per edge; sigma: (edges,) the noise of a table's cell.
    zeros: combinations that cannot be. free: only the first so many columns are drawn, given all others;
    None where all are. alone: columns that are drawn by themselves, whatever ties them.
    """

    sizes: tuple[int, ...]
    rows: float
    own: tuple[Floats, ...]
    pairs: tuple[Pair, ...]
    tables: tuple[Floats, ...]
    sigma: Floats
    zeros: tuple[Zero, ...] = ()
    free: int | None = None
    alone: tuple[int, ...] = ()

    def with_tables(self, tables: Sequence[Floats]) -> TargetTables:
        """The same with other tables of the same pairs."""
        other = replace(self, tables=tuple(tables))
        if other.blocks == self.blocks:  # what follows from the pairs and blocks is the same
            other.__dict__.update(graph=self.graph, order=self.order)
        return other

    @cached_property
    def own_flat(self) -> Floats:
        """All single columns, one after the other."""
        return np.concatenate(self.own)

    @cached_property
    def flat(self) -> Floats:
        """All tables, one after the other."""
        return np.concatenate([t.ravel() for t in self.tables]) if self.tables else np.empty(0)

    @cached_property
    def starts(self) -> Ints:
        """Where each table begins in `flat`."""
        return starts([t.size for t in self.tables])

    @cached_property
    def cell_sigma(self) -> Floats:
        """The noise of each cell of `flat`."""
        return np.repeat(self.sigma, np.diff(self.starts))

    @cached_property
    def ties(self) -> list[float]:
        """Of each pair, the share of rows that dependence moves, twice."""
        alone = (independent(self.own[a], self.own[b], self.rows) for a, b in self.pairs)
        return [
            float(np.abs(table - m).sum() / self.rows) for table, m in zip(self.tables, alone, strict=True)
        ]

    @cached_property
    def blocks(self) -> list[tuple[int, ...]]:
        """The columns that are drawn together; those that are given have blocks of their own, last."""
        free = len(self.sizes) if self.free is None else self.free
        ties = {
            (a, b): tie
            for (a, b), tie in zip(self.pairs, self.ties, strict=True)
            if max(a, b) < free and not {a, b} & {*self.alone}
        }
        return blocks_of(ties, self.sizes)

    @cached_property
    def drawn(self) -> int:
        """How many of the blocks are drawn: the first ones."""
        free = len(self.sizes) if self.free is None else self.free
        return sum(block[0] < free for block in self.blocks)

    @cached_property
    def graph(self) -> GraphLayout:
        """The edges and blocks in flat arrays."""
        whole = build(self.pairs, self.blocks, self.sizes, self.zeros)
        return whole._replace(widths=whole.widths[: self.drawn])

    @cached_property
    def order(self) -> Ints:
        """Where each weight of the graph's edges lies in `flat`."""
        return table_order(self.pairs, self.blocks, self.sizes)

    def counts(self, rows: Codes) -> Ints:
        """The tables of some rows, laid out as `flat`."""
        from sfumato.synthesis.private import _kernels

        out = np.empty(len(self.flat), np.int64)
        first, second = np.array(self.pairs, np.int64).reshape(-1, 2).T
        sizes = np.array(self.sizes, np.int64)
        _kernels.count_pairs(rows, np.ascontiguousarray(first), np.ascontiguousarray(second), sizes,
                             self.starts, out)  # fmt: skip
        return out


@dataclass(frozen=True, eq=False)
class Potentials:
    """A frozen model, and the particles it was learnt with: rows to start from.

    own, edges: theta_j and theta_ij, laid out as in `TargetTables`; particles: (columns, particles).
    trace: by sweep, the mean share of rows that particles and tables differ by.
    """

    wanted: TargetTables
    own: Floats
    edges: Floats
    particles: Codes
    trace: tuple[float, ...] = ()

    @property
    def graph(self) -> GraphLayout:
        """The wanted tables' graph."""
        return self.wanted.graph

    @cached_property
    def weights(self) -> PotentialWeights:
        """exp of the potentials in the layout of the kernels."""
        return weights(self.wanted, self.own, self.edges)

    @cached_property
    def triples(self) -> TripleTables | None:
        """Tables of three columns that calibrated rows follow; None where there are none."""
        wanted, key = self.wanted, Key.from_seed(0).derive("private synthesis", "triples")
        if len(wanted.sizes) < 3 or not wanted.pairs:
            return None

        def sweep(rows: Codes, number: int) -> None:
            self.sweep(rows, key, number)

        return shown_by(
            self.particles, sweep, wanted.pairs, wanted.tables, wanted.ties, wanted.sizes, wanted.sigma
        )

    @property
    def blocks(self) -> int:
        """How many words a sweep takes for each row."""
        return self.wanted.drawn

    def start(self, key: Key, first_row: int, rows: int) -> Codes:
        """Particles taken at random: row r's depends on the key and r alone."""
        words = key.derive("start").words(0, first_row, rows)
        return np.ascontiguousarray(self.particles[:, bounded(words, self.particles.shape[1])])

    def sweep(self, rows: Codes, key: Key, number: int, first_row: int = 0) -> None:
        """Draw every block of every row anew, given the rest of the row."""
        from sfumato.synthesis.private import _kernels

        words = key.words(number, first_row, rows.shape[1], self.blocks).reshape(rows.shape[1], self.blocks)
        _kernels.sweep(rows, words, self.graph, self.weights)


def weights(wanted: TargetTables, own: Floats, edges: Floats) -> PotentialWeights:
    """exp of the potentials in the layout of the kernels."""
    places = {pair: q for q, pair in enumerate(wanted.pairs)}
    inner = []
    for block in wanted.blocks:
        joint = np.zeros([wanted.sizes[j] for j in block])
        for i, a in enumerate(block):
            for k in range(i + 1, len(block)):
                q = places.get((a, block[k]))
                if q is None:
                    continue
                shape = [wanted.sizes[j] if place in (i, k) else 1 for place, j in enumerate(block)]
                joint = joint + edges[wanted.starts[q] : wanted.starts[q + 1]].reshape(shape)
        inner.append(np.exp(joint - joint.max()).ravel())
    parts = (np.exp(own - own.max()), np.exp(edges[wanted.order]), np.concatenate(inner))
    return PotentialWeights(*(np.append(part, np.zeros(SLACK)) for part in parts))


def learn(
    wanted: TargetTables,
    sweeps: int = SWEEPS,
    *,
    given: Codes | None = None,
    refresh: Callable[[Codes], None] | None = None,
    again: Again | None = None,
) -> Potentials:
    """theta_ij += eta / degree * log((T + lambda) / (mu + lambda)) after each sweep, the last averaged.

    given: (columns, particles) rows whose columns beyond `wanted.free` stay as they are; refresh: is called
    with the rows after every sweep, where some of what is given follows from what was drawn. Where something
    is given, and tables have noise, theta_j of drawn columns is learnt likewise: such tables are followed
    only so far, and single columns would drift.
    again: gives better tables, from those so far, what particles showed of them, and the potentials, each
    a mean over the sweeps before; it is asked after the sweeps `_AGAIN`.
    """
    key = Key.from_seed(0).derive("private synthesis", "learning")  # public: the tables carry the privacy
    particles = given
    number_of = int(np.clip(round(wanted.rows), _LEAST, _MOST))
    if particles is None:
        # While potentials are far off, half as many particles tell as well where to go.
        particles = first_rows(wanted, key, number_of if again is None else max(number_of // 2, _LEAST))
    scale = wanted.rows / particles.shape[1]
    damping = np.maximum(0.5, wanted.cell_sigma)
    degree = np.zeros(len(wanted.sizes))
    for pair in wanted.pairs:
        degree[list(pair)] += 1
    pace = np.repeat([max(degree[a], degree[b]) for a, b in wanted.pairs], np.diff(wanted.starts))
    own = np.log(np.maximum(wanted.own_flat, 1e-3))
    own = own - own.max()
    if wanted.free is not None:  # what nobody has is not drawn: a date that is never missing, say
        own[wanted.own_flat <= 0] = -np.inf
    drawn = sum(wanted.sizes[: wanted.free or 0]) if wanted.sigma.any() else 0
    edges, averaged, kept = tree_start(wanted), np.zeros(len(wanted.flat)), 0
    own_averaged = np.zeros(len(own))
    memory: list[tuple[Floats, Floats]] = []
    for number in range(_WARM_UP):
        Potentials(wanted, own, edges, particles).sweep(particles, key.derive("warming up"), number)
        if refresh is not None:
            refresh(particles)
    trace = []
    for number in range(sweeps):
        report("learning potentials", number, sweeps)
        Potentials(wanted, own, edges, particles).sweep(particles, key, number)
        if refresh is not None:
            refresh(particles)
        shown = wanted.counts(particles) * scale
        trace.append(float(np.abs(shown - wanted.flat).sum() / wanted.rows / 2 / max(len(wanted.pairs), 1)))
        if again is not None:
            memory.append((shown, edges))
            if number + 1 in _AGAIN:
                wanted = again(wanted, *np.mean(memory[-_REMEMBERED:], axis=0))
                particles = np.tile(particles, 2)[:, :number_of]
                scale = wanted.rows / particles.shape[1]
        step = _FIRST_STEP + (_LAST_STEP - _FIRST_STEP) * number / max(sweeps - 1, 1)
        rise = np.log((wanted.flat + damping) / (shown + damping))
        edges = np.clip(edges + step / np.maximum(pace, 1) * rise, -_LIMIT, _LIMIT)
        if drawn:
            own[:drawn] += step * own_rise(wanted, particles, scale)[:drawn]
        if number >= (1 - _AVERAGED) * sweeps:
            averaged, own_averaged, kept = averaged + edges, own_averaged + own, kept + 1
    return Potentials(wanted, own_averaged / kept if drawn and kept else own, averaged / max(kept, 1),
                      particles, tuple(trace))  # fmt: skip


def own_rise(wanted: TargetTables, particles: Codes, scale: float) -> Floats:
    """log((T + 1) / (mu + 1)) of single columns, laid out as `own_flat`."""
    from sfumato.synthesis.private import _kernels

    levels = np.empty(len(wanted.own_flat), np.int64)
    _kernels.count_levels(particles, wanted.graph.own, levels)
    return np.asarray(np.log((wanted.own_flat + 1.0) / (levels * scale + 1.0)))


def tree_start(wanted: TargetTables) -> Floats:
    """Potentials of the tree of most informative tables; 0 for all other edges.

    A tree's potentials are log(T_ij N / (T_i T_j)), exactly. From there two columns that depend on each other
    only through a third have the table they should without a potential of their own, so that none is learnt
    and unlearnt again: fifteen sweeps are too few for that, and the rest would show in the rows.
    """
    edges = np.zeros(len(wanted.flat))
    alone = [np.outer(wanted.own[a], wanted.own[b]) / wanted.rows for a, b in wanted.pairs]
    ratios = []
    for table, m, sigma in zip(wanted.tables, alone, wanted.sigma, strict=True):
        slack = max(0.5, float(sigma))
        ratios.append(np.log((table + slack) / (m + slack)))
    worth = [float((t * r).sum()) for t, r in zip(wanted.tables, ratios, strict=True)]
    group = list(range(len(wanted.sizes)))
    for q in np.argsort(np.negative(worth), kind="stable"):
        a, b = wanted.pairs[q]
        if worth[q] > 0 and group[a] != group[b]:
            edges[wanted.starts[q] : wanted.starts[q + 1]] = np.clip(ratios[q], -_LIMIT, _LIMIT).ravel()
            old = group[b]
            group = [group[a] if g == old else g for g in group]
    return edges


def first_rows(wanted: TargetTables, key: Key, rows: int) -> Codes:
    """Rows of independent columns, drawn again where they are something that cannot be.

    Of very few rows noise may leave nothing in any column but what cannot be together. The epsilon is spent
    by then, so rows are drawn from even columns instead of giving up.
    """
    for columns in (wanted.own, [np.ones(size) for size in wanted.sizes]):
        out, broken = _independent(columns, wanted, key, rows)
        fine = np.setdiff1d(np.arange(rows), broken)
        if len(fine):
            out[:, broken] = out[:, fine[np.arange(len(broken)) % len(fine)]]
            return out
    raise DataError("no row was found that the constraints allow.", hint="they may contradict each other")


def _independent(columns: Sequence[Floats], wanted: TargetTables, key: Key, rows: int) -> tuple[Codes, Ints]:
    """Rows drawn from columns that know nothing of each other, and which of them cannot be."""
    out = np.empty((len(columns), rows), np.uint16)
    todo = np.arange(rows)
    for attempt in range(_TRIES):
        words = key.derive("first rows").words(attempt, 0, rows, len(columns)).reshape(rows, -1)
        for j, own in enumerate(columns):
            ladder = np.cumsum(own) / own.sum()
            drawn = np.searchsorted(ladder, uniform(words[todo, j]), side="right")
            out[j, todo] = np.minimum(drawn, len(own) - 1)
        broken = np.zeros(len(todo), bool)
        for zero in wanted.zeros:
            broken |= zero.broken(out[:, todo])
        todo = todo[broken]
        if not len(todo):
            break
    return out, todo
