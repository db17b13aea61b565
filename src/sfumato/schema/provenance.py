"""Where a domain comes from: levels, edges, bounds, the largest weight. A typed answer, bound to the domain.

A promise of differential privacy holds for domains that are no function of the rows, or that were paid for.
Four origins, of which the third carries no promise, whatever else a person confirms about the column:

- a public standard, named: its values are those of the list that comes with Sfumato (`standards`);
- declared by a person, named, with the reason: that person answers for it;
- read off the data;
- found in the data with a part of the budget: its epsilon and delta belong to every claim that rests on it.

What is said holds for one domain only: it carries a digest of it. Levels that are changed afterwards, in a
program or by hand in a file, have no provenance until somebody declares them anew. The digest has no key and
keeps out slips. A line in a file is not enough for a promise: that it was the named person who declared a
domain, the person's signature says (`declaration`): one that does not fit ends the provenance, and a trust
file says whose count; that a domain was found, the ledger says that has paid for it (`search_record`). What
a program says of a domain that it uses itself needs no signature, and every promise calls it unsigned.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, Self

from sfumato.errors import SchemaError

_LONGEST = 500  # characters of a name or a reason: they stand in guarantees


class Origin(StrEnum):
    """Where a domain comes from."""

    STANDARD = "standard"  # a public list that comes with Sfumato
    DECLARED = "declared"  # by a person, who answers for it
    READ_OFF = "read off the data"  # no promise of differential privacy
    FOUND = "found with budget"  # by a private mechanism; its cost is part of the claim


class Checked(StrEnum):
    """How it is known where a domain comes from. It is found out anew in each run, never read from a file."""

    NOT = ""
    SAID = "said by the program that uses it"
    DRAWN = "drawn here"
    LEDGER = "its ledger has it"
    SIGNED = "signed by somebody trusted"
    RELEASED = "as a release says"  # it has left the house; no promise rests on that


_BELIEVED = (Checked.SAID, Checked.DRAWN, Checked.LEDGER, Checked.SIGNED)
_COST = ("epsilon", "delta", "max_rows_per_person", "ledger")
_KEYS = {
    Origin.STANDARD: ("name",),
    Origin.DECLARED: ("by", "reason", "key", "on", "signature"),
    Origin.READ_OFF: (),
    Origin.FOUND: (*_COST, "line", "seal", "by", "key", "on", "signature"),
}


@dataclass(frozen=True)
class Provenance:
    """Where the domain of one column comes from. Made by `standard`, `declared`, `read_off` or `found`.

    name: of the standard. by, reason: who declared it, and why it is no function of the rows.
    key, on, signature: that person's public key, the day, and the signature, where it is signed.
    epsilon, delta: what finding it cost. max_rows_per_person: to persons with at most so many rows; 0: rows.
    ledger: the public name of the ledger that has paid for it; empty where none has. line, seal: the mark of
    the line that paid, and that ledger's seal on what was found (`search_record`).
    checked: how it is known that a domain was found or declared; no file can say that of itself.
    domain: the digest of the levels or edges that this is about; empty until it is put on a column.

    >>> form = sf.Provenance.declared("R. Weiss", "admission form F12, 2024")
    >>> column = sf.Column("sex", "nominal", levels=("f", "m"), provenance=form)
    >>> column.origin
    'declared by R. Weiss (admission form F12, 2024)'
    >>> column.public
    True
    """

    origin: Origin
    name: str = ""
    by: str = ""
    reason: str = ""
    epsilon: float = 0.0
    delta: float = 0.0
    max_rows_per_person: int = 0
    domain: str = ""
    key: str = ""
    on: str = ""
    signature: str = ""
    ledger: str = ""
    line: str = ""
    seal: str = ""
    checked: Checked = field(default=Checked.NOT, compare=False)

    @classmethod
    def standard(cls, name: str) -> Self:
        """A public list by its name; `sfumato schema standards` shows them."""
        return cls(Origin.STANDARD, name=name)

    @classmethod
    def declared(cls, by: str, reason: str) -> Self:
        """Declared by a person: who, and what the domain was taken from (a form, a law, a code book).

        It is the word of the program that says so. Written to a file and read again, it counts if it was
        signed (`Schema.declare(..., key=...)`).
        """
        return cls(Origin.DECLARED, by=by, reason=reason, checked=Checked.SAID)

    @classmethod
    def read_off(cls) -> Self:
        """Read off the data: no promise of differential privacy can rest on it."""
        return cls(Origin.READ_OFF)

    @classmethod
    def found(cls, epsilon: float, delta: float, max_rows_per_person: int = 0, ledger: str = "") -> Self:
        """Found in the data by a private mechanism of this cost. It counts when checked (`search_record`)."""
        return cls(
            Origin.FOUND, epsilon=epsilon, delta=delta, max_rows_per_person=max_rows_per_person, ledger=ledger
        )

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "origin", Origin(self.origin))
            object.__setattr__(self, "checked", Checked(self.checked))
        except ValueError:
            raise SchemaError(
                f"the origin of a domain must be one of {', '.join(Origin)}.", hint="see docs/domains.md"
            ) from None
        faults = _faults(self)
        if faults:
            raise SchemaError(f"provenance: {'; '.join(faults)}.", hint="see docs/domains.md")

    @property
    def public(self) -> bool:
        """Whether a promise of differential privacy may rest on what it says."""
        return self.origin is not Origin.READ_OFF

    @property
    def believed(self) -> bool:
        """Whether what it says needs no check, or has passed one; that a signature fits, its column knows."""
        if self.origin is Origin.DECLARED and self.signature:
            return True
        return self.origin not in (Origin.DECLARED, Origin.FOUND) or self.checked in _BELIEVED

    @property
    def cost(self) -> dict[str, Any]:
        """What finding it took, and who paid: what is sealed and signed of it."""
        return {key: getattr(self, key) for key in _COST} | {
            "epsilon": float(self.epsilon), "delta": float(self.delta)
        }  # fmt: skip

    def about(self, domain: str) -> Provenance:
        """The same, said of the domain with this digest."""
        return replace(self, domain=domain)

    def __str__(self) -> str:
        if self.origin is Origin.STANDARD:
            return f"the public list {self.name}"
        if self.origin is Origin.DECLARED:
            return f"declared by {self.by} ({self.reason})"
        if self.origin is Origin.FOUND:
            most = self.max_rows_per_person
            whom = f", to persons with at most {most} row{'s' * (most != 1)}" if most else ""
            delta = f", delta = {self.delta:g}" if self.delta else ""
            paid = f"paid from ledger {self.ledger[:8]}" if self.ledger else "unaccounted"
            return f"found in the data with epsilon = {self.epsilon:g}{delta}{whom}, {paid}"
        return "read off the data"

    # -- as TOML -----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """As it is written into a schema: only what its origin has."""
        keys = (*_KEYS[self.origin], "domain")
        return {"origin": str(self.origin)} | {k: v for k in keys if (v := getattr(self, k))}

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> Self:
        """From a table of a schema; a table without a digest is about no domain."""
        known = {f.name for f in fields(cls)} - {"checked"}
        unknown = [key for key in entries if key not in known]
        if unknown or "origin" not in entries:
            raise SchemaError(
                "provenance: " + (f"unknown key '{unknown[0]}'." if unknown else "no origin is given."),
                hint="see docs/domains.md",
            )
        read_off = entries["origin"] == Origin.READ_OFF
        return cls(**{"domain": "" if read_off else UNBOUND, **entries})


UNBOUND = "none"  # in place of the digest: written by hand, about no domain in particular
NOT_TRUSTED = "not trusted"  # in place of the digest: the trust file does not name who declared it
_SIGNED = {"key": re.compile(r"[0-9a-f]{64}"), "signature": re.compile(r"[0-9a-f]{128}"),
           "on": re.compile(r"\d{4}-\d\d-\d\d")}  # fmt: skip
_MARKS = {"ledger": re.compile(r"[0-9a-f]{32}"), "line": re.compile(r"[0-9a-f]{32}"),
          "seal": re.compile(r"[0-9a-f]{64}")}  # fmt: skip


def _faults(said: Provenance) -> list[str]:
    faults = []
    texts = {key: getattr(said, key) for key in ("name", "by", "reason", "domain", *_SIGNED, *_MARKS)}
    for key, text in texts.items():
        if not isinstance(text, str) or len(text) > _LONGEST or not text.isprintable():
            faults.append(f"{key} must be text of one line, at most {_LONGEST} characters")
    for key in ("epsilon", "delta"):
        value = getattr(said, key)
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not number or value < 0 or (key == "delta" and value >= 1):
            faults.append(f"{key} must be a number from 0" + " to below 1" * (key == "delta"))
    rows = said.max_rows_per_person
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 0:
        faults.append("max_rows_per_person must be a whole number, 0 for rows")
    if faults:
        return faults
    own = _KEYS[said.origin]
    given = [k for keys in _KEYS.values() for k in keys if getattr(said, k)]
    signed = [bool(getattr(said, k)) for k in _SIGNED]
    if any(signed) and not all(form.fullmatch(getattr(said, k)) for k, form in _SIGNED.items()):
        faults.append("a signature has a key, a day and 128 hexadecimal digits")
    for key, form in _MARKS.items():
        if getattr(said, key) and not form.fullmatch(getattr(said, key)):
            faults.append(f"{key} must be {64 if key == 'seal' else 32} hexadecimal digits")
    if said.origin is Origin.FOUND and said.signature and not said.by.strip():
        faults.append("a signed domain needs 'by'")
    faults += [f"a domain that is {said.origin} has no {k}" for k in dict.fromkeys(given) if k not in own]
    wanted = {Origin.STANDARD: ("name",), Origin.DECLARED: ("by", "reason"), Origin.FOUND: ("epsilon",)}
    for key in wanted.get(said.origin, ()):
        if not (str(getattr(said, key)).strip() if key != "epsilon" else said.epsilon > 0):
            faults.append(f"a domain that is {said.origin} needs '{key}'")
    return faults


def digest(
    levels: Iterable[object] | None, edges: Iterable[object] | None, *, missing: bool, other: object = None
) -> str:
    """A name for a domain: the same for the same values in the same order, however they are written."""
    return "sha256:" + whole_digest(levels, edges, missing=missing, other=other)[:32]


def whole_digest(
    levels: Iterable[object] | None, edges: Iterable[object] | None, *, missing: bool, other: object = None
) -> str:
    """The SHA-256 of a domain, which is what is signed."""
    parts = [
        None if values is None else [_plain(v) for v in values] for values in (levels, edges)
    ]  # fmt: skip
    text = json.dumps([*parts, missing, None if other is None else _plain(other)], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> str:
    """One value as text; 18, 18.0 and the decimal 18 are one edge, true and 1 two levels."""
    if isinstance(value, bool):
        return f"truth {value}"
    if isinstance(value, int | float | Decimal):
        return f"number {Fraction(value) if math.isfinite(value) else float(value)}"
    if isinstance(value, date):  # a day, or a day with a time
        return f"{type(value).__name__} {value.isoformat()}"
    return f"text {value}"
