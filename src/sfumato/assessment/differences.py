"""Aggregates of several levels, stacked: which groups that are too small to publish follow from the others?

By area and by county the same people are summed. A county that is left out because few people live there is
the area less its other counties. Whoever publishes several levels publishes all sums of their
groups, so they are looked at together: the people fall into the finest groups that the levels make, every
published group is a sum of those, and what relations alone give away is given away to eight digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.cells import Published, Relations, recovered
from sfumato.errors import ParameterError

Index = NDArray[np.int64]


@dataclass(frozen=True)
class StackedLevels:
    """What several levels tell together.

    withheld: groups of fewer than the fewest people, which are not published.  found: how many groups of so
    few people, withheld ones or finest ones, follow from what is published. None: too many to be examined.
    """

    levels: tuple[tuple[str, ...], ...]
    withheld: int
    found: int | None

    @property
    def met(self) -> bool:
        """Whether nothing follows; what could not be examined is not met."""
        return self.found == 0


def stack_levels(
    columns: dict[str, Sequence[str]], levels: Sequence[Sequence[str]], fewest: int
) -> StackedLevels:
    """Stack the groups of all levels. columns: the labels of each person, column by column.

    Of each level, groups of at least `fewest` people are published.
    """
    asked = tuple(dict.fromkeys(tuple(level) for level in levels))
    names = tuple(dict.fromkeys(name for level in asked for name in level))
    absent = [n for n in names if n not in columns]
    if absent or not names:
        raise ParameterError("a level names columns that are not there.", hint="name columns of the people")
    coded = np.stack([np.unique(np.asarray(columns[n], object).astype(str), return_inverse=True)[1]
                      .reshape(-1) for n in names], axis=1)  # fmt: skip
    atoms, atom = np.unique(coded, axis=0, return_inverse=True)
    sizes = np.bincount(atom.reshape(-1), minlength=len(atoms))
    cells = [int(n) for n in sizes]
    sums: list[tuple[int, list[int]]] = []
    for level in asked:
        at = [names.index(n) for n in level]
        _, group = np.unique(atoms[:, at], axis=0, return_inverse=True)
        group = group.reshape(-1)
        for g in range(int(group.max(initial=-1)) + 1):
            members = np.flatnonzero(group == g)
            sums.append((len(cells), members.tolist()))
            cells.append(int(sizes[members].sum()))
    people = np.array(cells)
    withheld = np.ones(len(cells), bool)
    withheld[len(atoms) :] = people[len(atoms) :] < fewest
    relations = Relations.of_sums(len(cells), sums)
    published = Published.of_values(
        relations, people.astype(np.float64), withheld, least=-np.inf, whole=False
    )
    told = recovered(published)
    hidden = int(withheld[len(atoms) :].sum())
    if told is None:
        return StackedLevels(asked, hidden, None)
    few = told & (people < fewest)
    distinct = {tuple(sorted(parts)) for total, parts in sums if few[total]}
    distinct |= {(int(a),) for a in np.flatnonzero(few[: len(atoms)])}
    return StackedLevels(asked, hidden, len(distinct))
