"""What every reader of files and frames asks first: is it there, is each column named, do the files agree?"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import DataError, SchemaError, SfumatoWarning, listed
from sfumato.schema import Schema
from sfumato.sources import is_text

SCHEMA_KEY = b"sfumato_schema"
"""Where a file written by Sfumato keeps its schema, as TOML."""


def require_files(paths: Sequence[Path], *, folders: bool = False) -> None:
    """Refuse what cannot be opened and read again. folders: they are read too, as the files in them."""
    there = [p for p in paths if os.path.exists(p)]
    files = [p for p in there if p.is_file()]
    found = (
        ("no file", [p for p in paths if p not in there], "check the path"),
        (
            "a directory, not a file:",
            [p for p in there if p.is_dir() and not folders],
            "name its files, as in 'folder/*.parquet'",
        ),
        (
            "a pipe or a device, which can be read only once:",
            [p for p in there if p not in files and not p.is_dir()],
            "copy it to a file first",
        ),
        ("no permission to read", [p for p in files if not os.access(p, os.R_OK)], "ask its owner"),
    )
    faults = [f"{what} {listed([p.name or '.' for p in wrong])}" for what, wrong, _ in found if wrong]
    if faults:
        hints = [hint for _, wrong, hint in found if wrong]
        raise DataError(f"{'; '.join(faults)}.", hint="; ".join(hints))


def require_same(paths: Sequence[Path]) -> Callable[[], None]:
    """A check whether files are still those they are now: what was learnt of a file holds for that file.

    One that is gone is no matter of this: whoever opens it says so.
    """
    before = [_mark(path) for path in paths]

    def check() -> None:
        now = [_mark(path) for path in paths]
        moved = [p.name for p, a, b in zip(paths, before, now, strict=True) if a != b and b is not None]
        if moved:
            verb = "has changed since it was" if len(moved) == 1 else "have changed since they were"
            raise DataError(f"{listed(moved)} {verb} opened.", hint="open it again, as it is now")

    return check


def _mark(path: Path) -> tuple[int, int, int] | None:
    """What changes when a file is written again, or another takes its place."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def require_names(names: Sequence[Any], what: str = "the data") -> None:
    """Refuse columns without a name of their own."""
    repeated = sorted(repr(name) for name, times in Counter(names).items() if times > 1)
    faults = [f"names that repeat: {listed(repeated)}"] if repeated else []
    empty = sum(str(n) == "" for n in names)
    if empty:
        faults.append(f"{empty} column{'s' * (empty > 1)} without a name")
    if not names:
        faults.append("no columns")
    if faults:
        raise DataError(f"{what} has {' and '.join(faults)}.", hint="name every column once")


@dataclass(frozen=True)
class StoredColumns:
    """The columns that a file says it has."""

    path: Path
    schema: pa.Schema


def require_same_columns(files: Sequence[StoredColumns]) -> None:
    """Every difference of every file from the first one, at once. In which layout text is kept is none."""
    first, faults = files[0], []
    for file in files[1:]:
        missing = [repr(n) for n in first.schema.names if n not in file.schema.names]
        extra = [repr(n) for n in file.schema.names if n not in first.schema.names]
        other = [
            f"{name!r} ({file.schema.field(name).type}, not {first.schema.field(name).type})"
            for name in file.schema.names
            if name in first.schema.names
            and not _same_type(file.schema.field(name).type, first.schema.field(name).type)
        ]
        parts = [
            f"{word} {listed(names)}"
            for word, names in (("without", missing), ("with also", extra), ("with another type of", other))
            if names
        ]
        if parts:
            faults.append(f"{file.path.name} {', '.join(parts)}")
    if faults:
        raise DataError(
            f"{len(faults)} of {len(files)} files differ from {first.path.name}: {listed(faults)}.",
            hint="scan files of one kind at a time",
        )


def _same_type(a: pa.DataType, b: pa.DataType) -> bool:
    return bool(a == b) or (_holds_text(a) and _holds_text(b))


def _holds_text(type_: pa.DataType) -> bool:
    """Also in a dictionary, as pandas and Polars keep categories; if these have an order, that says more."""
    return is_text(type_) or (
        pa.types.is_dictionary(type_) and is_text(type_.value_type) and not type_.ordered
    )


def common_schema(files: Sequence[StoredColumns]) -> pa.Schema:
    """The columns of files that agree: as the first one keeps them, or as plain text where layouts differ."""
    fields = []
    for field in files[0].schema:
        type_ = field.type
        if any(file.schema.field(field.name).type != type_ for file in files):
            type_ = pa.string()
        elif pa.types.is_dictionary(type_) and pa.types.is_string_view(type_.value_type):
            # Arrow takes nothing from views.
            type_ = pa.dictionary(type_.index_type, pa.string(), type_.ordered)
        fields.append(pa.field(field.name, type_))
    return pa.schema(fields)


def as_type(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """The same text in another layout."""
    if array.type == type_:
        return array
    if pa.types.is_dictionary(array.type):
        words = array.dictionary.cast(pa.string())
        if not pa.types.is_dictionary(type_):
            return words.take(array.indices).cast(type_)
        array = pa.DictionaryArray.from_arrays(array.indices, words, ordered=type_.ordered)
    return array.cast(type_)


def stored_schema(files: Sequence[StoredColumns]) -> Schema | None:
    """The schema that Sfumato wrote into the files, if it is the same in all of them."""
    stored = {(file.schema.metadata or {}).get(SCHEMA_KEY) for file in files}
    text = stored.pop()
    if stored or text is None:
        return None
    name = files[0].path.name
    try:
        schema = Schema.from_toml(text.decode("utf-8"), name=name)
        return schema.select(files[0].schema.names)
    except (SchemaError, UnicodeDecodeError):
        message = f"the schema inside {name} does not fit its columns and is not used."
        warnings.warn(message, SfumatoWarning, stacklevel=4)
        return None
