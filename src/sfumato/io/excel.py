"""Excel sheets: one sheet is one table, with the column names above the rows.

A sheet holds cells, not columns, so the type of a column is what all its cells agree on: text that
looks like a number stays text (postal codes, leading zeros), whole numbers are integers, midnights
are dates, and a column of several types is text.
"""

from __future__ import annotations

import datetime as dt
import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import (
    DataError,
    MissingExtraError,
    OutputError,
    ParameterError,
    SfumatoWarning,
    listed,
)
from sfumato.io import layout
from sfumato.io.file_checks import require_files
from sfumato.io.merged_cells import require_unmerged
from sfumato.io.workbook_checks import Merged, require_fitting
from sfumato.sources import BatchSource

if TYPE_CHECKING:
    import fastexcel
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

    from sfumato.schema import Value

MOST_ROWS = 1_048_575  # what a sheet holds below its header
MOST_COLUMNS = 16_384
_EXACT = 2**53  # larger whole numbers are not exact in a cell
_DIGITS = 10**15  # and Excel shows no more than fifteen digits
_BATCH_ROWS = 65_536


@dataclass(frozen=True)
class Sheet:
    """The sheet a table was read from, and what was skipped. header: the row with the names, 0 for none."""

    path: Path
    name: str
    header: int = 1
    units: bool = False

    @property
    def reading(self) -> str:
        """What was skipped, in words."""
        return ", ".join(layout.words(self.header, max(0, self.header - 1), self.units, "row"))

    def __str__(self) -> str:
        skipped = f": {self.reading}" if self.reading else ""
        return f"{self.path.name}, sheet {self.name!r}{skipped}"


def read(
    path: Path, sheet: str | int | None = None, header: int | None = None, units: bool | None = None
) -> tuple[BatchSource, None]:
    """One sheet, by name or by position from 0; the first one if none is named.

    header: the row with the names, from 1; 0 if there are none. units: the row below them holds units.
    """
    path = Path(path)
    if (header is not None and (not isinstance(header, int) or header < 0)) or units not in (
        None,
        True,
        False,
    ):
        raise ParameterError(
            "header must be a row, 0 or more; units true or false.", hint="see docs/files.md"
        )
    workbook, merged = _open(path)
    name = _chosen(workbook.sheet_names, sheet, path)
    where = f"{path.name}, sheet {name!r}"
    batch, origin = _loaded(workbook, Sheet(path, name), header, units, merged)
    table = pa.Table.from_batches([batch])
    end = table.slice(max(0, table.num_rows - layout.LOOKED_AT)).to_pydict().values()
    cells = [["" if c is None else str(c).strip() for c in row] for row in zip(*end, strict=True)]
    layout.refuse_footer(cells, where, "row", notes=False)

    def batches(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        unknown = [repr(c) for c in columns if c not in table.column_names]
        if unknown:
            raise DataError(
                f"{where} has no column {listed(unknown)}.",
                hint=f"it has {listed([repr(n) for n in table.column_names])}",
            )
        return iter(table.select(list(columns)).to_batches(_BATCH_ROWS) if columns else ())

    return BatchSource(table.schema, batches, rows=table.num_rows, origin=origin), None


def _open(path: Path) -> tuple[Any, Merged]:
    try:
        import fastexcel
    except ImportError:
        raise MissingExtraError("Reading Excel files", "excel") from None
    # It tells the log about each empty column; without a handler Python would show that to the user.
    log = logging.getLogger("fastexcel")
    if not log.handlers:
        log.addHandler(logging.NullHandler())
    require_files([path])
    merged = require_fitting(path)
    try:
        return fastexcel.read_excel(path), merged
    except fastexcel.FastExcelError:
        raise DataError(
            f"{path.name} is not an Excel file, or is damaged or locked with a password.",
            hint="open it in a spreadsheet program and save it as .xlsx",
        ) from None


def _chosen(names: Sequence[str], sheet: str | int | None, path: Path) -> str:
    quoted = [repr(n) for n in names]
    if not names:
        raise DataError(f"{path.name} has no sheet.", hint="check the file")
    if sheet is None:
        if len(names) > 1:
            warnings.warn(
                f"{path.name} has {len(names)} sheets, the first one is read: {listed(quoted)}. "
                "Name one with sheet=.",
                SfumatoWarning,
                stacklevel=3,
            )
        return names[0]
    if isinstance(sheet, int) and -len(names) <= sheet < len(names):
        return names[sheet]
    if sheet in names:
        return str(sheet)
    raise DataError(f"{path.name} has no sheet {sheet!r}.", hint=f"it has {listed(quoted)}")


def _loaded(
    workbook: fastexcel.ExcelReader, sheet: Sheet, header: int | None, units: bool | None, merged: Merged
) -> tuple[pa.RecordBatch, Sheet]:
    import fastexcel

    where = str(sheet)
    try:
        rows = _first_rows(workbook, sheet.name)
        if not rows:
            raise DataError(f"{where} is empty.", hint="name another sheet with sheet=")
        found, start, skipped = _layout(rows, sheet, header, units)
        require_unmerged(sheet.path, sheet.name, start, merged, where)
        names_row = start - 1 if found.header else None
        body = workbook.load_sheet(
            sheet.name, header_row=names_row, skip_rows=start - 1 if names_row is None else skipped,
            schema_sample_rows=None, skip_whitespace_tail_rows=True,
        )  # fmt: skip
        batch, errors = body.to_arrow_with_errors()
    except fastexcel.FastExcelError:
        raise DataError(f"{where} cannot be read.", hint="save it again as a plain .xlsx file") from None
    if found.header:
        names = _names(next(row.cells for row in rows if row.line == start), batch, where)
    else:
        names = [f"column_{k + 1}" for k in range(batch.num_columns)]
    if errors is not None:
        _tell_errors(errors, [n or "" for n in names], where)
    kept = [i for i, name in enumerate(names) if name is not None]
    out = pa.RecordBatch.from_arrays([_typed(batch.column(i)) for i in kept], names=[names[i] for i in kept])
    _tell_remarks(out, where)
    return out, found


def _first_rows(workbook: fastexcel.ExcelReader, sheet: str) -> list[layout.TextRow]:
    """The rows at the top that hold cells, as text, with their number from 1."""
    most = layout.MOST_ABOVE + layout.LOOKED_AT
    head = workbook.load_sheet(sheet, header_row=None, skip_rows=0, n_rows=most, dtypes="string")
    columns = [column.to_pylist() for column in head.to_arrow_with_errors()[0].columns]
    rows = [[str(cell or "").strip() for cell in cells] for cells in zip(*columns, strict=True)]
    return [layout.TextRow(k + 1, cells) for k, cells in enumerate(rows) if any(cells)]


def _layout(
    rows: Sequence[layout.TextRow], sheet: Sheet, header: int | None, units: bool | None
) -> tuple[Sheet, int, int]:
    """Where the names are; the first row of the table; how many rows below the names are no data."""
    where = str(sheet)
    used = [k for k in range(len(rows[0].cells)) if any(row.cells[k] for row in rows)]
    narrow = [layout.TextRow(row.line, [row.cells[k] for k in used]) for row in rows]
    if header:
        above = layout.chosen_line(narrow, header, where, "row")
    elif header == 0:
        above = 0
    else:
        above = layout.lines_above(narrow, where, "row")
        if len(used) == 1 and len(narrow) > 2 and narrow[1].line > narrow[0].line + 1:
            raise DataError(
                f"{where}: row {narrow[0].line} stands apart from the column below it: a title, or the name?",
                hint=f"say header={narrow[0].line} or header={narrow[1].line}, the row with the name",
            )
    table = narrow[above:]
    start = table[0].line
    below = units if units is not None else header != 0 and layout.has_units(table, where, "row")
    if below and header == 0:
        raise ParameterError(f"{where} has no names, so no units below them.", hint="leave units out")
    if above and header is None:
        layout.say_skipped(where, start, start - 1, "row")
    if below and units is None:
        layout.say_units(where, table[1].line, "row")
    skipped = table[1].line - start if below and len(table) > 1 else 0
    return replace(sheet, header=0 if header == 0 else start, units=bool(below)), start, skipped


def _names(cells: Sequence[str], batch: pa.RecordBatch, where: str) -> list[str | None]:
    """The names in their row; None for a column that is empty throughout.

    Nothing of the row is quoted unless it holds names: without a header it is somebody's data.
    """
    if all(layout.is_quantity(cell) for cell in cells if cell):
        raise DataError(
            f"{where} has no column names in its first row.",
            hint="put a header row on top, or say header=N (the row with the names), or header=0 (none)",
        )
    names = [cell or None for cell in cells]
    if len(names) < batch.num_columns:  # wider below than in its first row
        names += [None] * (batch.num_columns - len(names))
    nameless = [
        _letters(i)
        for i, name in enumerate(names)
        if name is None and i < batch.num_columns and batch.column(i).null_count < batch.num_rows
    ]
    given = [n for n in names if n is not None]
    repeated = sorted({n for n in given if given.count(n) > 1})
    faults = [f"column {listed(nameless)} has values but no name"] if nameless else []
    faults += [f"names repeat: {listed([repr(n) for n in repeated])}"] if repeated else []
    if faults:
        raise DataError(
            f"{where}: {'; '.join(faults)}.",
            hint="correct the header row, or say header=N, the row with the names",
        )
    return names


def _tell_remarks(batch: pa.RecordBatch, where: str) -> None:
    """Rows at the end with one filled cell, in a table of several columns, may be remarks and no data."""
    if batch.num_columns < 3 or batch.num_rows < 3:
        return
    tail = batch.slice(max(0, batch.num_rows - 20))
    filled = [sum(column[k].is_valid for column in tail.columns) for k in range(tail.num_rows)]
    count = 0
    while count < len(filled) and filled[-1 - count] <= 1:
        count += 1
    if 0 < count < len(filled):
        rows = "the last row has" if count == 1 else f"the last {count} rows have"
        warnings.warn(
            f"{where}: {rows} at most 1 filled cell. If that is a remark below the table, take it away.",
            SfumatoWarning,
            stacklevel=5,
        )


def _letters(position: int) -> str:
    """Column 0 is A, 26 is AA."""
    text = ""
    position += 1
    while position:
        position, rest = divmod(position - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def _tell_errors(errors: fastexcel.CellErrors, names: Sequence[str], where: str) -> None:
    counts: dict[int, int] = {}
    for error in errors.errors:
        counts[error.position[1]] = counts.get(error.position[1], 0) + 1
    columns = [f"{names[i]!r} ({n})" if i < len(names) else _letters(i) for i, n in sorted(counts.items())]
    warnings.warn(
        f"{where}: cells with a formula error are read as missing: {listed(columns)}.",
        SfumatoWarning,
        stacklevel=5,
    )


def _typed(array: pa.Array) -> pa.Array:
    """The narrowest type that keeps every cell: a sheet knows numbers and instants only."""
    type_ = array.type
    if pa.types.is_null(type_):
        return array.cast(pa.string())
    if pa.types.is_floating(type_):
        finite = pc.fill_null(pc.is_finite(array), True)
        small = pc.fill_null(pc.less_equal(pc.abs(array), float(_EXACT)), True)
        whole = pc.fill_null(pc.equal(array, pc.trunc(array)), True)
        fits = pc.all(pc.and_(finite, pc.and_(small, whole))).as_py()
        return array.cast(pa.int64()) if fits is not False else array
    if pa.types.is_timestamp(type_):
        days = array.cast(pa.date32(), safe=False)
        midnights = pc.all(pc.equal(days.cast(type_), array)).as_py()
        return days if midnights is not False else array.cast(pa.timestamp("us"))
    return array


# -- writing -------------------------------------------------------------------------------------


def write_sheet(chunks: Iterator[pa.Table], names: Sequence[str], draft: Path) -> None:
    """Write tables of the same columns to one sheet, row by row; text is never run as a formula."""
    try:
        import xlsxwriter
        from xlsxwriter.exceptions import FileCreateError
    except ImportError:
        raise MissingExtraError("Writing Excel files", "excel") from None
    if len(names) > MOST_COLUMNS:
        raise OutputError(f"a sheet holds at most {MOST_COLUMNS} columns.", hint="write .parquet or .csv")
    # Helper files go beside the draft: person-level cells have no business in a shared /tmp.
    settings = {"constant_memory": True, "tmpdir": str(draft.parent)}
    book = xlsxwriter.Workbook(str(draft), settings)
    try:
        book.set_properties({"created": dt.datetime(2000, 1, 1)})  # no clock: the same bytes each time
        sheet = book.add_worksheet("data")
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        instant = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        for j, name in enumerate(names):
            sheet.write_string(0, j, name)
        row = written = 1
        for chunk in chunks:
            if row + chunk.num_rows > MOST_ROWS + 1:
                raise OutputError(
                    f"a sheet holds at most {MOST_ROWS} rows.", hint="write .parquet or .csv instead"
                )
            for cells in zip(*(_cells(column, name) for column, name in zip(chunk, names, strict=True)),
                             strict=True):  # fmt: skip
                for j, cell in enumerate(cells):
                    if cell is not None and _put(sheet, row, j, cell, day, instant) < 0:
                        raise OutputError(
                            f"column {names[j]!r}: a text is longer than a cell may be.", hint="write .csv"
                        )
                row += 1
                written = row if any(map(_visible, cells)) else written
        if written < row:  # no sheet says where it ends but by its last cell
            empty = row - written
            raise OutputError(
                f"the last {empty} rows are empty, and a sheet ends with its last cell.",
                hint="write .parquet or .csv, or drop the empty rows",
            )
        book.close()
    except FileCreateError as error:
        raise error.args[0] from None  # the system's own error, which tells a full disk from a locked one
    finally:
        book.fileclosed = True  # or its destructor would try once more
        for page in book.worksheets():
            if page.row_data_fh is not None:  # the rows so far, which only a whole book lets go of
                page.row_data_fh.close()


def _cells(column: pa.ChunkedArray, name: str) -> list[Any]:
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        text = column.cast(pa.timestamp("us", "UTC")).cast(pa.string())  # a sheet knows no time zones
        return list(pc.replace_substring(text, " ", "T", max_replacements=1).to_pylist())
    if pa.types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py():
        raise OutputError(f"column {name!r} holds infinite numbers.", hint="write .parquet, or clamp them")
    return list(column.to_pylist())


def _visible(cell: object) -> bool:
    """Whether a cell is there for whoever reads the sheet."""
    return cell is not None and cell == cell and (not isinstance(cell, str) or cell.strip() != "")


def _put(sheet: Worksheet, row: int, column: int, cell: Value, day: Format, instant: Format) -> int:
    """Write a cell by its type; what a sheet cannot hold exactly is written as text."""
    if isinstance(cell, str):
        return int(sheet.write_string(row, column, cell))
    if isinstance(cell, bool):
        return int(sheet.write_boolean(row, column, cell))
    if isinstance(cell, dt.date):
        if cell.year < 1900:
            return int(sheet.write_string(row, column, cell.isoformat()))
        how = instant if isinstance(cell, dt.datetime) else day
        return int(sheet.write_datetime(row, column, cell, how))
    if isinstance(cell, int) and abs(cell) >= _DIGITS:
        return int(sheet.write_string(row, column, str(cell)))
    if isinstance(cell, float) and math.isnan(cell):
        return 0
    return int(sheet.write_number(row, column, cell))
