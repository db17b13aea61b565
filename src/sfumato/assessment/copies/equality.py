"""Released rows that equal a row of the original, counted over all rows of all files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.copies.pairs import joining
from sfumato.assessment.copies.rarity import RowTree
from sfumato.assessment.copies.tails import Tail, detectable, tail
from sfumato.assessment.risk.classes import as_they_stand, row_keys_of, shared_codes
from sfumato.seeds import Key
from sfumato.table import Table

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_STRATA = 5
_MOST_ROWS = 600_000  # different rows of all files that are compared
_MIX = np.uint64(0x9E3779B97F4A7C15)
_Z = 1.96  # of the interval of the share
_LESS = (1.0, 2.0)  # people who do not count for a row
_ROOM = 0.02  # strata in which nearly everything is equal by chance say nothing


@dataclass(frozen=True, eq=False)
class EqualRows:
    """What the files have in common, each different row once.

    n: how many rows of each file are equal to it: original, released, control; the last None without one.
    rarity: -log p of each different row by chance (`RowTree`).
    tail: originals that are met in the release, against controls. seen: the smallest share of copied rows
    that would be seen 95 times in 100. part: the share of the originals that is looked at.
    """

    n: tuple[Ints, Ints, Ints | None]
    rarity: Floats
    tail: Tail
    seen: float
    part: float = 1.0

    @property
    def equal(self) -> int:
        """Released rows that equal an original."""
        return int(self.n[1][self.n[0] > 0].sum())

    def copied(self) -> tuple[float, float, float]:
        """The share of released rows that are copies, with its interval.

        A released row is equal to an original because it is a copy, or by chance. Chance is how often rows
        are equal to one of as many people outside: in a stratum of rows that are about as rare,
        share(equal to an original) = x + (1 - x) q, share(equal to a control) = q. The strata are averaged by
        how much each says; the rarest say most.
        """
        original, released, control = self.n
        sizes = float(original.sum()), float(original.sum() if control is None else control.sum())
        reached = min(1.0, sizes[1] / sizes[0])  # of the originals: no more than there are people outside
        met = _among(original, reached)
        if control is not None:
            rows, chance = released, _among(control, min(1.0, sizes[0] / sizes[1]))
        else:  # how often another original has the row of an original
            rows, chance = original, (original > 1).astype(float)
        values, precisions = [], []
        for part in self._strata():
            many, others = float(released[part].sum()), float(rows[part].sum())
            if not many or not others:
                continue
            s = float((released[part] * met[part]).sum()) / many
            q = float((rows[part] * chance[part]).sum()) / others
            room = (1 - q) * reached
            if room < _ROOM:
                continue
            noise = (s * (1 - s) + 1 / many) / many + (q * (1 - q) + 1 / others) / others
            values.append((s - q) / room)
            precisions.append(room**2 / noise)
        if not values:
            return 0.0, 0.0, 1.0
        weights = np.array(precisions)
        value = float((weights * values).sum() / weights.sum())
        half = _Z / float(np.sqrt(weights.sum()))
        ends = (value - half, value, value + half)
        low, mid, high = (min(1.0, max(0.0, x / self.part)) for x in ends)
        return mid, low, high

    def _strata(self) -> Iterator[NDArray[np.bool_]]:
        """Different rows in parts that are about as rare, each with about as many released rows."""
        here = np.flatnonzero(self.n[1] > 0)
        order = here[np.argsort(self.rarity[here], kind="stable")]
        running = np.cumsum(self.n[1][order])
        marks = np.searchsorted(running, running[-1] * np.arange(1, _STRATA) / _STRATA)
        edges = [-np.inf, *np.unique(self.rarity[order[marks]]), np.inf]
        for low, high in pairwise(edges):
            yield (self.rarity >= low) & (self.rarity < high)


def _among(n: Ints, share: float) -> Floats:
    """The chance that at least one of n rows is in a part of the file."""
    return np.asarray(1.0 - (1.0 - share) ** n if share < 1 else n > 0, np.float64)


def equal_rows(rows: CountedRows, error: float, key: Key) -> EqualRows:
    """Compare who is met in the release. rows: of the original, the release, and a control if there is one.

    Without a control, released rows are held against the rows of one half of the originals, drawn by the key:
    which of them are rows of the other half; and equal rows are paired (`pairs`), which uses every copy, but
    few of those that are there many times. The smaller chance pays for both.
    """
    n, control = rows.n, len(rows.n) > 2
    if control:
        rarity = rows.rarity_among(0, 2)
        met = np.where(n[1] > 0, rarity, -np.inf)
        found, against, weights = tail(met, met, (n[0], n[2])), met, (n[0], n[2])
    else:
        rarity = rows.rarity(n[0])
        halves = met_among(rows, 0, 1, key)
        found = replace(halves, p=min(1.0, 2 * min(halves.p, _joined(rows, key))))
        against, weights = np.where(n[0] > 1, rows.rarity(n[0], less=2.0), -np.inf), (n[0], n[0])
    seen = detectable(rarity, against, int(n[1].sum()), error, weights)
    return EqualRows((n[0], n[1], n[2] if control else None), rarity, found, seen)


def met_among(rows: CountedRows, people: int, judged: int, key: Key) -> Tail:
    """Are rows of one file rows of some people more often than other such people's are? An exact test.

    Half of the people are looked for among the rows that are judged and the rows of the other half: where
    nothing was copied all of these are people of one kind, and those that are met stand in random order. The
    rarity of a row rests on the first half alone, so that it prefers neither. Looking for everybody among
    everybody would count two people who are alike twice.
    """
    everyone = rows.n[people]
    wanted = key.generator("halves").multivariate_hypergeometric(
        everyone, int(everyone.sum()) // 2, method="marginals"
    )
    if not wanted.any():
        return Tail(1.0, 0, 0, max(1, int(rows.n[judged].sum())), 1)
    score = np.where(wanted > 0, rows.rarity(wanted), -np.inf)
    return tail(score, score, (rows.n[judged], everyone - wanted))


def _joined(rows: CountedRows, key: Key) -> float:
    """The chance of so many pairs that join both files: two of all rows that are equal, drawn by the key."""
    original, released = rows.n[0], rows.n[1]
    several = np.flatnonzero((original + released > 1) & (original > 0))
    if not len(several):
        return 1.0
    drawn = key.generator("pairs").hypergeometric(original[several], released[several], 2)
    rarity = rows.rarity(original + released, less=2.0)[several]
    held = drawn > 0
    return joining(rarity[held], drawn[held] == 1, int(original.sum()), int(released.sum()))


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Different rows as codes, and how often each is in each file."""

    n: list[Ints]
    codes: Ints
    sizes: tuple[int, ...]

    def rarity(self, people: Ints, *, less: float = 1.0) -> Floats:
        """-log p of each row by chance, among so many people who have it (`RowTree`).

        less: how many of them do not count for a row: itself, and, where it was met among them, the one it
        was met in.
        """
        return self._rarities(people, less)[0]

    def rarity_among(self, *files: int, less: float = 1.0) -> Floats:
        """The same among the people of some files, kept: several tests ask for it."""
        kept: dict[tuple[int, ...], list[Floats]] = self.__dict__.setdefault("_kept", {})
        if files not in kept:
            kept[files] = self._rarities(np.sum([self.n[f] for f in files], axis=0), *_LESS)
        return kept[files][_LESS.index(less)]

    def _rarities(self, people: Ints, *less: float) -> list[Floats]:
        there = people > 0
        tree = RowTree.fit(self.codes[there], people[there], self.sizes)
        (rare,) = tree.log_probability(self.codes[~there], 0.0)
        out = [np.empty(len(self.codes)) for _ in less]
        for each, found in zip(out, tree.log_probability(self.codes[there], *less), strict=True):
            each[there] = -found
            each[~there] = -rare
        return out


def counted_rows(files: Sequence[Table], columns: Sequence[str]) -> CountedRows:
    """How often each different row is in each file. Of very many a part is looked at, chosen by values."""
    counted = [as_they_stand(f, columns).counts(*columns) for f in files]
    counts = [c.n for c in counted]
    codes, sizes = shared_codes(counted)
    del counted
    keys = row_keys_of(codes, sizes)
    if sum(map(len, keys)) > _MOST_ROWS:  # the same values in every file, so that equal rows stay equal
        part = max(2, sum(map(len, keys)) // _MOST_ROWS)
        kept = [np.flatnonzero((k * _MIX >> np.uint64(32)) % np.uint64(part) == 0) for k in keys]
        codes = [c[at] for c, at in zip(codes, kept, strict=True)]
        keys = [k[at] for k, at in zip(keys, kept, strict=True)]
        counts = [n[at] for n, at in zip(counts, kept, strict=True)]
    _, first, inverse = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
    every = np.concatenate(codes)[first].astype(np.int64)
    parts = np.split(inverse, np.cumsum([len(c) for c in codes])[:-1])
    n = [np.bincount(p, c, len(every)).astype(np.int64) for p, c in zip(parts, counts, strict=True)]
    return CountedRows(n, every, tuple(sizes))
