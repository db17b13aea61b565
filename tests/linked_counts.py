"""What a fit of linked tables was told of the data, wherever they were counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfumato.synthesis.people import person_chunks
from sfumato.synthesis.people.tallies import Outline


def listened(monkeypatch: pytest.MonkeyPatch, *kinds: Any) -> list[Any]:
    """All answers that fits get from now on."""
    found: list[Any] = []
    for kind in (person_chunks.PersonChunks, *kinds):
        genuine = kind.count

        def counted(self: Any, question: Any, genuine: Any = genuine) -> Any:
            found.append(genuine(self, question))
            return found[-1]

        monkeypatch.setattr(kind, "count", counted)
    return found


def require_same(one: Any, other: Any) -> None:
    """Counts, bit by bit."""
    if isinstance(one, Outline):
        one, other = one.tables, other.tables
    if isinstance(one, dict):
        assert list(one) == list(other)
        one, other = tuple(one.values()), tuple(other.values())
    if isinstance(one, tuple):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            require_same(mine, theirs)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype and (one == other).all()
    elif hasattr(one, "__dict__"):
        require_same(vars(one), vars(other))
    else:
        assert one == other
