"""The publisher's question: how much would my aggregates give away?

An intruder who knows people's other columns reconstructs the masked one from the aggregates, by whatever
method: its result comes in as data, row by row, and is held against the truth. A plain guess is the mean of
the group, which the aggregates say anyhow. Control are people who are not in the data: what is
reconstructed as well for them follows from the population, and coarser aggregates would not hide it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.assessment.differences import StackedLevels, stack_levels
from sfumato.assessment.risk.intervals import exact_interval
from sfumato.errors import DataError, ParameterError
from sfumato.io import scan
from sfumato.score import Score
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.sources import DataLike

Real = NDArray[np.float64]
Index = NDArray[np.int64]

_FEW_CONTROLS = 20  # of a group: with fewer, everybody's control stands in


@dataclass(frozen=True, eq=False)
class AggregateRisk:
    """How close an intruder comes, group by group. Internal: it is computed from the original.

    scores: over everybody.  groups: a row per group, with its size, the success of the intruder, of the
    group's mean and on people who are not in the data, and whether to coarsen it and why.  stacked: what
    this level tells together with others that are published.
    """

    scores: tuple[Score, ...]
    groups: pa.Table = field(repr=False)
    by: tuple[str, ...]
    value: str
    stacked: StackedLevels | None = None

    @property
    def coarsen(self) -> pa.Table:
        """The groups that should be joined with others before their aggregates are published."""
        return self.groups.filter(self.groups["coarsen"])

    @property
    def met(self) -> bool:
        """Whether no group has to be coarsened, and none follows from all levels together."""
        together = self.stacked is None or self.stacked.met
        return together and not any(self.groups["coarsen"].to_pylist())

    def __getitem__(self, name: str) -> Score:
        for score in self.scores:
            if score.name == name:
                return score
        raise ParameterError(f"no score is called {name!r}.", hint="see .scores")


@dataclass(frozen=True, eq=False)
class _People:
    truth: Real
    guess: Real
    group: NDArray[Any]  # keys as tuples, one object each


def assess_aggregates(
    table: Table | DataLike,
    reconstructed: Table | DataLike,
    *,
    by: str | Sequence[str],
    value: str,
    guess: str | None = None,
    control: tuple[Any, Any] | None = None,
    tolerance: float = 0.1,
    relative: bool = True,
    max_risk: float = 0.1,
    fewest: int = 3,
    confidence: float = 0.95,
    levels: Sequence[str | Sequence[str]] = (),
) -> AggregateRisk:
    """Hold a reconstruction against the truth, group by group.

    table: the confidential rows, with the groups and the true value.
    reconstructed: what an intruder made of the aggregates, row i about the person of row i; any table. A
    missing guess is no success.
    by, value: the columns of the groups and of the value.  guess: the reconstructed column, `value` if not
    given. control: the same two tables for people who are not in the data. tolerance: a guess is a success
    within this share of the true value (relative), or of its standard deviation. max_risk: how much better
    than a plain guess and the control an intruder may be. fewest: smaller groups are always to be
    coarsened: in a group of two, each one knows the other's value. levels: other columns by which the same
    value is published, too. Small groups are then taken to be left out everywhere, and are looked for among
    the differences of what is published.

    >>> people = sf.samples.members(300).select(["region", "age", "cost"])
    >>> published = sf.Aggregates.compute(people, by="region", values="cost")
    >>> guess = sf.MoorePenrose().fit(people.drop(["cost"]), published).reconstruct().data
    >>> found = sf.assess_aggregates(people, guess, by="region", value="cost")
    >>> found.coarsen["region"].to_pylist()
    []
    """
    by = (by,) if isinstance(by, str) else tuple(by)
    faults = []
    if not tolerance > 0:
        faults.append("tolerance is positive")
    if not 0 <= max_risk <= 1:
        faults.append("max_risk is a share")
    if not 0 < confidence < 1:
        faults.append("confidence lies between 0 and 1")
    if not by:
        faults.append("there is a column of groups")
    if faults:
        raise ParameterError(f"{'; '.join(faults)}.", hint="see docs/publish-aggregates.md")
    people = _read(table, reconstructed, by, value, guess or value, "the reconstruction")
    others = (
        None
        if control is None
        else _read(*control, by, value, guess or value, "the control's reconstruction")
    )
    unit = float(np.std(people.truth)) or 1.0
    keys, group = np.unique(people.group, return_inverse=True)
    sizes = np.bincount(group).astype(np.float64)
    mean = np.bincount(group, people.truth) / sizes
    attack = _close(people.truth, people.guess, tolerance, relative, unit)
    plain = _close(people.truth, mean[group], tolerance, relative, unit)
    found = _Groups(keys, sizes, group, attack, plain, people.truth, people.guess, mean)
    pooled, own = _controls(others, keys, tolerance, relative, unit)
    rows = _judged(found, pooled, own, max_risk, fewest, confidence)
    columns = {name: [key[i] for key in keys] for i, name in enumerate(by)}
    groups = pa.table({**columns, **{k: [r[k] for r in rows] for k in rows[0]}})
    scores = _scores(found, pooled, groups, by, value, tolerance, relative, confidence, others is not None)
    others_too = [(level,) if isinstance(level, str) else tuple(level) for level in levels]
    stacked = _stacked(table, [by, *others_too], fewest) if others_too else None
    return AggregateRisk(scores, groups, by, value, stacked)


def _stacked(table: Table | DataLike, levels: Sequence[tuple[str, ...]], fewest: int) -> StackedLevels:
    original = table if isinstance(table, Table) else scan(table, keep_text=True)
    names = list(dict.fromkeys(name for level in levels for name in level))
    original.schema.require(names)
    return stack_levels({name: _cells(original, name) for name in names}, levels, fewest)


@dataclass(frozen=True, eq=False)
class _Groups:
    keys: NDArray[Any]
    sizes: Real
    group: Index
    attack: NDArray[np.bool_]
    plain: NDArray[np.bool_]
    truth: Real
    guess: Real
    mean: Real


def _read(
    table: Table | DataLike,
    reconstructed: Table | DataLike,
    by: tuple[str, ...],
    value: str,
    guess: str,
    what: str,
) -> _People:
    original = table if isinstance(table, Table) else scan(table, keep_text=True)
    other = reconstructed if isinstance(reconstructed, Table) else scan(reconstructed, keep_text=True)
    original.schema.require([*by, value])
    other.schema.require([guess])
    truth = _numbers(original, value)
    got = _numbers(other, guess)
    if len(truth) != len(got):
        raise DataError(
            f"{what} has {len(got)} rows, the people are {len(truth)}.",
            hint="row i is about the person of row i",
        )
    if not len(truth):
        raise DataError("there are no people.", hint="give rows")
    columns = [_cells(original, name) for name in by]
    group = np.empty(len(truth), object)
    group[:] = list(zip(*columns, strict=True))
    known = ~np.isnan(truth)  # a person without a guess is not found, and still one of the group
    if not known.any():
        raise DataError("the true value is missing for everybody.", hint="name a column with values")
    return _People(truth[known], got[known], group[known])


def _numbers(table: Table, name: str) -> Real:
    try:
        parts = [b.column(0).cast(pa.float64(), safe=False) for b in table.batches([name])]
    except pa.ArrowInvalid:  # its words quote a cell
        raise DataError(
            f"column '{name}' holds cells that are not numbers.", hint="name a numeric column"
        ) from None
    return np.concatenate([np.empty(0), *(p.fill_null(np.nan).to_numpy(zero_copy_only=False) for p in parts)])


def _cells(table: Table, name: str) -> list[str]:
    """As text, so that groups of any type can be sorted; missing is a group of its own."""
    return ["" if v is None else str(v) for b in table.batches([name]) for v in b.column(0).to_pylist()]


def _close(truth: Real, guess: Real, tolerance: float, relative: bool, unit: float) -> NDArray[np.bool_]:
    room = tolerance * (np.abs(truth) if relative else unit)
    return np.asarray(np.abs(guess - truth) <= room * (1 + 1e-12))


def _controls(
    others: _People | None, keys: NDArray[Any], tolerance: float, relative: bool, unit: float
) -> tuple[tuple[int, int], dict[Any, tuple[int, int]]]:
    """Successes and people: of all controls, and of those of each group."""
    if others is None:
        return (0, 0), {}
    close = _close(others.truth, others.guess, tolerance, relative, unit)
    own: dict[Any, tuple[int, int]] = {}
    known = set(keys)
    for key, hit in zip(others.group, close, strict=True):
        if key in known:
            hits, n = own.get(key, (0, 0))
            own[key] = hits + int(hit), n + 1
    return (int(close.sum()), len(close)), own


def _judged(
    found: _Groups,
    pooled: tuple[int, int],
    own: dict[Any, tuple[int, int]],
    max_risk: float,
    fewest: int,
    confidence: float,
) -> list[dict[str, Any]]:
    hits = np.bincount(found.group, found.attack, len(found.keys))
    plain = np.bincount(found.group, found.plain, len(found.keys)) / found.sizes
    error = np.bincount(found.group, _error(found), len(found.keys)) / found.sizes
    usual = (
        np.bincount(found.group, np.abs(found.mean[found.group] - found.truth), len(found.keys)) / found.sizes
    )
    strict = 1 - (1 - confidence) / len(found.keys)  # all intervals hold at once
    rows = []
    for g, key in enumerate(found.keys):
        n = int(found.sizes[g])
        low, high = exact_interval(int(hits[g]), n, strict)
        mine = own.get(key, (0, 0))
        used = mine if mine[1] >= _FEW_CONTROLS else pooled
        control = used[0] / used[1] if used[1] else None
        against = max(float(plain[g]), control or 0.0)
        why = ""
        if n < fewest:
            why = "too few people"
        elif low > against + max_risk:
            why = "guessed too well"
        rows.append(
            {
                "people": n, "success": float(hits[g]) / n, "low": low, "high": high,
                "group_mean": float(plain[g]), "control": control, "error": float(error[g]),
                "error_of_group_mean": float(usual[g]), "coarsen": bool(why), "why": why,
            }
        )  # fmt: skip
    return rows


def _error(found: _Groups) -> Real:
    """How far each guess is off; where there is none, the mean of the group is what is left to guess."""
    guess = np.where(np.isnan(found.guess), found.mean[found.group], found.guess)
    return np.asarray(np.abs(guess - found.truth))


def _scores(
    found: _Groups, pooled: tuple[int, int], groups: pa.Table, by: tuple[str, ...], value: str,
    tolerance: float, relative: bool, confidence: float, controlled: bool,
) -> tuple[Score, ...]:  # fmt: skip
    n = len(found.truth)
    hits = int(found.attack.sum())
    low, high = exact_interval(hits, n, confidence)
    within = f"{tolerance:.0%} of the value" if relative else f"{tolerance:g} standard deviations"
    control = pooled[0] / pooled[1] if controlled and pooled[1] else None
    knowledge = f"everything but {value}, and its aggregates by {', '.join(by)}"
    error = float(_error(found).mean())
    usual = float(np.abs(found.mean[found.group] - found.truth).mean())
    ratio = error / usual if usual > 0 else (1.0 if error == 0 else math.inf)
    flagged = int(np.sum(groups["coarsen"].to_numpy(zero_copy_only=False)))
    return (
        Score(
            "aggregates, guessed closely", "attack", hits / n, (0.0, 1.0), "lower",
            f"The share of people whose {value} is reconstructed to within {within}.",
            low=low, high=high, confidence=confidence, columns=(*by, value), knowledge=knowledge,
            baseline=float(found.plain.mean()), control=control,
            details={"groups": groups.to_pylist()},
        ),
        Score(
            "aggregates, error against the group mean", "attack", ratio, (0.0, math.inf), "higher",
            "The intruder's mean absolute error over that of guessing the group's mean: below 1, the other "
            "columns help.",
            columns=(*by, value), knowledge=knowledge, baseline=1.0,
        ),
        Score(
            "aggregates, groups to coarsen", "risk", flagged / len(groups), (0.0, 1.0), "lower",
            "The share of groups that are too small, or whose people are guessed too well.",
            columns=(*by, value),
        ),
    )  # fmt: skip
