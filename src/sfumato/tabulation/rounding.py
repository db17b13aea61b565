"""Controlled rounding: every count a multiple of a base, and every total the sum of its rounded parts.

Inner cells go to the multiple below or above, so each is off by less than the base; which of the two is
searched for (annealing), so that totals stay near what they were. Totals of three and more ways cannot always
be within the base, so how far the farthest is off is measured and said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.methods.declaration import Declaration, Does, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import Number
from sfumato.seeds import Key
from sfumato.tabulation.contents import CellContents

Index = NDArray[np.int64]

_STEPS = 8000  # flips tried, for each inner cell


@dataclass(frozen=True, eq=False)
class Rounded:
    """Rounded counts, and how far they are off: at most, and on average."""

    counts: Index
    farthest: int
    mean: float


@declares(
    Declaration(
        "round",
        Does.TABULATE,
        "Round counts to multiples of a base, so that totals add up.",
        page="tables.md",
        claims=("NoGuarantee",),
        closed={"map": "a map compares releases of rows"},
    )
)
@dataclass(frozen=True)
class ControlledRounding:
    """Round every count to a multiple of the base, so that all totals add up. No cell is withheld.

    >>> people = sf.samples.members(300)
    >>> release = sf.tabulate(people, "region,sex", method=sf.ControlledRounding(5))
    >>> {count % 5 for count in release.data.to_arrow()["count"].to_pylist()}
    {0}
    """

    base: Annotated[
        int, Parameter(Number("What counts are rounded to multiples of.", 2, 1000, whole=True), beginner=True)
    ] = 3

    def __post_init__(self) -> None:
        if isinstance(self.base, bool) or not isinstance(self.base, int) or not 2 <= self.base <= 1000:
            raise ParameterError("the base is a whole number from 2 to 1000.", hint="ControlledRounding(3)")

    def round(self, contents: CellContents, key: Key) -> Rounded:
        """Rounded counts of all cells. The key draws which way cells go, where either would do."""
        from sfumato.tabulation._kernels import anneal

        inner, start, totals = contents.parts()
        values, base = contents.rows, self.base
        rest = values[inner] % base
        seed = int(key.derive("controlled rounding").words(sweep=0, first_row=0, rows=1).ravel()[0] >> 2)
        up = (rest * 2 > base).astype(np.int64)
        off = -values.copy()
        moved = values[inner] - rest + base * up
        np.add.at(off, totals, np.repeat(moved, np.diff(start)))
        off[inner] = 0
        anneal(up, rest, off, start, totals, base, _STEPS * len(inner), seed)
        counts = values + off
        counts[inner] = values[inner] - rest + base * up
        away = np.abs(counts - values)
        return Rounded(counts, int(away.max(initial=0)), float(away.mean()) if len(away) else 0.0)
