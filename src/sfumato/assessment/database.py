"""Linked tables judged: how few known things single a person out, and what of links and sequences is kept.

Persons are counted, never rows. Risk is looked for in the released tables alone: of the codes, days, weeks
or gaps of a person some are drawn, and the persons who have them all are counted. Utility compares the
original with the release by total variation; beside each value stands what two halves of the original's
persons differ by, which no release can be expected to beat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.assessment.database_measures import first_date, utilities
from sfumato.database import Database
from sfumato.errors import ParameterError, listed
from sfumato.progress import report
from sfumato.schema import Kind, Role
from sfumato.score import Score
from sfumato.seeds import Key

Ints = NDArray[np.int64]
_DATES = ("date", "datetime", "instant")
_CONFIDENCE = 0.95
_FEW = 30  # different values of a column of names; more are codes


@dataclass(frozen=True)
class DatabaseAssessment:
    """What was found about linked tables. skipped: what could not be examined, and why."""

    scores: tuple[Score, ...]
    skipped: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Score:
        found = next((s for s in self.scores if s.name == name), None)
        if found is None:
            raise ParameterError(f"no score '{name}'.", hint=listed([s.name for s in self.scores], 40))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"scores": [s.to_dict() for s in self.scores], "skipped": list(self.skipped)}

    def __str__(self) -> str:
        return "\n".join([*map(str, self.scores), *(f"not examined: {why}" for why in self.skipped)])


def assess_database(
    original: Database,
    released: Database,
    *,
    codes: Sequence[str] | None = None,
    k: int = 5,
    persons: int = 2_000,
    seed: int = 0,
) -> DatabaseAssessment:
    """Judge released linked tables against the original ones.

    codes: the columns whose values are a person's codes, as `table.column`; by default those of kind
        codes, and text of role sensitive in tables below the persons'.
    k: groups of fewer persons count as small. persons: how many are drawn for each question of risk. seed:
    of the draws.
    """
    for given in (original, released):
        if not isinstance(given, Database):
            raise ParameterError("assess_database takes two databases.", hint="sf.scan_database(folder)")
    key = Key.from_seed(seed)
    skipped: list[str] = []
    places = _code_places(released, codes)
    scores = _risks(released, places, k, persons, key, skipped)
    scores += utilities(original, released, places, key, skipped)
    return DatabaseAssessment(tuple(scores), tuple(skipped))


def _code_places(database: Database, codes: Sequence[str] | None) -> list[str]:
    if codes is not None:
        return list(codes)
    return [
        f"{name}.{c.name}"
        for name, table in database.tables.items()
        if database.route(name) and (name != database.root or len(database.tables) == 1)
        for c in table.schema
        if c.kind is Kind.CODES or (c.type == "text" and c.name not in database.key_columns[name])
        if c.kind is Kind.CODES or c.role is Role.SENSITIVE or _many_values(database, name, c.name)
    ]


def _many_values(database: Database, table: str, column: str) -> bool:
    """Whether a column has so many values that it can only be codes."""
    seen: set[object] = set()
    for batch in database[table].batches([column]):
        seen.update(pc.unique(batch.column(0)).to_pylist())
        if len(seen) > _FEW:
            return True
    return False


# -- risk: how few known things single out a person ------------------------------------------------


def _risks(
    database: Database, places: Sequence[str], k: int, persons: int, key: Key, skipped: list[str]
) -> list[Score]:
    sources: dict[str, tuple[tuple[Ints, Ints], tuple[int, ...]]] = {
        "codes": (_code_items(database, places), (1, 2, 3, 5))
    }
    days = _day_items(database)
    sources["days"] = (days, (1, 2))
    sources["weeks"] = (_distinct(days[0], days[1] // 7), (1, 2, 3))
    sources["gaps in days"] = (_gap_items(days, 1), (1, 2))
    sources["gaps in weeks"] = (_gap_items(days, 7), (1, 2))
    scores: list[Score] = []
    for at, (what, (items, sizes)) in enumerate(sources.items()):
        report("looking for people who stand out", at, len(sources))
        for known in sizes:
            groups = unicity(*items, known, persons, key.derive("unicity", what, known))
            if not len(groups):
                skipped.append(f"nobody has {known} {what} in the released tables")
                continue
            scores += _unicity_scores(groups, what, known, k)
    return scores


def _unicity_scores(groups: Ints, what: str, known: int, k: int) -> list[Score]:
    out = []
    named = (
        what if known > 1 else what.replace("codes", "code").replace("days", "day").replace("weeks", "week")
    )
    named = named if known > 1 else named.replace("gaps", "gap")
    for name, hit, words in (
        (f"singled out by {known} {named}", groups == 1, "are the only one in the release who has them"),
        (f"in groups below {k} by {known} {named}", groups < k, f"share them with fewer than {k - 1} others"),
    ):
        low, high = _interval(int(hit.sum()), len(hit))
        drawn = f"of whom {known} drawn at random are known"
        meaning = f"Of persons with at least {known} {what}, {drawn}, so many {words}."
        out.append(Score(name, "risk", float(hit.mean()), (0, 1), "lower", meaning, low, high, _CONFIDENCE))
    return out


def unicity(person: Ints, item: Ints, known: int, persons: int, key: Key) -> Ints:
    """Of persons drawn among those with so many items, how many have all of some items drawn of theirs."""
    if not len(person):
        return np.empty(0, np.int64)
    start = np.append(np.flatnonzero(np.diff(person, prepend=-1)), len(person))
    able = np.flatnonzero(np.diff(start) >= known)
    rng = key.generator("draw")
    if len(able) > persons:
        able = np.sort(rng.choice(able, persons, replace=False))
    order = np.lexsort((person, item))
    owners, sorted_items = person[order], item[order]
    groups = []
    for p in able:
        chosen = rng.choice(item[start[p] : start[p + 1]], known, replace=False)
        left, right = (
            np.searchsorted(sorted_items, chosen),
            np.searchsorted(sorted_items, chosen, side="right"),
        )
        lists = sorted((owners[a:b] for a, b in zip(left, right, strict=True)), key=len)
        found = lists[0]
        for other in lists[1:]:
            at = np.minimum(np.searchsorted(other, found), len(other) - 1)
            found = found[other[at] == found]
        groups.append(len(found))
    return np.array(groups, np.int64)


def _interval(hits: int, n: int) -> tuple[float, float]:
    """Clopper and Pearson's exact interval."""
    from scipy.stats import beta

    tail = (1 - _CONFIDENCE) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, n - hits + 1))
    high = 1.0 if hits == n else float(beta.ppf(1 - tail, hits + 1, n - hits))
    return low, high


def _distinct(person: Ints, item: Ints) -> tuple[Ints, Ints]:
    pairs = np.unique(np.stack([person, item], axis=1), axis=0) if len(person) else np.empty((0, 2), np.int64)
    return pairs[:, 0], pairs[:, 1]


def _code_items(database: Database, places: Sequence[str]) -> tuple[Ints, Ints]:
    persons, items, first = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
    for place in places:
        name, _, column = place.partition(".")
        if name not in database.tables or column not in database[name].schema:
            continue
        described = database[name].schema[column]
        known: dict[str, int] = {}
        for batch, numbers in database.people.batches(name, [column]):
            texts = batch.column(0).cast(pa.string())
            owner = numbers.astype(np.int64)
            if described.kind is Kind.CODES:
                lists = pc.split_pattern(texts, described.separator)
                owner, texts = owner[np.asarray(pc.list_parent_indices(lists))], pc.list_flatten(lists)
            coded = texts.dictionary_encode()
            local = np.array(
                [known.setdefault(v, len(known)) for v in coded.dictionary.to_pylist()], np.int64
            )
            index = np.asarray(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
            there = (index >= 0) & (owner >= 0)
            persons.append(owner[there])
            items.append(local[index[there]] + first)
        first += len(known)
    return _distinct(np.concatenate(persons), np.concatenate(items))


def _day_items(database: Database) -> tuple[Ints, Ints]:
    """The days on which records of a person begin: the first column of dates of the tables below."""
    persons, days = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for name in database.tables:
        column = first_date(database, name)
        if column is None or not database.route(name) or (name == database.root and len(database.tables) > 1):
            continue
        for batch, numbers in database.people.batches(name, [column]):
            day = batch.column(0).cast(pa.timestamp("s")).cast(pa.int64())
            there = np.asarray(day.is_valid().to_numpy(zero_copy_only=False), bool) & (numbers >= 0)
            persons.append(numbers[there].astype(np.int64))
            days.append(np.asarray(day.fill_null(0).to_numpy(zero_copy_only=False))[there] // 86_400)
    return _distinct(np.concatenate(persons), np.concatenate(days))


def _gap_items(days: tuple[Ints, Ints], unit: int) -> tuple[Ints, Ints]:
    person, day = days
    same = person[1:] == person[:-1]
    return _distinct(person[1:][same], (np.diff(day)[same]) // unit)
