"""How few things single a person out of the released tables: counted there alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.assessment.audit.intervals import share
from sfumato.assessment.sequences.traces import Ints, Things, days_of, gaps_of, released_codes
from sfumato.database import Database
from sfumato.progress import report
from sfumato.score import Score
from sfumato.seeds import Key

_CONFIDENCE = 0.95
_ONE = {"codes": "code", "days": "day", "weeks": "week", "gaps": "gap"}


def unicities(
    database: Database, places: Sequence[str], k: int, persons: int, key: Key, skipped: list[str]
) -> list[Score]:
    """Scores for codes, days, weeks and gaps; what nobody has enough of is added to `skipped`."""
    days = days_of(database)
    gaps = gaps_of(days)
    sources: dict[str, tuple[Things, tuple[int, ...]]] = {
        "codes": (released_codes(database, places), (1, 2, 3, 5)),
        "days": (days, (1, 2)),
        "weeks": (Things.of(days.person, days.item // 7), (1, 2, 3)),
        "gaps in days": (gaps, (1, 2)),
        "gaps in weeks": (Things.of(gaps.person, gaps.item // 7), (1, 2)),
    }
    scores: list[Score] = []
    for at, (what, (things, sizes)) in enumerate(sources.items()):
        report("looking for people who stand out", at, len(sources))
        for known in sizes:
            groups = unicity(things.person, things.item, known, persons, key.derive("unicity", what, known))
            if not len(groups):
                skipped.append(f"singled out by {known} {what}: nobody in the released tables has so many")
                break
            scores += _scores(groups, what, known, k)
    return scores


def _scores(groups: Ints, what: str, known: int, k: int) -> list[Score]:
    out = []
    first, _, rest = what.partition(" ")
    named = what if known > 1 else " ".join(w for w in (_ONE[first], rest) if w)
    for name, hit, words in (
        (f"singled out by {known} {named}", groups == 1, "are the only one in the release who has them"),
        (f"in groups below {k} by {known} {named}", groups < k, f"share them with fewer than {k - 1} others"),
    ):
        _, low, high = share(int(hit.sum()), len(hit), _CONFIDENCE)
        value = float(hit.mean())
        drawn = f"of whom {known} drawn at random are known"
        meaning = f"Of persons with at least {known} {what}, {drawn}, so many {words}."
        ends = min(low, value), max(high, value)
        out.append(Score(name, "risk", value, (0, 1), "lower", meaning, *ends, _CONFIDENCE))
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
