"""PeGS with hashed tables and structural zeros, row by row. See `sfumato.synthesis._kernels`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato._chacha import below, chacha_rows
from sfumato._compilation import compiled
from sfumato.synthesis._kernels import (
    BATCH,
    REDRAWS,
    Codes,
    Ints,
    LawLayout,
    Seeds,
    Words,
    redrawn,
    seed_rows,
)


class Slots(NamedTuple):
    """Hashed tables.  first, mask: (M,) where a variable's slots begin and how many there are less one;
    mask -1 where every key has its law. keys, laws: (slots,), law -1 where free."""

    first: Ints
    mask: Ints
    keys: Words
    laws: Ints


class Zeros(NamedTuple):
    """Structural zeros: number z is columns[first[z] : first[z + 1]], each with a mask of its codes that
    begins at cell in masks."""

    first: Ints
    columns: Ints
    cell: Ints
    masks: NDArray[np.bool_]


@compiled
def _slot(k: np.uint64, mask: int) -> np.int64:
    return np.int64((k * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & mask


@compiled
def fill_slots(keys: Words, mask: int, slot_keys: Words, slot_laws: Ints) -> None:
    """Key number l has law l.  slot_keys, slot_laws: (mask + 1,) with law -1 where free."""
    for law in range(len(keys)):
        slot = _slot(keys[law], mask)
        while slot_laws[slot] >= 0:
            slot = (slot + 1) & mask
        slot_keys[slot], slot_laws[slot] = keys[law], law


@compiled
def find_law(k: np.uint64, slots: Slots, i: int, unseen: int) -> Any:
    """The law of a key of variable i; `unseen` if no row had it."""
    first, mask = slots.first[i], slots.mask[i]
    if mask < 0:
        return np.int64(k)
    slot = _slot(k, mask)
    while slots.laws[first + slot] >= 0:
        if slots.keys[first + slot] == k:
            return slots.laws[first + slot]
        slot = (slot + 1) & mask
    return unseen


@compiled
def forbid(i: int, known: int, zeros: Zeros, x: Codes, forbidden: NDArray[np.bool_]) -> bool:
    """Which categories of x_i the other variables rule out; with i = -1, whether x breaks a zero at all.

    known: the variables before this number have their value already; a zero with a later one rules out
    nothing yet.
    """
    forbidden[:] = False
    broken = False
    for z in range(len(zeros.first) - 1):
        own, others = -1, True
        for e in range(zeros.first[z], zeros.first[z + 1]):
            column = zeros.columns[e]
            if column == i:
                own = zeros.cell[e]
            elif column >= known or not zeros.masks[zeros.cell[e] + np.int64(x[column])]:
                others = False
        if others and own >= 0:
            for j in range(len(forbidden)):
                forbidden[j] |= zeros.masks[own + j]
        broken |= others and i < 0
    return broken


@compiled
def pegs_general(
    key: NDArray[np.uint32],
    block: int,
    sweeps: int,
    reset: bool,
    first_row: int,
    seeds: Seeds,
    shape: LawLayout,
    slots: Slots,
    zeros: Zeros,
    cumulative: Words,
    out: Codes,
) -> int:
    """PeGS and PeGS.rs row by row: with tables that hold only keys that occur, and laws restricted to the
    categories that no structural zero forbids. Gives the number of blocks that got no seed without a zero
    in 10,000 tries. The same words give the same rows as in the quicker loops.
    """
    m, rows = out.shape
    x, forbidden = np.empty((m, 1), out.dtype), np.empty(shape.sizes.max(), np.bool_)
    batch = max(1, BATCH // block) * block
    words = np.empty((sweeps, batch, seeds.words + m), np.uint64)
    spare = np.empty((1, seeds.words), np.uint64)
    visited = np.empty((m, block * sweeps), np.uint64)
    failed = 0
    for start in range(0, rows, block):
        at = start % batch
        if at == 0:
            for sweep in range(sweeps):
                chacha_rows(key, sweep, first_row + start, words[sweep])
        seed_rows(words[0, at : at + 1], seeds, shape.sizes, x)
        tries = 0
        while forbid(-1, m, zeros, x[:, 0], forbidden) and tries < 10_000:
            chacha_rows(key, REDRAWS + REDRAWS // 2 + tries, first_row + start, spare)
            seed_rows(spare, seeds, shape.sizes, x)
            tries += 1
        failed += tries == 10_000
        for visit in range(block * sweeps):
            b, sweep = visit // sweeps, visit % sweeps
            for i in range(m):
                k = np.uint64(0)
                for t in range(shape.parents.shape[1]):
                    k += np.uint64(x[shape.parents[i, t], 0]) * np.uint64(shape.strides[i, t])
                prior = shape.prior_law[i] + np.int64(x[shape.prior_group[i], 0]) * shape.prior_stride[i]
                law = find_law(k, slots, i, prior)
                if reset and shape.prior_law[i] >= 0:
                    for v in range(visit):
                        if visited[i, v] == k:
                            law = prior
                    visited[i, visit] = k
                base, own = shape.first_cell[i] + law * shape.sizes[i], forbidden[: shape.sizes[i]]
                forbid(i, m, zeros, x[:, 0], own)
                total, before = np.uint64(0), np.uint64(0)
                for j in range(len(own)):
                    total += np.uint64(0) if own[j] else cumulative[base + j] - before
                    before = cumulative[base + j]
                word = words[sweep, at + b, seeds.words + i]
                u, low = np.uint64(below(word, total)), word * total
                if low < total and low < (np.uint64(0) - total) % total:
                    u = redrawn(key, sweep, first_row + start + b, i, m, total)
                before, running = np.uint64(0), np.uint64(0)
                for j in range(len(own)):
                    running += np.uint64(0) if own[j] else cumulative[base + j] - before
                    before = cumulative[base + j]
                    if running > u:
                        x[i, 0] = j
                        break
            if sweep == sweeps - 1 and start + b < rows:
                out[:, start + b] = x[:, 0]
    return failed
