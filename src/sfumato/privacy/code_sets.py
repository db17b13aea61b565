"""A claim about the codes of a person: an intruder who knows a few of them is left with many persons."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.privacy.base import Claim
from sfumato.privacy.claims import column_faults, names

MOST_CODES = 4  # beyond, hardly any set is shared, and counting takes too long to be checked by others


@dataclass(frozen=True)
class KMAnonymity(Claim):
    """Up to m codes of a person, with what is known of the person, fit at least k persons, or nobody.

    codes: each column whose values are the person's codes. columns: what else is known of the person,
    exactly; empty for nothing. Of linked tables both are `table.column`. Of one table the unit may be a row,
    as where no column says whose rows are whose: codes are then those of one row, and rows are counted.
    """

    k: int
    m: int
    codes: tuple[str, ...]
    columns: tuple[str, ...] = ()

    def _faults(self) -> list[str]:
        faults = [] if self.k >= 1 else ["k must be at least 1"]
        faults += [] if 1 <= self.m <= MOST_CODES else [f"m must be from 1 to {MOST_CODES}"]
        faults += column_faults(self.codes, "codes")
        faults += column_faults(self.columns) if self.columns else []
        return faults

    @property
    def title(self) -> str:
        """The claim in a few words."""
        both = "k- and k^m-anonymity" if self.columns else "k^m-anonymity"
        rows = " rows" if self.unit.of == "row" else ""
        return f"{both} with k = {self.k}{rows}, m = {self.m}"

    def promise(self) -> str:
        """What is promised, and against whom."""
        besides = f" and all of {names(self.columns)}" if self.columns else ""
        known = "one value" if self.m == 1 else f"up to {self.m} values"
        if self.unit.of == "row":
            return (
                f"In the released file, any {known} that a row has in {names(self.codes)}{besides} fit at "
                f"least {self.k} rows, or none. An intruder who knows so much of a row and no more cannot "
                "narrow the search to fewer."
            )
        return (
            f"In the released files, any {known} of a person in {names(self.codes)}{besides} fit at least "
            f"{self.k} different persons, or nobody. An intruder who knows so much of a person and no more "
            "cannot narrow the search to fewer."
        )

    def limits(self) -> str:
        """What is not promised."""
        return (
            f"It does not hold against someone who knows more than {self.m} values of a person, which of "
            "them came "
            "together or in which order, how many records a person has, that a person does not have a "
            "code, or "
            "other columns. What a group has in common is known of all its members."
            + " The rows may belong to the same person."
            * (self.unit.of == "row")
        )
