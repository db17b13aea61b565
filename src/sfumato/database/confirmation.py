"""Tables that were guessed to hold no persons: nothing of them leaves until somebody says that it is so.

A table that others point to and that reaches no person may list wards. It may as well list mothers, doctors,
or patients under another number: names and keys do not tell. Who takes it for public releases it as it is, so
that is asked for: `persons = false` in database.toml, or `without_persons` of `scan_database`.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.errors import SfumatoWarning, listed

if TYPE_CHECKING:
    from sfumato.database.database import Database


def confirmed(database: Database, *, stacklevel: int = 3) -> Database:
    """What may be released: without guessed tables and columns that point to them, which a warning names."""
    lost = database.unconfirmed
    if not lost:
        return database
    tables, pointing = {}, []
    for name, table in database.tables.items():
        if name in lost:
            continue
        gone = [k.column for k in database.links if k.child == name and k.parent in lost]
        # A key that is a pointer as well is replaced as a key.
        gone = [c for c in gone if c != database.keys.get(name) and c != database.person_column(name)]
        pointing += [f"{name}.{c}" for c in gone]
        tables[name] = table.drop(gone) if gone else table
    it, each = ("it", "it") if len(lost) == 1 else ("them", "each")
    names = listed([repr(n) for n in sorted(lost)], 12)
    columns = f", with {listed(pointing, 12)}, which point there" if pointing else ""
    warnings.warn(
        f"left out of the release{columns}: {names}. Nobody has said that no persons are in {it}: write "
        f"persons = false for {each} in database.toml, or name {it} in without_persons.",
        SfumatoWarning,
        stacklevel=stacklevel,
    )
    return replace(
        database,
        tables=tables,
        links=tuple(k for k in database.links if k.child not in lost and k.parent not in lost),
        keys={n: k for n, k in database.keys.items() if n not in lost},
        apart=database.apart - lost,
        references=tuple(r for r in database.references if r.child not in lost),
        unconfirmed=frozenset(),
    )
