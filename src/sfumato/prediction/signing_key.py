"""Keys that sign models: Ed25519, from `cryptography`. A signature says who published; it hides nothing.

The key file holds the secret half. Whoever has it can publish in the owner's name, so it is readable by the
owner alone (0600), and refused if it is not.
"""

from __future__ import annotations

import json
import secrets
import stat
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, MissingExtraError, ParameterError
from sfumato.io.atomic import write_text

_FORMAT = "sfumato_signing_key"


class SigningKey:
    """The secret half of a pair; neither shown nor pickled."""

    __slots__ = ("_private", "public")
    public: str

    def __init__(self, secret: bytes) -> None:
        if not isinstance(secret, bytes) or len(secret) != 32:
            raise ParameterError("a signing key has 32 bytes.", hint="SigningKey.fresh()")
        self._private = _ed25519().Ed25519PrivateKey.from_private_bytes(secret)
        self.public = self._private.public_key().public_bytes_raw().hex()

    @classmethod
    def fresh(cls) -> SigningKey:
        """A new key from the operating system's entropy."""
        return cls(secrets.token_bytes(32))

    def sign(self, message: bytes) -> str:
        """The signature of a message, as hex."""
        return str(self._private.sign(message).hex())

    def save(self, path: str | Path) -> Path:
        """Write the key file, for the owner alone; a key that is there is never replaced."""
        document = {_FORMAT: 1, "secret": self._private.private_bytes_raw().hex(), "public": self.public}
        return write_text(path, json.dumps(document, indent=2) + "\n", private=True)

    @classmethod
    def load(cls, path: str | Path) -> SigningKey:
        """Read a key file that the owner alone may read."""
        path = Path(path)
        try:
            mode = path.stat().st_mode
            document = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            reason = "there is none" if isinstance(error, FileNotFoundError) else error.strerror
            raise DataError(
                f"signing key {path.name} cannot be read: {reason}.", hint="sfumato model key FILE makes one"
            ) from None
        except (ValueError, RecursionError):
            document = None
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise DataError(
                f"signing key {path.name} can be read by others: it may be known.",
                hint="make a new key, or chmod 600 if nobody has read it",
            )
        try:
            if document[_FORMAT] != 1:
                raise ValueError
            key = cls(bytes.fromhex(document["secret"]))
        except (ValueError, TypeError, KeyError, ParameterError):
            raise DataError(
                f"{path.name} is not a signing key.", hint="sfumato model key FILE makes one"
            ) from None
        return key

    def __repr__(self) -> str:
        return f"<SigningKey of {self.public}>"

    def __reduce__(self) -> Any:
        raise ParameterError("a signing key is not copied or sent.", hint="save it to a file")


def signed(public: str, signature: str, message: bytes) -> bool:
    """Whether the owner of the public key signed this message. Texts that are no hex are no signature."""
    ed25519 = _ed25519()
    from cryptography.exceptions import InvalidSignature

    try:
        key = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(signature), message)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtraError("signing models", "service") from None
    return ed25519
