"""keys create, list, rotate, revoke: who may ask the service."""

from __future__ import annotations

import re
import time
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.terminal import Terminal
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from sfumato.service.installation import Installation
    from sfumato.service.keys import ApiKey

KeysFile = Annotated[
    Path,
    typer.Option(
        "--keys", metavar="FILE", help="The installation's file: keys, active versions, its secret."
    ),
]
KeyId = Annotated[str, typer.Argument(metavar="ID", help="As `keys list` shows it.", show_default=False)]
DEFAULT = Path("sfumato.keys")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def create(
    terminal: Terminal,
    client: Annotated[
        str,
        typer.Argument(
            metavar="CLIENT", help="Whose key it is, as the ledger names them.", show_default=False
        ),
    ],
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", metavar="SCOPE", help="score, score:MODEL, admin, metrics; may be repeated."),
    ] = None,
    rate: Annotated[
        float, typer.Option("--rate", metavar="N", help="Calls a second in the long run.")
    ] = 50.0,
    burst: Annotated[int, typer.Option("--burst", metavar="N", help="Calls that may come at once.")] = 100,
    keys: KeysFile = DEFAULT,
) -> None:
    """Make a key and show it, this once. Only its hash is kept."""
    with closing(_opened(keys, create=True)) as installation:
        key, text = installation.create_key(client, tuple(scope or ("score",)), rate, burst)
    _shown_once(terminal, key, text)


def rotate(
    terminal: Terminal,
    identity: KeyId,
    overlap: Annotated[
        str, typer.Option("--overlap", metavar="TIME", help="How long the old key works on: 30m, 12h, 7d.")
    ] = "7d",
    keys: KeysFile = DEFAULT,
) -> None:
    """Make a new key in place of another, which works on for a while."""
    with closing(_opened(keys)) as installation:
        key, text = installation.rotate_key(identity, _seconds(overlap))
    _shown_once(terminal, key, text, replaced=identity)


def revoke(terminal: Terminal, identity: KeyId, keys: KeysFile = DEFAULT) -> None:
    """Refuse a key from now on, in every worker. It cannot be undone."""
    with closing(_opened(keys)) as installation:
        key = installation.revoke_key(identity)
    terminal.result(Text(f"Key {key.id} of {key.client} is revoked.", "green"), _plain(key))


def list_(terminal: Terminal, keys: KeysFile = DEFAULT) -> None:
    """Show all keys: ids, clients, scopes, never a secret."""
    with closing(_opened(keys)) as installation:
        found = installation.listed()
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("Id", "Client", "Scopes", "Calls/s", "Created", "State"):
        grid.add_column(title, no_wrap=title != "Scopes")
    for key in found:
        made = time.strftime("%Y-%m-%d", time.gmtime(key.created))
        cells = (key.id, key.client, " ".join(key.scopes), f"{key.rate:g}", made, key.state(time.time()))
        grid.add_row(*map(Text, cells))
    terminal.result(grid if found else Text("There is no key yet."), [_plain(key) for key in found])


def history(
    terminal: Terminal,
    keys: KeysFile = DEFAULT,
    seen: Annotated[
        str, typer.Option("--seen", metavar="HEAD", help="A head noted earlier; refused if it is lost.")
    ] = "",
) -> None:
    """Show who made, rotated and revoked keys, activated and rolled back versions; the chain is checked."""
    with closing(_opened(keys)) as installation:
        steps = installation.history(seen)
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("When", "Who", "Did", "What"):
        grid.add_column(title, no_wrap=title == "When")
    for step in steps:
        grid.add_row(*map(Text, (step.at, step.who, step.did, step.what)))
    head = steps[-1].hash if steps else ""
    said = Text(f"The chain holds. Head: {head}", "green") if steps else Text("Nothing was done yet.")
    terminal.result(
        [grid, said] if steps else said, {"head": head, "steps": [asdict(step) for step in steps]}
    )


def _opened(path: Path, *, create: bool = False) -> Installation:
    from sfumato.service.installation import Installation

    if not create and not path.exists():
        raise DataError(f"no file {path.name}.", hint="sfumato keys create CLIENT makes it")
    return Installation(path, create=create)


def _shown_once(terminal: Terminal, key: ApiKey, text: str, replaced: str = "") -> None:
    plain = _plain(key) | {"key": text}
    lines = [
        Text.assemble(("Key ", "bold"), text),
        Text("It is not shown again: only its hash is kept.", "yellow"),
    ]
    if replaced:
        plain["replaces"] = replaced
        lines.append(Text(f"It takes the place of {replaced}, which works on for the overlap."))
    terminal.result(lines, plain)


def _plain(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id, "client": key.client, "scopes": list(key.scopes), "rate": key.rate, "burst": key.burst,
        "created": key.created, "expires": key.expires, "revoked": key.revoked,
        "state": key.state(time.time()),
    }  # fmt: skip


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d{1,6})([smhd])", text)
    if found is None:
        raise ParameterError("a time is a whole number with s, m, h or d.", hint="--overlap 7d")
    return float(int(found[1]) * _UNITS[found[2]])
