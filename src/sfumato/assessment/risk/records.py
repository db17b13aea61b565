"""Released records that are equal to an original one, beside people who were never in the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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


def unique_rows(released: Table) -> list[Score]:
    """The share of rows that nobody else has, on all columns of the release together."""
    names = list(released.columns)
    counted = as_they_stand(released, names).counts(*names)
    rows, single = int(counted.n.sum()), int((counted.n == 1).sum())
    return [
        Score(
            "unique on all released columns", "risk", single / rows if rows else 0.0, (0.0, 1.0), "lower",
            f"share of released rows that nobody else has on all {len(names)} columns: who knows enough of a "
            "person finds one row at most; in a synthetic file it need not be anybody's",
            columns=tuple(names), details={"rows": rows, "unique": single},
        )
    ]  # fmt: skip


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
