"""Published statistics of masked columns, per group: means, sums, counts, means of logs; stacked levels.

    sf.Aggregates.of("means.csv", by="county", values="charge", sizes="n")
    sf.Aggregates.of(frame, by="county", values={"deaths": "count"}) + sf.Aggregates.of(...)

They are checked against the individuals' table in `sfumato.reconstruction.groups`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.counts import canonical, canonical_type
from sfumato.errors import DataError, ParameterError, SchemaError, listed
from sfumato.features.numbers import numbers, require_finite
from sfumato.io import scan
from sfumato.schema import Column, Kind, Schema
from sfumato.sources import BatchSource, DataLike
from sfumato.table import Table

Statistic = Literal["mean", "sum", "count", "mean_log"]
Real = NDArray[np.float64]

STATISTICS: tuple[str, ...] = get_args(Statistic)
_LOG = "log_"  # before the name of a column that is known by the mean of its logs


@dataclass(frozen=True, eq=False)
class AggregateLevel:
    """One partition of the people and what was published about each part.

    by: the columns whose values name a group.  keys: those columns, a row per group.
    published: (groups, values), as published; NaN where a group was suppressed.
    sizes: how many people each group was said to have, (groups,); None if that was not published.
    """

    by: tuple[str, ...]
    keys: pa.Table
    published: Real
    sizes: NDArray[np.float64] | None = None

    @property
    def name(self) -> str:
        """The level in words: its columns."""
        return " x ".join(self.by)

    def __len__(self) -> int:
        return int(self.keys.num_rows)


@dataclass(frozen=True, eq=False)
class Aggregates:
    """What is known of masked columns: statistics over one partition, or over several of the same people.

    values: the masked columns.  statistics: how each was aggregated, in the same order.
        mean: of the people of the group.  sum: over them.  count: how many have the property (a column of
        0 and 1).  mean_log: the mean of the natural logs; what is reconstructed is then the log. (The log of
        a mean is another number, and no statistic of a linear model for logs.)

    >>> people = sf.samples.members(100)
    >>> sf.Aggregates.compute(people, by="region", values="cost")
    Aggregates(mean of cost; 4 groups by region)
    """

    values: tuple[str, ...]
    statistics: tuple[Statistic, ...]
    levels: tuple[AggregateLevel, ...]

    def __post_init__(self) -> None:
        faults = []
        if not self.values or len(self.values) != len(self.statistics):
            faults.append("there is a statistic for each of at least one masked column")
        if len(set(self.values)) < len(self.values):
            faults.append("a masked column is named once")
        unknown = sorted({str(s) for s in self.statistics} - set(STATISTICS))
        if unknown:
            faults.append(f"a statistic is one of {', '.join(STATISTICS)}, not {listed(unknown)}")
        if not self.levels:
            faults.append("there is at least one level")
        for partition in self.levels:
            if set(partition.by) & set(self.values):
                faults.append(f"a column of level '{partition.name}' is masked itself")
        if faults:
            raise ParameterError(f"aggregates: {'; '.join(faults)}.", hint="see docs/reconstruct.md")

    @classmethod
    def of(
        cls,
        data: Table | DataLike,
        by: str | Sequence[str],
        values: str | Sequence[str] | Mapping[str, str],
        *,
        sizes: str | None = None,
        names: Mapping[str, str] | None = None,
    ) -> Aggregates:
        """From a file, a frame or a table with one row per group.

        by: the column, or columns, that name a group; called so in the individuals' table too.
        values: the columns with the statistics, taken as means; or {column: statistic}.
        sizes: the column with the number of people, if that was published: it is checked.
        names: what a column is called among the individuals, where it differs: {"avg_charge": "charge"}.
        """
        table = data if isinstance(data, Table) else scan(data, keep_text=True)
        by = (by,) if isinstance(by, str) else tuple(by)
        statistics = _statistics(values)
        wanted = [*by, *statistics, *([sizes] if sizes else [])]
        if len(set(wanted)) < len(wanted) or not by:
            raise ParameterError(
                "a column is named once: as group, value or size.", hint="by=..., values=..., sizes=..."
            )
        table.schema.require(wanted)
        rows = table.select(wanted).to_arrow()
        keys = rows.select(list(by))
        _require_one_row_each(keys)
        published = np.column_stack([_numbers(rows[c], c) for c in statistics])
        level = AggregateLevel(by, keys, published, None if sizes is None else _numbers(rows[sizes], sizes))
        known = tuple((names or {}).get(c, c) for c in statistics)
        return cls(known, tuple(statistics.values()), (level,))

    @classmethod
    def compute(
        cls,
        table: Table,
        by: str | Sequence[str],
        values: str | Sequence[str] | Mapping[str, str],
    ) -> Aggregates:
        """From the full table, as its publisher would: one reading, in the engine where it has one."""
        by = (by,) if isinstance(by, str) else tuple(by)
        statistics = _statistics(values)
        table.schema.require([*by, *statistics])
        logged = {c for c, s in statistics.items() if s == "mean_log"}
        summed = (_with_logs(table, logged) if logged else table).sums(*by, of=list(statistics))
        if summed.dropped:
            raise DataError(
                f"{summed.dropped} rows miss one of the values, or have no log.",
                hint="leave those people out of the table first",
            )
        keys = pa.table(
            {b.name: b.decode(summed.groups.codes[:, i]) for i, b in enumerate(summed.groups.codebooks)}
        )
        sizes = summed.groups.n.astype(np.float64)
        shown = [summed.means if s in ("mean", "mean_log") else summed.totals for s in statistics.values()]
        published = np.column_stack([m[:, i] for i, m in enumerate(shown)])
        return cls(
            tuple(statistics), tuple(statistics.values()), (AggregateLevel(by, keys, published, sizes),)
        )

    def __add__(self, other: Aggregates) -> Aggregates:
        """Levels stacked (Algorithm 3): both are about the same people and the same masked columns."""
        if not isinstance(other, Aggregates):
            return NotImplemented
        if (self.values, [s == "mean_log" for s in self.statistics]) != (
            other.values,
            [s == "mean_log" for s in other.statistics],
        ):
            raise ParameterError(
                "levels are stacked for the same masked columns, all as they are or all as logs.",
                hint="give both the same values, in the same order",
            )
        # Each level keeps its own kind: brought to means here where sizes are known, else when matched.
        if self.statistics != other.statistics:
            return replace(self.as_means(), levels=(*self.as_means().levels, *other.as_means().levels))
        return replace(self, levels=(*self.levels, *other.levels))

    def as_means(self) -> Aggregates:
        """Sums and counts divided by the published sizes."""
        if all(s in ("mean", "mean_log") for s in self.statistics):
            return self
        if any(level.sizes is None for level in self.levels):
            raise ParameterError(
                "sums and counts become means by their sizes, which are not there.", hint="give sizes="
            )
        sums = np.array([s in ("sum", "count") for s in self.statistics])
        levels = tuple(
            replace(v, published=np.where(sums, v.published / v.sizes[:, None], v.published))  # type: ignore[index]
            for v in self.levels
        )
        kinds = tuple("mean" if s in ("sum", "count") else s for s in self.statistics)
        return replace(self, statistics=kinds, levels=levels)

    @property
    def reconstructed(self) -> tuple[str, ...]:
        """The names of the columns that a reconstruction adds: log_x for a column known by means of logs."""
        pairs = zip(self.values, self.statistics, strict=True)
        return tuple(f"{_LOG}{v}" if s == "mean_log" else v for v, s in pairs)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{s} of {v}" for v, s in zip(self.values, self.statistics, strict=True))
        levels = ", ".join(f"{len(level):,} groups by {level.name}" for level in self.levels)
        return f"Aggregates({kinds}; {levels})"


def _statistics(values: str | Sequence[str] | Mapping[str, str]) -> dict[str, Any]:
    if isinstance(values, str):
        return {values: "mean"}
    return dict(values) if isinstance(values, Mapping) else dict.fromkeys(values, "mean")


def _numbers(column: pa.ChunkedArray, name: str) -> Real:
    where = f"column '{name}' of the aggregates"
    try:
        found = numbers(column)
    except DataError:
        raise SchemaError(f"{where} is not numeric.", hint="name another one") from None
    return require_finite(found, where)


def _require_one_row_each(keys: pa.Table) -> None:
    if not keys.num_rows:
        raise DataError("the aggregates have no groups.", hint="give a row per group")
    repeated = keys.num_rows - keys.group_by(keys.column_names).aggregate([]).num_rows
    if repeated:
        raise DataError(
            f"{repeated} groups of the aggregates come twice.",
            hint="name all columns that make up a group: by=['county', 'year']",
        )


def _with_logs(table: Table, names: set[str]) -> Table:
    """The table with the natural logs of some columns; what has no log becomes missing."""
    changed = Schema(
        tuple(Column(c.name, Kind.NUMERIC, c.role) if c.name in names else c for c in table.schema)
    )
    arrow = pa.schema([pa.field(c.name, canonical_type(c)) for c in changed])

    def read(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in table.batches(columns):
            arrays = [log(a) if n in names else a for n, a in zip(columns, batch.columns, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=pa.schema([arrow.field(n) for n in columns]))

    return Table(BatchSource(arrow, read, rows=getattr(table.source, "rows", None)), changed)


def log(array: pa.Array) -> pa.Array:
    """Natural logs; null for what has none."""
    numbers = canonical(Column("x", Kind.NUMERIC), array.cast(pa.float64(), safe=False))
    positive = pc.if_else(pc.greater(numbers, 0.0), numbers, pa.scalar(None, pa.float64()))
    return pc.ln(positive)
