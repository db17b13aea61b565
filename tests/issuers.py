"""An issuer of tokens to test against: real keys, a real HTTP server on loopback, real JWKS."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

AUDIENCE = "https://scores.hospital.example"


def _public(private: Any, kid: str, **more: Any) -> dict[str, Any]:
    public = private.public_key()
    kind = {rsa.RSAPublicKey: "RSAAlgorithm", ec.EllipticCurvePublicKey: "ECAlgorithm"}
    name = next((n for t, n in kind.items() if isinstance(public, t)), "OKPAlgorithm")
    jwk = json.loads(getattr(jwt.algorithms, name).to_jwk(public))
    jwk.pop("key_ops", None)
    return {**jwk, "kid": kid, "use": "sig", **more}


class Issuer:
    """Signs tokens; its published keys can be changed at any time."""

    def __init__(self) -> None:
        self.private: dict[str, Any] = {}
        self.published: list[dict[str, Any]] = []
        self.fetches = 0
        self.answers: dict[str, Any] = {}  # other answers by path, to play a broken or hostile issuer
        self.url = "https://issuer.example"
        self.add("first", "RS256")

    def add(self, kid: str, algorithm: str, *, publish: bool = True, bits: int = 2048) -> None:
        private: Any
        if algorithm[:2] in ("RS", "PS"):
            private = rsa.generate_private_key(65537, bits)
        elif algorithm[:2] == "ES":
            private = ec.generate_private_key({"256": ec.SECP256R1, "384": ec.SECP384R1}[algorithm[2:]]())
        else:
            private = ed25519.Ed25519PrivateKey.generate()
        self.private[kid] = (private, algorithm)
        if publish:
            self.published.append(_public(private, kid))

    @property
    def jwks(self) -> dict[str, Any]:
        return {"keys": self.published}

    def claims(self, **changed: Any) -> dict[str, Any]:
        now = time.time()
        claims = {
            "iss": self.url, "aud": AUDIENCE, "sub": "ward-7", "client_id": "ehr", "iat": int(now),
            "exp": int(now) + 300, "scope": "openid risk.read",
        }  # fmt: skip
        claims |= changed
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, kid: str = "first", head: dict[str, Any] | None = None, **changed: Any) -> str:
        private, algorithm = self.private[kid]
        headers = {name: value for name, value in {"kid": kid, **(head or {})}.items() if value is not None}
        return jwt.encode(self.claims(**changed), private, algorithm, headers)


def packed(content: Any) -> str:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


@contextmanager
def published() -> Iterator[Issuer]:
    """An issuer whose discovery document and keys are served on loopback."""
    issuer = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.fetches += 1
            known = {
                "/.well-known/openid-configuration": {
                    "issuer": issuer.url,
                    "jwks_uri": f"{issuer.url}/jwks",
                },
                "/jwks": issuer.jwks,
            }
            found = issuer.answers.get(self.path, known.get(self.path))
            if isinstance(found, str):  # elsewhere
                self.send_response(302)
                self.send_header("location", found)
                self.end_headers()
                return
            self.send_response(404 if found is None else 200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(found if isinstance(found, bytes) else json.dumps(found or {}).encode())

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
