"""The counts a fit starts from: single columns and pairs, of rows that may count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.counts import person_ids
from sfumato.counts.persons import at_most
from sfumato.errors import DataError, ParameterError
from sfumato.schema import Role
from sfumato.seeds import Key
from sfumato.synthesis.domain import WEIGHT_UNITS, Domain
from sfumato.synthesis.private.graph import Pair
from sfumato.synthesis.private.layout import Codes, Floats, Ints
from sfumato.table import Table

MAX_CELLS = 16_384  # of a pair's table; a wider pair is left to what other columns say of it


@dataclass(frozen=True, eq=False)
class Counted:
    """Exact counts. Confidential: they only meet a `Purse`.

    unit: what a row counts at most; above 1 where rows count by weight, in parts of the largest.
    """

    sizes: tuple[int, ...]
    rows: int
    own: tuple[Ints, ...]
    pairs: Mapping[Pair, Ints]
    unit: int = 1

    @classmethod
    def of_codes(
        cls, codes: Codes, sizes: Sequence[int], weights: Floats | None = None, unit: int = 1
    ) -> Counted:
        """Of codes in memory, (columns, rows), and weights in whole units, (rows,)."""
        own = tuple(
            np.bincount(c, weights, minlength=k).astype(np.int64) for c, k in zip(codes, sizes, strict=True)
        )
        pairs = {
            (a, b): _table(codes[a], codes[b], sizes[a], sizes[b], weights) for a, b in candidates(sizes)
        }
        return cls(tuple(sizes), int(own[0].sum()), own, pairs, unit)


def _table(first: Codes, second: Codes, rows: int, columns: int, weights: Floats | None) -> Ints:
    keys = first.astype(np.int64) * columns + second
    return np.bincount(keys, weights, minlength=rows * columns).astype(np.int64).reshape(rows, columns)


def candidates(sizes: Sequence[int]) -> list[Pair]:
    """The pairs that may be measured: a public list."""
    return [(a, b) for a, b in combinations(range(len(sizes)), 2) if sizes[a] * sizes[b] <= MAX_CELLS]


def count(table: Table, domain: Domain, max_rows: int) -> Counted:
    """One reading of the data: rows that break a constraint, or exceed L to a person, do not count."""
    prepared, _ = domain.prepared(table)
    persons = table.schema.of_role(Role.PERSON)
    if len(persons) > 1:
        raise ParameterError("more than one column says whose row it is.", hint="give one the role person")
    weight = None if domain.weight is None else domain.weight.name
    unit = 1 if weight is None else WEIGHT_UNITS
    if persons:
        codes, weights = _some_of_each(prepared, domain, persons[0], max_rows)
        return Counted.of_codes(codes, domain.sizes, weights, unit)
    names, pairs = domain.names, candidates(domain.sizes)
    sets = [*((n,) for n in names), *((names[a], names[b]) for a, b in pairs)]
    found = prepared.tabulate(sets, weight=weight)
    tables = {s: c.dense().astype(np.int64) for s, c in found.items()}  # sums of whole units are whole
    own = tuple(tables[(n,)] for n in names)
    counts = {(a, b): tables[names[a], names[b]] for a, b in pairs}
    return Counted(domain.sizes, int(own[0].sum()), own, counts, unit)


def _some_of_each(table: Table, domain: Domain, person: str, max_rows: int) -> tuple[Codes, Floats | None]:
    """The codes of at most `max_rows` rows of each person, (columns, rows), and their weights."""
    parts: list[Codes] = []
    ids: list[pa.Array] = []
    units: list[Floats] = []
    weight = [] if domain.weight is None else [domain.weight.name]
    for batch in table.batches([*domain.names, person, *weight]):
        codes = [book.encode(batch.column(book.name)) for book in domain.books]
        parts.append(np.stack(codes).astype(np.uint16))
        ids.append(person_ids(table.schema[person], batch.column(person)))
        units += [batch.column(w).cast(pa.float64()).to_numpy(zero_copy_only=False) for w in weight]
    if not parts:
        return np.empty((len(domain.books), 0), np.uint16), None
    whose = pa.chunked_array(ids)
    if whose.null_count:
        raise DataError(
            f"{whose.null_count} rows do not say whose they are ('{person}').",
            hint="leave those rows out first: how many belong to one person cannot be known",
        )
    places: Any = whose.combine_chunks().dictionary_encode().indices.to_numpy()
    stay = at_most(places, max_rows, Key.fresh())
    kept = np.ascontiguousarray(np.concatenate(parts, axis=1)[:, stay])
    return kept, np.concatenate(units)[stay] if units else None
