"""Folders of one table: part files side by side, or in folders whose names are columns (`year=2020/month=1`).

Spark, Hive and DuckDB write such folders. The names of the folders become columns at the end: whole numbers
where all of them are, text otherwise; `__HIVE_DEFAULT_PARTITION__` is missing.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from sfumato.errors import DataError, SfumatoWarning, listed

_MISSING = "__HIVE_DEFAULT_PARTITION__"
_FOLDER = re.compile(r"([^=/]+)=(.*)", re.DOTALL)
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")
_PATTERN = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Partitions:
    """The columns that the names of folders hold, and their values for each file."""

    fields: tuple[pa.Field, ...] = ()
    values: dict[Path, tuple[str | int | None, ...]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The columns, from the outermost folder to the innermost."""
        return [f.name for f in self.fields]

    def widened(self, stored: pa.Schema) -> pa.Schema:
        """The columns of the files and those of the folders; refused if a name is in both."""
        twice = [repr(name) for name in self.names if name in stored.names]
        if twice:
            raise DataError(
                f"{listed(twice)} is a column of the files and a name of their folders.",
                hint="read the files by a list of their paths, or rename the folders",
            )
        return pa.schema([*stored, *self.fields])

    def stored(self, columns: Sequence[str]) -> list[str]:
        """Those columns that stand in the files."""
        return [name for name in columns if name not in self.names]

    def filled(self, batch: pa.RecordBatch, path: Path, columns: Sequence[str]) -> pa.RecordBatch:
        """A batch of a file with the values of its folders, in the order asked for."""
        known = dict(zip(self.names, zip(self.fields, self.values.get(path, ()), strict=False), strict=False))
        arrays = []
        for name in columns:
            if name in known:
                meant, value = known[name]
                arrays.append(pa.repeat(pa.scalar(value, meant.type), batch.num_rows))
            else:
                arrays.append(batch.column(batch.schema.get_field_index(name)))
        fields = [known[name][0] if name in known else batch.schema.field(name) for name in columns]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


NO_PARTITIONS = Partitions()
"""Of files whose folders say nothing."""


def table_files(folder: Path, suffixes: Sequence[str]) -> list[Path]:
    """The files of a folder: its own, or those in its `name=value` folders; hidden ones do not count."""
    inside = sorted(p for p in folder.iterdir() if not p.name.startswith((".", "_")))
    files = [p for p in inside if p.is_file() and p.name.lower().endswith(tuple(suffixes))]
    parts = [p for p in inside if p.is_dir() and _FOLDER.fullmatch(p.name)]
    if files and parts:
        raise DataError(
            f"the folder {folder.name} holds files and folders with columns in their names.",
            hint="name the one or the others by a pattern",
        )
    if parts:
        return [file for part in parts for file in table_files(part, suffixes)]
    return files


def require_table_files(folder: Path, suffixes: Sequence[str]) -> list[Path]:
    """The same; refused if there is none."""
    found = table_files(folder, suffixes)
    if not found:
        deeper = any(p.is_dir() and not p.name.startswith((".", "_")) for p in folder.iterdir())
        raise DataError(
            f"the folder {folder.name} holds no file of a table{' but in folders of its own' * deeper}.",
            hint=f"'{folder.name}/**/*.parquet' reads those" if deeper else "name a file, or its folder",
        )
    return found


def of_folder(folder: Path, files: Sequence[Path]) -> Partitions:
    """What the folders between a folder and its files say."""
    return _read({file: file.relative_to(folder).parts[:-1] for file in files})


def of_pattern(pattern: str, files: Sequence[Path]) -> Partitions:
    """The same for a pattern, whose own folders up to the first sign of a pattern say nothing."""
    fixed = 0
    for part in Path(pattern).parts:
        if _PATTERN.search(part):
            break
        fixed += 1
    return _read({file: file.parts[fixed:-1] for file in files})


def say_unread(files: Sequence[Path]) -> None:
    """Warn if files were named one by one out of folders whose names tell them apart."""
    keys = [tuple(part for part in file.parts[:-1] if _FOLDER.fullmatch(part)) for file in files]
    if len(set(keys)) > 1 and all(keys):
        warnings.warn(
            f"the files lie in folders such as '{keys[0][-1].partition('=')[0]}=...', whose names are not "
            "read. Name the folder above them to have those as columns.",
            SfumatoWarning,
            stacklevel=4,
        )


def _read(folders: dict[Path, tuple[str, ...]]) -> Partitions:
    pairs = {
        file: [found.groups() for part in parts if (found := _FOLDER.fullmatch(part))]
        for file, parts in folders.items()
    }
    keys = {tuple(unquote(name) for name, _ in found) for found in pairs.values()}
    if keys == {()} or not keys:
        return NO_PARTITIONS
    if len(keys) > 1:
        raise DataError(
            "the folders of the files do not name the same columns in the same order.",
            hint="read the folders apart",
        )
    names = keys.pop()
    if len(set(names)) < len(names):
        raise DataError("a folder and one inside it name the same column.", hint="rename one of them")
    texts = {
        file: tuple(None if value == _MISSING else unquote(value) for _, value in found)
        for file, found in pairs.items()
    }
    fields, columns = [], []
    for k, name in enumerate(names):
        given = [row[k] for row in texts.values()]
        whole = all(value is None or _WHOLE.fullmatch(value) for value in given) and any(given)
        fields.append(pa.field(name, pa.int64() if whole else pa.string()))
        columns.append([int(value) if whole and value is not None else value for value in given])
    values = dict(zip(texts, zip(*columns, strict=True), strict=True))
    return Partitions(tuple(fields), values)
