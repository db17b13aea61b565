"""k^m-anonymity counted again from the files: every subset of up to m codes of every person.

It shares nothing with the search that made the release: subsets are laid out as a table of whole numbers,
sorted and counted, class by class. That takes more time and memory than a search could afford, and needs
no argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, pairwise
from math import comb

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.database import Database
from sfumato.errors import listed
from sfumato.privacy import KMAnonymity
from sfumato.progress import report
from sfumato.schema import Column, Kind, Schema
from sfumato.table import Table

_MOST = 40_000_000  # subsets laid out at once

Ints = NDArray[np.int64]


def recount(claim: KMAnonymity, database: Database) -> tuple[bool, str]:
    """Whether the claim holds in the files, and the smallest group that any subset is left with."""
    absent = [p for p in (*claim.codes, *claim.columns) if not _there(p, database)]
    if absent:
        return False, f"the data lacks {listed(absent)}"
    elsewhere = [p for p in claim.columns if p.partition(".")[0] != database.root]
    if elsewhere:
        return False, f"not a column of the table of persons: {listed(elsewhere)}"
    person, code = codes_of(database, claim.codes)
    classes = classes_of(database, claim.columns)
    least, subsets = smallest(person, code, classes, claim.m)
    if least is None:
        return True, "the files hold nobody"
    words = f"the rarest of {subsets:,} combinations is shared by {least:,} persons"
    return least >= claim.k, words


def recount_rows(claim: KMAnonymity, table: Table) -> tuple[bool, str]:
    """The same for one table whose rows are the persons: each row by itself, alike ones counted together."""
    plain = [
        Column(c.name, Kind.NOMINAL, type=c.type) for c in table.schema.select([*claim.columns, *claim.codes])
    ]
    counts = table.with_schema(Schema(tuple(plain))).counts(*(c.name for c in plain))
    if not counts.cells:
        return True, "the file has no rows"
    width = len(claim.columns)
    classes = np.unique(counts.codes[:, :width], axis=0, return_inverse=True)[1].reshape(-1)
    known: dict[tuple[str, str], int] = {}
    owners, codes = [], []
    for j, name in enumerate(claim.codes, width):
        column, book = table.schema[name], counts.codebooks[j]
        cells = [_single(str(v), column) for v in book.levels.to_pylist()] + [set()]
        numbers = [sorted(known.setdefault((name, text), len(known)) for text in cell) for cell in cells]
        for row, cell in enumerate(counts.codes[:, j].tolist()):
            owners += [row] * len(numbers[cell])
            codes += numbers[cell]
    pairs = np.array([owners, codes], np.int64).reshape(2, -1)
    least, subsets = smallest(pairs[0], pairs[1], classes, claim.m, counts.n)
    words = f"the rarest of {subsets:,} combinations is shared by {least or 0:,} rows"
    return (least or 0) >= claim.k, words


def _single(cell: str, column: Column) -> set[str]:
    """The codes of a cell."""
    parts = cell.split(column.separator) if column.kind is Kind.CODES else [cell]
    return {part.strip() for part in parts} - {""}


def _there(place: str, database: Database) -> bool:
    table, _, column = place.partition(".")
    return table in database.tables and column in database[table].schema


def codes_of(database: Database, places: tuple[str, ...]) -> tuple[Ints, Ints]:
    """(person, code) of every value, each once, by numbers; values of two columns are never the same."""
    persons, codes, first = [], [], 0
    for place in places:
        name, _, column = place.partition(".")
        described = database[name].schema[column]
        texts, owners = [], []
        for batch, numbers in database.people.batches(name, [column]):
            values = batch.column(0)
            if described.kind is Kind.CODES:
                lists = pc.split_pattern(values.cast(pa.string()), described.separator)
                owners.append(numbers[np.asarray(pc.list_parent_indices(lists))].astype(np.int64))
                texts.append(pc.utf8_trim_whitespace(pc.list_flatten(lists)))
            else:
                owners.append(numbers.astype(np.int64))
                texts.append(values.cast(pa.string()))
        whole = pa.concat_arrays(texts) if texts else pa.array([], pa.string())
        coded = whole.dictionary_encode()
        number = np.asarray(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
        owner = np.concatenate(owners) if owners else np.empty(0, np.int64)
        kept = (number >= 0) & (owner >= 0)
        persons.append(owner[kept])
        codes.append(number[kept] + first)
        first += len(coded.dictionary)
    pairs = np.unique(np.stack([np.concatenate(persons), np.concatenate(codes)], axis=1), axis=0)
    return pairs[:, 0], pairs[:, 1]


def classes_of(database: Database, places: tuple[str, ...]) -> Ints:
    """(persons,) the number of the class of each: who shares all of the named values; one class for none."""
    people = database.people
    found = np.full(people.count, -1, np.int64)
    if not places:
        return np.zeros(people.count, np.int64)
    columns = [p.partition(".")[2] for p in places]
    known: dict[tuple[object, ...], int] = {}
    for batch, numbers in people.batches(database.root, columns):
        rows = zip(*(c.to_pylist() for c in batch.columns), strict=True)
        found[numbers] = [known.setdefault(row, len(known)) for row in rows]
    return found


def smallest(
    person: Ints, code: Ints, classes: Ints, m: int, weight: Ints | None = None
) -> tuple[int | None, int]:
    """The fewest persons that share a class and up to m codes of one of them, and how many such there are.

    weight: how many each "person" stands for, where alike ones are laid together.
    """
    if not len(classes):
        return None, 0
    weight = np.ones(len(classes), np.int64) if weight is None else weight.astype(np.int64)
    sizes = np.bincount(np.unique(classes, return_inverse=True)[1].reshape(-1), weight)
    least, subsets = int(sizes.min()), len(sizes)
    order = np.lexsort((code, person, classes[person]))
    person, code, group = person[order], code[order], classes[person][order]
    edges = np.flatnonzero(np.diff(group, prepend=-2, append=-3))
    for at, (start, stop) in enumerate(pairwise(edges)):
        report("counting combinations", at, len(edges) - 1)
        for size in range(1, m + 1):
            for keys, whose in _subsets(person[start:stop], code[start:stop], size):
                if len(keys):
                    n = np.bincount(np.unique(keys, return_inverse=True)[1].reshape(-1), weight[whose])
                    least, subsets = min(least, int(n.min())), subsets + len(n)
    return least, subsets


def _subsets(person: Ints, code: Ints, size: int) -> Iterator[tuple[Ints, Ints]]:
    """A number for each subset of each person's codes, and the person; equal ones come in the same piece."""
    levels, number = np.unique(code, return_inverse=True)
    starts = np.flatnonzero(np.diff(person, prepend=-1))
    lengths = np.diff(np.append(starts, len(person)))
    total = sum(comb(int(n), size) for n in lengths)
    pieces = -(-total // _MOST) if size > 1 else 1
    for piece in range(pieces):  # by the smallest code of a subset, so that equal ones meet
        parts, owners = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for length in np.unique(lengths[lengths >= size]):
            begin = starts[lengths == length]
            rows = number[begin[:, None] + np.arange(length)]
            places = _places(int(length), size)
            first = rows[:, places[:, 0]]
            key = first
            for at in range(1, size):
                key = key * len(levels) + rows[:, places[:, at]]
            whose = np.broadcast_to(person[begin][:, None], key.shape)
            here = np.ones(key.shape, bool) if pieces == 1 else first % pieces == piece
            parts.append(key[here])
            owners.append(whose[here])
        yield np.concatenate(parts), np.concatenate(owners)


@lru_cache(maxsize=512)
def _places(length: int, size: int) -> Ints:
    """(subsets, size): which places of a row of so many codes make up each subset."""
    return np.array(list(combinations(range(length), size)), np.int64).reshape(-1, size)
