"""Attacks on two or more releases of the same people (Katirai p. 24-25, after Sweeney 2002).

Each release may be fine by itself. Together they are not, if the rows can be put side by side, if the
sensitive values of the matching records are intersected, or if a later release is subtracted from.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.attacks.beliefs import (
    believe,
    check_secret,
    class_values,
    histograms,
    released_nodes,
    secrets,
)
from sfumato.assessment.attacks.intruder import Distinct, Floats, Ints, View, correspondence, knows, look
from sfumato.assessment.attacks.levels import shared_levels
from sfumato.assessment.attacks.success import CONFIDENCE, rate
from sfumato.assessment.reading.alignment import Pair
from sfumato.errors import DataError, ParameterError
from sfumato.score import Score
from sfumato.table import Table

_CELLS = 20_000_000  # of the (people, leaves) tables of one release: 160 MB
_SHIFTS = 50  # pairings of row i with row i + s that stand for pairing at random


def unsorted_matching(
    first: Pair,
    second: Pair,
    known: Sequence[str],
    *,
    truth: str | Sequence[int] | Ints | None = "rows",
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """Two releases in the same order of rows: put row i beside row i, and each cell is what both allow.

    The first score asks whether the order is the same: the share of rows whose cells can be of one person,
    against rows paired at random. The second counts people left with a single pair of rows.
    """
    _require_same_people([first, second])
    here, there = look(first, known), look(second, known)
    there = _reordered(there, here.columns)
    if len(here.released) != len(there.released):
        raise DataError(
            f"the releases have {len(here.released)} and {len(there.released)} rows: no row i beside row i.",
            hint="use complementary for releases of different length",
        )
    maps = [_same_leaves(first, second, c) for c in here.columns]
    rows = np.arange(len(here.released))
    meets = _meets(here, there, maps)
    fit = _rows_fit(meets, here, there, rows, rows)
    shifts = np.linspace(1, max(1, len(rows) - 1), min(_SHIFTS, len(rows))).astype(np.int64)
    chance = [_rows_fit(meets, here, there, rows, (rows + s) % len(rows)).mean() for s in shifts]
    joint = _side_by_side(here, there, maps)
    own = correspondence(first, truth)
    found, *alone = (_re_identified(view, own) for view in (joint, here, there))
    knowledge = knows(known, "s, row by row", first)
    return [
        rate(
            "unsorted matching, same order",
            fit,
            meaning="Share of rows of two releases that can be of one person when put side by side; the "
            "baseline pairs rows at random. All, far above the baseline, means the order is the same.",
            knowledge="the two releases",
            columns=known,
            baseline=float(np.mean(chance)),
            confidence=confidence,
        ),
        rate(
            "unsorted matching, re-identified",
            found,
            meaning="Share of people left with one single row when two releases are put side by side; the "
            "baseline is the same for the more telling release alone.",
            knowledge=knowledge,
            columns=known,
            baseline=float((alone[0] | alone[1]).mean()),
            confidence=confidence,
        ),
    ]


def _re_identified(view: View, own: Ints | None) -> NDArray[np.bool_]:
    """Who fits a single record, their own where that is known."""
    single = view.matches == 1
    return np.asarray(single if own is None else single & view.may_be(own))


def complementary(
    releases: Sequence[Pair],
    known: Sequence[str],
    sensitive: str,
    *,
    control: Table | None = None,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """Releases of the same people, in any order: a person's value is among the matches of all of them.

    The baseline is the best single release. The second score counts people whose fitting records in the
    first release shrink to one, because the others' values do not appear elsewhere.
    """
    _require_same_people(releases)
    check_secret(known, sensitive)
    possible, secret = _possible(releases, known, sensitive, None)
    left = possible.sum(axis=1)
    certain = (left == 1) & possible[np.arange(len(secret)), secret]
    alone = max(float(believe(p, known, sensitive).certain().mean()) for p in releases)
    others: NDArray[np.bool_] | None = None
    if control is not None:
        outside, theirs = _possible(releases, known, sensitive, control)
        others = (outside.sum(axis=1) == 1) & outside[np.arange(len(theirs)), theirs]
    knowledge = knows(known, f"s ({len(releases)} of the same people)", releases[0])
    before = look(releases[0], known).matches
    remaining = _remaining(releases[0], known, sensitive, possible)
    return [
        rate(
            f"complementary releases, {sensitive}",
            certain,
            meaning=f"Share of people whose {sensitive} is certain, because only the true value occurs among "
            f"the fitting records of all {len(releases)} releases.",
            knowledge=knowledge,
            columns=(*known, sensitive),
            baseline=alone,
            control=others,
            confidence=confidence,
            details={"values_left": float(left.mean())},
        ),
        rate(
            "complementary releases, one record left",
            np.abs(remaining - 1) < 1e-9,
            meaning="Share of people with one single fitting record in the first release once records whose "
            "value the other releases rule out are dropped; the baseline is the first release alone.",
            knowledge=knowledge,
            columns=(*known, sensitive),
            baseline=float((before == 1).mean()),
            confidence=confidence,
        ),
    ]


def temporal(
    before: Pair,
    after: Pair,
    known: Sequence[str],
    sensitive: str,
    *,
    newcomers: Sequence[int] | Ints | None = None,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """A later release of a table that grew: subtract the earlier one, and the newcomers stand out.

    newcomers: rows of the later original whose people the intruder knows to be new; by default those past
    the length of the earlier original. The guess is the value whose count rose most among the fitting
    records; the baseline guesses from the later release alone.
    """
    check_secret(known, sensitive)
    start, stop = before.original.rows(), after.original.rows()
    rows = np.arange(start, stop) if newcomers is None else np.asarray(newcomers, np.int64)
    if not len(rows) or rows.min() < 0 or rows.max() >= stop:
        raise ParameterError(
            "no newcomers, or rows the later original does not have.", hint="newcomers=[...]"
        )
    people = Table.from_arrow(after.original.to_arrow().take(rows), after.original.schema)
    levels = shared_levels([before, after], sensitive)
    rose = _table(after, known, sensitive, people, levels[1])
    rose -= _table(before, known, sensitive, people, levels[0])
    rose = np.where(rose > 1e-9, rose, 0.0)
    secret = levels[1][secrets(after, sensitive)[rows]]
    top = rose.max(axis=1, keepdims=True)
    ties = ((rose >= top - 1e-9) & (top > 0)).sum(axis=1)
    mine = rose[np.arange(len(rows)), secret]
    alone = believe(after, known, sensitive)
    plain = alone.mode_right()[rows]
    right = np.where(top[:, 0] > 0, (mine >= top[:, 0] - 1e-9) / np.maximum(ties, 1), plain)
    certain = ((rose > 0).sum(axis=1) == 1) & (mine > 0)
    knowledge = knows(known, "s of two dates, and who is new", after)
    return [
        rate(
            f"temporal, {sensitive}",
            right,
            meaning=f"Share of newcomers whose {sensitive} is guessed right from what the later release has "
            "more of; the baseline guesses from the later release alone.",
            knowledge=knowledge,
            columns=(*known, sensitive),
            baseline=float(plain.mean()),
            confidence=confidence,
        ),
        rate(
            f"temporal, certain, {sensitive}",
            certain,
            meaning=f"Share of newcomers for whom only their own {sensitive} became more frequent; the "
            "baseline are those already certain in the later release alone.",
            knowledge=knowledge,
            columns=(*known, sensitive),
            baseline=float(alone.certain()[rows].mean()),
            confidence=confidence,
        ),
    ]


def rare_values(releases: Pair | Sequence[Pair], columns: Sequence[str], *, k: int) -> list[Score]:
    """Values fewer than k people have: where few cells can hold one, suppressing it does not hide it.

    The intruder knows who has the rare value (the only such person of a village). Cells that show another
    value are ruled out; what is left are the records that may be theirs, in the most telling release.
    """
    pairs = [releases] if isinstance(releases, Pair) else list(releases)
    if isinstance(k, bool) or not isinstance(k, int) or k < 2:
        raise ParameterError("k is a whole number from 2 up.", hint="k=5")
    _require_same_people(pairs)
    holders, exposed, worst = 0, 0, np.inf
    found = []
    for column in columns:
        levels = shared_levels(pairs, column)
        width = max(int(where.max()) for where in levels) + 1
        fits = np.array([_cells_that_fit(p, column, at, width) for p, at in zip(pairs, levels, strict=True)])
        own = np.bincount(levels[0][secrets(pairs[0], column)], minlength=width)
        if pairs[0].leaves[column].missing:  # nobody is known by a value they do not have
            own[levels[0][len(pairs[0].leaves[column].levels)]] = 0
        rare = (own > 0) & (own < k)
        fewest = np.where(fits > 0, fits, np.inf).min(axis=0)  # a release that drops a value hides no other
        holders += int(own[rare].sum())
        shown = rare & (fewest < k)
        exposed += int(own[shown].sum())
        worst = min(worst, min(map(float, fewest[shown]), default=np.inf))
        found.append({"column": column, "rare_values": int(rare.sum()), "with_few_cells": int(shown.sum())})
    return [
        Score(
            name=f"values of few people, fewer than {k}",
            section="attack",
            value=exposed / holders if holders else 0.0,
            range=(0.0, 1.0),
            better="lower",
            meaning=f"Share of the people with a rare value whose record is among fewer than {k} that can "
            "hold it.",
            columns=tuple(columns),
            knowledge="who has a rare value of one column, and the releases",
            baseline=0.0,
            details={
                "people": holders,
                "fewest_records": None if worst == np.inf else int(worst),
                "columns": found,
            },
        )
    ]


def _cells_that_fit(pair: Pair, column: str, where: Ints, width: int) -> Ints:
    """For each common leaf, how many released cells may hold it."""
    counts = np.bincount(released_nodes(pair, column), minlength=len(pair.spread[column]))
    out = np.zeros(width, np.int64)
    out[where[:-1]] = counts @ (pair.spread[column] > 0)
    return out


def _require_same_people(pairs: Sequence[Pair]) -> None:
    if not pairs or len({p.original.rows() for p in pairs}) > 1:
        raise DataError(
            "the releases are not of the same people: their originals differ in length.",
            hint="align each release with the one original",
        )


def _possible(
    pairs: Sequence[Pair], known: Sequence[str], sensitive: str, people: Table | None
) -> tuple[NDArray[np.bool_], Ints]:
    """(people, common leaves): which values occur among the matches of every release; the true ones."""
    levels = shared_levels(pairs, sensitive)
    out: NDArray[np.bool_] | None = None
    for pair, where in zip(pairs, levels, strict=True):
        here = _table(pair, known, sensitive, people, where) > 1e-9
        out = here if out is None else out & here
    assert out is not None
    return out, levels[0][secrets(pairs[0], sensitive, people)]


def _table(pair: Pair, known: Sequence[str], sensitive: str, people: Table | None, where: Ints) -> Floats:
    """(people, common leaves): how often each value occurs among a person's fitting records."""
    view = look(pair, known, people)
    width = int(where.max()) + 1
    if len(view.people) * width > _CELLS:
        raise DataError(
            f"{len(view.people):,} people x {width:,} values do not fit in memory.",
            hint="attack a sample of the people, or group the sensitive values",
        )
    out = np.zeros((len(view.persons.rows), width))
    values = class_values(pair, view, sensitive)
    for part, block in histograms(view, values):
        np.add.at(out[part].T, where, block.T)
    return out[view.persons.of]


def _same_leaves(first: Pair, second: Pair, column: str) -> tuple[Ints, Ints]:
    one, two = shared_levels([first, second], column)
    return one, two


def _remaining(pair: Pair, known: Sequence[str], sensitive: str, possible: NDArray[np.bool_]) -> Floats:
    """How many fitting records of the release have a value that is still possible, per person."""
    levels = shared_levels([pair], sensitive)[0]
    counts = _table(pair, known, sensitive, None, levels)
    width = min(counts.shape[1], possible.shape[1])
    return np.asarray((counts[:, :width] * possible[:, :width]).sum(axis=1))


def _reordered(view: View, columns: Sequence[str]) -> View:
    at = [view.columns.index(c) for c in columns]
    return View(tuple(columns), view.people[:, at], view.released[:, at], tuple(view.covers[i] for i in at))


def _on_common(view: View, c: int, where: Ints, width: int) -> NDArray[np.bool_]:
    """What the nodes of a column cover, over the common leaves of two releases."""
    covers = np.zeros((len(view.covers[c]), width), bool)
    covers[:, where] |= view.covers[c]
    return covers


def _meets(here: View, there: View, maps: Sequence[tuple[Ints, Ints]]) -> list[NDArray[np.bool_]]:
    """Per column, which nodes of one release and of the other have a common leaf."""
    out = []
    for c, (one, two) in enumerate(maps):
        width = int(max(one.max(), two.max())) + 1
        a, b = _on_common(here, c, one, width), _on_common(there, c, two, width)
        out.append((a[:, :-1].astype(np.float32) @ b[:, :-1].T.astype(np.float32)) > 0)
    return out


def _rows_fit(
    meets: Sequence[NDArray[np.bool_]], here: View, there: View, rows: Ints, others: Ints
) -> NDArray[np.bool_]:
    """Whether rows of one release and rows of the other can be of one person."""
    out = np.ones(len(rows), bool)
    for c, meet in enumerate(meets):
        out &= meet[here.released[rows, c], there.released[others, c]]
    return out


def _side_by_side(here: View, there: View, maps: Sequence[tuple[Ints, Ints]]) -> View:
    """Row i of both releases as one record: a cell is a pair of nodes and covers what both cover."""
    released, covers, people = [], [], []
    for c, (one, two) in enumerate(maps):
        width = int(max(one.max(), two.max())) + 1
        pairs = Distinct.among(np.column_stack([here.released[:, c], there.released[:, c]]))
        a, b = _on_common(here, c, one, width), _on_common(there, c, two, width)
        covers.append(np.ascontiguousarray(a[pairs.rows[:, 0]] & b[pairs.rows[:, 1]]))
        released.append(pairs.of)
        people.append(one[here.people[:, c]])
    return View(here.columns, np.column_stack(people), np.column_stack(released), tuple(covers))
