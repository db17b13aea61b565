"""Cells made finer again by an intruder who knows the search (Cohen 2022: downcoding).

A search that writes for each class the least general values that hold its rows says by this that they are not
all under one finer value: else that one would stand there. And one that parts classes while every part has k
rows says that some part would have had fewer. So of all ways to deal finer values out to the rows of a class,
those in which all rows go to one value, or every value has none or k rows, are ruled out.

Which finer value a row has is guessed from its columns that were kept, by what the release itself shows where
cells are fine enough:

    p(j | y) ~ p(j) prod over kept columns a of p(y_a | j)

The intruder deals finer values out by p, row by row, keeps the deals that the search would have left as they
are, and believes in each value as often as it is dealt to a row in these. Who does not know the search
believes p.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.assessment.attacks.beliefs import released_nodes, secrets
from sfumato.assessment.attacks.intruder import Floats, Ints, View, correspondence, look
from sfumato.assessment.attacks.minimality import Finer, finer_values, settled
from sfumato.assessment.attacks.success import NothingToAttack
from sfumato.assessment.reading.alignment import Pair
from sfumato.score import Score
from sfumato.seeds import Key

_DEALS = 500  # of finer values to the rows of a class
_FEWEST = 20  # deals that must be left to believe in
_GROUPS = 2_000  # classes and columns that are looked at, drawn by the key
_LARGEST = 200  # rows of a class: in larger ones nothing is ruled out
_LEVELS = 100  # values of a kept column that is learnt from


@dataclass(frozen=True, eq=False)
class _Column:
    """A quasi-identifier: the finer value of each leaf under each node, and a row's node."""

    finer: Ints
    nodes: Ints
    spread: Floats

    def below(self, node: int) -> Ints:
        """The finer values of a node."""
        return np.unique(self.finer[node, np.flatnonzero(self.spread[node] > 0)])


@dataclass(frozen=True, eq=False)
class _Kept:
    """Columns that were kept: codes of rows and of people over the same values."""

    rows: Ints
    people: Ints
    sizes: tuple[int, ...]


def downcoding(
    pair: Pair,
    known: Sequence[str],
    *,
    k: int,
    finer: Finer,
    parts: bool,
    key: Key,
    truth: str | Sequence[int] | Ints | None = None,
) -> list[Score]:
    """How strongly an intruder who knows the search believes in the finer values that people truly have.

    k: what was asked. finer: the hierarchies, value -> its leaves. parts: whether the search parts every
        class that falls into parts of k rows. truth: whose record is whose; without it only classes are
        judged whose people are known for sure, as exactly they fit it, and no other one.
    """
    view = look(pair, known)
    columns = [
        _Column(finer_values(pair, n, finer.get(n, {})), released_nodes(pair, n), pair.spread[n])
        for n in view.columns
    ]
    groups = [
        (c, people, rows)
        for people, rows in _members(pair, view, truth)
        for c, column in enumerate(columns)
        if len(column.below(int(column.nodes[rows[0]]))) > 1
    ]
    if not groups:
        raise NothingToAttack(
            "no class whose people are known for sure has a cell that could be finer.", hint="see downcoding"
        )
    if len(groups) > _GROUPS:
        chosen = np.sort(key.generator("groups").choice(len(groups), _GROUPS, replace=False))
        groups = [groups[i] for i in chosen]
    kept = _kept(pair, [c for c in pair.columns if c not in view.columns])
    random = key.generator("deals")
    models: dict[tuple[int, int], _Model] = {}
    plain, belief, ruled_out = [], [], []
    for c, people, rows in groups:
        node = int(columns[c].nodes[rows[0]])
        if (c, node) not in models:
            models[c, node] = _Model.learnt(columns[c], node, kept)
        model, theirs, every = models[c, node], kept.people[people], np.arange(len(people))
        true = np.searchsorted(model.below, columns[c].finer[node, view.people[people, c]])
        after, out = _known_search(model.chances(kept.rows[rows]), k if parts else 0, random)
        plain.append(model.chances(theirs)[every, true])
        belief.append(_read(after, kept.rows[rows], theirs)[every, true])
        ruled_out.append(out)
    value, baseline = np.concatenate(belief), np.concatenate(plain)
    return [
        Score(
            name="downcoding",
            section="attack",
            value=float(value.mean()),
            range=(0.0, 1.0),
            better="lower",
            meaning="How strongly, on average, an intruder who knows the search believes in the true value, "
            "one level finer, of cells that were made general. The baseline is the belief of one who does "
            "not know the search. No interval: the beliefs are those about this file, and nobody was drawn.",
            knowledge="the release, and how it was made",
            columns=tuple(known),
            baseline=float(baseline.mean()),
            details={
                "people": len(value),
                "groups": len(groups),
                "ruled_out": float(np.mean(ruled_out)),
                "surer": float((value > baseline + 0.05).mean()),
                "certain": float((value > 0.95).mean()),
                "certain_before": float((baseline > 0.95).mean()),
            },
        )
    ]


def _members(pair: Pair, view: View, truth: str | Sequence[int] | Ints | None) -> Iterator[tuple[Ints, Ints]]:
    """The people and the released rows of each class that is not too large."""
    own = correspondence(pair, truth)
    if own is None:
        yield from ((people, rows) for _, people, rows in settled(view, _LARGEST))
        return
    there = np.flatnonzero(view.may_be(own))  # a record that does not fit is not the person's
    of = view.classes.of[own[there]]
    order = np.argsort(of, kind="stable")
    for some in np.split(there[order], np.cumsum(np.bincount(of, minlength=len(view.classes.rows)))[:-1]):
        if 0 < len(some) <= _LARGEST:
            yield some, own[some]


def _kept(pair: Pair, names: Sequence[str]) -> _Kept:
    """The columns of few values that are exact in the release."""
    rows, people, sizes = [], [], []
    for name in names:
        spread = pair.spread[name]
        if spread.shape[1] <= _LEVELS and (spread.max(axis=1) > 1 - 1e-9).all():
            rows.append(spread.argmax(axis=1)[released_nodes(pair, name)])
            people.append(np.minimum(secrets(pair, name), spread.shape[1] - 1))
            sizes.append(spread.shape[1])
    shape = (pair.released.rows(), pair.original.rows())
    return _Kept(
        np.stack(rows, axis=1) if rows else np.empty((shape[0], 0), np.int64),
        np.stack(people, axis=1) if people else np.empty((shape[1], 0), np.int64),
        tuple(sizes),
    )


@dataclass(frozen=True, eq=False)
class _Model:
    """What the release shows about the finer values of a node: log p(j), and log p(y | j) per kept column."""

    below: Ints
    prior: Floats
    tables: list[Floats]

    @classmethod
    def learnt(cls, column: _Column, node: int, kept: _Kept) -> _Model:
        """From released rows whose own cell lies under one finer value for sure."""
        below, under = column.below(node), column.spread[node] > 0
        of = np.searchsorted(below, column.finer[node, : len(under)])
        shown = np.full(len(column.spread), -1, np.int64)
        for other, line in enumerate(column.spread > 0):
            values = np.unique(of[line])
            if len(values) == 1 and under[line].all():
                shown[other] = values[0]
        values = shown[column.nodes]
        rows = np.flatnonzero(values >= 0)
        counts = np.bincount(values[rows], minlength=len(below)) + 0.5
        tables = []
        for a, size in enumerate(kept.sizes):
            pairs = values[rows] * size + kept.rows[rows, a]
            table = np.bincount(pairs, minlength=len(below) * size).reshape(len(below), size)
            share = np.bincount(kept.rows[:, a], minlength=size) / len(kept.rows)
            smooth = (table + share) / (table.sum(axis=1, keepdims=True) + 1)
            tables.append(np.log(np.maximum(smooth, 1e-12)))
        return cls(below, np.log(counts / counts.sum()), tables)

    def chances(self, kept: Ints) -> Floats:
        """p(j | y).  kept: (people or rows, kept columns) -> (people or rows, finer values)."""
        log = np.tile(self.prior, (len(kept), 1))
        for a, table in enumerate(self.tables):
            log += table[:, kept[:, a]].T
        odds = np.exp(log - log.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _known_search(chances: Floats, k: int, random: np.random.Generator) -> tuple[Floats, float]:
    """The belief about each row, and the share of deals that are ruled out."""
    rows, values = chances.shape
    edges = np.cumsum(chances, axis=1)
    dealt = (random.random((_DEALS, rows, 1)) > edges[None, :, :-1]).sum(axis=2)
    counts = np.stack([(dealt == j).sum(axis=1) for j in range(values)], axis=1)
    possible = (counts > 0).sum(axis=1) > 1
    if k:
        possible &= ((counts > 0) & (counts < k)).any(axis=1)
    if possible.sum() < _FEWEST:
        return _not_all_one(chances), float(1 - possible.mean())
    some = dealt[possible]
    return np.stack([(some == j).mean(axis=0) for j in range(values)], axis=1), float(1 - possible.mean())


def _not_all_one(chances: Floats) -> Floats:
    """p(j | not all rows have one value), exactly."""
    together = np.exp(np.log(np.maximum(chances, 1e-300)).sum(axis=0))
    left = max(1e-12, 1 - float(together.sum()))
    out = np.clip((chances - together) / left, 0.0, 1.0)
    return np.asarray(out / np.maximum(out.sum(axis=1, keepdims=True), 1e-12))


def _read(after: Floats, rows: Ints, people: Ints) -> Floats:
    """The belief about each person: that about the rows with their kept values, or all if none has them."""
    same = (rows[None, :, :] == people[:, None, :]).all(axis=2).astype(float)
    same[same.sum(axis=1) == 0] = 1.0
    return np.asarray((same @ after) / same.sum(axis=1, keepdims=True))
