"""Released records that are equal to an original one, beside people who were never in the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.assessment.risk.classes import as_they_stand, looked_up, shared_keys
from sfumato.assessment.risk.intervals import exact_interval
from sfumato.errors import DataError, ParameterError
from sfumato.schema import Kind, Role
from sfumato.score import Score
from sfumato.table import Table

_APART = (Role.IDENTIFIER, Role.PERSON, Role.WEIGHT)


def shared_columns(files: Sequence[Table], columns: Sequence[str] | None = None) -> list[str]:
    """The columns all files have, without those that name people or weigh them; or the named ones."""
    if columns is not None:
        for file in files:
            file.schema.require(columns)
        names = list(dict.fromkeys(columns))
    else:
        apart = {c.name for f in files for c in f.schema if c.role in _APART or c.kind is Kind.TEXT}
        names = [n for n in files[0].columns if n not in apart and all(n in f.schema for f in files[1:])]
    if not names:
        raise DataError("the files share no column.", hint="rename the columns, or name them")
    return names


def copies(
    original: Table,
    released: Table,
    *,
    control: Table | None = None,
    columns: Sequence[str] | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    confidence: float = 0.95,
) -> list[Score]:
    """Share of released records equal to an original: on all shared columns, and on the quasi-identifiers.

    control: people of the same population who were not used. How many of them are equal to an original
    is chance; what exceeds it is copied. Values are compared as they stand.
    columns: all the files share, by default. quasi_identifiers: the original's, by default.
    """
    files = [original, released] if control is None else [original, released, control]
    everything = shared_columns(files, columns)
    known = list(
        original.schema.of_role(Role.QUASI_IDENTIFIER) if quasi_identifiers is None else quasi_identifiers
    )
    if quasi_identifiers is not None:
        for file in files:
            file.schema.require(known)
    known = [n for n in known if all(n in f.schema for f in files)]
    scores = _equal(files, everything, "on all columns", confidence)
    whole = scores[0]
    scores.append(
        Score(
            "purely artificial records",
            "risk",
            1 - whole.value,
            (0.0, 1.0),
            "higher",
            f"share of released records that equal no original on the {len(everything)} shared columns; an "
            "artificial record can still tell much about a real one",
            columns=whole.columns,
            control=None if whole.control is None else 1 - whole.control,
        )
    )
    if known:
        scores += _equal(files, known, "on the quasi-identifiers", confidence)
    return scores


def _equal(files: Sequence[Table], names: Sequence[str], where: str, confidence: float) -> list[Score]:
    if not 0 < confidence < 1:
        raise ParameterError("confidence lies between 0 and 1.", hint="confidence=0.95")
    counted = [as_they_stand(f, names).counts(*names) for f in files]
    if not all(c.cells for c in counted):
        raise DataError("a file has no rows.", hint="give files with rows")
    keys = shared_keys(counted)
    found = [looked_up(k, keys[0], counted[0].n) for k in keys[1:]]
    rows = [int(c.n.sum()) for c in counted]
    equal = [int(c.n[f > 0].sum()) for c, f in zip(counted[1:], found, strict=True)]
    single = [int(c.n[f == 1].sum()) for c, f in zip(counted[1:], found, strict=True)]
    chance = "" if len(files) == 3 else "; without a control nobody can say how many are equal by chance"

    def score(name: str, n: list[int], meaning: str) -> Score:
        details: dict[str, Any] = {"records": n[0], "of": rows[1], "columns": list(names)}
        control = None
        if len(n) == 2:
            control = n[1] / rows[2]
            low, high = exact_interval(n[1], rows[2], confidence)
            details["control"] = {
                "records": n[1],
                "of": rows[2],
                "low": low,
                "high": high,
                "confidence": confidence,
            }
        return Score(
            name, "risk", n[0] / rows[1], (0.0, 1.0), "lower", meaning + chance,
            columns=tuple(names), control=control, details=details,
        )  # fmt: skip

    return [
        score(
            f"equal to an original {where}",
            equal,
            f"share of released records that equal an original {where}",
        ),
        score(
            f"equal to a unique original {where}",
            single,
            f"share of released records that equal an original nobody else resembles {where}",
        ),
    ]


def as_matrix(
    files: Sequence[Table], names: Sequence[str], rows: Sequence[np.ndarray[Any, Any]]
) -> list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """The chosen rows of each file: numbers scaled to the first file's range, codes that mean the same.

    Both have one row per column.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    parts: list[tuple[list[Any], list[Any]]] = [([], []) for _ in files]
    widest = 0
    for name in names:
        cells = [_column(f, name, chosen) for f, chosen in zip(files, rows, strict=True)]
        kinds = {f.schema[name].kind for f in files}
        if kinds <= {Kind.NUMERIC, Kind.DATE} and len({c.type for c in cells}) == 1:
            numbers = [_numbers(c) for c in cells]
            low, high = _range(_numbers(_column(files[0], name, None)))
            for part, x in zip(parts, numbers, strict=True):
                part[0].append(((x - low) / (high - low if high > low else 1.0)).astype(np.float32))
            continue
        text = [c.cast(pa.string()) for c in cells]
        every = pc.unique(pa.concat_arrays(text)).drop_null()
        for part, x in zip(parts, text, strict=True):
            places = pc.index_in(x, value_set=every).fill_null(len(every))
            part[1].append(places.to_numpy(zero_copy_only=False).astype(np.uint32))
        widest = max(widest, len(every))

    def stacked(columns: list[Any], n: int, kind: Any) -> np.ndarray[Any, Any]:
        return np.stack(columns).astype(kind) if columns else np.empty((0, n), kind)

    narrow = np.uint16 if widest < 2**16 else np.uint32
    return [
        (stacked(numbers, len(chosen), np.float32), stacked(codes, len(chosen), narrow))
        for (numbers, codes), chosen in zip(parts, rows, strict=True)
    ]


def _column(file: Table, name: str, rows: np.ndarray[Any, Any] | None) -> Any:
    column = file.select([name]).to_arrow().column(0).combine_chunks()
    return column if rows is None else column.take(rows)


def _numbers(cells: Any) -> np.ndarray[Any, Any]:
    import pyarrow as pa

    if not (
        pa.types.is_floating(cells.type) or pa.types.is_integer(cells.type) or pa.types.is_decimal(cells.type)
    ):
        cells = cells.cast(pa.int32() if pa.types.is_date32(cells.type) else pa.int64())
    out: np.ndarray[Any, Any] = cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return out


def _range(numbers: np.ndarray[Any, Any]) -> tuple[float, float]:
    finite = numbers[np.isfinite(numbers)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
