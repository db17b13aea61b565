"""The kernels behind `sfumato.seeds`: ChaCha20 for secret keys, Philox for seeded runs.

Both are functions of (key, sweep, row, index of the block) and keep no state, so whoever asks for a
word gets the same one: any thread, any chunk, any engine.

    ChaCha20 (RFC 8439)    counter = index      nonce = (sweep, low half of row, high half of row)
    Philox 4x64, 10 rounds counter = (2 index or 2 index + 1, sweep, row, 0)

index, sweep < 2**32 and row < 2**64 fill the counter and the nonce exactly once each, so no two
addresses share a block. A block is 512 bits, here eight words of 64.

Other rooms call `stream_block` from their own kernels. numba's cache does not notice a change in
a function that was compiled into another module's kernel: clear `__pycache__` after editing here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic
from numpy.typing import NDArray

from sfumato._compilation import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Whole = int | np.integer[Any]

BLOCK_WORDS = 8  # words of 64 bits in one block
_LANES = np.uint64(64)  # rows computed side by side: wide enough for the compiler to use SIMD

_C0, _C1, _C2, _C3 = (
    np.uint32(0x61707865),
    np.uint32(0x3320646E),
    np.uint32(0x79622D32),
    np.uint32(0x6B206574),
)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)

_MULTIPLIER_0, _MULTIPLIER_1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_WEYL_0, _WEYL_1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)


# numba widens 32-bit sums to 64 bits, so every step is cut back to 32. LLVM puts these small functions into
# their callers; numba's own inlining gives the same speed for two and a half times the compiling.
@numba.njit()
def _rotated(x: np.uint32, bits: int) -> np.uint32:
    return np.uint32(np.uint32(x << np.uint32(bits)) | np.uint32(x >> np.uint32(32 - bits)))


@numba.njit()
def _quarter(
    a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32
) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    """RFC 8439, section 2.1: the quarter round."""
    a = np.uint32(a + b)
    d = _rotated(np.uint32(d ^ a), 16)
    c = np.uint32(c + d)
    b = _rotated(np.uint32(b ^ c), 12)
    a = np.uint32(a + b)
    d = _rotated(np.uint32(d ^ a), 8)
    c = np.uint32(c + d)
    b = _rotated(np.uint32(b ^ c), 7)
    return a, b, c, d


@numba.njit()
def _joined(x: np.uint32, x0: np.uint32, y: np.uint32, y0: np.uint32) -> np.uint64:
    """Two sums of 32 bits as one little-endian word of 64."""
    return np.uint64(np.uint64(np.uint32(x + x0)) | (np.uint64(np.uint32(y + y0)) << _HALF))


@compiled
def chacha_block(
    key: NDArray[np.uint32], counter: Whole, n0: Whole, n1: Whole, n2: Whole, out: NDArray[np.uint64]
) -> None:
    """RFC 8439, section 2.3: one block.  key: (8,) little-endian words; out: (8,), overwritten."""
    m0, m1, m2, m3 = np.uint32(counter), np.uint32(n0), np.uint32(n1), np.uint32(n2)
    x0, x1, x2, x3 = _C0, _C1, _C2, _C3
    x4, x5, x6, x7 = key[0], key[1], key[2], key[3]
    x8, x9, x10, x11 = key[4], key[5], key[6], key[7]
    x12, x13, x14, x15 = m0, m1, m2, m3
    for _ in range(10):
        x0, x4, x8, x12 = _quarter(x0, x4, x8, x12)
        x1, x5, x9, x13 = _quarter(x1, x5, x9, x13)
        x2, x6, x10, x14 = _quarter(x2, x6, x10, x14)
        x3, x7, x11, x15 = _quarter(x3, x7, x11, x15)
        x0, x5, x10, x15 = _quarter(x0, x5, x10, x15)
        x1, x6, x11, x12 = _quarter(x1, x6, x11, x12)
        x2, x7, x8, x13 = _quarter(x2, x7, x8, x13)
        x3, x4, x9, x14 = _quarter(x3, x4, x9, x14)
    out[0], out[1] = _joined(x0, _C0, x1, _C1), _joined(x2, _C2, x3, _C3)
    out[2], out[3] = _joined(x4, key[0], x5, key[1]), _joined(x6, key[2], x7, key[3])
    out[4], out[5] = _joined(x8, key[4], x9, key[5]), _joined(x10, key[6], x11, key[7])
    out[6], out[7] = _joined(x12, m0, x13, m1), _joined(x14, m2, x15, m3)


@numba.njit()
def _quarter_lanes(x: NDArray[np.uint32], ia: int, ib: int, ic: int, id_: int) -> None:
    """The quarter round on `_LANES` blocks at once.  x: (16 * lanes,).

    Unsigned positions, because numba's check for negative ones keeps the compiler from using SIMD.
    """
    for lane in range(_LANES):
        pa, pb = np.uint64(ia) * _LANES + lane, np.uint64(ib) * _LANES + lane
        pc, pd = np.uint64(ic) * _LANES + lane, np.uint64(id_) * _LANES + lane
        x[pa], x[pb], x[pc], x[pd] = _quarter(x[pa], x[pb], x[pc], x[pd])


@compiled
def chacha_rows(key: NDArray[np.uint32], sweep: int, first_row: int, out: NDArray[np.uint64]) -> None:
    """The leading words of rows first_row, first_row + 1, ...  out: (rows, words), overwritten."""
    rows, words = np.uint64(out.shape[0]), np.uint64(out.shape[1])
    start, x = np.empty(16 * _LANES, np.uint32), np.empty(16 * _LANES, np.uint32)
    constants = np.array([_C0, _C1, _C2, _C3])
    for lane in range(_LANES):
        for j in range(np.uint64(4)):
            start[j * _LANES + lane] = constants[j]
        for j in range(np.uint64(8)):
            start[(np.uint64(4) + j) * _LANES + lane] = key[j]
        start[np.uint64(13) * _LANES + lane] = np.uint32(sweep)
    for first in range(np.uint64(0), rows, _LANES):
        lanes = min(_LANES, rows - first)
        for lane in range(_LANES):
            row = np.uint64(first_row) + first + lane
            start[np.uint64(14) * _LANES + lane] = np.uint32(row & _LOW)
            start[np.uint64(15) * _LANES + lane] = np.uint32(row >> _HALF)
        for word in range(np.uint64(0), words, np.uint64(8)):
            for lane in range(_LANES):
                start[np.uint64(12) * _LANES + lane] = np.uint32(word >> np.uint64(3))
            for j in range(np.uint64(16) * _LANES):
                x[j] = start[j]
            for _ in range(10):
                _quarter_lanes(x, 0, 4, 8, 12)
                _quarter_lanes(x, 1, 5, 9, 13)
                _quarter_lanes(x, 2, 6, 10, 14)
                _quarter_lanes(x, 3, 7, 11, 15)
                _quarter_lanes(x, 0, 5, 10, 15)
                _quarter_lanes(x, 1, 6, 11, 12)
                _quarter_lanes(x, 2, 7, 8, 13)
                _quarter_lanes(x, 3, 4, 9, 14)
            for j in range(np.uint64(16) * _LANES):
                x[j] = np.uint32(x[j] + start[j])
            for w in range(min(np.uint64(8), words - word)):
                low, high = np.uint64(2) * w * _LANES, (np.uint64(2) * w + np.uint64(1)) * _LANES
                for lane in range(lanes):
                    value = np.uint64(x[low + lane]) | (np.uint64(x[high + lane]) << _HALF)
                    out[first + lane, word + w] = value


def _typed_high(_context: object, _a: object, _b: object) -> tuple[object, Callable[..., ir.Value]]:
    """The upper 64 bits of the product of two words: one instruction, which numba has no name for."""

    def build(
        _target: object, builder: ir.IRBuilder, _signature: object, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return numba.uint64(numba.uint64, numba.uint64), build


_high: Any = intrinsic(_typed_high)


@numba.njit(inline="always")
def _philox(
    k0: np.uint64, k1: np.uint64, c0: np.uint64, c1: np.uint64, c2: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Philox 4x64 with ten rounds (Salmon, Moraes, Dror, Shaw 2011); the last counter word is 0."""
    c3 = np.uint64(0)
    for _ in range(10):
        h0, h1 = _high(_MULTIPLIER_0, c0), _high(_MULTIPLIER_1, c2)
        c0, c1, c2, c3 = h1 ^ c1 ^ k0, _MULTIPLIER_1 * c2, h0 ^ c3 ^ k1, _MULTIPLIER_0 * c0
        k0, k1 = k0 + _WEYL_0, k1 + _WEYL_1
    return c0, c1, c2, c3


@numba.njit(inline="always")
def _pair(key: NDArray[np.uint32], first: int) -> np.uint64:
    return np.uint64(np.uint64(key[first]) | (np.uint64(key[first + 1]) << _HALF))


@compiled
def philox_rows(key: NDArray[np.uint32], sweep: int, first_row: int, out: NDArray[np.uint64]) -> None:
    """Like `chacha_rows`, several times faster and without any secrecy."""
    rows, words = out.shape
    k0, k1 = _pair(key, 0), _pair(key, 2)
    for i in range(rows):
        row = np.uint64(first_row) + np.uint64(i)
        for word in range(0, words, 4):
            quad = _philox(k0, k1, np.uint64(word >> 2), np.uint64(sweep), row)
            for w in range(min(4, words - word)):
                out[i, word + w] = quad[w]


@compiled
def stream_block(
    key: NDArray[np.uint32], seeded: bool, sweep: Whole, row: Whole, index: Whole, out: NDArray[np.uint64]
) -> None:
    """Words 8 * index to 8 * index + 7 of (row, sweep).  key: `Key.array()`; out: (8,), overwritten."""
    row_ = np.uint64(row)
    if not seeded:
        chacha_block(key, index, sweep, row_ & _LOW, row_ >> _HALF, out)
        return
    k0, k1 = _pair(key, 0), _pair(key, 2)
    even = np.uint64(2) * np.uint64(index)
    out[0], out[1], out[2], out[3] = _philox(k0, k1, even, np.uint64(sweep), row_)
    out[4], out[5], out[6], out[7] = _philox(k0, k1, even + np.uint64(1), np.uint64(sweep), row_)


@numba.njit(inline="always")
def unit(word: np.uint64) -> float:
    """A double on [0, 1): a whole multiple of 2**-53, each equally likely."""
    return (word >> np.uint64(11)) * 2.0**-53


@numba.njit(inline="always")
def below(word: np.uint64, bound: Whole) -> np.int64:
    """A whole number from 0 to bound - 1.  Its probability is off 1/bound by less than 2**-64."""
    return np.int64(_high(word, np.uint64(bound)))


@compiled
def integers_rows(
    key: NDArray[np.uint32], seeded: bool, sweep: int, first_row: int, bound: Whole, out: NDArray[np.uint64]
) -> None:
    """Exactly uniform whole numbers below bound, by rejection (Lemire 2019).  out: (rows,).

    A word is refused with probability below bound / 2**64; the next word of the same row is tried.
    """
    limit = np.uint64(bound)
    refuse = (np.uint64(0) - limit) % limit  # 2**64 modulo bound
    buffer = np.empty(BLOCK_WORDS, np.uint64)
    for i in range(out.shape[0]):
        row, w = np.uint64(first_row) + np.uint64(i), 0
        while True:
            if w % BLOCK_WORDS == 0:
                stream_block(key, seeded, sweep, row, w // BLOCK_WORDS, buffer)
            word = buffer[w % BLOCK_WORDS]
            if word * limit >= refuse:  # the lower half of the product
                out[i] = _high(word, limit)
                break
            w += 1
