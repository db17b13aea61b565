"""The codes of all persons of a database, each once and numbered: what a search under k^m starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.database import Database
from sfumato.schema import Column, Kind

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CodeItems:
    """The codes of all persons by number. values: per column, the texts; first: its first number."""

    person: Ints
    code: Ints
    values: dict[str, list[str]]
    first: dict[str, int]


def gather_codes(database: Database, places: Sequence[str]) -> CodeItems:
    """Each code of each person once, numbered through all columns."""
    persons, codes, values, first, at = [], [], {}, {}, 0
    for place in places:
        name, _, column = place.partition(".")
        described = database[name].schema[column]
        known: dict[str, int] = {}
        for batch, numbers in database.people.batches(name, [column]):
            owner, texts = exploded(described, batch.column(0), numbers)
            coded = texts.dictionary_encode()
            local = np.array(
                [known.setdefault(v, len(known)) for v in coded.dictionary.to_pylist()], np.int64
            )
            index = np.asarray(coded.indices.fill_null(0).to_numpy(zero_copy_only=False), np.int64)
            there = np.asarray(texts.is_valid().to_numpy(zero_copy_only=False), bool) & (owner >= 0)
            persons.append(owner[there])
            codes.append(local[index[there]] + at if len(local) else np.empty(0, np.int64))
        values[place], first[place] = list(known), at
        at += len(known)
    pairs = np.unique(np.stack([np.concatenate(persons), np.concatenate(codes)], axis=1), axis=0)
    return CodeItems(pairs[:, 0], pairs[:, 1], values, first)


def exploded(column: Column, values: pa.Array, numbers: NDArray[np.int32]) -> tuple[Ints, pa.Array]:
    """(person, text) of every single code: a cell may hold several."""
    if column.kind is not Kind.CODES:
        return numbers.astype(np.int64), values.cast(pa.string())
    lists = pc.split_pattern(values.cast(pa.string()), column.separator)
    texts = pc.utf8_trim_whitespace(pc.list_flatten(lists))
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    return numbers[np.asarray(pc.list_parent_indices(lists))].astype(np.int64), texts
