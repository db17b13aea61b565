"""The OpenAPI document is what the service does: by its routes, by schemathesis, under malformed bodies."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import CANARY, WHOLE, Inside

SCORE = "/v1/models/diabetes/score"


def test_every_route_is_described_and_nothing_else(serve: Callable) -> None:
    ask, _ = serve()
    described = ask("GET", "/openapi.json", headers={"x": "y"}, key="").json
    told = {(m.upper(), path) for path, methods in described["paths"].items() for m in methods}
    app = ask.app._app
    there = {(m, r.path) for r in app.routes for m in r.methods - {"HEAD"}}
    pages = {(m, p) for m, p in there if p in ("/", "/docs", "/openapi.json") or p.startswith("/page/")}
    assert told == there - pages
    assert "diabetes" not in json.dumps(described["paths"]).replace('"example": "diabetes"', "").replace(
        '"model": "diabetes", "version": "3f9a1c04d2e87b65", "target": "diabetes"', ""
    )


def test_a_key_sees_its_own_models_described(serve: Callable) -> None:
    ask, service = serve()
    _, scoped = service.installation.create_key("lab", ("score:septic-shock",))
    paths = ask("GET", "/openapi.json", key=scoped).json["paths"]
    assert "/v1/models/septic-shock/score" in paths and SCORE not in paths
    body = ask("GET", "/openapi.json").json["paths"][SCORE]["post"]["requestBody"]["content"][
        "application/json"
    ]
    assert ask("POST", SCORE, body["examples"]["one"]["value"]).status == 200
    assert ask("GET", "/openapi.json", key="sfm_wrong").status == 401


# -- malformed bodies ----------------------------------------------------------------------------------------

_TOKENS = (
    b"{", b"}", b"[", b"]", b":", b",", b'"', b"null", b"NaN", b"-Infinity", b"1e999", b"-0", b"\\u0000",
    b"\\ud800", b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"9" * 400, b"true", b'"glucose"', b"\xef\xbb\xbf",
    b" " * 500, b"[" * 3000,
)  # fmt: skip
_CELLS: tuple[Any, ...] = (
    None, True, 0, -1, 1e308, -1e308, 2**70, 10**300, CANARY, "", "female", "zebra", "1", [], [[]], {},
    {"a": {}}, "\ud800", "\x00", "x" * 5000, float("nan"), float("inf"),
)  # fmt: skip
_TYPES = ("application/json", "application/json; charset=utf-8", "text/json", "", "text/plain")
_QUERIES = ("", "explain=true", "version=current", "version=%00", "a=b", "explain", "version=..%2f..", "&&=&")
_PATHS = (
    SCORE,
    SCORE,
    SCORE,
    "/v1/models/septic-shock/score",
    "/v1/models/dpat/score",
    "/v1/models/%00/score",
)


def malformed(random: np.random.Generator) -> tuple[bytes, dict[str, str], str, str]:
    """A request that began well and was then damaged once or several times."""
    rows: Any = [dict(WHOLE) for _ in range(int(random.integers(1, 4)))]
    for _ in range(int(random.integers(0, 4))):
        row = rows[int(random.integers(len(rows)))]
        name = str(random.choice([*WHOLE, "zebra", "", "\ud800"]))
        row[name] = _CELLS[int(random.integers(len(_CELLS)))]
    body = bytearray(json.dumps(rows[0] if random.random() < 0.5 else rows).encode())
    for _ in range(int(random.integers(0, 6))):
        at = int(random.integers(len(body) + 1))
        match int(random.integers(4)):
            case 0:
                body[at:at] = _TOKENS[int(random.integers(len(_TOKENS)))]
            case 1:
                del body[at : at + int(random.integers(1, 30))]
            case 2 if at < len(body):
                body[at] = int(random.integers(256))
            case _:
                body[at:at] = body[: int(random.integers(200))]
    headers = {
        "content-type": _TYPES[int(random.integers(len(_TYPES)))] if random.random() < 0.2 else _TYPES[0]
    }
    if random.random() < 0.2:
        headers["idempotency-key"] = str(random.choice(["a", "b", "\x7f", "x" * 300, "é"]))
    query = _QUERIES[int(random.integers(len(_QUERIES)))] if random.random() < 0.3 else ""
    return bytes(body), headers, query, _PATHS[int(random.integers(len(_PATHS)))]


def refuse_all(ask: Inside, number: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    good = 0
    for _ in range(number):
        body, headers, query, path = malformed(random)
        answer = ask("POST", path, body, headers=headers, query=query)
        assert answer.status < 500, (answer.body, body, headers, query)
        assert answer.status == 200 or answer.json["error"]["message"]
        assert str(CANARY).encode() not in answer.body
        good += answer.status == 200
    assert 0 < good < number / 2  # some requests were left whole: the damage is what is refused


def test_malformed_bodies_are_never_our_fault(spend: Callable, released: Path, noisy: Path) -> None:
    ask, _ = spend(models=(str(released), str(noisy)))
    refuse_all(ask, 500, seed=1)


@pytest.mark.soak
def test_ten_thousand_malformed_bodies_are_never_our_fault(
    spend: Callable, released: Path, noisy: Path
) -> None:
    ask, _ = spend(models=(str(released), str(noisy)))
    refuse_all(ask, 10_000, seed=int.from_bytes(os.urandom(4), "big"))
