"""Sums under an epsilon: numbers are cut to declared bounds, so that what a person can do to them is known.

Guarantee: that of the tables (`private`), which counts and sums share.
Because:   a row adds at most `largest` units to one cell of a margin, so a person with at most L rows changes
           it by at most L * largest, in L1 and in L2. Noise is drawn for whole units; what is done with them
           afterwards looks at the noisy sums alone.
Assumes:   the bounds are public: the outer edges of the column, of which the schema says where they come
           from.
Tested by: tests/tabulation/test_private_sums.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import ParameterError, SchemaError
from sfumato.features.numbers import numbers
from sfumato.privacy.noise import Noisy
from sfumato.schema import Column, Kind, Role
from sfumato.schema.domains import ADVICE, without_public_domain
from sfumato.tabulation.margins import Margins, Set

Real = NDArray[np.float64]
Index = NDArray[np.int64]

_FINE = 10_000  # units to the larger bound, at least: rounding to them is nothing beside the noise


@dataclass(frozen=True)
class BoundedSum:
    """A column to be summed. low, high: public bounds that numbers are cut to.  unit: what is counted."""

    column: Column
    low: float
    high: float
    unit: float

    @classmethod
    def of(cls, column: Column) -> BoundedSum:
        """From a numeric column with public edges; everything else is refused, with what to do."""
        if column.kind is not Kind.NUMERIC or column.role in (Role.IDENTIFIER, Role.PERSON):
            raise ParameterError(f"column '{column.name}' holds no amounts.", hint="sum a numeric column")
        private = without_public_domain([column])
        if private:
            raise SchemaError(f"to be summed: {private}.", hint=f"its outer edges are the bounds: {ADVICE}")
        edges = [float(e) for e in column.edges or ()]  # type: ignore[arg-type]
        if not edges or math.isinf(edges[0]) or math.isinf(edges[-1]):
            raise SchemaError(
                f"column '{column.name}' has no bounds: one person could change a sum by any amount.",
                hint="give it edges from the smallest to the largest amount that counts; others are cut",
            )
        low, high = edges[0], edges[-1]
        unit = 10.0 ** math.floor(math.log10(max(abs(low), abs(high)) / _FINE))
        return cls(column, low, high, max(unit, 1.0) if column.type == "integer" else unit)

    @property
    def largest(self) -> int:
        """The most units that a row adds, or takes off."""
        return math.ceil(max(abs(self.low), abs(self.high)) / self.unit - 1e-9)

    def units(self, cells: pa.Array) -> Index:
        """Numbers in units, cut to the bounds; missing ones add nothing."""
        found = numbers(cells, self.column)
        cut = np.where(np.isnan(found), 0.0, np.clip(found, self.low, self.high))
        return np.clip(np.rint(cut / self.unit), -self.largest, self.largest).astype(np.int64)

    def read(self, margins: Margins, drawn: Sequence[tuple[Set, Noisy]]) -> tuple[Real, Real]:
        """Sums of all cells that add up, and the standard deviation of each; none is negative where no number
        can be."""
        size = float(self.largest)  # so that one person is about 1, as in counts
        measured = [(s, n.values / size, (n.sigma / size) ** 2) for s, n in drawn]
        never_below = self.low >= 0
        found = margins.lifted(margins.not_negative(measured)) if never_below else margins.agreed(measured)
        spread = margins.variances({s: v for s, _, v in measured})
        whole = size * self.unit
        sums = np.concatenate([found[s].ravel() for s in margins.sets]) * whole
        noise = np.concatenate([np.full(margins.cells(s), math.sqrt(spread[s])) for s in margins.sets])
        return sums, noise * whole
