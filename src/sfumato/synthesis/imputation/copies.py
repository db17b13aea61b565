"""Drawn rows that repeat a row of the data: how many, how many chance would bring, and a guard against more.

Chance is what other people of the same population would do, the holdout's share. It needs no holdout: a row
taken out of the data is a new person to the rest, so it is the share of rows that somebody else has as well.

The guard draws a repeating row again now and then, so often that the share falls to the holdout's. Never to
none: a release in which nobody has the most common combinations tells which those are. Rows of one person
alone and rows that several share are brought down each to its own share. Repeating rows are the usual ones,
so taking some away would move every column towards the unusual: other rows are drawn again, too, so often
that each column keeps the shares it has in the data.
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
_GUARDED = 200  # times a row may be drawn again
_MOST = (
    3.0  # what a row may weigh at most, as a multiple of the mean: so often one is drawn for each that stays
)
_ROUNDS = 40  # of raking


@dataclass(frozen=True, eq=False)
class Originals:
    """The rows that were learnt from, as 64 bits each. Confidential.

    keys: (k,) sorted, each once; persons: (k,) how many persons have it; chance: by how many persons have it
    (one, several), the share of other people's rows that would. cuts: where a number is close to another;
    without it rows are equal or not.
    """

    keys: Hashes
    persons: NDArray[np.int64]
    chance: tuple[float, float]
    cuts: Mapping[str, Floats] | None = None

    @classmethod
    def of(
        cls,
        frame: Frame,
        weights: Floats | None = None,
        cuts: Mapping[str, Floats] | None = None,
        whose: NDArray[np.int64] | None = None,
    ) -> Originals:
        """cuts: of numbers, those within one part count as equal. whose: (rows,) the person of each row."""
        keys, place = np.unique(_hashes(frame, cuts or {}), return_inverse=True)
        whose = np.arange(len(place)) if whose is None else whose
        persons = np.bincount(np.unique(np.stack([place, whose]), axis=1)[0], minlength=len(keys))
        others = persons[place] - 1  # of a person who is taken out
        share = [float(np.average(hit, weights=weights)) for hit in (others == 1, others > 1)]
        return cls(keys, persons.astype(np.int64), (share[0], share[1]), cuts)

    def persons_of(self, frame: Frame) -> NDArray[np.int64]:
        """For each row, how many persons of the data have it."""
        wanted = _hashes(frame, self.cuts or {})
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[place] == wanted, self.persons[place], 0)

    @property
    def people(self) -> int:
        """How many persons were learnt from, counted once for each row they have."""
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


@dataclass(frozen=True, eq=False)
class Guard:
    """How often a drawn row stays: by how many persons' rows it repeats (none, one, several), and its cells.

    kinds: log-weights, at most 0. columns: log-weights of cells, which add up to _MOST at most, 1 on average.
    """

    originals: Originals
    kinds: Floats
    columns: Mapping[str, Floats]
    cuts: Mapping[str, Floats]

    @classmethod
    def of(
        cls,
        originals: Originals,
        frame: Frame,
        shares: Mapping[str, Floats],
        cuts: Mapping[str, Floats],
    ) -> Guard:
        """frame: rows as drawn; shares: of each column's cells in the data.

        Raking: the weight of repeating rows falls until they are the holdout's share, or stays where they are
        fewer; the weights of cells move until each column has its shares. All see the weights that count.
        """
        kind = np.minimum(originals.persons_of(frame), 2)
        places = {n: cells(frame[n], cuts.get(n), len(shares[n])) for n in shares}
        least = 1 / (originals.people + 1)  # never none: that tells as well
        guard = cls(originals, np.zeros(3), {n: np.zeros(len(s)) for n, s in shares.items()}, dict(cuts))
        for _ in range(_ROUNDS):
            for k, chance in enumerate(originals.chance, 1):
                now = np.bincount(kind, guard._weights(kind, places), 3)
                now, wanted = now / now.sum(), max(chance, least)
                if 0 < now[k] < 1:
                    odds = wanted * (1 - now[k]) / (max(1 - wanted, least) * now[k])
                    guard.kinds[k] = min(guard.kinds[k] + np.log(odds), 0.0)
            for name, wanted_shares in shares.items():
                now = np.bincount(places[name], guard._weights(kind, places), len(wanted_shares))
                now = now / np.exp(guard.kinds)[kind].sum()
                there = (now > 0) & (wanted_shares > 0)
                guard.columns[name][there] += np.log(wanted_shares[there] / now[there])
        return guard

    def _weights(self, kind: NDArray[np.int64], places: Mapping[str, NDArray[np.int64]]) -> Floats:
        total = np.zeros(len(kind))
        for name, own in self.columns.items():
            total += own[places[name]]
        return np.asarray(np.exp(np.minimum(total, np.log(_MOST)) + self.kinds[kind]))

    def refused(self, frame: Frame, draw: Draw, attempt: int) -> Bools:
        """Which rows are to be drawn again."""
        kind = np.minimum(self.originals.persons_of(frame), 2)
        places = {n: cells(frame[n], self.cuts.get(n), len(own)) for n, own in self.columns.items()}
        again: Bools = draw.random(len(kind)) * _MOST >= self._weights(kind, places)
        return again if attempt < _GUARDED else np.zeros_like(again)


def cells(values: Floats, cuts: Floats | None, size: int) -> NDArray[np.int64]:
    """The cell of each value: its code, or of numbers the part between cuts, missing last."""
    if cuts is None:
        return values.astype(np.int64)
    return np.where(np.isnan(values), size - 1, np.searchsorted(cuts, values, side="right"))


def shares(originals: Originals, frame: Frame) -> tuple[float, float]:
    """The share of rows that repeat one person's row, and several persons'."""
    persons = originals.persons_of(frame)
    return float((persons == 1).mean()), float((persons > 1).mean())


@dataclass(frozen=True, eq=False)
class CopyGuard:
    """What is known of repeated rows: of equal ones, and of nearly equal ones where there are numbers.

    columns: the share of each cell of each column in the data; cuts: of numbers.
    """

    exact: Originals
    near: Originals | None
    columns: Mapping[str, Floats]
    cuts: Mapping[str, Floats]

    @classmethod
    def of(
        cls,
        frame: Frame,
        variables: Variables,
        weights: Floats | None,
        whose: NDArray[np.int64] | None = None,
    ) -> CopyGuard:
        """Of the rows that were learnt from. whose: the person of each."""
        cuts = {v.name: _cuts(frame[v.name]) for v in variables.columns if v.book is None}
        near = Originals.of(frame, weights, cuts, whose) if cuts else None
        columns = {}
        for variable in variables.columns:
            name, size = variable.name, variable.size
            size = len(cuts[name]) + 2 if size is None else size
            counted = np.bincount(cells(frame[name], cuts.get(name), size), weights, size)
            columns[name] = np.asarray(counted / counted.sum())
        return cls(Originals.of(frame, weights, None, whose), near, columns, cuts)

    def looked_at(
        self, pilot: Callable[[Guard | None], Frame], reject: bool
    ) -> tuple[Guard | None, NoGuarantee]:
        """The guard, if one is asked for, and what to say. pilot: draws rows to look at, with a guard."""
        frame, guard = pilot(None), None
        drawn = sum(shares(self.exact, frame))
        if reject:
            guard = Guard.of(self.exact, frame, self.columns, self.cuts)
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
