"""What is asked of the data, in order: how many rows, single columns, which pairs matter, those pairs.

`measure` reads as the recipe does; every number it gets of the data comes through a `Purse`, which pays.
`Measured` is all that is known afterwards, and the tables are arithmetic on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.progress import report
from sfumato.synthesis.constraints import Zero
from sfumato.synthesis.private import allocation as budget
from sfumato.synthesis.private import grain, resolution
from sfumato.synthesis.private.exact_counts import Counted, candidates
from sfumato.synthesis.private.graph import Pair
from sfumato.synthesis.private.layout import Bools, Floats, Ints
from sfumato.synthesis.private.levels import of_states, reconciled
from sfumato.synthesis.private.potentials import TargetTables
from sfumato.synthesis.private.purse import Measurement, Purse, kept_share
from sfumato.synthesis.private.tables import estimate, independent, without
from sfumato.synthesis.private.variables import DomainVariables, Variable

# Shares of rho: of the number of rows, of the scores. The recipe has .005 for the first. But every column
# is its residual and N/K: an N that is off by 3%, as at epsilon 0.1 on 24,000 rows, draws all of them towards
# the even law, or away from it, at once. That was most of what fits differed by.
_ROWS, _SCORES = 0.025, 0.01
# Shares of a pure epsilon: there noise, and not its square, is inverse to what is spent.
_PURE_ROWS, _PURE_ONE_WAY, _PURE_CHOICES = 0.01, 0.25, 0.1
# What of a budget is not for pairs, about; of zCDP and of a pure epsilon.
SHARES = (_ROWS + _SCORES + 0.25, _PURE_ROWS + _PURE_ONE_WAY + _PURE_CHOICES)
_DEPTH = 5  # of a table of a number cut finer: it gets the share that a column of so many levels gets
TARGET_WEIGHT = 3.0  # how much more a pair with the target counts


@dataclass(frozen=True, eq=False)
class Measured:
    """The noisy answers, and nothing else of the data. They may be published.

    rows: the noised number of rows, or the declared one; total: the measurement of it, if there is one.
        Where rows count by weight, the sum of the weights over the largest one allowed.
    own: of the states of each variable, details last. levels: of its coarser levels. classes: of each
        variable, the class that a state has in pairs; None where each is its own.
    scores: of every candidate pair (none with pure epsilon). pairs: those measured, of classes.
    gain: by how much the tables of pairs are expected to be nearer to the truth than those of
        independent columns, from 0 to 1; None with pure epsilon.
    """

    variables: DomainVariables
    rows: float
    own: tuple[Measurement, ...]
    levels: tuple[tuple[Measurement, ...], ...]
    classes: tuple[Ints | None, ...] = ()
    pairs: tuple[Measurement, ...] = ()
    total: Measurement | None = None
    scores: Measurement | None = None
    gain: float | None = None

    @cached_property
    def fine(self) -> tuple[Floats, ...]:
        """The counts of each variable's states: what was measured of it put together, N in all.

        Variables that a constraint ties have counts that can be together.
        """
        together = zip(self.variables.all, self.own, self.levels, strict=True)
        counts = [of_states(v, own, levels, self.rows) for v, own, levels in together]
        return reconciled(counts, self.variables.zeros, self.rows)

    @cached_property
    def singles(self) -> tuple[Floats, ...]:
        """The counts of each variable's classes."""
        return tuple(
            f if c is None else np.asarray(np.bincount(c, f), np.float64)
            for f, c in zip(self.fine, self.classes, strict=False)
        )

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many classes each variable has."""
        together = zip(self.variables.sizes, self.classes, strict=False)
        return tuple(size if c is None else int(c.max()) + 1 for size, c in together)

    @cached_property
    def zeros(self) -> tuple[Zero, ...]:
        """What cannot be, in classes: none has states on both sides of a mask."""
        out = []
        for zero in self.variables.zeros:
            masks = []
            for place, mask in zip(zero.columns, zero.masks, strict=True):
                c = self.classes[place]
                masks.append(mask if c is None else np.bincount(c, mask) > 0)
            out.append(Zero(zero.columns, tuple(masks)))
        return tuple(out)

    def alone(self, pair: Pair) -> Floats:
        """m of a pair: what it would be if nothing tied it but what cannot be."""
        a, b = pair
        return independent(self.singles[a], self.singles[b], self.rows, allowed(self.zeros, pair, self.sizes))

    def dependence(self) -> dict[Pair, float]:
        """phi of every pair that was scored; none with pure epsilon."""
        if self.scores is None:
            return {}
        pairs = candidates(self.sizes)
        noisy = [noise_of(m, c) for m, c in zip(self.own, self.classes, strict=False)]
        bias = np.array([0.5 * budget.C * (noisy[a] + noisy[b]) for a, b in pairs])
        phi = budget.dependence(self.scores.values / self.scores.factor, bias, self.rows)
        return dict(zip(pairs, phi.tolist(), strict=True))

    def wanted(self) -> TargetTables:
        """The tables the model should show: measured pairs, and pairs that constraints tie."""
        tables: dict[Pair, tuple[Floats, float]] = {}
        for m in self.pairs:
            a, b = m.columns
            mask = allowed(self.zeros, (a, b), self.sizes)
            table = estimate(m.residual, m.variance, self.singles[a], self.singles[b], self.rows, mask)
            tables[a, b] = table, m.variance**0.5
        for zero in self.zeros:
            if len(zero.columns) == 2:
                tied: Pair = (min(zero.columns), max(zero.columns))
                spread = sum(self.own[j].variance for j in tied) ** 0.5
                tables.setdefault(tied, (self.alone(tied), spread))
        return TargetTables(
            self.sizes, self.rows, self.singles, tuple(tables), tuple(t for t, _ in tables.values()),
            np.array([s for _, s in tables.values()]), self.zeros,
        )  # fmt: skip

    def again(self, wanted: TargetTables, shown: Floats, edges: Floats) -> TargetTables:
        """The tables estimated once more: drawn towards what the other tables say of a pair.

        A table that noise hides is shrunken towards independent columns at first. A model of all tables knows
        better: what it shows of the pair without the pair's own potential.

        shown: what particles show, edges: the potentials, both laid out as `wanted.flat`.
        """
        measured, tables = {m.columns: m for m in self.pairs}, list(wanted.tables)
        for q, pair in enumerate(wanted.pairs):
            m = measured.get(pair)
            if m is None:
                continue
            cells, shape = slice(wanted.starts[q], wanted.starts[q + 1]), tables[q].shape
            first, second, mask = *(self.singles[j] for j in pair), allowed(self.zeros, pair, self.sizes)
            likely = without(shown[cells].reshape(shape), edges[cells].reshape(shape), first, second, mask)
            tables[q] = estimate(m.residual, m.variance, first, second, self.rows, mask, likely)
        return wanted.with_tables(tables)

    def everything(self) -> list[tuple[str, Measurement]]:
        """All measurements, with what each is of."""
        named = [("rows", self.total), ("scores", self.scores)]
        named += [("column", m) for m in self.own] + [("level", m) for ms in self.levels for m in ms]
        named += [("pair", m) for m in self.pairs]
        return [(name, m) for name, m in named if m is not None]


def allowed(zeros: Sequence[Zero], pair: Pair, sizes: Sequence[int]) -> Bools | None:
    """Which cells of a pair can be, where a constraint is about these two columns alone."""
    mask = None
    for zero in zeros:
        if sorted(zero.columns) == list(pair):
            masks = dict(zip(zero.columns, zero.masks, strict=True))
            mask = np.ones([sizes[j] for j in pair], bool) if mask is None else mask
            mask &= ~np.logical_and.outer(masks[pair[0]], masks[pair[1]])
    return mask


def measure(
    counted: Counted,
    purse: Purse,
    variables: DomainVariables,
    *,
    rows: int | None = None,
    matters: Mapping[Pair, float] | None = None,
) -> Measured:
    """Spend the purse on the data.

    rows: a declared number of rows; without one it is counted with noise. matters: by how much more than
    others a pair of variables counts, where it does.
    """
    total = None
    if rows is None:
        part = purse.total * (_PURE_ROWS if purse.pure else _ROWS)
        total = purse.scores(np.array([counted.rows]), purse.amount(part), "number of rows")
    size = max(float(total.values[0] / total.factor), 1.0) if total is not None else float(rows or 1)
    own, levels, chains = _single(counted, purse, variables, size)
    counted, variables = counted.refined(chains), variables.refined(chains)
    many = len(variables.every)
    known = Measured(variables, size, own, levels, (None,) * many, (), total)
    pairs = many * (many - 1) // 2
    fewest = resolution.least(pairs, many, purse.left(pairs), purse.max_rows, purse.pure)
    known = replace(
        known,
        classes=tuple(
            resolution.classes_of(v, f, fewest) for v, f in zip(variables.every, known.fine, strict=False)
        ),
    )
    may = candidates(known.sizes)
    if not may:
        return known
    choose = _chosen if purse.pure else _allocated
    amounts, scores, gain = choose(counted, purse, known, may, matters or {})
    measured = []
    for done, (pair, amount) in enumerate(amounts.items()):
        report("measuring pairs", done, len(amounts))
        measured.append(purse.table(counted.pair(pair, known.classes), pair, amount, "a pair of columns"))
    return replace(known, pairs=tuple(measured), scores=scores, gain=gain)


_Single = tuple[tuple[Measurement, ...], tuple[tuple[Measurement, ...], ...], dict[int, list[Ints]]]


def _single(counted: Counted, purse: Purse, variables: DomainVariables, rows: float) -> _Single:
    """Every variable by itself: its states and its coarser levels, each row in one cell of each table.

    Of numbers and days finer than their bins, also the cells that their grid was cut into, depth by depth.
    """
    sizes = [_sizes(v) for v in variables.all]
    every = [size for own in sizes for size in own]
    share = _PURE_ONE_WAY if purse.pure else budget.one_way_share(purse.total, rows, every)
    parts = iter(purse.total * share * budget.split_one_way(every))
    found, chains = [], {}
    for j, (variable, counts) in enumerate(zip(variables.all, counted.own, strict=True)):
        amounts = [purse.amount(next(parts)) for _ in sizes[j]]
        if variable.ends is not None:
            levels, chains[j] = _cut(variable, counts, purse, amounts, j, rows)
            found.append([levels[-1], *levels[:-1]])
            continue
        tables = [counts, *(np.bincount(level, counts).astype(np.int64) for level in variable.levels)]
        found.append([purse.table(t, (j,), a, "one column") for t, a in zip(tables, amounts, strict=True)])
    return tuple(own for own, *_ in found), tuple(tuple(levels) for _, *levels in found), chains


def _sizes(variable: Variable) -> list[int]:
    """Of its tables: known beforehand, or of a grid the depths that there may be, as what they need."""
    if variable.ends is None:
        return [variable.size, *(int(level.max()) + 1 for level in variable.levels)]
    bins = len(np.unique(variable.states[0]))
    return [max(bins, 2), *[_DEPTH] * grain.depths(variable.size, bins)]


def _cut(
    variable: Variable, counts: Ints, purse: Purse, amounts: Sequence[float], place: int, rows: float
) -> tuple[list[Measurement], list[Ints]]:
    """A grid from its bins down: the measurements, and the cell of each of its states at each depth."""
    bins = np.unique(variable.states[0], return_inverse=True)[1].astype(np.int64)
    cells = bins if bins.max() > 0 else grain.finer(bins, np.array([rows]), 0.0)
    levels: list[Measurement] = []
    chain: list[Ints] = []
    for amount in amounts:
        if cells is None:
            break
        table = np.bincount(cells, counts).astype(np.int64)
        levels.append(purse.table(table, (place,), amount, "one column"))
        chain.append(cells)
        known = variable.along(chain)
        people = of_states(known, levels[-1], levels[:-1], rows)
        cells = grain.finer(cells, people, levels[-1].sigma)
    return levels, chain


_Choice = tuple[dict[Pair, float], Measurement | None, float | None]


def distance(counts: Ints, table: Floats, unit: int = 1) -> int:
    """||t - m||_1 with m in whole numbers, or parts: one row more or less changes it by one, or U parts."""
    return int(np.abs(counts - np.rint(table * unit).astype(np.int64)).sum())


def _allocated(
    counted: Counted, purse: Purse, known: Measured, pairs: Sequence[Pair], matters: Mapping[Pair, float]
) -> _Choice:
    """zCDP: a noisy score for every pair at once, and amounts that minimize the expected error."""
    tables = [known.alone(pair) for pair in pairs]
    exact = np.array(
        [distance(counted.pair(p, known.classes), m, purse.unit) for p, m in zip(pairs, tables, strict=True)]
    )
    scores = purse.scores(exact, purse.amount(purse.total * _SCORES), "dependence of pairs")
    known = replace(known, scores=scores)
    phi = np.array(list(known.dependence().values()))
    shares = np.array([kept_share([known.sizes[j] for j in pair]) for pair in pairs])
    weights = np.array([matters.get(pair, 1.0) for pair in pairs])
    left = purse.left(len(pairs))
    given, expected = budget.allocate(
        tables, phi, shares, weights, known.rows, left, noise=purse.max_rows**2 / 2
    )
    alone = budget.C * float(phi.sum()) * known.rows
    gain = 1 - float(expected.sum()) / alone if alone > 0 else 0.0
    return {p: purse.amount(g) for p, g in zip(pairs, given, strict=True) if g > 0}, scores, gain


def noise_of(own: Measurement, classes: Ints | None) -> float:
    """The summed standard deviations of a variable's classes."""
    members = np.ones(len(own.values)) if classes is None else np.bincount(classes)
    return float(own.variance**0.5 * np.sqrt(members).sum())


def _chosen(
    counted: Counted, purse: Purse, known: Measured, pairs: Sequence[Pair], matters: Mapping[Pair, float]
) -> _Choice:
    """Pure epsilon: pairs chosen one by one by permute-and-flip, dependence less expected noise."""
    choices = purse.total * _PURE_CHOICES
    left = purse.left(2 * len(pairs)) - choices
    cells = np.array([float(np.prod([known.sizes[j] for j in pair])) for pair in pairs])
    wanted = budget.how_many(cells, len(known.sizes), left / purse.max_rows, known.rows)
    noise = np.rint(0.5 * purse.max_rows * np.sqrt(cells) * np.sqrt(cells).mean() * wanted / left)
    noise = np.minimum(noise, 4 * known.rows).astype(np.int64) * purse.unit
    exact = (
        np.array([distance(counted.pair(p, known.classes), known.alone(p), purse.unit) for p in pairs])
        - noise
    )
    remaining: list[Any] = list(range(len(pairs)))
    chosen = []
    for _ in range(wanted):
        place = purse.choice(exact[remaining], purse.amount(choices / wanted), "choice of a pair")
        chosen.append(remaining.pop(place))
    root = np.sqrt(cells[chosen]) * [matters.get(pairs[q], 1.0) ** 0.5 for q in chosen]
    parts = purse.left(len(chosen)) * root / root.sum()
    return {pairs[q]: purse.amount(float(p)) for q, p in zip(chosen, parts, strict=True)}, None, None
