"""Inner loops of LUGS: keys, tables, neighbours and the perturbed Gibbs sampler."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled
from sfumato.synthesis.structural_zeros._kernels import Zeros, forbid

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
_MIX = np.uint64(0x9E3779B97F4A7C15)
_LOW = np.uint64(0xFFFFFFFF)
_STEPS = 60  # of the bisection for alpha


class Keys(NamedTuple):
    """How g(x without i) is made. ranks: (hashes, codes of all columns), random 64-bit numbers; 0 hashes:
    the key is the row itself. first: (columns,), where a column's codes begin."""

    ranks: Words
    first: Ints


class Tables(NamedTuple):
    """Per variable i and key, the counts of X_i, or weights. For variable i:
    keys[key_start[i]:key_start[i+1]] sorted;
    key q has cells cell_start[q]:cell_start[q+1], with codes `code` and running counts `upto`."""

    key_start: Ints
    keys: Words
    cell_start: Ints
    code: Ints
    upto: Ints
    alpha: Floats
    sizes: Ints


class Index(NamedTuple):
    """Banded LSH for Hamming distance. Band b hashes all columns but `without[b]` (a bit mask).

    Bands of one variable and distance: of[i, d], list in `lists`; buckets of band b: hashes
    bucket[bucket_start[b]:...] sorted; members rows member[...]. codes: (rows, columns).
    upto: (members + 1,), the weight of all members before; empty where rows count alike."""

    codes: NDArray[np.uint16]
    without: Ints
    list_start: Ints
    lists: Ints
    bucket_start: Ints
    bucket: Words
    member_start: Ints
    member: Ints
    upto: Ints
    reach: int


@compiled
def mixed(h: np.uint64, value: np.uint64) -> np.uint64:
    """One step of a 64-bit hash (splitmix)."""
    h = (h ^ value) + _MIX
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@compiled
def key_of(x: NDArray[np.uint16], i: int, keys: Keys) -> np.uint64:
    """g(x without i): the exact combination, or for each hash the column and value of lowest rank."""
    h = np.uint64(i + 1)
    if keys.ranks.shape[0] == 0:
        for j in range(len(x)):
            if j != i:
                h = mixed(h, np.uint64(x[j]))
        return h
    for t in range(keys.ranks.shape[0]):
        best, least = 0, np.uint64(0xFFFFFFFFFFFFFFFF)
        for j in range(len(x)):
            if j != i:
                place = keys.first[j] + x[j]
                if keys.ranks[t, place] < least:
                    best, least = place, keys.ranks[t, place]
        h = mixed(h, np.uint64(best))
    return h


@compiled
def keys_of(codes: NDArray[np.uint16], i: int, keys: Keys, out: Words) -> None:
    """g of every row.  codes: (rows, columns)."""
    for r in range(len(codes)):
        out[r] = key_of(codes[r], i, keys)


@compiled
def band_of(x: NDArray[np.uint16], without: int) -> np.uint64:
    """The hash of all columns but those of the mask."""
    h = np.uint64(without)
    for j in range(len(x)):
        if not (without >> j) & 1:
            h = mixed(h, np.uint64(x[j]))
    return h


@compiled
def bands_of(codes: NDArray[np.uint16], without: int, out: Words) -> None:
    """The band's hash of every row."""
    for r in range(len(codes)):
        out[r] = band_of(codes[r], without)


@compiled
def find(values: Words, start: int, stop: int, wanted: np.uint64) -> int:
    """The place of a value in a sorted part, or -1."""
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < stop and values[low] == wanted else -1


@compiled
def below(word: np.uint64, bound: int) -> np.int64:
    """A whole number below the bound, up to 2^32, from a word."""
    limit = np.uint64(bound)
    high, low = word >> np.uint64(32), word & _LOW
    return np.int64((high * limit + ((low * limit) >> np.uint64(32))) >> np.uint64(32))


@compiled
def weight_of(index: Index, at: int) -> int:
    """How much the members of a bucket count: their number, or their weight."""
    first, last = index.member_start[at], index.member_start[at + 1]
    return int(index.upto[last] - index.upto[first] if len(index.upto) else last - first)


@compiled
def member_at(index: Index, at: int, pick: int) -> int:
    """The member of a bucket in whose share `pick` lies, from 0 to its weight less one."""
    low, high = index.member_start[at], index.member_start[at + 1]
    if len(index.upto) == 0:
        return int(index.member[low + pick])
    wanted = index.upto[low] + pick
    while low < high - 1:  # the last member that begins at or before it
        middle = (low + high) // 2
        if index.upto[middle] <= wanted:
            low = middle
        else:
            high = middle
    return int(index.member[low])


@compiled
def neighbour(x: NDArray[np.uint16], i: int, index: Index, word: np.uint64) -> int:
    """A row nearest to x in all columns but i, ties at random, by weight; -1 if none is within reach.

    A row at distance d agrees outside some set of d columns. If none is nearer, the buckets of the bands
    without i and d others are disjoint, so a member drawn from all of them is uniform among the nearest.
    """
    for d in range(1, index.reach + 1):
        slot = i * (index.reach + 1) + d
        total = 0
        for s in range(index.list_start[slot], index.list_start[slot + 1]):
            b = index.lists[s]
            at = find(
                index.bucket, index.bucket_start[b], index.bucket_start[b + 1], band_of(x, index.without[b])
            )
            if at >= 0:
                total += weight_of(index, at)
        if total == 0:
            continue
        pick = int(below(word, total))
        if total >= 2**32:  # weights
            pick = min(int(np.float64(word >> np.uint64(11)) * 2.0**-53 * total), total - 1)
        for s in range(index.list_start[slot], index.list_start[slot + 1]):
            b = index.lists[s]
            at = find(
                index.bucket, index.bucket_start[b], index.bucket_start[b + 1], band_of(x, index.without[b])
            )
            if at >= 0:
                size = weight_of(index, at)
                if pick < size:
                    return member_at(index, at, pick)
                pick -= size
    return -1


@compiled
def law_at(x: NDArray[np.uint16], i: int, keys: Keys, tables: Tables, index: Index, word: np.uint64) -> int:
    """The law of x_i given the others: of their key, or of a nearest row's if it was never seen; or -1."""
    start, stop = tables.key_start[i], tables.key_start[i + 1]
    q = find(tables.keys, start, stop, key_of(x, i, keys))
    if q < 0:
        r = neighbour(x, i, index, word)
        if r >= 0:
            q = find(tables.keys, start, stop, key_of(index.codes[r], i, keys))
    return q


@compiled
def visit(
    x: NDArray[np.uint16], i: int, keys: Keys, tables: Tables, index: Index, w0: np.uint64, w1: np.uint64
) -> None:
    """x_i ~ (1 - alpha) P_e(X_i | g(x without i)) + alpha U (section 3.2)."""
    q = law_at(x, i, keys, tables, index, w0)
    u = np.float64(w1 >> np.uint64(11)) * 2.0**-53
    alpha = tables.alpha[q] if q >= 0 else 1.0
    if u < alpha:
        x[i] = min(np.int64(u / alpha * tables.sizes[i]), tables.sizes[i] - 1)
        return
    first, last = tables.cell_start[q], tables.cell_start[q + 1]
    n = tables.upto[last - 1]
    r = min(np.int64((u - alpha) / (1 - alpha) * n), n - 1)
    while first < last - 1:  # the first cell whose running count exceeds r
        middle = (first + last - 1) // 2
        if tables.upto[middle] > r:
            last = middle + 1
        else:
            first = middle + 1
    x[i] = tables.code[first]


@compiled
def sweep(x: NDArray[np.uint16], words: Words, keys: Keys, tables: Tables, index: Index) -> None:
    """One sweep of every chain.  x: (chains, columns); words: (chains, 2 columns)."""
    for c in range(len(x)):
        for i in range(x.shape[1]):
            visit(x[c], i, keys, tables, index, words[c, 2 * i], words[c, 2 * i + 1])


# -- with constraints ------------------------------------------------------------------------------


@compiled
def rule_out(y: NDArray[np.uint16], i: int, zeros: Zeros, possible: NDArray[np.bool_]) -> int:
    """Which values of y_i the columns before it leave, and how many."""
    forbid(i, i, zeros, y, possible)
    left = 0
    for j in range(len(possible)):
        possible[j] = not possible[j]
        left += possible[j]
    return left


@compiled
def entropy(p: Floats, possible: NDArray[np.bool_], left: int, alpha: float) -> float:
    """H((1 - alpha) P + alpha U), U even among the `left` possible values."""
    total = 0.0
    for j in range(len(p)):
        if possible[j]:
            q = (1 - alpha) * p[j] + alpha / left
            total -= q * np.log(q) if q > 0 else 0.0
    return total


@compiled
def law_within(
    q: int, tables: Tables, possible: NDArray[np.bool_], left: int, log_l: float, floor: float, p: Floats
) -> None:
    """Section 3.2 among the possible values: p is (1 - alpha*) P + alpha* U, both of them given these values.

    alpha* = min{alpha in [floor, 1]: entropy >= log l}; even where `left` values cannot have as much.
    """
    p[:] = 0.0
    n, before = 0.0, np.int64(0)
    if q >= 0:
        for c in range(tables.cell_start[q], tables.cell_start[q + 1]):
            if possible[tables.code[c]]:
                p[tables.code[c]] = np.float64(tables.upto[c] - before)
                n += np.float64(tables.upto[c] - before)
            before = tables.upto[c]
    alpha = floor
    if n > 0:
        p /= n
    if n == 0 or np.log(np.float64(left)) <= log_l + 1e-12:
        alpha = 1.0
    elif entropy(p, possible, left, floor) < log_l - 1e-12:
        low, high = floor, 1.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if entropy(p, possible, left, middle) >= log_l - 1e-12:
                high = middle
            else:
                low = middle
        alpha = high
    for j in range(len(p)):
        p[j] = (1 - alpha) * p[j] + alpha / left if possible[j] else 0.0


@compiled
def visit_within(
    y: NDArray[np.uint16], i: int, keys: Keys, tables: Tables, index: Index, zeros: Zeros,
    log_l: float, floor: float, w0: np.uint64, w1: np.uint64,
) -> bool:  # fmt: skip
    """As `visit`, among the values that the columns before it leave; False if there is none."""
    size = tables.sizes[i]
    possible = np.empty(size, np.bool_)
    left = rule_out(y, i, zeros, possible)
    if left == size:
        visit(y, i, keys, tables, index, w0, w1)
        return True
    if left == 0:
        return False
    p = np.empty(size, np.float64)
    law_within(law_at(y, i, keys, tables, index, w0), tables, possible, left, log_l, floor, p)
    u = np.float64(w1 >> np.uint64(11)) * 2.0**-53
    running = 0.0
    for j in range(size):
        if possible[j]:
            y[i] = j
            running += p[j]
            if u < running:
                break
    return True


@compiled
def release(
    x: NDArray[np.uint16], y: NDArray[np.uint16], todo: NDArray[np.bool_], words: Words, keys: Keys,
    tables: Tables, index: Index, zeros: Zeros, log_l: float, floor: float,
) -> int:  # fmt: skip
    """A row for each chain that is still to do: one more sweep from its state, within the constraints.

    x, y: (chains, columns), states and rows. todo: those that came to a column without a value stay to do.
    """
    open_ = 0
    for c in range(len(x)):
        if not todo[c]:
            continue
        y[c] = x[c]
        done = True
        for i in range(x.shape[1]):
            done = done and visit_within(
                y[c], i, keys, tables, index, zeros, log_l, floor, words[c, 2 * i], words[c, 2 * i + 1]
            )
        todo[c] = not done
        open_ += not done
    return open_
