"""SMART backend services: a client signs who it is, once, and gets a token for some minutes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from issuers import Issuer
from serving import WHOLE, Answer, Inside

from sfumato.service.worker import Service

SCORE = "/v1/models/diabetes/score"
URL = "https://scores.hospital.example/v1/token"
FILE = """
token_url = "https://scores.hospital.example/v1/token"
[[client]]
name = "registry"
jwks = "registry.json"
scopes = { "system/RiskAssessment.c" = ["score:diabetes"], "system/*.cruds" = ["admin"] }
"""
KIND = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


@pytest.fixture
def registry(tmp_path: Path) -> Issuer:
    """A client with keys of its own: its file of public keys is what the operator has."""
    issuer = Issuer()
    issuer.url = "registry"
    issuer.add("ours", "RS384")
    issuer.add("curve", "ES384")
    (tmp_path / "registry.json").write_text(json.dumps(issuer.jwks))
    (tmp_path / "access.toml").write_text(FILE)
    return issuer


@pytest.fixture
def house(serve: Callable, tmp_path: Path, registry: Issuer) -> tuple[Inside, Service]:
    found: tuple[Inside, Service] = serve(access=str(tmp_path / "access.toml"))
    return found


def assertion(client: Issuer, kid: str = "ours", **changed: Any) -> str:
    plain = {"aud": URL, "sub": "registry", "client_id": None, "scope": None, "jti": f"{time.time_ns()}"}
    return client.token(kid, **(plain | changed))


def form(signed: str, **changed: str) -> bytes:
    fields = {
        "grant_type": "client_credentials", "scope": "system/RiskAssessment.c",
        "client_assertion_type": KIND, "client_assertion": signed,
    }  # fmt: skip
    return urlencode(fields | changed).encode()


def post(ask: Inside, body: bytes, kind: str = "application/x-www-form-urlencoded") -> Answer:
    return ask("POST", "/v1/token", body, headers={"content-type": kind}, key="")


@pytest.mark.parametrize("kid", ["ours", "curve"])
def test_a_client_signs_and_asks(house: tuple[Inside, Service], registry: Issuer, kid: str) -> None:
    ask, _ = house
    answer = post(ask, form(assertion(registry, kid), scope="system/RiskAssessment.c system/Patient.rs"))
    assert answer.status == 200 and answer.headers["cache-control"] == "no-store"
    given = answer.json
    assert given["token_type"] == "bearer" and given["expires_in"] == 300
    assert given["scope"] == "system/RiskAssessment.c"  # what was granted, not what was asked
    token = given["access_token"]
    assert ask("POST", SCORE, WHOLE, key=token).status == 200
    assert ask("POST", "/v1/models/septic-shock/score", {}, key=token).code == "unknown_model"
    assert ask("GET", "/v1/budget", key=token).json["client"] == "registry"
    assert ask("POST", "/v1/models/diabetes/rollback", key=token).code == "not_allowed"
    where = ask("GET", "/.well-known/smart-configuration", key="").json
    assert (
        where["token_endpoint"] == URL and "private_key_jwt" in where["token_endpoint_auth_methods_supported"]
    )


def test_what_is_wrong_with_an_assertion_is_not_told(house: tuple[Inside, Service], registry: Issuer) -> None:
    ask, _ = house
    now = int(time.time())
    registry.add("hidden", "RS384", publish=False)
    replayed = assertion(registry, jti="once")
    assert post(ask, form(replayed)).status == 200
    wrong = {
        "replayed": replayed,
        "the same id again": assertion(registry, jti="once"),
        "no id": assertion(registry, jti=None),
        "expired": assertion(registry, iat=now - 900, exp=now - 600),
        "more than five minutes": assertion(registry, exp=now + 400),
        "another audience": assertion(registry, aud="https://scores.hospital.example"),
        "another issuer": assertion(registry, iss="clinic"),
        "for somebody else": assertion(registry, sub="clinic"),
        "unknown key": assertion(registry, "hidden"),
        "not signed": assertion(registry).rsplit(".", 1)[0] + ".",
        "nothing": "",
        "nonsense": "a.b.c",
    }
    answers = {name: post(ask, form(signed)) for name, signed in wrong.items()}
    assert {(a.status, a.body) for a in answers.values()} == {(401, b'{"error":"invalid_client"}')}


def test_what_is_no_request_is_refused_as_oauth_does(house: tuple[Inside, Service], registry: Issuer) -> None:
    ask, _ = house
    for body, code in (
        (form(assertion(registry), grant_type="password"), "unsupported_grant_type"),
        (form(assertion(registry), scope="system/Patient.rs"), "invalid_scope"),
        (form(assertion(registry), scope=""), "invalid_scope"),
        (form(assertion(registry), client_assertion_type="x"), "invalid_request"),
        (form(assertion(registry)) + b"&scope=x", "invalid_request"),
        (form(assertion(registry)) + b"&more=x", "invalid_request"),
        (b"scope=x", "invalid_request"),
        (b"", "invalid_request"),
        (b"\xff\xfe", "invalid_request"),
        (b"&".join(b"a%d=1" % i for i in range(1000)), "invalid_request"),
    ):
        answer = post(ask, body)
        assert (answer.status, answer.json) == (400, {"error": code}), body[:80]
    assert post(ask, form(assertion(registry)), "application/json").code == "not_form_type"
    assert post(ask, b"a=" + b"x" * 20_000).code == "too_large"


def test_a_token_of_ours_ends_and_cannot_be_changed(
    house: tuple[Inside, Service], registry: Issuer, serve: Callable, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    ask, _ = house
    token = post(ask, form(assertion(registry))).json["access_token"]
    body, _, mac = token[4:].partition(".")
    for other in (f"sft.{body}x.{mac}", f"sft.{body}.{mac[:-1]}", f"sft.{body}", "sft..", f"sft.{body}.é"):
        if other.isascii():
            assert ask("POST", SCORE, WHOLE, key=other).status == 401, other
    other, _ = serve(access=str(tmp_path / "access.toml"))
    assert other("POST", SCORE, WHOLE, key=token).status == 200  # any worker knows it
    (tmp_path / "access.toml").write_text(FILE.replace('"registry"', '"another"', 1))
    later, _ = serve(access=str(tmp_path / "access.toml"))
    assert later("POST", SCORE, WHOLE, key=token).status == 401  # the client is gone
    clock = time.time() + 301
    monkeypatch.setattr(time, "time", lambda: clock)
    assert ask("POST", SCORE, WHOLE, key=token).status == 401


def test_without_clients_there_is_no_such_address(serve: Callable) -> None:
    ask, _ = serve()
    assert ask("POST", "/v1/token", b"x").code == "unknown"
    assert ask("GET", "/.well-known/smart-configuration").code == "unknown"


def test_the_document_describes_it(house: tuple[Inside, Service]) -> None:
    ask, _ = house
    paths = ask("GET", "/openapi.json", key="").json["paths"]
    assert {"/v1/token", "/.well-known/smart-configuration"} <= set(paths)
