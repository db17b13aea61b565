"""What an identifier may look like in a release: written another way, backwards, with something around it, or
hashed. Whoever knows the identifier can do the same, so none of these hides anybody.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

# A hash without a key, by the number of its hexadecimal digits.
_HASHES = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}


def disguises(ids: list[pa.Array], cells: pa.Array) -> Iterator[tuple[str, list[pa.Array], pa.Array]]:
    """Identifiers of each file of people and released cells, both as text that is equal where they are;
    before them how they are written, nothing for as they stand.

    A disguise that the released cells cannot be is left out: each is a test more.
    """
    plain, stands = [_folded(t) for t in ids], _folded(cells)
    yield "", plain, stands
    bare, kept = [_bare(t) for t in plain], _bare(stands)
    if not (kept.equals(stands) and all(a.equals(b) for a, b in zip(bare, plain, strict=True))):
        yield "", bare, kept
    yield "backwards", [pc.utf8_reverse(t) for t in plain], stands
    hashed = _hash_of(stands)
    if hashed:
        yield f"as {hashed.upper()} hashes without a key", [_hashed(t, hashed) for t in ids], stands
        return
    start, end = _around(stands)
    if start or end:
        around = "with something around it"
        yield around, bare, _bare(_without(stands, _to_sign(start), _from_sign(end)))
        own = _around(plain[0])  # what the identifiers have in common themselves stays: a1 is not b1
        low, high = start.rfind(own[0]) if own[0] else len(start), end.find(own[1]) if own[1] else -1
        cut = end[high + len(own[1]) :] if high >= 0 else end
        yield around, plain, _without(stands, start[:low] if low >= 0 else start, cut)


def _folded(text: pa.Array) -> pa.Array:
    return pc.utf8_lower(pc.utf8_trim_whitespace(text))


def _bare(text: pa.Array) -> pa.Array:
    """Letters and digits alone: 'ab-12' is 'ab12'."""
    return pc.replace_substring_regex(text, r"[^\pL\pN]+", "")


def _hash_of(cells: pa.Array) -> str:
    """The hash that all cells could be, by their length; nothing if they are none."""
    there = cells.drop_null()
    lengths = pc.unique(pc.utf8_length(there)).to_pylist()
    name = _HASHES.get(lengths[0], "") if len(lengths) == 1 else ""
    return name if name and pc.all(pc.match_substring_regex(there, "^[0-9a-f]+$")).as_py() else ""


def _hashed(text: pa.Array, name: str) -> pa.Array:
    made = (None if v is None else hashlib.new(name, v.strip().encode()) for v in text.to_pylist())
    return pa.array([None if h is None else h.hexdigest() for h in made], pa.string())


def _around(text: pa.Array) -> tuple[str, str]:
    """What all values begin with, and what they end with."""
    found = []
    for part in (text, pc.utf8_reverse(text)):
        ends = pc.min_max(part).as_py()
        low, high = ends["min"] or "", ends["max"] or ""
        same = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), None)
        found.append(low[: min(len(low), len(high)) if same is None else same])
    return found[0], found[1][::-1]


def _to_sign(start: str) -> str:
    """Up to the last sign: what comes after may be part of the identifiers."""
    return start[: max((i + 1 for i, c in enumerate(start) if not c.isalnum()), default=0)]


def _from_sign(end: str) -> str:
    return end[min((i for i, c in enumerate(end) if not c.isalnum()), default=len(end)) :]


def _without(text: pa.Array, start: str, end: str) -> pa.Array:
    cut = pc.utf8_slice_codeunits(text, len(start))
    return pc.utf8_slice_codeunits(cut, 0, -len(end)) if end else cut
