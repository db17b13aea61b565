"""Hierarchies over several columns, settled for a table: what goes with the finest column, and how.

Guarantee: classes by the quasi-identifiers with the columns above are the classes by the finest ones alone.
Because:   a cell of a column above is a function of the node that the finest column is released as
           (`Chain.cells`), and nodes of one hierarchy are never written the same.
Tested by: tests/anonymization/test_nesting.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.anonymization.problem import MISSING
from sfumato.anonymization.suppression import FinalClasses
from sfumato.errors import DataError, ParameterError, listed
from sfumato.hierarchy import Chain, Nested
from sfumato.schema import Role
from sfumato.table import Table

Chains = Mapping[str, Chain]


def goes_with(given: Mapping[str, Any]) -> dict[str, str]:
    """{column above: the finest column that it goes with}."""
    return {
        c: name for name, recipe in given.items() if isinstance(recipe, Nested | Chain) for c in above(recipe)
    }


def above(recipe: Nested | Chain) -> tuple[str, ...]:
    """The columns above the finest one."""
    return recipe.above if isinstance(recipe, Nested) else tuple(recipe.heights)


def bind(table: Table, given: Mapping[str, Any], columns: Sequence[str]) -> tuple[dict[str, Any], Chains]:
    """Hierarchies with those over several columns settled, and these as chains by their finest column."""
    chains = {n: chain_of(table, n, given[n]) for n in columns if isinstance(given.get(n), Nested)}
    return {**given, **{n: chain.hierarchy for n, chain in chains.items()}}, chains


def chain_of(table: Table, name: str, recipe: Nested) -> Chain:
    """What the table says of a column and the ones above it."""
    names = (name, *recipe.above)
    table.schema.require(names)
    naming = [repr(n) for n in names if table.schema[n].role in (Role.IDENTIFIER, Role.PERSON)]
    if naming:
        raise ParameterError(
            f"{listed(naming)} name people: they are left out, not made more general.",
            hint="a hierarchy over other columns",
        )
    schema = table.schema.select(names)
    for n in names:
        schema = schema.with_(n, edges=None, clamp=False)
    counts = table.with_schema(schema).counts(*names)
    decoded = [book.decode(counts.codes[:, i]).to_pylist() for i, book in enumerate(counts.codebooks)]
    rows = list(zip(*decoded, strict=True))
    if any(str(row[0]) == MISSING for row in rows):  # such a text and an empty cell are counted as one
        raise DataError(
            f"column '{name}': {MISSING} is among its values.", hint="make it one of the missing codes"
        )
    return recipe.chain(name, rows)


def texts_of(settled: FinalClasses, chain: Chain, column: str) -> pa.Array | None:
    """How a column above is written beside each node of the finest; None where every cell stays as it was."""
    j = settled.problem.columns.index(chain.name)
    hierarchy = settled.problem.hierarchies[j]
    used = np.unique(settled.nodes[settled.label >= 0, j])
    if (hierarchy.level_of[used] <= chain.heights[column]).all():
        return None
    return pa.array(chain.cells(column, hierarchy, MISSING), pa.string())


def losses_of(settled: FinalClasses, chain: Chain, column: str) -> tuple[int, int, float, int, float]:
    """(values before, after, mean level, height, mean loss) of a column above, in its part of the tree."""
    j = settled.problem.columns.index(chain.name)
    hierarchy = settled.problem.hierarchies[j]
    at = chain.heights[column]
    groups = hierarchy.ancestors[at]
    # How many of the column's own values lie under each node; one, where the node is at or below them.
    under = np.ones(hierarchy.size)
    for height in range(at + 1, hierarchy.height + 1):
        pairs = np.unique(np.stack([hierarchy.nodes[height], groups], axis=1), axis=0)
        np.add.at(under, pairs[:, 0], 1)
    first = int(hierarchy.offsets[at + 1]) if at < hierarchy.height else hierarchy.size
    under[first:] -= 1
    every = len(hierarchy.labels[at])
    lost = (under - 1) / (every - 1) if every > 1 else np.zeros(hierarchy.size)
    nodes, rows = settled.nodes[:, j], max(settled.problem.rows, 1)
    loss = float((np.where(settled.withheld, 1.0, lost[nodes]) * settled.n).sum() / rows)
    level = np.maximum(0, hierarchy.level_of[nodes] - at)
    kept = nodes[~settled.withheld]
    written = np.array(["" if t is None else t for t in chain.cells(column, hierarchy, MISSING)], object)
    return (
        len(set(chain.words[column].values())),
        len(set(written[np.unique(kept)])),
        float((level * settled.n).sum() / rows),
        hierarchy.height - at,
        loss,
    )


def meanings_of(chain: Chain) -> list[tuple[str, str, str]]:
    """(column above, value as written, the values it stands for): of nodes above the column's own level."""
    h, found = chain.hierarchy, []
    for column, at in chain.heights.items():
        for height in range(at + 1, h.height + 1):
            names = {
                (h.labels[height][int(h.ancestors[height, i])], chain.words[column][leaf])
                for i, leaf in enumerate(h.leaves)
            }
            found += [(column, label, word) for label, word in sorted(names, key=str) if word is not None]
    return found
