"""What is taken out before the search, on request: what stands out will stand out in any release.

Values rarer than k (thesis, p. 25): in a village where one person's race is withheld, everyone knows whose.
Outliers (dissertation, section 2.1): the one bill of a million finds its patient without any other column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.anonymization.problem import Problem
from sfumato.errors import ParameterError, listed
from sfumato.schema import Kind
from sfumato.sources import BatchSource
from sfumato.table import Table


def common(problem: Problem, least: int | None) -> NDArray[np.bool_]:
    """(combinations,): those whose every value `least` rows have. Repeated: leaving out makes others rare."""
    kept = np.ones(problem.combinations, bool)
    if least is None:
        return kept
    if isinstance(least, bool) or not isinstance(least, int) or least < 1:
        raise ParameterError("drop_rarer_than must be a whole number from 1 up.", hint="drop_rarer_than=5")
    while True:
        rare = np.zeros(problem.combinations, bool)
        for j in range(len(problem.columns)):
            rows = np.bincount(problem.leaves[kept, j], problem.n[kept], int(problem.leaves[:, j].max()) + 1)
            rare |= rows[problem.leaves[:, j]] < least
        rare &= kept
        if not rare.any():
            return kept
        kept &= ~rare


def within_bounds(table: Table, bounds: Mapping[str, tuple[float, float]]) -> Table:
    """The rows whose numbers lie within [low, high]; a missing number is no outlier."""
    if not bounds:
        return table
    table.schema.require(bounds)
    wrong = [repr(c) for c in bounds if table.schema[c].kind is not Kind.NUMERIC]
    if wrong:
        raise ParameterError(f"bounds are for numbers: {listed(wrong)}.", hint="bounds={'charges': (0, 1e6)}")
    for pair in bounds.values():
        if not _is_range(pair):
            raise ParameterError(
                "bounds are pairs of a low and a high number.", hint="bounds={'age': (0, 90)}"
            )
    inner = table.schema

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in table.batches(list(dict.fromkeys([*names, *bounds]))):
            stays = np.ones(batch.num_rows, bool)
            for name, (low, high) in bounds.items():
                column = batch.column(name).cast(pa.float64(), safe=False)
                inside = pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high)).fill_null(True)
                stays &= inside.to_numpy(zero_copy_only=False)
            yield batch.filter(pa.array(stays)).select(list(names))

    fields = pa.schema([(c.name, _type(c)) for c in inner])
    return replace(table, source=BatchSource(fields, read, "file", None, table.source.origin), _books={})


def _is_range(pair: object) -> bool:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        return False
    numbers = all(isinstance(x, int | float | np.number) and not math.isnan(x) for x in pair)
    return numbers and bool(pair[0] <= pair[1])


def _type(column: object) -> pa.DataType:
    from sfumato.counts import canonical_type
    from sfumato.schema import Column

    assert isinstance(column, Column)
    return canonical_type(column)
