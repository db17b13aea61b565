"""Which columns of a table say something of a person."""

from __future__ import annotations

from collections.abc import Collection

from sfumato.schema import Column, Kind, Role, Schema

NAMING = (Role.IDENTIFIER, Role.PERSON, Role.WEIGHT)
"""Roles of columns that say who a row is, or how much it counts."""
PLAIN = {Kind.NUMERIC: "number", Kind.FLAG: "flag", Kind.NOMINAL: "category", Kind.ORDINAL: "category"}
"""Kinds whose cells are single values without a clock, as models call them."""


def telling(schema: Schema, without: Collection[str] = ()) -> list[Column]:
    """The columns that name nobody and are no weight."""
    return [c for c in schema if c.role not in NAMING and c.name not in without]
