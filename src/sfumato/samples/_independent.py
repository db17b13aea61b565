"""Columns drawn independently of each other from given marginal tables (Katirai 2006, page 51)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.errors import ParameterError, listed
from sfumato.samples._common import BLOCK, SIMULATED, LevelLaw, check_rows, levels_column
from sfumato.schema import Column, Kind, Schema, Value
from sfumato.seeds import Key

Priors = Mapping[str, Mapping[Any, float]]

_TOO_LARGE = 1e300  # sums must stay finite

_TYPES: dict[type, str] = {
    str: "text", bool: "boolean", int: "integer", float: "real", date: "date", datetime: "datetime",
}  # fmt: skip


def independent_rows(priors: Priors, n: int, seed: int) -> tuple[pa.Table, Schema]:
    """The rows and the schema that the priors describe."""
    n = check_rows(n)
    _check(priors)
    key = Key.from_seed(seed)
    schema = Schema(tuple(_column(name, levels) for name, levels in priors.items()))
    columns = {}
    for column in schema:
        # The stream hangs on the column's name: another column more or less changes nothing here.
        law = LevelLaw([float(priors[column.name][level]) for level in _ordered(priors[column.name])])
        codes = np.concatenate([
            law.draw(key.generator("samples", "independent", column.name, block).random(BLOCK))
            for block in range(-(-n // BLOCK))
        ])[:n]  # fmt: skip
        levels = column.levels or ()
        columns[column.name] = levels_column(levels, codes, codes == len(levels))
    return pa.table(columns), schema


def _ordered(levels: Mapping[Any, float]) -> list[Any]:
    """The levels as given, missing (None) last: the order of the schema."""
    return [level for level in levels if level is not None] + [None] * (None in levels)


def _column(name: str, levels: Mapping[Any, float]) -> Column:
    values: tuple[Value, ...] = tuple(level for level in levels if level is not None)
    kind = Kind.FLAG if isinstance(values[0], bool) else Kind.NOMINAL
    return Column(
        name, kind, type=_TYPES[type(values[0])], levels=values, missing=None in levels, confirmed=True,
        provenance=SIMULATED,
        description="Simulated. Drawn from a given marginal table, independently of the other columns.",
    )  # fmt: skip


def _check(priors: Priors) -> None:
    """All faults of all columns at once; levels are counted, not shown."""
    if not isinstance(priors, Mapping) or not priors:
        raise ParameterError(
            "priors must map at least one column to its levels and their weights.",
            hint='priors = {"sex": {"female": 0.5, "male": 0.5}}',
        )
    faults = [f"{name!r} ({'; '.join(f)})" for name, levels in priors.items() if (f := _faults(name, levels))]
    if faults:
        raise ParameterError(
            f"{len(faults)} column{'s' * (len(faults) > 1)} cannot be simulated: {listed(faults)}.",
            hint="give each column levels of one type and weights of 0 or more, not all 0",
        )


def _faults(name: object, levels: object) -> list[str]:
    if not isinstance(name, str) or not name:
        return ["the column's name must be text"]
    if not isinstance(levels, Mapping):
        return ["its levels must map to weights"]
    faults = []
    types = {type(level) for level in levels if level is not None}
    if not types:
        faults.append("no level")
    elif len(types) > 1 or not types <= set(_TYPES):
        faults.append("levels must be all text, all whole numbers, all reals, all dates, or true and false")
    elif any(level != level for level in levels):
        faults.append("a level is not a number: use None for missing")
    wrong = sum(not _is_weight(weight) for weight in levels.values())
    if wrong:
        faults.append(f"{wrong} weight{'s' * (wrong > 1)} not a number from 0 to 1e300")
    elif levels and not any(levels.values()):
        faults.append("the weights are all 0")
    return faults


def _is_weight(weight: object) -> bool:
    if isinstance(weight, bool) or not isinstance(weight, (int, float, np.integer, np.floating)):
        return False
    return bool(0 <= weight < _TOO_LARGE)  # compares exactly, so NaN and integers of any size fail
