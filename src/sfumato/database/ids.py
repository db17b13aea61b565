"""When two ids are the same: whole numbers by their value, however stored; texts by their form."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts import person_ids
from sfumato.errors import DataError, listed
from sfumato.schema import Column
from sfumato.table import Table

_NUMBERS = ("integer", "real", "decimal")
_EXACT = 2.0**53


def id_family(column: Column) -> str:
    """Whether a column's ids are numbers or text; ids of two families are never the same; or nothing."""
    return "number" if column.type in _NUMBERS else "text" if column.type == "text" else ""


def key_ids(column: Column, values: pa.Array) -> pa.Array:
    """Canonical ids: int64 or text, null for what is nobody's. A real stands for a whole number or for none.

    Frames turn whole numbers beside an empty cell into reals, so 7 and 7.0 are one id; "7" is another.
    """
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_integer(values.type):
        return values.cast(pa.int64())
    if pa.types.is_floating(values.type) or pa.types.is_decimal(values.type):
        whole = pc.equal(values, pc.floor(values))
        small = pc.less(pc.abs(values), _EXACT)
        if not pc.all(pc.and_(whole, small)).as_py() and len(values.drop_null()):
            raise DataError(
                f"'{column.name}' is a key, and holds numbers that are not whole or too large to be exact.",
                hint="read it as text: give it the type text in the schema",
            )
        return values.cast(pa.int64())
    return person_ids(column, values.cast(pa.string()))


def read_ids(table: Table, columns: Sequence[str]) -> dict[str, pa.Array]:
    """The canonical ids of several columns, row by row, in one reading."""
    names = list(dict.fromkeys(columns))
    require_ids(table, names)
    if not names:
        return {}
    parts: dict[str, list[pa.Array]] = {n: [] for n in names}
    for batch in table.batches(names):
        for name, array in zip(names, batch.columns, strict=True):
            parts[name].append(key_ids(table.schema[name], array))
    kinds = {n: pa.string() if table.schema[n].type == "text" else pa.int64() for n in names}
    return {n: pa.concat_arrays(p) if p else pa.array([], kinds[n]) for n, p in parts.items()}


def require_ids(table: Table, names: Sequence[str]) -> None:
    """That columns can be keys."""
    odd = [repr(n) for n in names if not id_family(table.schema[n])]
    if odd:
        raise DataError(f"these cannot be keys: {listed(odd)}.", hint="a key is text or a whole number")
