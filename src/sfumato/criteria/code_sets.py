"""What is asked of sets of codes: an intruder who knows a few codes of a person is left with many persons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.criteria.base import Criterion, column_name, whole_number
from sfumato.criteria.classes import Classes
from sfumato.errors import ParameterError
from sfumato.privacy import Claim
from sfumato.privacy.code_sets import MOST_CODES

_EXAMPLE = "KMAnonymity(5, 2, 'diagnoses')"


@dataclass(frozen=True)
class KMAnonymity(Criterion):
    """Any m codes of a person fit at least k persons of the same class, or nobody (k^m-anonymity).

    k: how many persons (rows, where no column says whose they are). m: how many codes an intruder may know,
    1 to 4. codes: the columns of codes, by default all of kind codes; of linked tables
    `anonymize_database` names them instead.

    No class tells whether it holds: `anonymize` forms classes of k first, and then makes the codes of
    each class more general.

    >>> asked = sf.KMAnonymity(5, m=2)
    >>> asked.k, asked.m
    (5, 2)
    """

    k: int
    m: int = 2
    codes: tuple[str, ...] | str = ()

    def __post_init__(self) -> None:
        whole_number(self.k, "k", _EXAMPLE)
        whole_number(self.m, "m", _EXAMPLE)
        if self.m > MOST_CODES:
            raise ParameterError(
                f"m must be from 1 to {MOST_CODES}.", hint="more codes than that make nearly everybody unique"
            )
        given: Sequence[str] = (self.codes,) if isinstance(self.codes, str) else tuple(self.codes)
        for name in given:
            column_name(name, _EXAMPLE)
        object.__setattr__(self, "codes", tuple(dict.fromkeys(given)))

    @property
    def monotone(self) -> bool:
        """As far as classes go, k rows or persons are asked."""
        return True

    def satisfied(self, classes: Classes) -> NDArray[np.bool_]:
        """Refused: classes do not tell."""
        raise self.refused()

    def claims(self, classes: Classes, columns: tuple[str, ...]) -> tuple[Claim, ...]:
        """Refused: classes do not tell."""
        raise self.refused()

    def describe(self) -> str:
        """What is asked, in a few words."""
        where = f" of {', '.join(map(repr, self.codes))}" if self.codes else ""
        return f"k^m-anonymity{where} with k = {self.k}, m = {self.m}"

    @staticmethod
    def refused() -> ParameterError:
        """Where it cannot be asked."""
        return ParameterError(
            "k^m-anonymity is about codes, which this method does not make more general.",
            hint="sf.anonymize with optimal, local or mondrian; sf.anonymize_database for linked tables",
        )
