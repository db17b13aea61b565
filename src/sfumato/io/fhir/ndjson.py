"""The files of a bulk export and their lines: NDJSON, plain or packed with gzip, a resource on each line."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from sfumato.errors import DataError, listed

SUFFIXES = (".ndjson", ".ndjson.gz")
_FURTHER = (".json", ".xml", ".csv", ".csv.gz", ".tsv", ".parquet", ".xlsx", ".jsonl")
UNBUNDLED = "write the resources of a Bundle one on each line: jq -c '.entry[].resource' FILE > all.ndjson"


def bulk_files(data: object) -> list[Path]:
    """The NDJSON files of a folder; none if it is no bulk export."""
    if not isinstance(data, (str, Path)) or not Path(data).is_dir():
        return []
    return sorted(p for p in Path(data).iterdir() if p.name.lower().endswith(SUFFIXES) and p.is_file())


def require_alone(files: list[Path]) -> None:
    """That no file is packed in a way that is not read, and none is there twice, packed and plain."""
    packed = [
        p.name for p in sorted(files[0].parent.iterdir()) if ".ndjson." in p.name.lower() and p not in files
    ]
    if packed:
        raise DataError(f"packed files that are not read: {listed(packed)}.", hint="unpack them, or use gzip")
    plain = [p.name.lower().removesuffix(".gz") for p in files]
    twice = sorted({p.name for p, name in zip(files, plain, strict=True) if plain.count(name) > 1})
    if twice:
        raise DataError(f"several files are called alike: {listed(twice)}.", hint="keep one of each")


def further_files(folder: Path) -> list[str]:
    """Files of a bulk export that hold data in another form, and are not read."""
    return sorted(p.name for p in folder.iterdir() if p.name.lower().endswith(_FURTHER))


def fhir_hint(path: Path) -> str:
    """What to do with something that looks like FHIR and is no folder of NDJSON; empty if it does not."""
    name = path.name.lower()
    if path.is_file():
        if name.endswith(SUFFIXES):
            return "give the folder that holds the NDJSON files"
        return UNBUNDLED if name.endswith(".json") and _begins_as_json(path) else ""
    if not path.is_dir():
        return ""
    if any(bulk_files(inner) for inner in path.iterdir()):
        return "put the NDJSON files into one folder"
    json_files = [p for p in path.iterdir() if p.name.lower().endswith(".json")]
    return UNBUNDLED if any(map(_begins_as_json, json_files)) else ""


def bundle_hint(file: Path) -> str:
    """The same for an NDJSON file that holds one resource over many lines, or a list of them."""
    try:
        with _opened(file) as stream:
            first = stream.readline(200).removeprefix(b"\xef\xbb\xbf").strip()
    except (OSError, EOFError, zlib.error):
        return ""
    return UNBUNDLED if first in (b"{", b"[") or first.startswith((b"[{", b"[ {")) else ""


def _begins_as_json(file: Path) -> bool:
    with file.open("rb") as stream:
        return b'"resourceType"' in stream.read(4_096)


def _opened(file: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(file)) if file.name.lower().endswith(".gz") else file.open("rb")


def read_lines(file: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Each line with its number; None for one that is no JSON object. Empty lines are passed over."""
    try:
        with _opened(file) as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, _resource(line)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise DataError(f"{file.name} is a damaged gzip file.", hint="copy or pack it again") from None


def _resource(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line.decode("utf-8-sig"), parse_constant=_no_number, object_pairs_hook=_once)
    except (ValueError, RecursionError):  # its words would quote the line
        return None
    return found if isinstance(found, dict) else None


def _no_number(_: str) -> float:
    raise ValueError  # NaN and Infinity, which JSON does not have


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError  # a name that is there twice: readers differ in which of them counts
    return found
