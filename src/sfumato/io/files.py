"""Which files are meant, and which reader they get: by their suffix."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, ParameterError, listed
from sfumato.io import arrow, csv, excel, parquet, statistical
from sfumato.io.conversions import unread
from sfumato.io.file_checks import require_files
from sfumato.io.partitions import (
    NO_PARTITIONS,
    Partitions,
    of_folder,
    of_pattern,
    require_table_files,
    say_unread,
)
from sfumato.schema import Schema
from sfumato.sources import BatchSource


@dataclass(frozen=True)
class Format:
    """Suffixes of a format, its name in words, and what a caller may say about it."""

    words: str
    suffixes: tuple[str, ...]
    options: tuple[str, ...] = ()


FORMATS = {
    "csv": Format(
        "text table",
        csv.SUFFIXES,
        ("separator", "decimal", "encoding", "date_order", "missing", "header", "units"),
    ),
    "parquet": Format("Parquet file", (".parquet", ".pq")),
    "arrow": Format("Arrow file", (".arrow", ".feather", ".ipc")),
    "excel": Format("workbook", (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"), ("sheet", "header", "units")),
    "statistical": Format(
        "statistical file", (".sas7bdat", ".xpt", ".sav", ".zsav", ".por", ".dta"), ("encoding",)
    ),
}


def refuse(options: Mapping[str, Any], allowed: set[str], what: str) -> None:
    """Refuse options that have no meaning for what is read."""
    names = {"date_order": "dates"}
    extra = [names.get(k, k) for k, value in options.items() if value is not None and k not in allowed]
    if extra:
        raise ParameterError(f"{listed(extra)} cannot be said of {what}.", hint="leave it out")


_FOLDERS = ("parquet", "csv", "arrow")  # formats whose files may lie in a folder as one table


def format_of(paths: Sequence[Path]) -> str:
    """The one format of all the files."""
    found = {path.name: _format(path) for path in paths}
    unknown = [name for name, kind in found.items() if not kind]
    if unknown:
        require_files(paths)
        raise unread(unknown, [suffix for f in FORMATS.values() for suffix in f.suffixes])
    kinds = sorted(set(found.values()))
    if len(kinds) > 1:
        raise DataError(f"the files are of {len(kinds)} formats: {', '.join(kinds)}.", hint="read them apart")
    return kinds[0]


def _format(path: Path) -> str:
    name = path.name.lower()
    return next((kind for kind, f in FORMATS.items() if name.endswith(f.suffixes)), "")


def files_of(data: object) -> tuple[list[Path], Partitions] | None:
    """The files meant by a path, a folder, a pattern or a list of them; None if it is something else."""
    if isinstance(data, (list, tuple)) and data and all(isinstance(d, (str, Path)) for d in data):
        several = [files_of(item) or ([], NO_PARTITIONS) for item in data]
        if len(several) == 1:
            return several[0]
        if any(partitions.fields for _, partitions in several):
            raise DataError(
                "one of several folders has columns in its name.", hint="scan the folder above them"
            )
        paths = [path for found, _ in several for path in found]
        say_unread(paths)
        return paths, NO_PARTITIONS
    if not isinstance(data, (str, Path)):
        return None
    if isinstance(data, str) and not data.strip():
        raise DataError("the path is empty.", hint="name a file")
    text = str(data)
    if any(sign in text for sign in "*?[") and not os.path.exists(text):
        found = [Path(path) for path in sorted(glob.glob(text, recursive=True))]
        if not found:
            raise DataError(f"no file matches {Path(text).name}.", hint="check the pattern")
        files = [file for path in found for file in (in_folder(path) if os.path.isdir(path) else [path])]
        return files, of_pattern(text, files)
    path = Path(data)
    if not os.path.isdir(path):
        return [path], NO_PARTITIONS
    files = in_folder(path)
    return files, of_folder(path, files)


def in_folder(folder: Path) -> list[Path]:
    """The files of the table that a folder holds, in the order of their names."""
    return require_table_files(folder, [suffix for kind in _FOLDERS for suffix in FORMATS[kind].suffixes])


def read_files(
    paths: Sequence[Path],
    kind: str,
    schema: Schema | None,
    options: Mapping[str, Any],
    partitions: Partitions = NO_PARTITIONS,
) -> tuple[BatchSource, Schema | None]:
    """A source over the files, and what they say about their columns."""
    require_files(paths)
    own_options = {name: options[name] for name in FORMATS[kind].options}
    if kind == "csv":
        return csv.read(paths, schema=schema, partitions=partitions, **own_options)
    if kind == "parquet":
        return parquet.read(paths, partitions)
    if kind == "arrow":
        return arrow.read(paths)
    if len(paths) > 1:
        raise ParameterError(
            f"{len(paths)} files of this format cannot be read as one table.", hint="convert them to Parquet"
        )
    return (
        excel.read(paths[0], **own_options) if kind == "excel" else statistical.read(paths[0], **own_options)
    )
