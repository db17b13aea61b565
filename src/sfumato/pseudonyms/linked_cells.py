"""The cells of linked tables as they leave: pseudonyms of keys, and dates that were moved or cut."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.counts import person_ids
from sfumato.database import Database, PersonDays, Reference, key_ids
from sfumato.database.ids import id_family
from sfumato.database.keys import KeyIndex
from sfumato.pseudonyms.digests import move, pseudonyms
from sfumato.pseudonyms.numbers import number_pseudonyms
from sfumato.pseudonyms.recipe import LinkedRecipe, PseudonymRecipe
from sfumato.schema import Column
from sfumato.seeds import Key

_MOST_HELD = 4_000_000  # keys whose pseudonyms are held: some 50 bytes each


class HeldPseudonyms:
    """The pseudonyms of all keys that others point to, made once however often an id occurs.

    Ids that are in no such key, and those of very many keys, are made where they stand.
    """

    def __init__(self, database: Database, recipe: LinkedRecipe, key: Key) -> None:
        self.key = key
        people = database.people
        places = {name: recipe.domains.get(f"{name}.{database.keys.get(name)}") for name in people.keys}
        held = {name: index for name, index in people.keys.items() if isinstance(index, KeyIndex)}
        self._ids = {domain: held[name] for name, domain in places.items() if domain and name in held}
        if isinstance(people.ids, KeyIndex):
            self._ids[""] = people.ids
        self._ids = {domain: ids for domain, ids in self._ids.items() if len(ids) <= _MOST_HELD}
        self._made: dict[str, pa.Array] = {}

    def of(self, ids: pa.Array, domain: str) -> pa.Array:
        """The pseudonym of each id, missing for missing."""
        held = self._ids.get(domain)
        if held is None or held.ids.type != ids.type:
            return pseudonyms(ids, self.key, domain=domain)
        at = held.places(ids)
        missing = at < 0
        if int(missing.sum()) != ids.null_count:
            return pseudonyms(ids, self.key, domain=domain)
        if domain not in self._made:
            self._made[domain] = pseudonyms(held.ids, self.key, domain=domain)
        return self._made[domain].take(pa.array(at, mask=missing))


def stays_whole(column: Column, recipe: LinkedRecipe) -> bool:
    """Whether a key's pseudonyms are whole numbers. Frames keep such keys beside empty cells as reals."""
    return recipe.integers is not None and id_family(column) == "number"


def pointing(
    column: Column, batch: pa.RecordBatch, reference: Reference, database: Database,
    recipe: LinkedRecipe, known: HeldPseudonyms,
) -> pa.Array:  # fmt: skip
    """Each id under the domain of the table it points to; empty where nobody knows to which."""
    found = pa.nulls(batch.num_rows, pa.int64() if stays_whole(column, recipe) else pa.string())
    ids = batch.column(reference.column)
    for parent, meant in reference.parts(batch.column(reference.by)):
        domain = recipe.domains[f"{parent}.{database.keys[parent]}"]
        made = _replaced(column, ids.filter(meant), domain, recipe, known)
        found = pc.replace_with_mask(found, meant, made)
    return found


def _replaced(
    column: Column, ids: pa.Array, domain: str, recipe: LinkedRecipe, known: HeldPseudonyms
) -> pa.Array:
    if recipe.integers and stays_whole(column, recipe):
        return number_pseudonyms(key_ids(column, ids), known.key, recipe.integers, domain=domain)
    plain = key_ids(column, ids) if column.type != "text" else person_ids(column, ids)
    return known.of(plain, domain)


def cell(
    column: Column, array: pa.Array, own: PseudonymRecipe, recipe: LinkedRecipe,
    known: HeldPseudonyms, days: PersonDays, numbers: NDArray[np.int32],
) -> pa.Array:  # fmt: skip
    """A column of a batch as it leaves. numbers: whose rows they are."""
    if column.name in own.replaced:
        return _replaced(column, array, own.domains[column.name], recipe, known)
    if column.name in own.shifted:
        moved = move(array, pa.array(days.of(numbers))) if recipe.max_days else array
        return cut(moved, recipe.grain) if recipe.grain else moved
    return array


def cut(dates: pa.Array, grain: str) -> pa.Array:
    """Dates cut down to the first day of their week (Monday) or month; the time of day is gone."""
    return pc.floor_temporal(dates, unit=grain).cast(dates.type)
