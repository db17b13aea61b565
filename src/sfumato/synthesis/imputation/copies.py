"""Drawn rows that repeat a row of the data: how many, how many chance would bring, and a guard against more.

Chance is what other people of the same population would do, the holdout's share. It needs no holdout: a row
taken out of the data is a new person to the rest, so it is the share of rows that somebody else has as well.

The guard draws a repeating row again now and then, so often that the share falls to the holdout's. Never to
none: a release in which nobody has the most common combinations tells which those are. Rows of one person
alone and rows that several share are brought down each to its own share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy import NoGuarantee
from sfumato.synthesis.imputation.draws import Draw, Floats
from sfumato.synthesis.imputation.variables import Frame, Variables, rows_of

Bools = NDArray[np.bool_]
Hashes = NDArray[np.uint64]
PILOT = 20_000  # rows drawn to see how many repeat one
_PARTS = 20  # of a number's range, by rank: within one, two numbers are nearly equal
_GUARDED = 60  # times a repeating row may be drawn again


@dataclass(frozen=True, eq=False)
class Originals:
    """The rows that were learnt from, as 64 bits each. Confidential.

    keys: (k,) sorted, each once; persons: (k,) how many rows have it; chance: by how many persons have it
    (one, several), the share of other people's rows that would. cuts: where a number is close to another;
    without it rows are equal or not.
    """

    keys: Hashes
    persons: NDArray[np.int64]
    chance: tuple[float, float]
    cuts: Mapping[str, Floats] | None = None

    @classmethod
    def of(
        cls, frame: Frame, variables: Variables, weights: Floats | None = None, *, near: bool = False
    ) -> Originals:
        """near: numbers in one twentieth of the data's count as equal."""
        numbers = [v.name for v in variables.columns if v.book is None] if near else []
        cuts = {n: _cuts(frame[n]) for n in numbers}
        keys, place, persons = np.unique(_hashes(frame, cuts), return_inverse=True, return_counts=True)
        others = persons[place] - 1  # of a row that is taken out
        share = [float(np.average(hit, weights=weights)) for hit in (others == 1, others > 1)]
        return cls(keys, persons, (share[0], share[1]), cuts)

    def persons_of(self, frame: Frame) -> NDArray[np.int64]:
        """For each row, how many rows of the data it repeats."""
        wanted = _hashes(frame, self.cuts or {})
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[place] == wanted, self.persons[place], 0)

    @property
    def rows(self) -> int:
        """How many rows were learnt from."""
        return int(self.persons.sum())


def _cuts(values: Floats) -> Floats:
    known = values[~np.isnan(values)]
    return np.unique(np.quantile(known, np.arange(1, _PARTS) / _PARTS)) if len(known) else np.empty(0)


def _hashes(frame: Frame, cuts: Mapping[str, Floats]) -> Hashes:
    """64 bits of each row: equal rows have the same, others hardly ever."""
    out = np.zeros(rows_of(frame), np.uint64)
    for name in sorted(frame):
        values = np.where(np.isnan(frame[name]), np.inf, frame[name])
        if name in cuts:
            values = np.searchsorted(cuts[name], values, side="right") + np.isinf(values)
        word = (values.astype(np.float64) + 0.0).view(np.uint64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
        out = (out ^ word ^ (word >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
        out ^= out >> np.uint64(29)
    return out


@dataclass(frozen=True)
class Guard:
    """How often a row that repeats one person's, or several persons', may stay."""

    originals: Originals
    stay: tuple[float, float]

    @classmethod
    def of(cls, originals: Originals, shares: tuple[float, float]) -> Guard:
        """shares: of drawn rows that repeat one person's row, and several persons'.

        With s the share as drawn, h the holdout's and Z the share of all draws that stay, repeating rows stay
        with h Z / s; where that is above 1, they are too few already and all stay.
        """
        least = 1 / (originals.rows + 1)
        chance = [max(h, least) for h in originals.chance]
        stay, bound = [1.0, 1.0], [s > 0 for s in shares]
        for _ in shares:
            free = 1 - sum(s for s, b in zip(shares, bound, strict=True) if b)
            left = max(free, least) / max(1 - sum(h for h, b in zip(chance, bound, strict=True) if b), least)
            stay = [h * left / s if b else 1.0 for h, s, b in zip(chance, shares, bound, strict=True)]
            bound = [b and a < 1 for a, b in zip(stay, bound, strict=True)]
        return cls(originals, (min(stay[0], 1.0), min(stay[1], 1.0)))

    def refused(self, frame: Frame, draw: Draw, attempt: int) -> Bools:
        """Which rows are to be drawn again."""
        persons = self.originals.persons_of(frame)
        stay = np.where(persons == 0, 1.0, np.where(persons == 1, *self.stay))
        again: Bools = draw.random(len(stay)) >= stay
        return again if attempt < _GUARDED else np.zeros_like(again)


def shares(originals: Originals, frame: Frame) -> tuple[float, float]:
    """The share of rows that repeat one person's row, and several persons'."""
    persons = originals.persons_of(frame)
    return float((persons == 1).mean()), float((persons > 1).mean())


@dataclass(frozen=True, eq=False)
class CopyGuard:
    """What is known of repeated rows: of equal ones, and of nearly equal ones where there are numbers."""

    exact: Originals
    near: Originals | None

    @classmethod
    def of(cls, frame: Frame, variables: Variables, weights: Floats | None) -> CopyGuard:
        """Of the rows that were learnt from."""
        numbers = any(v.book is None for v in variables.columns)
        near = Originals.of(frame, variables, weights, near=True) if numbers else None
        return cls(Originals.of(frame, variables, weights), near)

    def looked_at(
        self, pilot: Callable[[Guard | None], Frame], reject: bool
    ) -> tuple[Guard | None, NoGuarantee]:
        """The guard, if one is asked for, and what to say. pilot: draws rows to look at, with a guard."""
        frame, guard = pilot(None), None
        drawn = sum(shares(self.exact, frame))
        if reject:
            guard = Guard.of(self.exact, shares(self.exact, frame))
            frame = pilot(guard)
        return guard, self._said(frame, None if guard is None else drawn)

    def _said(self, frame: Frame, before: float | None) -> NoGuarantee:
        number = len(next(iter(frame.values())))
        found = f"{_percent(sum(shares(self.exact, frame)))} were equal to a row of the data in every column"
        words = f"Of {number:,} rows drawn to see, {found}; of rows of other people "
        words += f"{_percent(sum(self.exact.chance))} would be."
        if self.near is not None:
            near = _percent(sum(shares(self.near, frame)))
            words += (
                f" With numbers taken as equal within a twentieth of the data's, {near}; of other people's "
                f"{_percent(sum(self.near.chance))}."
            )
        if before is not None:
            words += (
                f" Repeating rows were drawn again now and then: without that it would be {_percent(before)}."
            )
        return NoGuarantee("rows repeated", words)


def _percent(share: float) -> str:
    return f"{share:.1%}" if share < 0.1 else f"{share:.0%}"
