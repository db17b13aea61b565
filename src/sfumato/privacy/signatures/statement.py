"""What is signed: an in-toto statement, version 1. It names files by their SHA-256 and says what they are.

A statement of ours holds who signed, the day, and the purpose; of a release also its guarantee. It holds no
digest of the original, of its rows, or of anything internal: those would be oracles for whoever can guess.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from sfumato.errors import DataError, ParameterError, listed
from sfumato.privacy.signatures.envelope import Envelope, canonical, strict_json
from sfumato.privacy.signatures.keys import SigningKey

TYPE = "https://in-toto.io/Statement/v1"
_PREDICATE = "urn:sfumato:{}:1"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MOST_NAME = 200


class Purpose(StrEnum):
    """What a key signs. A signature for one purpose is none for another."""

    RELEASE = "release"
    MODEL = "model"
    DETERMINATION = "determination"
    CLAIM = "claim"
    DECLARATION = "declaration"
    PACKAGE = "package"


@dataclass(frozen=True)
class Statement:
    """Files by name and SHA-256, and what their signer says of them.

    signer: the signer's name, in the signer's own words; whose key it is, the reader's trust file says.
    on: the day of signing, likewise the signer's word.
    says: what else is signed, as plain JSON; of a release its guarantee.
    """

    purpose: Purpose
    subjects: Mapping[str, str]
    signer: str
    on: date
    says: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "purpose", Purpose(self.purpose))
        object.__setattr__(self, "subjects", MappingProxyType(dict(self.subjects)))
        object.__setattr__(self, "says", MappingProxyType(dict(self.says)))
        if not is_name(self.signer):
            raise ParameterError(
                f"a signer's name is text of 1 to {_MOST_NAME} characters on one line.",
                hint='--name "A. Miller, privacy officer"',
            )
        wrong = [name for name in self.subjects if not is_plain_path(name)]
        if wrong or not self.subjects:
            raise ParameterError(
                f"{len(wrong)} of {len(self.subjects)} files have names that cannot be signed: "
                f"{listed([ascii(n) for n in wrong])}.",
                hint="names inside the folder, in Unicode's composed form (NFC)",
            )
        if len({unicodedata.normalize("NFKC", n).casefold() for n in self.subjects}) != len(self.subjects):
            raise ParameterError(
                "two files have names that differ in spelling only.", hint="some disks hold only one of them"
            )
        if any(not isinstance(d, str) or not _SHA256.fullmatch(d) for d in self.subjects.values()):
            raise ParameterError("a file is signed by its SHA-256.", hint="64 hexadecimal digits")

    def signed(self, key: SigningKey) -> Envelope:
        """The envelope in which it leaves."""
        if not isinstance(key, SigningKey):
            raise ParameterError("a signature is made with a SigningKey.", hint="SigningKey.load(path)")
        return Envelope.sign(self.payload(), key)

    def payload(self) -> bytes:
        """The bytes that are signed."""
        subjects = [{"digest": {"sha256": d}, "name": n} for n, d in sorted(self.subjects.items())]
        predicate = {"on": self.on.isoformat(), "signer": {"name": self.signer}, **self.says}
        return canonical(
            {
                "_type": TYPE,
                "subject": subjects,
                "predicateType": _PREDICATE.format(self.purpose),
                "predicate": predicate,
            }
        )

    @classmethod
    def from_payload(cls, payload: bytes) -> Statement:
        """Read what was signed. Check the signature first: before that it is anybody's text."""
        try:
            document = strict_json(payload)
            if (
                set(document) != {"_type", "subject", "predicateType", "predicate"}
                or document["_type"] != TYPE
            ):
                raise ValueError
            pairs = [(s["name"], s["digest"]["sha256"]) for s in document["subject"]]
            says = dict(document["predicate"])
            signer, on = says.pop("signer")["name"], date.fromisoformat(says.pop("on"))
            kinds = {_PREDICATE.format(p): p for p in Purpose}
            read = cls(kinds[document["predicateType"]], dict(pairs), signer, on, says)
            if read.payload() != payload:  # names twice, other digests beside, another spelling
                raise ValueError
        except (ValueError, TypeError, KeyError, AttributeError, ParameterError):
            raise DataError(
                "what was signed is not a statement of this version.",
                hint="upgrade Sfumato, or ask its signer",
            ) from None
        return read


def is_name(text: object) -> bool:
    """Whether a text can be a person's or a house's name: one line, nothing that repaints a terminal."""
    return isinstance(text, str) and 0 < len(text.strip()) <= _MOST_NAME >= len(text) and text.isprintable()


def is_plain_path(name: object) -> bool:
    """Whether a name leads to a place inside its folder, by one spelling, on every system."""
    if not isinstance(name, str) or not name.isprintable() or len(name) > 1000:
        return False
    if unicodedata.normalize("NFC", name) != name or "\\" in name or ":" in name:
        return False
    return all(part not in ("", ".", "..") for part in name.split("/"))
