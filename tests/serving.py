"""A service to ask: in this process through its own protocol, or a real one on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli_support import PATIENCE, environment

CANARY = 7319.25  # a value that must never come back, nor reach a log
CANARY_BEGINS = r"(?<![\d.])7319"  # rounded or not, but not among the digits of a score

WHOLE = {
    "glucose": 130, "bmi": 25, "age": 44, "sex": "female", "pregnancies": 2, "systolic_bp": 128,
    "diastolic_bp": 82, "activity": "low", "family_history": True, "blood_pressure_drugs": False,
}  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


@dataclass
class Inside:
    """The application asked in this process, without a socket: every byte of a request is ours to choose."""

    app: Any
    key: str = ""
    hanging: bool = False  # never send the rest of a body

    def __call__(
        self,
        method: str,
        path: str,
        body: bytes | object = None,
        *,
        headers: Mapping[str, str] | list[tuple[str, str]] | None = None,
        query: str = "",
        key: str | None = None,
        chunks: list[bytes] | None = None,
    ) -> Answer:
        lines = list(headers.items() if isinstance(headers, Mapping) else headers or [])
        names = {name.lower() for name, _ in lines}
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        if body is not None and "content-type" not in names:
            lines.append(("content-type", "application/json"))
        token = self.key if key is None else key
        if token and "authorization" not in names:
            lines.append(("authorization", f"Bearer {token}"))
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
            "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(n.lower().encode("latin-1"), v.encode("latin-1")) for n, v in lines],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000), "state": {},
        }  # fmt: skip
        return asyncio.run(self._ask(scope, chunks if chunks is not None else [content]))

    async def _ask(self, scope: dict[str, Any], chunks: list[bytes]) -> Answer:
        parts = [
            {"type": "http.request", "body": part, "more_body": i < len(chunks) - 1}
            for i, part in enumerate(chunks)
        ]
        sent: list[dict[str, Any]] = []

        if self.hanging:
            parts[-1]["more_body"] = True

        async def receive() -> dict[str, Any]:
            if self.hanging and not parts:
                await asyncio.sleep(60)
            return parts.pop(0) if parts else {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start = sent[0]
        found = {n.decode(): v.decode() for n, v in start["headers"]}
        return Answer(start["status"], b"".join(m.get("body", b"") for m in sent[1:]), found)


# -- a real one ----------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Running:
    """A service in processes of its own."""

    def __init__(
        self, process: subprocess.Popen[bytes], port: int, errors: Path, trusted: Path | None = None
    ) -> None:
        self.process, self.port, self._errors = process, port, errors
        self._tls = None if trusted is None else ssl.create_default_context(cafile=trusted)

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | object = None,
        *,
        key: str = "",
        headers: Mapping[str, str] | None = None,
        seconds: float = PATIENCE,
    ) -> Answer:
        connection = (
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
            if self._tls is None
            else http.client.HTTPSConnection("127.0.0.1", self.port, timeout=seconds, context=self._tls)
        )
        with contextlib.closing(connection):
            lines = {"authorization": f"Bearer {key}"} if key else {}
            content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            if body is not None:
                lines["content-type"] = "application/json"
            connection.request(method, path, content, {**lines, **(headers or {})})
            answer = connection.getresponse()
            return Answer(answer.status, answer.read(), {n.lower(): v for n, v in answer.getheaders()})

    @property
    def logs(self) -> list[dict[str, Any]]:
        """Every line of its log, which must all be JSON."""
        return [json.loads(line) for line in self._errors.read_text().splitlines()]


@contextlib.contextmanager
def running(folder: Path, *arguments: object, tls: bool = False) -> Iterator[Running]:
    """Start `sfumato serve`, wait until it is ready, and stop it in the end."""
    port = free_port()
    errors = folder / f"errors-{port}.log"
    with errors.open("wb") as log, (folder / f"out-{port}.log").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "sfumato", "serve", *map(str, arguments), "--port", str(port)],
            cwd=folder, env=environment(), stdout=out, stderr=log, start_new_session=True,
        )  # fmt: skip
    service = Running(process, port, errors, folder / "cert.pem" if tls else None)
    try:
        _await(service)
        yield service
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _await(service: Running) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if service.ask("GET", "/readyz", seconds=5).status == 200:
                return
        if service.process.poll() is not None:
            raise RuntimeError(f"the service ended: {service._errors.read_text()[-2000:]}")
        time.sleep(0.1)
    raise RuntimeError("the service does not get ready")


def certificate(folder: Path) -> None:
    """A certificate of our own for 127.0.0.1."""
    from datetime import UTC, datetime, timedelta
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(datetime.now(UTC) - timedelta(1))
        .not_valid_after(datetime.now(UTC) + timedelta(1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(key.private_bytes(*form))
