"""The counts a fit starts from: single columns and pairs, of rows that may count."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.counts import person_ids
from sfumato.counts.persons import some_of_each
from sfumato.errors import ParameterError
from sfumato.schema import Role
from sfumato.synthesis.domain import WEIGHT_UNITS, Domain
from sfumato.synthesis.private.graph import Pair
from sfumato.synthesis.private.layout import Codes, Floats, Ints
from sfumato.synthesis.private.variables import DomainVariables
from sfumato.table import Table

MAX_CELLS = 16_384  # of a pair's table; a wider pair is left to what other columns say of it
Classes = Sequence[Ints | None]  # of each variable, the class of each state; None where each is its own


@dataclass(frozen=True, eq=False)
class Counted:
    """Exact counts of variables. Confidential: they only meet a `Purse`.

    sizes: states of each variable; own: its counts. cells: of a pair, the states that occur together and how
    often. unit: what a row counts at most; above 1 where rows count by weight, in parts of the largest.
    """

    sizes: tuple[int, ...]
    rows: int
    own: tuple[Ints, ...]
    cells: Callable[[Pair], tuple[Any, Any, Any]]
    unit: int = 1

    @classmethod
    def of_codes(
        cls, codes: Codes, sizes: Sequence[int], weights: Floats | None = None, unit: int = 1
    ) -> Counted:
        """Of states in memory, (variables, rows), and weights in whole units, (rows,)."""
        own = tuple(
            np.bincount(c, weights, minlength=k).astype(np.int64) for c, k in zip(codes, sizes, strict=True)
        )
        return cls(tuple(sizes), int(own[0].sum()), own, lambda p: (codes[p[0]], codes[p[1]], weights), unit)

    def refined(self, chains: Mapping[int, Sequence[Ints]]) -> Counted:
        """The same with fewer states of some variables: the last of each chain says which goes where."""
        to = {j: chain[-1] for j, chain in chains.items()}
        own = tuple(np.bincount(to[j], n).astype(np.int64) if j in to else n for j, n in enumerate(self.own))

        def cells(pair: Pair) -> tuple[Any, Any, Any]:
            *both, n = self.cells(pair)
            first, second = (to[j][s] if j in to else s for j, s in zip(pair, both, strict=True))
            return first, second, n

        return Counted(tuple(len(n) for n in own), self.rows, own, cells, self.unit)

    def pair(self, pair: Pair, classes: Classes | None = None) -> Ints:
        """The table of two variables, or of their classes."""
        *both, n = self.cells(pair)
        states, shape = [], []
        for variable, own in zip(pair, both, strict=True):
            merged = None if classes is None else classes[variable]
            states.append(np.asarray(own if merged is None else merged[own], np.int64))
            shape.append(self.sizes[variable] if merged is None else int(merged.max()) + 1)
        keys = states[0] * shape[1] + states[1]
        return np.bincount(keys, n, minlength=shape[0] * shape[1]).astype(np.int64).reshape(shape)


def candidates(sizes: Sequence[int]) -> list[Pair]:
    """The pairs that may be measured, by the number of states or classes: known before they are looked at."""
    return [(a, b) for a, b in combinations(range(len(sizes)), 2) if sizes[a] * sizes[b] <= MAX_CELLS]


def count(table: Table, domain: Domain, variables: DomainVariables, max_rows: int) -> Counted:
    """One reading of the data: rows that break a constraint, or exceed L to a person, do not count."""
    prepared, _ = domain.prepared(table)
    persons = table.schema.of_role(Role.PERSON)
    if len(persons) > 1:
        raise ParameterError("more than one column says whose row it is.", hint="give one the role person")
    weight = None if domain.weight is None else domain.weight.name
    unit = 1 if weight is None else WEIGHT_UNITS
    if persons or not variables.simple:
        states, weights = _in_memory(prepared, domain, variables, persons[0] if persons else None, max_rows)
        return Counted.of_codes(states, variables.sizes, weights, unit)
    names = domain.names
    sets = [*((n,) for n in names), *combinations(names, 2)]
    found = prepared.tabulate(sets, weight=weight)
    own = tuple(found[(n,)].dense().astype(np.int64) for n in names)  # sums of whole units are whole

    def cells(pair: Pair) -> tuple[Any, Any, Any]:
        both = found[names[pair[0]], names[pair[1]]]
        return both.codes[:, 0], both.codes[:, 1], both.n

    return Counted(domain.sizes, int(own[0].sum()), own, cells, unit)


def _in_memory(
    table: Table, domain: Domain, variables: DomainVariables, person: str | None, max_rows: int
) -> tuple[Codes, Floats | None]:
    """The states of rows, (variables, rows), at most `max_rows` of each person, and their weights."""
    parts: list[Codes] = []
    ids: list[pa.Array] = []
    units: list[Floats] = []
    weight = [] if domain.weight is None else [domain.weight.name]
    for batch in table.batches([*domain.names, *([person] if person else []), *weight]):
        codes = np.stack([book.encode(batch.column(book.name)).astype(np.uint16) for book in domain.books])
        for place, (low, high) in variables.cuts.items():  # what lies outside was refused or clamped above
            numbers, gaps = domain.books[place].numbers(batch.column(domain.names[place]))
            cells = np.searchsorted(low, np.clip(numbers, low[0], high[-1]), side="right") - 1
            codes[place] = np.where(gaps, len(low), cells)
        parts.append(variables.encode(codes, domain.sizes))
        if person is not None:
            ids.append(person_ids(table.schema[person], batch.column(person)))
        units += [batch.column(w).cast(pa.float64()).to_numpy(zero_copy_only=False) for w in weight]
    if not parts:
        return np.empty((len(variables.every), 0), np.uint16), None
    states, weights = np.concatenate(parts, axis=1), np.concatenate(units) if units else None
    if person is None:
        return states, weights
    stay = some_of_each(pa.chunked_array(ids), person, max_rows)
    return np.ascontiguousarray(states[:, stay]), None if weights is None else weights[stay]
