"""The values of a column as texts, each with what a recipe reads of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from sfumato.errors import DataError

T = TypeVar("T")


def placed(levels: Sequence[object], read: Callable[[object], T | None], what: str) -> dict[str, T]:
    """Each value as text, with what was read of it; missing ones are left out, unreadable ones refused."""

    def attempt(level: object) -> T | None:
        try:
            return read(level)
        except DataError:  # counted with the others
            return None

    texts = {str(level): attempt(level) for level in levels if level is not None}
    refused = [text for text, found in texts.items() if found is None]
    if not texts:
        raise DataError("the column has no values.", hint="a hierarchy needs at least one")
    if refused:
        raise DataError(
            f"{len(refused)} of {len(texts)} values are {what}.",
            hint="correct them, make them missing, or choose another recipe",
            values=refused,
        )
    return {text: found for text, found in texts.items() if found is not None}
