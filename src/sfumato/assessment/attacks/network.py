"""A Bayesian network along the hierarchies (Katirai p. 31-34), turned against the release.

Katirai builds a network in which the sensitive value and each column hang together, each column has its
generalizations as further nodes (zip5 - zip4 - zip3), further links are added where columns tell about each
other (race about zip), and a generalized cell is a missing one whose ancestor is seen. It is left open there
to attack with it; here it is done. The sensitive value is a parent of every leaf, and each leaf of its
generalizations; an ancestor is a function of its leaf, so the ancestors' tables are 0/1: what a released
value covers. Besides, a leaf may depend on a level of one other column: the links are Chow and Liu's forest
given the secret (`forest`), which makes it a tree-augmented network. What a generalized cell stands for is
learnt by expectation and maximization, not taken as even.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.attacks.beliefs import check_secret, in_turn, learnt_from, released_nodes, secrets
from sfumato.assessment.attacks.intruder import Distinct, Floats, Ints, knows, look
from sfumato.assessment.attacks.success import CONFIDENCE, rate
from sfumato.assessment.reading.alignment import Pair
from sfumato.score import Score
from sfumato.table import Table

_PRIOR = 0.5  # pseudo-count of every cell of the tables: what was never released is unlikely, not impossible
_SHRUNK = 5.0  # pseudo-records by which a table given another column is drawn to the one without it
_WORK = 50_000_000  # steps of one round for one link: dearer links are left out
_CELLS = 2_000_000  # of a table over the secret and two columns: larger ones are too thin to learn from
_STEPS = 2_000_000_000  # of all rounds: where a round is dear there are fewer, but at least five


@dataclass(frozen=True, eq=False)
class Dependence:
    """A leaf that depends on a level of another column: log P(leaf | secret, group), for the groups seen.

    parent: the other column; group: of each of its leaves, -1 for none; table: (groups, secrets, leaves + 1).
    """

    parent: int
    group: Ints
    table: Floats


@dataclass(frozen=True, eq=False)
class BeliefNetwork:
    """The logarithms of P(secret), (secrets,), and per column of P(leaf | secret), (secrets, leaves + 1)."""

    secret: Floats
    columns: tuple[Floats, ...]
    links: tuple[Dependence | None, ...]

    def guess(self, people: Ints) -> Ints:
        """The most probable secret of each person, given the true values of the columns."""
        total = np.repeat(self.secret[None, :], len(people), axis=0)
        for c, (table, link) in enumerate(zip(self.columns, self.links, strict=True)):
            cells = np.minimum(people[:, c], table.shape[1] - 1)
            found = table[:, cells].T
            if link is not None:
                group = link.group[np.minimum(people[:, link.parent], len(link.group) - 1)]
                found = np.where(group[:, None] >= 0, link.table[group, :, cells], found)
            total += found
        return np.asarray(total.argmax(axis=1), np.int64)


def fit(
    released: Ints, covers: Sequence[Floats], nodes: Ints, spread: Floats, rounds: int = 50
) -> BeliefNetwork:
    """Expectation and maximization over the released records, whose cells may be generalized.

    released: (records, columns) nodes; covers: per column (nodes, leaves + 1), 0 or 1; nodes: the released
    sensitive cells; spread: (sensitive nodes, secrets), what they may stand for.
    """
    secrets_ = spread.shape[1]
    belief = _believed(spread, nodes)
    levels = [level_of(c) for c in covers]
    groups = np.column_stack([level.of_node[released[:, c]] for c, level in enumerate(levels)])
    parents = forest(groups, [level.size for level in levels], belief.likeliest, secrets_)
    columns = [
        _Column(released[:, c], cover, secrets_, *((groups[:, p], levels[p].size) if p >= 0 else ()))
        for c, (cover, p) in enumerate(zip(covers, parents, strict=True))
    ]
    prior = belief.counts() + _PRIOR
    before = -np.inf
    for _ in range(min(rounds, max(5, _STEPS // max(1, sum(c.steps for c in columns))))):
        prior = (belief.counts() + _PRIOR) / (belief.counts().sum() + _PRIOR * secrets_)
        for column in columns:
            column.maximize(belief)
        belief, fitness = belief.expect(prior, columns)
        if fitness - before < 1e-7 * abs(fitness):
            break
        before = fitness
    links = [
        Dependence(p, levels[p].of_leaf, np.log(column.given)) if column.given is not None else None
        for p, column in zip(parents, columns, strict=True)
    ]
    return BeliefNetwork(np.log(prior), tuple(np.log(column.table) for column in columns), tuple(links))


class _Column:
    """The tables of one column while they are learnt: P(leaf | secret), and given a group where linked.

    cells: the released values of the records. group: of the linked column, -1 where a record says nothing.
    size: how many groups there are; of those that no record has, people may be all the same.
    """

    def __init__(
        self, cells: Ints, covers: Floats, secrets_: int, group: Ints | None = None, size: int = 0
    ) -> None:
        from scipy.sparse import csr_matrix

        pairs = np.column_stack([np.full(len(cells), -1) if group is None else group, cells])
        self.distinct = Distinct.among(pairs)  # records that look alike in both columns are one
        self.group, self.cell = (np.ascontiguousarray(c) for c in self.distinct.rows.T)
        self.order = np.argsort(self.distinct.of, kind="stable")
        self.first = np.cumsum(self.distinct.sizes) - self.distinct.sizes
        leaves = covers.shape[1]
        # Most values cover few leaves, an exact one a single one.
        self.covers = csr_matrix(covers)
        self.covered = self.covers.indptr.astype(np.int64), self.covers.indices.astype(np.int64)
        at = np.arange(len(self.cell))
        self.alone = csr_matrix(
            ((self.group < 0).astype(float), (self.cell, at)), (len(covers), len(at))
        )  # the records of each value whose group is not known
        self.table: Floats = np.full((secrets_, leaves), 1 / leaves)
        self.given: Floats | None = None
        if size * secrets_ * leaves <= _WORK and len(self.group) * secrets_ * leaves <= _WORK and size:
            self.given = np.full((size, secrets_, leaves), 1 / leaves)
        else:
            self.alone.data[:] = 1.0  # no table is given a group

    @property
    def steps(self) -> int:
        """What a round costs, about."""
        rows = self.covers.shape[0] if self.given is None else len(self.group)
        return int(rows * self.table.size)

    def mass(self) -> Floats:
        """P(released value | secret), given the group where it is known: (distinct records, secrets)."""
        from sfumato.assessment.attacks._network_kernels import masses

        out = (self.covers @ self.table.T)[self.cell]
        if self.given is not None:
            masses(self.given, self.group, self.cell, *self.covered, out)
        return np.asarray(np.maximum(out, 1e-300))

    def maximize(self, belief: _Settled | _Shared) -> None:
        """Tables from the expected leaves: a generalized cell is shared out by the present tables."""
        from sfumato.assessment.attacks._network_kernels import expected

        # how often what a record shows goes with a secret
        seen = belief.together(self)
        share = seen / self.mass()
        leaves = self.table * (self.covers.T @ (self.alone @ share)).T
        if self.given is None:
            self.table = _normal(leaves + _PRIOR)
            return
        within = np.zeros_like(self.given)
        expected(self.given, share, self.group, self.cell, *self.covered, within)
        self.table = _normal(leaves + within.sum(axis=0) + _PRIOR)
        self.given = _normal(within + _SHRUNK * self.table[None])


def _normal(table: Floats) -> Floats:
    return np.asarray(table / table.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False)
class _Settled:
    """Every record's secret, known because its released cell is exact; of so many secrets."""

    likeliest: Ints
    secrets: int

    def counts(self) -> Floats:
        """How many records have each secret."""
        return np.bincount(self.likeliest, minlength=self.secrets).astype(np.float64)

    def together(self, column: _Column) -> Floats:
        """How often what a record shows in a column goes with a secret: (distinct records, secrets)."""
        rows = len(column.distinct.rows)
        keys = column.distinct.of * self.secrets + self.likeliest
        return np.bincount(keys, minlength=rows * self.secrets).reshape(rows, -1).astype(np.float64)

    def expect(self, prior: Floats, columns: Sequence[_Column]) -> tuple[_Settled, float]:
        """Nothing is left to be believed; the log-likelihood of the release."""
        total = np.log(prior)[self.likeliest]
        for column in columns:
            total += np.log(column.mass()[column.distinct.of, self.likeliest])
        return self, float(total.sum())


@dataclass(frozen=True, eq=False)
class _Shared:
    """P(secret | record), (records, secrets), where some cells stand for several; and what is possible."""

    belief: Floats
    possible: NDArray[np.bool_]

    @property
    def likeliest(self) -> Ints:
        """Of each record."""
        return np.asarray(self.belief.argmax(axis=1), np.int64)

    def counts(self) -> Floats:
        """How many records have each secret, as far as is believed."""
        return np.asarray(self.belief.sum(axis=0))

    def together(self, column: _Column) -> Floats:
        """As of those that are settled."""
        return np.asarray(np.add.reduceat(self.belief[column.order], column.first, axis=0))

    def expect(self, prior: Floats, columns: Sequence[_Column]) -> tuple[_Shared, float]:
        """P(secret | record) and the log-likelihood of the release."""
        total = np.where(self.possible, np.log(prior)[None, :], -np.inf)
        for column in columns:
            total = total + np.log(column.mass())[column.distinct.of]
        top = total.max(axis=1, keepdims=True)
        weights = np.exp(total - top)
        sums = weights.sum(axis=1, keepdims=True)
        return replace(self, belief=weights / sums), float((top + np.log(sums)).sum())


def _believed(spread: Floats, nodes: Ints) -> _Settled | _Shared:
    """A record's secret is fixed by its cell where that is exact, else shared out among what it covers."""
    exact = (spread > 0).sum(axis=1) == 1
    if exact[nodes].all():
        return _Settled(spread.argmax(axis=1)[nodes].astype(np.int64), spread.shape[1])
    return _Shared(spread[nodes], (spread > 0)[nodes])


def bayesian_network(
    pair: Pair,
    known: Sequence[str],
    sensitive: str,
    *,
    control: Table | None = None,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """Guess the most probable sensitive value in a Bayesian network learnt from the release.

    Unlike a model of exact cells, it uses generalized cells for what they may stand for, learns which of
    their leaves is meant, and uses records whose sensitive cell is generalized. Known columns that tell
    about each other are linked, so that what they say together counts.
    """
    check_secret(known, sensitive)
    view = look(pair, known)
    nodes, spread = released_nodes(pair, sensitive), pair.spread[sensitive]
    used = learnt_from(len(nodes), spread.shape[1])
    network = fit(view.released[used], [c.astype(np.float64) for c in view.covers], nodes[used], spread)
    truth = secrets(pair, sensitive)
    others = None
    if control is not None:
        strangers = look(pair, known, control).persons
        others = in_turn(network.guess, strangers, spread.shape[1]) == secrets(pair, sensitive, control)
    plain = int((spread[nodes].sum(axis=0)).argmax())
    return [
        rate(
            f"attribute inference, Bayesian network, {sensitive}",
            in_turn(network.guess, view.persons, spread.shape[1]) == truth,
            meaning=f"Share of people whose {sensitive} is guessed right by a Bayesian network along the "
            "hierarchies, learnt from the release.",
            knowledge=knows(known, pair=pair),
            columns=(*known, sensitive),
            baseline=float((truth == plain).mean()),
            control=others,
            confidence=confidence,
            details={"trained_on": len(used)},
        )
    ]


# -- which columns hang together ----------------------------------------------------------------------
#
# A link runs from a level of one column to the leaves of another, as in Katirai's figure where race
# predicts the zip code with a certain specificity. The level is the finest one at which the release always
# says where a record stands: leaves that some released value covers together are one group. A cell that
# covers everything says nothing and joins nothing.


@dataclass(frozen=True, eq=False)
class ColumnLevel:
    """The groups of a column: of each leaf (leaves + 1,) and of each released value (nodes,); -1 for none."""

    of_leaf: Ints
    of_node: Ints
    size: int


def level_of(covers: Floats) -> ColumnLevel:
    """The groups of a column.  covers: (nodes, leaves + 1), 0 or 1; the last leaf is one nobody has."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    seen = covers[:, :-1] > 0
    telling = ~seen.all(axis=1)
    joined = csr_matrix(seen[telling], dtype=np.int32)  # counts of values: 256 of them must not be none
    size, of_leaf = connected_components(joined.T @ joined, directed=False)
    of_node = np.where(telling & seen.any(axis=1), of_leaf[seen.argmax(axis=1)], -1)
    return ColumnLevel(np.append(of_leaf, -1).astype(np.int64), of_node.astype(np.int64), int(size))


def forest(groups: Ints, sizes: Sequence[int], secret: Ints, secrets_: int) -> list[int]:
    """For each column its parent among the columns, or -1: Chow and Liu's tree, given the secret.

    groups: (records, columns), -1 where a cell says nothing. secret: the likeliest one of each record.
    The weight of a link is the information of the two columns about each other given the secret, less what
    so many cells show by chance, (A - 1)(B - 1) / 2N per secret; links that are not above it are left out.
    """
    links = []
    for a, b in combinations(range(groups.shape[1]), 2):
        gain = _information(secret, groups[:, a], groups[:, b], (secrets_, sizes[a], sizes[b]))
        if gain > 0:
            links.append((gain, a, b))
    return _oriented(sorted(links, reverse=True), groups.shape[1])


def _information(secret: Ints, a: Ints, b: Ints, shape: tuple[int, int, int]) -> float:
    """I(A; B | S) in nats per record, less its bias."""
    there = (a >= 0) & (b >= 0)
    if not there.any() or np.prod(shape, dtype=float) > _CELLS:
        return 0.0
    flat = np.ravel_multi_index((secret[there], a[there], b[there]), shape)
    n = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
    rows, columns, all_ = n.sum(axis=2, keepdims=True), n.sum(axis=1, keepdims=True), n.sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(n > 0, n * np.log(n * all_[:, None, None] / (rows * columns)), 0.0)
    used = (rows > 0).sum(axis=(1, 2)) - 1, (columns > 0).sum(axis=(1, 2)) - 1
    bias = float((np.maximum(used[0], 0) * np.maximum(used[1], 0)).sum()) / 2
    return float((terms.sum() - bias) / there.sum())


def _oriented(links: Sequence[tuple[float, int, int]], columns: int) -> list[int]:
    """The heaviest links that close no circle, each pointing away from the first column of its tree."""
    tree = list(range(columns))

    def root(c: int) -> int:
        while tree[c] != c:
            c = tree[c]
        return c

    beside: list[list[int]] = [[] for _ in range(columns)]
    for _, a, b in links:
        if root(a) != root(b):
            tree[root(a)] = root(b)
            beside[a].append(b)
            beside[b].append(a)
    parents = [-1] * columns
    done: NDArray[np.bool_] = np.zeros(columns, bool)
    for start in range(columns):
        waiting = [] if done[start] else [start]
        while waiting:
            here = waiting.pop()
            done[here] = True
            for other in beside[here]:
                if not done[other]:
                    parents[other] = here
                    waiting.append(other)
    return parents
