"""Files in a cloud or on the web: s3://, gs://, abfs://, https://, through fsspec (the extra `cloud`).

An address that a person typed is consent to connect to it; nothing else connects, and a plan's own address
does not count (plan/preparation.py). The files are copied into a private folder of this machine, because a
table is read more than once; the folder is removed with the table, at the latest when Python ends. Secrets
are found as the libraries of the clouds find them. No message repeats the address beyond its host.
"""

from __future__ import annotations

import importlib
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from sfumato.errors import DataError, MissingExtraError
from sfumato.io.addresses import CLOUDS, filled, is_loopback
from sfumato.io.files import FORMATS, files_of, format_of, read_files, refuse
from sfumato.progress import report
from sfumato.schema import Schema
from sfumato.sources import BatchSource

_CHUNK = 4 << 20
_SIGNS = re.compile(r"[*?\[]")
_LABEL = "bytes copied"


class _Copy:
    """A private folder with copied files, removed when nobody needs it any more."""

    def __init__(self, address: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="sfumato-"))  # only its owner may look into it
        self._end = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        try:
            self.data = _copied(filled(address), self.folder)
        except BaseException:
            self._end()
            raise


_COPIES: ContextVar[dict[str, _Copy] | None] = ContextVar("copies", default=None)


@contextmanager
def one_copy() -> Iterator[None]:
    """Copy each address once, however often it is scanned inside."""
    token = _COPIES.set({})
    try:
        yield
    finally:
        _COPIES.reset(token)


def read_cloud(
    address: str, schema: Schema | None, options: Mapping[str, Any]
) -> tuple[BatchSource, Schema | None]:
    """The table at an address, copied first. Options as for files."""
    _require_plain(address)
    copies = _COPIES.get()
    copy = (copies or {}).get(address) or _Copy(address)
    if copies is not None:
        copies[address] = copy
    found = files_of(copy.data)
    assert found is not None  # a path
    paths, partitions = found
    kind = format_of(paths)
    refuse(options, set(FORMATS[kind].options), f"a {FORMATS[kind].words}")
    source, hints = read_files(paths, kind, schema, options, partitions)

    def open_(columns: Sequence[str], kept: _Copy = copy) -> Iterator[pa.RecordBatch]:
        yield from source.open(columns)
        del kept

    return replace(source, open=open_), hints


def _require_plain(address: str) -> None:
    """Refuse chains of file systems, and plain text over the network."""
    scheme = address.partition("://")[0].lower()
    if "::" in address.partition("?")[0]:
        raise DataError(
            "an address with '::' is not read.", hint="name the file itself, as https://host/file.csv"
        )
    if scheme == "http" and not is_loopback(address):
        raise DataError("http:// would carry the data in the clear.", hint="https://")


def _copied(address: str, folder: Path) -> str:
    """Copy what an address names into a folder; gives its path there: a file, or a folder of files."""
    scheme = address.partition("://")[0].lower()
    host = urlsplit(address).hostname or ""
    try:
        fsspec = importlib.import_module("fsspec")
        importlib.import_module(CLOUDS[scheme])
    except ImportError:
        raise MissingExtraError(f"Reading {scheme}:// addresses", "cloud") from None
    web = scheme in ("http", "https")
    try:
        # The environment may name a proxy; nothing is cached on the disk.
        system = fsspec.filesystem(scheme, **({"client_kwargs": {"trust_env": True}} if web else {}))
        where = address if web else system._strip_protocol(address)
        files = [where] if web else _listed(system, where)
        if not files:
            raise DataError(
                f"there is no file at this {scheme} address ({host}).", hint="check bucket and path"
            )
        if web:
            name = PurePosixPath(unquote(urlsplit(address).path)).name
            targets = {where: _inside(folder, name or "data")}
            meant = targets[where]
        else:
            start = _common(where, files)
            targets = {file: _inside(folder, str(PurePosixPath(file).relative_to(start))) for file in files}
            meant = folder if len(files) > 1 or files != [where] else targets[where]
        _require_room(system, files, folder, web)
        done = 0
        for file, target in targets.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            with system.open(file, "rb") as source, target.open("xb") as out:
                while data := source.read(_CHUNK):
                    out.write(data)
                    done += len(data)
                    report(_LABEL, done, None)
        return str(meant)
    except DataError:
        raise
    except Exception as error:  # every library has its own; their words may hold tokens of the address
        raise DataError(
            f"nothing could be read from this {scheme} address ({host}; {type(error).__name__}).",
            hint="check address, network and credentials with the cloud's own client, or download the file",
        ) from None


def _listed(system: Any, where: str) -> list[str]:
    """The files of a pattern or a folder; a single file as it is."""
    if _SIGNS.search(where):
        return sorted(str(file) for file in system.glob(where) if not system.isdir(file))
    if system.isdir(where):
        return sorted(str(file) for file in system.find(where))
    return [where]


def _common(where: str, files: Sequence[str]) -> str:
    """The folder that is not kept: up to the first sign of a pattern, or the folder named."""
    if files == [where]:
        return str(PurePosixPath(where).parent)
    parts = PurePosixPath(where).parts
    fixed = next((k for k, part in enumerate(parts) if _SIGNS.search(part)), len(parts))
    return str(PurePosixPath(*parts[:fixed]))


def _inside(folder: Path, name: str) -> Path:
    """Where a file is copied to; a name that leads out of the folder is refused."""
    parts = PurePosixPath(name).parts
    if not parts or PurePosixPath(name).is_absolute() or ".." in parts or "\0" in name:
        raise DataError("a file at this address has a name that is not kept.", hint="download it by hand")
    return folder.joinpath(*parts)


def _require_room(system: Any, files: Sequence[str], folder: Path, web: bool) -> None:
    """Refuse what does not fit on the disk, where its size is known."""
    sizes = [] if web else [system.size(file) for file in files]
    need = sum(size for size in sizes if size)
    if need > shutil.disk_usage(folder).free:
        raise DataError(
            f"the files have {need:,} bytes, more than is free in the folder for temporary files.",
            hint="set TMPDIR to a folder with more room",
        )
