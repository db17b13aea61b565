"""An intruder who predicts: which released row looks like what this person's row must look like?

Methods that exchange quasi-identifiers between rows that are alike promise that a row is found *by its
quasi-identifiers* with a chance of at most 1/k. The other columns stay, and they depend on the
quasi-identifiers: whoever learns from the release how, finds the one row of a group that suits a person.

For a person with the values x, and a released row r with the exchanged values x_r and the kept ones y_r:

    P(r is theirs) ~ w(x, x_r) P(y_r | x) / sum over s of w(x_s, x_r) P(y_r | x_s)

w falls with the distance, at the scale on which rows were exchanged; P(y | x) is a forest grown on the
release. The sum says who else, around that row, could have the kept values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.attacks.intruder import Floats, Ints, correspondence, known_columns, knows
from sfumato.assessment.attacks.linkage import leaf_numbers
from sfumato.assessment.attacks.success import CONFIDENCE, NothingToAttack, rate
from sfumato.assessment.audit.intervals import share
from sfumato.assessment.reading.alignment import Pair
from sfumato.errors import ParameterError
from sfumato.score import Score
from sfumato.seeds import Key

Truth = str | Sequence[int] | Ints | None

_USUAL_K = 10
_TREES, _LEAF = 50, 5
_VALUES = 20  # of a kept column that are told apart
_BINS = 10  # of a kept number
_NEAR = 20  # times k: released rows around a person that are looked at
_AROUND = 5  # times k: released rows around a row that share it
_LEAST = 1e-4  # a chance that no forest proves to be smaller
_ROUND = 1e9  # likelihoods that differ by less are equal
_CELLS = 4_000_000  # people times rows in memory at once


def predicting(
    pair: Pair,
    known: Sequence[str],
    *,
    key: Key,
    truth: Truth = "rows",
    k: int | None = None,
    people: int | None = None,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """How many people are found in this release by predicting what their row looks like.

    k: how many rows each was exchanged among, which sets the scale of nearness. people: attack so many, drawn
    by the key; all if not given.
    """
    own = correspondence(pair, truth)
    if own is None:
        raise ParameterError("a predicting intruder is judged by the truth.", hint="truth='rows', or by_key")
    some = _drawn(len(own), people, key)
    chance = _chances(pair, known, own[some], some, k or _USUAL_K, key)
    return [
        rate(
            "predicting intruder, found",
            chance,
            meaning="Share of people whose own released row is the one the intruder takes, by learning from "
            "the release how its other columns depend on what is known of the person.",
            knowledge=knows(known, pair=pair),
            columns=known,
            baseline=1 / pair.released.rows(),
            confidence=confidence,
            details={"learnt": list(_kept(pair, known)), "k": k},
        )
    ]


@dataclass(frozen=True, eq=False)
class Plays:
    """How often each record was found. found: of `rounds` plays; chance: the mean chance, ties shared."""

    found: Ints
    chance: Floats
    rounds: int
    k: int

    def proven(self, confidence: float = CONFIDENCE) -> int:
        """The records whose chance is above 1/k beyond doubt: exact tests of all, by Holm's rule."""
        from scipy.stats import binom

        tails = np.sort(binom.sf(self.found - 1, self.rounds, 1 / self.k))
        limits = (1 - confidence) / (len(tails) - np.arange(len(tails)))
        return int(np.logical_and.accumulate(tails <= limits).sum())


def played(
    plays: Iterable[tuple[Pair, Ints]], known: Sequence[str], *, key: Key, k: int, rounds: int
) -> Plays:
    """Attack releases that are made anew of the same people; each comes with whose row is whose."""
    found: Ints | None = None
    total: Floats = np.zeros(0)
    for number, (pair, own) in enumerate(plays):
        mine = key.derive("play", number)
        chance = _chances(pair, known, own, np.arange(len(own)), k, mine)
        if found is None:
            found, total = np.zeros(len(own), np.int64), np.zeros(len(own))
        found += mine.generator("ties").random(len(own)) < chance
        total += chance
    if found is None:
        raise ParameterError("nothing was played.", hint="rounds from 1 up")
    return Plays(found, total / rounds, rounds, k)


def predicted_again(
    plays: Iterable[tuple[Pair, Ints]],
    known: Sequence[str],
    *,
    key: Key,
    k: int,
    rounds: int,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """What a predicting intruder reaches over many releases of the same people: on average, and at worst.

    The average proves little. What a promise of 1/k is about is the chance of each single record.
    """
    out = played(plays, known, key=key, k=k, rounds=rounds)
    people, most = len(out.found), int(out.found.max())
    strict = 1 - (1 - confidence) / people
    _, low, high = share(most, rounds, strict)
    above = out.proven(confidence)
    knowledge = knows(known, ", in each of so many plays as the details say")
    said: dict[str, object] = {"rounds": rounds, "people": people, "k": k, "records_above": above}
    return [
        rate(
            "predicting intruder, played",
            out.chance,
            meaning="Share of people found by predicting what their row looks like, on average over "
            f"{rounds} releases that were made anew.",
            knowledge=knowledge,
            columns=known,
            baseline=1 / people,
            confidence=confidence,
            details=said,
        ),
        Score(
            name="records above the promise",
            section="attack",
            value=above / people,
            range=(0.0, 1.0),
            better="lower",
            meaning=f"Share of records that a predicting intruder finds with a chance above 1/{k}, beyond "
            f"doubt: each was found too often in {rounds} releases for it to be luck, all records taken "
            "together. No interval: those that are not proven may be above as well.",
            columns=tuple(known),
            knowledge=knowledge,
            baseline=0.0,
            details={**said, "refutes": above > 0},
        ),
        Score(
            name="largest chance of a single record",
            section="risk",
            value=most / rounds,
            range=(0.0, 1.0),
            better="lower",
            meaning=f"How often the record that was found most often was found, in {rounds} releases made "
            "anew. The interval allows for its being picked from all records.",
            low=low,
            high=high,
            confidence=confidence,
            columns=tuple(known),
            knowledge=knowledge,
            baseline=1 / k,
            details=said,
        ),
    ]


def _drawn(rows: int, most: int | None, key: Key) -> Ints:
    if most is None or rows <= most:
        return np.arange(rows)
    return np.sort(key.generator("people").choice(rows, most, replace=False)).astype(np.int64)


def _kept(pair: Pair, known: Sequence[str]) -> tuple[str, ...]:
    return tuple(c for c in pair.columns if c not in known)


def _chances(pair: Pair, known: Sequence[str], own: Ints, people: Ints, k: int, key: Key) -> Floats:
    """The chance that each person's own row is picked, ties shared. own: their released rows, -1 for none."""
    from scipy.spatial import cKDTree

    names, kept = known_columns(pair, known), _kept(pair, known)
    if not kept:
        raise NothingToAttack(
            "the release holds nothing but what the intruder knows.", hint="there is nothing to predict"
        )
    persons, rows = (np.concatenate(p, axis=1) for p in zip(*(_places(pair, n) for n in names), strict=True))
    persons = persons[people]
    values = np.stack([_values(pair, n) for n in kept], axis=1)
    forest = _forest(rows, values, key)
    tree = cKDTree(rows)
    around = min(len(rows), max(2, _AROUND * k))
    apart, beside = (x.reshape(len(rows), -1) for x in tree.query(rows, around))
    scale = np.maximum(apart[:, min(2 * k, around) - 1], 1e-3) ** 2
    likely = forest(rows)
    others = np.zeros(len(rows))
    near = np.exp(-(apart**2) / scale[:, None])
    for start in range(0, len(rows), max(1, _CELLS // around)):
        part = slice(start, start + max(1, _CELLS // around))
        fits = np.ones((len(apart[part]), around))
        for j, law in enumerate(likely):
            fits *= law[beside[part], values[part, j][:, None]]
        others[part] = (near[part] * fits).sum(axis=1)
    chance = np.empty(len(people))
    looked = min(len(rows), max(200, _NEAR * k))
    step = max(1, _CELLS // looked)
    for start in range(0, len(people), step):
        part = slice(start, start + step)
        away, at = (x.reshape(len(persons[part]), -1) for x in tree.query(persons[part], looked))
        score = -(away**2) / scale[at] - np.log(others[at] + _LEAST)
        for j, law in enumerate(forest(persons[part])):
            score += np.log(law[np.arange(len(at))[:, None], values[at, j]] + _LEAST)
        score = np.rint(score * _ROUND)
        top = score >= score.max(axis=1, keepdims=True)
        mine = ((at == own[part][:, None]) & top).any(axis=1)
        chance[part] = mine / top.sum(axis=1)
    return chance


def _forest(rows: Floats, values: Ints, key: Key) -> Callable[[Floats], list[Floats]]:
    """P(y | x) of each kept column: a function from places to one table (people, values) per column."""
    from sklearn.ensemble import RandomForestClassifier

    seed = int.from_bytes(key.derive("forest").to_bytes()[-4:], "little") >> 1
    model = RandomForestClassifier(_TREES, min_samples_leaf=_LEAF, random_state=seed, n_jobs=1)
    many = values.shape[1] > 1
    model.fit(rows.astype(np.float32), values if many else values[:, 0])

    def laws(places: Floats) -> list[Floats]:
        said = model.predict_proba(places.astype(np.float32))
        classes = model.classes_ if many else [model.classes_]
        out = []
        for law, names in zip(said if many else [said], classes, strict=True):
            table = np.zeros((len(places), int(values.max()) + 1))
            table[:, np.asarray(names, np.int64)] = law
            out.append(table)
        return out

    return laws


def _places(pair: Pair, name: str) -> tuple[Floats, Floats]:
    """Where people and released rows lie in one column, with variance 1: numbers by distance, names apart."""
    book = pair.leaves[name]
    original, released = pair.codes()
    people = original.codes[original.columns.index(name)].astype(np.int64)
    rows = released.codes[released.columns.index(name)].astype(np.int64)
    numbers = leaf_numbers(book.column, book.levels, pair.values.get(name))
    if numbers is None:
        points = np.eye(book.size)
    else:
        points = np.zeros((book.size, 2))
        points[: len(numbers), 0] = numbers - (numbers.mean() if len(numbers) else 0.0)
        points[len(numbers) :, 1] = np.abs(points[:, 0]).max(initial=1.0)  # missing: far from all
    spread = float(np.sqrt(points[people].var(axis=0).sum()))
    points = points / (spread if spread > 0 else 1.0)
    return points[people], (pair.spread[name] @ points)[rows]


def _values(pair: Pair, name: str) -> NDArray[np.int64]:
    """The kept value of each released row, few enough to be learnt: numbers in bins, rare names together."""
    book = pair.leaves[name]
    _, released = pair.codes()
    rows = released.codes[released.columns.index(name)].astype(np.int64)
    counts = np.bincount(rows, minlength=len(pair.spread[name]))
    numbers = leaf_numbers(book.column, book.levels, pair.values.get(name))
    if numbers is not None and np.count_nonzero(counts) > _VALUES:
        middles = pair.spread[name][:, : len(numbers)] @ numbers
        order = np.argsort(middles, kind="stable")
        share = np.empty(len(counts))
        share[order] = (np.cumsum(counts[order]) - counts[order] / 2) / max(len(rows), 1)
        cut: NDArray[np.int64] = np.minimum((share * _BINS).astype(np.int64), _BINS - 1)
        binned: NDArray[np.int64] = cut[rows]
        return binned
    rank = np.empty(len(counts), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    out: NDArray[np.int64] = np.minimum(rank, _VALUES)[rows]
    return out
