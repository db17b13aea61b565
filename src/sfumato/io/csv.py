"""Text tables (.csv, .tsv, .txt, also packed with gzip or zip), read block by block.

The head of the file decides the dialect and the types; every later cell is held to them. Faults are
counted to the end of the file and said at once: names and numbers, never the text of a cell.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sfumato.errors import DataError, listed
from sfumato.io.cells import ARROW_TYPES, clean, convert, guess_type
from sfumato.io.dialect import (
    Dialect,
    first_rows,
    last_rows,
    ragged_lines,
    require_same_layout,
    rows_before_data,
)
from sfumato.io.doubts import repeated_names, say_doubts
from sfumato.io.file_checks import StoredColumns, require_same, require_same_columns
from sfumato.io.heads import open_bytes, open_plain, remembered_heads
from sfumato.io.layout import refuse_footer
from sfumato.io.partitions import NO_PARTITIONS, Partitions
from sfumato.schema import Schema
from sfumato.sources import BatchSource

SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".zip")
_BLOCK = 4 << 20
_HEAD = 16 << 20  # types are decided on this much of the file


@dataclass(frozen=True)
class TextFiles:
    """The files a table was read from and how they are written."""

    paths: tuple[Path, ...]
    dialect: Dialect
    partitions: Partitions = NO_PARTITIONS

    @property
    def reading(self) -> str:
        """How they are written, and what was skipped, in words."""
        return str(self.dialect)

    def __str__(self) -> str:
        return f"{listed([path.name for path in self.paths])}: {self.dialect}"


def read(
    path: Path | Sequence[Path],
    *,
    schema: Schema | None = None,
    partitions: Partitions = NO_PARTITIONS,
    **dialect: object,
) -> tuple[BatchSource, None]:
    """A source over one file, or over several that are written alike. A schema's types decide.

    partitions: columns that the names of their folders hold.
    """
    paths = tuple(path) if isinstance(path, Sequence) else (path,)
    same = require_same(paths)
    with remembered_heads():
        found = Dialect.detect(paths[0], **dialect)
        names = _header(paths[0], found)
        require_same_layout(paths, found, dialect)
        for file in paths:
            refuse_footer([r for r in last_rows(file, found) if len(r) == len(names)], file.name)
        _require_same_header(paths, names, found)
    given = {c.name: c.type for c in schema or ()}
    marks = {c.name: c.text_marks for c in schema or ()}
    types = _types(paths, names, found, given)
    fields = [pa.field(name, ARROW_TYPES[types[name]]) for name in names]

    def open_(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # A column of the files counts the rows where only folders are asked for.
        inside = partitions.stored(columns) or (names[:1] if columns else [])
        wanted = {name: types[name] for name in inside}
        for file in paths if wanted else ():
            for batch in _typed_batches(file, names, wanted, found, set(types) - set(given), marks):
                yield partitions.filled(batch, file, columns) if partitions.fields else batch

    origin = TextFiles(paths, found, partitions)
    stored = partitions.widened(pa.schema(fields))
    return BatchSource(stored, open_, "file", None, origin, require_same=same), None


_NAMELESS = "\0"  # begins what columns without a name are called here
_ROW_NAMES = "row_id"  # of a first column without a name
_UNSEEN = "\u200b\u200c\u200d\u2060\ufeff\u00ad "  # signs that nobody sees around a name, or types

# -- names -----------------------------------------------------------------------------------------


def _header(path: Path, dialect: Dialect) -> list[str]:
    """The names of the columns, all faults of the header at once."""
    rows = first_rows(path, dialect)
    above = bool(dialect.header) + dialect.units
    if len(rows) <= above and path.stat().st_size > 1 << 20:
        raise _unclosed_quote(path)
    if len(rows) <= above:
        raise DataError(f"{path.name} has no rows.", hint="give a file with rows below its header")
    width = len(rows[above]) - dialect.closing
    if not dialect.header:
        return [f"column_{k + 1}" for k in range(width)]
    names = rows[0][:width] if not any(rows[0][width:]) else rows[0]
    names = [name.strip(_UNSEEN) for name in names]
    if names[0] == "" and "" not in names[1:] and _ROW_NAMES not in names:
        names = [_ROW_NAMES, *names[1:]]  # pandas and R write their row names so
    faults = []
    empty = [str(k + 1) for k, name in enumerate(names) if not name]
    if empty:
        faults.append(f"no name above column {listed(empty)}")
    repeated = [repr(name) for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        faults.append(f"names that repeat: {listed(repeated)}")
    broken = [str(k + 1) for k, name in enumerate(names) if "\n" in name and dialect.separator in name]
    if broken:  # a quote that was not closed: what follows are cells, not names
        raise DataError(
            f"the header of {path.name} runs over several lines (column {listed(broken)}).",
            hint="close the quote in the header",
        )
    if faults:
        raise DataError(
            f"the header of {path.name} has {' and '.join(faults)}.",
            hint="name every column once; a separator at the end of every line makes a column without a name",
        )
    return names


def _require_same_header(paths: Sequence[Path], names: Sequence[str], dialect: Dialect) -> None:
    heads = [StoredColumns(path, _as_text(_header(path, dialect))) for path in paths[1:]]
    require_same_columns([StoredColumns(paths[0], _as_text(names)), *heads])
    moved = [head.path.name for head in heads if head.schema.names != list(names)]
    if moved:
        raise DataError(
            f"{len(moved)} of {len(paths)} files have their columns in another order than {paths[0].name}: "
            f"{listed(moved)}.",
            hint="write them in one order, or as Parquet, where the order does not matter",
        )


def _as_text(names: Sequence[str]) -> pa.Schema:
    return pa.schema([(name, pa.string()) for name in names])


# -- types -----------------------------------------------------------------------------------------


def _types(
    paths: Sequence[Path], names: Sequence[str], dialect: Dialect, given: Mapping[str, str]
) -> dict[str, str]:
    """The given types; for the other columns what the heads of the files show."""
    types = {name: given[name] for name in names if name in given}
    open_names = [name for name in names if name not in types]
    if not open_names:
        return types
    heads = [_head(path, dialect, names, open_names, max(_BLOCK, _HEAD // len(paths))) for path in paths]
    head = pa.Table.from_batches([batch for head in heads for batch in head])
    for name in open_names:
        cells = clean(head[name].combine_chunks(), dialect)
        types[name] = guess_type(cells, dialect)
        say_doubts(cells, types[name], name, paths[0].name, commas=dialect.separator == ",")
    return types


def _head(
    path: Path, dialect: Dialect, names: Sequence[str], wanted: Sequence[str], size: int
) -> list[pa.RecordBatch]:
    faults = _Faults(path, dialect, len(names) + dialect.closing)
    batches: list[pa.RecordBatch] = []
    for batch in _text_batches(path, dialect, names, wanted, faults):
        batches.append(batch)
        size -= _BLOCK
        if size <= 0 and not faults:
            break
    faults.raise_if_any()
    return batches


# -- batches ---------------------------------------------------------------------------------------


@dataclass
class _Faults:
    """What does not fit, counted while reading."""

    path: Path
    dialect: Dialect
    width: int
    ragged: int = 0
    nameless: int = 0
    again: int = 0
    misfits: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __bool__(self) -> bool:
        return bool(self.ragged or self.nameless or self.again or self.misfits)

    def on_invalid_row(self, row: object) -> str:
        """Count a row of the wrong width; its text is not kept."""
        self.ragged += 1
        return "skip"

    def raise_if_any(self) -> None:
        """One error for everything that was counted."""
        faults, hints = [], []
        if self.ragged:
            rows = "1 row has" if self.ragged == 1 else f"{self.ragged} rows have"
            lines = list(islice(ragged_lines(self.path, self.dialect, self.width), 3))
            at = (
                f" (line {', '.join(map(str, lines))}{', ...' * (self.ragged > len(lines))})" if lines else ""
            )
            faults.append(f"{rows} not {self.width} cells like the first row{at}")
            hints.append(
                "quote cells that hold the separator, take lines below the table away, or say header=N (the "
                "line with the names) or separator=..."
            )
        if self.nameless:
            verb = "cell stands" if self.nameless == 1 else "cells stand"
            faults.append(f"{self.nameless} {verb} behind the last named column")
            hints.append("name every column")
        if self.again:
            faults.append(f"the names stand again in {self.again} row{'s' * (self.again > 1)}")
            hints.append("take the lines with the names away, but for the first")
        if self.misfits:
            columns = [
                f"'{name}' ({count} cell{'s' * (count > 1)} not {type_name})"
                for (name, type_name), count in self.misfits.items()
            ]
            faults.append(
                f"{len(columns)} column{'s' * (len(columns) > 1)} with cells of another type: "
                f"{listed(columns)}"
            )
            hints.append('give a schema with type = "text" for such a column, or say missing=[...]')
        if faults:
            raise DataError(f"{self.path.name}: {'; '.join(faults)}.", hint="; ".join(hints))


def _typed_batches(
    path: Path,
    names: Sequence[str],
    wanted: Mapping[str, str],
    dialect: Dialect,
    guessed: set[str],
    marks: Mapping[str, Sequence[str]],
) -> Iterator[pa.RecordBatch]:
    """Typed batches. From the first fault on nothing more is given out, only counted."""
    faults = _Faults(path, dialect, len(names) + dialect.closing)
    types = pa.schema([pa.field(name, ARROW_TYPES[t]) for name, t in wanted.items()])
    for batch in _text_batches(path, dialect, names, list(wanted), faults):
        arrays = []
        for column, (name, type_name) in zip(batch.columns, wanted.items(), strict=True):
            cells = clean(column, dialect, marks.get(name, ()))
            fit = convert(cells, type_name, dialect, strict=name in guessed)
            if fit.misfits:
                faults.misfits[name, type_name] += fit.misfits
            arrays.append(fit.array)
        faults.again += repeated_names(batch) if dialect.header else 0
        if not faults and batch.num_rows:
            yield pa.RecordBatch.from_arrays(arrays, schema=types)
    faults.raise_if_any()


def _text_batches(
    path: Path, dialect: Dialect, names: Sequence[str], wanted: Sequence[str], faults: _Faults
) -> Iterator[pa.RecordBatch]:
    """Batches of text cells. Arrow's own messages quote cells, so none of them gets through."""
    quotes = [0]
    try:
        yield from _open(path, dialect, names, wanted, faults, quotes)
        if quotes[0] % 2 and _last_row_spans_lines(path, dialect, names):
            raise _unclosed_quote(path)
    except (pa.ArrowInvalid, UnicodeError, OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise _as_data_error(error, path, dialect) from None


def _as_data_error(error: Exception, path: Path, dialect: Dialect) -> DataError:
    message = str(error)
    if isinstance(error, UnicodeError) or "UTF8" in message or "codec" in message:
        return DataError(
            f"{path.name} is not {dialect.encoding} text throughout.",
            hint="say encoding='latin-1', or 'cp1252', or what the writing program used",
        )
    if "straddl" in message:
        return _unclosed_quote(path)
    if isinstance(error, pa.ArrowInvalid):
        return DataError(f"{path.name} cannot be read as a text table.", hint="say separator=...")
    return DataError(f"{path.name} cannot be read to its end.", hint="copy or pack the file again")


def _unclosed_quote(path: Path) -> DataError:
    return DataError(
        f"{path.name} has a quote that never closes, or a row longer than {_BLOCK >> 20} MB.",
        hint="close the quote; a quote that belongs to a cell is written twice, in a quoted cell",
    )


def _last_row_spans_lines(path: Path, dialect: Dialect, names: Sequence[str]) -> bool:
    """Arrow reads an open quote to the end of the file without a word: all those rows would be lost."""
    last = None
    for batch in _open(path, dialect, names, names, _Faults(path, dialect, len(names)), [0]):
        last = batch if batch.num_rows else last
    return last is not None and any("\n" in (column[-1].as_py() or "") for column in last.columns)


class _CountedStream(io.RawIOBase):
    """Bytes of a stream; counts the quotes that pass, since closed ones come in pairs."""

    def __init__(self, stream: IO[bytes], quote: bytes, count: list[int]) -> None:
        self._stream, self._quote, self._count = stream, quote, count

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        data = self._stream.read(-1 if size is None else size)
        self._count[0] += data.count(self._quote)
        return data


def _open(
    path: Path,
    dialect: Dialect,
    names: Sequence[str],
    wanted: Sequence[str],
    faults: _Faults,
    quotes: list[int],
) -> Iterator[pa.RecordBatch]:
    """Arrow's streaming reader, every column as text. One thread: as fast here, and in order."""
    source: Any
    source, packed = open_plain(path)
    if packed:
        source.close()
        source = open_bytes(path) if packed == "zip" else pa.input_stream(str(path), compression=packed)
    nameless = [f"{_NAMELESS}{k}" for k in range(dialect.closing)]
    with (
        source,  # closed too where its first bytes cannot be read
        pyarrow.csv.open_csv(
            _CountedStream(source, dialect.quote.encode(), quotes),
            read_options=pyarrow.csv.ReadOptions(
                use_threads=False,
                block_size=_BLOCK,
                column_names=[*names, *nameless],
                skip_rows=dialect.skip,  # lines, where the names may run over several
                skip_rows_after_names=rows_before_data(path, dialect),
                encoding="utf-8" if dialect.encoding == "utf-8-sig" else dialect.encoding,
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=dialect.separator,
                quote_char=dialect.quote,
                newlines_in_values=True,
                invalid_row_handler=faults.on_invalid_row,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={name: pa.string() for name in (*wanted, *nameless)},
                include_columns=[*wanted, *nameless],
                strings_can_be_null=False,
            ),
        ) as reader,
    ):
        if not nameless:
            yield from reader
            return
        for batch in reader:
            for column in batch.columns[len(wanted) :]:
                faults.nameless += pc.sum(pc.not_equal(pc.utf8_trim_whitespace(column), "")).as_py() or 0
            yield batch.select(list(wanted))
