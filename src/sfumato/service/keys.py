"""API keys: shown once, kept as hashes, compared in constant time.

A key reads `sfm_<id>_<secret>`. The id is public and may stand in logs; the secret is 256 random bits, so a
plain SHA-256 of it can neither be undone nor guessed, and needs no slow hash.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

from sfumato.errors import ParameterError

_CLIENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SCOPE = re.compile(r"score(:[A-Za-z0-9][A-Za-z0-9._-]{0,63})?|admin|metrics")
_TOKEN = re.compile(r"sfm_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_NOBODY = hashlib.sha256(b"nobody").digest()


@dataclass(frozen=True)
class ApiKey:
    """What is kept of a key. Times are seconds since 1970.

    client: whose it is; its budget in the ledger has this name, and so have all keys of one client.
    scopes: "score" (all models) or "score:NAME", "admin" (activate versions), "metrics".
    rate, burst: calls a second in the long run, and how many may come at once.
    """

    number: int
    id: str
    client: str
    scopes: tuple[str, ...]
    rate: float
    burst: int
    hash: bytes
    created: float
    expires: float | None = None
    revoked: float | None = None

    def usable(self, now: float) -> bool:
        """Whether it opens anything now."""
        return self.revoked is None and (self.expires is None or now < self.expires)

    def may(self, scope: str, model: str = "") -> bool:
        """Whether it is for this; `admin` may do all that has to do with models."""
        if scope in self.scopes or ("admin" in self.scopes and scope == "score"):
            return True
        return bool(model) and f"{scope}:{model}" in self.scopes

    def state(self, now: float) -> str:
        """In one word."""
        if self.revoked is not None:
            return "revoked"
        if self.expires is None:
            return "active"
        return "ending" if now < self.expires else "expired"


def draw() -> tuple[str, str, bytes]:
    """A new key: its id, the whole text to be shown once, and the hash to be kept."""
    identity, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    return identity, f"sfm_{identity}_{secret}", digest(secret)


def digest(secret: str) -> bytes:
    """What is kept instead of a secret."""
    return hashlib.sha256(secret.encode("ascii", "replace")).digest()


def parse(authorization: str) -> tuple[str, str] | None:
    """Id and secret of an Authorization header, or None where it is not one of ours."""
    kind, _, token = authorization.partition(" ")
    found = _TOKEN.fullmatch(token) if kind.lower() == "bearer" else None
    return (found[1], found[2]) if found else None


def opens(key: ApiKey | None, secret: str, now: float) -> bool:
    """Whether the secret is this key's; an unknown id takes as long as a wrong secret."""
    same = hmac.compare_digest(_NOBODY if key is None else key.hash, digest(secret))
    return key is not None and same and key.usable(now)


def is_client(name: str) -> bool:
    """Whether this can be the name of a client."""
    return _CLIENT.fullmatch(name) is not None


def is_scope(scope: object) -> bool:
    """Whether this is one of our scopes."""
    return isinstance(scope, str) and _SCOPE.fullmatch(scope) is not None


def checked(client: str, scopes: tuple[str, ...], rate: float, burst: int) -> None:
    """Refuse what cannot be a key, with all faults at once."""
    faults = []
    if not is_client(client):
        faults.append("a client's name is 1 to 64 letters, digits, '.', '_', '-'")
    if not scopes or not all(map(is_scope, scopes)):
        faults.append("a scope is score, score:MODEL, admin or metrics")
    if not 0 < rate <= 1e6 or not 1 <= burst <= 1_000_000:
        faults.append("rate and burst are above 0 and at most a million")
    if faults:
        raise ParameterError(f"the key: {'; '.join(faults)}.", hint="sfumato keys create --help")
