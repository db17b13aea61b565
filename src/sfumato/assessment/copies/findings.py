"""Copies of people in a release: the tests, the scores, and who is given away."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.audit.intervals import share_high, share_low
from sfumato.assessment.copies.cells import Cells, cells
from sfumato.assessment.copies.clearness import by_chance, clearness, named
from sfumato.assessment.copies.crowds import protected, smallest_class
from sfumato.assessment.copies.equality import CountedRows, EqualRows, counted_rows, equal_rows
from sfumato.assessment.copies.identifiers import Survivor, survivors
from sfumato.assessment.copies.nearness import CopyEvidence, agreeing, evidence, few, own
from sfumato.assessment.copies.pool import near_in_pool
from sfumato.assessment.copies.tails import Tail, detectable, tail
from sfumato.assessment.reading.files import Meanings
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

CONFIDENCE = 0.95
_MOST_COLUMNS = 40
_LISTED = 1_000
_TAIL = 50  # of the highest scores of the control, by which the tail is continued


@dataclass(frozen=True, eq=False)
class Copies:
    """What was found.

    p: the chance of as much copying where nothing was copied; every test is paid for.
    because: one sentence on what weighs most, where the chance is below the error; else nothing.
    people: originals whom single released rows give away, the clearest first.
    named_by_chance: how many people are named on average, at most, in a release that holds nobody.
    nearly: what the share of people nearly copied is at most, beyond the control; nan where nobody looked, or
        without a control.
    """

    scores: list[Score]
    p: float
    because: str
    people: tuple[Mapping[str, Any], ...]
    named_by_chance: float
    nearly: float = math.nan


@dataclass(frozen=True, eq=False)
class _Near:
    cells: Cells
    inside: CopyEvidence
    tail: Tail
    seen: float
    named: Ints
    chance: float
    drawn: tuple[Ints | None, Ints | None]
    largest: tuple[float, float, float]
    shared: bool  # generalized, and no row without others of its class


def find(
    original: Table,
    released: Table,
    control: Table | None,
    *,
    columns: Sequence[str],
    known: Sequence[str],
    whole: tuple[Table, Table, Table | None],
    meanings: Meanings,
    key: Key,
    most_work: int,
    error: float,
    brief: bool = False,
    part: float = 1.0,
    rows: CountedRows | None = None,
) -> Copies:
    """Equal rows in all rows; near copies within `most_work` comparisons of cells; identifiers that survive.

    columns: those compared. known: the quasi-identifiers. whole: original, release and control with all their
    columns. error: the chance at which copying counts as seen. brief: whether near copies are not looked for
    where equal rows alone decide; nobody is named then. part: the share of all originals that is given. rows:
    those of the files, where they have been counted.
    """
    if rows is None:
        files = [original, released, *([control] if control is not None else [])]
        rows = counted_rows(files, columns)
    exact = replace(equal_rows(rows, error, key.derive("equal rows")), part=part)
    ids = survivors(*whole)
    sample = _sample(original, released, control, columns, known, meanings, key, most_work)
    if brief and not ids and len(sample.kept) and exact.tail.p * 3 <= error:
        sentence = _equal_sentence(exact.copied()[0])
        return Copies(_copied(exact, control is not None), exact.tail.p * 3, sentence, (), 0.0)
    near = _near((original, released, control), sample, meanings, key, error)
    equal = 1.0 if near.shared else exact.tail.p  # rows that always several people share are nobody's copy
    tests = [equal, near.tail.p, *([min(1.0, min(s.p for s in ids) * len(ids))] if ids else [])]
    p = min(1.0, min(tests) * len(tests))
    scores = [
        *_copied(exact, control is not None), _nearly(near, control is not None), _largest(near),
        *([_surviving(ids)] if ids else []),
    ]  # fmt: skip
    seen = [s for s in ids if s.p * len(tests) <= error]
    because = _because(exact, near, seen, error / len(tests)) if p <= error else ""
    nearly = math.nan if control is None else near.tail.most(error)
    return Copies(scores, p, because, _people(near), near.chance, nearly)


def _because(exact: EqualRows, near: _Near, ids: Sequence[Survivor], error: float) -> str:
    if ids:
        worst = max(ids, key=lambda s: s.share)
        there = "" if worst.column == worst.original else f", in the column '{worst.column}'"
        written = f", {worst.written}" if worst.written else ""
        whose = f"'{worst.original}' of an original"
        return f"{_part(worst.share)} of the released rows hold {whose}{written}{there}."
    share = exact.copied()[0]
    if exact.tail.p <= error and not near.shared and share * 2 >= near.tail.excess:
        return _equal_sentence(share)
    columns = len(near.cells.columns)
    return (
        f"{_part(near.tail.excess)} of the people in the original have a released row that is nearly theirs: "
        f"it clearly differs in at most {few(columns)} of {columns} columns."
    )


def _equal_sentence(share: float) -> str:
    return f"{_part(share)} of the released rows are rows of the original."


def _part(share: float) -> str:
    return "All" if share > 0.995 else "Half" if 0.48 < share < 0.52 else f"{share:.1%}"


# -- near copies -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Sample:
    """What is compared. drawn: rows of each file, all if None. kept: released rows that could be copies."""

    cells: Cells
    columns: list[str]
    drawn: list[Ints | None]
    kept: Ints


def _sample(
    original: Table,
    released: Table,
    control: Table | None,
    columns: Sequence[str],
    known: Sequence[str],
    meanings: Meanings,
    key: Key,
    most_work: int,
) -> _Sample:
    sizes = [original.rows(), released.rows(), control.rows() if control is not None else 0]
    used = list(columns)[:_MOST_COLUMNS] if len(columns) <= _MOST_COLUMNS else _telling(original, columns)
    people, rows = _most(sizes, len(used), most_work)
    drawn = [
        _draw(size, most, key, i)
        for i, (size, most) in enumerate(zip(sizes, (people, rows, people), strict=True))
    ]
    tables = [
        (original, drawn[0]),
        (released, drawn[1]),
        *([(control, drawn[2])] if control is not None else []),
    ]
    found = cells(tables, used, meanings, apart=(1,))
    at = [used.index(k) for k in known if k in used]
    crowded = [smallest_class(t, known) for t in (released, original)]
    kept = np.flatnonzero(~protected(found, at, (crowded[0], crowded[1]), everybody=drawn[0] is None))
    return _Sample(found, used, drawn, kept)


def _near(
    files: tuple[Table, Table, Table | None], sample: _Sample, meanings: Meanings, key: Key, error: float
) -> _Near:
    (original, released, control), found, kept, drawn = files, sample.cells, sample.kept, sample.drawn
    candidates, people = found.files[1][:, kept], found.files[0]
    clear: tuple[Floats, Floats] | None = None
    if not len(kept):
        inside, outside = (_nothing(f.shape[1]) for f in (people, found.files[-1]))
    else:
        inside = evidence(found, people, candidates)
        if control is not None:
            outside = evidence(found, found.files[2], candidates)
            clear = clearness(found, (people, found.files[2]), candidates, (inside, outside))
        else:  # the originals among themselves: how near people come to others by chance
            outside = evidence(found, people, people, itself=np.arange(people.shape[1]))
    others = outside.score
    against = tail(inside.score, others)
    if control is None and len(kept):
        rows_of = np.arange(original.rows()) if drawn[0] is None else drawn[0]
        against = replace(
            against,
            p=near_in_pool((original, released), rows_of, drawn[1], kept, sample.columns, meanings, key),
        )
    equal = (
        (people == candidates[:, inside.row]).all(axis=0) if len(kept) else np.zeros(len(inside.score), bool)
    )
    told = named((inside, outside), clear, equal)
    seen = detectable(own(found, people), others, found.files[1].shape[1], error)
    inside = CopyEvidence(inside.score, kept[inside.row] if len(kept) else inside.row)
    chance = by_chance(len(inside.score), len(others))
    single = _single(inside, others)
    shared = not len(kept)
    return _Near(found, inside, against, seen, told, chance, (drawn[0], drawn[1]), single, shared)


def _nothing(people: int) -> CopyEvidence:
    return CopyEvidence(np.full(max(1, people), -np.inf), np.zeros(max(1, people), np.int64))


def _telling(table: Table, columns: Sequence[str]) -> list[str]:
    """The columns that tell most about a person, in their order."""
    counts = table.one_way(columns)

    def entropy(name: str) -> float:
        shares = counts[name].n / counts[name].n.sum()
        return float(-(shares * np.log(shares)).sum())

    told = sorted(columns, key=entropy, reverse=True)[:_MOST_COLUMNS]
    return [c for c in columns if c in told]


def _most(sizes: Sequence[int], columns: int, work: int) -> tuple[int, int]:
    """How many originals (and as many controls) are compared with how many released rows."""
    pairs = work // max(1, columns)
    people = min(max(sizes[0], sizes[2]), max(1_000, int((pairs / 4) ** 0.5)))
    groups = people + min(people, sizes[2] or sizes[0])
    rows = min(sizes[1], max(1_000, pairs // groups))
    return max(people, min(max(sizes[0], sizes[2]), pairs // (2 * rows))), rows


def _draw(size: int, most: int, key: Key, file: int) -> Ints | None:
    if size <= most:
        return None
    return np.sort(key.generator("copies", file).choice(size, most, replace=False))


def _single(inside: CopyEvidence, others: NDArray[np.float64]) -> tuple[float, float, float]:
    """The chance that the clearest matches are no accident, and its interval.

    Of a originals above a cut, e are there by chance: the tail of the control, continued as an exponential
    beyond its highest scores. The interval rests on the counts a and b above the cut alone.
    """
    scores, n, c = inside.score, len(inside.score), len(others)
    finite = np.sort(scores[np.isfinite(scores)])[::-1]
    best = (0.0, 0.0, 0.0)
    for place in np.unique(np.geomspace(1, max(1, len(finite)), 60).astype(int)) - 1 if len(finite) else ():
        cut = finite[place]
        a, b = int((scores >= cut).sum()), int((others >= cut).sum())
        low, high = (
            min(1.0, max(0.0, 1 - (1 - s) / s * (n / c))) if s > 0 else 0.0
            for s in (float(f(a, a + b, (1 - CONFIDENCE) / 2)) for f in (share_low, share_high))
        )
        value = min(high, max(low, 1 - _by_chance(others, float(cut)) * n / a))
        best = max(best, (value, low, high), key=lambda found: (found[0], found[1]))
    return best


def _by_chance(others: NDArray[np.float64], cut: float) -> float:
    """The chance that a person outside scores as high: counted, and continued beyond the highest of them."""
    top = np.sort(others[np.isfinite(others)])[::-1][:_TAIL]
    counted = float((others >= cut).mean())
    if len(top) < 2 or cut <= top[-1]:
        return counted if counted else 1.0 / (len(others) + 1)
    mean = float((top - top[-1]).mean()) or 1e-9
    return len(top) / len(others) * float(np.exp(-(cut - top[-1]) / mean))


def _people(near: _Near) -> tuple[Mapping[str, Any], ...]:
    rows, released = near.drawn
    out = []
    for person in near.named[:_LISTED]:
        row = int(near.inside.row[person])
        same, other = agreeing(near.cells, near.cells.files[0][:, person], near.cells.files[1][:, row])
        out.append(
            {
                "row of the original": int(rows[person]) if rows is not None else int(person),
                "row of the release": int(released[row]) if released is not None else row,
                "columns that agree": len(same),
                "columns": len(near.cells.columns),
                "columns that differ": other,
                "evidence": round(float(near.inside.score[person]), 1),
            }
        )
    return tuple(out)


# -- scores ----------------------------------------------------------------------------------------

_NO_CONTROL = "; no control was given: how often originals equal each other stands for chance"


def _copied(exact: EqualRows, control: bool) -> list[Score]:
    value, low, high = exact.copied()
    return [
        Score(
            "copied rows", "risk", value, (0.0, 1.0), "lower",
            "share of released rows that are rows of the original, beyond those that are equal by chance"
            + ("" if control else _NO_CONTROL),
            min(low, value), max(high, value), CONFIDENCE,
            details={
                "p": exact.tail.p, "equal": exact.equal, "released": int(exact.n[1].sum()),
                "seen 95 times in 100": exact.seen,
            },
        )
    ]  # fmt: skip


def _nearly(near: _Near, control: bool) -> Score:
    low, high = near.tail.interval((1 - CONFIDENCE) / 2)
    value = near.tail.excess
    return Score(
        "people nearly copied", "risk", value, (0.0, 1.0), "lower",
        f"share of people with a released row that agrees with theirs, or nearly, in all but at most "
        f"{few(len(near.cells.columns))} of {len(near.cells.columns)} columns, beyond how often that happens "
        "to people who are not in the data" + ("" if control else _NO_CONTROL),
        min(low, value), max(high, value), CONFIDENCE, columns=near.cells.columns,
        details={
            "p": near.tail.p, "people": near.tail.originals, "control": near.tail.controls,
            "seen 95 times in 100": near.seen, "named": len(near.named), "named by chance": near.chance,
        },
    )  # fmt: skip


def _largest(near: _Near) -> Score:
    value, low, high = near.largest
    return Score(
        "largest risk of a single record", "risk", min(1.0, value), (0.0, 1.0), "lower",
        "the chance that the clearest match between a person and a released row is not an accident",
        min(low, value), max(high, value), CONFIDENCE, columns=near.cells.columns,
    )  # fmt: skip


def _surviving(ids: Sequence[Survivor]) -> Score:
    worst = max(ids, key=lambda s: (-s.p, s.share))
    return Score(
        "identifiers that survive", "risk", worst.share, (0.0, 1.0), "lower",
        "share of released rows that hold a number or name of a record of the original",
        columns=(worst.original,),
        details={
            "columns": [
                {"original": s.original, "released": s.column, "rows": s.rows, "share": s.share, "p": s.p}
                for s in ids
            ]
        },
    )  # fmt: skip
