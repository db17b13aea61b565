"""How often each value of each column occurs, whatever the schema says it should be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato.counts import Counts
from sfumato.errors import DataError, listed
from sfumato.schema import Column, Schema
from sfumato.sources import BatchSource
from sfumato.table import Table

_WIDE = 2**17  # from so many values on a column is tallied, not looked up


def opened(column: Column) -> Column:
    """The column without its declared domain: a table counts what is there instead of refusing it."""
    return replace(
        column, levels=None, edges=None, clamp=False, missing=True, confirmed=False, provenance=None
    )


def open_table(table: Table, names: Sequence[str] | None = None) -> Table:
    """The same rows with every domain open."""
    schema = table.schema if names is None else table.schema.select(names)
    return table.with_schema(Schema(tuple(opened(c) for c in schema)))


def one_way(table: Table) -> tuple[dict[str, Counts], dict[str, DataError]]:
    """The counts of each column by itself, and of those that cannot be read as their type, the reason.

    `table` must be open. Two passes of the rows; a column that cannot be read costs passes of its own.
    """
    names = list(table.columns)
    if not names:
        return {}, {}
    refused: dict[str, DataError] = {}
    try:
        table.codebooks(names)
    except DataError as error:
        # Which columns is it? Each by itself says so.
        for name in names:
            try:
                table.codebooks([name])
            except DataError as fault:
                refused[name] = fault
        if not refused:
            raise error from None
    readable = [n for n in names if n not in refused]
    books = table.codebooks(readable)
    wide = [n for n in readable if books[n].size > _WIDE and isinstance(table.source, BatchSource)]
    counted = table.tabulate([(n,) for n in readable if n not in wide]) if len(wide) < len(readable) else {}
    found = {name: counts for (name,), counts in counted.items()}
    found |= table.one_way(wide) if wide else {}
    return {n: found[n] for n in readable}, refused


def refuse_all(table: Table, refused: dict[str, DataError]) -> None:
    """Where columns must be readable: one error for all that are not."""
    if len(refused) == 1:
        raise next(iter(refused.values()))
    if refused:
        columns = listed([f"'{n}' ({table.schema[n].type})" for n in refused])
        raise DataError(
            f"{len(refused)} columns cannot be read as their type: {columns}.",
            hint="sfumato schema check counts the cells; correct them, or the types in the schema",
        )


def gaps(counts: Counts) -> int:
    """How many cells of a single counted column are missing."""
    at = counts.codes[:, 0] == len(counts.codebooks[0].levels)
    return int(counts.n[at].sum())
