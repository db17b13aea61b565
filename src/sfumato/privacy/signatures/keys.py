"""Keys that sign what leaves the house: Ed25519, from `cryptography`. A signature says who; it hides nothing.

One key of a person or of a house signs releases, models and determinations alike. The key file holds the
secret half. Whoever has it can publish in the owner's name, so it is readable by the owner alone (0600), and
refused if it is not. The public half goes to others, as 64 hexadecimal digits or as a PEM file, which other
tools read too (`openssl pkeyutl -verify -pubin`).
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato._system import disk, permissions
from sfumato.errors import DataError, OutputError, ParameterError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_FORMAT = "sfumato_signing_key"
_MOST = 1 << 16  # bytes of a key file
_HEX = re.compile(r"[0-9a-f]{64}")
_MAKE = "sfumato trust key FILE makes one"
_SECRET, _PUBLIC = b"PRIVATE KEY-----", b"PUBLIC KEY-----"


class SigningKey:
    """The secret half of a pair; neither shown nor pickled.

    >>> key = sf.SigningKey.fresh()
    >>> path = key.save("officer.key")
    >>> sf.SigningKey.load(path).public == key.public
    True
    """

    __slots__ = ("_private", "public")
    public: str

    def __init__(self, secret: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if not isinstance(secret, bytes) or len(secret) != 32:
            raise ParameterError("a signing key has 32 bytes.", hint="SigningKey.fresh()")
        self._private: Ed25519PrivateKey = Ed25519PrivateKey.from_private_bytes(secret)
        self.public = self._private.public_key().public_bytes_raw().hex()

    @classmethod
    def fresh(cls) -> SigningKey:
        """A new key from the operating system's entropy."""
        return cls(secrets.token_bytes(32))

    def sign(self, message: bytes) -> str:
        """The signature of a message, as hex."""
        return self._private.sign(message).hex()

    def public_pem(self) -> str:
        """The public half as other tools read it: SubjectPublicKeyInfo in PEM."""
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        pem = self._private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return pem.decode("ascii")

    def save(self, path: str | Path) -> Path:
        """Write the key file, for the owner alone; a key that is there is never replaced."""
        document = {_FORMAT: 1, "secret": self._private.private_bytes_raw().hex(), "public": self.public}
        _write_new(Path(path), json.dumps(document, indent=2) + "\n", 0o600)
        return Path(path)

    def save_public(self, path: str | Path) -> Path:
        """Write the public half as PEM, to give to others."""
        _write_new(Path(path), self.public_pem(), 0o644)
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> SigningKey:
        """Read a key file that the owner alone may read: ours, or PKCS #8 in PEM as openssl writes it."""
        path = Path(path)
        raw, mode = _read(path, "signing key")
        if _PUBLIC in raw or _HEX.fullmatch(_text(raw)):
            raise DataError(
                f"{path.name} holds a public key: it checks signatures and cannot make them.",
                hint="give the file of the secret key, which only its owner has",
            )
        if permissions.open_to(mode):
            raise DataError(
                f"signing key {path.name} can be read by others: it may be known.",
                hint="make a new key, or chmod 600 if nobody has read it",
            )
        try:
            return cls(_secret_of(raw))
        except (ValueError, TypeError, KeyError, RecursionError, ParameterError):
            raise DataError(f"{path.name} is not a signing key.", hint=_MAKE) from None

    def __repr__(self) -> str:
        return f"<SigningKey of {self.public}>"

    def __reduce__(self) -> Any:
        raise ParameterError("a signing key is not copied or sent.", hint="save it to a file")


def signed(public: str, signature: str, message: bytes) -> bool:
    """Whether the owner of the public key signed this message. Texts that are no hex are no signature."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if not is_public_key(public):
        return False
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(signature), message)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


# Points of small order, whatever their sign: for them anybody can make signatures that fit.
_WEAK = {
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
}


def is_digest(text: object) -> bool:
    """Whether a text is a SHA-256 digest as statements have it: 64 hexadecimal digits, small letters."""
    return isinstance(text, str) and _HEX.fullmatch(text) is not None


def is_public_key(text: object) -> bool:
    """Whether a text is a public key in its one spelling: 64 hexadecimal digits, small letters, and no weak
    one."""
    if not isinstance(text, str) or not is_digest(text):
        return False
    return f"{text[:62]}{int(text[62:], 16) & 0x7F:02x}" not in _WEAK


def public_key(raw: bytes, name: str) -> str | None:
    """The public key in a file's content: PEM, or 64 hexadecimal digits; None where it is something else.

    A secret key is refused, although the public one follows from it: it is not to be handed around.
    """
    if _SECRET in raw or f'"{_FORMAT}"'.encode() in raw:
        raise DataError(
            f"{name} holds a secret key, and a public one is wanted.",
            hint="give the public key (.pub); never send the secret one to anybody",
        )
    text = _text(raw).lower()
    if _HEX.fullmatch(text):
        return text
    if _PUBLIC not in raw:
        return None
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(raw)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise DataError(f"{name} is not a public key of Ed25519.", hint="ask its owner for the right file")
    return key.public_bytes_raw().hex()


def read_small(path: Path, what: str) -> bytes:
    """A small file of somebody's; anything that is no ordinary file, or large, is refused."""
    return _read(path, what)[0]


# -- files ---------------------------------------------------------------------------------------


def _read(path: Path, what: str) -> tuple[bytes, int]:
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):  # a pipe or a device has no end
            raise DataError(f"{what} {path.name} is no ordinary file.", hint="give a file")
        with path.open("rb") as file:
            raw = file.read(_MOST + 1)
    except OSError as error:
        reason = "there is none" if isinstance(error, FileNotFoundError) else error.strerror
        raise DataError(f"{what} {path.name} cannot be read: {reason}.", hint=_MAKE) from None
    except ValueError:  # a path with a NUL
        raise DataError(f"the path of the {what} cannot be read.", hint="correct the path") from None
    if len(raw) > _MOST:
        raise DataError(f"{what} {path.name} is too large for what it should be.", hint=_MAKE)
    return raw, mode


def _text(raw: bytes) -> str:
    return raw.decode("ascii", errors="replace").strip()


def _secret_of(raw: bytes) -> bytes:
    """The 32 secret bytes; a ValueError, TypeError or KeyError where there are none."""
    if _SECRET not in raw:
        document = json.loads(raw.decode("utf-8"))
        if type(document[_FORMAT]) is int and document[_FORMAT] > 1:
            raise DataError("the signing key is of a later format.", hint="upgrade Sfumato")
        if document[_FORMAT] != 1:
            raise ValueError
        secret = bytes.fromhex(document["secret"])
        if SigningKey(secret).public != document["public"]:
            raise ValueError
        return secret
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(raw, None)
    except UnsupportedAlgorithm:
        raise ValueError from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError
    return key.private_bytes_raw()


def _write_new(path: Path, text: str, mode: int) -> None:
    """A new file that never was readable by more than `mode` says, on disk when this ends."""
    try:
        file = disk.opened(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            permissions.set_mode_of(file, mode)
            os.write(file, text.encode("ascii"))
            os.fsync(file)
        except BaseException:
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        finally:
            os.close(file)
    except OSError as error:
        reason = "it exists already" if error.errno == errno.EEXIST else error.strerror
        raise OutputError(
            f"{path.name} could not be written: {reason}.", hint="choose another name; no key is replaced"
        ) from None
