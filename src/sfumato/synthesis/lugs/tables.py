"""What LUGS learns: for each variable and key of the other variables, a law lifted to entropy log l."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.progress import report
from sfumato.seeds import Key

if TYPE_CHECKING:
    from sfumato.synthesis.lugs import _kernels

Codes = NDArray[np.uint16]
_STEPS = 60  # of the bisection for alpha


@dataclass(frozen=True, eq=False)
class Learnt:
    """Arrays for the kernels: keys, tables, index."""

    keys: _kernels.Keys
    tables: _kernels.Tables
    index: _kernels.Index


def learn(
    codes: Codes,
    sizes: tuple[int, ...],
    hashes: int,
    reach: int,
    most_bands: int,
    log_l: float,
    floor: float,
    key: Key,
    weights: NDArray[np.int64] | None = None,
) -> Learnt:
    """Estimate and perturb.  codes: (rows, columns); weights: (rows,), whole numbers above 0.

    hashes: min-hashes in a key; 0: the exact combination. reach: how far a neighbour may be.
    most_bands: bands kept for each distance; if there are more sets of columns, some are drawn.
    """
    from sfumato.synthesis.lugs import _kernels

    first = np.append(0, np.cumsum(sizes))
    ranks = key.derive("min-hash").words(0, 0, hashes, int(first[-1])).reshape(hashes, int(first[-1]))
    keys = _kernels.Keys(ranks, first[:-1].astype(np.int64))
    tables = _tables(codes, sizes, keys, log_l, floor, weights)
    index = _index(codes, reach, most_bands, key.generator("bands"), weights)
    return Learnt(keys, tables, index)


def _tables(
    codes: Codes,
    sizes: tuple[int, ...],
    keys: _kernels.Keys,
    log_l: float,
    floor: float,
    weights: NDArray[np.int64] | None,
) -> _kernels.Tables:
    """Algorithm 1, steps 1 and 2."""
    from sfumato.synthesis.lugs import _kernels

    all_keys, starts, code, upto, alphas, key_start = [], [np.zeros(1, np.int64)], [], [], [], [0]
    cells = 0
    for i, size in enumerate(sizes):
        found = np.empty(len(codes), np.uint64)
        _kernels.keys_of(codes, i, keys, found)
        order = np.lexsort((codes[:, i], found))
        k, c = found[order], codes[order, i].astype(np.int64)
        new_key = np.append(True, k[1:] != k[:-1])
        new_cell = new_key | np.append(True, c[1:] != c[:-1])
        at = np.flatnonzero(new_cell)
        n = np.diff(np.append(at, len(k))) if weights is None else np.add.reduceat(weights[order], at)
        cell_key = (np.cumsum(new_key) - 1)[at]
        many = int(new_key.sum())
        begin = np.searchsorted(cell_key, np.arange(many + 1))
        total = np.cumsum(n)
        running = total - np.append(0, total)[begin[:-1]][cell_key]
        all_keys.append(k[new_key])
        starts.append(begin[1:] + cells)
        code.append(c[at])
        upto.append(running)
        alphas.append(lifted(n, cell_key, many, size, log_l, floor))
        cells += len(at)
        key_start.append(key_start[-1] + many)
        report("learning", i + 1, len(sizes))
    return _kernels.Tables(
        np.array(key_start, np.int64), np.concatenate(all_keys), np.concatenate(starts).astype(np.int64),
        np.concatenate(code), np.concatenate(upto).astype(np.int64), np.concatenate(alphas),
        np.array(sizes, np.int64),
    )  # fmt: skip


def lifted(
    n: NDArray[np.int64], key: NDArray[np.int64], keys: int, size: int, log_l: float, floor: float
) -> NDArray[np.float64]:
    """alpha* = min{alpha in [floor, 1]: H((1 - alpha) P + alpha U) >= log l}, for every key.

    n: (cells,), counts; key: (cells,), whose. Entropy rises with alpha: the mixture moves straight towards
    the uniform law, where entropy, a concave function, is largest. So a bisection finds it; the upper end is
    kept, and the law has at least the entropy asked for.
    """
    total = np.bincount(key, n, keys)
    share = n / total[key]
    seen = np.bincount(key, minlength=keys)

    def entropy(alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        q = (1 - alpha)[key] * share + alpha[key] / size
        rest = alpha / size
        unseen = np.where(rest > 0, -rest * np.log(np.where(rest > 0, rest, 1)), 0) * (size - seen)
        return np.asarray(np.bincount(key, -q * np.log(q), keys) + unseen, np.float64)

    low: NDArray[np.float64] = np.full(keys, floor)
    high: NDArray[np.float64] = np.ones(keys)
    wanted = log_l - 1e-12
    if log_l >= np.log(size) - 1e-12:  # only the uniform law has it; the bisection would stop just short
        return high
    high[entropy(low) >= wanted] = floor
    for _ in range(_STEPS):
        middle = (low + high) / 2
        enough = entropy(middle) >= wanted
        low[~enough], high[enough] = middle[~enough], middle[enough]
    return high


def _index(
    codes: Codes, reach: int, most: int, draw: np.random.Generator, weights: NDArray[np.int64] | None
) -> _kernels.Index:
    """Bands for each variable and distance: hash all columns but the variable and d others."""
    from sfumato.synthesis.lugs import _kernels

    columns = codes.shape[1]
    reach = min(reach, columns - 1)
    sets: dict[int, int] = {}
    for d in range(1, reach + 1):
        for chosen in _subsets(columns, d + 1, most, draw):
            sets.setdefault(sum(1 << j for j in chosen), len(sets))
    masks = list(sets)
    bucket, members, bucket_start, member_start = [], [], [0], [np.zeros(1, np.int64)]
    total = 0
    for place, mask in enumerate(masks):
        found = np.empty(len(codes), np.uint64)
        _kernels.bands_of(codes, mask, found)
        order = np.argsort(found, kind="stable")
        value = found[order]
        begin = np.flatnonzero(np.append(True, value[1:] != value[:-1]))
        bucket.append(value[begin])
        members.append(order)
        member_start.append(np.append(begin[1:], len(codes)) + total)
        total += len(codes)
        bucket_start.append(bucket_start[-1] + len(begin))
        report("indexing", place + 1, len(masks))
    lists, list_start = [], [0]
    for i in range(columns):
        for d in range(reach + 1):
            here = [b for m, b in sets.items() if d and (m >> i) & 1 and m.bit_count() == d + 1]
            lists += here
            list_start.append(len(lists))
    empty, member = np.zeros(0, np.uint64), np.zeros(0, np.int64)
    if members:
        member = np.concatenate(members).astype(np.int64)
    upto = np.zeros(0, np.int64) if weights is None else np.append(0, np.cumsum(weights[member]))
    return _kernels.Index(
        codes, np.array(masks, np.int64), np.array(list_start, np.int64), np.array(lists, np.int64),
        np.array(bucket_start, np.int64), np.concatenate(bucket) if bucket else empty,
        np.concatenate(member_start).astype(np.int64),
        member, upto, reach,
    )  # fmt: skip


def _subsets(columns: int, size: int, most: int, draw: np.random.Generator) -> list[tuple[int, ...]]:
    """All sets of so many columns, or some of them, every column in about equally many."""
    if comb(columns, size) <= most:
        return list(combinations(range(columns), size))
    found: dict[tuple[int, ...], None] = {}
    while len(found) < most:
        order = draw.permutation(columns)
        for start in range(0, columns - size + 1, size):
            found[tuple(sorted(order[start : start + size].tolist()))] = None
    return list(found)
