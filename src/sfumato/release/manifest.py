"""Which files a release has, and whether they are the ones that were written.

`public/manifest.json` and `public/SHA256SUMS` list the public files with their SHA-256, so that a
recipient can tell a damaged copy from a whole one, also without Sfumato (`sha256sum -c SHA256SUMS`).
Whoever changes a file can change those lists too. So `internal/manifest.json` lists both parts again
under an HMAC with the release's secret key: its owner notices a changed file with a matching list.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import DataError
from sfumato.io.atomic import owner_only
from sfumato.seeds import Key

MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
_BLOCK = 1 << 20


@dataclass(frozen=True)
class FileEntry:
    """One file as it was written: its SHA-256 and its length in bytes."""

    sha256: str
    size: int


Listing = dict[str, FileEntry]


def measure(path: Path) -> FileEntry:
    """SHA-256 and length of a file, read in blocks."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            size += len(block)
    return FileEntry(digest.hexdigest(), size)


def survey(root: Path, *, skip: Iterable[str] = ()) -> Listing:
    """Every regular file below a folder, by its path relative to it, in order of name."""
    names = sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())
    return {name: measure(root / name) for name in names if name not in set(skip)}


def strays(root: Path, listed: Iterable[str]) -> list[str]:
    """What lies in a folder without being listed: files, links, and folders that hold nothing listed."""
    known = set(listed)
    folders = {parent.as_posix() for name in known for parent in Path(name).parents}
    found = sorted((p.relative_to(root).as_posix(), p.is_symlink()) for p in root.rglob("*"))
    return [name for name, link in found if name not in known | folders or link]


# -- the public list -----------------------------------------------------------------------------


def write_public(folder: Path, details: Mapping[str, Any]) -> None:
    """List the files of `public/` for a recipient: as JSON, and as `sha256sum` reads it."""
    document = {**details, "files": _to_json(survey(folder, skip=(MANIFEST, SUMS)))}
    (folder / MANIFEST).write_text(_text(document), encoding="utf-8")
    lines = [f"{entry.sha256}  {name}\n" for name, entry in survey(folder, skip=(SUMS,)).items()]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def read_json(path: Path) -> Any:
    """What a file of JSON holds. Whoever sent it may have made it to break who reads it: a ValueError too."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def data_name(details: Mapping[str, Any]) -> str:
    """The file or folder of the data, by its plain name: no pattern, and nothing outside `public/`."""
    name = str(details.get("data", "data.parquet"))
    if not re.fullmatch(r"\w[\w.-]{0,99}", name):
        raise DataError("the manifest names data outside its folder.", hint="do not trust this copy")
    return name


def draft_of(details: Mapping[str, Any]) -> str:
    """Why a release says that it is a draft; empty if it does not. It may be anybody's file: it is cut."""
    return " ".join(str(details.get("draft", "")).split())[:400]


def read_manifest(path: Path) -> tuple[dict[str, Any], Listing]:
    """The details and the list of a manifest; a name that would lead out of the folder is refused."""
    try:
        document = read_json(path)
        listing = {n: FileEntry(str(e["sha256"]), int(e["bytes"])) for n, e in document.pop("files").items()}
    except FileNotFoundError:
        raise DataError(
            f"no {path.name} in {path.parent.name}/.", hint="give a folder that holds a release"
        ) from None
    except OSError as error:
        raise DataError(f"{path.parent.name}/{path.name} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise DataError(
            f"{path.parent.name}/{path.name} is not a manifest.", hint="ask for a fresh copy of the release"
        ) from None
    if any(not _is_inside(name) for name in listing):
        raise DataError(
            f"{path.parent.name}/{path.name} names files outside its folder.", hint="do not trust it"
        )
    return document, listing


def read_sums(path: Path) -> dict[str, str]:
    """Name -> SHA-256 from a list in the format of `sha256sum`."""
    pairs = [line.split("  ", 1) for line in path.read_text(encoding="utf-8").splitlines()]
    return {pair[-1]: pair[0] for pair in pairs}


# -- the owner's list ----------------------------------------------------------------------------


def seal(root: Path, key: Key) -> None:
    """List both parts under an HMAC; the key itself is not listed, the HMAC proves it."""
    files = _to_json(survey(root, skip=(f"internal/{MANIFEST}", "internal/release.key")))
    document = {"note": _NOTE, "files": files, "hmac": _mac(files, key)}
    path = root / "internal" / MANIFEST
    path.write_text(_text(document), encoding="utf-8")
    owner_only(path)


def read_seal(root: Path, key: Key) -> Listing | None:
    """The owner's list, or None if its HMAC does not belong to this key: someone rewrote it."""
    document, listing = read_manifest(root / "internal" / MANIFEST)
    given = str(document.get("hmac", ""))
    return listing if hmac.compare_digest(given.encode(), _mac(_to_json(listing), key).encode()) else None


_NOTE = "internal: must not leave the house"


def _mac(files: Mapping[str, Any], key: Key) -> str:
    text = json.dumps(files, sort_keys=True, separators=(",", ":"))
    return hmac.digest(key.derive("release", "manifest").to_bytes(), text.encode(), "sha256").hex()


def _to_json(listing: Listing) -> dict[str, Any]:
    return {name: {"sha256": entry.sha256, "bytes": entry.size} for name, entry in listing.items()}


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _is_inside(name: str) -> bool:
    path = Path(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts
