"""Linked tables for tests: small, with faults on request, in every engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.database import Database

PATIENTS = {"patient_id": ["a", "b", "c"], "sex": ["f", "m", "f"]}
STAYS = {"stay_id": [1, 2, 3, 4], "patient_id": ["a", "a", "b", "c"], "ward": ["x", "y", "x", "x"]}
DIAGNOSES = {"stay_id": [1, 1, 2, 3, 4, 4], "code": ["4019", "25000", "4019", "4019", "25000", "486"]}


def tables(**changes: Mapping[str, list[Any]]) -> dict[str, pa.Table]:
    """patients, stays and diagnoses; whole columns changed or added by table."""
    plain = {"patients": PATIENTS, "stays": STAYS, "diagnoses": DIAGNOSES}
    return {name: pa.table({**columns, **changes.get(name, {})}) for name, columns in plain.items()}


def written(folder: Path, rows: Mapping[str, pa.Table]) -> Path:
    """A folder of Parquet files."""
    folder.mkdir(exist_ok=True)
    for name, table in rows.items():
        pq.write_table(table, folder / f"{name}.parquet")
    return folder


def saved(folder: Path, database: Database) -> Path:
    """The rows of a database as a folder of Parquet files."""
    return written(folder, {name: table.to_arrow() for name, table in database.tables.items()})


def in_engine(rows: Mapping[str, pa.Table], engine: str, spark: Any = None) -> dict[str, Any]:
    """The same tables as frames of an engine."""
    if engine == "pandas":
        return {n: t.to_pandas() for n, t in rows.items()}
    if engine == "polars":
        import polars as pl

        return {n: pl.from_arrow(t) for n, t in rows.items()}
    if engine == "duckdb":
        import duckdb

        connection = duckdb.connect()
        return {n: connection.from_arrow(t) for n, t in rows.items()}
    if engine == "spark":
        return {n: spark.createDataFrame(t) for n, t in rows.items()}
    return dict(rows)
