"""Starts the processes: one or several workers behind one address, ended gracefully."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import MissingExtraError, ParameterError
from sfumato.service.installation import Installation
from sfumato.service.settings import VARIABLE, Settings

if TYPE_CHECKING:
    from sfumato.service.registry import Served

_MOST_HEADERS = 16 * 1024
_LAST_WORDS = 15  # seconds for requests under way when the service is told to stop


@dataclass(frozen=True)
class Address:
    """Where to listen, and with which certificate."""

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    ssl_certfile: str | None = None
    ssl_keyfile: str | None = None
    ssl_ca_certs: str | None = None

    def __post_init__(self) -> None:
        faults = []
        if not 0 <= self.port <= 65_535:
            faults.append("a port is 0 to 65535")
        if not 1 <= self.workers <= 256:
            faults.append("there are 1 to 256 workers")
        if bool(self.ssl_certfile) != bool(self.ssl_keyfile):
            faults.append("TLS needs a certificate and its key")
        faults += [
            f"{Path(f).name} is not there"
            for f in (self.ssl_certfile, self.ssl_keyfile, self.ssl_ca_certs)
            if f and not Path(f).is_file()
        ]
        if faults:
            raise ParameterError(f"the address: {'; '.join(faults)}.", hint="sfumato serve --help")

    @property
    def url(self) -> str:
        """As one types it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.ssl_certfile else 'http'}://{host}:{self.port}"


def check(settings: Settings) -> list[Served]:
    """Try everything before a process is started: files, signatures, ledger. Gives the current versions."""
    _need_parts()
    from sfumato.privacy import Ledger
    from sfumato.service.database import open_answers
    from sfumato.service.registry import Registry

    installation = Installation(settings.keys, create=True)
    with contextlib.closing(installation):
        registry = Registry(settings, installation)
        if settings.drift_ledger:
            Ledger.open(settings.drift_ledger)
        if settings.access:
            from sfumato.service.access import read
            from sfumato.service.key_sets import KeySet

            _need_tokens()
            access = read(settings.access)
            for party in (*access.issuers, *access.clients):
                KeySet(party)  # a file of keys is read; an address is not asked yet
        if settings.ledger:
            Ledger.open(settings.ledger)
        open_answers(settings.answers, installation.secret, settings.keep_hours).close()
        if settings.telemetry:
            from sfumato.service.telemetry import Telemetry

            Telemetry(settings.telemetry).close()
        if settings.fhir:
            from sfumato.io.fhir import faults_of, read_mappings

            read_mappings(settings.fhir)
            faults_of({"resourceType": "Patient"})  # the extra is there
        found = [registry.find(name) for name in registry.names]
        return [served for served in found if served is not None]


def _need_parts() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError("the service", "service") from None


def _need_tokens() -> None:
    try:
        import jwt  # noqa: F401
    except ImportError:
        raise MissingExtraError("tokens", "service") from None


def run(settings: Settings, address: Address) -> None:
    """Serve until told to stop (SIGTERM, Ctrl-C); requests under way are answered first."""
    _need_parts()
    import uvicorn

    folder = tempfile.mkdtemp(prefix="sfumato-")
    settings = replace(settings, runtime=folder, secure=address.ssl_certfile is not None)
    os.environ[VARIABLE] = settings.to_json()
    options: dict[str, Any] = {
        name: getattr(address, name)
        for name in ("ssl_certfile", "ssl_keyfile", "ssl_ca_certs")
        if getattr(address, name)
    }
    try:
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn stops first, and then passes the signal on
            uvicorn.run(
                "sfumato.service.app:create", factory=True, host=address.host, port=address.port,
                workers=address.workers, log_config=None, log_level=logging.INFO, access_log=False,
                server_header=False, proxy_headers=False, ws="none", lifespan="on",
                http="sfumato.service.connections:GuardedProtocol", timeout_graceful_shutdown=_LAST_WORDS,
                h11_max_incomplete_event_size=_MOST_HEADERS, **options,
            )  # fmt: skip
    finally:
        os.environ.pop(VARIABLE, None)
        shutil.rmtree(folder, ignore_errors=True)
