"""Who stands alone: on all quasi-identifiers, and on every two, three or four of them.

Whoever is alone on some columns is alone on more columns, so only those alone on all of them can be alone
on a part. A set on which a record is alone, and on no smaller part of it, is why the record is at risk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.risk.classes import FileClasses, refuse_empty
from sfumato.errors import ParameterError
from sfumato.score import Score

MOST_SETS = 1_200  # all sets of up to four of thirteen columns
_WORDS = {1: "one", 2: "two", 3: "three", 4: "four"}

Places = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class UniquenessSearch:
    """What each set of columns singles out.

    places: the columns that were searched; all, or the most varied ones where there are very many sets.
    unique: set -> how many rows or persons it singles out.
    candidates: which of `FileClasses.codes` are alone on all columns; the arrays below are about these.
    smallest: columns in the smallest set that singles it out; 0 where none of up to `depth` does.
    ways: how many minimal sets single it out.
    reasons: set -> packed bits, whether the set is minimal for a candidate.
    """

    places: Places
    depth: int
    unique: dict[Places, int]
    candidates: NDArray[np.int64]
    smallest: NDArray[np.uint8]
    ways: NDArray[np.uint32]
    reasons: dict[Places, NDArray[np.uint8]]

    def why(self, candidate: int) -> list[Places]:
        """The minimal sets that single out one candidate, small ones first."""
        byte, bit = candidate >> 3, 0x80 >> (candidate & 7)
        return [places for places, bits in self.reasons.items() if bits[byte] & bit]


def search(found: FileClasses, *, depth: int = 4, most: int = MOST_SETS) -> UniquenessSearch:
    """Look at every set of up to `depth` columns; of the most varied columns where there are too many."""
    if isinstance(depth, bool) or not 1 <= depth <= 8 or most < 1:
        raise ParameterError("depth lies between 1 and 8, and most is at least 1.", hint="depth=4")
    from sfumato.counts.accumulator import threads

    places = _searched(found, depth, most)
    everyone = found.alone(range(len(found.columns)))
    candidates = np.flatnonzero(everyone)
    smallest = np.zeros(len(candidates), np.uint8)
    ways = np.zeros(len(candidates), np.uint32)
    unique: dict[Places, int] = {}
    packed: dict[Places, NDArray[np.uint8]] = {}
    reasons: dict[Places, NDArray[np.uint8]] = {}

    def look(chosen: Places) -> tuple[Places, int, NDArray[np.uint8], NDArray[np.uint8]]:
        mask = found.alone(chosen)
        bits = np.packbits(mask[candidates])
        parts = [packed[p] for p in combinations(chosen, len(chosen) - 1)] if len(chosen) > 1 else []
        # A person may be alone in one class and not in another: what counts is whether any row is.
        minimal = bits & ~np.bitwise_or.reduce(parts) if parts else bits
        return chosen, found.people(mask), bits, minimal

    with ThreadPoolExecutor(threads()) as pool:
        for size in range(1, min(depth, len(places)) + 1):
            before = dict(packed)
            for chosen, n, bits, minimal in pool.map(look, combinations(places, size)):
                unique[chosen] = n
                before[chosen] = bits
                if minimal.any():
                    reasons[chosen] = minimal
                    hit = np.unpackbits(minimal, count=len(candidates)).astype(bool)
                    ways[hit] += 1
                    smallest[hit & (smallest == 0)] = size
            packed.clear()
            packed.update({p: b for p, b in before.items() if len(p) == size})
    return UniquenessSearch(places, depth, unique, candidates, smallest, ways, reasons)


def _searched(found: FileClasses, depth: int, most: int) -> Places:
    """All columns; or as many of the most varied ones as give at most `most` sets."""
    width = len(found.columns)
    while width > 1 and sum(comb(width, s) for s in range(1, depth + 1)) > most:
        width -= 1
    if width == len(found.columns):
        return tuple(range(width))
    bits = [_entropy(found, i) for i in range(len(found.columns))]
    return tuple(sorted(np.argsort(bits)[::-1][:width].tolist()))


def _entropy(found: FileClasses, place: int) -> float:
    n = np.bincount(found.counts.codes[:, place], found.counts.n)
    n = n[n > 0]
    return float(-(n / n.sum() * np.log(n / n.sum())).sum())


# -- scores --------------------------------------------------------------------------------------


def uniqueness(
    found: FileClasses, *, depth: int = 4, most: int = MOST_SETS, searched: UniquenessSearch | None = None
) -> list[Score]:
    """Share of rows or persons that are alone: on all quasi-identifiers, and on the worst set of 2, 3, 4.

    The value for a size is that of the set that singles out most; `details` has them all.
    """
    refuse_empty(found)
    searched = search(found, depth=depth, most=most) if searched is None else searched
    everybody = found.population
    whole = found.people(found.alone(range(len(found.columns)))) / everybody
    scores = [
        _share(
            "unique on all quasi-identifiers",
            whole,
            f"share of {found.units} whose combination of all {len(found.columns)} quasi-identifiers nobody "
            f"else in the file has{_semantics(found)}",
            found.columns,
        )
    ]
    for size in range(2, min(depth, len(found.columns)) + 1):
        sets = {p: n for p, n in searched.unique.items() if len(p) == size}
        if sets:
            scores.append(_of_size(found, searched, size, sets, everybody))
    return scores


def _of_size(
    found: FileClasses, searched: UniquenessSearch, size: int, sets: dict[Places, int], everybody: int
) -> Score:
    ordered = sorted(sets.items(), key=lambda item: (-item[1], item[0]))
    records = [
        {"columns": [found.columns[i] for i in p], "unique": n, "share": n / everybody} for p, n in ordered
    ]
    left = len(found.columns) - len(searched.places)
    cut = (
        f"; only the {len(searched.places)} most varied of {len(found.columns)} columns were combined"
        if left
        else ""
    )
    return _share(
        f"unique on {_WORDS.get(size, str(size))} quasi-identifiers",
        ordered[0][1] / everybody,
        f"share of {found.units} that the worst of {len(sets)} sets of {size} quasi-identifiers singles out "
        f"in the file{cut}{_semantics(found)}",
        tuple(found.columns[i] for i in ordered[0][0]),
        {"sets": records, "mean": sum(sets.values()) / len(sets) / everybody},
    )


def _semantics(found: FileClasses) -> str:
    return "; a missing or suppressed value matches anything" if found.missing == "any" else ""


def _share(
    name: str, value: float, meaning: str, columns: Sequence[str], details: Mapping[str, object] | None = None
) -> Score:
    return Score(
        name, "risk", value, (0.0, 1.0), "lower", meaning, columns=tuple(columns), details=details or {}
    )


def riskiest(
    found: FileClasses, *, records: int = 20, depth: int = 4, searched: UniquenessSearch | None = None
) -> list[Score]:
    """The records at most risk and why, in `details`, which is internal.

    Alone on fewer columns comes first, then in more ways; after those that are alone, small classes.
    """
    refuse_empty(found)
    searched = search(found, depth=depth) if searched is None else searched
    hit = np.zeros(len(found.codes), bool)
    hit[searched.candidates[searched.smallest > 0]] = True
    order = np.lexsort(
        (-searched.ways.astype(np.int64), np.where(searched.smallest == 0, 99, searched.smallest))
    )
    rows = [_alone_record(found, searched, int(c)) for c in order[:records]]
    if len(rows) < records:
        rows += _small_records(found, records - len(rows))
    return [
        Score(
            f"singled out by up to {_WORDS.get(searched.depth, str(searched.depth))} quasi-identifiers",
            "risk",
            found.people(hit) / found.population,
            (0.0, 1.0),
            "lower",
            f"share of {found.units} for which {searched.depth} or fewer quasi-identifiers are enough to "
            "be alone in the file; the records at most risk are in the details, which are internal",
            columns=tuple(found.columns[i] for i in searched.places),
            details={"riskiest": rows},
        )
    ]


def _alone_record(found: FileClasses, searched: UniquenessSearch, candidate: int) -> dict[str, Any]:
    sets = [[found.columns[i] for i in places] for places in searched.why(candidate)]
    size = int(searched.smallest[candidate])
    why = (
        f"alone on {size} column{'s' * (size > 1)}, in {len(sets)} way{'s' * (len(sets) > 1)}"
        if size
        else f"alone on more than {searched.depth} columns only"
    )
    cell = found.codes[searched.candidates[candidate]]
    return {"values": _values(found, cell), "class": 1, "smallest": size or None, "sets": sets, "why": why}


def _small_records(found: FileClasses, records: int) -> list[dict[str, Any]]:
    small = np.argsort(found.sizes, kind="stable")
    small = small[found.sizes[small] > 1][:records]
    return [
        {
            "values": _values(found, found.counts.codes[i]),
            "class": int(found.sizes[i]),
            "smallest": None,
            "sets": [],
            "why": f"one of {int(found.sizes[i])} {found.units} in its class",
        }
        for i in small
    ]


def _values(found: FileClasses, cell: NDArray[Any]) -> dict[str, Any]:
    books = found.counts.codebooks
    values = {b.name: b.decode(cell[i : i + 1])[0].as_py() for i, b in enumerate(books)}
    return {k: v if v is None or isinstance(v, str | int | float) else str(v) for k, v in values.items()}
