"""Hospital stays to pseudonymize, and what a release of them holds."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
from declared import PUBLIC

from sfumato.release import Release
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.table import Table

KEY = Key.from_bytes(bytes(range(32)))


def stays(**changes: Any) -> Table:
    """Five stays of three persons; the ids as the caller wants them."""
    columns = {
        "name": ["Ann", "Ben", "Ben", "Cyd", "Cyd"],
        "person": [7, 8, 8, 9, 9],
        "born": [
            date(1950, 1, 1),
            date(1980, 5, 5),
            date(1980, 5, 5),
            date(1999, 12, 31),
            date(1999, 12, 31),
        ],
        "admitted": [datetime(2020, 1, i + 1, 8, 30) for i in range(5)],
        "measured": [datetime(2020, 1, i + 1, 7, 0, 0, 5, tzinfo=UTC) for i in range(5)],
        "sex": ["f", "m", "m", None, "f"],
    } | changes
    data = pa.table({n: c for n, c in columns.items() if c is not None})
    meant = {
        "name": Column("name", Kind.NOMINAL, Role.IDENTIFIER),
        "person": Column("person", Kind.NOMINAL, Role.PERSON, "integer"),
        "born": Column("born", Kind.DATE, Role.QUASI_IDENTIFIER, "date"),
        "admitted": Column("admitted", Kind.DATE, type="datetime"),
        "measured": Column("measured", Kind.DATE, type="instant"),
        "sex": Column("sex", Kind.NOMINAL, levels=("f", "m"), provenance=PUBLIC),
    }
    return Table.from_arrow(data, Schema(tuple(meant[n] for n in data.column_names)))


def cells(release: Release, column: str) -> list[Any]:
    return release.data.to_arrow()[column].to_pylist()
