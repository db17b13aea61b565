"""What columns say of each other: recodings, groups of places, days between dates, records of a person.

Looked for in the head of the data, and only where cheap counts already point to it: a recoding has the same
counts, a group has fewer values than what it groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.inference.clues import LIKELY, SURE, UNSURE, Clue
from sfumato.inference.facts import Facts
from sfumato.inference.names import Reading
from sfumato.schema import Kind, Role

_ROWS = 20_000
_MOST = 500  # values of a recoding or a group
_PAIRS = 2_000  # pairs looked at for groups
_PLACES = 8
_GROUPS = 200
_SHARED = 8  # people with one value on average: more than live in a household
_PAIRS_OF_ROWS = 50  # of the same person
_NEARLY_ONE, _STAYS, _CHANGES = 0.95, 0.98, 0.3
_NEVER = -(10**6)  # the day of a missing date
_OF_NOBODY = ("site", "place", "insurance", "thing", "work", "money", "event", "date", "education")
_TOLD = (Role.QUASI_IDENTIFIER, Role.SENSITIVE)


def related(
    sample: pa.Table, facts: Mapping[str, Facts], readings: Mapping[str, Reading], clues: Mapping[str, Clue]
) -> dict[str, Clue]:
    """The clues, changed by what the columns say of each other."""
    head = _Head(sample.slice(0, _ROWS))
    found = dict(clues)
    found |= _recodings(head, facts, found)
    found |= _groups(head, facts, readings, found)
    found |= _intervals(head, facts, found)
    found |= _codes_of_things(head, readings, found)
    return found | one_person(facts, readings, found)


class _Head:
    """The first rows as codes, each column encoded when it is first asked for."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._codes: dict[str, NDArray[np.int64]] = {}

    def codes(self, name: str) -> NDArray[np.int64]:
        if name not in self._codes:
            column = self.table[name].combine_chunks()
            encoded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
            codes = encoded.indices.fill_null(-1) if encoded.indices.null_count else encoded.indices
            self._codes[name] = codes.to_numpy(zero_copy_only=False).astype(np.int64) + 1
        return self._codes[name]

    def has_days(self, name: str) -> bool:
        """Whether the column is stored as dates."""
        stored = self.table[name].type
        return bool(pa.types.is_date(stored) or pa.types.is_timestamp(stored))

    def days(self, name: str) -> NDArray[np.int32]:
        """Dates as numbers of days; a gap is far away."""
        found = self.table[name].combine_chunks().cast(pa.date32(), safe=False).cast(pa.int32())
        return np.asarray(found.fill_null(_NEVER).to_numpy(zero_copy_only=False))

    def determines(self, fine: str, coarse: str) -> bool:
        """Whether rows of the same value in one column have the same in the other (gaps in either aside)."""
        a, b = self.codes(fine), self.codes(coarse)
        kept = (a > 0) & (b > 0)
        pairs = np.unique(a[kept] << 32 | b[kept])
        return len(pairs) > 1 and len(pairs) == len(np.unique(a[kept]))


def _recodings(head: _Head, facts: Mapping[str, Facts], clues: Mapping[str, Clue]) -> dict[str, Clue]:
    """A column nobody knows that says the same as a known one, in other words.

    The code of a doctor beside the name is one of these: it names the same person.
    """
    known: dict[bytes, list[str]] = {}
    for name, clue in clues.items():
        if clue.role in (*_TOLD, Role.IDENTIFIER) and clue.confidence != UNSURE and _repeats(facts[name]):
            known.setdefault(_signature(facts[name]), []).append(name)
    found = {}
    for name, clue in clues.items():
        if clue.role is not Role.OTHER or not _repeats(facts[name]):
            continue
        for other in known.get(_signature(facts[name]), ()):
            if head.determines(name, other) and head.determines(other, name):
                found[name] = Clue(clues[other].role, LIKELY, f"says the same as '{other}' in other words")
                break
    return found


def _repeats(facts: Facts) -> bool:
    """Whether values repeat: where each row has its own, any two columns say each other."""
    return 3 <= facts.distinct <= _MOST and facts.share_distinct < 0.5


def _signature(facts: Facts) -> bytes:
    return np.sort(facts.counts).tobytes()


def _groups(
    head: _Head, facts: Mapping[str, Facts], readings: Mapping[str, Reading], clues: Mapping[str, Clue]
) -> dict[str, Clue]:
    """A column nobody knows whose values are groups of places: it is a place too."""
    places = [
        name for name, clue in clues.items()
        if clue.role is Role.QUASI_IDENTIFIER and readings[name].first("place", "site")
        and facts[name].distinct >= 8 and facts[name].share_distinct < 0.3  # else it says everything
    ][:_PLACES]  # fmt: skip
    found: dict[str, Clue] = {}
    tried = 0
    for name, clue in clues.items():
        fact = facts[name]
        if (
            clue.role is not Role.OTHER
            or fact.kind not in (Kind.NOMINAL, Kind.ORDINAL)
            or not 3 <= fact.distinct <= _GROUPS
        ):
            continue
        if readings[name].first("stratum", "psu"):
            continue
        for place in places:
            tried += 1
            if (
                1.5 * fact.distinct <= facts[place].distinct
                and tried <= _PAIRS
                and head.determines(place, name)
            ):
                found[name] = Clue(Role.QUASI_IDENTIFIER, LIKELY, f"groups the places of '{place}'")
                break
    return found


def _intervals(head: _Head, facts: Mapping[str, Facts], clues: Mapping[str, Clue]) -> dict[str, Clue]:
    """Whole numbers that are the days between two dates, or the years: known to who knows the dates."""
    days = {n: head.days(n) for n in facts if head.has_days(n)}
    found: dict[str, Clue] = {}
    if not 2 <= len(days) <= 8:
        return found
    for name, fact in facts.items():
        stored = head.table[name].type
        if clues[name].role is not Role.OTHER or not fact.is_whole_number or fact.distinct < 5:
            continue
        if not (pa.types.is_integer(stored) or pa.types.is_floating(stored)):
            continue
        column = head.table[name].combine_chunks().cast(pa.float64(), safe=False).fill_null(float("nan"))
        values = column.to_numpy(zero_copy_only=False)
        for first, begin in days.items():
            for last, end in days.items():
                gap = np.where((begin > _NEVER) & (end > _NEVER), end - begin, -1)
                kept = np.isfinite(values) & (gap > 0)
                if first == last or kept.sum() < 20:
                    continue
                gone = np.abs(values[kept] - gap[kept]) <= 1
                years = np.abs(values[kept] - np.floor(gap[kept] / 365.25)) <= 1
                if gone.mean() >= 0.95 or (years.mean() >= 0.95 and gap[kept].max() > 4_000):
                    unit = "days" if gone.mean() >= 0.95 else "years"
                    why = f"the {unit} from '{first}' to '{last}'"
                    found[name] = Clue(Role.QUASI_IDENTIFIER, LIKELY, why)
    return found


def steady(sample: pa.Table, clues: Mapping[str, Clue]) -> dict[str, bool]:
    """Where persons have several rows: which columns stay the same within a person, and which change.

    Columns between the two are left out. Nothing is said where fewer than two columns that are known stay the
    same: then the rows of a person have nothing in common, and the column may number something else.
    """
    person = next((n for n, c in clues.items() if c.role is Role.PERSON), None)
    if person is None:
        return {}
    head = _Head(sample.slice(0, _ROWS))
    codes = head.codes(person)
    order = np.argsort(codes, kind="stable")
    first, then = order[:-1], order[1:]
    kept = (codes[first] == codes[then]) & (codes[first] > 0)
    first, then = first[kept], then[kept]
    if len(first) < _PAIRS_OF_ROWS:
        return {}
    found: dict[str, bool] = {}
    for name, clue in clues.items():
        if name == person or clue.role is Role.PERSON or pa.types.is_nested(sample[name].type):
            continue
        own = head.codes(name)
        same = float(np.mean(own[first] == own[then]))
        shares = np.bincount(own) / len(own)
        chance = float((shares**2).sum())
        if chance < _NEARLY_ONE and same >= _STAYS:
            found[name] = True
        elif same < chance + _CHANGES * (1 - chance):
            found[name] = False
    known = sum(stays and clues[n].role in _TOLD for n, stays in found.items())
    return found if known >= 2 else {}


def _codes_of_things(
    head: _Head, readings: Mapping[str, Reading], clues: Mapping[str, Clue]
) -> dict[str, Clue]:
    """Numbers that only look like those of people, and that many people share: of a thing, or a place.

    Where the name says neither, they may be those of doctors, so they stay identifiers.
    """
    people = [
        n for n, c in clues.items()
        if c.confidence == SURE and c.role in (Role.PERSON, Role.IDENTIFIER)
        and readings[n].first("person", "personnumber")
    ]  # fmt: skip
    found: dict[str, Clue] = {}
    for name, clue in clues.items() if people else ():
        if clue.role is not Role.PERSON or clue.confidence == SURE or name in people:
            continue
        if readings[name].first("record", "household", "personnumber") or readings[name].only("number"):
            continue  # the number of a stay is one, however the rows of this table fall
        a, b = head.codes(name), head.codes(people[0])
        kept = (a > 0) & (b > 0)
        pairs = len(np.unique(a[kept] << 32 | b[kept]))
        if pairs >= _SHARED * max(1, len(np.unique(a[kept]))):
            wanted = readings[name].first("drug", "diagnosis", "procedure", "lab", "disease")
            if not wanted and not readings[name].first(*_OF_NOBODY):
                why = f"numbers that many of '{people[0]}' share: of those who treat, if not of places"
                found[name] = Clue(Role.IDENTIFIER, UNSURE, why)
                continue
            role = Role.SENSITIVE if wanted else Role.QUASI_IDENTIFIER
            why = f"numbers that many of '{people[0]}' share, so of a thing or a place"
            found[name] = Clue(role, UNSURE, why)
    return found


def one_person(
    facts: Mapping[str, Facts], readings: Mapping[str, Reading], clues: Mapping[str, Clue]
) -> dict[str, Clue]:
    """Of several columns that group rows, the one that names persons stays; the others are identifiers."""
    several = [name for name, clue in clues.items() if clue.role is Role.PERSON]
    if len(several) < 2:
        return {}
    rank: Sequence[str] = ("personnumber", "person", "household", "record")

    def order(name: str) -> tuple[int, int, int]:
        at = next((i for i, concept in enumerate(rank) if concept in readings[name]), len(rank))
        unsure = (SURE, LIKELY, UNSURE).index(clues[name].confidence)
        return unsure, max(0, at - 1), facts[name].distinct

    best = min(several, key=order)
    return {
        name: replace(
            clues[name], role=Role.IDENTIFIER, why=f"{clues[name].why}, and '{best}' says whose the rows are"
        )
        for name in several
        if name != best
    }
