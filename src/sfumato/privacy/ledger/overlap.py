"""Whether two tables hold the same people, seen from small keyed samples of both.

A sketch keeps the 4,096 smallest of the keyed hashes of a table's persons; of a table without a person
column, of its rows. Under one key everybody has the same hash in every table, so that below the smaller of
two largest hashes both sketches are complete: who is in both tables is in both samples.

What it sees. Of tables of n and m persons that share s, the sample of both holds on average s * 4,096 /
max(n, m, 4,096) shared persons. Overlap is missed with a chance of at most exp(-that): of a table of a
million, one of 5,000 shared persons is missed once in 10^8, one of 250 in three times. Two hashes of
different persons are equal with a chance of 2^-64 a pair: what is seen is there. A share p of the smaller
table is estimated from a sample of k with a standard deviation of sqrt(p (1 - p) / k). Rows are weaker than
persons: equal rows need not be one person's. Only rows that occur once count, and a fifth of them must be
shared, or the whole tables be equal. Not seen: persons under other ids, rows with another column or other
values in one, another key (another machine or user).

Tested by: tests/privacy/test_overlap.py
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError

MOST = 4096
PERSONS, ROWS = "persons", "rows"
_SHARE = 0.2  # of rows that occur once, from which on two tables are taken for the same people's
Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class PeopleSketch:
    """A sample of a table's people by hash. Internal: who has the key can ask it for a person.

    kind: persons or rows. hashes: the smallest, in order. counts: how often each row occurs.
    total: the sum of the hashes of all rows, and number how many those are, so that equal tables are known.
    """

    kind: str
    hashes: Hashes = field(default_factory=lambda: np.zeros(0, np.uint64))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    total: int = 0
    number: int = 0

    def __post_init__(self) -> None:
        if self.kind not in (PERSONS, ROWS) or len(self.hashes) != len(self.counts):
            raise ParameterError("a sketch is of persons or rows.", hint="people_of(table) makes one")

    def with_(self, hashes: Hashes) -> PeopleSketch:
        """The same with further people; in any order and any parts the same in the end."""
        found, counts = np.unique(hashes, return_counts=True)
        total, number = (self.total + int(hashes.sum(dtype=np.uint64))) % 2**64, self.number + len(hashes)
        if self.kind == PERSONS:  # each once, however many rows they have and in how many parts these come
            total, number, counts = 0, 0, np.zeros_like(counts)
        if len(self.hashes) == MOST:
            low = found <= self.hashes[-1]
            found, counts = found[low], counts[low]
        both, place = np.unique(np.concatenate([self.hashes, found]), return_inverse=True)
        sums = np.bincount(place, np.concatenate([self.counts, counts]), len(both)).astype(np.int64)
        return PeopleSketch(self.kind, both[:MOST], sums[:MOST], total, number)

    def shared(self, other: PeopleSketch) -> float:
        """The share of the smaller table that is in the other, by estimate; 0 where none was seen."""
        if self.kind != other.kind:
            return 0.0
        if (self.total, self.number) == (other.total, other.number) and self.number:
            return 1.0
        mine, theirs = self._below(other), other._below(self)
        smaller = min(len(mine), len(theirs))
        common = len(np.intersect1d(mine, theirs, assume_unique=True))
        return common / smaller if smaller else 0.0

    def same_people(self, other: PeopleSketch) -> bool:
        """Whether what is shared is too much for chance: one person, or a fifth of the single rows."""
        share = self.shared(other)
        return share > 0 if self.kind == PERSONS else share >= _SHARE

    def _below(self, other: PeopleSketch) -> Hashes:
        """The part of the sample that is complete in both; of rows those that occur once."""
        kept = self.hashes
        if self.kind == ROWS:
            kept = kept[self.counts == 1]
        if len(other.hashes) == MOST:
            kept = kept[kept <= other.hashes[-1]]
        return kept

    # -- as it is kept -----------------------------------------------------------------------------

    def to_json(self) -> str:
        """The sketch as text."""
        return json.dumps(
            {"kind": self.kind, "hashes": self.hashes.tobytes().hex(), "counts": self.counts.tolist(),
             "total": self.total, "number": self.number}
        )  # fmt: skip

    @classmethod
    def from_json(cls, text: str) -> PeopleSketch:
        """Read back what `to_json` wrote; a ValueError if that is no sketch."""
        try:
            found = json.loads(text)
            hashes = np.frombuffer(bytes.fromhex(found["hashes"]), np.uint64)
            counts = np.array(found["counts"], np.int64)
            return cls(found["kind"], hashes, counts, int(found["total"]), int(found["number"]))
        except (KeyError, TypeError, ParameterError):
            raise ValueError("no sketch") from None
