"""A picture of a page in few colours: a PNG with a palette, a third as large, that looks alike."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

_SIGN = b"\x89PNG\r\n\x1a\n"
_BYTES = {2: 3, 6: 4}  # by colour type: RGB, RGBA


def pixels(png: bytes) -> NDArray[np.uint8]:
    """Height x width x 3, of a PNG of eight bits as browsers write it."""
    assert png[:8] == _SIGN
    at, data, head = 8, b"", b""
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        head = body if kind == b"IHDR" else head
        data += body if kind == b"IDAT" else b""
        at += 12 + length
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", head)
    assert depth == 8 and not interlaced
    size = _BYTES[colour]
    lines = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + width * size)
    kinds = lines[:, 0].astype(np.int64)
    return _unfiltered(kinds, lines[:, 1:].reshape(height, width, size))[:, :, :3]


def _unfiltered(kinds: NDArray[np.int64], lines: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Each line was written as differences to a guess: of the pixel to the left, above, or both.

    Pixels of one diagonal do not depend on each other: left and above lie on the one before.
    """
    height, width, size = lines.shape
    out = np.zeros((height + 1, width + 1, size), np.int64)  # with an edge of zeros above and to the left
    for diagonal in range(height + width - 1):
        y = np.arange(max(0, diagonal - width + 1), min(height, diagonal + 1))
        x = diagonal - y
        left, above, corner = out[y + 1, x], out[y, x + 1], out[y, x]
        guess = left + above - corner
        a, b, c = abs(guess - left), abs(guess - above), abs(guess - corner)
        nearest = np.where((a <= b) & (a <= c), left, np.where(b <= c, above, corner))
        guesses = [np.zeros_like(left), left, above, (left + above) // 2, nearest]
        chosen = np.choose(kinds[y][:, None], guesses)
        out[y + 1, x + 1] = (lines[y, x] + chosen) % 256
    return out[1:, 1:].astype(np.uint8)


def smaller(png: bytes, colours: int) -> bytes:
    """The same picture in at most so many colours (to 256): the most frequent, each other as the nearest."""
    image = pixels(png)
    height, width, _ = image.shape
    packed = (image.astype(np.int64) * np.array([1 << 16, 1 << 8, 1])).sum(axis=2).ravel()
    seen, back, n = np.unique(packed, return_inverse=True, return_counts=True)
    rgb = np.stack([seen >> 16, (seen >> 8) & 255, seen & 255], axis=1)
    kept = rgb[_spread(rgb, n, min(colours, len(seen)))]
    nearest = np.array([int(((kept - one) ** 2).sum(axis=1).argmin()) for one in rgb])
    places = nearest[back].reshape(height, width).astype(np.uint8)
    rows = np.concatenate([np.zeros((height, 1), np.uint8), places], axis=1).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", kept.astype(np.uint8).tobytes()), (b"IDAT", zlib.compress(rows, 9)),
             (b"IEND", b""))  # fmt: skip
    return _SIGN + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in parts
    )


def _spread(rgb: NDArray[np.int64], n: NDArray[np.int64], wanted: int) -> NDArray[np.int64]:
    """The most frequent colours, and one after the other those that are missed most: far and frequent."""
    chosen = [int(n.argmax())]
    far = ((rgb - rgb[chosen[0]]) ** 2).sum(axis=1)
    weight = np.sqrt(n)
    while len(chosen) < wanted:
        best = int((far * weight).argmax())
        chosen.append(best)
        far = np.minimum(far, ((rgb - rgb[best]) ** 2).sum(axis=1))
    return np.array(chosen)
