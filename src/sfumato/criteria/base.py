"""What every criterion has, and how several are asked at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.criteria.classes import Classes
from sfumato.errors import ParameterError
from sfumato.privacy import Claim


class Criterion(ABC):
    """Something asked of each class of a release.

    monotone: merging two classes that satisfy it gives one that does. A full generalization of a table
        that satisfies it then does too, and a search may skip those.
    closed: adding any rows to a class that satisfies it leaves it satisfied. Rows to be suppressed then
        never become more by generalizing.
    k: no class with fewer rows can satisfy it; a search may use it as a first filter.
    """

    @property
    @abstractmethod
    def monotone(self) -> bool:
        """Whether merging two satisfying classes gives a satisfying one."""

    @property
    def closed(self) -> bool:
        """Whether a satisfying class stays so when any rows are added to it."""
        return self.monotone

    if TYPE_CHECKING:  # some have it as a field, which a property above would be in the way of

        @property
        def k(self) -> int:
            """The fewest rows a satisfying class can have."""

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The columns it looks at besides the quasi-identifiers."""
        return ()

    @property
    def weights(self) -> tuple[str, ...]:
        """The columns of survey weights it adds up."""
        return ()

    @property
    def parts(self) -> tuple[Criterion, ...]:
        """The single criteria it is made of."""
        return (self,)

    @property
    def matching(self) -> bool:
        """Whether it lets missing cells match anything."""
        return any(p.matching for p in self.parts if p is not self)

    @property
    def only_sizes(self) -> bool:
        """Whether it is the same as: every class has at least k rows."""
        return False

    @property
    def leaves_out(self) -> bool:
        """Whether rows that are suppressed must not be in the file, not even with * in every cell."""
        return any(p.leaves_out for p in self.parts if p is not self)

    @abstractmethod
    def satisfied(self, classes: Classes) -> NDArray[np.bool_]:
        """(classes,): which of them satisfy it."""

    @abstractmethod
    def claims(self, classes: Classes, columns: tuple[str, ...]) -> tuple[Claim, ...]:
        """What these classes reach, as promises over the quasi-identifiers `columns`."""

    @abstractmethod
    def describe(self) -> str:
        """What is asked, in a few words."""

    def __and__(self, other: Criterion) -> All:
        """Both at once."""
        if not isinstance(other, Criterion):
            return NotImplemented
        return All((*self.parts, *other.parts))


@dataclass(frozen=True)
class All(Criterion):
    """Several criteria, each of which every class must satisfy."""

    criteria: tuple[Criterion, ...]

    def __post_init__(self) -> None:
        given = tuple(self.criteria)
        if not given or not all(isinstance(c, Criterion) for c in given):
            raise ParameterError("All is made of criteria.", hint="KAnonymity(5) & LDiversity(3, 'dx')")
        flat = tuple(dict.fromkeys(part for c in given for part in c.parts))
        object.__setattr__(self, "criteria", flat)

    @property
    def monotone(self) -> bool:
        """Whether each of them is."""
        return all(c.monotone for c in self.criteria)

    @property
    def closed(self) -> bool:
        """Whether each of them is."""
        return all(c.closed for c in self.criteria)

    @property
    def k(self) -> int:
        """The largest of theirs."""
        return max(c.k for c in self.criteria)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """All they look at."""
        return tuple(dict.fromkeys(s for c in self.criteria for s in c.sensitive))

    @property
    def weights(self) -> tuple[str, ...]:
        """All they add up."""
        return tuple(dict.fromkeys(w for c in self.criteria for w in c.weights))

    @property
    def parts(self) -> tuple[Criterion, ...]:
        """The single criteria it is made of."""
        return self.criteria

    @property
    def only_sizes(self) -> bool:
        """Whether each of them is about sizes only."""
        return all(c.only_sizes for c in self.criteria)

    def satisfied(self, classes: Classes) -> NDArray[np.bool_]:
        """(classes,): which satisfy all."""
        found: NDArray[np.bool_] = np.logical_and.reduce([c.satisfied(classes) for c in self.criteria])
        return found

    def claims(self, classes: Classes, columns: tuple[str, ...]) -> tuple[Claim, ...]:
        """What each of them reaches."""
        return tuple(claim for c in self.criteria for claim in c.claims(classes, columns))

    def describe(self) -> str:
        """What is asked, in a few words."""
        return " and ".join(c.describe() for c in self.criteria)


def whole_number(value: object, name: str, hint: str, least: int = 1) -> None:
    """Refuse what is not a whole number from `least` up."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"{name} must be a whole number from {least} up.", hint=hint)


def number(value: object, name: str, low: float, high: float, hint: str) -> None:
    """Refuse what is not a number above `low` and up to `high`."""
    plain = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not plain or not low < float(value) <= high:  # type: ignore[arg-type]
        raise ParameterError(f"{name} must be a number above {low:g} and up to {high:g}.", hint=hint)


def column_name(value: object, hint: str) -> None:
    """Refuse what is not the name of a column."""
    if not isinstance(value, str) or not value:
        raise ParameterError("the column it looks at must be named.", hint=hint)
