"""Criteria from their text, for one table: a population is opened, hierarchies are settled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.anonymization.request import settle_hierarchies
from sfumato.criteria import Criterion, CriterionSpec
from sfumato.errors import ParameterError
from sfumato.hierarchy import Hierarchy, Numbered, read_folder
from sfumato.io import scan
from sfumato.schema import Role, Schema
from sfumato.table import Table


def asked_of(
    wanted: Sequence[CriterionSpec],
    table: Table,
    *,
    hierarchies: Mapping[str, Any] | str | Path | None,
    quasi_identifiers: Sequence[str] | None,
    folder: Path | None = None,
    read_as: Schema | None = None,
    prepared: Callable[[Table], Table] = lambda population: population,
) -> tuple[Criterion, ...]:
    """The criteria.

    A population has the table's quasi-identifiers, in a file that is looked for from `folder`, and is read
    by the schema `read_as`, the table's if not given. prepared: does to it what was done to the table. Values
    are apart by the hierarchy that their column has among `hierarchies`.
    """
    schema = table.schema
    columns = tuple(schema.of_role(Role.QUASI_IDENTIFIER) if quasi_identifiers is None else quasi_identifiers)

    def population(name: str) -> Table:
        if not columns:
            raise ParameterError(
                "no column is a quasi-identifier: a population cannot be looked up.",
                hint="name the quasi-identifiers, or give columns that role in the schema",
            )
        meant = (read_as or schema).select(columns)
        for column in columns:  # the population may have values the data has not
            meant = meant.with_(
                column, levels=None, labels={}, missing=True, confirmed=False, provenance=None
            )
        return prepared(scan(str((folder or Path()) / name), meant, columns=columns))

    def tree(column: str) -> Hierarchy:
        schema.require([column])
        found = (
            read_folder(hierarchies, [column]) if isinstance(hierarchies, str | Path) else hierarchies or {}
        )
        if column not in found:
            raise ParameterError(
                f"no hierarchy says how far the values of '{column}' are apart.",
                hint=f"a level table {column}.csv among the hierarchies",
            )
        settled = settle_hierarchies(table, {column: found[column]}, (column,))[column]
        if isinstance(settled, Numbered):
            raise ParameterError(
                f"the hierarchy of '{column}' has no levels to measure distances by.",
                hint="a table of levels",
            )
        return settled

    return tuple(w.make(population, tree) for w in wanted)
