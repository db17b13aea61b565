"""What hangs on the key: the pseudonym of an id, and the days a person's dates are moved by.

Guarantee: without the key, the pseudonyms of unknown ids look like independent random text, and
           the shifts of unknown persons like independent uniform draws.
Because:   HMAC-SHA-256 under a secret key is a pseudo-random function; ids and shifts use derived
           keys of their own, so neither tells about the other.
Assumes:   the key is secret. Ids can be guessed (they are short numbers), so whoever has the key
           can try them all.
Tested by: tests/test_pseudonyms.py
"""

from __future__ import annotations

import hmac
import struct
import unicodedata
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.seeds import Key

_BITS = 160
_ALPHABET = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", np.uint8)
_DAY_US = 86_400_000_000


def canonical_text(value: object) -> str:
    """The text an id is known by, whatever type an engine or a file gave it.

    7, 7.0, Decimal("7.00") and "7" are the same id, because in practice one number is stored as each of
    them; "007" is another one. Text counts as it stands (case, spaces and leading zeros included), but
    a letter is one letter however Unicode composes it (NFC).
    """
    match value:
        case str():
            return unicodedata.normalize("NFC", value)
        case bool():
            return str(value).lower()
        case float() if value.is_integer():
            return str(int(value))
        case Decimal():
            return format(value.normalize(), "f")
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).isoformat()
        case date():
            return value.isoformat()
    return str(value)


# -- pseudonyms ----------------------------------------------------------------------------------


def pseudonyms(values: pa.Array, key: Key, *, domain: str = "") -> pa.Array:
    """The pseudonym of each value, missing for missing: 160 bits in 32 letters and digits."""
    secret = key.derive("pseudonym", domain).to_bytes()
    ids = values.dictionary_encode()
    digests = b"".join(
        hmac.digest(secret, canonical_text(v).encode("utf-8"), "sha256")[: _BITS // 8]
        for v in ids.dictionary.to_pylist()
    )
    return _base32(digests, len(ids.dictionary)).take(ids.indices)


def _base32(raw: bytes, n: int) -> pa.Array:
    """n blocks of 160 bits as texts of 32 characters: five bits each, so nothing is padded."""
    width = _BITS // 5
    bits = np.unpackbits(np.frombuffer(raw, np.uint8)).reshape(n * width, 5)
    letters = _ALPHABET[bits @ np.array([16, 8, 4, 2, 1], np.uint8)]
    ends = np.arange(n + 1, dtype=np.int32) * width
    return pa.Array.from_buffers(pa.string(), n, [None, pa.py_buffer(ends), pa.py_buffer(letters.tobytes())])


# -- shifts --------------------------------------------------------------------------------------


def shifts(persons: pa.Array, key: Key, max_days: int, *, domain: str = "") -> pa.Array:
    """Days to add to the dates of each row: the same for all rows of a person."""
    secret = key.derive("date-shift", domain, max_days).to_bytes()
    ids = persons.dictionary_encode()
    days = [_shift(secret, canonical_text(v), max_days) for v in ids.dictionary.to_pylist()]
    return pa.array(days, pa.int64()).take(ids.indices)


def _shift(secret: bytes, person: str, max_days: int) -> int:
    """Uniform on -max_days .. -1 and 1 .. max_days: nobody's dates stay as they are.

    Words of 64 bits are drawn until one lies below a multiple of the range: then no value is more likely.
    """
    span = 2 * max_days
    limit = 2**64 - 2**64 % span
    for block in count():
        digest = hmac.digest(secret, block.to_bytes(4, "big") + person.encode("utf-8"), "sha256")
        for word in struct.unpack(">4Q", digest):
            if word < limit:
                offset = int(word % span) - max_days
                return offset if offset < 0 else offset + 1
    raise AssertionError("unreachable: a word is refused with probability below one half")


def move(dates: pa.Array, days: pa.Array) -> pa.Array:
    """Dates that many days later. The time of day stays: as on the clock, or in UTC for instants."""
    if pa.types.is_date32(dates.type):
        return pc.add(dates.cast(pa.int32()).cast(pa.int64()), days).cast(pa.int32()).cast(dates.type)
    return pc.add(dates.cast(pa.int64()), pc.multiply(days, _DAY_US)).cast(dates.type)


def day_numbers(dates: pa.Array) -> pa.Array:
    """Whole days since 1970-01-01."""
    if pa.types.is_date32(dates.type):
        return dates.cast(pa.int32()).cast(pa.int64())
    midnight = pc.floor_temporal(dates, unit="day")
    return pc.divide(midnight.cast(pa.int64()), _DAY_US)
