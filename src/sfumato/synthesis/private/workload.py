"""What the rows are for: tables and models that count more, and the errors to expect of their tables.

    ("age", "sex"), "age, sex, sick"      # tables of two or three columns
    "sick ~ age + sex", "sick ~ ."        # a model of the first from the others, or from all

Pairs are what is measured, so a workload is a weight for every pair: the budget is split to make the weighted
sum of expected errors small (allocation.py). What is expected follows from public numbers before the fit, and
from answers that were paid for afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa

from sfumato.errors import ParameterError, listed
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.private import allocation as budget
from sfumato.synthesis.private.graph import Pair
from sfumato.synthesis.private.measurement import TARGET_WEIGHT, Measured, noise_of
from sfumato.synthesis.private.purse import kept_share
from sfumato.synthesis.private.resolution import MAX_CLASSES
from sfumato.synthesis.private.variables import DomainVariables

WEIGHT = 10.0  # of a pair that the workload names; others weigh 1
_HINT = 'workload=[("age", "sex"), "sick ~ age + sex"]'

Entry = str | tuple[str, ...]


@dataclass(frozen=True)
class WorkloadItem:
    """A table of two or three columns, or a model: the first column from the others, or from all others."""

    columns: tuple[str, ...]
    model: bool = False
    all_others: bool = False

    @classmethod
    def of(cls, entry: Entry) -> WorkloadItem:
        """What an entry says."""
        if not isinstance(entry, str):
            return cls(tuple(entry))
        if "~" not in entry:
            return cls(tuple(n.strip() for n in entry.split(",")))
        target, _, others = entry.partition("~")
        if others.strip() == ".":
            return cls((target.strip(),), True, True)
        return cls((target.strip(), *(n.strip() for n in others.split("+"))), True)

    @property
    def fault(self) -> str | None:
        """Why it is neither a table nor a model."""
        if len(set(self.columns)) < len(self.columns) or not all(self.columns):
            return "an entry of the workload names a column twice, or none"
        if not self.model and len(self.columns) not in (2, 3):
            return "a table of the workload has two or three columns"
        if self.model and not self.all_others and len(self.columns) < 2:
            return "a model of the workload has a target and other columns"
        return None

    @property
    def name(self) -> str:
        """The entry as text."""
        if not self.model:
            return ", ".join(self.columns)
        return f"{self.columns[0]} ~ {'.' if self.all_others else ' + '.join(self.columns[1:])}"

    def pairs(self, names: Sequence[str]) -> dict[tuple[str, str], float]:
        """The pairs of columns that it needs, and what they weigh: a model's among each other, too."""
        if self.all_others:
            return {(self.columns[0], n): WEIGHT for n in names if n != self.columns[0]}
        weights = dict.fromkeys(combinations(self.columns, 2), WEIGHT)
        if self.model:
            weights |= dict.fromkeys(combinations(self.columns[1:], 2), TARGET_WEIGHT)
        return weights


def items(entries: Sequence[Entry] | None) -> list[WorkloadItem]:
    """The entries read."""
    return [WorkloadItem.of(e) for e in entries or ()]


def written(entries: Sequence[Entry] | None) -> list[str] | None:
    """The entries as texts."""
    return None if entries is None else [item.name for item in items(entries)]


def weights(entries: Sequence[Entry] | None, domain: Domain, variables: DomainVariables) -> dict[Pair, float]:
    """What each pair of variables weighs, where it is not 1; columns of one variable need no pair."""
    names, found = [b.name for b in domain.released], dict[Pair, float]()
    for item in items(entries):
        unknown = [repr(n) for n in item.columns if n not in names]
        if unknown:
            raise ParameterError(
                f"the workload names columns that are not there: {listed(unknown)}.",
                hint=f"there are {listed([repr(n) for n in names])}",
            )
        for pair, weight in item.pairs(names).items():
            homes = sorted(variables.place(names.index(n)) for n in pair)
            place = homes[0], homes[1]
            if place[0] != place[1] and place[1] < len(variables.every):
                found[place] = max(weight, found.get(place, 0.0))
    return found


def expected_before(
    entries: Sequence[Entry] | None, domain: Domain, variables: DomainVariables,
    matters: Mapping[Pair, float], amount: float, rows: float, most: int, pure: bool,
) -> pa.Table:  # fmt: skip
    """From public numbers alone: how much noise may move, if every pair is measured.

    amount: of the budget for pairs; most: rows of a person. Noise of all pairs, weighed, is least where their
    shares are as (weight cells)^(2/3), with pure epsilon as (weight cells)^(1/2). Pairs see at most
    `MAX_CLASSES` classes of a variable.
    """
    sizes = [min(size, MAX_CLASSES) for size in variables.sizes[: len(variables.every)]]
    pairs = list(combinations(range(len(sizes)), 2))
    cells = np.array([float(sizes[a] * sizes[b]) for a, b in pairs])
    parts = (np.array([matters.get(p, 1.0) for p in pairs]) * cells) ** (0.5 if pure else 2 / 3)
    given = amount * parts / max(float(parts.sum()), 1e-300)
    kept = np.array([kept_share([sizes[j] for j in p]) for p in pairs])
    deviation = most / given if pure else budget.C * most * kept / np.sqrt(2 * given)
    moved = np.minimum(0.5 * cells * deviation / rows, 1.0)
    return _table(entries, domain, variables, dict(zip(pairs, moved.tolist(), strict=True)), None)


def expected_after(entries: Sequence[Entry] | None, domain: Domain, measured: Measured) -> pa.Table:
    """From what was measured: the share of rows by which each pair's table is expected to be off.

    A measured pair: what shrinkage leaves of its noise; another: as much as its dependence moves. And what
    noise moves in its columns. With pure epsilon nothing is known of pairs that were not measured.
    """
    own = [
        min(0.5 * budget.C * noise_of(m, c) / measured.rows, 1.0)
        for m, c in zip(measured.own, measured.classes, strict=False)
    ]
    found: dict[Pair, float | None] = {(j, j): error for j, error in enumerate(own)}
    phi = measured.dependence()
    amounts = {m.columns: m for m in measured.pairs}
    for pair in combinations(range(len(measured.variables.every)), 2):
        m = amounts.get(pair)
        if m is not None:
            one = np.ones(1)
            alone = measured.alone(pair)
            lost = float(budget.errors(alone, phi.get(pair, 1.0), 1.0, one, measured.rows, m.variance)[1][0])
        elif pair in phi:
            lost = budget.C * phi[pair] * measured.rows
        else:
            found[pair] = None
            continue
        found[pair] = min(math.hypot(0.5 * lost / measured.rows, own[pair[0]], own[pair[1]]), 1.0)
    return _table(entries, domain, measured.variables, found, {m.columns for m in measured.pairs})


def _table(
    entries: Sequence[Entry] | None, domain: Domain, variables: DomainVariables,
    errors: Mapping[Pair, float | None], there: set[tuple[int, ...]] | None,
) -> pa.Table:  # fmt: skip
    """One row a pair of each entry: entry, first, second, measured (if it is known), expected_error."""
    names = [b.name for b in domain.released]
    asked = items(entries) or [WorkloadItem(pair) for pair in combinations(names, 2)]
    out: dict[str, list[object]] = {
        "entry": [],
        "first": [],
        "second": [],
        "measured": [],
        "expected_error": [],
    }
    for item in asked:
        for first, second in item.pairs(names):
            homes = sorted(variables.place(names.index(n)) for n in (first, second))
            pair = homes[0], homes[1]
            same = pair[0] == pair[1]
            row = (
                item.name,
                first,
                second,
                None if there is None else same or pair in there,
                errors.get(pair),
            )
            for column, value in zip(out, row, strict=True):
                out[column].append(value)
    kinds = (pa.string(), pa.string(), pa.string(), pa.bool_(), pa.float64())
    return pa.table({n: pa.array(v, kind) for (n, v), kind in zip(out.items(), kinds, strict=True)})
