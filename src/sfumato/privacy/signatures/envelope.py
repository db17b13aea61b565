"""A signed message as other tools read it: the DSSE envelope, version 1.

    PAE(type, payload) = "DSSEv1" SP len(type) SP type SP len(payload) SP payload
    signature          = Ed25519(PAE)

The lengths keep type and payload apart, so a signature of one thing is never one of another. What is signed
are the bytes of the payload as they stand: no reader has to spell them anew. We still write each document in
one spelling (keys sorted, no spaces, ASCII) and read no other: two readers cannot see two things in it.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any

from sfumato.errors import DataError
from sfumato.privacy.signatures.keys import SigningKey, is_public_key, signed

PAYLOAD_TYPE = "application/vnd.in-toto+json"
_MOST_SIGNATURES = 16


def canonical(document: object) -> bytes:
    """The one spelling of a document of JSON."""
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode("ascii")  # fmt: skip


def strict_json(text: str | bytes, *, finite: bool = True) -> Any:
    """What a text of JSON says; a ValueError where two readers could take it for two things.

    So a key that occurs twice is refused, as are lists in lists without end and, if asked, NaN.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key occurs twice")
        return found

    def constant(name: str) -> float:
        if finite:
            raise ValueError("no finite number")
        return float(name)

    if isinstance(text, bytes):
        text = text.decode("utf-8")
    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def pae(payload_type: str, payload: bytes) -> bytes:
    """What is signed: DSSE's pre-authentication encoding."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


@dataclass(frozen=True)
class Signature:
    """One signature. keyid: the signer's public key, as the envelope says; a hint, believed of nobody."""

    keyid: str
    value: bytes


@dataclass(frozen=True)
class Envelope:
    """A payload and who signed it. Nothing in it is believed before a signature was checked."""

    payload: bytes
    signatures: tuple[Signature, ...]

    @classmethod
    def sign(cls, payload: bytes, *keys: SigningKey) -> Envelope:
        """Sign a payload with each of the keys."""
        message = pae(PAYLOAD_TYPE, payload)
        return cls(payload, tuple(Signature(k.public, bytes.fromhex(k.sign(message))) for k in keys))

    def signed_by(self, public: str) -> bool:
        """Whether one of the signatures is by the owner of this key, whatever the envelope says of it."""
        message = pae(PAYLOAD_TYPE, self.payload)
        return any(signed(public, s.value.hex(), message) for s in self.signatures)

    @property
    def signers(self) -> tuple[str, ...]:
        """The keys that it names as its signers' and whose signature fits, in their order."""
        message = pae(PAYLOAD_TYPE, self.payload)
        fitting = [s.keyid for s in self.signatures if signed(s.keyid, s.value.hex(), message)]
        return tuple(dict.fromkeys(fitting))

    @property
    def broken(self) -> int:
        """How many signatures name a key that did not make them."""
        message = pae(PAYLOAD_TYPE, self.payload)
        named = [s for s in self.signatures if is_public_key(s.keyid)]
        return sum(not signed(s.keyid, s.value.hex(), message) for s in named)

    def to_line(self) -> str:
        """One line of JSON, as a bundle of in-toto attestations holds it."""
        signatures = [{"keyid": s.keyid, "sig": _base64(s.value)} for s in self.signatures]
        document = {
            "payload": _base64(self.payload), "payloadType": PAYLOAD_TYPE, "signatures": signatures,
        }  # fmt: skip
        return canonical(document).decode("ascii") + "\n"

    @classmethod
    def from_line(cls, line: str) -> Envelope:
        """Read one line; anything but an envelope in its one spelling is refused."""
        try:
            document = strict_json(line)
            if set(document) != {"payload", "payloadType", "signatures"}:
                raise ValueError
            if document["payloadType"] != PAYLOAD_TYPE:
                raise ValueError
            given = document["signatures"]
            if not isinstance(given, list) or not 1 <= len(given) <= _MOST_SIGNATURES:
                raise ValueError
            if any(set(s) - {"keyid"} != {"sig"} or not isinstance(s.get("keyid", ""), str) for s in given):
                raise ValueError
            read = cls(
                base64.b64decode(document["payload"], validate=True),
                tuple(
                    Signature(s.get("keyid", ""), base64.b64decode(s["sig"], validate=True)) for s in given
                ),
            )
            if canonical(document).decode() != line.removesuffix("\n"):
                raise ValueError
            if [document["payload"], *(s["sig"] for s in given)] != [
                _base64(b) for b in (read.payload, *(s.value for s in read.signatures))
            ]:
                raise ValueError
        except (ValueError, TypeError, AttributeError, binascii.Error):
            raise DataError("it is not a signature in the one spelling there is.", hint=_HINT) from None
        return read


_HINT = "ask who signed it for a fresh copy"


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")
