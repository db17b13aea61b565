"""A domain that was found with budget is one where its ledger says so, or somebody who is trusted signed it.

Whoever edits a schema can write that levels were found, and what that took, though they were read off the
data. So the ledger that has paid puts a seal on what was found, and a schema that is read from a file counts
as found only when that ledger is at hand and knows its seal (`checked`); or when a person signed it, as
declarations are (`declaration`), whom the trust file names.

Guarantee: a found domain carries a promise only if the ledger that it names sealed this domain, of a column
           of this name, at this cost, after a debit that is still in it; or if a trusted key signed the same.
Because:   the seal is HMAC-SHA-256 under the ledger's id, 128 random bits that never leave it, on the text of
           `_text`, which is put together anew from the column; the line is looked for among its debits.
Assumes:   SHA-256 holds, and who may read the ledger is honest: whoever can debit it can have anything
           sealed. That the rows searched are those of the later promise, nobody checks here; the ledger's
           sketch of people notices others (`privacy.ledger.overlap`).
Tested by: tests/test_found_record.py
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.privacy.signatures.envelope import canonical
from sfumato.schema.declaration import refusal, sign
from sfumato.schema.provenance import Checked, Origin, Provenance, whole_digest

if TYPE_CHECKING:
    from sfumato.privacy.ledger import Ledger
    from sfumato.privacy.signatures import SigningKey, Trust
    from sfumato.schema.column import Column


def _text(column: Column, said: Provenance) -> str:
    """What is sealed: the whole domain, the column's name, the cost, and the line that paid."""
    domain = whole_digest(column.levels, column.edges, missing=column.missing, other=column.other)
    return canonical({"column": column.name, "domain": domain, "line": said.line, **said.cost}).decode()


def sealed(columns: Iterable[Column], ledger: Ledger | None) -> tuple[Column, ...]:
    """The columns, of which those that were found bear the seal of the ledger that has paid for them."""
    return tuple(
        replace(c, provenance=replace(c.provenance, seal=ledger.seal(_text(c, c.provenance))))
        if ledger is not None and c.provenance is not None and c.public
        and c.provenance.line and not c.provenance.seal else c
        for c in columns
    )  # fmt: skip


def signed(columns: Iterable[Column], names: Iterable[str], by: str, key: SigningKey) -> tuple[Column, ...]:
    """The columns, of which the named ones, found here, are signed by who has had them searched."""
    wanted, name = set(names), " ".join(by.split())
    return tuple(
        sign(replace(c, provenance=replace(c.provenance, by=name)), key)
        if c.name in wanted and c.provenance is not None else c
        for c in columns
    )  # fmt: skip


def checked(columns: Iterable[Column], ledger: Ledger | None, trust: Trust) -> tuple[Column, ...]:
    """The columns: those that say they were found count where the ledger or a trusted signature says so."""
    return tuple(known_as(c, _check(c, ledger, trust)) for c in columns)


def known_as(column: Column, how: Checked) -> Column:
    """The column, known to be found or declared in this way; unchanged if that is not known, or neither."""
    said = column.provenance
    if said is None or said.origin not in (Origin.DECLARED, Origin.FOUND) or how is Checked.NOT:
        return column
    return replace(column, provenance=replace(said, checked=how))


def as_released(column: Column) -> Column:
    """The column as it leaves: a found domain that counted here is a release's word from now on."""
    found = column.provenance is not None and column.provenance.origin is Origin.FOUND
    return known_as(column, Checked.RELEASED) if found and column.public else column


def _check(column: Column, ledger: Ledger | None, trust: Trust) -> Checked:
    said = column.provenance
    if said is None or said.origin is not Origin.FOUND or said.domain != column.domain:
        return Checked.NOT
    if said.signature and not refusal(column, trust):
        return Checked.SIGNED
    held = ledger is not None and said.seal and ledger.holds(said.seal, _text(column, said), said.line)
    return Checked.LEDGER if held else Checked.NOT
