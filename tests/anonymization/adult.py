"""Adult with its nine hierarchies."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import sfumato as sf
from sfumato.anonymization.problem import Problem, compress
from sfumato.hierarchy import Hierarchy


@cache
def adult(data: Path) -> Problem:
    """All nine columns are quasi-identifiers."""
    table = sf.scan(data / "adult" / "adult_arx_30162.parquet")
    hierarchies = {}
    for column in table.columns:
        path = data / "adult" / "hierarchies_arx" / f"adult_hierarchy_{column}.csv"
        with path.open(encoding="utf-8") as file:
            hierarchies[column] = Hierarchy.of_rows(list(csv.reader(file, delimiter=";")))
    return compress(table, table.columns, hierarchies)
