"""Tables and releases that the tests of release, verify and pseudonyms share."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from declared import PUBLIC

from sfumato.privacy import Guarantee, KAnonymity
from sfumato.release import InternalRecord, Release, manifest
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.table import Table

CLASSES = {("f", 30): 3, ("f", 40): 4, ("m", 30): 3, (None, 40): 5}
"""Rows by quasi-identifiers in `released()`: 15 rows, the smallest class has 3."""


def released(k: int = 3, **record: Any) -> Release:
    """A small file that is 3-anonymous over sex and age, missing counted as a value."""
    rows = [(sex, age) for (sex, age), n in CLASSES.items() for _ in range(n)]
    table = pa.table(
        {
            "sex": pa.array([sex for sex, _ in rows], pa.string()),
            "age": pa.array([age for _, age in rows], pa.int64()),
            "stay": pa.array(range(len(rows)), pa.int64()),
        }
    )
    schema = Schema(
        (
            Column("sex", Kind.NOMINAL, Role.QUASI_IDENTIFIER, levels=("f", "m"), provenance=PUBLIC),
            # One bin for all ages: classes must be counted by value, or they look larger than they are.
            Column("age", Kind.NUMERIC, Role.QUASI_IDENTIFIER, "integer", edges=(0, 120), provenance=PUBLIC),
            Column("stay", Kind.NUMERIC, Role.SENSITIVE, "integer"),
        )
    )
    guarantee = Guarantee.of(KAnonymity(k, ("sex", "age")))
    return Release(
        Table.from_arrow(table, schema), guarantee, InternalRecord(**record), about="Simulated stays."
    )


def alter(directory: Path, column: str, row: int, value: object) -> None:
    """Change one cell of the public file, as someone would who knows Parquet but not the key."""
    path = directory / "public" / "data.parquet"
    table = pq.read_table(path)
    cells = table[column].to_pylist()
    assert cells[row] != value
    cells[row] = value
    at = table.schema.get_field_index(column)
    table = table.set_column(at, table.schema.field(at), pa.array(cells, table.schema.field(at).type))
    pq.write_table(table, path)


def cover_up(directory: Path) -> None:
    """Make the public lists fit the altered files again."""
    public = directory / "public"
    details, _ = manifest.read_manifest(public / manifest.MANIFEST)
    manifest.write_public(public, details)


def every_type(rows: int = 5) -> Table:
    """A table with a column of each type and kind, and a gap in each."""
    instant = [datetime(2024, 3, 31, 1, 30, tzinfo=UTC), None, datetime(1969, 12, 31, 23, tzinfo=UTC)]
    columns: dict[str, tuple[list[Any], Column]] = {
        "text": (["a", None, "ü|\n"], Column("text", Kind.NOMINAL, labels={"a": "label of a"})),
        "level": (["lo", "hi", None], Column("level", Kind.ORDINAL, levels=("lo", "mid", "hi"))),
        "integer": ([1, None, -(2**62)], Column("integer", Kind.NUMERIC, type="integer")),
        "real": ([0.5, None, 1e300], Column("real", Kind.NUMERIC, type="real", unit="mg")),
        "decimal": ([Decimal("1.50"), None, Decimal("-2")], Column("decimal", Kind.NUMERIC, type="decimal")),
        "flag": ([True, None, False], Column("flag", Kind.FLAG, type="boolean")),
        "day": ([date(2020, 2, 29), None, date(1, 1, 1)], Column("day", Kind.DATE, type="date")),
        "clock": (
            [datetime(2020, 1, 1, 12, 5), None, datetime(1950, 1, 1)],
            Column("clock", Kind.DATE, type="datetime"),
        ),
        "instant": (instant, Column("instant", Kind.DATE, type="instant")),
        "codes": (["A01;B02", None, "B02"], Column("codes", Kind.CODES, levels=("A01", "B02", "C03"))),
    }
    data = pa.table({name: (cells * rows)[:rows] for name, (cells, _) in columns.items()})
    return Table.from_arrow(data, Schema(tuple(column for _, column in columns.values())))


def public_bytes(directory: Path) -> dict[str, bytes]:
    """Every public file, and what is inside a Parquet file once it is unpacked."""
    found = {p.name: p.read_bytes() for p in (directory / "public").rglob("*") if p.is_file()}
    for path in (directory / "public").glob("*.parquet"):
        file = pq.ParquetFile(path)
        found["parquet footer"] = repr(file.metadata.to_dict()).encode()
        found["parquet notes"] = (
            repr(file.schema_arrow.metadata).encode() + repr(file.metadata.metadata).encode()
        )
        found["parquet cells"] = file.read().to_pandas().to_csv().encode()
    return found


def rng(seed: int) -> np.random.Generator:
    return Key.from_seed(seed).generator("tests")
