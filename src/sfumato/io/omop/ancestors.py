"""What stands above a concept: the vocabulary table `concept_ancestor`, as a hierarchy of concept ids.

A concept may have several parents. Codes climb along one of them: the parent under which the fewest concepts
of the data lie, then the one with the smallest id. So concepts that meet stay together further up, as in a
tree, and every node on the way is an ancestor by the standard.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.database import Database
from sfumato.io.omop.cdm import FORM
from sfumato.table import Table

ANCESTORS = "concept_ancestor"
_COLUMNS = ("ancestor_concept_id", "descendant_concept_id", "min_levels_of_separation")


def ancestor_table(database: Database, place: str) -> Table | None:
    """The ancestors of a CDM, if `table.column` holds concepts and the vocabulary has them."""
    if not database.form.startswith(FORM) or not place.casefold().endswith("_concept_id"):
        return None
    found = next((t for n, t in database.tables.items() if n.casefold() == ANCESTORS), None)
    there = set() if found is None else {c.casefold() for c in found.columns}
    return found if set(_COLUMNS) <= there else None


def ancestors(table: Table, values: Sequence[str]) -> dict[str, set[str]]:
    """By concept id, written as text, all that stands above it; itself is none of it."""
    above: dict[str, set[str]] = {}
    for ancestor, descendant, _ in _pairs(table, set(values)):
        if ancestor != descendant:
            above.setdefault(descendant, set()).add(ancestor)
    return above


def chains(table: Table, values: Sequence[str]) -> list[tuple[str, ...]]:
    """For each concept id the levels above it, itself first, all equally long."""
    above = ancestors(table, values)
    weight: dict[str, int] = {}  # how many concepts of the data lie below
    for own in above.values():
        for node in own:
            weight[node] = weight.get(node, 0) + 1
    parent: dict[str, str] = {}
    for ancestor, child, levels in _pairs(table, {*above, *weight}):
        if levels == 1 and ancestor != child and ancestor in weight:
            best = parent.get(child, ancestor)
            parent[child] = min(best, ancestor, key=lambda node: (weight[node], len(node), node))
    rows = [tuple(_climb(value, parent)) for value in values]
    height = max(map(len, rows), default=1)
    return [(row[0],) * (height - len(row)) + row for row in rows]


def _climb(value: str, parent: dict[str, str]) -> Iterator[str]:
    seen: set[str] = set()
    while value not in seen:  # a vocabulary may be broken, and go round in a circle
        yield value
        seen.add(value)
        value = parent.get(value, value)


def _pairs(table: Table, descendants: set[str]) -> Iterator[tuple[str, str, int]]:
    """(ancestor, descendant, levels between) of some descendants, in one reading."""
    here = {c.casefold(): c for c in table.columns}
    wanted = pa.array(sorted(descendants), pa.string())
    for batch in table.batches([here[c] for c in _COLUMNS]):
        texts = batch.column(1).cast(pa.string())
        rows = batch.filter(pc.is_in(texts, value_set=wanted))
        columns = [rows.column(0).cast(pa.string()), rows.column(1).cast(pa.string()), rows.column(2)]
        yield from zip(*(c.to_pylist() for c in columns), strict=True)
