"""Small tables to describe and to check."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from rich.console import Console

from sfumato.schema import Column, Role, Schema
from sfumato.table import Table

CANARY = "zebra-7319"
QI = Role.QUASI_IDENTIFIER


def table_of(columns: dict[str, Any], *described: Column) -> Table:
    return Table.from_arrow(pa.table(columns), Schema(described) if described else None)


cells = st.lists(
    st.tuples(*[st.sampled_from([None, "a", "b", "c"]) for _ in range(4)]), min_size=1, max_size=40
)


def shown(thing: Any, width: int = 80) -> str:
    console = Console(width=width, file=io.StringIO())
    console.print(thing)
    return console.file.getvalue()  # type: ignore[attr-defined]
