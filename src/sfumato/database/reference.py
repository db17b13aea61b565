"""Ids of one column that point to rows of several tables: another column of the row says to which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.database.database import Database


@dataclass(frozen=True)
class Reference:
    """What `column` of `child` points to is named by `by`, row by row.

    targets: by value of `by`, written as text, the table whose key is meant. An id whose value of `by` is not
    among them points to nothing that is known.

    >>> event = sf.Reference("cost", "cost_event_id", "cost_domain_id", {"Drug": "drug_exposure"})
    >>> event.place
    'cost.cost_event_id'
    """

    child: str
    column: str
    by: str
    targets: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not all(isinstance(part, str) and part for part in (self.child, self.column, self.by)):
            raise ParameterError(
                "a reference names a table and two columns of it.",
                hint='Reference("cost", "cost_event_id", "cost_domain_id", {"Drug": "drug_exposure"})',
            )
        object.__setattr__(self, "targets", {str(k): str(v) for k, v in dict(self.targets).items()})

    @property
    def place(self) -> str:
        """`table.column` of the ids."""
        return f"{self.child}.{self.column}"

    @property
    def parents(self) -> tuple[str, ...]:
        """The tables it may point to."""
        return tuple(dict.fromkeys(self.targets.values()))

    def __str__(self) -> str:
        return f"{self.place} -> {', '.join(self.parents) or 'nothing'}, by {self.by}"

    def parts(self, kinds: pa.Array) -> Iterator[tuple[str, pa.Array]]:
        """By table: which rows point to it. kinds: the values of `by`."""
        texts = kinds.cast(pa.string())
        for parent in self.parents:
            values = [value for value, table in self.targets.items() if table == parent]
            yield parent, pc.is_in(texts, value_set=pa.array(values, pa.string()))


def reference_faults(database: Database) -> Iterator[str]:
    """Names of references that are not there."""
    for reference in database.references:
        named = database.tables.get(reference.child)
        if named is None:
            yield f"no table '{reference.child}'"
            continue
        for column in (reference.column, reference.by):
            if column not in named.schema:
                yield f"table '{reference.child}' has no column '{column}'"
        for parent in reference.parents:
            if parent not in database.tables:
                yield f"no table '{parent}'"
            elif parent not in database.keys or parent in database.apart:
                yield f"{reference.place}: '{parent}' has no key, or no persons"
