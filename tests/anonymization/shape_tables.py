"""Simulated members with costs, as the tests of clustering and dithering use them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table

QUASI = ("gender", "age", "education", "income")
LEVELS = (2, 8, 6, 5)


def members(rows: int = 5_000, seed: int = 1) -> Table:
    """Gender, age in 8 groups, education in 6, income in 5, and a skewed cost that depends on them."""
    draw = np.random.default_rng(seed)
    age = np.clip(draw.normal(3.5, 2, rows).round(), 0, 7).astype(int)
    education = np.clip(draw.normal(2.5 + 0.2 * (age - 3), 1.3, rows).round(), 0, 5).astype(int)
    income = np.clip(draw.normal(1.5 + 0.4 * education, 1.2, rows).round(), 0, 4).astype(int)
    gender = draw.integers(0, 2, rows)
    cost = np.exp(draw.normal(5 + 0.3 * age + 0.2 * gender, 1.5))
    values = dict(zip(QUASI, (gender, age, education, income), strict=True))
    columns = [
        Column(
            name, Kind.FLAG if size == 2 else Kind.ORDINAL, Role.QUASI_IDENTIFIER, type="integer",
            levels=tuple(range(size)), missing=False,
        )
        for name, size in zip(QUASI, LEVELS, strict=True)
    ]  # fmt: skip
    schema = Schema((*columns, Column("cost", Kind.NUMERIC, Role.SENSITIVE)))
    return Table.from_arrow(pa.table({**values, "cost": cost}), schema)


def codes(table: Table) -> np.ndarray:
    """(rows, 4): the quasi-identifiers as numbers, sorted by cost, which no method changes."""
    data = table.to_arrow().sort_by("cost")
    return np.stack([data.column(c).to_numpy() for c in QUASI], axis=1).astype(float)
