"""The survey weight of a file: which column it is, and whether it names records."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import ParameterError
from sfumato.schema import Role
from sfumato.table import Table

_SMALL = 50  # rows below which a value for each says nothing
_SHARE = 0.5  # different values per row from which a weight names records


def survey_weight(first: Table, asked: str | None, notes: list[str]) -> str | None:
    """The survey weight: as asked, or by its role; refused here where it is no number."""
    name = asked or next(iter(first.schema.of_role(Role.WEIGHT)), None)
    if name is None:
        return None
    if first.schema[name].type not in ("integer", "real", "decimal"):
        raise ParameterError(
            f"the weight '{name}' is not numeric: it is {first.schema[name].type}.",
            hint="name a column of numbers, or correct its type in the schema",
        )
    notes.append(
        f"The weight '{name}' counts in tables, associations and regressions. Attacks and risks count rows, "
        "each once: a person is found or not, however many people they stand for."
    )
    return name


def telling_weight(released: Table, weight: str | None) -> list[str]:
    """Weights of many digits name records to whoever holds them from elsewhere."""
    if weight is None or weight not in released.schema:
        return []
    cells = pa.chunked_array([b.column(0) for b in released.batches([weight])])
    if len(cells) < _SMALL or len(pc.unique(cells)) <= _SHARE * len(cells):
        return []
    return [
        f"The released weight '{weight}' has a value of its own for most rows: whoever holds these weights "
        "from another file of the same people joins the two by it, which no attack here tries. Round it."
    ]
