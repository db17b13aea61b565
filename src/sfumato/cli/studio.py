"""studio: the whole way by pointing and clicking, in a browser on this machine."""

from __future__ import annotations

import sys
import tempfile
import threading
import traceback
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sfumato.cli.terminal import Terminal

if TYPE_CHECKING:
    from sfumato.studio.server import Doorway
    from sfumato.studio.studio import Studio


def studio(
    terminal: Terminal,
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", show_default=False,
            help="A file of data, a plan.toml, or a folder; without one, the folder the terminal is in.",
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65_535, help="0: any free one.")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the address in a browser.")
    ] = True,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Show everything, change nothing.")
    ] = False,
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="FILE", show_default=False, help="Your signing key, for releases."),
    ] = None,
) -> None:  # fmt: skip
    """Go the whole way by pointing and clicking: from a file to a signed release. It edits a plan.

    Listens on this machine only and sends nothing anywhere. The address lets one browser in, once; Enter in
    the terminal gives another one. Ctrl-C closes it; started again, it is where it was.
    """
    from sfumato.privacy.signatures import SigningKey
    from sfumato.studio.server import Doorway, require_parts, serve
    from sfumato.studio.studio import Studio

    require_parts()
    door = Doorway.at(port)
    if key is not None:
        SigningKey.load(key)  # said here if it is none, or if others may read it
    opened = Studio.start(target, read_only=read_only)
    opened.key = None if key is None else key.resolve()
    place = tempfile.TemporaryDirectory(prefix="sfumato-") if browser else None
    page = None if place is None else Path(place.name)
    try:
        serve(
            opened, door, lambda error: _fault(terminal, error), lambda: _ready(terminal, opened, door, page)
        )
    finally:
        if place is not None:
            place.cleanup()
        door.listener.close()
        opened.close()
    terminal.note("the studio is closed.")


def _ready(terminal: Terminal, opened: Studio, door: Doorway, page: Path | None) -> None:
    address = door.address()
    folder = opened.chosen.root
    lines = [
        Text.assemble("The studio is open: ", (address, "bold")),
        Text(
            f"It reads and writes in {folder} only" + (", and changes nothing." if opened.read_only else ".")
        ),
        Text("Ctrl-C closes it. Enter prints a new address."),
    ]
    terminal.result(lines, {"address": address, "folder": str(folder), "read_only": opened.read_only})
    sys.stdout.flush()
    if page is not None:
        address = door.page_to(page).as_uri()
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    if sys.stdin is not None and sys.stdin.isatty():
        threading.Thread(target=_more_addresses, args=(terminal, door), daemon=True).start()


def _more_addresses(terminal: Terminal, door: Doorway) -> None:
    for _ in sys.stdin:
        terminal.out.print(Text(door.address(), "bold"), soft_wrap=True)


def _fault(terminal: Terminal, error: Exception) -> None:
    """A fault of ours: its kind and place; its words may quote a cell."""
    terminal.note(f"a page failed ({type(error).__name__}); please report what --debug shows.")
    if terminal.debug:
        terminal.err.print(Text("".join(traceback.format_tb(error.__traceback__)).rstrip()), soft_wrap=True)
