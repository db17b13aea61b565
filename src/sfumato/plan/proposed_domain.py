"""A domain for every column of a table where nobody declared one: for the map, and for nothing else.

A synthesizer needs to know what a cell may hold. On the map the domain is proposed from the data, as
`sfumato init` proposes it, and taken as if somebody answered for it. That gives a point to look at. It gives
no promise: a value that only one person has shows in the domain, whatever noise is added afterwards.
"""

from __future__ import annotations

import math
from dataclasses import replace

from sfumato.description import update
from sfumato.description.one_way import one_way, open_table
from sfumato.errors import DataError
from sfumato.privacy import Guarantee, NoGuarantee
from sfumato.release import Release
from sfumato.schema import Column, Kind, Provenance, Role, Schema
from sfumato.table import Table

MARK = "domain proposed from the data: no promise of epsilon"
_LOOK = Provenance.declared("the map", "proposed from the data for a point to look at: no promise")
_DETAIL = (
    "What a cell may hold was read off the data itself. Name a public list, declare the domain, or find it "
    "with a part of the budget (docs/domains.md): then the method gives its promise."
)
_NOT_DRAWN = (Role.IDENTIFIER, Role.PERSON, Role.WEIGHT)
_HEAVY = 0.05  # share of the rows from which on a number is a bin by itself
_MOST_LEVELS = (
    200  # of a column of names: tables of pairs stay small, and there is somebody under most of them
)


def is_public(table: Table) -> bool:
    """Whether every column that would be synthesized has a public domain."""
    return all(c.public for c in table.schema if c.role not in _NOT_DRAWN)


def with_proposed_domain(table: Table) -> Table:
    """The columns that a domain could be proposed for, each with it; whose row it is and weights stay."""
    proposed = _with_heavy_values(update(None, table, extend=True), table)
    columns = [_usable(proposed[name]) for name in table.schema.names]
    kept = Schema(tuple(c for c in columns if c is not None))
    if not any(c.role not in _NOT_DRAWN for c in kept):
        raise DataError(
            "no column has a domain that could be proposed: they name people, or have too many values.",
            hint="declare levels or edges in the schema",
        )
    return table.select(kept.names).with_schema(kept)


def _with_heavy_values(proposed: Schema, table: Table) -> Schema:
    """Bins of their own for numbers that many rows have: within a bin every number is drawn alike.

    Without them the nine rows in ten that have no capital gain would get one.
    """
    open_ = [
        c.name
        for c in table.schema
        if not c.declared and proposed[c.name].edges is not None and c.type in ("integer", "real")
    ]
    for name, counts in (one_way(open_table(table, open_))[0] if open_ else {}).items():
        column, levels = proposed[name], counts.codebooks[0].levels.to_pylist()
        often = counts.codes[counts.n > _HEAVY * counts.n.sum(), 0].tolist()
        heavy = [levels[i] for i in often if i < len(levels) and math.isfinite(levels[i])]
        ends = [v + 1 if column.type == "integer" else math.nextafter(v, math.inf) for v in heavy]
        edges = sorted({*(column.edges or ()), *heavy, *ends})
        proposed = proposed.with_(name, edges=tuple(edges))
    return proposed


def _usable(column: Column) -> Column | None:
    """The column with its domain taken as public; None where there is none."""
    if column.role in _NOT_DRAWN:
        return column
    if column.kind in (Kind.CODES, Kind.TEXT) or not column.declared:
        return None
    if column.levels is not None and not column.public and len(column.levels) > _MOST_LEVELS:
        return None
    size = column.size or 0
    # Of a column that is always the same, missing is the second thing to draw; infinite is the outer bin.
    return replace(
        column,
        provenance=column.provenance if column.public and size > 1 else _LOOK,
        missing=column.missing or size < 2,
        clamp=column.clamp or column.edges is not None,
    )


def without_promise(release: Release) -> Release:
    """The release, saying that its domain voids what its method would promise."""
    return replace(release, guarantee=Guarantee.of(NoGuarantee(MARK, _DETAIL)))
