"""What is measured and drawn as one: a column, or several that constraints tie.

A code and its group, two columns that tell each other, a first day and a last: apart, each would be drawn
given the others, and a row could never leave where it began (no code of another group goes with this group,
and the other way round). As one variable, whose states are the combinations that can be, they are drawn at
once.

    Variables.of(domain)        # the columns of a domain, put together as its constraints say

A variable is measured at its states, and at coarser levels where its columns give them: the group of a code.
All of this follows from the domain alone, so it is public.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SchemaError, listed
from sfumato.schema import Kind
from sfumato.synthesis import ties
from sfumato.synthesis.constraints import Zero
from sfumato.synthesis.domain import Domain, narrow
from sfumato.synthesis.private.grain import Ends, grid
from sfumato.synthesis.private.layout import Bools, Ints

MAX_STATES = 2**15  # of a variable of several columns
_LARGEST = 2**16  # states have 16 bits
FINE = 32  # states up to which nothing is merged in pairs, and bins that stay apart there
_TIED = 0.6  # share of the combinations of two columns that can be, up to which they are one variable


@dataclass(frozen=True, eq=False)
class Variable:
    """Columns that are one.

    columns: their places in the domain. states: (columns, S) the code of each column in each state.
    levels: coarser tables that are measured too; each is (S,), the cell that a state lies in.
    branch: (S,) only states of one branch may be merged. adjacent: and only neighbours.
    ends: where states of a number or a day are finer than its bins, the least and the largest value of each;
    a missing value comes after them (grain.py).
    """

    columns: tuple[int, ...]
    states: Ints
    levels: tuple[Ints, ...] = ()
    branch: Ints | None = None
    adjacent: bool = False
    ends: Ends | None = None

    @property
    def size(self) -> int:
        """How many states there are."""
        return int(self.states.shape[1])

    @property
    def single(self) -> bool:
        """Whether it is one column, its states the codes, or cells finer than those."""
        return len(self.columns) == 1

    @cached_property
    def nested(self) -> bool:
        """Whether its levels are those of a tree: at most one, or each within the one before."""
        chain = [*self.levels, np.arange(self.size)]
        return all(
            len(np.unique(fine)) == len(np.unique(coarse * (fine.max() + 1) + fine))
            for coarse, fine in pairwise(chain)
        )

    def column_of(self, place: int) -> Ints:
        """The code of a column in each state."""
        return np.asarray(self.states[self.columns.index(place)])

    def along(self, chain: Sequence[Ints]) -> Variable:
        """The same with fewer states.  chain: of each state the cell it goes to, the coarsest first; the last
        are the new states, those before its levels."""
        first = np.unique(chain[-1], return_index=True)[1]
        cut = None
        if self.ends is not None:
            low, high = self.ends
            kept = first[first < len(low)]
            cut = low[kept], high[np.append(kept[1:], len(low)) - 1]
        branch = None if self.branch is None else self.branch[first]
        levels = tuple(level[first] for level in chain[:-1])
        return Variable(self.columns, self.states[:, first], levels, branch, self.adjacent, cut)

    def encode(self, codes: NDArray[Any], sizes: Sequence[int]) -> NDArray[np.uint16]:
        """The state of each row.  codes: (columns of the domain, rows), none of which breaks a constraint."""
        if self.single:
            return np.ascontiguousarray(codes[self.columns[0]], np.uint16)
        shape = [sizes[j] for j in self.columns]
        place = np.zeros(math.prod(shape), np.uint16)
        place[np.ravel_multi_index(list(self.states), shape)] = np.arange(self.size)
        own = [np.asarray(codes[j], np.int64) for j in self.columns]
        return np.asarray(place[np.ravel_multi_index(own, shape)])


@dataclass(frozen=True, eq=False)
class DomainVariables:
    """All variables of a domain, by their first column; zeros: what else cannot be, in their states.

    details: a group and its codes where the group is part of another variable already, too large to take the
    codes in: (group, code). They are drawn last, given their group, and no pair is measured of them.
    """

    every: tuple[Variable, ...]
    zeros: tuple[Zero, ...] = ()
    details: tuple[Variable, ...] = ()

    @classmethod
    def of(cls, domain: Domain, *, fine: bool = True) -> DomainVariables:
        """The columns of a domain, those that constraints tie put together.

        fine: numbers and days that are by themselves have the cells of a public grid as states.
        """
        sizes, zeros = domain.sizes, domain.zeros
        large = [repr(n) for n, k in zip(domain.names, sizes, strict=True) if k > _LARGEST]
        if large:
            raise SchemaError(
                f"columns with more than {_LARGEST:,} levels: {listed(large)}.",
                hint="group the levels first (a hierarchy), or leave the columns out",
            )
        groups = ties.tied(sizes, zeros, _TIED, MAX_STATES)
        within = {(domain.place(c.group), domain.place(c.column)) for c in domain.details.values()}
        late = sorted((g, d) for g, d in within if (d,) in groups)
        groups = [g for g in groups if g not in [(d,) for _, d in late]]
        zeros = tuple(z for z in zeros if not {d for _, d in late} & {*z.columns})
        plain = [_variable(g, sizes, zeros, within) for g in groups]
        if fine:
            plain = [_with_grid(v, domain) for v in plain]
        single = narrow([(domain.names[v.columns[0]], v.size) for v in plain])
        if single:
            raise SchemaError(f"{'; '.join(single)}.", hint="declare edges that are finite, or more of them")
        left = _left(plain, zeros)
        every = []
        for place, (variable, group) in enumerate(zip(plain, groups, strict=True)):
            column = domain.books[group[0]].column
            ordered = column.edges is not None or column.kind is Kind.ORDINAL
            masks = [z.masks[z.columns.index(place)] for z in left if place in z.columns]
            if variable.single and domain.books[group[0]].missing:
                masks.append(np.arange(variable.size) == variable.size - 1)  # a gap has no neighbours
            if variable.ends is not None and domain.sizes[group[0]] <= FINE:
                masks += list(variable.states[0] == np.arange(domain.sizes[group[0]])[:, None])
            branch = _branch(masks)
            every.append(replace(variable, branch=branch, adjacent=variable.single and ordered))
        details = [_variable(pair, sizes, domain.zeros, within) for pair in late]
        return cls(tuple(every), left, tuple(details))

    @classmethod
    def plain(cls, sizes: Sequence[int], zeros: Sequence[Zero] = ()) -> DomainVariables:
        """Every column by itself."""
        every = tuple(Variable((j,), np.arange(k)[None]) for j, k in enumerate(sizes))
        return cls(every, tuple(zeros))

    @property
    def all(self) -> tuple[Variable, ...]:
        """Those that pairs are measured of, then the details."""
        return (*self.every, *self.details)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many states each has."""
        return tuple(v.size for v in self.all)

    @property
    def simple(self) -> bool:
        """Whether every column is by itself, and its states are its codes."""
        return all(v.single and v.ends is None for v in self.all)

    @property
    def cuts(self) -> dict[int, Ends]:
        """Of columns whose states are finer than their bins: the ends of those."""
        return {v.columns[0]: v.ends for v in self.every if v.ends is not None}

    def refined(self, chains: Mapping[int, Sequence[Ints]]) -> DomainVariables:
        """With fewer states of some variables (see `Variable.along`)."""
        every = tuple(v.along(chains[j]) if j in chains else v for j, v in enumerate(self.every))
        first = {j: np.unique(chain[-1], return_index=True)[1] for j, chain in chains.items()}
        zeros = tuple(
            Zero(
                z.columns,
                tuple(m[first[j]] if j in first else m for j, m in zip(z.columns, z.masks, strict=True)),
            )
            for z in self.zeros
        )
        return DomainVariables(every, zeros, self.details)

    def place(self, column: int) -> int:
        """Which variable a column is in, the first of several."""
        return next(i for i, v in enumerate(self.all) if column in v.columns)

    def encode(self, codes: NDArray[Any], sizes: Sequence[int]) -> NDArray[np.uint16]:
        """The states of rows, (variables, rows).  codes: (columns, rows); sizes: of the columns."""
        return np.stack([v.encode(codes, sizes) for v in self.all])

    def declared(self, cells: NDArray[Any]) -> NDArray[np.uint16]:
        """Codes of rows, (columns, rows), with bins for the cells that `decode` gives."""
        out = cells.copy()
        for variable in self.every:
            if variable.ends is not None:
                place = variable.columns[0]
                out[place] = variable.states[0][cells[place]]
        return out

    def decode(self, states: NDArray[Any]) -> NDArray[np.uint16]:
        """The codes of rows, (columns, rows); of columns finer than their bins the cells."""
        out = np.empty((len({c for v in self.all for c in v.columns}), states.shape[1]), np.uint16)
        for variable, own in zip(self.all, states, strict=True):
            for place, codes in zip(variable.columns, variable.states, strict=True):
                out[place] = own if variable.ends is not None else codes[own]
        return out


def _variable(
    columns: tuple[int, ...], sizes: Sequence[int], zeros: Sequence[Zero], within: set[tuple[int, int]]
) -> Variable:
    """Its levels are its columns, but for those that say nearly as much as the states do."""
    if len(columns) == 1:
        return Variable(columns, np.arange(sizes[columns[0]])[None])
    states = ties.combinations_of(columns, sizes, zeros, MAX_STATES)
    if not states.shape[1]:
        raise SchemaError("the constraints leave nothing that can be.", hint="they contradict each other")
    # A group first: groups are the levels of a tree.
    order = sorted(columns, key=lambda j: (all(j != group for group, _ in within), sizes[j]))
    levels = [np.unique(states[columns.index(j)], return_inverse=True)[1].astype(np.int64) for j in order]
    kept = [level for level in levels if 2 * (level.max() + 1) <= states.shape[1]]
    return Variable(columns, states, tuple(kept))


def _with_grid(variable: Variable, domain: Domain) -> Variable:
    """A number or a day at the cells of its public grid."""
    found = grid(domain.books[variable.columns[0]]) if variable.single else None
    if found is None:
        return variable
    cells, bins = found
    gap = [domain.sizes[variable.columns[0]] - 1] if domain.books[variable.columns[0]].missing else []
    return replace(variable, states=np.append(bins, np.array(gap, np.int64))[None], ends=cells)


def _left(variables: Sequence[Variable], zeros: Sequence[Zero]) -> tuple[Zero, ...]:
    """The zeros that no variable keeps by itself, as masks of states."""
    out = []
    for zero in zeros:
        masks: dict[int, Bools] = {}
        for column, mask in zip(zero.columns, zero.masks, strict=True):
            place = next(i for i, v in enumerate(variables) if column in v.columns)
            own = mask[variables[place].column_of(column)]
            masks[place] = masks[place] & own if place in masks else own
        if len(masks) > 1:
            out.append(Zero(tuple(masks), tuple(masks.values())))
    return tuple(out)


def _branch(masks: Sequence[Bools]) -> Ints | None:
    """States that the zeros do not tell apart have one branch."""
    if not masks:
        return None
    parts = np.stack([m.astype(np.int64) for m in masks])
    return np.unique(parts, axis=1, return_inverse=True)[1].ravel().astype(np.int64)
