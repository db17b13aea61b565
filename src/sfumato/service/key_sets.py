"""The public keys of who signs tokens: from a file, or fetched from the address that the operator named.

A file is read again when it changes. An address is asked again after a while, and when a token names a key
that is not known yet, though not more often than every few seconds: keys rotate without a restart, and
tokens with invented key ids cannot make the service call out at will. While the address is out of reach, the
keys fetched last are used on for a day.
"""

from __future__ import annotations

import json
import logging
import math
import ssl
import threading
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sfumato.errors import DataError, OutputError
from sfumato.service import logs
from sfumato.service.access import Party

if TYPE_CHECKING:
    from jwt.algorithms import AllowedPublicKeys

_MOST_BYTES = 1 << 20
_MOST_KEYS = 100
_SECONDS = 5.0  # for an answer
_PAUSE = 10.0  # seconds between two fetches that were caused by unknown key ids or failures
_STALE = 86_400.0
_LEAST_RSA = 2048


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        return None  # an answer from elsewhere is not the answer of who was named


class KeySet:
    """The keys of one party by their ids. `generation` changes whenever they do."""

    def __init__(self, party: Party) -> None:
        self._party = party
        self._lock = threading.Lock()
        self._keys: dict[str, Any] = {}
        self._mark: object = None
        self._fetched, self._tried = -math.inf, -math.inf
        self.generation = 0
        self.remote = not party.jwks or "://" in party.jwks
        if not self.remote:
            self._read_file(needed=True)

    def due(self, key_id: str | None = None) -> bool:
        """Whether the address should be asked anew, also because it may know the key of this id by now.

        Quick; a file that has changed is read on the way.
        """
        if not self.remote:
            self._read_file()
            return False
        now = time.monotonic()
        if now - self._tried < _PAUSE:
            return False
        unknown = key_id is not None and self._found(key_id) is None
        return unknown or now - self._fetched > self._party.refresh

    def refresh(self) -> None:
        """Ask the address; blocks, so it is called on a thread. If that fails, the old keys stay."""
        with self._lock:
            if time.monotonic() - self._tried < _PAUSE:
                return
            self._tried = time.monotonic()
            try:
                self._take(_key_set(self._fetch(self._address())))
                self._fetched = time.monotonic()
            except (OSError, ValueError, RecursionError, DataError) as error:
                logs.event("keys_not_fetched", logging.WARNING, issuer=self._party.name, **logs.fault(error))

    def find(self, key_id: str) -> PublicKey | None:
        """The key of this id, or None; without an id the only one there is."""
        if self.remote and time.monotonic() - self._fetched > max(_STALE, 2 * self._party.refresh):
            raise OutputError("the keys of an issuer cannot be fetched.", hint="try again")
        return self._found(key_id)

    def _found(self, key_id: str) -> PublicKey | None:
        if key_id:
            return self._keys.get(key_id)
        return next(iter(self._keys.values())) if len(self._keys) == 1 else None

    def _take(self, keys: dict[str, Any]) -> None:
        content = {name: key.public_numbers_mark for name, key in keys.items()}
        if content != self._mark:
            self._mark = content
            self._keys = keys
            self.generation += 1

    def _read_file(self, *, needed: bool = False) -> None:
        path = Path(self._party.jwks)
        try:
            status = path.stat()
            seen = (status.st_mtime_ns, status.st_size, status.st_ino)
            if seen == self._fetched_file:
                return
            self._take(_key_set(path.read_bytes()))
            self._fetched_file = seen
        except (OSError, ValueError, RecursionError, DataError) as error:
            if needed:
                raise DataError(f"{path.name} is no set of public keys.", hint="a JWKS file") from None
            logs.event("keys_not_read", logging.WARNING, issuer=self._party.name, **logs.fault(error))

    _fetched_file: tuple[int, int, int] | None = None

    # -- asking ------------------------------------------------------------------------------------

    def _address(self) -> str:
        if self._party.jwks:
            return self._party.jwks
        issuer = self._party.issuer
        about = _object(self._fetch(f"{issuer.rstrip('/')}/.well-known/openid-configuration"))
        address = about.get("jwks_uri")
        if about.get("issuer") != issuer or not isinstance(address, str):
            raise DataError("the issuer says that it is another.", hint="name its jwks")
        if urlsplit(address)[:2] != urlsplit(issuer)[:2]:
            raise DataError("the issuer keeps its keys elsewhere.", hint="name its jwks")
        return address

    def _fetch(self, address: str) -> bytes:
        context = ssl.create_default_context(cafile=self._party.ca or None)
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), _NoRedirect, urllib.request.HTTPSHandler(context=context)
        )
        request = urllib.request.Request(address, headers={"accept": "application/json"})
        with opener.open(request, timeout=_SECONDS) as answer:
            content: bytes = answer.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise DataError("the keys of an issuer are too large.", hint="name its jwks")
        return content


class PublicKey:
    """One key and the algorithms it may verify: what a token says of its algorithm is held against this."""

    def __init__(self, key: AllowedPublicKeys, algorithms: tuple[str, ...], mark: str) -> None:
        self.key, self.algorithms, self.public_numbers_mark = key, algorithms, mark


def _object(content: bytes) -> Mapping[str, Any]:
    found = json.loads(content)
    if not isinstance(found, dict):
        raise DataError("an issuer did not answer with an object.", hint="name its jwks")
    return found


def _key_set(content: bytes) -> dict[str, Any]:
    """The keys that can verify signatures; shared secrets, weak keys and others are left out."""
    entries = _object(content).get("keys")
    if not isinstance(entries, list):
        raise DataError("there are no keys in it.", hint="a JWKS has a list of keys")
    found = {}
    for place, entry in enumerate(entries[:_MOST_KEYS]):
        key = _public_key(entry) if isinstance(entry, dict) else None
        if key is not None:
            found[str(entry.get("kid") or f" {place}")] = key
    if not found:
        raise DataError("there is no public key for signatures in it.", hint="RSA, EC or Ed25519")
    return found


def _public_key(entry: Mapping[str, Any]) -> PublicKey | None:
    import jwt

    if entry.get("use", "sig") != "sig" or entry.get("kty") not in ("RSA", "EC", "OKP"):
        return None
    public = {name: entry[name] for name in ("kty", "crv", "x", "y", "n", "e") if name in entry}
    try:
        key = jwt.PyJWK(public).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
    if entry["kty"] == "RSA":
        if key.key_size < _LEAST_RSA:
            return None
        fitting: tuple[str, ...] = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
    elif entry["kty"] == "EC":
        curve = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}.get(str(entry.get("crv")))
        fitting = (curve,) if curve else ()
    else:
        fitting = ("EdDSA",) if entry.get("crv") == "Ed25519" else ()
    stated = entry.get("alg")
    if stated is not None:
        fitting = tuple(a for a in fitting if a == stated)
    return PublicKey(key, fitting, json.dumps([public, fitting], sort_keys=True)) if fitting else None
