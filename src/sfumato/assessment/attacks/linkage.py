"""Linking: which released record is this person's? Exactly, by nearness, or by likelihood.

Deterministic and nearest-record linking stand here; Fellegi and Sunter's, through Splink, in
`sfumato.assessment.attacks.fellegi_sunter`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sfumato.assessment.attacks.fellegi_sunter import AttackDatabase, fellegi_sunter
from sfumato.assessment.attacks.intruder import (
    Floats,
    Ints,
    View,
    by_key,
    correspondence,
    knows,
    look,
)
from sfumato.assessment.attacks.success import CONFIDENCE, rate
from sfumato.assessment.reading.alignment import Pair
from sfumato.assessment.reading.bins import edge_numbers
from sfumato.counts import canonical_type
from sfumato.errors import ParameterError
from sfumato.schema import Column, Kind
from sfumato.score import Score
from sfumato.table import Table

__all__ = ["AttackDatabase", "by_key", "deterministic", "fellegi_sunter", "nearest"]

Truth = str | Sequence[int] | Ints | None

_SCALE = 2**32  # squared distances as whole numbers: equal ones compare equal
_WORST = 20


def deterministic(
    pair: Pair,
    known: Sequence[str],
    *,
    truth: Truth = "rows",
    control: Table | None = None,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """Link where exactly one released record may be the person; and what guessing among all matches gives.

    truth: which released row is whose: "rows", row numbers (`by_key`), or None where nobody knows, as for
        synthetic files; then 1 / matches is an upper bound of the chance to be right.
    control: people who are not in the data. Whatever is claimed about them is wrong.
    """
    view = look(pair, known)
    matches = view.matches
    others = None if control is None else look(pair, known, control).matches
    own = correspondence(pair, truth)
    records = len(view.released)
    knowledge = knows(known, pair=pair)
    alone = None if others is None else others == 1
    scores = [
        rate(
            "linking, claimed",
            matches == 1,
            meaning="Share of people for whom exactly one released record fits what the intruder knows, so "
            "that the intruder would claim to have found them. The control shows how often that happens to "
            "people who are not in the data.",
            knowledge=knowledge,
            columns=known,
            control=alone,
            confidence=confidence,
            details={"matches": _matches(matches)},
        )
    ]
    if own is None:
        chance = np.where(matches > 0, 1 / np.maximum(matches, 1), 0.0)
        scores.append(
            rate(
                "linking, at most",
                chance,
                meaning="Upper bound of the share of people found by picking one of the fitting records: "
                "nobody knows which record is whose, so each match counts as if it were right.",
                knowledge=knowledge,
                columns=known,
                baseline=1 / records,
                control=None if others is None else np.where(others > 0, 1 / np.maximum(others, 1), 0.0),
                confidence=confidence,
            )
        )
        return scores
    fits = view.may_be(own)
    chance = np.where(fits, 1 / np.maximum(matches, 1), 0.0)
    scores.append(
        rate(
            "linking, re-identified",
            fits & (matches == 1),
            meaning="Share of people whose own record is the only released one that fits what the intruder "
            "knows.",
            knowledge=knowledge,
            columns=known,
            baseline=1 / records,
            confidence=confidence,
            details={"right_among_claimed": _share(fits[matches == 1])},
        )
    )
    scores.append(
        rate(
            "linking, guessed",
            chance,
            meaning="Share of people found, on average, by picking at random among the released records that "
            "fit.",
            knowledge=knowledge,
            columns=known,
            baseline=1 / records,
            confidence=confidence,
            details={"classes": _by_class(view, chance)},
        )
    )
    return scores


def nearest(
    pair: Pair,
    known: Sequence[str],
    *,
    truth: Truth = "rows",
    k: int | None = None,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """The nearest released record in standardized Euclidean distance, ties at random (Wei et al. 4.3).

    Numbers, dates and ordered levels are standardized by the original; names are 0/1 columns, each
    standardized likewise; a generalized value lies at the mean of the leaves it stands for. The chance of
    each person is computed exactly over ties instead of drawn. Averages prove little (unprotected data are
    often below 1/k on average), so the worst class of the original is a score of its own.
    k: if given, the share of people above 1/k is reported; a single release of a method with random
        draws may exceed it by luck, the method's promise is about its draws.
    """
    own = correspondence(pair, truth)
    if own is None:
        raise ParameterError("nearest-record linking needs the truth.", hint="truth='rows', or by_key(...)")
    view = look(pair, known)
    tables = [_distances(pair, c, view.people[:, i]) for i, c in enumerate(view.columns)]
    best, ties = view.nearest(tables)
    mine = np.zeros(len(own), np.int64)
    for i, table in enumerate(tables):
        mine += table[view.released[own, i], view.people[:, i]]
    chance = np.where((own >= 0) & (mine == best), 1 / ties, 0.0)
    persons = view.persons
    means = np.bincount(persons.of, chance) / persons.sizes
    details: dict[str, object] = {"classes": _by_class(view, chance)}
    if k is not None:
        details["above_1_over_k"] = float((chance > 1 / k + 1e-12).mean())
    knowledge = knows(known, pair=pair)
    scores = [
        rate(
            "nearest record",
            chance,
            meaning="Share of people whose own record is picked when the intruder takes the nearest released "
            "one, ties broken at random.",
            knowledge=knowledge,
            columns=known,
            baseline=1 / len(view.released),
            confidence=confidence,
            details=details,
        )
    ]
    scores.append(
        Score(
            name="nearest record, worst class",
            section="attack",
            value=float(means.max()),
            range=(0.0, 1.0),
            better="lower",
            meaning="The highest chance of being found among the groups of people with equal known values, "
            "computed over all ties for this release: no interval, because nothing was drawn.",
            columns=tuple(known),
            knowledge=knowledge,
            baseline=1 / len(view.released),
            details={"people_in_it": int(persons.sizes[int(means.argmax())])},
        )
    )
    return scores


def _distances(pair: Pair, name: str, people: Ints) -> Ints:
    """Squared distances (nodes, leaves + 1) of one column, scaled to whole numbers."""
    book = pair.leaves[name]
    numbers = leaf_numbers(book.column, book.levels, pair.values.get(name))
    if numbers is None:
        squares = _between_names(pair.spread[name], people)
    else:
        points = _points(numbers, book.size, people)
        nodes = pair.spread[name] @ points[:-1]
        squares = ((nodes[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
    return np.ascontiguousarray(np.rint(np.minimum(squares, 1e6) * _SCALE).astype(np.int64))


def _between_names(spread: Floats, people: Ints) -> Floats:
    """Names are 0/1 columns e_j, standardized to s_j e_j; a node is their mean with weights w, so that
    |node - s_j e_j|^2 = sum_k (w_k s_k)^2 + s_j^2 (1 - 2 w_j): no table of nodes x leaves x columns.
    """
    share = np.bincount(people, minlength=spread.shape[1] + 1)[: spread.shape[1]] / len(people)
    variance = share * (1 - share)
    squares = 1 / np.where(variance > 0, variance, 1.0)  # s_j^2
    own = (spread**2 @ squares)[:, None]
    return np.column_stack([own + squares * (1 - 2 * spread), own])


def _points(numbers: Floats, size: int, people: Ints) -> Floats:
    """Where each leaf lies, (leaves + 1, 2), standardized over the people; the last is unseen."""
    seen = people[people < len(numbers)]
    centre = numbers[seen].mean() if len(seen) else 0.0
    # Missing is a place of its own: as far from the centre as the outermost value.
    far = np.abs(numbers - centre).max(initial=0.0) or 1.0
    places = np.zeros((size + 1, 2))
    places[: len(numbers), 0] = numbers - centre
    places[len(numbers) :, 1] = far
    rows = places[np.minimum(people, size)]
    spread = rows.std(axis=0)
    scaled: Floats = places / np.where(spread > 0, spread, 1.0)
    return scaled


def leaf_numbers(column: Column, levels: pa.Array, own: Floats | None = None) -> Floats | None:
    """The leaves as numbers where they have an order: values, middles of bins, ranks; None for names.

    own: values that are bins by themselves, and lie where they are.
    """
    if column.edges is not None:
        ends = np.array([_number(e) for e in column.edges])
        inner = ends[np.isfinite(ends)]
        ends = np.clip(ends, inner.min(), inner.max()) if len(inner) else np.zeros(len(ends))
        middles: Floats = (ends[:-1] + ends[1:]) / 2
        if own is not None:
            single = np.isin(edge_numbers(column, canonical_type(column))[:-1], own)
            middles = np.where(single, ends[:-1], middles)
        return middles
    if column.kind is Kind.ORDINAL:
        return np.arange(len(levels), dtype=np.float64)
    if column.kind in (Kind.NUMERIC, Kind.DATE):
        return np.array([_number(v) for v in levels.to_pylist()])
    return None


def _number(value: object) -> float:
    from datetime import date, datetime

    if isinstance(value, datetime):
        return (value.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() / 86_400
    if isinstance(value, date):
        return float(value.toordinal() - date(1970, 1, 1).toordinal())
    return float(value)  # type: ignore[arg-type]


def _matches(matches: Ints) -> list[dict[str, int]]:
    """How many people have how many fitting records: 0, 1, 2, 3, 4, 5 to 9, and more."""
    ends = [0, 1, 2, 3, 4, 5, 10, 100, np.iinfo(np.int64).max]
    counts = np.histogram(matches, ends)[0]
    return [{"from": int(a), "people": int(n)} for a, n in zip(ends[:-1], counts, strict=True)]


def _share(values: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float | None:
    return float(values.mean()) if len(values) else None


def _by_class(view: View, chance: Floats) -> dict[str, object]:
    """Chances per group of people with equal known values, as Wei et al. report them."""
    persons = view.persons
    means = np.bincount(persons.of, chance) / persons.sizes
    worst = np.argsort(-means, kind="stable")[:_WORST]
    people = [int(np.flatnonzero(persons.of == w)[0]) for w in worst]
    marks = np.linspace(0, 1, 21)
    return {
        "classes": len(means),
        "histogram": [
            {"from": float(a), "classes": int(n)}
            for a, n in zip(marks[:-1], np.histogram(means, marks)[0], strict=True)
        ],
        "worst": [
            {"row": row, "people": int(persons.sizes[w]), "chance": float(means[w])}
            for row, w in zip(people, worst, strict=True)
        ],
    }
