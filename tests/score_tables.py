"""Small tables with an outcome, and public schemas, for the tests of private scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from declared import PUBLIC
from numpy.typing import NDArray

from sfumato.schema import Column, Kind, Schema
from sfumato.table import Table

# Limits of the eight measurements of Pima, from knowledge of what is measured.
PIMA = ((0, 20), (0, 200), (0, 130), (0, 100), (0, 900), (0, 70), (0, 2.5), (18, 90))


def numbers(*bounds: tuple[float, float], missing: bool = False) -> Schema:
    """Numbers x0, x1, ... with these public bounds."""
    return Schema(
        tuple(
            Column(f"x{j}", Kind.NUMERIC, edges=(float(a), float(b)), missing=missing, provenance=PUBLIC)
            for j, (a, b) in enumerate(bounds)
        )
    )


MIXED = Schema(
    (
        Column("dose", Kind.NUMERIC, edges=(0.0, 10.0), unit="mg", provenance=PUBLIC),
        Column("ward", Kind.NOMINAL, levels=("a", "b", "c"), provenance=PUBLIC),
        Column("grade", Kind.ORDINAL, type="integer", levels=(1, 2, 3, 4), missing=False, provenance=PUBLIC),
        Column("smoker", Kind.FLAG, type="boolean", levels=(False, True), provenance=PUBLIC),
        Column("sick", Kind.FLAG, type="boolean", levels=(False, True), missing=False, provenance=PUBLIC),
    )
)


def mixed(rows: int, seed: int = 0) -> Table:
    """Rows of MIXED in which dose and ward matter; some cells are missing."""
    random = np.random.default_rng(seed)
    dose = random.uniform(-1, 11, rows)  # some lie outside the public bounds
    ward = random.integers(0, 4, rows)
    grade, smoker = random.integers(1, 5, rows), random.random(rows) < 0.3
    odds = 0.6 * (dose - 5) + 1.0 * (ward == 2) + 0.2 * grade
    sick = random.random(rows) < 1 / (1 + np.exp(-odds))
    return Table.from_arrow(
        pa.table(
            {
                "dose": pa.array([None if random.random() < 0.1 else float(d) for d in dose]),
                "ward": pa.array([None if w == 3 else "abc"[w] for w in ward]),
                "grade": pa.array(grade),
                "smoker": pa.array([None if random.random() < 0.1 else bool(s) for s in smoker]),
                "sick": pa.array(sick),
            }
        ),
        MIXED,
    )


def pima(folder: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    """Features and outcomes of the Pima data."""
    table = pq.read_table(folder / "pima" / "pima_indians_diabetes.parquet").to_pandas()
    return table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy(int)


def halves(rows: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A random half to learn from, and the other to test on."""
    order = np.random.default_rng(seed).permutation(rows)
    return order[: rows // 2], order[rows // 2 :]
