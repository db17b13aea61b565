"""What a release cost: per column before -> after, which cost most, what another choice would gain.

Computed from the original: it is for the publisher, and belongs to the internal record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymization.nested_columns import Chains, losses_of
from sfumato.anonymization.problem import Problem
from sfumato.anonymization.suppression import FinalClasses
from sfumato.criteria import Criterion
from sfumato.errors import SfumatoError

if TYPE_CHECKING:
    from sfumato.anonymization.anonymize import Search
    from sfumato.anonymization.recoding import Recoding


@dataclass(frozen=True)
class ColumnChange:
    """One column. before, after: different values; level: the mean level of a cell; loss: its mean loss.

    share: of all that was lost, how much was lost here. goes_with: the column it is written from, where the
    two nest; what it lost is then part of what that one lost.
    """

    name: str
    before: int
    after: int
    level: float
    height: int
    loss: float
    share: float
    goes_with: str = ""


@dataclass(frozen=True)
class Explanation:
    """All columns, and what was lost in all."""

    columns: tuple[ColumnChange, ...]
    loss: float
    suppressed: int
    rows: int

    @property
    def dearest(self) -> ColumnChange:
        """The column that lost most."""
        return max(self.columns, key=lambda c: c.share)

    def to_dict(self) -> dict[str, Any]:
        """For the record."""
        return {
            "loss": self.loss,
            "suppressed": self.suppressed,
            "rows": self.rows,
            "dearest": self.dearest.name,
            "columns": [vars(c) for c in self.columns],
        }

    def __str__(self) -> str:
        lines = [
            f"'{c.name}': {c.before} -> {c.after} values, loss {c.loss:.3f}, {c.share:.0%} of all loss"
            for c in self.columns
        ]
        return "\n".join([*lines, f"suppressed: {self.suppressed} of {self.rows} rows; loss {self.loss:.4f}"])


def explain(settled: FinalClasses, chains: Chains | None = None) -> Explanation:
    """What became of each column."""
    problem = settled.problem
    assert problem.weights is not None
    weights = problem.weights / problem.weights.sum()
    kept = ~settled.withheld
    rows = max(problem.rows, 1)
    parts, losses = [], []
    for j, h in enumerate(problem.hierarchies):
        node = settled.nodes[:, j]
        loss = float((np.where(settled.withheld, 1.0, h.loss[node]) * settled.n).sum() / rows)
        losses.append(loss * float(weights[j]))
        parts.append((
            len(np.unique(problem.leaves[:, j])),
            len(np.unique(node[kept])),
            float((h.level_of[node] * settled.n).sum() / rows),
            h.height,
            loss,
        ))  # fmt: skip
    total = sum(losses)
    led = [
        ColumnChange(column, *losses_of(settled, chain, column), share=0.0, goes_with=chain.name)
        for chain in (chains or {}).values()
        for column in chain.heights
    ]
    return Explanation(
        (
            *(
                ColumnChange(name, *part, share=cost / total if total > 0 else 0.0)
                for name, part, cost in zip(problem.columns, parts, losses, strict=True)
            ),
            *led,
        ),
        settled.loss(),
        settled.suppressed,
        problem.rows,
    )


def alternatives(problem: Problem, criterion: Criterion, method: Search) -> dict[str, Mapping[str, float]]:
    """For each column, the loss in the *other* columns if it were dropped, and if it started one level up.

    "now" is their loss with the column as it is: the difference is the gain. Runs the method twice a column.
    """
    usual = method.search(problem, criterion)
    found: dict[str, Mapping[str, float]] = {}
    for j, name in enumerate(problem.columns):
        others = [i for i in range(len(problem.columns)) if i != j]
        now = loss_of(usual, others)
        gains = {"now": now}
        for change, other in (("dropped", without(problem, j)), ("coarser", _coarser(problem, j))):
            if other is None:
                continue
            try:
                recoding = method.search(other, criterion)
            except SfumatoError:  # nothing can be released that way
                continue
            gains[change] = loss_of(recoding, others if change == "coarser" else list(range(len(others))))
        found[name] = gains
    return found


def loss_of(recoding: Recoding, columns: Sequence[int]) -> float:
    """The mean loss of some columns of a recoding, 0 to 1."""
    problem = recoding.problem
    cells = [
        np.where(recoding.suppressed, 1.0, problem.hierarchies[i].loss[recoding.nodes[:, i]]) for i in columns
    ]
    if not cells:
        return 0.0
    return float((np.mean(cells, axis=0) * recoding.n).sum() / max(problem.rows, 1))


def without(problem: Problem, j: int) -> Problem | None:
    """The problem without a column. Combinations may then repeat: the searches do not mind."""
    keep = [i for i in range(len(problem.columns)) if i != j]
    if not keep or problem.population is not None:
        return None
    assert problem.weights is not None and problem.max_level is not None
    return replace(
        problem,
        columns=tuple(problem.columns[i] for i in keep),
        hierarchies=tuple(problem.hierarchies[i] for i in keep),
        leaves=np.ascontiguousarray(problem.leaves[:, keep]),
        weights=problem.weights[keep],
        max_level=problem.max_level[keep],
        codes=None,
    )


def _coarser(problem: Problem, j: int) -> Problem | None:
    """The problem with a column one level up from the start: every value stands for its parent."""
    h = problem.hierarchies[j]
    if h.height < 2 or problem.population is not None:  # posets without levels have one step: to the root
        return None
    first = np.zeros(len(h.labels[1]), np.int32)
    first[h.ancestors[1][::-1]] = np.arange(len(h.leaves), dtype=np.int32)[::-1]
    leaves = problem.leaves.copy()
    leaves[:, j] = first[h.ancestors[1][leaves[:, j]]]
    return replace(problem, leaves=leaves)
