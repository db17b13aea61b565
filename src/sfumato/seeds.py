"""A key, and the streams of random words that hang on it.

A word is addressed by (key, sweep, row, position), never by who asks for it or when: the same for any
number of threads, any chunking and any engine. A secret key gives a ChaCha20 keystream; a key made from
a seed gives a Philox stream, which is quick to draw inside a kernel and hides nothing.

    key = Key.fresh()                     # 256 bits of the operating system's entropy
    key.derive("synthesis", "block", 3)   # an independent key for each purpose
    key.words(sweep=0, first_row=0, rows=1000)

A sampler that carries a privacy promise needs a secret key: whoever knows the seed can replay it.
"""

from __future__ import annotations

import hashlib
import hmac
import operator
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NoReturn, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError

__all__ = ["Key", "Label", "bounded", "uniform"]

Label = str | int

_BYTES = 32
_SECRET, _SEEDED = b"\x00", b"\x01"  # how a key is marked when it travels as bytes
_MAX_SWEEP, _MAX_ROW = 2**32, 2**63
_MAX_WORDS = 2**20  # far below the 2**35 words that one (row, sweep) has, far above any use
_ROWS_PER_THREAD = 2**14


class Key:
    """256 bits that are neither shown, changed, nor sent anywhere by accident.

    seeded: the key was made from a seed (or derived from one that was), so it hides nothing.

    A key cannot be pickled: frameworks pickle whatever a function touches, and write it to logs, caches
    and disks. Send `key.to_bytes()` where a worker needs it, and only there.

    >>> key = sf.Key.from_seed(7)
    >>> key
    Key(seeded)
    >>> key.generator("rows").integers(0, 10, 5).tolist()
    [7, 3, 0, 3, 5]
    >>> sf.Key.fresh().seeded
    False
    """

    __slots__ = ("_bytes", "seeded")
    _bytes: bytes
    seeded: bool

    def __init__(self) -> None:
        raise ParameterError("a key is not made by calling Key.", hint="Key.fresh() or Key.from_seed(0)")

    @classmethod
    def _make(cls, material: bytes, seeded: bool) -> Key:
        key = object.__new__(cls)
        object.__setattr__(key, "_bytes", material)
        object.__setattr__(key, "seeded", seeded)
        return key

    @classmethod
    def fresh(cls) -> Key:
        """A new secret key from the operating system's entropy."""
        return cls._make(secrets.token_bytes(_BYTES), seeded=False)

    @classmethod
    def from_seed(cls, seed: SupportsIndex) -> Key:
        """The key of a seed, for tests and teaching: whoever guesses the seed has the key."""
        number = _whole("seed", seed, 0, None)
        digest = hashlib.blake2b(str(number).encode(), digest_size=_BYTES, person=b"sfumato.seed")
        return cls._make(digest.digest(), seeded=True)

    @classmethod
    def from_bytes(cls, data: bytes) -> Key:
        """The key that `to_bytes` wrote; or 32 bytes of your own, taken as a secret key."""
        data = bytes(data)
        if len(data) == _BYTES:
            return cls._make(data, seeded=False)
        if len(data) != _BYTES + 1 or data[:1] not in (_SECRET, _SEEDED):
            raise ParameterError(
                f"a key has {_BYTES} bytes, or {_BYTES + 1} as to_bytes() writes it; {len(data)} bytes "
                "were given that are neither.",
                hint="give back what to_bytes() returned, unchanged",
            )
        return cls._make(data[1:], seeded=data[:1] == _SEEDED)

    def to_bytes(self) -> bytes:
        """The key in the open, 33 bytes: whether it is seeded, and its 256 bits. Keep them safe."""
        return (_SEEDED if self.seeded else _SECRET) + self._bytes

    # -- what hangs on it ------------------------------------------------------------------------

    def derive(self, *labels: Label) -> Key:
        """An independent key for these labels; no two lists of labels share one.

        Because: BLAKE2b keyed with this key is a pseudo-random function, and the labels are encoded
        with their types and lengths, so ("a", "bc"), ("ab", "c"), (1,) and ("1",) all differ.
        """
        if not labels:
            raise ParameterError("a derived key needs at least one label.", hint='key.derive("sampling")')
        return self._make(self._digest(b"sfumato.derive", _encoded(labels)), self.seeded)

    def generator(self, *labels: Label) -> np.random.Generator:
        """numpy's generator for these labels: for simulation, never for privacy."""
        material = self._digest(b"sfumato.numpy", _encoded(labels))
        # numpy reads the array in the machine's byte order: fix it, so that all machines agree.
        philox_key = np.frombuffer(material[:16], dtype="<u8").astype(np.uint64)
        return np.random.Generator(np.random.Philox(key=philox_key))

    def array(self) -> NDArray[np.uint32]:
        """The stream's key, shape (8,), for `sfumato._chacha.stream_block` in a kernel."""
        material = self._digest(b"sfumato.stream", b"")
        return np.frombuffer(material, dtype="<u4").astype(np.uint32)

    def words(
        self, sweep: int, first_row: int, rows: int, words_per_row: int = 1, *, threads: int = 1
    ) -> NDArray[np.uint64]:
        """Words of 64 bits for rows first_row, first_row + 1, ... of a sweep.

        Shape (rows,) for one word per row, otherwise (rows, words_per_row). Word j of a row is the
        same however many words, rows or threads are asked for.
        """
        from sfumato import _chacha

        sweep, first_row, rows = _address(sweep, first_row, rows)
        words_per_row = _whole("words_per_row", words_per_row, 1, _MAX_WORDS)
        out = np.empty((rows, words_per_row), np.uint64)
        kernel = _chacha.philox_rows if self.seeded else _chacha.chacha_rows
        key = self.array()

        def fill(start: int, stop: int) -> None:
            kernel(key, sweep, first_row + start, out[start:stop])

        _in_parts(fill, rows, _whole("threads", threads, 1, None))
        return out[:, 0] if words_per_row == 1 else out

    def integers(
        self, sweep: int, first_row: int, rows: int, bound: int, *, threads: int = 1
    ) -> NDArray[np.uint64]:
        """One whole number from 0 to bound - 1 per row, exactly equally likely; bound up to 2**63.

        Refused words are replaced by the next word of the same row, so it has the same addressing as
        `words`. Do not use both for one (row, sweep): they would share words.
        """
        from sfumato import _chacha

        sweep, first_row, rows = _address(sweep, first_row, rows)
        limit = np.uint64(_whole("bound", bound, 1, 2**63))
        out = np.empty(rows, np.uint64)
        key = self.array()

        def fill(start: int, stop: int) -> None:
            _chacha.integers_rows(key, self.seeded, sweep, first_row + start, limit, out[start:stop])

        _in_parts(fill, rows, _whole("threads", threads, 1, None))
        return out

    def _digest(self, person: bytes, message: bytes) -> bytes:
        return hashlib.blake2b(message, digest_size=_BYTES, key=self._bytes, person=person).digest()

    # -- a value that keeps its secret -----------------------------------------------------------

    def __repr__(self) -> str:
        return f"Key({'seeded' if self.seeded else 'secret'})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Key):
            return NotImplemented
        return hmac.compare_digest(self.to_bytes(), other.to_bytes())

    def __hash__(self) -> int:
        return hash((self.seeded, self._digest(b"sfumato.hash", b"")))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a key cannot be changed")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a key cannot be changed")

    def __copy__(self) -> Key:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Key:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise ParameterError(
            "a key is not pickled: it would end up in logs, caches and on disks.",
            hint="send key.to_bytes() and rebuild it with Key.from_bytes() where it is used",
        )


def uniform(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Doubles on [0, 1) from words: whole multiples of 2**-53, each equally likely."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def bounded(words: NDArray[np.uint64], bound: int) -> NDArray[np.int64]:
    """Whole numbers from 0 to bound - 1, one word each; bound up to 2**32.

    Each probability is off 1/bound by less than 2**-64, so two outcomes differ by a factor of at most
    1 + bound/2**63. `Key.integers` has no such bias.
    """
    limit = np.uint64(_whole("bound", bound, 1, 2**32))
    high, low = words >> np.uint64(32), words & np.uint64(0xFFFFFFFF)
    return ((high * limit + ((low * limit) >> np.uint64(32))) >> np.uint64(32)).astype(np.int64)


def _encoded(labels: tuple[Label, ...]) -> bytes:
    """Type, length and content of each label: a code that can be read back, hence injective."""
    parts = []
    for label in labels:
        if isinstance(label, str):
            tag, content = b"s", label.encode("utf-8", "surrogatepass")
        elif isinstance(label, (int, np.integer)) and not isinstance(label, bool):
            tag, content = b"i", str(int(label)).encode()
        else:
            raise ParameterError(
                f"a label is text or a whole number, not {type(label).__name__}.",
                hint="name the purpose, count the parts",
            )
        parts += [tag, len(content).to_bytes(8, "little"), content]
    return b"".join(parts)


def _address(sweep: int, first_row: int, rows: int) -> tuple[int, int, int]:
    sweep = _whole("sweep", sweep, 0, _MAX_SWEEP - 1)
    first_row = _whole("first_row", first_row, 0, _MAX_ROW - 1)
    return sweep, first_row, _whole("rows", rows, 0, _MAX_ROW - first_row)


def _whole(name: str, value: SupportsIndex, low: int, high: int | None) -> int:
    """A whole number within its range, whatever integer type it came as."""
    try:
        number = operator.index(value) if not isinstance(value, (bool, np.bool_)) else None
    except TypeError:
        number = None
    if number is None or number < low or (high is not None and number > high):
        span = f"from {low} to {high}" if high is not None else f"{low} or more"
        raise ParameterError(f"{name} must be a whole number, {span}.", hint=f"correct {name}")
    return number


def _in_parts(fill: Callable[[int, int], None], rows: int, threads: int) -> None:
    """Fill [0, rows) in parts; the kernels release the interpreter, so threads run side by side."""
    parts = min(threads, -(-rows // _ROWS_PER_THREAD))
    if parts <= 1:
        fill(0, rows)
        return
    cuts = [rows * i // parts for i in range(parts + 1)]
    with ThreadPoolExecutor(parts) as pool:
        for future in [pool.submit(fill, a, b) for a, b in pairwise(cuts)]:
            future.result()
