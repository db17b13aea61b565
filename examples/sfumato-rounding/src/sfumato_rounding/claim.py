"""The claim: numbers are multiples of a base. Anybody who has this package can count it again."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.privacy import Claim
from sfumato.table import Table


@dataclass(frozen=True)
class Rounded(Claim):
    """Every number of these columns is a multiple of the base."""

    base: int
    columns: tuple[str, ...]

    def _faults(self) -> list[str]:
        return [] if isinstance(self.base, int) and self.base >= 2 else ["base must be 2 or more"]

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return f"numbers rounded to multiples of {self.base}"

    def promise(self) -> str:
        """What is promised, and against whom."""
        names = ", ".join(self.columns)
        return f"Every number in {names} is a multiple of {self.base}: the exact number is not in the file."

    def limits(self) -> str:
        """What is not promised."""
        return "Nothing is said about the other columns, nor about who can be told apart."

    def recount(self, table: Table) -> tuple[bool, str]:
        """Whether a file keeps it, and what was found: names and counts, never a cell's value."""
        absent = [name for name in self.columns if name not in table.schema]
        if absent:
            return False, f"the data lacks {', '.join(absent)}"
        odd = 0
        for batch in table.select(list(self.columns)).batches():
            for cells in batch.columns:
                whole = cells.drop_null().cast(pa.int64())
                rest = pc.subtract(whole, pc.multiply(pc.divide(whole, self.base), self.base))
                odd += pc.sum(pc.not_equal(rest, 0)).as_py() or 0
        return odd == 0, f"{odd} numbers are no multiples of {self.base}"
