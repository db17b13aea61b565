"""Addresses that another package can read: the first part, before ://, is the name of its entry point.

    [project.entry-points."sfumato.sources"]
    redcap = "sfumato_redcap:open_project"

The entry point gives a function of the whole address and of what `table` says (None if nothing). It gives
back a frame, a source of `sfumato.sources`, or a file's path.
"""

from __future__ import annotations

from pathlib import Path

from sfumato import plugins
from sfumato.errors import DataError, ParameterError, SfumatoError
from sfumato.io.engines import DATABASES
from sfumato.io.files import format_of, read_files
from sfumato.io.frames import from_frame
from sfumato.plugins import Group
from sfumato.sources import BatchSource, EngineSource, Source


def guest_source(address: str, table: str | None) -> Source | None:
    """What a guest reads at an address; None if the address is none of theirs."""
    scheme = address.partition("://")[0].lower()
    if scheme.partition("+")[0] in DATABASES:
        return None
    opens = plugins.find(Group.SOURCES, scheme, _require_opener, DATABASES)
    if opens is None:
        return None
    package = plugins.package(Group.SOURCES, scheme)
    try:
        source = _source(opens(address, table))
    except SfumatoError:
        raise
    except Exception as error:  # its words may repeat a password or quote a cell: only its kind is told
        raise DataError(
            f"{package} could not read this {scheme} address ({type(error).__name__}).",
            hint="try the package by itself to see why",
        ) from None
    if source is None:
        raise DataError(
            f"{package} gave back nothing that can be read.", hint="a frame, a source, or the path of a file"
        )
    return source


def _source(found: object) -> Source | None:
    if isinstance(found, BatchSource | EngineSource):
        return found
    if isinstance(found, Path):
        options = dict.fromkeys(
            ("separator", "decimal", "encoding", "date_order", "missing", "header", "units", "table", "sheet")
        )
        return read_files([found], format_of([found]), None, options)[0]
    return from_frame(found)


def _require_opener(name: str, opens: object) -> None:
    if not callable(opens):
        raise ParameterError("it must be a function of an address", hint="docs/guests.md")
