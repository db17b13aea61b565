"""Who may come with a token: issuers whose tokens are taken, and clients who sign for themselves.

    [[issuer]]                                        # OIDC: somebody else's tokens
    name = "hospital"
    issuer = "https://login.hospital.example/realms/clinic"
    audience = "https://scores.hospital.example"
    jwks = "jwks.json"                                # a file or https://...; else the issuer is asked
    scopes = { "risk.read" = ["score:diabetes"] }     # a token's scope: ours

    [[client]]                                        # SMART on FHIR backend services: tokens of our own
    name = "registry"
    jwks = "registry.jwks.json"
    scopes = { "system/RiskAssessment.c" = ["score"] }

The operator's file is read once, at the start, all faults at once. The service connects to what is named
in it, and to nothing else.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sfumato.errors import DataError, ParameterError
from sfumato.service import keys
from sfumato.service.request_parts import NAME

ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
)  # fmt: skip
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_CLIENT_CLAIMS = ("client_id", "azp", "sub")


@dataclass(frozen=True)
class Party:
    """Somebody whose signatures are taken.

    name: as logs have it. jwks: where the public keys are; "" asks the issuer's discovery document.
    scopes: what a scope of theirs opens here. rate, burst: of each client, as of a key.
    leeway: seconds by which clocks may differ. max_lifetime: seconds that a token may be valid.
    one_use: a token's `jti` is taken once, as CDS Hooks and client assertions want it.
    ca: the authorities that the address of the keys is checked with, in place of the system's.
    """

    name: str
    issuer: str
    audience: tuple[str, ...]
    jwks: str
    scopes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    algorithms: tuple[str, ...] = ALGORITHMS
    client: tuple[str, ...] = _CLIENT_CLAIMS
    rate: float = 50.0
    burst: int = 100
    leeway: float = 30.0
    max_lifetime: float = 86_400.0
    one_use: bool = False
    refresh: float = 300.0
    ca: str = ""

    def opened(self, scopes: list[str]) -> tuple[str, ...]:
        """Our scopes for theirs; what is not listed opens nothing."""
        return tuple(dict.fromkeys(ours for theirs in scopes for ours in self.scopes.get(theirs, ())))


@dataclass(frozen=True)
class Access:
    """The issuers and clients of an installation. token_url: where clients ask for tokens, as they see it."""

    issuers: tuple[Party, ...] = ()
    clients: tuple[Party, ...] = ()
    token_url: str = ""
    lifetime: float = 300.0  # of a token that we give out


_SHARED = {
    "name", "jwks", "scopes", "algorithms", "rate", "burst", "leeway", "max_lifetime", "refresh", "ca",
}  # fmt: skip
_OF_ISSUER = _SHARED | {"issuer", "audience", "client", "one_use"}


def read(path: str | Path) -> Access:
    """The operator's file; refused with all its faults if it has any."""
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise DataError(f"{file.name}: {error.strerror}.", hint="--access FILE") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise DataError(f"{file.name} is not TOML.", hint="see docs/access.md") from None
    faults = [f"unknown: {name}" for name in sorted(set(content) - {"issuer", "client", "token_url"})]
    issuers = [_issuer(e, file.parent, faults) for e in _tables(content, "issuer", faults)]
    url = content.get("token_url", "")
    clients = [_client(e, url, file.parent, faults) for e in _tables(content, "client", faults)]
    if clients and (not isinstance(url, str) or not _address(url)):
        faults.append("token_url: clients need the https address at which they ask for tokens")
    for what, names in (
        ("names", [p.name for p in (*issuers, *clients)]),
        ("issuers", [p.issuer for p in issuers]),
    ):
        if len(set(names)) < len(names):
            faults.append(f"two entries have the same {what}")
    if not issuers and not clients and not faults:
        faults.append("there is neither an [[issuer]] nor a [[client]]")
    if faults:
        raise ParameterError(f"{file.name}: {'; '.join(faults)}.", hint="see docs/access.md")
    return Access(tuple(issuers), tuple(clients), url)


def _tables(content: dict[str, Any], name: str, faults: list[str]) -> list[dict[str, Any]]:
    found = content.get(name, [])
    if not isinstance(found, list) or not all(isinstance(e, dict) for e in found):
        faults.append(f"[[{name}]] is a table, in two brackets")
        return []
    return found


def _issuer(entry: dict[str, Any], folder: Path, faults: list[str]) -> Party:
    where = f"issuer {entry.get('name', '?')!s:.40}"
    given = _shared(entry, where, folder, _OF_ISSUER, faults)
    issuer = entry.get("issuer")
    audience = entry.get("audience")
    audience = [audience] if isinstance(audience, str) else audience
    if not isinstance(issuer, str) or not issuer or len(issuer) > 500:
        faults.append(f"{where}: issuer is the text that its tokens have as iss")
    elif not given["jwks"] and not _address(issuer):
        faults.append(f"{where}: without jwks its own address must be https")
    if not isinstance(audience, list) or not audience or not all(isinstance(a, str) and a for a in audience):
        faults.append(f"{where}: audience is the text, or texts, of which its tokens have one as aud")
        audience = []
    claims = entry.get("client", list(_CLIENT_CLAIMS))
    claims = [claims] if isinstance(claims, str) else claims
    if not isinstance(claims, list) or not claims or not all(isinstance(c, str) and c for c in claims):
        faults.append(f"{where}: client names the claim, or claims, that say who asks")
        claims = []
    one_use = entry.get("one_use", False)
    if not isinstance(one_use, bool):
        faults.append(f"{where}: one_use is true or false")
    return Party(
        issuer=str(issuer), audience=tuple(audience), client=tuple(claims), one_use=bool(one_use), **given
    )


def _client(entry: dict[str, Any], token_url: object, folder: Path, faults: list[str]) -> Party:
    """Its assertion names itself twice and us as the audience, lives five minutes at most, is used once."""
    where = f"client {entry.get('name', '?')!s:.40}"
    given = _shared(entry, where, folder, _SHARED, faults)
    given["max_lifetime"] = min(given["max_lifetime"], 300.0)
    if not given["jwks"]:
        faults.append(f"{where}: jwks says where its public keys are")
    return Party(
        issuer=given["name"], audience=(str(token_url),), client=("sub",), one_use=True, **given
    )  # fmt: skip


def _shared(
    entry: dict[str, Any], where: str, folder: Path, known: set[str], faults: list[str]
) -> dict[str, Any]:
    faults += [f"{where}: unknown: {name:.40}" for name in sorted(set(entry) - known)]
    given: dict[str, Any] = {"name": entry.get("name", ""), "jwks": entry.get("jwks", "")}
    if not isinstance(given["name"], str) or not NAME.fullmatch(given["name"]):
        faults.append(f"{where}: a name is 1 to 64 letters, digits, '.', '_', '-'")
        given["name"] = ""
    for name in ("jwks", "ca"):
        place = entry.get(name, "")
        if not isinstance(place, str):
            faults.append(f"{where}: {name} is a text")
            place = ""
        elif "://" in place and (name == "ca" or not _address(place)):
            faults.append(f"{where}: {name} is a file, or (of jwks) an https address")
        elif place and "://" not in place:
            place = str(folder / place)
            if not Path(place).is_file():
                faults.append(f"{where}: there is no file {Path(place).name}")
        given[name] = place
    given["scopes"] = _scopes(entry.get("scopes", {}), where, faults)
    algorithms = entry.get("algorithms", list(ALGORITHMS))
    if not isinstance(algorithms, list) or not algorithms or set(map(str, algorithms)) - set(ALGORITHMS):
        faults.append(f"{where}: algorithms are among {', '.join(ALGORITHMS)}")
        algorithms = []
    given["algorithms"] = tuple(algorithms)
    for name, low, high in (
        ("rate", 1e-6, 1e6), ("burst", 1, 1e6), ("leeway", 0, 300), ("max_lifetime", 1, 86_400 * 31),
        ("refresh", 1, 86_400),
    ):  # fmt: skip
        number = entry.get(name, getattr(Party, name))
        if isinstance(number, bool) or not isinstance(number, int | float) or not low <= number <= high:
            faults.append(f"{where}: {name} is a number from {low:g} to {high:g}")
            number = getattr(Party, name)
        given[name] = int(number) if name == "burst" else float(number)
    return given


def _scopes(given: object, where: str, faults: list[str]) -> dict[str, tuple[str, ...]]:
    found = {}
    if not isinstance(given, dict) or not given:
        faults.append(f"{where}: scopes says which of its scopes opens what here")
        return {}
    for theirs, ours in given.items():
        many = [ours] if isinstance(ours, str) else ours
        if not isinstance(many, list) or not many or not all(keys.is_scope(s) for s in many):
            faults.append(f"{where}: a scope of ours is score, score:MODEL, admin or metrics")
        else:
            found[theirs] = tuple(many)
    return found


def _address(text: str) -> bool:
    """An https address; http only where it does not leave the machine."""
    parts = urlsplit(text)
    if parts.username or parts.password or parts.fragment:
        return False
    return bool(parts.hostname) and (
        parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    )
