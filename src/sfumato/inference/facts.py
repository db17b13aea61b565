"""What is known of one column: its different values and how often each occurs.

The same facts are taken from the head of the data when it is scanned, and from the counts of all rows when
it is described; `whole` says which, and `of_rows` puts it into words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.inference import shapes
from sfumato.schema import Kind
from sfumato.sources import is_text

SAMPLED = "of a sample"
"""What a reason says of numbers that do not come from all rows."""
_LOOK = 2_000  # different values looked at by rules that read each


@dataclass(frozen=True, eq=False)
class Facts:
    """One column. levels: its different values without gaps, counts: how often each occurs.

    label, meanings: what the file says of the column and of its codes (SPSS, Stata, SAS).

    in_order: whether the filled cells of the head never decrease from row to row.
    """

    name: str
    kind: Kind
    type: str
    levels: pa.Array
    counts: NDArray[np.int64]
    rows: int
    whole: bool = True
    in_order: bool = False
    separator: str = ""
    label: str = ""
    meanings: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def filled(self) -> int:
        """Cells with a value."""
        return int(self.counts.sum())

    @property
    def distinct(self) -> int:
        """Different values."""
        return len(self.levels)

    @property
    def share_distinct(self) -> float:
        """Different values per filled cell: 1 if no value repeats."""
        return self.distinct / self.filled if self.filled else 0.0

    @cached_property
    def share_alone(self) -> float:
        """The share of filled cells whose value no other row has."""
        return float((self.counts == 1).sum()) / self.filled if self.filled else 0.0

    @property
    def of_rows(self) -> str:
        """'of 2,500 rows', or that it is a sample."""
        return f"of {self.rows:,} rows" if self.whole else f"{SAMPLED} of {self.rows:,} rows"

    @cached_property
    def is_number(self) -> bool:
        """Whether the values are stored as numbers, or text that is."""
        return self.type in ("integer", "real", "decimal")

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The different values as numbers; empty where they are none."""
        levels = self.levels
        if is_text(levels.type):
            hits = pc.match_substring_regex(levels, r"^-?\d{1,18}(\.\d*)?$")
            if len(levels) == 0 or not pc.all(hits).as_py():
                return np.empty(0)
            levels = levels.cast(pa.string()).cast(pa.float64())
        elif not (
            pa.types.is_integer(levels.type) or pa.types.is_floating(levels.type)
        ) and not pa.types.is_decimal(levels.type):
            return np.empty(0)
        return np.asarray(levels.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)

    @cached_property
    def is_whole_number(self) -> bool:
        """Whether every value is a whole number, however it is stored."""
        found = self.numbers
        return (
            bool(len(found)) and bool(np.all(np.isfinite(found))) and bool(np.all(found == np.floor(found)))
        )

    @cached_property
    def texts(self) -> list[str]:
        """Different values as text, at most some thousands, spread evenly."""
        step = max(1, -(-len(self.levels) // _LOOK))
        some = self.levels.take(pa.array(np.arange(0, len(self.levels), step)))
        if pa.types.is_floating(some.type) and self.is_whole_number:
            return [str(int(v)) for v in some.to_pylist()]
        return [str(v).strip() for v in some.to_pylist()]

    @cached_property
    def text_counts(self) -> list[int]:
        """How often each of `texts` occurs."""
        step = max(1, -(-len(self.levels) // _LOOK))
        return [int(n) for n in self.counts[::step]]

    @cached_property
    def widths(self) -> set[int]:
        """How many signs the values have."""
        return {len(t) for t in self.texts}

    @cached_property
    def compact_day(self) -> bool:
        """20240131 and the like throughout."""
        return shapes.is_compact_day(self.levels)

    @cached_property
    def is_day(self) -> bool:
        """Days or times in any writing, stored as such or not: 20240131, 31.1.2024, 202401310815."""
        if self.kind is Kind.DATE or self.compact_day or shapes.is_written_day(self.levels):
            return True
        return shapes.is_digit_time(self.levels, self.share_distinct)

    def median(self) -> float:
        """The median over the rows."""
        found = self.numbers
        if self.share_alone == 1.0:
            return float(np.median(found))
        order = np.argsort(found, kind="stable")
        cumulated = np.cumsum(self.counts[order])
        return float(found[order][np.searchsorted(cumulated, cumulated[-1] / 2)])


def counted(values: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """The different values and how often each occurs."""
    if pa.types.is_nested(values.type):
        return values.slice(0, 0), np.empty(0, np.int64)
    found = pc.value_counts(values)
    return found.field("values"), found.field("counts").to_numpy()


def never_decreases(values: pa.Array) -> bool:
    """Whether numbers rise from row to row, or stay."""
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)) or len(values) < 2:
        return False
    numbers = values.slice(0, 20_000).to_numpy(zero_copy_only=False)
    return bool(np.all(numbers[1:] >= numbers[:-1]))
