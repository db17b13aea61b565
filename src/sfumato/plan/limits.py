"""What a release must keep to, by who receives it; and who says that it may leave without.

The numbers are those in use, each with its source, and a plan may say others. Two of them are one: a smallest
class of k people is a largest prosecutor risk of 1/k. Both are written down, as officers ask for either.
Sources: CMS, Cell Size Suppression Policy (ResDAC, 2024). European Medicines Agency, external guidance on
policy 0070. K. El Emam, Guide to the De-Identification of Personal Health Information (2013), on cell sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.errors import ParameterError, offered

RECIPIENT, ACCEPTED = "recipient", "accepted"
SMALLEST_CLASS, LARGEST_RISK, GAIN = "k, the smallest class", "prosecutor risk, highest", "risk"
_LESS_IS_STRICTER = (LARGEST_RISK, GAIN)


@dataclass(frozen=True)
class Limit:
    """A limit by the name of its score, and where the number comes from."""

    name: str
    value: float
    source: str


@dataclass(frozen=True)
class Recipient:
    """Somebody a file may be for. words: as a sentence says it."""

    name: str
    words: str
    k: int
    limits: tuple[Limit, ...]


PUBLIC = Recipient(
    "public",
    "the public",
    11,
    (
        Limit(SMALLEST_CLASS, 11, "CMS cell size policy: no cell of 1 to 10 people is shown"),
        Limit(
            LARGEST_RISK, 0.091, "European Medicines Agency, policy 0070: 0.09, which is 1/11 rounded down"
        ),
        Limit(GAIN, 0.09, "Sfumato's own: no authority gives a number"),
    ),
)
AGREEMENT = Recipient(
    "agreement",
    "someone under agreement",
    5,
    (
        Limit(SMALLEST_CLASS, 5, "the 'cell size of five' of many custodians: El Emam, Guide (2013)"),
        Limit(LARGEST_RISK, 0.2, "the same as a risk, 1/5: El Emam, Guide (2013), cell size precedents"),
        Limit(GAIN, 0.2, "Sfumato's own: no authority gives a number"),
    ),
)
RECIPIENTS: Mapping[str, Recipient] = {r.name: r for r in (PUBLIC, AGREEMENT)}


def recipient(name: str) -> Recipient:
    """A recipient by name; what is misspelt is said."""
    if name not in RECIPIENTS:
        raise ParameterError(
            f"no recipient is called {name!r}.", hint=offered([name], list(RECIPIENTS), "there are")
        )
    return RECIPIENTS[name]


def asked_of(who: Recipient, k: int | None = None) -> tuple[Limit, ...]:
    """The limits for a recipient; with a k of one's own, those of classes follow it."""
    if k is None or k == who.k:
        return who.limits
    own = {
        SMALLEST_CLASS: Limit(SMALLEST_CLASS, k, f"as was asked; usual for {who.words}: {who.k}"),
        LARGEST_RISK: Limit(LARGEST_RISK, _one_in(k), f"the same as a risk: 1/{k}"),
    }
    return tuple(own.get(limit.name, limit) for limit in who.limits)


def looser(thresholds: Mapping[str, Any]) -> Iterator[str]:
    """Limits of a plan that ask less than what is usual for the recipient it names, in words."""
    who = RECIPIENTS.get(str(thresholds.get(RECIPIENT)))
    if who is None:
        return
    for limit in who.limits:
        given = thresholds.get(limit.name)
        if given is None:
            yield f"no limit is set for '{limit.name}', where {limit.value:g} is usual for {who.words}"
        elif given > limit.value if limit.name in _LESS_IS_STRICTER else given < limit.value:
            yield f"'{limit.name}' is {given:g}, where {limit.value:g} is usual for {who.words}"


def _one_in(k: int) -> float:
    """1/k in three digits, rounded up, so that a class of k meets it."""
    return -(-1000 // k) / 1000
