"""A sum or a note below a table would be read as a person: it is refused, with what to do."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from sfumato.errors import DataError
from sfumato.io import scan

ROWS = [f"{i},{'f' if i % 2 else 'm'},{20 + i % 60},{100 + i}" for i in range(1, 60)]
NAMES = "id,sex,age,cost"


def written(folder: Path, *last: str, rows: list[str] = ROWS, names: str = NAMES) -> Path:
    path = folder / "data.csv"
    path.write_text("\n".join([names, *rows, *last]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "last",
    [
        "Total,,,9440", "TOTAL,,2900,9440", ",,Summe,9440", "Gesamt,,,9440", "Totaal,,,1", "Grand total,,,1",
        "Source: regional register of 2020,,,", "Quelle: Statistik,,,", "# exported on 2024-01-31,,,",
        "* provisional figures,,,", "59 rows selected,,,", "Data are provisional and may change,,,",
    ],
)  # fmt: skip
def test_a_sum_or_a_note_is_refused(tmp_path: Path, last: str) -> None:
    for path in (written(tmp_path, last), written(tmp_path, "", last)):
        with pytest.raises(DataError, match="below the table") as caught:
            scan(path)
        assert "head -n -1" in (caught.value.hint or "")
        assert last.split(",")[0] not in str(caught.value) or last.startswith(",")


def test_a_packed_file_is_looked_at_too(tmp_path: Path) -> None:
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(written(tmp_path, "Total,,,9440").read_bytes()))
    with pytest.raises(DataError, match="below the table"):
        scan(path)


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([*ROWS, "60,,,"], NAMES),  # a person of whom nothing is known
        ([f"ward {i} of the house,{i}" for i in range(30)] + ["ward 31 of the house,"], "ward,n"),
        ([f"total,{i}" for i in range(30)], "what,n"),
        (["New York State,1", "Ohio,2", "Rhode Island and Providence,3"], "state,n"),
        (["note: a,1", "note: b,2", "note: c,"], "text,n"),
        (["a", "b", "Total"], "word"),
    ],
)
def test_rows_are_no_footers(tmp_path: Path, rows: list[str], names: str) -> None:
    assert scan(written(tmp_path, rows=rows, names=names), separator=",").rows() == len(rows)


def test_a_sheet(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("fastexcel")
    book = openpyxl.Workbook()
    for line in (NAMES, *ROWS, "Total,,,9440"):
        book.active.append([None if c == "" else int(c) if c.isdigit() else c for c in line.split(",")])
    book.save(tmp_path / "data.xlsx")
    with pytest.raises(DataError, match="the last row looks like a sum"):
        scan(tmp_path / "data.xlsx")
