"""A claim about the search: the release is the same in every world that it leaves open.

Let R be the search, D the data, and W the worlds that agree with the release R(D) in what it shows. If
R(D') = R(D) for all D' in W, then P(D' | R(D), the search is known) = P(D') / P(W): who knows the search
believes what one believes who sees the release alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.privacy.base import Claim
from sfumato.privacy.claims import column_faults, names

VALUES, PLACES, BOTH = "values", "places", "both"
HIDES = (VALUES, PLACES, BOTH)


@dataclass(frozen=True)
class KnownSearch(Claim):
    """Knowing how the groups were formed tells nothing beyond the file."""

    columns: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    hides: str = BOTH

    def _faults(self) -> list[str]:
        faults = column_faults(self.columns)
        if self.hides not in HIDES:
            faults.append(f"hides must be {' or '.join(HIDES)}")
        elif self.hides == VALUES and not self.sensitive:
            faults.append("sensitive must name at least one column")
        return faults

    @property
    def title(self) -> str:
        """The claim in a few words."""
        what = {VALUES: "sensitive values", PLACES: "places within values"}
        return f"a search that may be known: {what.get(self.hides, 'sensitive values and places')}"

    def promise(self) -> str:
        """What is promised, and against whom."""
        said = []
        if self.sensitive and self.hides != PLACES:
            said.append(
                f"However the values of {names(self.sensitive)} in a group are dealt out among its rows, the "
                f"same file is made: also to someone who knows everybody's values in {names(self.columns)} "
                "and the way the groups were formed, a row may have each value of its group, as often as the "
                "group has it."
            )
        if self.hides != VALUES:
            said.append(
                f"Wherever the rows of the file lie within their values in {names(self.columns)}, the same "
                "file is made: nobody makes these values finer by knowing the way the groups were formed."
            )
        return f"{' '.join(said)} So far the other promises hold against someone who knows it, too."

    def limits(self) -> str:
        """What is not promised."""
        return (
            "It is about the rows of the file, not about persons who were left out of it. It says nothing of "
            "what other columns tell, or another release of the same people. It rests on hierarchies, "
            "criteria and limits having been chosen without looking at what comes out."
        )
