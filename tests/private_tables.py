"""Tables of codes with public domains, and grants, for the tests of the private synthesizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from declared import PUBLIC
from numpy.typing import NDArray

from sfumato.privacy import Budget, Ledger
from sfumato.privacy.grants import Grant
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table

Ints = NDArray[np.int64]


def table_of(codes: NDArray[Any], sizes: Sequence[int], persons: Sequence[int] | None = None) -> Table:
    """A table of columns v0, v1, ... with levels 0, 1, ...; codes: (columns, rows)."""
    columns = [
        Column(
            f"v{j}", Kind.ORDINAL, type="integer", levels=tuple(range(k)), missing=False, provenance=PUBLIC
        )
        for j, k in enumerate(sizes)
    ]
    data = {f"v{j}": np.asarray(c, np.int64) for j, c in enumerate(codes)}
    if persons is not None:
        columns.append(Column("who", Kind.NOMINAL, Role.PERSON, type="integer"))
        data["who"] = np.asarray(persons, np.int64)
    return Table.from_arrow(pa.table(data), Schema(tuple(columns)))


def grant(*, rho: float | None = None, epsilon: float | None = None) -> Grant:
    """A grant of a ledger of its own."""
    if rho is not None:
        return Ledger.in_memory(Budget(rho=rho)).grant(rho=rho, purpose="test")
    assert epsilon is not None
    return Ledger.in_memory(Budget(epsilon=epsilon)).grant(epsilon=epsilon, purpose="test")


def chain(rows: int, seed: int = 0, flip: float = 0.2) -> Ints:
    """v0 -> v1 -> v2 with two levels each, and v3 apart: v0 and v2 are independent given v1."""
    random = np.random.default_rng(seed)
    v0 = random.integers(0, 2, rows)
    v1 = np.where(random.random(rows) < flip, 1 - v0, v0)
    v2 = np.where(random.random(rows) < flip, 1 - v1, v1)
    return np.stack([v0, v1, v2, random.integers(0, 3, rows)])


def codes_of(table: Table) -> Ints:
    """The codes of released rows, (columns, rows)."""
    return table.encode().codes.astype(np.int64)
