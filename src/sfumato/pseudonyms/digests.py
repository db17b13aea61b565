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

import hashlib
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.counts import decimal_text, same_form, same_forms
from sfumato.seeds import Key

_BITS = 160
_PIECE = 65_536
_ALPHABET = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", np.uint8)
_DAY_US = 86_400_000_000


def canonical_text(value: object) -> str:
    """The text an id is known by, whatever type an engine or a file gave it.

    7, 7.0, Decimal("7.00") and "7" are the same id, because in practice one number is stored as each of
    them; "007" is another one. Text counts in the form in which persons are told apart
    (`counts.spelling`): blanks around it and signs without ink do not matter, however Unicode composes it.
    """
    match value:
        case str():
            return same_form(value)
        case bool():
            return str(value).lower()
        case float() if value.is_integer():
            return str(int(value))
        case Decimal():
            return decimal_text(value)
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).isoformat()
        case date():
            return value.isoformat()
    return str(value)


def _texts(values: pa.Array) -> pa.Array:
    """`canonical_text` of values without gaps; the common kinds of id without a loop."""
    kind = values.type
    if pa.types.is_floating(kind) and pc.all(pc.less(pc.abs(values), 2.0**53)).as_py():
        whole = values.cast(pa.int64(), safe=False)
        values = whole if pc.all(pc.equal(whole.cast(kind), values)).as_py() else values
    if pa.types.is_integer(values.type):
        return values.cast(pa.string())
    if pa.types.is_string(kind):
        return same_forms(values)
    return pa.array([canonical_text(v) for v in values.to_pylist()], pa.string())


def _digests(secret: bytes, texts: pa.Array, prefix: bytes = b"") -> NDArray[np.uint8]:
    """HMAC-SHA-256 of prefix + text, shape (texts, 32).

    As RFC 2104 has it; the two keyed states are made once and copied, which is more than twice as fast
    as a call of `hmac` for each text.
    """
    padded = secret.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded) + prefix)
    outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in padded))
    found = np.empty((len(texts), 32), np.uint8)
    messages = texts.cast(pa.binary())
    for start in range(0, len(texts), _PIECE):  # few texts at a time become objects of Python
        made = []
        for message in messages.slice(start, _PIECE).to_pylist():
            first, second = inner.copy(), outer.copy()
            first.update(message)
            second.update(first.digest())
            made.append(second.digest())
        found[start : start + len(made)] = np.frombuffer(b"".join(made), np.uint8).reshape(-1, 32)
    return found


# -- pseudonyms ----------------------------------------------------------------------------------


def pseudonyms(values: pa.Array, key: Key, *, domain: str = "") -> pa.Array:
    """The pseudonym of each value, missing for missing: 160 bits in 32 letters and digits."""
    secret = key.derive("pseudonym", domain).to_bytes()
    ids = values.dictionary_encode()
    return _base32(_digests(secret, _texts(ids.dictionary))[:, : _BITS // 8]).take(ids.indices)


def _base32(raw: NDArray[np.uint8]) -> pa.Array:
    """Rows of 160 bits as texts of 32 characters: five bits each, so nothing is padded."""
    n, width = len(raw), _BITS // 5
    bits = np.unpackbits(raw, axis=1).reshape(n * width, 5)
    letters = _ALPHABET[bits @ np.array([16, 8, 4, 2, 1], np.uint8)]
    ends = np.arange(n + 1, dtype=np.int32) * width
    return pa.Array.from_buffers(pa.string(), n, [None, pa.py_buffer(ends), pa.py_buffer(letters.tobytes())])


# -- shifts --------------------------------------------------------------------------------------


def shifts(persons: pa.Array, key: Key, max_days: int, *, domain: str = "") -> pa.Array:
    """Days to add to the dates of each row: the same for all rows of a person."""
    secret = key.derive("date-shift", domain, max_days).to_bytes()
    ids = persons.dictionary_encode()
    offsets = _uniform(secret, _texts(ids.dictionary), 2 * max_days) - max_days
    return pa.array(np.where(offsets < 0, offsets, offsets + 1), pa.int64()).take(ids.indices)


def _uniform(secret: bytes, texts: pa.Array, span: int) -> NDArray[np.int64]:
    """A number from 0 to span - 1 for each text, exactly equally likely.

    Words of 64 bits are drawn until one lies below the largest multiple of the span; for spans of
    days the first one nearly always does.
    """
    largest = np.uint64((2**64 - 2**64 % span) - 1)
    out = np.empty(len(texts), np.int64)
    open_ = np.arange(len(texts))
    for block in count():
        if not len(open_):
            return out
        words = _digests(secret, texts.take(pa.array(open_)), block.to_bytes(4, "big"))[:, :8].copy()
        numbers = words.view(">u8")[:, 0].astype(np.uint64)
        fine = numbers <= largest
        out[open_[fine]] = (numbers[fine] % np.uint64(span)).astype(np.int64)
        open_ = open_[~fine]
    raise AssertionError("unreachable")


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
