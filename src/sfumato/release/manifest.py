"""Which files a release has, and whether they are the ones that were written.

`public/manifest.json` and `public/SHA256SUMS` list the public files with their SHA-256, so that a
recipient can tell a damaged copy from a whole one, also without Sfumato (`sha256sum -c SHA256SUMS`).
Whoever changes a file can change those lists too. So a person signs them (`signature`), which anybody can
check who knows the person's key; and `internal/manifest.json` lists both parts again under an HMAC with the
release's secret key: its owner notices a changed file with a matching list, signed or not.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import DataError
from sfumato.io.atomic import owner_only
from sfumato.languages import ENGLISH, LANGUAGES, current
from sfumato.privacy.signatures import strict_json
from sfumato.seeds import Key

FORMAT = 2  # 1 had no `wording`
MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
SIGNATURES = "signatures.intoto.jsonl"  # signs the lists, so it is in none of them
_BLOCK = 1 << 20
_MOST_WORDS = 1 << 28  # bytes of a file that is read as a whole
_READ_WHOLE = (".json", ".toml", ".md")


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


def specials(root: Path) -> list[str]:
    """Pipes, devices and the like, also behind a link: to read one would wait for ever, or never end."""
    ordinary = (stat.S_IFREG, stat.S_IFDIR)
    found = sorted(p for p in root.rglob("*") if p.exists() and stat.S_IFMT(p.stat().st_mode) not in ordinary)
    return [p.relative_to(root).as_posix() for p in found]


def unexplained(listing: Iterable[str], known: Iterable[str]) -> list[str]:
    """Listed files that are neither words of a release nor its data: signed, and counted by nobody.

    Of data in a folder those too that who reads the folder leaves out.
    """
    names = set(known)
    inner = {n: Path(n).parts for n in listing}
    return sorted(
        n for n, parts in inner.items()
        if parts[0] not in names or any(part.startswith((".", "_")) for part in parts)
    )  # fmt: skip


def oversized(public: Path) -> list[str]:
    """Files that are read as a whole, and are too large for that: whoever sent them may want just this."""
    found = [p for p in public.glob("*") if p.suffix in _READ_WHOLE or p.name == SUMS]
    return sorted(p.name for p in found if p.is_file() and p.stat().st_size > _MOST_WORDS)


# -- the public list -----------------------------------------------------------------------------


def write_public(folder: Path, details: Mapping[str, Any]) -> None:
    """List the files of `public/` for a recipient: as JSON, and as `sha256sum` reads it."""
    listing = survey(folder, skip=(MANIFEST, SUMS, SIGNATURES))
    (folder / MANIFEST).write_text(_text({**details, "files": _to_json(listing)}), encoding="utf-8")
    listing[MANIFEST] = measure(folder / MANIFEST)
    lines = [f"{listing[name].sha256}  {name}\n" for name in sorted(listing)]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def read_json(path: Path) -> Any:
    """What a file of JSON holds. Whoever sent it may have made it to break who reads it: a ValueError too."""
    try:
        return strict_json(path.read_bytes())
    except UnicodeDecodeError:
        raise ValueError("no text") from None


def data_names(details: Mapping[str, Any]) -> list[str]:
    """The files or folders of the data, by plain names: no pattern, and nothing outside `public/`."""
    given = details.get("data", "data.parquet")
    names = [given] if isinstance(given, str) else given
    plain = re.compile(r"\w[\w.-]{0,99}")
    if not isinstance(names, list) or not names or len({str(n) for n in names}) != len(names):
        raise DataError("the manifest does not say which files are the data.", hint="do not trust this copy")
    if any(not isinstance(name, str) or not plain.fullmatch(name) for name in names):
        raise DataError("the manifest names data outside its folder.", hint="do not trust this copy")
    return names


def draft_of(details: Mapping[str, Any]) -> str:
    """Why a release says that it is a draft; empty if it does not. It may be anybody's file: it is cut."""
    return " ".join(str(details.get("draft", "")).split())[:400]


def language_of(details: Mapping[str, Any]) -> str:
    """The language of the card; English where none is named, or one that this version does not speak."""
    named = details.get("language")
    return named if isinstance(named, str) and named in LANGUAGES else ENGLISH


def spoken() -> dict[str, str]:
    """What a manifest says of the language of its card: nothing if it is English."""
    return {} if current() == ENGLISH else {"language": current()}


def read_manifest(path: Path) -> tuple[dict[str, Any], Listing]:
    """The details and the list of a manifest; a name that would lead out of the folder is refused."""
    try:
        document = read_json(path)
        listing = {n: FileEntry(str(e["sha256"]), int(e["bytes"])) for n, e in document.pop("files").items()}
        made = document.get("sfumato_release", 1)
        if type(made) is not int or made < 1:
            raise ValueError
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
    if made > FORMAT:
        raise DataError(f"{path.parent.name}/ was written by a later version.", hint="upgrade Sfumato")
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
    """List both parts under an HMAC; the key itself is not listed, the HMAC proves it.

    What the public list holds was measured when it was written, and is not read a second time.
    """
    public, internal = root / "public", root / "internal"
    listing = dict(read_manifest(public / MANIFEST)[1])
    listing |= {name: measure(public / name) for name in (MANIFEST, SUMS)}
    sealed = {f"public/{name}": entry for name, entry in listing.items()}
    inner = survey(internal, skip=(MANIFEST, "release.key"))
    sealed |= {f"internal/{name}": entry for name, entry in inner.items()}
    files = _to_json(dict(sorted(sealed.items())))
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
