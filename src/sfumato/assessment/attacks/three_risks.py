"""Singling out, linkability and inference, defined as in Anonymeter (Giomi et al. 2023), for any two files.

The same definitions, so that results can be compared: queries that match one released record; halves of a
person that meet in the same released record; the secret of the nearest released record. The files are
taken as they are written: nothing is binned, and a generalized value is a name like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.assessment.attacks.frames import Frames, above_control, frames, neighbours
from sfumato.assessment.attacks.intruder import Floats, Ints, in_threads, knows
from sfumato.assessment.attacks.success import CONFIDENCE, NothingToAttack, rate
from sfumato.errors import ParameterError, listed
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

_BATCH = 1_000
_EQUAL, _AT_LEAST, _AT_MOST = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Queries:
    """Conjunctions: columns, signs and values, each (queries, conditions)."""

    columns: Ints
    signs: Ints
    values: Floats

    def count(self, rows: Floats, most: int | None = None) -> Ints:
        """How many rows each query matches; past `most` it may stop counting."""
        from sfumato.assessment.attacks import _kernels

        out = np.zeros(len(self.columns), np.int64)
        limit = rows.shape[1] if most is None else most

        def work(part: slice) -> None:
            _kernels.count_queries(
                rows, self.columns[part], self.signs[part], self.values[part], limit, out[part]
            )

        if len(out):
            in_threads(work, len(out))
        return out

    def at(self, rows: Ints) -> Queries:
        """Some of the queries."""
        return Queries(self.columns[rows], self.signs[rows], self.values[rows])

    def and_(self, other: Queries) -> Queries:
        """These queries, then the others."""
        pairs = ((self.columns, other.columns), (self.signs, other.signs), (self.values, other.values))
        return Queries(*(np.concatenate(p) for p in pairs))  # type: ignore[arg-type]

    def distinct(self) -> Queries:
        """Each query once, in the order of first appearance."""
        order = np.argsort(self.columns, axis=1)
        parts = [
            np.take_along_axis(x, order, 1)
            for x in (self.columns, self.signs, np.nan_to_num(self.values, nan=-1e300))
        ]
        first = np.unique(np.hstack(parts), axis=0, return_index=True)[1]
        return self.at(np.sort(first))


def singling_out(
    original: Table,
    released: Table,
    *,
    columns: Sequence[str] | None = None,
    control: Table | None = None,
    attacks: int = 500,
    conditions: int = 3,
    univariate: bool = False,
    max_attempts: int = 500_000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """Queries that match exactly one released record: do they match exactly one person?

    conditions: how many columns a query speaks of. univariate: rare values and extremes of one column.
    The baseline asks random queries. Where control and original differ in size, both rates of the risk are
    taken for random samples of the smaller size, computed exactly (a query matches one row more easily in
    a small file); Anonymeter fits a curve for this.
    """
    _check(attacks=attacks, conditions=conditions, max_attempts=max_attempts)
    data = frames([original, released, control], columns)
    random = Key.from_seed(seed).generator("singling out")
    conditions = 1 if univariate else min(conditions, len(data.columns))
    made = (
        _extremes(data, random)
        if univariate
        else _from_records(data, conditions, attacks, max_attempts, random)
    )
    queries = made.at(np.flatnonzero(made.count(data.cells[1], 1) == 1)[:attacks])
    if not len(queries.columns):
        return [_nothing_singled_out(data, confidence)]
    people = data.cells[0].shape[1]
    counts = queries.count(data.cells[0])
    guesses = _random_queries(data, conditions, len(counts), random).count(data.cells[0])
    knowledge = "the release"
    name = f"singling out, {'one column' if univariate else f'{conditions} columns'}"
    scores = [
        rate(
            name,
            counts == 1,
            meaning="Share of descriptions that fit exactly one released record and also fit exactly one "
            "person.",
            knowledge=knowledge,
            columns=data.columns,
            baseline=float((guesses == 1).mean()),
            confidence=confidence,
            details={"queries": len(counts)},
        )
    ]
    if control is not None:
        outside = queries.count(data.cells[2])
        size = min(people, data.cells[2].shape[1])
        risk = above_control(
            name,
            _single_in_sample(counts, people, size),
            _single_in_sample(outside, data.cells[2].shape[1], size),
            knowledge=knowledge,
            columns=data.columns,
            confidence=confidence,
        )
        above = {"value": risk.value, "low": risk.low, "high": risk.high}
        details = {**scores[0].details, "above_control": above}
        scores = [replace(scores[0], control=risk.details["control"], details=details), risk]
    return scores


def _check(**numbers: int) -> None:
    wrong = [n for n, v in numbers.items() if isinstance(v, bool) or not isinstance(v, int) or v < 1]
    if wrong:
        raise ParameterError(f"{listed(wrong)}: a whole number from 1 up.", hint=f"{wrong[0]}=1")


def _nothing_singled_out(data: Frames, confidence: float) -> Score:
    return Score(
        name="singling out",
        section="attack",
        value=0.0,
        range=(0.0, 1.0),
        better="lower",
        meaning="No description was found that fits exactly one released record.",
        knowledge="the release",
        columns=data.columns,
        details={"queries": 0},
    )


def _single_in_sample(counts: Ints, rows: int, size: int) -> Floats:
    """The chance that a query that matches so many rows matches exactly one in a sample of the rows."""
    if size == rows:
        return np.asarray(counts == 1, np.float64)
    from scipy.stats import hypergeom

    return np.asarray(hypergeom.pmf(1, rows, counts, size))


def _from_records(
    data: Frames, conditions: int, wanted: int, max_attempts: int, random: np.random.Generator
) -> Queries:
    """Descriptions of released records: names as they are, numbers from the median outwards."""
    released = data.cells[1]
    with np.errstate(all="ignore"):
        medians = np.array([np.nanmedian(r) if np.isfinite(r).any() else 0.0 for r in released])
    kept: Queries | None = None
    for _ in range(0, max_attempts, _BATCH):
        rows = random.integers(0, released.shape[1], _BATCH)
        columns = np.argsort(random.random((_BATCH, len(released))), axis=1)[:, :conditions]
        values = released[columns, rows[:, None]]
        outwards = np.where(values > medians[columns], _AT_LEAST, _AT_MOST)
        signs = np.where(data.numeric[columns] & ~np.isnan(values), outwards, _EQUAL)
        batch = Queries(columns, signs, values)
        batch = batch.at(np.flatnonzero(batch.count(released, 1) == 1))
        kept = (batch if kept is None else kept.and_(batch)).distinct() if len(batch.columns) else kept
        if kept is not None and len(kept.columns) >= wanted:
            break
    return kept if kept is not None else Queries(*_none(conditions))


def _none(conditions: int) -> tuple[Ints, Ints, Floats]:
    shape = (0, conditions)
    return np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape)


def _extremes(data: Frames, random: np.random.Generator) -> Queries:
    """Rare values, the smallest and largest number, and a single missing cell, column by column."""
    found: list[tuple[int, int, float]] = []
    for c, row in enumerate(data.cells[1]):
        values, counts = np.unique(row[~np.isnan(row)], return_counts=True)
        found += [(c, _EQUAL, float(v)) for v in values[counts == 1]]
        if data.numeric[c] and len(values):
            found += [(c, _AT_MOST, float(values[0])), (c, _AT_LEAST, float(values[-1]))]
        found.append((c, _EQUAL, np.nan))
    order = random.permutation(len(found))
    columns, signs, values = (np.array([found[i][j] for i in order])[:, None] for j in range(3))
    return Queries(columns.astype(np.int64), signs.astype(np.int64), values.astype(np.float64))


def _random_queries(data: Frames, conditions: int, wanted: int, random: np.random.Generator) -> Queries:
    """Random columns, values that occur in the release, and random signs."""
    values = [np.unique(r) for r in data.cells[1]]
    columns = np.argsort(random.random((wanted, len(values))), axis=1)[:, :conditions]
    drawn = np.array([[random.choice(values[c]) for c in row] for row in columns])
    signs = np.where(
        data.numeric[columns], random.integers(0, 6, columns.shape), 3 * random.integers(0, 2, columns.shape)
    )
    return Queries(columns, signs, drawn)


def linkability(
    original: Table,
    released: Table,
    known: tuple[Sequence[str], Sequence[str]],
    *,
    control: Table | None = None,
    attacks: int = 500,
    nearest: int = 1,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """Two data sets hold different columns of the same people: does the release join them?

    A person counts as linked if the nearest released records of both halves (by Gower's distance) have one in
    common. Equally near records are taken in one random order for both halves.
    """
    _check(attacks=attacks, nearest=nearest)
    first, second = (list(k) for k in known)
    if not first or not second or set(first) & set(second):
        raise ParameterError("the two sets of columns are empty or overlap.", hint="(['age'], ['zip'])")
    data = frames([original, released, control], [*first, *second])
    random = Key.from_seed(seed).generator("linkability")
    records = data.cells[1][:, random.permutation(data.cells[1].shape[1])]
    few = min(nearest, records.shape[1])

    def linked(people: Floats) -> Floats:
        targets = _sample(people, attacks, random)
        one, two = (neighbours(data, names, targets, records, few) for names in (first, second))
        return np.asarray((one[:, :, None] == two[:, None, :]).any(axis=(1, 2)), np.float64)

    knowledge = f"{', '.join(first)} of some people, {', '.join(second)} of the same people, and the release"
    attack = linked(data.cells[0])
    others = linked(data.cells[2]) if control is not None else None
    scores = [
        rate(
            "linkability",
            attack,
            meaning="Share of people whose two halves have the same nearest released record, so that the "
            "release joins what two data sets know of them.",
            knowledge=knowledge,
            columns=data.columns,
            baseline=_random_overlap(records.shape[1], few),
            control=others,
            confidence=confidence,
        )
    ]
    if others is not None:
        scores.append(
            above_control(
                "linkability",
                attack,
                others,
                knowledge=knowledge,
                columns=data.columns,
                confidence=confidence,
            )
        )
    return scores


def _random_overlap(records: int, few: int) -> float:
    """The chance that two random sets of `few` records have one in common."""
    from scipy.stats import hypergeom

    return float(1 - hypergeom.pmf(0, records, few, few))


def _sample(people: Floats, wanted: int, random: np.random.Generator) -> Floats:
    rows = random.permutation(people.shape[1])[:wanted]
    return np.ascontiguousarray(people[:, rows])


def inference(
    original: Table,
    released: Table,
    known: Sequence[str],
    sensitive: str,
    *,
    control: Table | None = None,
    attacks: int = 500,
    within: float = 0.05,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """The sensitive value of the nearest released record: is it the person's own?

    within: for numbers, a guess is right if it is off by at most this share of the guess. The baseline takes
    the value of a random released record; its success is computed, not drawn.
    """
    _check(attacks=attacks)
    if sensitive in known:
        raise ParameterError(f"'{sensitive}' is among the columns the intruder knows.", hint="leave it out")
    data = frames([original, released, control], [*known, sensitive])
    random = Key.from_seed(seed).generator("inference")
    records = data.cells[1][:, random.permutation(data.cells[1].shape[1])]
    guesses, numeric = records[-1], bool(data.numeric[-1])
    if np.isnan(guesses).all():
        raise NothingToAttack(
            f"'{sensitive}' is missing in every released record.", hint="name another column"
        )

    def right(guess: Floats, secret: Floats) -> Floats:
        near = np.abs(guess - secret) <= (within * np.abs(guess) if numeric else 0)
        return (near | (np.isnan(guess) & np.isnan(secret))).astype(np.float64)

    def attack(people: Floats) -> tuple[Floats, Floats]:
        targets = _sample(people, attacks, random)
        found = neighbours(data, list(known), targets, records, 1)[:, 0]
        return right(guesses[found], targets[-1]), targets[-1]

    outcome, secret = attack(data.cells[0])
    others = attack(data.cells[2])[0] if control is not None else None
    plain = float(np.mean([right(guesses, np.full(len(guesses), s)).mean() for s in secret]))
    knowledge = knows(known)
    name = f"inference, nearest record, {sensitive}"
    scores = [
        rate(
            name,
            outcome,
            meaning=f"Share of people whose {sensitive} is that of the released record nearest to what the "
            "intruder knows.",
            knowledge=knowledge,
            columns=data.columns,
            baseline=plain,
            control=others,
            confidence=confidence,
        )
    ]
    if others is not None:
        scores.append(
            above_control(
                name, outcome, others, knowledge=knowledge, columns=data.columns, confidence=confidence
            )
        )
    return scores
