"""Is a saved release of linked tables what it says? Its columns, its links, and each of its claims."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from sfumato.counts import type_name
from sfumato.database import Database
from sfumato.errors import listed
from sfumato.privacy import Claim, KMAnonymity, Pseudonymous
from sfumato.release.checks import Outcome, VerificationCheck
from sfumato.release.claims import check_claim, unseen
from sfumato.release.code_sets import recount
from sfumato.schema import Schema

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.privacy.signatures import Trust

_SCHEMA, _LINKS = "data against database.toml", "keys and links counted again"
_RECOUNTED = "recounted from the files"
_MOST = 2**63 - 1
_DAYS = ("date", "datetime", "instant")


def check_data(database: Database, public: Path) -> Iterator[VerificationCheck]:
    """Columns and types of each table, and that no key dangles or repeats."""
    for name, table in database.tables.items():
        stored = table.source.arrow_schema
        if set(stored.names) != set(table.columns):
            yield VerificationCheck(f"{name}: columns", Outcome.FAILED, _SCHEMA, "not those of database.toml")
            continue
        wrong = [c.name for c in table.schema if type_name(stored.field(c.name).type) != c.type]
        wrong = wrong if (public / f"{name}.parquet").exists() else []
        detail = f"stored as another type: {listed(wrong)}" if wrong else ""
        yield VerificationCheck(
            f"{name}: columns", Outcome.FAILED if wrong else Outcome.PASSED, _SCHEMA, detail
        )
    faults = [str(d) for d in database.differences if d.fatal]
    links = (
        f"{len(database.links)} links, {database.people.count:,} persons" if not faults else "; ".join(faults)
    )
    yield VerificationCheck("links", Outcome.FAILED if faults else Outcome.PASSED, _LINKS, links)


def with_domains(database: Database) -> dict[str, Schema]:
    """By what they are named with, the columns that somebody must answer for under a promise.

    Not keys, which number rows, nor days of rows below the persons, which are counted from other days: as far
    as no levels or bounds are written down for them.
    """
    out = {}
    for name, table in database.tables.items():
        keys = database.key_columns[name]
        below = name != database.root and name not in database.apart
        kept = [
            c for c in table.schema
            if c.declared or not (c.name in keys or (below and c.type in _DAYS))
        ]  # fmt: skip
        out[f"{name}." if name else ""] = Schema(tuple(kept))
    return out


def check_linked_claim(
    claim: Claim, database: Database, *, guests: bool = False, trust: Trust | None = None
) -> VerificationCheck:
    """What the files say about one claim. guests, trust: as for one table."""
    if claim.scope:
        return unseen(claim, f"it is about {claim.scope} alone")
    if isinstance(claim, Pseudonymous):
        return _pseudonymous(claim, database)
    if isinstance(claim, KMAnonymity):
        holds, detail = recount(claim, database)
        return VerificationCheck(claim.title, Outcome.PASSED if holds else Outcome.FAILED, _RECOUNTED, detail)
    return check_claim(claim, database[database.root], guests=guests, trust=trust)


def _pseudonymous(claim: Pseudonymous, database: Database) -> VerificationCheck:
    """Each named column of each table has the form of pseudonyms: text of ours, or whole numbers from 1."""
    bad: list[str] = []
    for place in claim.columns:
        name, _, column = place.partition(".")
        if name not in database.tables or column not in database[name].schema:
            bad.append(f"'{place}' (not there)")
        elif database[name].schema[column].type == "integer":
            odd = 0
            for batch in database[name].batches([column]):
                odd += int(pc.sum(pc.less(batch.column(0), 1)).as_py() or 0)
            bad += [f"'{place}' ({odd})"] if odd else []
        else:
            found = check_claim(replace(claim, columns=(column,)), database[name])
            bad += [] if found.outcome is Outcome.PASSED else [f"'{place}'"]
    if bad:
        detail = f"cells that are not pseudonyms: {listed(bad)}"
        return VerificationCheck(claim.title, Outcome.FAILED, _RECOUNTED, detail)
    detail = "every key has the form of a pseudonym; that the key is secret shows in no file"
    return VerificationCheck(claim.title, Outcome.PASSED, _RECOUNTED, detail)
