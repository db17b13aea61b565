"""A person signs what is said of a domain, with the key that signs releases and models.

What is signed: an in-toto statement with the SHA-256 of the whole domain, the column's name, the reason (of a
domain that was found: what that took, and which ledger paid), the person's name and the day
(`privacy.signatures`). The schema holds key, day and signature; the rest of the statement is put together
anew from the column, so that a signature fits one column with one domain only.

Guarantee: a column whose provenance is signed counts only if the owner of the named key signed this domain,
           under this name and reason, or at this cost, for a column of this name.
Because:   `fits` rebuilds the statement from the column itself, and Ed25519 signs it.
Assumes:   SHA-256 and Ed25519 hold. Whose key it is, a trust file says (`trusted_only`); without one anybody
           can sign with a key of their own, under any name, and every guarantee shows the key. What nobody
           signed counts in the program that says it, never from a file (`Provenance.believed`).
Tested by: tests/test_declaration.py
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from sfumato.privacy.signatures import Envelope, Purpose, SigningKey, Statement, Trust, pae, signed
from sfumato.privacy.signatures.envelope import PAYLOAD_TYPE
from sfumato.schema.provenance import NOT_TRUSTED, Origin, Provenance, whole_digest

if TYPE_CHECKING:
    from sfumato.schema.column import Column

_SUBJECT = "domain"
_SIGNABLE = (Origin.DECLARED, Origin.FOUND)


def _payload(column: str, domain: str, said: Provenance, on: str) -> bytes:
    own = {"found": said.cost} if said.origin is Origin.FOUND else {"reason": said.reason}
    days = date.fromisoformat(on)
    statement = Statement(Purpose.DECLARATION, {_SUBJECT: domain}, said.by, days, {"column": column, **own})
    return statement.payload()


def _domain(column: Column) -> str:
    return whole_digest(column.levels, column.edges, missing=column.missing, other=column.other)


def sign(column: Column, key: SigningKey, on: date | None = None) -> Column:
    """The column with what is said of its domain signed. on: the day; by default today."""
    said = column.provenance
    assert said is not None and said.origin in _SIGNABLE
    day = (on or datetime.now(UTC).date()).isoformat()
    payload = _payload(column.name, _domain(column), said, day)
    (made,) = Envelope.sign(payload, key).signatures
    return replace(column, provenance=replace(said, key=key.public, on=day, signature=made.value.hex()))


def fits(column: Column) -> bool:
    """Whether a provenance is not signed, or signed by the owner of the key that it names."""
    said = column.provenance
    if said is None or not said.signature:
        return True
    return _fits(column.name, _domain(column), said)


@lru_cache(maxsize=4096)
def _fits(column: str, domain: str, said: Provenance) -> bool:
    try:
        payload = _payload(column, domain, said, said.on)
    except ValueError:  # a day that is none, a name that cannot be signed
        return False
    return signed(said.key, said.signature, pae(PAYLOAD_TYPE, payload))


def refusal(column: Column, trust: Trust) -> str:
    """Why the signature on a provenance does not count for who trusts these keys; empty if it does."""
    said = column.provenance
    if said is None or said.origin not in _SIGNABLE:
        return ""
    if not said.signature:
        return "nobody signed it"
    if not fits(column):
        return "its signature does not fit"
    known = trust.find(said.key)
    if known is None:
        return "you do not trust the key that signed it"
    return known.refusal(Purpose.DECLARATION, date.fromisoformat(said.on))


def asks_for_signatures(trust: Trust) -> bool:
    """Whether a trust file says who may declare domains; then nobody else may."""
    return any(Purpose.DECLARATION in key.signs for key in trust.keys)


def trusted_only(columns: Iterable[Column], trust: Trust) -> tuple[Column, ...]:
    """The columns, of which declarations count that the trust file allows; all, where it names nobody."""
    if not asks_for_signatures(trust):
        return tuple(columns)
    return tuple(
        replace(c, provenance=c.provenance.about(NOT_TRUSTED))
        if c.provenance is not None and c.provenance.origin is Origin.DECLARED and c.public
        and refusal(c, trust) else c
        for c in columns
    )  # fmt: skip
