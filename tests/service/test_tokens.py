"""Tokens of an issuer: what opens, and that whatever is wrong with one gets the same answer."""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from issuers import AUDIENCE, Issuer, packed, published
from serving import WHOLE, Answer, Inside

from sfumato.errors import DataError, ParameterError
from sfumato.service import access, key_sets
from sfumato.service.worker import Service

SCORE, SHOCK = "/v1/models/diabetes/score", "/v1/models/septic-shock/score"
ENTRY = """
[[issuer]]
name = "hospital"
issuer = "{url}"
audience = "{audience}"
scopes = {{ "risk.read" = ["score:diabetes"], "risk.admin" = ["admin", "metrics"] }}
{more}
"""


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with published() as found:
        yield found


@pytest.fixture
def hospital(serve: Callable, tmp_path: Path, issuer: Issuer) -> Callable[..., tuple[Inside, Service]]:
    """Builds services that take the issuer's tokens."""

    def start(more: str = "", **given: Any) -> tuple[Inside, Service]:
        file = tmp_path / "access.toml"
        file.write_text(ENTRY.format(url=issuer.url, audience=AUDIENCE, more=more))
        found: tuple[Inside, Service] = serve(access=str(file), **given)
        return found

    return start


def visible(answer: Answer) -> tuple[int, bytes, dict[str, str]]:
    """All that a caller sees, but for the id of the request."""
    return answer.status, answer.body, {n: v for n, v in answer.headers.items() if n != "x-request-id"}


def test_a_token_opens_what_its_scopes_are_for(hospital: Callable, issuer: Issuer) -> None:
    ask, _ = hospital()
    token = issuer.token()
    answer = ask("POST", SCORE, WHOLE, key=token)
    assert answer.status == 200 and answer.body == ask("POST", SCORE, WHOLE).body  # a key works beside it
    assert ask("POST", SHOCK, {}, key=token).code == "unknown_model"
    assert ask("GET", "/metrics", key=token).code == "not_allowed"
    assert ask("GET", "/v1/budget", key=token).json["client"] == "ehr"
    admin = issuer.token(scope="risk.admin", client_id=None, azp="console")
    assert ask("GET", "/metrics", key=admin).status == 200
    assert ask("GET", "/v1/budget", key=admin).json["client"] == "console"
    assert ask("POST", SHOCK, {}, key=admin).code == "invalid"  # admin may ask all models
    listed = issuer.token(scope=None, scp=["risk.read"], client_id=None)
    assert ask("POST", SCORE, WHOLE, key=listed).status == 200
    assert ask("GET", "/v1/budget", key=listed).json["client"] == "ward-7"
    for scope in ("", "score", "score:diabetes", "admin", "Risk.read", "risk.read.more"):
        assert ask("POST", SCORE, WHOLE, key=issuer.token(scope=scope)).code == "unknown_model", scope


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "PS256", "ES256", "ES384", "EdDSA"])
def test_the_algorithms_of_the_field_are_taken(hospital: Callable, issuer: Issuer, algorithm: str) -> None:
    issuer.add("other", algorithm)
    ask, _ = hospital()
    assert ask("POST", SCORE, WHOLE, key=issuer.token("other")).status == 200


def forged(issuer: Issuer) -> dict[str, str]:
    """Tokens that must open nothing, by what is wrong with them."""
    now = int(time.time())
    issuer.add("hidden", "RS256", publish=False)
    issuer.add("weak", "RS256", bits=1024)
    issuer.add("curve", "ES256")
    issuer.private["first as ES"] = issuer.private["curve"]
    public = issuer.private["first"][0].public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    signed = issuer.token()
    head, body, signature = signed.split(".")
    with_secret = []  # RS256's public key taken for HS256's secret
    for secret in (pem, issuer.published[0]["n"].encode()):
        said = f"{packed({'alg': 'HS256', 'typ': 'JWT', 'kid': 'first'})}.{body}"
        with_secret.append(f"{said}.{packed(hmac.digest(secret, said.encode(), 'sha256'))}")
    infinite = packed(b'{"iss": 1e999, "exp": 1e999}')
    none = f"{packed({'alg': 'none', 'typ': 'JWT', 'kid': 'first'})}.{packed(issuer.claims())}"
    return {
        "expired": issuer.token(iat=now - 900, exp=now - 600),
        "expired just beyond the leeway": issuer.token(iat=now - 900, exp=now - 40),
        "not yet valid": issuer.token(nbf=now + 600),
        "issued in the future": issuer.token(iat=now + 600, exp=now + 900),
        "wrong audience": issuer.token(aud="https://other.example"),
        "no audience": issuer.token(aud=None),
        "audience of another kind": issuer.token(aud=[[AUDIENCE]]),
        "wrong issuer": issuer.token(iss="https://other.example"),
        "issuer with a slash": issuer.token(iss=issuer.url + "/"),
        "no issuer": issuer.token(iss=None),
        "unknown key id": issuer.token("hidden"),
        "known id, other key": issuer.token("hidden", {"kid": "first"}),
        "no key id among several": issuer.token("first", {"kid": None}),
        "key id of another type": f"{packed({'alg': 'RS256', 'kid': 5})}.{body}.{signature}",
        "weak key": issuer.token("weak"),
        "alg none": none + ".",
        "alg none with a signature": f"{none}.{signature}",
        "alg None": f"{packed({'alg': 'None', 'kid': 'first'})}.{body}.",
        "public key as a secret": with_secret[0],
        "modulus as a secret": with_secret[1],
        "key of another type": issuer.token("curve", {"kid": "first"}),
        "critical extension": issuer.token("first", {"crit": ["exp"]}),
        "own key in the head": issuer.token("hidden", {"jwk": issuer.published[0]}),
        "own address in the head": issuer.token("hidden", {"jku": f"{issuer.url}/mine"}),
        "too long-lived": issuer.token(exp=now + 90_000),
        "no end": issuer.token(exp=None),
        "no begin": issuer.token(iat=None),
        "endless": issuer.token(exp=1e300),
        "end before begin": issuer.token(iat=now + 20, exp=now + 10),
        "no client": issuer.token(client_id=None, sub=None),
        "client that is no name": issuer.token(client_id="a/../b"),
        "client of another type": issuer.token(client_id=["ehr"]),
        "changed body": f"{head}.{packed(issuer.claims(scope='risk.admin'))}.{signature}",
        "cut signature": signed[:-8],
        "no signature": f"{head}.{body}.",
        "two parts": f"{head}.{body}",
        "five parts": f"{signed}.a.b",
        "no JSON": f"{packed(b'{')}.{packed(b'x')}.{signature}",
        "a list": f"{head}.{packed([1])}.{signature}",
        "infinite end": f"{head}.{infinite}.{signature}",
        "deep": f"{packed(b'[' * 4000)}.{body}.{signature}",
        "too long": issuer.token(scope="x" * 9000),
        "spaces": f" {signed}",
        "not ours": "sft."
        + packed({"c": "ehr", "s": ["risk.read"], "e": now + 99})
        + "."
        + packed(b"x" * 32),
    }


def test_every_wrong_token_gets_one_and_the_same_answer(hospital: Callable, issuer: Issuer) -> None:
    wrong = forged(issuer)
    ask, _ = hospital()
    assert ask("POST", SCORE, WHOLE, key=issuer.token()).status == 200
    expected = visible(ask("POST", SCORE, WHOLE, key="sfm_000000000000_" + "x" * 43))
    assert expected[0] == 401
    for name, token in wrong.items():
        header = {"authorization": f"Bearer {token}"}
        assert visible(ask("POST", SCORE, WHOLE, headers=header)) == expected, name
    good = issuer.token()
    for header in (f"Token {good}", good, f"Bearer  {good}", f"Bearer {good},{good}"):
        assert ask("POST", SCORE, WHOLE, headers={"authorization": header}).status == 401, header
    twice = [("authorization", f"Bearer {good}"), ("authorization", f"Bearer {good}")]
    assert ask("POST", SCORE, WHOLE, headers=twice).status == 401


def test_clocks_may_differ_by_the_leeway_and_no_more(hospital: Callable, issuer: Issuer) -> None:
    ask, _ = hospital("leeway = 100")
    now = int(time.time())
    for changed, status in (
        ({"iat": now + 60, "exp": now + 300}, 200), ({"iat": now + 200, "exp": now + 300}, 401),
        ({"iat": now - 300, "exp": now - 50}, 200), ({"iat": now - 300, "exp": now - 150}, 401),
    ):  # fmt: skip
        assert ask("POST", SCORE, WHOLE, key=issuer.token(**changed)).status == status, changed


def test_a_checked_token_ends_with_its_time(hospital: Callable, issuer: Issuer) -> None:
    ask, _ = hospital("leeway = 0")
    end = int(time.time()) + 2
    token = issuer.token(exp=end)
    early = ask("POST", SCORE, WHOLE, key=token).status
    assert early == 200 or time.time() >= end  # on a machine that was busy for a second
    while time.time() < end:
        time.sleep(0.05)
    assert ask("POST", SCORE, WHOLE, key=token).status == 401


def test_keys_rotate_without_a_restart(
    hospital: Callable, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_sets, "_PAUSE", 0.0)
    ask, _ = hospital("refresh = 86400")
    old = issuer.token()
    assert ask("POST", SCORE, WHOLE, key=old).status == 200
    issuer.add("second", "ES256")
    assert ask("POST", SCORE, WHOLE, key=issuer.token("second")).status == 200
    assert ask("POST", SCORE, WHOLE, key=old).status == 200  # both are published
    issuer.published = issuer.published[1:]
    issuer.add("third", "RS256")
    assert ask("POST", SCORE, WHOLE, key=issuer.token("third")).status == 200  # its keys are asked for again
    assert ask("POST", SCORE, WHOLE, key=old).status == 401, "a key that was withdrawn opens nothing"
    assert ask("POST", SCORE, WHOLE, key=issuer.token("second")).status == 200


def test_a_withdrawn_key_is_noticed_after_a_while(
    hospital: Callable, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, _ = hospital("refresh = 60")
    issuer.add("second", "ES256")
    old = issuer.token()
    assert ask("POST", SCORE, WHOLE, key=old).status == 200
    issuer.published = issuer.published[1:]
    assert ask("POST", SCORE, WHOLE, key=old).status == 200  # not asked yet
    later = time.monotonic() + 61
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert ask("POST", SCORE, WHOLE, key=old).status == 401


def test_invented_key_ids_do_not_make_it_call_out(hospital: Callable, issuer: Issuer) -> None:
    ask, _ = hospital()
    assert ask("POST", SCORE, WHOLE, key=issuer.token()).status == 200
    before = issuer.fetches
    issuer.add("hidden", "ES256", publish=False)
    for i in range(20):
        assert ask("POST", SCORE, WHOLE, key=issuer.token("hidden", {"kid": f"k{i}"})).status == 401
    assert issuer.fetches == before


def test_a_file_of_keys_needs_no_connection(hospital: Callable, issuer: Issuer, tmp_path: Path) -> None:
    (tmp_path / "jwks.json").write_text(json.dumps(issuer.jwks))
    ask, _ = hospital('jwks = "jwks.json"')
    old = issuer.token()
    assert ask("POST", SCORE, WHOLE, key=old).status == 200
    issuer.published.clear()
    issuer.add("second", "RS256")
    (tmp_path / "beside").write_text(json.dumps(issuer.jwks))
    (tmp_path / "beside").rename(tmp_path / "jwks.json")
    assert ask("POST", SCORE, WHOLE, key=issuer.token("second")).status == 200
    assert ask("POST", SCORE, WHOLE, key=old).status == 401
    (tmp_path / "jwks.json").write_text("{")  # a half-written file changes nothing
    assert ask("POST", SCORE, WHOLE, key=issuer.token("second")).status == 200
    assert issuer.fetches == 0


def test_an_issuer_out_of_reach(hospital: Callable, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_sets, "_PAUSE", 0.0)
    ask, _ = hospital("refresh = 1")
    issuer.answers["/jwks"] = b"not JSON"
    assert ask("POST", SCORE, WHOLE, key=issuer.token()).code == "unavailable"  # never had its keys
    assert ask("POST", SCORE, WHOLE).status == 200  # keys of our own do not depend on it
    issuer.answers.clear()
    token = issuer.token()
    assert ask("POST", SCORE, WHOLE, key=token).status == 200
    issuer.answers["/jwks"] = b""
    hour = time.monotonic() + 3600
    monkeypatch.setattr(time, "monotonic", lambda: hour)
    assert ask("POST", SCORE, WHOLE, key=token).status == 200  # with the keys it had
    day = hour + 90_000
    monkeypatch.setattr(time, "monotonic", lambda: day)
    assert ask("POST", SCORE, WHOLE, key=token).code == "unavailable"


@pytest.mark.parametrize(
    "hostile",
    [
        {"/.well-known/openid-configuration": {"issuer": "https://other.example", "jwks_uri": "{url}/jwks"}},
        {"/.well-known/openid-configuration": {"issuer": "{url}", "jwks_uri": "http://127.0.0.2:1/jwks"}},
        {"/.well-known/openid-configuration": {"issuer": "{url}", "jwks_uri": "file:///etc/passwd"}},
        {"/.well-known/openid-configuration": [1]},
        {"/jwks": "/.well-known/openid-configuration"},  # sent elsewhere
        {"/jwks": {"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "first"}]}},
        {"/jwks": {"keys": "none"}},
        {"/jwks": b"[" * 100_000},
        {"/jwks": b" " * (1 << 21)},
    ],
)
def test_a_hostile_issuer_opens_nothing(hospital: Callable, issuer: Issuer, hostile: dict[str, Any]) -> None:
    ask, _ = hospital()
    for path, answer in hostile.items():
        issuer.answers[path] = (
            {n: v.replace("{url}", issuer.url) for n, v in answer.items()}
            if isinstance(answer, dict) and "issuer" in answer
            else answer
        )
    assert ask("POST", SCORE, WHOLE, key=issuer.token()).status in (401, 503)
    assert ask("POST", SCORE, WHOLE).status == 200


def test_a_token_for_one_use_is_taken_once_by_all_workers(
    hospital: Callable, issuer: Issuer, tmp_path: Path
) -> None:
    ask, _ = hospital("one_use = true")
    other, _ = hospital("one_use = true", runtime=str(tmp_path))
    assert ask("POST", SCORE, WHOLE, key=issuer.token()).status == 401  # without a jti
    token = issuer.token(jti="a")
    assert ask("POST", SCORE, WHOLE, key=token).status == 200
    assert ask("POST", SCORE, WHOLE, key=token).status == 401
    assert other("POST", SCORE, WHOLE, key=token).status == 401
    assert other("POST", SCORE, WHOLE, key=issuer.token(jti="a")).status == 401
    assert other("POST", SCORE, WHOLE, key=issuer.token(jti="b")).status == 200
    forged = issuer.token(jti="c", aud="https://other.example")
    assert ask("POST", SCORE, WHOLE, key=forged).status == 401
    assert (
        ask("POST", SCORE, WHOLE, key=issuer.token(jti="c")).status == 200
    )  # who is refused uses nothing up


def test_a_rate_holds_for_each_client(hospital: Callable, issuer: Issuer) -> None:
    ask, _ = hospital("rate = 0.01\nburst = 2")
    answers = [ask("GET", "/v1/budget", key=issuer.token()).status for _ in range(3)]
    assert answers == [200, 200, 429]
    assert ask("GET", "/v1/budget", key=issuer.token(client_id="other")).status == 200


# -- the operator's file -----------------------------------------------------------------------------------


def test_all_faults_of_the_file_are_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "access.toml"
    file.write_text(
        """
        surprise = 1
        [[issuer]]
        name = "a b"
        issuer = "http://login.example"
        audience = []
        scopes = { "x" = "everything" }
        algorithms = ["HS256"]
        leeway = 1e9
        [[client]]
        name = "registry"
        jwks = "missing.json"
        scopes = { "x" = "score" }
        one_use = false
        """
    )
    with pytest.raises(ParameterError) as caught:
        access.read(file)
    for part in (
        "surprise", "a name is", "must be https", "audience", "a scope of ours", "algorithms", "leeway",
        "missing.json", "unknown: one_use", "token_url",
    ):  # fmt: skip
        assert part in str(caught.value), part
    for content in ("", "[issuer]\nname = 'x'", "[[issuer]]"):
        file.write_text(content)
        with pytest.raises(ParameterError):
            access.read(file)
    file.write_text("[[issuer")
    with pytest.raises(DataError):
        access.read(file)
    with pytest.raises(DataError):
        access.read(tmp_path / "absent.toml")


@pytest.mark.parametrize(
    ("address", "taken"),
    [
        ("https://login.example/a", True), ("http://127.0.0.1:1", True), ("http://login.example", False),
        ("https://user:secret@login.example", False), ("ftp://login.example", False), ("https://", False),
    ],
)  # fmt: skip
def test_keys_travel_by_tls_or_not_at_all(tmp_path: Path, address: str, taken: bool) -> None:
    file = tmp_path / "access.toml"
    file.write_text(ENTRY.format(url=address, audience=AUDIENCE, more=""))
    if taken:
        assert access.read(file).issuers[0].issuer == address
    else:
        with pytest.raises(ParameterError, match="https"):
            access.read(file)
