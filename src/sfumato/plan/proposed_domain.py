"""A domain for every column of a table where nobody declared one: for the map, and for nothing else.

A synthesizer needs to know what a cell may hold. On the map the domain is proposed from the data, as `sfumato
init` proposes it, and taken as if a person had confirmed it. That gives a point to look at. It gives no promise:
a value that only one person has shows in the domain, whatever noise is added afterwards.
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.description import update
from sfumato.errors import DataError
from sfumato.privacy import Guarantee, NoGuarantee
from sfumato.release import Release
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table

MARK = "domain proposed from the data, not confirmed: no promise of epsilon"
_DETAIL = (
    "What a cell may hold was read off the data itself. Declare levels and edges that are public and set "
    "confirmed = true: then the method gives its promise."
)
_NOT_DRAWN = (Role.IDENTIFIER, Role.PERSON, Role.WEIGHT)
_MOST_LEVELS = 200  # of a column of names: tables of pairs stay small, and there is somebody under most of them


def is_confirmed(table: Table) -> bool:
    """Whether every column that would be synthesized has a domain that a person confirmed."""
    return all(c.public for c in table.schema if c.role not in _NOT_DRAWN)


def with_proposed_domain(table: Table) -> Table:
    """The columns that a domain could be proposed for, each with it; whose row it is and weights stay."""
    proposed = update(None, table, extend=True)
    columns = [_usable(proposed[name]) for name in table.schema.names]
    kept = Schema(tuple(c for c in columns if c is not None))
    if not any(c.role not in _NOT_DRAWN for c in kept):
        raise DataError(
            "no column has a domain that could be proposed: they name people, or have too many values.",
            hint="declare levels or edges in the schema",
        )
    return table.select(kept.names).with_schema(kept)


def _usable(column: Column) -> Column | None:
    """The column with its domain taken as confirmed; None where there is none."""
    if column.role in _NOT_DRAWN:
        return column
    if column.kind in (Kind.CODES, Kind.TEXT) or not column.declared:
        return None
    if column.levels is not None and not column.public and len(column.levels) > _MOST_LEVELS:
        return None
    size = column.size or 0
    # Of a column that is always the same, missing is the second thing to draw.
    return replace(column, confirmed=True, missing=column.missing or size < 2)


def without_promise(release: Release) -> Release:
    """The release, saying that its domain voids what its method would promise."""
    return replace(release, guarantee=Guarantee.of(NoGuarantee(MARK, _DETAIL)))
