"""What the figures share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import ParameterError
from sfumato.report.palette import ORIGINAL, RELEASED

Spec = dict[str, Any]
FILES = {"domain": ["original", "released"], "range": [ORIGINAL, RELEASED]}
FILES_KEY = (("original", ORIGINAL), ("released", RELEASED))


def shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Counts as shares of their sum; an empty table stays empty."""
    total = counts.sum()
    return counts / total if total > 0 else counts


def floats(values: ArrayLike, what: str, dimensions: int) -> NDArray[np.float64]:
    """The values as an array of floats of that many dimensions, none negative or missing."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != dimensions or not np.isfinite(array).all() or (array < 0).any():
        raise ParameterError(
            f"{what} must be counts, an array of {dimensions} dimensions.", hint="give counts from 0 up"
        )
    return array


def percent(share: float) -> str:
    """A share in words."""
    return f"{100 * share:.1f}%"


def short(text: str, letters: int) -> str:
    """A label that fits, cut before its end, where names made alike differ.

    Cut here, because having it cut to pixels while drawing takes most of the time.
    """
    words = " ".join(text.split())
    if len(words) <= letters:
        return words
    tail = (letters - 1) // 3
    return words[: letters - 1 - tail].rstrip() + "…" + words[len(words) - tail :].lstrip()


def in_expression(texts: Sequence[str]) -> str:
    """Texts as a list in an expression; JSON's quoting is that of the expression language."""
    return json.dumps(list(texts))
