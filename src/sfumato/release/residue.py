"""Places of a public folder where nothing belongs, and what lies there all the same.

A signature covers every byte, also those that nobody is shown: notes inside a Parquet file, a comment in the
schema, a key of the manifest that no reader knows. Other tools write there of themselves (names of files,
an index, all categories of a column), and whoever prepares a release could leave raw values there for an
accomplice. The person who signs would not see them. So `sign` refuses such a folder, and `verify` calls it
altered.

Limits: these are the places where no release has anything. Whoever prepares the rows can hide a message in
    the rows themselves, in their order or in how they are packed: no check of a file finds that.
Tested by: tests/test_release_residue.py
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w

from sfumato.languages import LANGUAGES
from sfumato.privacy.signatures import strict_json

_KEYS = {
    "sfumato_release", "wording", "language", "about", "data", "draft", "formulas", "database", "files",
}  # fmt: skip
_ENTRY = {"sha256", "bytes"}
_PART = re.compile(r"part-\d{1,9}\.parquet")
_NOT_PUBLIC = ("reason", "confidence", "missing_codes")  # of a column: they speak of the original
_MAGIC = 4  # bytes at either end of a Parquet file; before the last ones, four for the length of the footer
_FIELD_NOTE = {b"PARQUET:field_id"}


def residue(public: Path, names: list[str]) -> Iterator[tuple[str, str]]:
    """Each file of a public folder in which something lies that no release has, and what.

    names: the files or folders of the data. A file that cannot be read is none of this module's business.
    """
    for name, look in _LOOKS.items():
        if (public / name).is_file():
            yield from ((name, what) for what in _tried(look, public / name))
    for name in names:
        path = public / name
        parts = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for part in parts:
            shown = part.relative_to(public).as_posix()
            if path.is_dir() and (part.parent != path or not _PART.fullmatch(part.name)):
                yield shown, "parts of the data have no other names than part-00000.parquet and so on"
            if part.suffix == ".parquet" and part.is_file():
                yield from ((shown, what) for what in _tried(_of_parquet, part))


def _tried(look: Callable[[Path], Iterator[str]], path: Path) -> list[str]:
    try:
        return list(look(path))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, pa.ArrowException):
        return []  # what is no such file at all, other checks say


# -- words -----------------------------------------------------------------------------------------


def _of_manifest(path: Path) -> Iterator[str]:
    document = strict_json(path.read_bytes())
    files: Mapping[str, Any] = document["files"]
    if set(document) - _KEYS or any(set(entry) != _ENTRY for entry in files.values()):
        yield "it has keys that no manifest has"
    if "language" in document and document["language"] not in [*LANGUAGES][1:]:  # English is not named
        yield "it names a language that no card has"
    if _spelt(document) != path.read_bytes():
        yield "it is not spelt as a manifest is"


def _of_guarantee(path: Path) -> Iterator[str]:
    if _spelt(strict_json(path.read_bytes())) != path.read_bytes():
        yield "it is not spelt as a guarantee is"


def _of_schema(path: Path) -> Iterator[str]:
    raw = path.read_bytes()
    document = tomllib.loads(raw.decode("utf-8"))
    if tomli_w.dumps(document).encode("utf-8") != raw:
        yield "it holds comments, or is not spelt as a schema is"
    tables = document.get("tables", {"": document})
    columns = [c for table in tables.values() for c in table.get("columns", {}).values()]
    if any(key in column for column in columns for key in _NOT_PUBLIC):
        yield "it says of columns what only the original shows"


def _spelt(document: object) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


_LOOKS: dict[str, Callable[[Path], Iterator[str]]] = {
    "manifest.json": _of_manifest, "guarantee.json": _of_guarantee, "schema.toml": _of_schema,
    "database.toml": _of_schema,
}  # fmt: skip


# -- Parquet ---------------------------------------------------------------------------------------


def _of_parquet(path: Path) -> Iterator[str]:
    with pq.ParquetFile(path) as file:
        found, stored = file.metadata, file.schema_arrow
    if set(found.metadata or ()) - {b"ARROW:schema"} or stored.metadata:
        yield "notes inside the file"
    if any(set(field.metadata or ()) - _FIELD_NOTE for field in stored):
        yield "notes on columns inside the file"
    if _covered(found) != path.stat().st_size - found.serialized_size - 2 * _MAGIC:
        yield "bytes inside the file that belong to no column"


def _covered(found: pq.FileMetaData) -> int:
    """Where the last column ends, if each begins where the one before ends; -1 if there is room between."""
    end = _MAGIC
    for group in map(found.row_group, range(found.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            offsets = (column.dictionary_page_offset, column.data_page_offset)  # 0: there is no such page
            first = min((offset for offset in offsets if offset), default=end)
            if first != end or column.file_path:
                return -1
            end = first + column.total_compressed_size
    return end
