"""Pseudonyms that stay whole numbers, for databases whose keys must be integers.

Guarantee: without the key, the pseudonyms of unknown ids look like a random order of all numbers of that
width.
Because:   a Feistel network of ten rounds over AES (a pseudo-random function) is a pseudo-random
           permutation, walked along until it falls into the range: two ids never share a pseudonym, and
           none is kept in a table.
Assumes:   the key is secret; ids are whole numbers from 0 up to the width.
Tested by: tests/database/test_linked_pseudonyms.py
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.seeds import Key

WIDTHS = (32, 64)
_ROUNDS = 10


def most_id(width: int) -> int:
    """The largest id that has a pseudonym: signed integers of that many bits, of which 0 is not given."""
    return (1 << (width - 1)) - 2


def number_pseudonyms(values: pa.Array, key: Key, width: int, *, domain: str) -> pa.Array:
    """The pseudonym of each id, from 1 up, missing for missing; int64."""
    ids = values.cast(pa.int64()).dictionary_encode()
    numbers = np.asarray(ids.dictionary.to_numpy(zero_copy_only=False), np.int64)
    outside = int(((numbers < 0) | (numbers > most_id(width))).sum())
    if outside:
        raise DataError(
            f"{outside:,} ids are not whole numbers from 0 to {most_id(width)}.",
            hint="integers=64 takes larger ones; without integers, pseudonyms are text",
        )
    secret = key.derive("pseudonym-number", domain, width).to_bytes()[-32:]
    return pa.array(_permuted(numbers.astype(np.uint64), secret, width) + 1, pa.int64()).take(ids.indices)


def _permuted(numbers: NDArray[np.uint64], secret: bytes, width: int) -> NDArray[np.int64]:
    """Along the cycle of the network until a number of the range comes: half of all are."""
    found = _network(numbers, secret, width)
    while len(outside := np.flatnonzero(found > np.uint64(most_id(width)))):
        found[outside] = _network(found[outside], secret, width)
    return found.astype(np.int64)


def _network(numbers: NDArray[np.uint64], secret: bytes, width: int) -> NDArray[np.uint64]:
    """Ten Feistel rounds over both halves of a number of `width` bits."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    half = np.uint64(width // 2)
    mask = np.uint64(2 ** (width // 2) - 1)
    left, right = numbers >> half, numbers & mask
    encryptor = Cipher(algorithms.AES(secret), modes.ECB()).encryptor()
    block = np.zeros((len(numbers), 2), "<u8")
    for at in range(_ROUNDS):
        block[:, 0], block[:, 1] = right, at
        drawn = np.frombuffer(encryptor.update(block.tobytes()), "<u8").reshape(-1, 2)[:, 0]
        left, right = right, left ^ (drawn.astype(np.uint64) & mask)
    return (left << half) | right
