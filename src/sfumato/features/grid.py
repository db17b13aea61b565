"""Features on public grids: from a schema and rows to codes, without one look at what the rows hold.

A number with two edges, its public bounds, is counted in equal steps between them; one with more edges in
those. Levels are the schema's. Numbers outside the bounds go to the outer bins, row by row, so that two
tables that differ in one row still do; a level that was not declared is refused. Missing is a category.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import Codebook
from sfumato.errors import DataError, ParameterError, SchemaError, listed
from sfumato.features.columns import NAMING, PLAIN, telling
from sfumato.features.inputs import Feature
from sfumato.schema import Column, Kind, Provenance, Schema
from sfumato.schema.domains import ADVICE, without_public_domain
from sfumato.table import Table

Codes = NDArray[np.int64]
STEPS = 16  # of a number of which only the bounds are declared; a power of two, so that halves can be merged


@dataclass(frozen=True, eq=False)
class Axis:
    """One feature in its finest codes. ordered: neighbours are alike; bins of a number may be merged."""

    book: Codebook
    ordered: bool

    @property
    def bins(self) -> int:
        """Bins or levels, missing not counted."""
        return len(self.book.levels)

    def groups(self, most: int) -> NDArray[np.int64]:
        """For each finest code its bin, when there are at most so many; missing keeps the last.

        Levels stay apart, ordered or not: all of them are published, each with a code of its own.
        """
        wanted = min(most, self.bins) if self.ordered and self.book.column.edges is not None else self.bins
        places = np.arange(self.bins) * wanted // self.bins
        return np.append(places, wanted) if self.book.missing else places

    def feature(self, most: int) -> Feature:
        """The feature as it is published, in at most so many bins."""
        column = self.book.column
        shared: dict[str, Any] = {
            "name": column.name, "unit": column.unit, "label": column.description,
            "missing_allowed": self.book.missing,
        }  # fmt: skip
        if column.edges is None:
            return Feature(kind=PLAIN[column.kind], levels=tuple(self.book.levels.to_pylist()), **shared)
        edges = [float(e) for e in column.edges]  # type: ignore[arg-type]
        places = self.groups(most)[: self.bins]
        starts = [i for i in range(1, self.bins) if places[i] != places[i - 1]]
        low, high = (None if math.isinf(e) else e for e in (edges[0], edges[-1]))
        return Feature(
            kind="number", low=low, high=high, thresholds=tuple(edges[i] for i in starts), **shared
        )


@dataclass(frozen=True, eq=False)
class FeatureGrid:
    """The features of a model, each on its public grid."""

    axes: tuple[Axis, ...]

    @classmethod
    def of(
        cls, schema: Schema, names: Sequence[str] | None = None, target: str | None = None, steps: int = STEPS
    ) -> FeatureGrid:
        """From public domains; everything wrong with them is said at once.

        names: by default all columns but the target, identifiers, persons and weights.
        steps: of a number of which only the bounds are declared.
        """
        chosen = (
            list(schema.select(names))
            if names is not None
            else telling(schema, () if target is None else (target,))
        )
        faults = _faults(chosen, target)
        if faults:
            hint = ADVICE if "public domain" in faults[-1] else "correct the schema, or choose columns"
            raise SchemaError(f"{'; '.join(faults)}.", hint=hint)
        grid = cls(tuple(_axis(c, steps) for c in chosen))
        odd = [repr(a.book.name) for a in grid.axes if not _publishable(a)]
        if odd:  # said now, and not when the budget is spent and the model is made
            raise SchemaError(
                f"no features of a published model: {listed(odd)} (levels are texts, numbers, or true and "
                "false; bounds are apart).",
                hint="make texts or numbers of them",
            )
        return grid

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(a.book.name for a in self.axes)

    @property
    def schema(self) -> Schema:
        """The columns as they are counted."""
        return Schema(tuple(a.book.column for a in self.axes))

    def encode(self, table: Table) -> Codes:
        """The finest codes of all rows, (features, rows)."""
        table.schema.require(self.names)
        columns = table.with_codebooks([a.book for a in self.axes])
        return columns.encode(self.names).codes.astype(np.int64)

    def encode_array(self, rows: NDArray[Any]) -> Codes:
        """The finest codes of an array, (rows, features) to (features, rows)."""
        if rows.shape[1] != len(self.axes):
            raise DataError(
                f"{rows.shape[1]} columns were given, and the schema has {len(self.axes)} features.",
                hint="give one column for each feature, in the order of the schema",
            )
        columns = [_plain(rows[:, j]) for j in range(rows.shape[1])]
        codes = [a.book.encode(c).astype(np.int64) for a, c in zip(self.axes, columns, strict=True)]
        return np.stack(codes)


def _publishable(axis: Axis) -> bool:
    try:
        axis.feature(axis.bins)  # the finest: what holds for it holds for fewer bins
    except SchemaError:
        return False
    return True


def _plain(values: NDArray[Any]) -> pa.Array:
    if values.dtype.kind in "iufb":
        return pa.array(values)
    try:
        return pa.array(values.tolist(), from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise DataError("a column holds values of several types.", hint="give a data frame") from None


def _axis(column: Column, steps: int) -> Axis:
    if column.kind is Kind.NUMERIC:
        edges = column.edges or ()
        if len(edges) == 2:
            low, high = float(edges[0]), float(edges[1])  # type: ignore[arg-type]
            edges = (*(low + (high - low) * i / steps for i in range(steps)), high)
        # A whole number is read as a number: thresholds may lie between two of them.
        column = replace(column, edges=edges, clamp=True, type="real")
    return Axis(Codebook.declared(column), column.kind in (Kind.NUMERIC, Kind.ORDINAL))


def _faults(chosen: Sequence[Column], target: str | None) -> list[str]:
    faults = []
    if not chosen:
        faults.append("no feature is left")
    if target is not None and target in [c.name for c in chosen]:
        faults.append("the target is among the features")
    odd = [repr(c.name) for c in chosen if c.kind not in PLAIN]
    if odd:
        faults.append(
            f"days, lists of codes and free text cannot be features: {listed(odd)} (make numbers of them)"
        )
    naming = [repr(c.name) for c in chosen if c.role in NAMING]
    if naming:
        faults.append(f"columns that name people, and weights, cannot be features: {listed(naming)}")
    private = without_public_domain(c for c in chosen if c.kind in PLAIN)
    if private:
        faults.append(private)
    endless = [
        repr(c.name)
        for c in chosen
        if c.public
        and c.edges is not None
        and len(c.edges) == 2
        and not all(math.isfinite(float(e)) for e in c.edges)  # type: ignore[arg-type]
    ]
    if endless:
        faults.append(f"bounds that are not finite: {listed(endless)}")
    return faults


def bounded(names: Sequence[str], bounds: tuple[float, float]) -> Schema:
    """A schema of numbers that all have the same public bounds."""
    low, high = bounds
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ParameterError("bounds are two finite numbers, low below high.", hint="schema=(0, 100)")
    said = Provenance.declared("who called fit", "bounds given as two numbers, the same for all features")
    return Schema(
        tuple(Column(n, Kind.NUMERIC, edges=(float(low), float(high)), provenance=said) for n in names)
    )
