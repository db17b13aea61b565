"""The survey weight of a file, and other numbers of many digits that somebody may hold: which they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import ParameterError, listed
from sfumato.schema import Kind, Role
from sfumato.table import Table

_SMALL = 50  # rows below which a value for each says nothing
_SHARE = 0.5  # different values per row from which a number names records


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
        "each once: a person is found or not, however many people they stand for. Who holds the weights is "
        "an intruder as well (linking by a single value)."
    )
    return name


def holdable(original: Table, columns: Sequence[str], apart: Collection[str]) -> tuple[str, ...]:
    """Numbers that somebody may hold, apart from those named: all that nobody called sensitive.

    What was guessed to be sensitive is no statement that nobody holds it: the insurer has the bill.
    """
    return tuple(n for n in columns if _number(original, n) and n not in apart and not _secret(original, n))


def kept_apart(original: Table, released: Table, columns: Sequence[str], named: Collection[str]) -> list[str]:
    """What to know of sensitive numbers of many digits: they name records to whoever holds them after all.

    named: what was called sensitive beside the schema.
    """
    secret = [n for n in columns if n in named or _secret(original, n)]
    telling = [n for n in secret if _number(original, n) and _of_its_own(released, n)]
    if not telling:
        return []
    return [
        f"Sensitive, with a value of its own for most rows: {listed([repr(n) for n in telling])}. Whoever "
        "holds it from elsewhere (who paid a bill, say) finds the row by it; no attack here does, as you say "
        "that nobody holds it. Round it where somebody may."
    ]


def _number(table: Table, name: str) -> bool:
    return table.schema[name].kind in (Kind.NUMERIC, Kind.DATE)


def _secret(table: Table, name: str) -> bool:
    """Whether a person called it sensitive: what was inferred carries the reason why."""
    column = table.schema[name]
    return column.role is Role.SENSITIVE and (not column.reason or column.confirmed)


def _of_its_own(table: Table, name: str) -> bool:
    cells = pa.chunked_array([b.column(0) for b in table.batches([name])])
    return len(cells) >= _SMALL and len(pc.unique(cells)) > _SHARE * len(cells)
