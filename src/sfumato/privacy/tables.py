"""Claims about published tables: which cells are hidden, and from whom; that their totals add up."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.privacy.base import Claim
from sfumato.privacy.claims import GroupSize, column_faults, names


@dataclass(frozen=True)
class HiddenCells(GroupSize):
    """What is withheld of tables cannot be reckoned back from what is shown.

    k: smaller counts are sensitive.  layout: the tables, as in 'area>county,age;area,sex'.
    summed: the column that is summed in each cell, or empty.  contributors: hidden from those, too, who are
    alone in a cell.  weight: the column of weights, where counts are weighted, or empty.
    homogeneous: a column of which no group is known to be in one category, or empty.
    """

    layout: str
    summed: str = ""
    contributors: bool = True
    weight: str = ""
    homogeneous: str = ""

    def _faults(self) -> list[str]:
        faults = super()._faults() + ([] if self.k >= 2 else ["k must be at least 2"])
        faults += [] if self.layout else ["layout must name the tables"]
        return faults + (
            [] if isinstance(self.contributors, bool) else ["contributors must be true or false"]
        )

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return f"hidden cells: counts of 1 to {self.k - 1} cannot be reckoned back"

    def promise(self) -> str:
        """What is promised, and against whom."""
        if self.weight:
            return (
                f"The weighted count of every cell with 1 to {self.k - 1} people cannot be told to within a "
                f"fifth from all these tables by {names(self.columns)} together."
            )
        own = (
            " Nor can somebody who is alone in one withheld cell, and takes that off, find another exactly."
            if self.contributors
            else ""
        )
        if self.homogeneous:
            own += f" Of no group does it follow that everybody in it has the same {self.homogeneous!r}."
        return (
            f"Of every cell with 1 to {self.k - 1} rows, a reader of all these tables by "
            f"{names(self.columns)} together, who uses every total and every relation among them, is left "
            "with all numbers from 1 to "
            f"{self.k - 1} (or, where several inner cells that are not empty lie under it, from their number "
            f"on).{own}"
        )

    def limits(self) -> str:
        """What is not promised."""
        return (
            "It is no promise against tables of the same people that are published elsewhere or later and "
            "were not protected together with these, nor against several contributors who pool what they "
            "know, nor against those who know how the search for cells to withhold went."
            + ("" if self.homogeneous else " That a cell is empty is published.")
        )


@dataclass(frozen=True)
class ConsistentTotals(Claim):
    """Every total is the sum of its parts, in all tables together. It protects nobody by itself.

    layout: the tables, as in 'county,age;county,sex'.
    """

    columns: tuple[str, ...]
    layout: str

    def _faults(self) -> list[str]:
        return column_faults(self.columns) + ([] if self.layout else ["layout must name the tables"])

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return "totals add up"

    def promise(self) -> str:
        """What is promised."""
        return (
            f"These are tables of counts by {names(self.columns)}: no count is below 0, and every total is "
            "the sum of its parts, in all of them together."
        )

    def limits(self) -> str:
        """What is not promised."""
        return "It says how the tables were made fit to be read, and protects nobody."
