"""Linking by a single value: a number that nearly everybody has alone, such as a survey weight or a charge.

Quasi-identifiers may be generalized as far as can be: whoever holds the weights of the same survey, or the
bill, joins the two files by that number. The intruder claims a person where exactly one released row has
their number, or one as near as rounding leaves it: within `_NEAR` of the spacing of released numbers around
it. A row that is written several times is one. The control shows how often strangers are claimed so.

A number that stands beside other people's values, as in columns that were shuffled one by one, joins nobody
to anything. So the rows that are joined must agree in some other column more than rows at random do; where no
other column could say so (all is starred), nothing speaks against the claim.

The column is chosen on other people than those attacked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.assessment.attacks.success import CONFIDENCE, NothingToAttack, rate
from sfumato.assessment.reading.same_values import is_number, same_text
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NAME = "linking by a single value"
_ALONE = 0.2  # the share of people alone with their value from which a column is looked at
_NEAR = 0.02  # of the spacing of released numbers: farther away, it is another number
_ROUNDED = 0.1  # of the spacing: half a step of rounding that still tells numbers apart
_AROUND = 5  # released numbers to either side by which the spacing is measured
_CHOOSING, _SEARCHED = 4, 1_000  # one in so many people is chosen on, and at most so many
_TRIED = 2_000  # joined rows by which a link is tried
_SURE = 4.0  # standard errors by which joined rows must agree more than rows at random
_SHOWN = 0.05  # of released cells that are values of the original, from which a column can agree


def single_value(
    original: Table,
    released: Table,
    columns: Sequence[str],
    *,
    key: Key,
    control: Table | None = None,
    beside: Sequence[str] = (),
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """Link by the one column that tells most beyond strangers.

    columns: numbers that somebody may hold. beside: other columns of both files, by which a link is tried.
    Without a control, chance is how often a person's number is another original's.
    """
    columns = [c for c in columns if c in released.schema and (control is None or c in control.schema)]
    files = [original, released, *([control] if control is not None else [])]
    rows = [t.select(columns).to_arrow() if columns else None for t in files]
    found = [
        _Held.of(name, [_numbers(r.column(name)) for r in rows if r is not None], released)
        for name in columns
    ]
    telling = [held for held in found if held is not None]
    if not telling:
        raise NothingToAttack(
            "no released number is nearly everybody's own.", hint="name columns that somebody may hold"
        )
    parts = [_parted(t.rows(), key.derive(str(i))) for i, t in enumerate((original, control or original))]
    some = [p[0] for p in parts]
    telling.sort(key=lambda h: -float(h.claims(0, some[0]).mean() - h.claims(1, some[1]).mean()))
    best = next((h for h in telling if h.joins(original, released, beside)), None)
    if best is None:
        raise NothingToAttack(
            "numbers that are nearly everybody's own stand beside other people's values.",
            hint="nothing is joined by them",
        )
    people, others = (best.claims(i, p[1]) for i, p in enumerate(parts))
    against = {"control": others} if control is not None else {"baseline": float(others.mean())}
    return [
        rate(
            NAME,
            people,
            meaning="Share of people whose own number in one column exactly one released row has, or one as "
            "near as rounding leaves it. Whoever holds that column from elsewhere (weights of a survey, a "
            "bill) joins the two files by it. The column was chosen on other people than those attacked.",
            knowledge=f"'{best.name}' of each person, to the last digit; and the release",
            columns=(best.name,),
            confidence=confidence,
            details={"chosen": best.name},
            **against,
        )
    ]


def _numbers(cells: pa.ChunkedArray) -> Floats:
    """Cells as numbers; nan for what is none."""
    if pa.types.is_temporal(cells.type):
        whole = cells.cast(pa.timestamp("us")) if not pa.types.is_time(cells.type) else cells
        return np.asarray(whole.to_numpy(zero_copy_only=False), "datetime64[us]").astype(float)
    if is_number(cells.type):
        return np.asarray(cells.cast(pa.float64(), safe=False).to_numpy(), float)
    import pandas as pd

    return np.asarray(pd.to_numeric(pd.Series(cells.to_pylist()), errors="coerce"), float)


def _parted(rows: int, key: Key) -> tuple[Ints, Ints]:
    """Those on whom a column is chosen, and the others; a single person is both."""
    order = key.generator("parts").permutation(rows)
    mark = min(_SEARCHED, max(1, rows // _CHOOSING))
    return order[:mark], order[mark:] if rows > 1 else order


@dataclass(frozen=True, eq=False)
class _Held:
    """One column. people: the numbers of originals, and of the control or, without one, the originals again.

    rows: released rows in the order of their numbers. reach: how far from each number a person's may be.
    """

    name: str
    people: tuple[Floats, Floats]
    among: tuple[Floats, Floats]
    reach: tuple[Floats, Floats]
    rows: Ints
    itself: bool

    @classmethod
    def of(cls, name: str, numbers: Sequence[Floats], table: Table) -> _Held | None:
        """numbers: of the original, of the release, of the control if there is one; None if too few.

        table: the release.
        """
        original, released = numbers[0], numbers[1]
        there = np.flatnonzero(np.isfinite(released))
        plain = original[np.isfinite(original)]
        _, counts = np.unique(plain, return_counts=True)
        if not len(there) or (counts == 1).sum() < max(1, _ALONE * len(original)):
            return None
        there = _once(table, released, there)
        rows = there[np.argsort(released[there], kind="stable")]
        ordered, others = released[rows], np.sort(plain)
        alone = len(numbers) == 2
        return cls(
            name, (original, original if alone else numbers[2]), (ordered, others if alone else ordered),
            (_spacing(ordered), _spacing(others) if alone else _spacing(ordered)), rows, alone,
        )  # fmt: skip

    def claims(self, group: int, some: Ints) -> NDArray[np.bool_]:
        """For which of some people exactly one row has their number."""
        return self._row(group, some) >= 0

    def _row(self, group: int, some: Ints) -> Ints:
        """The place of that row in the order of numbers; -1 where there is none, or several."""
        mine, ordered, reach = self.people[group][some], self.among[group], self.reach[group]
        nearest = np.clip(np.searchsorted(ordered, mine), 1, max(1, len(ordered) - 1))
        left = np.minimum(nearest - 1, len(ordered) - 1)
        right = np.minimum(nearest, len(ordered) - 1)
        closer = np.where(np.abs(mine - ordered[left]) <= np.abs(mine - ordered[right]), left, right)
        far = reach[closer]
        low = np.searchsorted(ordered, mine - far, "left")
        high = np.searchsorted(ordered, mine + far, "right")
        lone = 2 if group and self.itself else 1  # among the originals everybody meets themselves
        return np.where(np.isfinite(mine) & (high - low == lone), closer, -1)

    def joins(self, original: Table, released: Table, beside: Sequence[str]) -> bool:
        """Whether rows joined by it agree in some other column more than rows at random, or none can say."""
        everybody = np.arange(len(self.people[0]))
        place = self._row(0, everybody)
        people = everybody[place >= 0][:_TRIED]
        names = [n for n in beside if n != self.name]
        if not len(people) or not names:
            return bool(len(people))
        some = (people, self.rows[place[people]])
        mine, theirs = (
            t.select(names).to_arrow().take(pa.array(at))
            for t, at in zip((original, released), some, strict=True)
        )
        told = (_agreement(mine.column(n), theirs.column(n)) for n in names)
        seen = [sure for sure in told if sure is not None]
        return not seen or max(seen) > _SURE


def _once(table: Table, numbers: Floats, there: Ints) -> Ints:
    """Some rows without those that repeat another one in every column."""
    _, which, many = np.unique(numbers[there], return_inverse=True, return_counts=True)
    again = there[many[which.ravel()] > 1]
    if not len(again):
        return there
    rows = table.to_arrow().take(pa.array(again))
    codes = [c.cast(pa.string()).combine_chunks().dictionary_encode("encode").indices for c in _plain(rows)]
    cells = np.array([c.to_numpy(zero_copy_only=False) for c in codes])
    _, first = np.unique(cells, axis=1, return_index=True)
    return np.setdiff1d(there, np.delete(again, first))


def _plain(rows: pa.Table) -> list[pa.ChunkedArray]:
    """The columns as one spells them; what has no spelling tells no two rows apart."""
    return [c for c in rows.columns if not pa.types.is_nested(c.type) and not pa.types.is_binary(c.type)]


def _spacing(ordered: Floats) -> Floats:
    """How far from each number another one still passes for it: a part of the spacing around it.

    Where all numbers are rounded to one step, half a step, if that is little beside the spacing.
    """
    at = np.arange(len(ordered))
    low, high = np.maximum(at - _AROUND, 0), np.minimum(at + _AROUND, len(ordered) - 1)
    apart = (ordered[high] - ordered[low]) / np.maximum(1, high - low)
    steps = np.diff(np.unique(ordered))
    half = 0.5001 * float(steps.min()) if len(steps) else 0.0
    return np.asarray(np.where(half <= _ROUNDED * apart, np.maximum(half, _NEAR * apart), _NEAR * apart))


def _agreement(first: pa.ChunkedArray, second: pa.ChunkedArray) -> float | None:
    """By how many standard errors cells side by side agree more than cells at random; None if none could."""
    mine, theirs = (np.asarray(t.fill_null("").to_pylist(), str) for t in same_text([first, second]))
    values, counts = np.unique(theirs, return_counts=True)
    shown = np.isin(values, mine)
    if counts[shown].sum() < _SHOWN * len(mine) or (shown.sum() == len(values) == 1):
        return None
    at = np.minimum(np.searchsorted(values, mine), len(values) - 1)
    chance = float(np.where(values[at] == mine, counts[at] / len(mine), 0.0).mean())
    agree = float((mine == theirs).mean())
    return (agree - chance) / (float(np.sqrt(chance * (1 - chance) / len(mine))) + 1 / len(mine))
