"""Which reader a file gets: by its suffix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, ParameterError, listed
from sfumato.io import arrow, csv, excel, parquet, statistical
from sfumato.io.file_checks import require_files
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


def format_of(paths: Sequence[Path]) -> str:
    """The one format of all the files."""
    found = {path.name: _format(path) for path in paths}
    unknown = [name for name, kind in found.items() if not kind]
    if unknown:
        require_files(paths)
        known = [suffix for f in FORMATS.values() for suffix in f.suffixes]
        raise DataError(
            f"unknown kind of file: {listed(unknown)}.", hint=f"known suffixes: {' '.join(known)}"
        )
    kinds = sorted(set(found.values()))
    if len(kinds) > 1:
        raise DataError(f"the files are of {len(kinds)} formats: {', '.join(kinds)}.", hint="read them apart")
    return kinds[0]


def _format(path: Path) -> str:
    name = path.name.lower()
    return next((kind for kind, f in FORMATS.items() if name.endswith(f.suffixes)), "")


def read_files(
    paths: Sequence[Path], kind: str, schema: Schema | None, options: Mapping[str, Any]
) -> tuple[BatchSource, Schema | None]:
    """A source over the files, and what they say about their columns."""
    require_files(paths, folders=kind == "parquet")
    own_options = {name: options[name] for name in FORMATS[kind].options}
    if kind == "csv":
        return csv.read(paths, schema=schema, **own_options)
    if kind == "parquet":
        return parquet.read(paths)
    if kind == "arrow":
        return arrow.read(paths)
    if len(paths) > 1:
        raise ParameterError(
            f"{len(paths)} files of this format cannot be read as one table.", hint="convert them to Parquet"
        )
    return (
        excel.read(paths[0], **own_options) if kind == "excel" else statistical.read(paths[0], **own_options)
    )
