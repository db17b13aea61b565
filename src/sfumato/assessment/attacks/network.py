"""A Bayesian network along the hierarchies (Katirai p. 31-34), turned against the release.

Katirai builds a network in which the sensitive value and each column hang together, each column has its
generalizations as further nodes (zip5 - zip4 - zip3), and a generalized cell is a missing one whose
ancestor is seen. It is left open there to attack with it; here it is done, in its simplest structure: the
sensitive value is the parent of every leaf, and each leaf of its generalizations. An ancestor is a
function of its leaf, so the ancestors' tables are 0/1: what a released value covers. What a generalized
cell stands for is learnt by expectation and maximization, not taken as even.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.align import Pair
from sfumato.assessment.attacks.beliefs import check_secret, released_nodes, secrets
from sfumato.assessment.attacks.intruder import Floats, Ints, knows, look
from sfumato.assessment.attacks.success import CONFIDENCE, rate
from sfumato.score import Score
from sfumato.table import Table

_PRIOR = 0.5  # pseudo-count of every cell of the tables: what was never released is unlikely, not impossible


@dataclass(frozen=True, eq=False)
class Network:
    """The logarithms of P(secret), (secrets,), and per column of P(leaf | secret), (secrets, leaves + 1)."""

    secret: Floats
    columns: tuple[Floats, ...]

    def guess(self, people: Ints) -> Ints:
        """The most probable secret of each person, given the true values of the columns."""
        total = np.repeat(self.secret[None, :], len(people), axis=0)
        for c, table in enumerate(self.columns):
            total += table[:, np.minimum(people[:, c], table.shape[1] - 1)].T
        return np.asarray(total.argmax(axis=1), np.int64)


def fit(released: Ints, covers: Sequence[Floats], nodes: Ints, spread: Floats, rounds: int = 50) -> Network:
    """Expectation and maximization over the released records, whose cells may be generalized.

    released: (records, columns) nodes; covers: per column (nodes, leaves + 1), 0 or 1; nodes: the released
    sensitive cells; spread: (sensitive nodes, secrets), what they may stand for.
    """
    secrets_ = spread.shape[1]
    # A record's secret is fixed by its cell where that is exact, else shared out among what it covers.
    belief = spread[nodes]
    tables = [np.full((secrets_, c.shape[1]), 1 / c.shape[1]) for c in covers]
    prior = belief.sum(axis=0) + _PRIOR
    before = -np.inf
    for _ in range(rounds):
        prior = (belief.sum(axis=0) + _PRIOR) / (belief.sum() + _PRIOR * secrets_)
        tables = [_maximize(belief, released[:, c], cover, tables[c]) for c, cover in enumerate(covers)]
        belief, fitness = _expect(prior, tables, released, covers, (spread > 0)[nodes])
        if fitness - before < 1e-7 * abs(fitness):
            break
        before = fitness
    return Network(np.log(prior), tuple(np.log(t) for t in tables))


def _maximize(belief: Floats, cells: Ints, covers: Floats, table: Floats) -> Floats:
    """P(leaf | secret) from the expected leaves: a generalized cell is shared out by the present table."""
    seen = np.zeros((len(covers), belief.shape[1]))
    np.add.at(seen, cells, belief)  # (nodes, secrets): how often a released value goes with a secret
    mass = np.maximum(covers @ table.T, 1e-300)  # P(node | secret)
    leaves = table * ((seen / mass).T @ covers) + _PRIOR
    return np.asarray(leaves / leaves.sum(axis=1, keepdims=True))


def _expect(
    prior: Floats,
    tables: Sequence[Floats],
    released: Ints,
    covers: Sequence[Floats],
    possible: NDArray[np.bool_],
) -> tuple[Floats, float]:
    """P(secret | record) and the log-likelihood of the release."""
    total = np.where(possible, np.log(prior)[None, :], -np.inf)
    for c, (table, cover) in enumerate(zip(tables, covers, strict=True)):
        total = total + np.log(np.maximum(cover @ table.T, 1e-300))[released[:, c]]
    top = total.max(axis=1, keepdims=True)
    weights = np.exp(total - top)
    sums = weights.sum(axis=1, keepdims=True)
    return weights / sums, float((top + np.log(sums)).sum())


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
    their leaves is meant, and uses records whose sensitive cell is generalized.
    """
    check_secret(known, sensitive)
    view = look(pair, known)
    nodes, spread = released_nodes(pair, sensitive), pair.spread[sensitive]
    network = fit(view.released, [c.astype(np.float64) for c in view.covers], nodes, spread)
    truth = secrets(pair, sensitive)
    others = None
    if control is not None:
        others = network.guess(look(pair, known, control).people) == secrets(pair, sensitive, control)
    plain = int((spread[nodes].sum(axis=0)).argmax())
    return [
        rate(
            f"attribute inference, Bayesian network, {sensitive}",
            network.guess(view.people) == truth,
            meaning=f"Share of people whose {sensitive} is guessed right by a Bayesian network along the "
            "hierarchies, learnt from the release.",
            knowledge=knows(known, pair=pair),
            columns=(*known, sensitive),
            baseline=float((truth == plain).mean()),
            control=others,
            confidence=confidence,
        )
    ]
