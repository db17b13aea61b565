"""A fitted linear reconstruction: y = X beta + A' kappa (+ G gamma), written back batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import canonical_type
from sfumato.errors import ParameterError, listed
from sfumato.features.numbers import values
from sfumato.io import scan, to_native, write
from sfumato.io.output import atomic_directory
from sfumato.io.spark import is_spark, write_parts
from sfumato.reconstruction.groups import Grouping, Place
from sfumato.reconstruction.moments import Filler, Moments
from sfumato.reconstruction.uncertainty import (
    Calibration,
    Noise,
    ReconstructionRule,
    Uncertainty,
    uncertainty,
)
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.sources import BatchSource, DataLike, EngineSource, engine_fault
from sfumato.table import Table

Real = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Effects:
    """Random intercepts and slopes: coefficients of X, the constant first, that differ by group.

    place: from people to groups.  gamma: (groups, d, k).
    """

    place: Place
    gamma: Real


@dataclass(frozen=True, eq=False)
class LinearRule:
    """y_i = x_i (beta + gamma of the person's group) + the offsets of the person's groups.

    slopes: (d, k), the constant first.  offsets: (p, k), A' kappa at each row of A: kappa over sizes.
    """

    filler: Filler
    grouping: Grouping
    slopes: Real
    offsets: Real
    effects: Effects | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        more = self.effects.place.by if self.effects is not None else ()
        return tuple(dict.fromkeys([*self.filler.design.columns, *self.grouping.columns, *more]))

    def __call__(self, columns: Mapping[str, pa.Array]) -> Real:
        """Values, (people, masked columns)."""
        x = self.filler.matrix(columns)
        y: Real = x @ self.slopes
        padded = np.vstack([self.offsets, np.zeros(self.offsets.shape[1])])  # row -1: no group
        for rows in self.grouping.of(columns):
            y += padded[rows]
        if self.effects is not None:
            group = self.effects.place.of(columns)
            gamma = np.concatenate([self.effects.gamma, np.zeros((1, *self.effects.gamma.shape[1:]))])
            y += np.einsum("nd,ndk->nk", x, gamma[group])
        return y


@dataclass(frozen=True, eq=False)
class Reconstructed:
    """The individuals with their reconstructed columns, read again each time they are asked for.

    data: the rows, lazily.  values: the names of the columns that were added.
    """

    data: Table
    values: tuple[str, ...]
    rule: ReconstructionRule = field(repr=False)
    origin: Table = field(repr=False)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch: memory does not grow with their number. Those of Spark come partition
        after partition; `to_native` leaves them there."""
        return self.data.batches()

    def to_arrow(self) -> pa.Table:
        """All rows in memory."""
        return self.data.to_arrow()

    def numbers(self) -> Real:
        """The reconstructed values alone, (people, masked columns)."""
        names = list(self.values)
        parts = [np.column_stack([b.column(n).to_numpy() for n in names]) for b in self.data.batches(names)]
        return np.concatenate([np.empty((0, len(names))), *parts])

    def to_native(self) -> Any:
        """As what went in: pandas for pandas and so on; a Spark frame is computed by its executors."""
        source = self.origin.source
        if is_spark(source):
            return _on_spark(self, source)
        return to_native(self.to_arrow(), source)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write to a file by its suffix, in chunks; whole or not at all.

        Of a Spark table, `.parquet` is a folder: the executors write a file into it for each partition. It
        must lie on a disk that they and the driver share. Other formats pass through the driver.
        """
        source, target = self.origin.source, Path(path)
        if is_spark(source) and target.suffix == ".parquet":
            with atomic_directory(target, overwrite) as folder:
                write_parts(scan(_on_spark(self, source), self.data.schema, keep_text=True), folder)
            return target
        return write(self.data, path, overwrite=overwrite)


@dataclass(frozen=True, eq=False)
class FittedReconstruction:
    """What `fit` gives back: the rule, the trace, and what was chosen on the way.

    trace: the objective after each iteration, the start first; empty for methods without iterations.
    chosen: rank, sharing, iterations and the like.  residual: of contradicting levels, 0 if they agree.
    foretold: fits again without some groups at a time; asked only where intervals are.
    calibration: what people whose values are known say; None where there are none.
    """

    method: str
    individuals: Table = field(repr=False)
    grouping: Grouping = field(repr=False)
    rule: ReconstructionRule = field(repr=False)
    trace: tuple[float, ...] = ()
    chosen: Mapping[str, Any] = field(default_factory=dict)
    moments: Moments | None = field(default=None, repr=False)
    foretold: Callable[[], tuple[Real, Real]] | None = field(default=None, repr=False)
    corrected: bool = True
    calibration: Calibration | None = field(default=None, repr=False)

    @cached_property
    def rests(self) -> tuple[Real, Real] | None:
        """What groups differ from what the others foretell of them, (groups, k), and their sizes."""
        return None if self.foretold is None else self.foretold()

    @property
    def residual(self) -> float:
        """How far levels that contradict each other are from any people's: 0 if they agree."""
        return self.grouping.residual

    @property
    def coefficients(self) -> dict[str, Real]:
        """The weight of each column of X, by name; (masked columns,) each."""
        if not isinstance(self.rule, LinearRule):
            raise ParameterError(f"{self.method} has no coefficients.", hint="they belong to linear methods")
        return dict(zip(self.rule.filler.names, self.rule.slopes, strict=True))

    def reconstruct(
        self, table: Table | DataLike | None = None, *, natural: bool = False, interval: float | None = None
    ) -> Reconstructed:
        """Each person with the values they may have had.

        table: other people of the same columns, who were not in the aggregates; the individuals by default.
        natural: columns known by means of logs come back as they are, not as logs (medians, not means).
        interval: also give `<name>_low` and `<name>_high`, which hold the true value with this probability.
        """
        if table is None:
            people = self.individuals
        else:
            people = table if isinstance(table, Table) else scan(table, keep_text=True)
        people.schema.require(self.rule.columns)
        names = self.grouping.aggregates.reconstructed
        rule: ReconstructionRule = self.rule
        if interval is not None:
            rule, names = self.uncertainty().rule(interval), _with_ends(names)
        if natural:
            logs = tuple(n.startswith("log_") and n not in self.grouping.aggregates.values for n in names)
            rule = _Natural(rule, logs)
            names = tuple(
                n.removeprefix("log_") if is_log else n for n, is_log in zip(names, logs, strict=True)
            )
        return _written_back(people, rule, names)

    def uncertainty(self, noise: Noise | None = None) -> Uncertainty:
        """How far reconstructed values may be off, and how much the aggregates pinned down.

        noise: "constant" (whatever held-out groups miss is put down to persons: wide), "components" (persons
        and groups told apart: narrower, and right only if the slopes are), "known" (from people whose values
        are known), or a standard deviation. By default "known" where there are such people, else "constant".
        """
        chosen = noise if noise is not None else "constant" if self.calibration is None else "known"
        return uncertainty(
            self.grouping, self.rule, lambda: self.rests, self.corrected, chosen, self.calibration
        )


def _with_ends(names: Sequence[str]) -> tuple[str, ...]:
    return (*names, *(f"{n}_low" for n in names), *(f"{n}_high" for n in names))


@dataclass(frozen=True, eq=False)
class _Natural:
    """exp of the columns that are logs."""

    rule: ReconstructionRule
    logs: tuple[bool, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return self.rule.columns

    def __call__(self, columns: Mapping[str, pa.Array]) -> Real:
        y = self.rule(columns)
        return np.where(self.logs, np.exp(np.where(self.logs, y, 0.0)), y)


# -- rows back ---------------------------------------------------------------------------------------


def _written_back(people: Table, rule: ReconstructionRule, names: tuple[str, ...]) -> Reconstructed:
    clash = [repr(n) for n in names if n in people.columns]
    if clash:
        people = people.drop([n for n in names if n in people.columns])  # a control may hold the truth
    added = {n: Column(n, Kind.NUMERIC, Role.SENSITIVE, "real", reason="reconstructed") for n in names}
    schema = Schema((*people.schema.columns, *added.values()))
    arrow = pa.schema([pa.field(c.name, canonical_type(c)) for c in schema])

    def read(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        new = [n for n in wanted if n in names]
        needed = list(dict.fromkeys([*(n for n in wanted if n not in names), *(rule.columns if new else ())]))
        fields = pa.schema([arrow.field(n) for n in wanted])
        for batch in people.batches(needed or list(people.columns[:1])):
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            y = rule(columns) if new else np.empty((batch.num_rows, 0))
            arrays = [values(added[n], y[:, names.index(n)]) if n in names else columns[n] for n in wanted]
            yield pa.RecordBatch.from_arrays(arrays, schema=fields)

    source = BatchSource(arrow, read, rows=getattr(people.source, "rows", None))
    return Reconstructed(Table(source, schema, people.memory_limit), names, rule, people)


class _Executor:
    """Adds the reconstructed columns to the rows of one partition."""

    def __init__(self, rule: ReconstructionRule, names: list[str]) -> None:
        self.rule, self.names = rule, names

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            y = self.rule(dict(zip(self.names, batch.columns, strict=True)))
            arrays = [*batch.columns, *(pa.array(y[:, j]) for j in range(y.shape[1]))]
            yield pa.RecordBatch.from_arrays(arrays, names=[f"c{i}" for i in range(len(arrays))])


def _on_spark(found: Reconstructed, source: EngineSource) -> Any:
    from pyspark.sql.types import DoubleType, StructField, StructType

    names = list(found.origin.columns)
    native = source.frame.select([source.inner(n) for n in names]).to_native()
    try:
        fields = [StructField(f"c{i}", f.dataType, True) for i, f in enumerate(native.schema.fields)]
        more = [StructField(f"c{len(names) + j}", DoubleType(), True) for j in range(len(found.values))]
        rows = native.mapInArrow(_Executor(found.rule, names), StructType([*fields, *more]))
        return rows.toDF(*names, *found.values)
    except Exception as error:
        raise engine_fault(error) from None


def require_known(faults: Sequence[str], what: str) -> None:
    """All faults of a method's parameters at once."""
    if faults:
        raise ParameterError(f"{what}: {listed(list(faults), 20)}.", hint="see docs/reconstruct.md")
