"""Claims that rest on a secret, a random draw or a key; and the plain statement that nothing is promised.

A disclosed seed or key ends the former (`Guarantee.seeded`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from sfumato.privacy.base import Claim
from sfumato.privacy.claims import GroupSize, column_faults, names
from sfumato.privacy.rounding import shown


@dataclass(frozen=True)
class BoundedReidentification(GroupSize):
    """No record is found by its quasi-identifiers with a chance above 1/k."""

    rests_on_secret: ClassVar[bool] = True

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return f"re-identification at most 1/{self.k} for every record"

    def promise(self) -> str:
        """What is promised, and against whom."""
        return (
            f"An intruder who knows every person's true values in {names(self.columns)}, and matches the "
            "released rows by these columns in whatever way, picks the right row of any given "
            f"{self.unit.of} with a probability of at most 1/{self.k}. The probability is over the secret "
            "random draw that made the file, and the bound holds for each record, not only on "
            f"average.{self._weak()}"
        )

    def limits(self) -> str:
        """What is not promised."""
        return (
            "The other columns are released as they are: someone who knows one of them can match by it. "
            "Combinations of values may occur once in the file. A disclosed seed or a second draw from the "
            "same data ends the promise."
        )


@dataclass(frozen=True)
class DiverseLaw(Claim):
    """Every synthetic value was drawn from a law with enough entropy."""

    l: float  # noqa: E741
    columns: tuple[str, ...]
    capped: tuple[str, ...] = ()

    rests_on_secret: ClassVar[bool] = True

    def _faults(self) -> list[str]:
        faults = column_faults(self.columns)
        if self.l < 1:
            faults.append("l must be at least 1")
        if not set(self.capped) <= set(self.columns):
            faults.append("capped columns must be among the columns")
        return faults

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return f"drawn from laws of diversity l = {shown(self.l, upward=False)}"

    def promise(self) -> str:
        """What is promised, and against whom."""
        cap = (
            f" Exceptions: {names(self.capped)} have too few values for that, and were drawn evenly."
            if self.capped
            else ""
        )
        return (
            f"Each released value in {names(self.columns)} was drawn by chance from a distribution as "
            f"uncertain as {shown(self.l, upward=False)} equally likely values (entropy at least its "
            f"logarithm), given the values it was conditioned on.{cap} An intruder who knows those values "
            "and the distribution, and not the secret draw, is left with that much doubt about each "
            "released value."
        )

    def limits(self) -> str:
        """What is not promised."""
        return (
            "It is about the law the rows were drawn from, not about the released table, whose groups may "
            "happen to be less varied. It does not bound what the laws themselves, learnt from people, tell "
            "about one person: it is not differential privacy. A disclosed seed ends it."
        )


@dataclass(frozen=True)
class Pseudonymous(Claim):
    """Identifiers were replaced by keyed pseudonyms."""

    columns: tuple[str, ...]

    rests_on_secret: ClassVar[bool] = True

    def _faults(self) -> list[str]:
        return column_faults(self.columns)

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return "pseudonymous"

    def promise(self) -> str:
        """What is promised, and against whom."""
        return (
            f"The values in {names(self.columns)} were replaced by pseudonyms that nobody can compute or "
            "undo without the secret key. An intruder who has only these columns, and does not know how "
            "often or beside whom a person occurs, cannot tell whom they name."
        )

    def limits(self) -> str:
        """What is not promised."""
        return (
            "It is not anonymity: whoever holds the key can undo it, equal pseudonyms show equal persons, "
            "and all other columns can still identify. In law such data usually remain personal data."
        )


_REASONS = {
    "seeded": "The random draw that carried the promise was made with a known seed, so anyone can repeat it.",
    "post-processed": "The file was changed after it was counted, so the count no longer stands for it.",
}


@dataclass(frozen=True)
class NoGuarantee(Claim):
    """Nothing is promised, and why.

    columns: those that were pseudonyms before the promise was lost: they still name nobody by themselves.
    """

    reason: str
    detail: str = ""
    columns: tuple[str, ...] = field(default=(), kw_only=True)

    def _faults(self) -> list[str]:
        return [] if self.reason.strip() else ["a reason must be given"]

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return f"no guarantee ({self.reason})"

    def promise(self) -> str:
        """Why nothing is promised."""
        return " ".join(part for part in (_REASONS.get(self.reason, ""), self.detail) if part)

    def limits(self) -> str:
        """What is not promised."""
        return "In this respect nothing is promised, against anyone."
