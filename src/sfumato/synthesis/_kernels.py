"""The loops of PeGS. Typed, free of I/O; imported only when something is synthesized.

Symbols of Park and Ghosh (2014): M variables x_1 .. x_M, C_i categories, h the key of the m parents,
n_ij counts, alpha the Dirichlet prior. A law is a row of whole numbers: category j has the weight
w_j = unit * n_j + a_j out of W, so that Eq. (6) holds exactly and not up to rounding.

Rows are worked on side by side, variable by variable: row r's x_i waits for its own x_1 .. x_(i-1)
only, so the processor overlaps rows where it would wait within one.

    x: (M, rows) codes, the state and the output
    words: (rows, words) of the key's ChaCha20 stream, the seed's words first
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato._chacha import BLOCK_WORDS, below, chacha_block, chacha_rows
from sfumato._compilation import compiled

BATCH = 1024  # rows worked on side by side: their state and words stay in the first caches
REDRAWS = 2**31  # sweeps from here on hold the words that replace refused ones
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Codes = NDArray[np.unsignedinteger]


class LawLayout(NamedTuple):
    """Which laws belong to which variable.

    parents, strides: (M, m): h = sum of x[parent] * stride; unused places have stride 0.
    first_law, first_cell, sizes: (M,) where a variable's laws and their cells begin, and C_i.
    prior_law, prior_group, prior_stride: (M,) the law of a variable without data, what a key that was
        visited is reset to: it is number prior_law + x[prior_group] * prior_stride. -1: never reset, for
        a model that was noised once.
    """

    parents: Ints
    strides: Ints
    first_law: Ints
    first_cell: Ints
    sizes: Ints
    prior_law: Ints
    prior_group: Ints
    prior_stride: Ints


class Laws(NamedTuple):
    """W per law, and per cell the cumulative weights; or alias tables, of which the exact loops need none."""

    totals: Words
    cumulative: Words
    thresholds: NDArray[np.uint32]
    aliases: Codes


class Seeds(NamedTuple):
    """Where x^(0) comes from.

    words: how many words of a row it takes; starts: (M,) the word each variable reads.
    pool: (M, members), drawn from with replacement; without members seeds are uniform.
    """

    words: int
    starts: Ints
    pool: Codes


# -- laws ----------------------------------------------------------------------------------------


@compiled
def cumulate(weights: NDArray[np.uint64], out: NDArray[np.uint64], totals: NDArray[np.uint64]) -> None:
    """c_j = w_1 + .. + w_j per law, and W = c_C.  weights, out: (laws, C); totals: (laws,)."""
    for k in range(weights.shape[0]):
        running = np.uint64(0)
        for j in range(weights.shape[1]):
            running += weights[k, j]
            out[k, j] = running
        totals[k] = running


@compiled
def make_aliases(
    weights: NDArray[np.uint64], thresholds: NDArray[np.uint32], aliases: NDArray[np.unsignedinteger]
) -> None:
    """Walker's alias tables by Vose's method, for seeded runs, where nothing is claimed.

    weights, thresholds, aliases: (laws, C). 32 bits: each probability is right to about C / 2**32.
    """
    laws, c = weights.shape
    mass, small, large = np.empty(c), np.empty(c, np.int64), np.empty(c, np.int64)
    for k in range(laws):
        total = 0.0
        for j in range(c):
            total += np.float64(weights[k, j])
        n_small, n_large = 0, 0
        for j in range(c):
            mass[j] = np.float64(weights[k, j]) * c / total
            aliases[k, j] = j
            if mass[j] < 1.0:
                small[n_small] = j
                n_small += 1
            else:
                large[n_large] = j
                n_large += 1
        while n_small > 0 and n_large > 0:
            n_small -= 1
            s, g = small[n_small], large[n_large - 1]
            thresholds[k, s] = min(np.uint64(mass[s] * 2.0**32), _LOW)
            aliases[k, s] = g
            mass[g] -= 1.0 - mass[s]
            if mass[g] < 1.0:
                n_large -= 1
                small[n_small] = g
                n_small += 1
        for i in range(n_large):  # aliases of these are themselves
            thresholds[k, large[i]] = _LOW
        for i in range(n_small):
            thresholds[k, small[i]] = _LOW


# -- seeds ---------------------------------------------------------------------------------------


@compiled
def seed_rows(words: Words, seeds: Seeds, sizes: Ints, x: Codes) -> None:
    """Step 1 of the synthesis: a seed for each row, from a pool or uniform.

    A uniform seed is the digits of words in mixed radix. A digit's probability is off 1/C by less than
    the product of the sizes that share its word, over 2**64; no data are involved.
    """
    pool, starts = seeds.pool, seeds.starts
    members = pool.shape[1]
    for r in range(x.shape[1]):
        if members:
            member = below(words[r, 0], members)
            for i in range(len(sizes)):
                x[i, r] = pool[i, member]
            continue
        word, held = np.uint64(0), -1
        for i in range(len(sizes)):
            if starts[i] != held:
                held = starts[i]
                word = words[r, held]
            size = np.uint64(sizes[i])
            x[i, r] = below(word, size)
            word = word * size


# -- draws ---------------------------------------------------------------------------------------


@compiled
def redrawn(
    key: NDArray[np.uint32], sweep: int, row: int, i: int, variables: int, total: np.uint64
) -> np.uint64:
    """A uniform whole number below `total` from spare words, after the first word was refused."""
    buffer = np.empty(BLOCK_WORDS, np.uint64)
    refuse = (np.uint64(0) - total) % total  # 2**64 modulo total
    index, place = i, np.uint64(row)
    while True:
        chacha_block(key, index, sweep + REDRAWS, place & _LOW, place >> _HALF, buffer)
        for word in buffer:
            if word * total >= refuse:
                return np.uint64(below(word, total))
        index += variables


@compiled
def form_keys(i: int, parents: Ints, strides: Ints, x: Codes, keys: Words) -> None:
    """h(x_-i) of every row.  keys: (rows,), overwritten."""
    n = x.shape[1]
    for r in range(n):
        keys[r] = np.uint64(0)
    for t in range(parents.shape[1]):
        stride = np.uint64(strides[i, t])
        if stride:
            source = x[parents[i, t]]
            for r in range(n):
                keys[r] += np.uint64(source[r]) * stride


@compiled
def draw_exact(
    key: NDArray[np.uint32],
    sweep: int,
    first_row: int,
    step: int,
    i: int,
    variables: int,
    words: NDArray[np.uint64],
    cells: np.uint64,
    size: np.uint64,
    totals: NDArray[np.uint64],
    cumulative: NDArray[np.uint64],
    laws: NDArray[np.uint64],
    out: NDArray[np.unsignedinteger],
) -> None:
    """PeGS Eq. (6), without rounding: out[r] = j with probability w_j / W of law laws[r].

    A word becomes a uniform whole number below W (Lemire 2019, with rejection), and that the category whose
    cumulative weight exceeds it. words: (rows,); totals: (laws,) of this variable; cells: where its first
    law begins. Row r has the address first_row + r * step.
    """
    one = np.uint64(1)
    for r in range(len(out)):
        k = laws[r]
        word, total = words[r], totals[k]
        u = np.uint64(below(word, total))
        low = word * total
        if low < total and low < (np.uint64(0) - total) % total:
            u = redrawn(key, sweep, first_row + r * step, i, variables, total)
        base = cells + k * size
        place, length = base, size
        while length > one:
            half = length >> one
            place += half if cumulative[place + half - one] <= u else np.uint64(0)
            length -= half
        out[r] = place - base


@compiled
def draw_alias(
    shift: np.uint64,
    words: NDArray[np.uint64],
    cells: np.uint64,
    size: np.uint64,
    thresholds: NDArray[np.uint32],
    aliases: NDArray[np.unsignedinteger],
    laws: NDArray[np.uint64],
    out: NDArray[np.unsignedinteger],
) -> None:
    """As `draw_exact` by alias tables, from half a word: one look, and a law right to about C / 2**32."""
    for r in range(len(out)):
        product = ((words[r] >> shift) & _LOW) * size
        j = product >> _HALF
        place = cells + laws[r] * size + j
        out[r] = j if (product & _LOW) < np.uint64(thresholds[place]) else np.uint64(aliases[place])


# -- PeGS ----------------------------------------------------------------------------------------


@compiled
def pegs(
    key: NDArray[np.uint32],
    exact: bool,
    sweeps: int,
    first_row: int,
    seeds: Seeds,
    shape: LawLayout,
    laws: Laws,
    out: Codes,
) -> None:
    """PeGS Eq. (4): x_i ~ Pr(x_i | h(x_1 .. x_(i-1), s_(i+1) .. s_M)) for i = 1 .. M, `sweeps` times.

    out: (M, rows). Every visit reads the intact laws, so s sweeps cost s times one.
    """
    m, rows = out.shape
    draws = m if exact else (m + 1) // 2
    words = np.empty((BATCH, seeds.words + draws), np.uint64)
    keys = np.empty(BATCH, np.uint64)
    for start in range(0, rows, BATCH):
        n = min(BATCH, rows - start)
        x = out[:, start : start + n]
        for sweep in range(sweeps):
            chacha_rows(key, sweep, first_row + start, words[:n])
            if sweep == 0:
                seed_rows(words[:n], seeds, shape.sizes, x)
            for i in range(m):
                form_keys(i, shape.parents, shape.strides, x, keys[:n])
                size, cells = np.uint64(shape.sizes[i]), np.uint64(shape.first_cell[i])
                if exact:
                    draw_exact(key, sweep, first_row + start, 1, i, m, words[:n, seeds.words + i], cells,
                               size, laws.totals[shape.first_law[i] :], laws.cumulative, keys[:n],
                               x[i])  # fmt: skip
                else:
                    draw_alias(np.uint64(32 * (i & 1)), words[:n, seeds.words + (i >> 1)], cells, size,
                               laws.thresholds, laws.aliases, keys[:n], x[i])  # fmt: skip


@compiled
def pegs_blocks(
    key: NDArray[np.uint32],
    exact: bool,
    block: int,
    sweeps: int,
    first_row: int,
    seeds: Seeds,
    shape: LawLayout,
    laws: Laws,
    out: Codes,
) -> None:
    """PeGS.rs, section 3.4: blocks of B rows from one seed; a law that was visited is reset for the block.

    out: (M, rows), beginning with a block; the last may be short. Each row of a block is the state after
    `sweeps` more sweeps, and unreleased sweeps reset too. Blocks run side by side.
    """
    m, rows = out.shape
    width = max(1, BATCH // block)
    words = np.empty((width * block, seeds.words + (m if exact else (m + 1) // 2)), np.uint64)
    visited = np.empty((m, width, block * sweeps), np.uint32)
    wanted = np.empty(width, np.uint64)
    x = np.empty((m, width), out.dtype)
    blocks = (rows + block - 1) // block
    for start in range(0, blocks, width):
        n = min(width, blocks - start)
        state, row = x[:, :n], first_row + start * block
        for visit in range(block * sweeps):
            b, sweep = visit // sweeps, visit % sweeps
            if visit == 0 or sweeps > 1:
                chacha_rows(key, sweep, row, words[: n * block])
            here = words[b : n * block : block]
            if visit == 0:
                seed_rows(here, seeds, shape.sizes, state)
            for i in range(m):
                form_keys(i, shape.parents, shape.strides, state, wanted[:n])
                group = state[shape.prior_group[i]]
                prior, stride = np.uint64(shape.prior_law[i]), np.uint64(shape.prior_stride[i])
                for q in range(n if shape.prior_law[i] >= 0 else 0):
                    k, before, seen = np.uint32(wanted[q]), visited[i, q], False
                    for v in range(visit):
                        seen |= before[v] == k
                    before[visit] = k
                    if seen:
                        wanted[q] = prior + np.uint64(group[q]) * stride
                size, cells = np.uint64(shape.sizes[i]), np.uint64(shape.first_cell[i])
                if exact:
                    draw_exact(key, sweep, row + b, block, i, m, here[:, seeds.words + i], cells, size,
                               laws.totals[shape.first_law[i] :], laws.cumulative, wanted[:n],
                               state[i])  # fmt: skip
                else:
                    draw_alias(np.uint64(32 * (i & 1)), here[:, seeds.words + (i >> 1)], cells, size,
                               laws.thresholds, laws.aliases, wanted[:n], state[i])  # fmt: skip
            if sweep == sweeps - 1:
                for q in range(min(n, (rows - b + block - 1) // block - start)):
                    out[:, (start + q) * block + b] = state[:, q]
