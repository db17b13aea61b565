"""Linking rows of one table by a few codes: an intruder knows the quasi-identifiers and some codes of a row.

Of the n released rows that fit, one is named at random: the attack counts 1 / n, and 0 where none fits. Under
k^m-anonymity n is k or more for everybody, as far as the intruder knows no more than m codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from sfumato.assessment.reading.files import Meanings
from sfumato.assessment.sequences.linkage import classes, linked
from sfumato.assessment.sequences.traces import Sides, code_trace
from sfumato.database import Database
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

SIZES = (1, 2, 3)
_NAME = "rows"


def linking_by_codes(
    original: Table,
    released: Table,
    control: Table | None,
    columns: Sequence[str],
    *,
    known: Sequence[str],
    meanings: Meanings,
    most: int,
    people: int,
    key: Key,
) -> list[Score]:
    """A score for each number of codes, up to `most`. columns: of codes. known: beside them.

    meanings: what more general values stand for.
    """
    names = [*known, *(c for c in columns if c not in known)]
    sides: Sides = (
        _rows(original, names),
        None if control is None or any(n not in control.schema for n in names) else _rows(control, names),
        _rows(released, names),
    )
    trace = code_trace(sides, [f"{_NAME}.{c}" for c in columns], _above(columns, meanings, f"{_NAME}."))
    if trace is None or not len(trace.original.person) or not len(trace.released.person):
        return []
    beside = classes(sides, known, _above(known, meanings))
    return [score for h, _, score in linked([trace], beside, people, key) if h <= most]


def _rows(table: Table, names: Sequence[str]) -> Database:
    """A table whose every row is a person, whatever it says of persons."""
    arrow = table.select(names).to_arrow()
    own = "row"
    while own in names:
        own += "_"
    arrow = arrow.append_column(own, pa.array(range(arrow.num_rows), pa.int64()))
    described = [c if c.kind is Kind.CODES else Column(c.name, Kind.NOMINAL, type=c.type) for c in
                 table.schema.select(names)]  # fmt: skip
    schema = Schema((*described, Column(own, Kind.NOMINAL, Role.PERSON, type="integer")))
    return Database({_NAME: Table.from_arrow(arrow, schema)}, keys={_NAME: own})


def _above(
    names: Sequence[str], meanings: Meanings, before: str = ""
) -> dict[str, Mapping[str, Sequence[str]]]:
    """By column and value, what stands above it."""
    out: dict[str, Mapping[str, Sequence[str]]] = {}
    for name in names:
        found: dict[str, list[str]] = {}
        for value, leaves in meanings.get(name, {}).items():
            for leaf in leaves:
                found.setdefault(str(leaf), []).append(str(value))
        if found:
            out[f"{before}{name}"] = found
    return out
