"""Membership inference: does a release tell who was in the data it was made from?

`shadow_membership` attacks a maker of releases, which it can run: it makes releases with and without chosen
people and learns the difference. `density_membership` attacks a released file with nothing but the file: do
released rows pile up on members more than on people who were left out?

Both work by Sfumato's `Key`: the same key gives the same scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.assessment.attacks import game
from sfumato.assessment.attacks.points import Coder, surroundings
from sfumato.assessment.audit.intervals import require
from sfumato.errors import DataError
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

__all__ = ["density_membership", "shadow_membership"]

Make = Callable[[Table, Key], Table | pa.Table]


def shadow_membership(
    make: Make,
    population: Table,
    *,
    key: Key,
    targets: int | Sequence[int] = 20,
    size: int | None = None,
    shadows: int = 32,
    trials: int = 32,
    columns: Sequence[str] | None = None,
    rates: Sequence[float] = (0.01, 0.1),
    confidence: float = 0.95,
) -> list[Score]:
    """How well releases tell which of some people were in the data, by shadow releases.

    make: `make(table, key)` gives a release of the table. It is run `1.5 shadows + trials` times.
    population: people like those in the data; confidential or simulated, one row a person.
    targets: how many people are attacked, drawn by the key, or which rows: outliers are the worst case.
    size: rows of a data set besides the targets; half of the others if left out.
    columns: what of a released row is looked at, and known of the targets.
    rates: shares of false alarms at which the hits are reported.
    """
    rows = population.rows()
    chosen = pick_targets(targets, rows, key)
    others = np.setdiff1d(np.arange(rows), chosen)
    size = len(others) // 2 if size is None else size
    require(
        "" if len(chosen) >= 1 and len(others) >= 2 else "targets and others are both needed",
        "" if 1 <= size <= len(others) else "size must leave enough rows that are not targets",
        "" if shadows >= 4 and trials >= 1 else "at least 4 shadows and one trial are needed",
        *_common(rates, confidence),
        hint="see docs/membership.md",
    )
    stored = population.to_arrow()
    coder = Coder.of([population], population.columns if columns is None else columns)
    people = coder.encode(stored.take(pa.array(chosen)))

    def run(coins: NDArray[np.bool_], key: Key) -> NDArray[np.float64]:
        generator = key.generator("rows")
        used = np.concatenate([generator.choice(others, size, replace=False), chosen[coins]])
        data = stored.take(pa.array(generator.permutation(used)))
        release = make(Table.from_arrow(data, population.schema), key.derive("release"))
        return surroundings(people, coder.encode(release), coder.ranked)

    played = game.play(
        run, len(chosen), shadows=shadows, trials=trials, key=key.derive("game"), label="membership"
    )
    return game.judged(
        played,
        name="membership by shadow releases",
        knowledge=f"the targets' values in {len(coder.columns)} columns, people like those in the data, and "
        "the method and its settings; not the other people in the data",
        heads="in the data",
        confidence=confidence,
        rates=rates,
        key=key,
        columns=coder.columns,
        details={"rows besides the targets": size},
    )


def density_membership(
    released: Table,
    members: Table,
    holdout: Table,
    *,
    key: Key,
    reference: Table | None = None,
    columns: Sequence[str] | None = None,
    most: int = 1_000,
    most_released: int = 100_000,
    rates: Sequence[float] = (0.01, 0.1),
    confidence: float = 0.95,
) -> list[Score]:
    """How well the density of released rows around a person tells members from people left out.

    Common people lie in dense places anyway. So the density is that of rows at the person, or nearly, against
    that of rows around; and of people whose nearest row is equally near, those with fewer rows around come
    first. People who score the same are named at random, so that the rate of false alarms holds.

    members: rows the release was made from; holdout: people like them whose rows were not used.
    reference: further people like them, neither members nor holdout: who lies around is then counted among
        them too.
    columns: those compared; all that the tables share if left out.
    most: how many members and how many of the holdout are attacked, drawn by the key.
    most_released: how many released (and reference) rows are looked at, drawn by the key; a part of a large
        release shows less than the whole.
    """
    tables = [released, members, holdout, *([reference] if reference else [])]
    names = (
        columns
        if columns is not None
        else [c for c in members.columns if all(c in t.columns for t in tables)]
    )
    require(
        "" if most >= 4 else "at least 4 people of each kind are attacked",
        "" if most_released >= 1 else "at least one released row is looked at",
        *_common(rates, confidence),
        hint="see docs/membership.md",
    )
    if not names:
        raise DataError("the tables share no columns.", hint="name columns that they share")
    coder = Coder.of([members, holdout], names)
    inside = _some(coder.encode(members), most, key.generator("members"))
    outside = _some(coder.encode(holdout), most, key.generator("holdout"))
    if min(len(inside), len(outside)) < 4:
        raise DataError(
            "at least 4 members and 4 people left out are needed.", hint="hold more people out of the release"
        )
    people = np.concatenate([inside, outside])
    looked = _some(coder.encode(released), most_released, key.generator("released"))
    found = surroundings(people, looked, coder.ranked, fit=False)
    around, nearest, density = found[:, 4], found[:, 3], found[:, 5]
    knowledge = f"a person's values in {len(names)} columns, and the released file"
    if reference is not None:
        others = _some(coder.encode(reference), most_released, key.generator("reference"))
        pooled = np.logaddexp(around, surroundings(people, others, coder.ranked, fit=False)[:, 4])
        density, around = density + around - pooled, pooled
        knowledge += "; a file of other people like those in the data"
    # Sums in another order differ by rounding, which must not decide between people who score the same. Of
    # two to whom a row lies equally near, the one with fewer rows around is the likelier member.
    density, nearest = np.round(density, 9), _then(np.round(nearest, 7), -np.round(around, 9))
    scores: list[Score] = []
    for name, values in (("membership by density", density), ("membership by nearest row", nearest)):
        shared: dict[str, Any] = {
            "section": "attack",
            "better": "lower",
            "knowledge": knowledge,
            "confidence": confidence,
            "columns": coder.columns,
            "details": {"members": len(inside), "left out": len(outside), "released rows": len(looked)},
        }
        scores += _split(values[: len(inside)], values[len(inside) :], name, rates, key, shared)
    return scores


def _split(
    inside: NDArray[np.float64],
    outside: NDArray[np.float64],
    name: str,
    rates: Sequence[float],
    key: Key,
    shared: dict[str, Any],
) -> list[Score]:
    """Thresholds are set on the first halves, and judged on the second (the rows are in random order).

    The area needs no threshold, and uses all.
    """
    first, second = len(inside) // 2, len(outside) // 2
    cut = _best_cut(inside[:first], outside[:second])
    judged = game.separation(
        inside[first:], outside[second:], outside[:second], cut, name, "in the data", rates, key, shared
    )
    whole = game.separation(inside, outside, outside, cut, name, "in the data", (), key, shared)
    return [whole[0], *judged[1:]]


def _then(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks by the first score, and where it ties by the second; equal in both is equal."""
    both = np.stack([first, second], axis=1)
    return np.asarray(np.unique(both, axis=0, return_inverse=True)[1].reshape(-1), np.float64)


def _best_cut(inside: NDArray[np.float64], outside: NDArray[np.float64]) -> float:
    """The threshold with the largest difference of the two shares above it."""
    cuts = np.unique(np.concatenate([inside, outside]))
    above = [1 - np.searchsorted(np.sort(s), cuts, side="right") / len(s) for s in (inside, outside)]
    return float(cuts[np.argmax(above[0] - above[1])])


def _some(rows: NDArray[np.float32], most: int, generator: np.random.Generator) -> NDArray[np.float32]:
    return np.asarray(rows[generator.permutation(len(rows))[:most]])


def pick_targets(targets: int | Sequence[int], rows: int, key: Key) -> NDArray[np.int64]:
    """So many rows drawn by the key, or the rows that were named."""
    if isinstance(targets, int):
        require(
            "" if 1 <= targets < rows else "targets must leave other people in the population",
            hint="fewer targets, or a larger population",
        )
        return np.sort(key.generator("targets").choice(rows, targets, replace=False))
    chosen = np.asarray(list(targets), np.int64)
    wrong = len(chosen) == 0 or len(set(chosen.tolist())) < len(chosen)
    wrong = wrong or chosen.min() < 0 or chosen.max() >= rows
    require("targets are different rows of the population" if wrong else "", hint="row numbers from 0")
    return chosen


def _common(rates: Sequence[float], confidence: float) -> tuple[str, str]:
    return (
        "" if all(0 < r < 1 for r in rates) else "rates of false alarms must be in (0, 1)",
        "" if 0 < confidence < 1 else "confidence must be in (0, 1)",
    )
