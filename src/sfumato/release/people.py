"""The people of a table as a keyed sample, for the ledger that pays for them: one pass, nothing else is kept.

Persons by their id in the form of `counts.spelling`, without capitals; of a table without a person column its
rows, whatever the order of rows and columns. The key lies with the ledgers' witness, for its owner alone.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts import person_ids, same_form
from sfumato.io.spark import is_spark
from sfumato.privacy.ledger.bindings import PEOPLE
from sfumato.privacy.ledger.overlap import PERSONS, ROWS, Hashes, PeopleSketch
from sfumato.privacy.ledger.witness import Witness
from sfumato.schema import Role
from sfumato.table import Table


def people_of(table: Table) -> PeopleSketch | None:
    """The sketch of a table under this machine's key; None of one that lives in Spark.

    >>> sf.people_of(sf.samples.members(50)).number
    50
    """
    if is_spark(table.source):
        return None
    key = Witness().people_key
    persons = table.schema.of_role(Role.PERSON)
    sketch = PeopleSketch(PERSONS if persons else ROWS)
    for batch in table.select(list(persons)).batches() if persons else table.batches():
        if not batch.num_rows:
            continue
        hashed = [_hashed(n, batch.column(n), key, person=bool(persons)) for n in batch.schema.names]
        if persons:
            named = person_ids(table.schema[persons[0]], batch.column(0)).is_valid()
            sketch = sketch.with_(np.unique(hashed[0][named.to_numpy(zero_copy_only=False)]))
        else:
            sketch = sketch.with_(_mixed(np.sum(hashed, axis=0, dtype=np.uint64)))
    return sketch


def known_people(table: Table) -> PeopleSketch | None:
    """The same, where a ledger has paid for anybody here; else nobody has to be looked for."""
    return people_of(table) if next(Witness().every(PEOPLE), None) is not None else None


def _hashed(name: str, cells: pa.Array, key: bytes, person: bool) -> Hashes:
    """The keyed hash of each cell, of its column too unless it is a person's id."""
    codes = pc.dictionary_encode(cells)
    texts = pc.cast(codes.dictionary, pa.large_string()).to_pylist()
    if person:
        spelt = [same_form(str(t), ignore_case=True) for t in texts]
    else:
        spelt = [f"{name}\0{t}" for t in texts]
    spelt.append(f"{name}\0\0missing")
    levels = np.frombuffer(
        b"".join(blake2b(s.encode("utf-8", "replace"), digest_size=8, key=key).digest() for s in spelt),
        np.uint64,
    )
    found: Hashes = levels[codes.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)]
    return found


def _mixed(sums: Hashes) -> Hashes:
    """Sums of secret numbers, spread evenly again (the finalizer of splitmix64)."""
    with np.errstate(over="ignore"):
        z = (sums ^ (sums >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
