"""A hundred files as people have them, each with what must come of it: read right, or refused with a hint.

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
    Nasty("marks for thousands as in Switzerland", text("id;cost\n1;1'234.50\n2;12'000.00\n3;950.25\n"),
          {"id": [1, 2, 3], "cost": ["1'234.50", "12'000.00", "950.25"]}),
    Nasty("narrow spaces in numbers, as in France", text("id;cout\n1;1\u202f234,50\n2;12\u202f000,00\n"),
          {"id": [1, 2], "cout": ["1\u202f234,50", "12\u202f000,00"]}),
    Nasty("Japanese in Shift-JIS", text("氏名,年齢\n山田太郎,34\n鈴木花子,41\n", encoding="shift_jis"),
          refused="not cp1252 text", hint="shift_jis"),
    Nasty("Chinese in GB18030", text("姓名,年龄\n张伟,34\n王芳,41\n", encoding="gb18030"),
          refused="not UTF-8", hint="gb18030"),
    Nasty("Chinese in GB18030, and said so", text("姓名,年龄\n张伟,34\n王芳,41\n", encoding="gb18030"),
          {"姓名": ["张伟", "王芳"], "年龄": [34, 41]}, options={"encoding": "gb18030"}),
    Nasty("years of Japanese eras", text("id,birth\n1,S55.3.1\n2,H02.11.30\n3,R01.05.02\n"),
          {"id": [1, 2, 3], "birth": ["S55.3.1", "H02.11.30", "R01.05.02"]}),
    Nasty("years of the Buddhist calendar", text("id,visit\n1,15/03/2563\n2,28/11/2564\n"),
          {"id": [1, 2], "visit": [dt.date(2563, 3, 15), dt.date(2564, 11, 28)]}, ("Buddhist",)),
    Nasty("negative numbers in brackets", text("id,balance\n1,80.00\n2,(120.50)\n3,(3.10)\n"),
          {"id": [1, 2, 3], "balance": ["80.00", "(120.50)", "(3.10)"]}),
    Nasty("a line end of Windows in a cell", raw(b'id,note\r\n1,"a\r\nb"\r\n2,c\r\n'),
          {"id": [1, 2], "note": ["a\r\nb", "c"]}),
    Nasty("separators at the end, units and a footnote",
          text("id,age,sex,\n,years,,\n1,34,f,\n2,41,m,\n* preliminary\n"), refused="no name above column 4",
          hint="a separator at the end"),
    Nasty("a byte of zeros among tabs", raw(b"id\tage\n1\t34\x00\n2\t41\n", "data.txt"), refused="binary",
          hint="utf-16-le"),
    Nasty("NA for Namibia", text("id,country\n1,NA\n2,DE\n3,ZA\n"),
          {"id": [1, 2, 3], "country": ["NA", "DE", "ZA"]}),
    Nasty("yes in three languages", text("id,smoker\n1,TRUE\n2,1\n3,ja\n4,no\n"),
          {"id": [1, 2, 3, 4], "smoker": ["TRUE", "1", "ja", "no"]}),
    Nasty("numbers of people with zeros before them", text("id,age\n007,34\n012,41\n100,50\n"),
          {"id": ["007", "012", "100"], "age": [34, 41, 50]}),
    Nasty("two files put together, with both headers", text(PEOPLE + PEOPLE), refused="names stand again",
          hint="take the lines with the names away"),
    Nasty("the same, with two byte order marks", raw(PEOPLE.encode("utf-8-sig") * 2),
          refused="names stand again", hint="take the lines with the names away"),
    Nasty("two lines of names", text("patient,,lab,\nid,age,sodium,glucose\n1,34,140,5.1\n2,41,138,6.0\n"),
          refused="line 2 holds words", hint="header=2"),
    Nasty("columns under each other, by spaces",
          text("  id  age sex\n   1   34   f\n   2   41   m\n", "data.txt"),
          refused="divided by spaces", hint="read_fwf"),
    Nasty("letters for missing, as in SAS", text("id,income\n1,34000\n2,.A\n3,.\n4,41000\n"),
          {"id": [1, 2, 3, 4], "income": ["34000", ".A", ".", "41000"]}),
    Nasty("codes for missing, as in SPSS", text("id,q1\n1,3\n2,99\n3,98\n4,2\n"),
          {"id": [1, 2, 3, 4], "q1": [3, 99, 98, 2]}),
    Nasty("numbers of twenty digits", text("id,v\n12345678901234567890,1\n12345678901234567891,2\n"),
          {"id": ["12345678901234567890", "12345678901234567891"], "v": [1, 2]}),
    Nasty("long numbers that a spreadsheet has cut", text("id,v\n1.23457E+15,1\n1.23458E+15,2\n"),
          {"id": [1.23457e15, 1.23458e15], "v": [1, 2]}, ("last digits are lost",)),
    Nasty("errors of a spreadsheet", text("id,bmi\n1,#DIV/0!\n2,22.1\n"),
          {"id": [1, 2], "bmi": ["#DIV/0!", "22.1"]}),
    Nasty("quotes marked by a backslash", text('id,note\n1,"a \\"b\\" c"\n2,d\n'), refused="with a backslash",
          hint="write such a quote twice"),
    Nasty("days that are none", text("id,d\n1,0000-00-00\n2,2020-01-02\n"),
          {"id": [1, 2], "d": ["0000-00-00", "2020-01-02"]}),
    Nasty("digits of Arabic", text("id,age\n1,٣٤\n2,٤١\n"), {"id": [1, 2], "age": ["٣٤", "٤١"]}),
    Nasty("a row that is too short", text("id,age,sex\n1,34,f\n2,41\n3,50,f\n"),
          refused="1 row has not 3 cells", hint="quote cells"),
    Nasty("line ends of an old Mac", raw(b"id,age\r1,34\r2,41\r"), {"id": [1, 2], "age": [34, 41]}),
    Nasty("days with a dot behind them, as in Croatia", text("id;datum\n1;31.12.1980.\n2;01.02.1975.\n"),
          {"id": [1, 2], "datum": [dt.date(1980, 12, 31), dt.date(1975, 2, 1)]}),
    Nasty("days with dots and spaces, as in Hungary",
          text("id;nap\n1;1980. 12. 31.\n2;1975. 02. 01.\n3;1999. 07. 15.\n"),
          {"id": [1, 2, 3], "nap": [dt.date(1980, 12, 31), dt.date(1975, 2, 1), dt.date(1999, 7, 15)]}),
    Nasty("days with spaces, as in Czechia", text("id;den\n1;31. 12. 1980\n2;1. 2. 1975\n3;15. 7. 1999\n"),
          {"id": [1, 2, 3], "den": [dt.date(1980, 12, 31), dt.date(1975, 2, 1), dt.date(1999, 7, 15)]}),
    Nasty("lakhs and crores, as in India",
          text('id,amount\n1,"1,23,456.50"\n2,"22,25,000.00"\n3,"3,000.00"\n'),
          {"id": [1, 2, 3], "amount": ["1,23,456.50", "22,25,000.00", "3,000.00"]}),
    Nasty("days in Chinese signs", text("id,入院日\n1,2021年12月31日\n2,2021年2月1日\n"),
          {"id": [1, 2], "入院日": ["2021年12月31日", "2021年2月1日"]}),
    Nasty("months by their names, in Spanish", text("id;fecha\n1;31-dic-1980\n2;01-feb-1975\n"),
          {"id": [1, 2], "fecha": ["31-dic-1980", "01-feb-1975"]}),
    Nasty("years of the Persian calendar", text("id,visit\n1,1399/10/10\n2,1400/11/12\n"),
          {"id": [1, 2], "visit": [dt.date(1399, 10, 10), dt.date(1400, 11, 12)]},
          ("of the Persian or the Islamic calendar",)),
    Nasty("Korean in CP949", text("번호,성별,나이\n1,남,34\n2,여,41\n", encoding="cp949"),
          refused="make no words", hint="euc_kr"),
    Nasty("Chinese in Big5", text("編號,性別,年齡\n1,男,34\n2,女,41\n", encoding="big5"),
          refused="make no words", hint="big5"),
    Nasty("Thai in CP874", text("hn,เพศ\n1,ชาย\n2,หญิง\n", encoding="cp874"),
          refused="make no words", hint="cp874"),
    Nasty("Arabic in Windows-1256", text("الرقم,الجنس\n1,ذكر\n2,أنثى\n", encoding="cp1256"),
          refused="make no words", hint="cp1256"),
    Nasty("Turkish in Windows-1254", text("sıra;doğum\n1;Muğla\n2;Iğdır\n", encoding="cp1254"),
          {"sýra": [1, 2], "doðum": ["Muðla", "Iðdýr"]}, ("if they are Turkish, 'cp1254'",)),
    Nasty("Arabic semicolons", text("الرقم؛العمر\n1؛34\n2؛41\n"), refused="as many '؛'",
          hint="write commas"),
    Nasty("wards that look like powers of ten", text("id,ward\n1,1E1\n2,2E3\n3,3E2\n"),
          {"id": [1, 2, 3], "ward": ["1E1", "2E3", "3E2"]}),
    Nasty("points for thousands, between semicolons", text("id;cost\n1;1.234\n2;2.500\n3;12.000\n"),
          {"id": [1, 2, 3], "cost": [1.234, 2.5, 12.0]}, ("points for thousands",)),
    Nasty("the same, and said so", text("id;cost\n1;1.234\n2;2.500\n3;12.000\n"),
          {"id": [1, 2, 3], "cost": ["1.234", "2.500", "12.000"]}, options={"decimal": ","}),
    Nasty("points for thousands and decimal commas", text("id;kosten;bmi\n1;1.234;22,5\n2;12.000;23,1\n"),
          {"id": [1, 2], "kosten": ["1.234", "12.000"], "bmi": [22.5, 23.1]}),
    Nasty("versions that look like numbers", text("id,code\n1,1.10\n2,1.1\n3,1.9\n"),
          {"id": [1, 2, 3], "code": [1.1, 1.1, 1.9]}, ("in two ways",)),
    Nasty("each line in quotes", text('"id,age,sex"\n"1,34,f"\n"2,41,m"\n'), refused="stands in quotes",
          hint="take the quotes"),
    Nasty("cells divided by a sign that nobody sees, as in Hive", text(PEOPLE.replace(",", "\x01")),
          refused="as many '\\x01'", hint="write commas"),
    Nasty("lines of JSON under the name .csv", text('{"id":1,"age":34}\n{"id":2,"age":41}\n'),
          refused="holds JSON", hint="pandas.read_json"),
    Nasty("a page of a login under the name .csv", text("<!DOCTYPE html>\n<p>Log in, please\n"),
          refused="a web page", hint="save it as .csv"),
    Nasty("a sign without width in a name", text(PEOPLE.replace("age", "age\u200b")), READ),
    Nasty("line ends of two systems", raw(PEOPLE.replace("\n", "\r\n", 2).encode()), READ),
    Nasty("people called Inf", text("id,surname\n1,Inf\n2,Smith\n3,Infante\n"),
          {"id": [1, 2, 3], "surname": ["Inf", "Smith", "Infante"]}),
    Nasty("a minus behind the number, as in SAP", text("id,v\n1,12.50-\n2,3.10\n3,7.00-\n"),
          {"id": [1, 2, 3], "v": ["12.50-", "3.10", "7.00-"]}),
    Nasty("years and months among days", text("id,d\n1,2020\n2,2020-05\n3,2020-05-06\n"),
          {"id": [1, 2, 3], "d": ["2020", "2020-05", "2020-05-06"]}),
    Nasty("names of rows without a name, as R writes them", text("age,sex\n1,34,f\n2,41,m\n3,50,f\n"),
          refused="not 2 cells", hint="quote cells"),
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
