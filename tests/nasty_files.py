"""Forty files as people have them, each with what must come of it: read right, or refused with a hint.

`Nasty.write` puts the file into a folder and gives its path. `gives`: what is read. `says`: a part of each
warning, all of them. `refused`: a part of the error; `hint`: a part of its hint. The table in docs/files.md
is made of `table()`.
"""

from __future__ import annotations

import datetime as dt
import gzip
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

PEOPLE = "id,age,sex\n1,34,f\n2,41,m\n3,50,f\n"
READ = {"id": [1, 2, 3], "age": [34, 41, 50], "sex": ["f", "m", "f"]}
NAMES = ["Müller", "Weiß", "Jörg"]


@dataclass(frozen=True)
class Nasty:
    """One file, and what must come of it."""

    what: str
    write: Callable[[Path], Path]
    gives: dict[str, list[Any]] = field(default_factory=dict)
    says: tuple[str, ...] = ()
    refused: str = ""
    hint: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    needs: str = ""

    @property
    def comes(self) -> str:
        """What comes of it, in words."""
        if self.refused:
            return f"refused: {self.hint}"
        return "read, and said" if self.says else "read"


def text(content: str, name: str = "data.csv", encoding: str = "utf-8") -> Callable[[Path], Path]:
    """A text file."""
    return raw(content.encode(encoding), name)


def raw(content: bytes, name: str = "data.csv") -> Callable[[Path], Path]:
    """A file of these bytes."""

    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


def _zip(*members: tuple[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def _hive(folder: Path) -> Path:
    for year, rows in ((2020, [1, 2]), (2021, [3])):
        part = folder / "visits" / f"year={year}" / "ward=North%20A"
        part.mkdir(parents=True)
        pq.write_table(pa.table({"id": rows}), part / "part-0.parquet")
        (part / "_SUCCESS").touch()
    return folder / "visits"


def _hive_text(folder: Path) -> Path:
    for month in ("01", "02"):
        part = folder / "visits" / f"month={month}"
        part.mkdir(parents=True)
        (part / "rows.csv").write_text("id,age\n1,34\n2,41\n")
    return folder / "visits"


def _hive_twice(folder: Path) -> Path:
    part = folder / "visits" / "id=7"
    part.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1, 2]}), part / "part-0.parquet")
    return folder / "visits"


def _sheet(rows: list[list[Any]], merged: str = "") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        import xlsxwriter

        book = xlsxwriter.Workbook(str(folder / "data.xlsx"))
        sheet = book.add_worksheet("data")
        if merged:
            sheet.merge_range(merged, "")
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                if cell is not None:
                    sheet.write(i, j, cell)
        book.close()
        return folder / "data.xlsx"

    return write


def _days(*cells: str) -> str:
    return "id;day\n" + "".join(f"{k};{cell}\n" for k, cell in enumerate(cells))


_WIDE = ",".join(f"v{k}" for k in range(300)) + "\n" + (",".join(map(str, range(300))) + "\n") * 3
_DE = "name;cost;day\nMüller;1,5;31.12.2020\nWeiß;22,25;01.02.2021\nJörg;3;02.02.2021\n"
_COST = {"name": NAMES, "cost": [1.5, 22.25, 3.0]}
_COST["day"] = [dt.date(2020, 12, 31), dt.date(2021, 2, 1), dt.date(2021, 2, 2)]
_SHEET = [["id", "age", "sex"], [1, 34, "f"], [2, 41, "m"], [3, 50, "f"]]

NASTY = (
    Nasty("UTF-8 with a byte order mark", text(PEOPLE, encoding="utf-8-sig"), READ),
    Nasty("UTF-16, as Excel's \"Unicode text\"", text(PEOPLE.replace(",", "\t"), "data.txt", "utf-16"), READ),
    Nasty("UTF-16 without a mark", text(PEOPLE, encoding="utf-16-le"), refused="binary",
          hint="encoding='utf-16-le'"),
    Nasty("Windows-1252, semicolons, decimal commas", text(_DE, encoding="cp1252"), _COST,
          ("read as cp1252",)),
    Nasty("Cyrillic in Windows-1251", text("имя,age\nИванов,34\nПетров,41\n", encoding="cp1251"),
          refused="not UTF-8", hint="encoding='...'"),
    Nasty("Polish in Windows-1250",
          text("imię,age\nŁukasz Wiśniewski,34\nGrażyna Żółć,41\n", encoding="cp1250"),
          refused="not UTF-8", hint="encoding='...'"),
    Nasty("an old Mac's accents", text(_DE, encoding="mac_roman"), refused="not UTF-8",
          hint="encoding='...'"),
    Nasty("line ends of Windows", text(PEOPLE.replace("\n", "\r\n")), READ),
    Nasty("tabs in a .txt file", text(PEOPLE.replace(",", "\t"), "data.txt"), READ),
    Nasty("bars, and commas in the cells", text("id|note\n1|a, b\n2|c, d\n"),
          {"id": [1, 2], "note": ["a, b", "c, d"]}),
    Nasty("Excel's line sep=;", text("sep=;\n" + PEOPLE.replace(",", ";")), READ),
    Nasty("a separator at the end of each line", text(PEOPLE.replace("\n", ",\n")), READ),
    Nasty("empty columns at the end, as Excel saves them", text(PEOPLE.replace("\n", ",,,\n")), READ),
    Nasty("comments above the names", text("# exported 2020-01-01, by ward 3\n#\n" + PEOPLE), READ,
          ("names are taken from line 3",)),
    Nasty("a title and an empty line", text("Visits of 2020\n\n" + PEOPLE), READ, ("from line 3",)),
    Nasty("a title padded with commas", text("Visits of 2020,,\n,,\n" + PEOPLE), READ, ("from line 3",)),
    Nasty("a title of one word above text", text("Report\nname,town\nBob,Ulm\nAnn,Bonn\n"),
          refused="names below a title", hint="header=2"),
    Nasty("a title as wide as the table", text("Report,2020,x\n" + PEOPLE), refused="line 2 holds words",
          hint="header=2"),
    Nasty("a row of units", text(PEOPLE.replace("\n", "\n,years,\n", 1)), READ, ("it holds units",)),
    Nasty("a row of questions below the names", text("q1,q2\nHow old?,How tall?\n34,170\n41,180\n"),
          refused="line 2 holds words", hint="units=True"),
    Nasty("a remark below the table", text(PEOPLE + "Source: the ward\n"), refused="1 row has not 3 cells",
          hint="lines below the table"),
    Nasty("no names", text("1,34,f\n2,41,m\n"),
          {"column_1": [1, 2], "column_2": [34, 41], "column_3": ["f", "m"]}, ("no header",)),
    Nasty("one column with decimal commas", text("wert\n1,5\n2,5\n"), {"wert": [1.5, 2.5]}),
    Nasty("names twice", text("id,age,age\n1,2,3\n"), refused="names that repeat",
          hint="name every column once"),
    Nasty("300 columns", text(_WIDE), {f"v{k}": [k] * 3 for k in range(300)}),
    Nasty("numbers and words in a column", text("id,age\n1,34\n2,unknown\n3,41\n"),
          {"id": [1, 2, 3], "age": ["34", "unknown", "41"]}),
    Nasty("leading zeros", text("id,zip\n1,01234\n2,90210\n"), {"id": [1, 2], "zip": ["01234", "90210"]}),
    Nasty("days before months", text(_days("31/12/2020", "01/02/2021")),
          {"id": [0, 1], "day": [dt.date(2020, 12, 31), dt.date(2021, 2, 1)]}),
    Nasty("months before days", text(_days("12/31/2020", "01/02/2021")),
          {"id": [0, 1], "day": [dt.date(2020, 12, 31), dt.date(2021, 1, 2)]}),
    Nasty("years first", text(_days("2020-12-31", "2021-01-02")),
          {"id": [0, 1], "day": [dt.date(2020, 12, 31), dt.date(2021, 1, 2)]}),
    Nasty("dates that may be either", text(_days("01/02/2021", "03/04/2021")),
          {"id": [0, 1], "day": [dt.date(2021, 2, 1), dt.date(2021, 4, 3)]}, ("day first or month first",)),
    Nasty("two orders of dates in one file", text("a;b\n31/12/2020;12/31/2020\n01/02/2021;02/01/2021\n"),
          {"a": [dt.date(2020, 12, 31), dt.date(2021, 2, 1)], "b": ["12/31/2020", "02/01/2021"]},
          ("day first in some columns",)),
    Nasty("a quote that never closes", text('id,note\n1,"a\n2,b\n3,c\n'), refused="never closes",
          hint="close the quote"),
    Nasty("quotes, separators and line breaks in cells", text('id,note\n1,"a ""b"", c\nd"\n2,x\n'),
          {"id": [1, 2], "note": ['a "b", c\nd', "x"]}),
    Nasty("gzip under the name .csv", raw(gzip.compress(PEOPLE.encode())), READ),
    Nasty("a zipped CSV, packed on a Mac",
          raw(_zip(("data.csv", PEOPLE), ("__MACOSX/._data.csv", "x")), "data.zip"), READ),
    Nasty("a zip of several files", raw(_zip(("a.csv", PEOPLE), ("b.csv", PEOPLE)), "data.zip"),
          refused="2 files", hint="unzip"),
    Nasty("a workbook under the name .csv", raw(_zip(("xl/workbook.xml", "<x/>"))), refused="Excel workbook",
          hint="its own suffix"),
    Nasty("Hive folders", _hive, {"id": [1, 2, 3], "year": [2020, 2020, 2021], "ward": ["North A"] * 3}),
    Nasty("Hive folders of CSV files, months with zeros", _hive_text,
          {"id": [1, 2, 1, 2], "age": [34, 41, 34, 41], "month": ["01", "01", "02", "02"]}),
    Nasty("Hive folders that repeat a column", _hive_twice,
          refused="a column of the files and a name of their", hint="rename the folders"),
    Nasty("a sheet with a merged title", _sheet([["Visits of 2020", None, None], *_SHEET], "A1:C1"), READ,
          ("from row 2",), needs="xlsxwriter"),
    Nasty("a sheet with merged cells in the table", _sheet(_SHEET, "A2:A3"),
          refused="merged cells in its table", hint="unmerge", needs="xlsxwriter"),
    Nasty("a sheet with a row of units", _sheet([_SHEET[0], [None, "years", None], *_SHEET[1:]]), READ,
          ("it holds units",), needs="xlsxwriter"),
    Nasty("JSON", raw(b"[]", "data.json"), refused="unknown kind of file", hint="read_json('data.json')"),
)  # fmt: skip


def table() -> str:
    """The table of docs/files.md."""
    lines = ["| file | what comes of it |", "|---|---|"]
    rows = [
        *((n.what, n.comes) for n in NASTY),
        ("a gigabyte of rows (`make soak`)", "read; memory does not grow with the file"),
    ]
    return "\n".join([*lines, *(f"| {what} | {comes} |" for what, comes in rows)]) + "\n"
