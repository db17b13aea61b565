"""The method: every number becomes the nearest multiple of a base."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import ParameterError
from sfumato.methods.declaration import Declaration, Does, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.settings import require_numbers
from sfumato.methods.shapes import ListOf, Number, Text
from sfumato.privacy import Guarantee
from sfumato.release import InternalRecord, Release
from sfumato.schema import Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.table import Table
from sfumato_rounding.claim import Rounded

_MOST = 1_000_000


@declares(
    Declaration(
        "rounding",
        Does.REPLACE,
        "Whole numbers become the nearest multiple of a base; the rest stays as it is.",
        page="https://example.org/sfumato-rounding",
        claims=("Rounded",),
    )
)
@dataclass(frozen=True)
class Rounding:
    """Rounds whole numbers. Who knows the exact number of a person finds several that could be theirs."""

    base: Annotated[
        int, Parameter(Number("Numbers become multiples of this.", 2, _MOST, whole=True), beginner=True)
    ] = 5
    columns: Annotated[
        tuple[str, ...] | None,
        Parameter(ListOf(Text(), "Which are rounded; by default all whole numbers.", least=1), columns=True),
    ] = None

    def __post_init__(self) -> None:
        require_numbers(self)
        if not 2 <= self.base <= _MOST:
            raise ParameterError(f"base must be from 2 to {_MOST}.", hint="Rounding(base=5)")

    def release(self, table: Table, *, key: Key | None = None) -> Release:
        """The table with round numbers, without what names people and without free text."""
        gone = (Role.IDENTIFIER, Role.PERSON)
        table = table.drop([c.name for c in table.schema if c.role in gone or c.kind is Kind.TEXT])
        columns = self._chosen(table.schema)
        rows = table.to_arrow()
        for name in columns:
            at = rows.column_names.index(name)
            rows = rows.set_column(at, name, _rounded(rows[name], self.base))
        # Bins and limits were those of the exact numbers.
        schema = [replace(c, edges=None, clamp=False) if c.name in columns else c for c in table.schema]
        return Release(
            Table.from_arrow(rows, Schema(tuple(schema))),
            Guarantee.of(Rounded(self.base, tuple(columns))),
            InternalRecord(key=key or Key.fresh(), plan={"method": "rounding", "base": self.base}),
            f"Numbers were rounded to multiples of {self.base}.",
        )

    def _chosen(self, schema: Schema) -> list[str]:
        whole = [c.name for c in schema if c.kind is Kind.NUMERIC and c.type == "integer"]
        chosen = whole if self.columns is None else list(self.columns)
        unfit = [repr(name) for name in chosen if name not in whole]
        if unfit or not chosen:
            what = f"{', '.join(unfit)} cannot be rounded" if unfit else "no column holds whole numbers"
            raise ParameterError(f"{what}.", hint="columns=('age',)")
        return chosen


def _rounded(cells: pa.ChunkedArray, base: int) -> pa.ChunkedArray:
    """The nearest multiples; halves go up."""
    whole = cells.cast(pa.int64())
    lifted = pc.add(whole, base // 2)
    steps = pc.floor(pc.divide(lifted.cast(pa.float64()), float(base))).cast(pa.int64())
    return pc.multiply(steps, base).cast(cells.type)
