"""The default grid of `sfumato frontier`: what a newcomer meets first, between plain baselines.

The baselines promise nothing. They mark the corners of the map: everything kept, a part kept, and all
associations lost. A method that the table is not fit for (no hierarchies, several rows a person, no public
domain) is told beside the map.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.assessment.frontier.grid import Candidate, Made
from sfumato.schema import Kind, Role
from sfumato.seeds import Key
from sfumato.table import Table

_NAMES_PEOPLE = (Role.IDENTIFIER, Role.PERSON)


def default_grid(known: Sequence[str] | None = None, hierarchies: Path | None = None) -> list[Candidate]:
    """Methods and baselines with their settings.

    known: the quasi-identifiers; by their role if not given. hierarchies: a folder of level tables, without
    which nothing is generalized.
    """
    names = None if known is None else tuple(known)
    grid = [
        Candidate("pseudonyms only", pseudonyms_only),
        *(Candidate("sample of rows", sample_of_rows, {"share": s}) for s in (0.05, 0.2, 0.5)),
        *(Candidate("swapped cells", swapped_cells, {"share": s}) for s in (0.1, 0.3, 0.6)),
        Candidate("independent columns", independent_columns),
    ]
    resample = partial(resampled, known=names)
    grid += [Candidate("resampled in groups", resample, {"k": k}) for k in (3, 10)]
    if hierarchies is not None:
        generalize = partial(generalized, known=names, folder=str(hierarchies), digest=_digest(hierarchies))
        grid += [Candidate("generalized", generalize, {"k": k}) for k in (3, 10, 30)]
    grid += [Candidate("private synthesis", synthetic, {"epsilon": e}) for e in (0.5, 2.0)]
    return grid


def resampled(table: Table, key: Key, *, k: int, known: tuple[str, ...] | None) -> Made:
    """Each cell taken from one of k like people, by a secret key: a seed would void the promise."""
    from sfumato.anonymization.anonymize import anonymize
    from sfumato.anonymization.shape.methods import ClusterResample
    from sfumato.criteria import KAnonymity

    return anonymize(_with_known(table, known), KAnonymity(k), method=ClusterResample())


def generalized(
    table: Table, key: Key, *, k: int, known: tuple[str, ...] | None, folder: str, digest: str
) -> Made:
    """Values of the whole table made coarser, with the least loss. digest: so that a cache sees a change."""
    from sfumato.anonymization.anonymize import anonymize
    from sfumato.criteria import KAnonymity

    return anonymize(_with_known(table, known), KAnonymity(k), hierarchies=folder)


def synthetic(table: Table, key: Key, *, epsilon: float) -> Made:
    """As many new rows as there are, from noised tables; cells of several codes and texts are left out."""
    from sfumato.synthesis.private import PrivateSynthesizer
    from sfumato.synthesis.synthesize import synthesize

    kept = [c.name for c in table.schema if c.kind not in (Kind.CODES, Kind.TEXT)]
    method = PrivateSynthesizer(epsilon=epsilon, delta=1e-9)
    return synthesize(table.select(kept), method, table.rows(), key=key)


def _with_known(table: Table, known: tuple[str, ...] | None) -> Table:
    """The table in which exactly these are quasi-identifiers: others of that role would be left out."""
    if known is None:
        return table
    schema = table.schema
    for column in table.schema:
        if column.name in known:
            schema = schema.with_(column.name, role=Role.QUASI_IDENTIFIER)
        elif column.role is Role.QUASI_IDENTIFIER:
            schema = schema.with_(column.name, role=Role.OTHER)
    return table.with_schema(schema)


def _digest(folder: Path) -> str:
    """What the level tables say, so that a cached result is not taken for that of other tables."""
    found = hashlib.blake2b(digest_size=16)
    for path in sorted(p for p in folder.glob("*") if p.is_file()):
        found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


def pseudonyms_only(table: Table, key: Key) -> Made:
    """Names out, everything else as it is."""
    from sfumato.pseudonyms import pseudonymize

    if not table.schema.of_role(Role.PERSON):
        return _nameless(table)
    return pseudonymize(table, key=key)


def sample_of_rows(table: Table, key: Key, *, share: float) -> Made:
    """A random part of the rows, unchanged."""
    rows = _nameless(table).to_arrow()
    keep = key.generator("rows").random(rows.num_rows) < share
    if not keep.any():
        keep[:1] = True  # an empty release cannot be judged
    return _like(table, rows.filter(pa.array(keep)))


def swapped_cells(table: Table, key: Key, *, share: float) -> Made:
    """In each column a random part of the cells change places: one-way tables stay, associations fade."""
    rows = _nameless(table).to_arrow()
    columns = []
    for name in rows.column_names:
        draw = key.generator("cells", name)
        moved = np.flatnonzero(draw.random(rows.num_rows) < share)
        order = np.arange(rows.num_rows)
        order[moved] = draw.permutation(moved)
        columns.append(rows[name].take(pa.array(order)))
    return _like(table, pa.table(columns, schema=rows.schema))


def independent_columns(table: Table, key: Key) -> Made:
    """Every column drawn anew from its own values, independently of the others."""
    rows = _nameless(table).to_arrow()
    n = rows.num_rows
    columns = [
        rows[name].take(pa.array(key.generator("column", name).integers(0, n, n)))
        for name in rows.column_names
    ]
    return _like(table, pa.table(columns, schema=rows.schema))


def _nameless(table: Table) -> Table:
    names = [c.name for c in table.schema if c.role in _NAMES_PEOPLE]
    return table.drop(names) if names else table


def _like(table: Table, rows: pa.Table) -> Table:
    return Table.from_arrow(rows, table.schema.select(rows.column_names))
