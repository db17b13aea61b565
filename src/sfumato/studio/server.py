"""Listens on loopback, for the browser of who started it, until Ctrl-C."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import MissingExtraError, ParameterError
from sfumato.io.atomic import write_text
from sfumato.studio.studio import Studio
from sfumato.web.origins import OwnAddress
from sfumato.web.tickets import Tickets

_MOST_HEADERS = 16 * 1024
_LAST_WORDS = 2  # seconds for requests under way


def require_parts() -> None:
    """Say which extra is missing, before anything is opened."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError("the studio", "studio") from None


@dataclass
class Doorway:
    """A port on loopback that is ours, and the tickets to it."""

    listener: socket.socket
    own: OwnAddress
    tickets: Tickets

    @classmethod
    def at(cls, port: int) -> Doorway:
        """Take a port; 0 is any that is free."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", port))
        except OSError:
            listener.close()
            raise ParameterError(f"port {port} is in use.", hint="--port 0 takes one that is free") from None
        return cls(listener, OwnAddress(listener.getsockname()[1]), Tickets())

    def address(self) -> str:
        """A new address that lets one browser in, once."""
        return f"{self.own.url}/enter?ticket={self.tickets.new()}"

    def page_to(self, folder: Path) -> Path:
        """A page for the owner alone that leads to a new address: who lists processes sees its name only."""
        page = folder / "studio.html"
        address = self.address()
        write_text(
            page,
            f"<!DOCTYPE html><html lang=en><meta charset=utf-8><meta http-equiv=refresh "
            f"content='0;url={address}'><title>Sfumato</title>"
            f"<p><a href='{address}'>Sfumato</a></p></html>\n",
            private=True,
        )
        return page


def serve(
    studio: Studio, door: Doorway, failed: Callable[[Exception], None], ready: Callable[[], None]
) -> None:
    """Answer until told to stop (Ctrl-C, SIGTERM). ready: called when the first request can come."""
    import uvicorn

    from sfumato.studio.app import LARGE, build
    from sfumato.web.gate import Gate

    gate = Gate(build(studio), door.own, door.tickets, failed, larger=LARGE)
    config = uvicorn.Config(
        gate, log_config=None, access_log=False, server_header=False, date_header=False, proxy_headers=False,
        ws="none", lifespan="off", http="h11", timeout_graceful_shutdown=_LAST_WORDS,
        h11_max_incomplete_event_size=_MOST_HEADERS, limit_concurrency=200,
    )  # fmt: skip
    door.listener.listen(128)
    ready()
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn stops first, and then passes the signal on
        uvicorn.Server(config).run(sockets=[door.listener])
