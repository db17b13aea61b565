"""The streams behind keys. Statistical tests draw a fresh key and raise a false alarm once in 10**6 runs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato import _chacha
from sfumato.errors import ParameterError
from sfumato.seeds import Key, bounded, uniform

FALSE_ALARM = 1e-6
MASK = 0xFFFFFFFF

keys = st.one_of(
    st.integers(0, 10**6).map(Key.from_seed), st.binary(min_size=32, max_size=32).map(Key.from_bytes)
)


def chacha_oracle(key: bytes, counter: int, nonce: bytes) -> bytes:
    """RFC 8439, section 2.3, the slow and obvious way."""

    def quarter(x: list[int], a: int, b: int, c: int, d: int) -> None:
        for p, q, r, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[p] = (x[p] + x[q]) & MASK
            x[r] ^= x[p]
            x[r] = ((x[r] << bits) | (x[r] >> (32 - bits))) & MASK

    words = [
        int.from_bytes(part[i : i + 4], "little") for part in (key, nonce) for i in range(0, len(part), 4)
    ]
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *words[:8], counter, *words[8:]]
    x = list(start)
    for _ in range(10):
        for column in range(4):
            quarter(x, column, 4 + column, 8 + column, 12 + column)
        for diagonal in range(4):
            quarter(x, diagonal, 4 + (diagonal + 1) % 4, 8 + (diagonal + 2) % 4, 12 + (diagonal + 3) % 4)
    return b"".join(((a + b) & MASK).to_bytes(4, "little") for a, b in zip(x, start, strict=True))


def kernel_block(key: bytes, counter: int, nonce: bytes) -> bytes:
    out = np.empty(8, np.uint64)
    _chacha.chacha_block(
        np.frombuffer(key, "<u4").copy(), counter, *np.frombuffer(nonce, "<u4").astype(np.uint64), out
    )
    return out.astype("<u8").tobytes()


COUNTING = bytes(range(32))
SUNSCREEN = (
    "224f51f3401bd9e12fde276fb8631ded8c131f823d2c06e27e4fcaec9ef3cf788a3b0aa372600a92b57974cded2b9334"
    "794cba40c63e34cdea212c4cf07d41b769a6749f3f630f4122cafe28ec4dc47e26d4346d70b98c73f3e9c53ac40c5945"
    "398b6eda1a832c89c167eacd901d7e2bf363"
)
RFC_8439 = {
    "2.3.2": (
        COUNTING,
        1,
        "000000090000004a00000000",
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
    ),
    "2.4.2 first block": (COUNTING, 1, "000000000000004a00000000", SUNSCREEN[:128]),
    "2.4.2 second block": (COUNTING, 2, "000000000000004a00000000", SUNSCREEN[128:]),
    "A.1 #1": (
        bytes(32),
        0,
        "000000000000000000000000",
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    "A.1 #2": (
        bytes(32),
        1,
        "000000000000000000000000",
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    "A.1 #3": (
        bytes(31) + b"\x01",
        1,
        "000000000000000000000000",
        "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
        "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
    ),
    "A.1 #4": (
        b"\x00\xff" + bytes(30),
        2,
        "000000000000000000000000",
        "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
        "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
    ),
    "A.1 #5": (
        bytes(32),
        0,
        "000000000000000000000002",
        "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
        "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d",
    ),
}


@pytest.mark.parametrize("name", RFC_8439)
def test_the_block_function_gives_the_published_vectors(name: str) -> None:
    key, counter, nonce, expected = RFC_8439[name]
    stream = kernel_block(key, counter, bytes.fromhex(nonce)).hex()
    assert stream[: len(expected)] == expected


@given(st.binary(min_size=32, max_size=32), st.integers(0, MASK), st.binary(min_size=12, max_size=12))
def test_the_kernel_agrees_with_the_slow_version(key: bytes, counter: int, nonce: bytes) -> None:
    assert kernel_block(key, counter, nonce) == chacha_oracle(key, counter, nonce)


@given(
    st.binary(min_size=32, max_size=32).map(Key.from_bytes),
    st.integers(0, MASK),
    st.integers(0, 2**63 - 100),
    st.integers(1, 90),
    st.integers(1, 20),
)
@settings(max_examples=50, deadline=None)
def test_words_lie_where_the_address_says(key: Key, sweep: int, first: int, rows: int, words: int) -> None:
    got = key.words(sweep, first, rows, words).reshape(rows, words)
    for i in (0, rows // 2, rows - 1):
        nonce = sweep.to_bytes(4, "little") + (first + i).to_bytes(8, "little")
        blocks = [chacha_oracle(key.array().tobytes(), b, nonce) for b in range(-(-words // 8))]
        assert got[i].tolist() == np.frombuffer(b"".join(blocks), "<u8")[:words].tolist()


@given(st.integers(0, 10**9), st.integers(0, MASK), st.integers(0, 2**63 - 10), st.integers(1, 20))
@settings(max_examples=50, deadline=None)
def test_the_seeded_stream_is_the_philox_of_numpy(seed: int, sweep: int, row: int, words: int) -> None:
    key = Key.from_seed(seed)
    got = key.words(sweep, row, 1, words).reshape(words)
    philox_key = np.frombuffer(key.array().tobytes()[:16], "<u8").astype(np.uint64)
    for quad in range(-(-words // 4)):
        # numpy adds one to the counter before its first block.
        before = (quad + (sweep << 64) + (row << 128) - 1) % 2**256
        counter = [(before >> (64 * i)) & (2**64 - 1) for i in range(4)]
        expected = np.random.Philox(key=philox_key, counter=np.array(counter, np.uint64)).random_raw(4)
        assert got[4 * quad : 4 * quad + 4].tolist() == expected[: words - 4 * quad].tolist()


@given(keys, st.integers(0, 300), st.integers(1, 20), st.lists(st.integers(0, 300), max_size=6))
@settings(max_examples=60, deadline=None)
def test_chunks_do_not_matter(key: Key, rows: int, words: int, cuts: list[int]) -> None:
    whole = key.words(5, 2**40 - 100, rows, words).reshape(rows, words)
    ends = [0, *sorted(min(c, rows) for c in cuts), rows]
    parts = [key.words(5, 2**40 - 100 + a, b - a, words).reshape(b - a, words) for a, b in pairwise(ends)]
    assert np.array_equal(np.concatenate(parts), whole)
    assert np.array_equal(key.words(5, 2**40 - 100, rows), whole[:, 0])


@given(keys, st.integers(2, 7), st.integers(40_000, 70_000))
@settings(max_examples=10, deadline=None)
def test_threads_do_not_matter(key: Key, threads: int, rows: int) -> None:
    assert np.array_equal(key.words(1, 9, rows, 2), key.words(1, 9, rows, 2, threads=threads))
    assert np.array_equal(key.integers(1, 9, rows, 10), key.integers(1, 9, rows, 10, threads=threads))


@given(keys, st.integers(0, MASK), st.integers(0, 2**63 - 1), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_a_kernel_sees_the_same_stream(key: Key, sweep: int, row: int, index: int) -> None:
    out = np.empty(8, np.uint64)
    _chacha.stream_block(key.array(), key.seeded, sweep, row, index, out)
    expected = key.words(sweep, row, 1, 8 * (index + 1)).reshape(-1)[8 * index :]
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("key", [Key.from_seed(1), Key.from_bytes(COUNTING)], ids=["seeded", "secret"])
def test_no_two_addresses_share_a_word(key: Key) -> None:
    """The addressing is a bijection onto counter and nonce; corners and halves must not be swapped.

    64-bit words collide by chance: 256 addresses x 16 words give P = 4,096**2 / 2**65 < 1e-12.
    """
    corners = [0, 1, 2, 2**31, 2**32 - 1]
    rows = [*corners, 2**32, 2**32 + 1, 2**33, 2**40, 2**62]
    blocks = [key.words(sweep, row, 1, 16).reshape(-1) for sweep in corners for row in rows]
    assert len(np.unique(np.concatenate(blocks))) == len(corners) * len(rows) * 16


# -- numbers from words ------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1), st.integers(1, 2**32))
def test_bounded_is_the_exact_multiply_and_shift(words: list[int], bound: int) -> None:
    got = bounded(np.array(words, np.uint64), bound)
    assert got.tolist() == [w * bound >> 64 for w in words]


def test_uniform_stays_below_one() -> None:
    ends = uniform(np.array([0, 2**11 - 1, 2**11, 2**64 - 1], np.uint64))
    assert ends.tolist() == [0.0, 0.0, 2.0**-53, 1 - 2.0**-53]


@pytest.mark.parametrize("bound", [0, -1, 2**32 + 1, 2.0])
def test_bounds_are_checked(bound: int) -> None:
    with pytest.raises(ParameterError, match="bound"):
        bounded(np.zeros(1, np.uint64), bound)


@given(keys, st.sampled_from([1, 2, 3, 10, 2**32, 2**62 + 1, 2**63 - 1, 2**63]))
@settings(max_examples=40, deadline=None)
def test_integers_follow_the_rejection_rule(key: Key, bound: int) -> None:
    """Against the definition: take the first word of the row whose product is not in the short part."""
    words = key.words(4, 100, 20, 64)
    expected = [
        next(int(w) * bound >> 64 for w in row if int(w) * bound % 2**64 >= 2**64 % bound) for row in words
    ]
    assert key.integers(4, 100, 20, bound).tolist() == expected


def test_kernel_helpers_agree_with_the_array_ones() -> None:
    import numba

    @numba.njit
    def both(words, bound, u, k):  # type: ignore[no-untyped-def]
        for i in range(len(words)):
            u[i] = _chacha.unit(words[i])
            k[i] = _chacha.below(words[i], bound)

    words = Key.fresh().words(0, 0, 500)
    u, k = np.empty(500), np.empty(500, np.int64)
    both(words, 17, u, k)
    assert np.array_equal(u, uniform(words)) and np.array_equal(k, bounded(words, 17))


# -- statistical sanity --------------------------------------------------------------------------------


def fresh_keys() -> list[Key]:
    return [Key.fresh(), Key.from_seed(int(np.random.SeedSequence().entropy))]


@pytest.mark.parametrize("which", [0, 1], ids=["secret", "seeded"])
def test_every_bit_is_a_fair_coin(which: int) -> None:
    n = 200_000
    words = fresh_keys()[which].words(0, 0, n)
    ones = [(int(((words >> np.uint64(b)) & np.uint64(1)).sum())) for b in range(64)]
    p = [stats.binomtest(k, n).pvalue for k in ones]
    assert min(p) > FALSE_ALARM / 64


@pytest.mark.parametrize("which", [0, 1], ids=["secret", "seeded"])
def test_neighbouring_addresses_are_unrelated(which: int) -> None:
    """Differing bits between neighbours in row, sweep and position are Binomial(64 n, 1/2)."""
    n, key = 50_000, fresh_keys()[which]
    here = key.words(0, 0, n + 1, 2)
    pairs = [
        (here[:-1, 0], here[1:, 0]),
        (here[:-1, 0], here[:-1, 1]),
        (here[:-1, 0], key.words(1, 0, n)),
        (here[:-1, 0], key.words(0, 2**32, n)),
        (here[:-1, 0], key.derive("next").words(0, 0, n)),
    ]
    p = [stats.binomtest(int(np.bitwise_count(a ^ b).sum()), 64 * n).pvalue for a, b in pairs]
    assert min(p) > FALSE_ALARM / len(pairs)


@pytest.mark.parametrize("which", [0, 1], ids=["secret", "seeded"])
def test_whole_numbers_are_equally_likely(which: int) -> None:
    n, bound, key = 130_000, 13, fresh_keys()[which]
    for sweep, values in enumerate((key.integers(0, 0, n, bound), bounded(key.words(1, 0, n), bound))):
        counts = np.bincount(values.astype(np.int64), minlength=bound)
        assert len(counts) == bound
        assert stats.chisquare(counts).pvalue > FALSE_ALARM / 2, sweep


@pytest.mark.soak
@pytest.mark.parametrize("which", [0, 1], ids=["secret", "seeded"])
def test_bytes_are_equally_likely_over_a_long_run(which: int) -> None:
    key = fresh_keys()[which]
    counts = np.zeros(65_536, np.int64)
    for sweep in range(40):
        counts += np.bincount(
            key.words(sweep, 0, 250_000, 4, threads=2).view(np.uint16).ravel(), minlength=65_536
        )
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
