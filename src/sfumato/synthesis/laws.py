"""Building blocks with noise: the laws that a sampler draws from, as whole-number weights.

The second step of PeGS. A `Prior` says how much is added to each category; with the counts it gives the
weights that `perturbation` has the proof for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.synthesis.blocks import Block, Blocks, law_counts
from sfumato.synthesis.perturbation import MAX_ROWS, OrdinalSmoothing, diverse_weights
from sfumato.synthesis.structural_zeros import packed

if TYPE_CHECKING:
    from sfumato.synthesis import _kernels
    from sfumato.synthesis.structural_zeros import _kernels as _restricted

_DENSE_CELLS = 2**22  # a table up to this size holds every key


@dataclass(frozen=True, eq=False)
class Prior:
    """What is added to a variable's counts.

    unit: the weight of one count. least: (C,) whole numbers, added to every law.
    log_l: instead of that, the entropy that each law is lifted to.
    model: (keys, C) the weights of a model, instead of counts.
    """

    unit: int
    least: NDArray[np.int64]
    spread: OrdinalSmoothing
    log_l: float | None = None
    model: NDArray[np.uint64] | None = None


@dataclass(frozen=True, eq=False)
class Law:
    """The laws of one variable: (keys that are stored + laws without data, C) weights.

    keys: the stored keys, or None where every key is. own: (groups, C) the codes of a detailed column by its
    place within the group, -1 where there is none; None for other columns.
    model: the laws are those of a model that was paid for once: nothing to reset.
    """

    block: Block
    weights: NDArray[np.uint64]
    keys: NDArray[np.uint64] | None
    own: NDArray[np.int64] | None
    model: bool = False

    @property
    def size(self) -> int:
        """How many categories its laws have: for a detailed column those of the largest group."""
        return int(self.weights.shape[1])

    @property
    def without_data(self) -> int:
        """Where the laws without data begin: one, or one for each group. -1 where none is needed."""
        if self.model:
            return -1
        return len(self.weights) - (1 if self.own is None else len(self.own))


@dataclass(frozen=True, eq=False)
class LawBook:
    """The laws of all variables, in the order they are drawn in, and the arrays that kernels read."""

    blocks: Blocks
    laws: tuple[Law, ...]

    @classmethod
    def of(cls, blocks: Blocks, priors: tuple[Prior, ...]) -> LawBook:
        """Inject noise into the building blocks."""
        if blocks.blocks[0].counts.total >= MAX_ROWS:
            raise DataError("more rows than the sampler's whole numbers hold.", hint="sample the table first")
        laws = [_law(blocks, b, p) for b, p in zip(blocks.blocks, priors, strict=True)]
        return cls(blocks, tuple(laws))

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """For each column of the domain, which variable it is."""
        drawn = [law.block.column for law in self.laws]
        return np.array([drawn.index(n) for n in self.blocks.domain.names])

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The narrowest type that holds every code."""
        widest = max(*self.blocks.domain.sizes, *(law.size for law in self.laws))
        return np.dtype(np.uint8 if widest <= 2**8 else np.uint16 if widest <= 2**16 else np.uint32)

    @cached_property
    def shape(self) -> _kernels.LawLayout:
        """Which laws belong to which variable."""
        from sfumato.synthesis import _kernels

        place = {law.block.column: i for i, law in enumerate(self.laws)}
        m = max(1, *(len(law.block.parents) for law in self.laws))
        parents, strides = np.zeros((len(self.laws), m), np.int64), np.zeros((len(self.laws), m), np.int64)
        group, stride = np.zeros(len(self.laws), np.int64), np.zeros(len(self.laws), np.int64)
        for i, law in enumerate(self.laws):
            sizes = law.block.counts.shape[:-1]
            for t, name in enumerate(law.block.parents):
                parents[i, t], strides[i, t] = place[name], math.prod(sizes[t + 1 :])
            if law.own is not None:
                group[i], stride[i] = place[self.blocks.domain.details[law.block.column].group], 1
        rows = np.array([len(law.weights) for law in self.laws])
        cells = np.array([law.weights.size for law in self.laws])
        sizes_ = np.array([law.size for law in self.laws])
        prior = np.array([law.without_data for law in self.laws])
        first = np.cumsum(rows) - rows, np.cumsum(cells) - cells
        return _kernels.LawLayout(parents, strides, *first, sizes_, prior, group, stride)

    @cached_property
    def exact(self) -> _kernels.Laws:
        """Totals and cumulative weights."""
        from sfumato.synthesis import _kernels

        totals, cumulative = [], []
        for law in self.laws:
            totals.append(np.empty(len(law.weights), np.uint64))
            cumulative.append(np.empty_like(law.weights))
            _kernels.cumulate(law.weights, cumulative[-1], totals[-1])
        flat = np.concatenate([c.ravel() for c in cumulative])
        none = np.empty(0, np.uint32), np.empty(0, self.dtype)
        return _kernels.Laws(np.concatenate(totals), flat, *none)

    @cached_property
    def quick(self) -> _kernels.Laws:
        """Alias tables, for seeded runs."""
        from sfumato.synthesis import _kernels

        thresholds, aliases = [], []
        for law in self.laws:
            thresholds.append(np.empty(law.weights.shape, np.uint32))
            aliases.append(np.empty(law.weights.shape, self.dtype))
            _kernels.make_aliases(law.weights, thresholds[-1], aliases[-1])
        none = np.empty(0, np.uint64)
        flat = (np.concatenate([a.ravel() for a in arrays]) for arrays in (thresholds, aliases))
        return _kernels.Laws(none, none, *flat)

    @property
    def restricted(self) -> bool:
        """Whether some table is hashed or some combination is forbidden."""
        return any(law.keys is not None for law in self.laws) or bool(self._plain_zeros)

    @property
    def _plain_zeros(self) -> list[Any]:
        """The zeros that bind while drawing; details are within their group by the way they are drawn."""
        domain = self.blocks.domain
        details = {domain.place(n) for n in domain.details}
        return [z for z in domain.zeros if not details & set(z.columns)]

    @cached_property
    def slots(self) -> _restricted.Slots:
        """The hashed tables."""
        from sfumato.synthesis.structural_zeros import _kernels as restricted

        first, masks, keys, laws = [], [], [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        used = 0
        for law in self.laws:
            first.append(used)
            masks.append(-1 if law.keys is None else 2 ** max(1, 2 * len(law.keys)).bit_length() - 1)
            if law.keys is not None:
                keys.append(np.zeros(masks[-1] + 1, np.uint64))
                laws.append(np.full(masks[-1] + 1, -1, np.int64))
                restricted.fill_slots(law.keys, masks[-1], keys[-1], laws[-1])
                used += masks[-1] + 1
        return restricted.Slots(np.array(first), np.array(masks), np.concatenate(keys), np.concatenate(laws))

    @cached_property
    def zeros(self) -> _restricted.Zeros:
        """The structural zeros, by variables in the order they are drawn in."""
        return packed(self._plain_zeros, self.order.tolist())

    def codes(self, x: NDArray[Any]) -> NDArray[Any]:
        """The state (variables, rows) as codes of the domain (columns, rows)."""
        out = x if (self.order == np.arange(len(x))).all() else x[self.order]
        for column, law in zip(self.order.argsort(), self.laws, strict=True):
            if law.own is not None:
                group = self.blocks.domain.place(self.blocks.domain.details[law.block.column].group)
                out[column] = law.own[out[group], out[column]]
        return out


def _law(blocks: Blocks, block: Block, prior: Prior) -> Law:
    """One variable's weights: unit * n_j + a_j, Eq. (6) times a common factor; or those of a model."""
    if prior.model is not None:
        laws, every = prior.model, np.ones(prior.model.shape, bool)
        if prior.log_l is not None:
            laws = diverse_weights(prior.model.astype(np.int64), every, prior.log_l)
        return Law(block, laws, None, None, model=True)
    keys, counts = law_counts(block.counts)
    counts = counts.astype(np.int64)  # weighted counts are whole numbers of units
    own = None
    possible = np.ones((1, counts.shape[1]), bool)
    which = np.zeros(len(keys), np.int64)
    if block.column in blocks.domain.details:
        own, possible, counts, which = _within(blocks, block, keys, counts)
    flat = np.zeros(len(keys), np.uint64)
    for axis, size in enumerate(block.counts.shape[:-1]):
        flat = flat * np.uint64(size) + keys[:, axis]
    cells = math.prod(block.counts.shape[:-1]) * counts.shape[1]
    if cells <= _DENSE_CELLS:
        rows = cells // counts.shape[1]
        full, groups = np.zeros((rows, counts.shape[1]), np.int64), np.zeros(rows, np.int64)
        full[flat.astype(np.int64)] = counts
        if own is not None:
            axis = block.parents.index(blocks.domain.details[block.column].group)
            groups = np.indices(block.counts.shape[:-1])[axis].ravel()
        counts, which, stored = full, groups, None
    else:
        stored = flat
    counts = np.concatenate([counts, np.zeros((len(possible), counts.shape[1]), np.int64)])
    mask = possible[np.concatenate([which, np.arange(len(possible))])]
    return Law(block, _weights(counts, mask, prior), stored, own)


def _weights(counts: NDArray[np.int64], possible: NDArray[np.bool_], prior: Prior) -> NDArray[np.uint64]:
    if prior.log_l is not None:
        return diverse_weights(counts, possible, prior.log_l)
    added = np.broadcast_to(prior.least, counts.shape[1:])
    if sum(map(int, added)) >= 2**62:  # public: the prior and the levels, not the counts
        raise ParameterError(
            "so large a prior on so many levels exceeds the sampler's whole numbers.",
            hint="a larger epsilon, fewer rows, or a coarser column",
        )
    spread = counts if prior.spread.whole == 1 else counts @ prior.spread.shares.T
    weights = np.where(possible, prior.unit * spread + prior.least, 0)
    empty = weights.sum(axis=1) == 0  # no data and no prior: even, as Eq. (6) tends to
    weights[empty] = possible[empty]
    return weights.astype(np.uint64)


def _within(
    blocks: Blocks, block: Block, keys: NDArray[np.uint32], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """A detailed column by its place within the group: the codes, which places there are, and the counts."""
    rule = blocks.domain.details[block.column]
    axis = block.parents.index(rule.group)
    table = rule.possible(block.counts.codebooks[axis], block.counts.codebooks[-1])
    width = int(table.sum(axis=1).max())
    own = np.full((len(table), width), -1, np.int64)
    for g, row in enumerate(table):
        own[g, : row.sum()] = np.flatnonzero(row)
    which = keys[:, axis].astype(np.int64)
    mine = np.where(own[which] >= 0, np.take_along_axis(counts, np.maximum(own[which], 0), axis=1), 0)
    return own, own >= 0, mine, which
