"""Tokens: whether a signed statement opens anything, and what. Whatever is wrong with one, the answer is one.

Guarantee: None for every token that is expired, not yet valid, for another audience, of another issuer,
           signed with an unknown key or an algorithm that does not fit the key (`none` and
           shared secrets fit none), longer-lived than allowed, without a client, or (one_use) seen before.
Because:   the key is looked up among the named issuer's own, and its type decides the algorithms.
Assumes:   the issuer's keys are its own and our clock is right up to the leeway.
Tested by: tests/service/test_tokens.py
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import re
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sfumato.service.access import Access, Party
from sfumato.service.answers import Answers
from sfumato.service.key_sets import KeySet
from sfumato.service.keys import ApiKey, is_client
from sfumato.service.limits import place_of

_MOST_LETTERS = 8192
_FORM = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_OURS = "sft."  # a token that we gave out
_MOST_CACHED = 1024
_MOST_ID = 500


class Tokens:
    """All issuers and clients at hand. Checked tokens are remembered as hashes, as long as the keys stay."""

    def __init__(self, access: Access, secret: bytes, answers: Answers) -> None:
        self.access = access
        self._secret, self._answers = secret, answers
        self._issuers = {party.issuer: (party, KeySet(party)) for party in access.issuers}
        self._clients = {party.name: (party, KeySet(party)) for party in access.clients}
        self._known: OrderedDict[bytes, tuple[ApiKey, KeySet, int]] = OrderedDict()
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="tokens")

    # -- bearer tokens -----------------------------------------------------------------------------

    def known(self, token: str) -> ApiKey | None:
        """The holder of a token that was checked before, or of one of ours, without any waiting."""
        if token.startswith(_OURS):
            return self._own(token)
        mark = hashlib.sha256(token.encode()).digest()
        found = self._known.get(mark)
        if found is None:
            return None
        key, keys, generation = found
        if keys.due() or generation != keys.generation or not key.usable(time.time()):
            self._known.pop(mark, None)
            return None
        return key

    def holder(self, token: str) -> ApiKey | None:
        """Whose token this is, or None if it opens nothing. May wait for an issuer: called on a thread."""
        if token.startswith(_OURS):
            return None
        found = self._statement(token, self._issuers)
        if found is None:
            return None
        party, keys, generation, claims = found
        client = next((claims[c] for c in party.client if claims.get(c)), None)
        if not isinstance(client, str) or not is_client(client):
            return None
        if party.one_use and not self._first(party, claims):
            return None
        key = self._key(party, client, party.opened(_scopes(claims)), float(claims["exp"]) + party.leeway)
        if not party.one_use:
            self._known[hashlib.sha256(token.encode()).digest()] = (key, keys, generation)
            while len(self._known) > _MOST_CACHED:
                self._known.popitem(last=False)
        return key

    async def holder_in_time(self, token: str) -> ApiKey | None:
        """As `holder`, on a thread of its own few: an issuer that does not answer holds up nobody else."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self.holder, token)

    async def asserted_in_time(self, assertion: str) -> Party | None:
        """As `asserted`, likewise."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self.asserted, assertion)

    def close(self) -> None:
        """Wait for what is under way."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _key(self, party: Party, client: str, scopes: tuple[str, ...], expires: float) -> ApiKey:
        place = place_of(hmac.digest(self._secret, f"{party.name} {client}".encode(), "sha256"))
        now = time.time()
        return ApiKey(
            place, f"{party.name}:{client}", client, scopes, party.rate, party.burst, b"", now, expires
        )  # fmt: skip

    def _statement(
        self, token: str, parties: dict[str, tuple[Party, KeySet]]
    ) -> tuple[Party, KeySet, int, dict[str, Any]] | None:
        """What a token says, if its signature, times, issuer and audience are as they must be."""
        import jwt

        if len(token) > _MOST_LETTERS or not _FORM.fullmatch(token):
            return None
        try:
            head = jwt.get_unverified_header(token)
            claimed = jwt.decode(token, options={"verify_signature": False}).get("iss")
        except Exception:  # whatever strange bytes do to a parser, they open nothing
            return None
        party, keys = parties.get(claimed, (None, None)) if isinstance(claimed, str) else (None, None)
        key_id, algorithm = head.get("kid", ""), head.get("alg")
        if party is None or keys is None or not isinstance(key_id, str) or "crit" in head:
            return None
        if keys.due(key_id):
            keys.refresh()
        generation = keys.generation
        key = keys.find(key_id)
        if key is None or algorithm not in key.algorithms or algorithm not in party.algorithms:
            return None
        try:
            claims: dict[str, Any] = jwt.decode(
                token, key.key, algorithms=[algorithm], audience=list(party.audience), issuer=party.issuer,
                leeway=party.leeway, options={"require": ["exp", "iat", "iss", "aud"]},
            )  # fmt: skip
            lifetime = float(claims["exp"]) - float(claims["iat"])
        except Exception:
            return None
        return (party, keys, generation, claims) if 0 < lifetime <= party.max_lifetime else None

    def _first(self, party: Party, claims: dict[str, Any]) -> bool:
        """Whether its `jti` is new; it is noted on disk, for all workers, until the token has expired."""
        given = claims.get("jti")
        if not isinstance(given, str) or not 0 < len(given) <= _MOST_ID:
            return False
        mark = self._answers.hash(b"jti", party.name.encode(), given.encode("utf-8", "surrogatepass"))
        return self._answers.first(mark, float(claims["exp"]) + party.leeway + 60)

    # -- tokens of our own -------------------------------------------------------------------------

    def asserted(self, assertion: str) -> Party | None:
        """The client who signed an assertion, or None. It says itself twice, and is taken once."""
        found = self._statement(assertion, self._clients)
        if found is None:
            return None
        party, _, _, claims = found
        if claims.get("sub") != party.name or not self._first(party, claims):
            return None
        return party

    def give(self, party: Party, scopes: list[str]) -> str:
        """A token for a client: who, for what, until when; under our secret, so that nothing is kept."""
        end = int(time.time() + self.access.lifetime)
        content = _packed(json.dumps({"c": party.name, "s": scopes, "e": end}).encode())
        return f"{_OURS}{content}.{self._mac(content)}"

    def _own(self, token: str) -> ApiKey | None:
        content, _, mac = token[len(_OURS) :].partition(".")
        if len(token) > _MOST_LETTERS or not hmac.compare_digest(
            self._mac(content).encode(), mac.encode("utf-8", "replace")
        ):
            return None
        said = json.loads(base64.urlsafe_b64decode(content + "=" * (-len(content) % 4)))  # ours: the mac fits
        party, _ = self._clients.get(said["c"], (None, None))
        if party is None or time.time() >= said["e"]:
            return None
        return self._key(party, party.name, party.opened(said["s"]), float(said["e"]))

    def _mac(self, content: str) -> str:
        return _packed(
            hmac.digest(self._secret, b"access token " + content.encode("utf-8", "replace"), "sha256")
        )


def _packed(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _scopes(claims: dict[str, Any]) -> list[str]:
    """The scopes of a token: a text with spaces (RFC 8693), or a list as some issuers write it."""
    found = claims.get("scope", claims.get("scp", ""))
    if isinstance(found, str):
        return found.split()
    return [s for s in found if isinstance(s, str)] if isinstance(found, list) else []
