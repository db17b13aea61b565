"""What is asked of sets of codes: an intruder who knows a few codes of a person is left with many persons."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.criteria.base import whole_number
from sfumato.errors import ParameterError
from sfumato.privacy.code_sets import MOST_CODES


@dataclass(frozen=True)
class KMAnonymity:
    """Any m codes of a person fit at least k persons of the same class, or nobody (k^m-anonymity).

    k: how many persons. m: how many codes an intruder may know, 1 to 4.

    >>> asked = sf.KMAnonymity(5, m=2)
    >>> asked.k, asked.m
    (5, 2)
    """

    k: int
    m: int = 2

    def __post_init__(self) -> None:
        whole_number(self.k, "k", "KMAnonymity(5, 2)")
        whole_number(self.m, "m", "KMAnonymity(5, 2)")
        if self.m > MOST_CODES:
            raise ParameterError(
                f"m must be from 1 to {MOST_CODES}.", hint="more codes than that make nearly everybody unique"
            )
