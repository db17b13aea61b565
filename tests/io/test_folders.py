"""Folders of part files, names of folders as columns, archives, file://, and what is not read."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.errors import DataError, SfumatoWarning
from sfumato.io import scan
from sfumato.io.conversions import conversion

BODY = "id,age\n1,34\n2,41\n"


def parquet(path: Path, **columns: list) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def rows(data: object, **options: object) -> dict:
    return scan(data, **options).to_arrow().to_pydict()


@pytest.fixture
def hive(tmp_path: Path) -> Path:
    for year, part, ids in ((2020, "a", [1, 2]), (2021, "__HIVE_DEFAULT_PARTITION__", [3])):
        parquet(tmp_path / "t" / f"year={year}" / f"ward={part}" / "0.parquet", id=ids, sex=["f"] * len(ids))
    return tmp_path / "t"


def test_names_of_folders_are_columns(hive: Path) -> None:
    want = {"id": [1, 2, 3], "sex": ["f"] * 3, "year": [2020, 2020, 2021], "ward": ["a", "a", None]}
    assert rows(hive) == want == rows(f"{hive}/**/*.parquet") == rows(f"{hive}/*/*/*.parquet")
    table = scan(hive)
    assert table.rows() == 3 and table.counts("year").total == 3
    assert rows(hive, columns=["ward", "id"]) == {
        "ward": want["ward"],
        "id": want["id"],
    }
    assert rows(f"{hive}/year=2020/*/*.parquet") == {"id": [1, 2], "sex": ["f", "f"], "ward": ["a", "a"]}


def test_files_named_one_by_one_lose_their_folders_with_a_word(hive: Path) -> None:
    files = sorted(hive.rglob("*.parquet"))
    with pytest.warns(SfumatoWarning, match="whose names are not read"):
        assert list(rows(files)) == ["id", "sex"]
    assert list(rows(files[0])) == ["id", "sex"]


def test_folders_that_do_not_fit_are_refused(hive: Path, tmp_path: Path) -> None:
    parquet(hive / "other=1" / "0.parquet", id=[9], sex=["m"])
    with pytest.raises(DataError, match="do not name the same columns"):
        scan(hive)
    parquet(tmp_path / "both" / "0.parquet", id=[1])
    parquet(tmp_path / "both" / "year=1" / "0.parquet", id=[1])
    with pytest.raises(DataError, match="holds files and folders"):
        scan(tmp_path / "both")
    parquet(tmp_path / "deep" / "x" / "0.parquet", id=[1])
    with pytest.raises(DataError, match="but in folders of its own"):
        scan(tmp_path / "deep")
    parquet(tmp_path / "twice" / "a=1" / "a=2" / "0.parquet", id=[1])
    with pytest.raises(DataError, match="name the same column"):
        scan(tmp_path / "twice")


def test_a_folder_of_text_files(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in ("b.csv", "a.csv", "_SUCCESS", ".hidden.csv"):
        (folder / name).write_text(BODY if name.endswith("csv") else "")
    assert rows(folder)["id"] == [1, 2, 1, 2]
    (folder / "c.parquet").write_bytes(b"")
    with pytest.raises(DataError, match="2 formats"):
        scan(folder)


def test_a_file_address_is_a_path(tmp_path: Path) -> None:
    path = tmp_path / "a b.csv"
    path.write_text(BODY)
    address = path.as_uri()
    assert "%20" in address and rows(address) == rows(path) == rows(
        f"file://localhost{path}".replace(" ", "%20")
    )
    with pytest.raises(DataError, match="another machine"):
        scan("file://elsewhere/data.csv")


def test_ledgers_note_a_file_address_as_its_path(tmp_path: Path) -> None:
    from sfumato.io.addresses import noted

    assert noted(f"file://{tmp_path}/x.csv") == noted(f"{tmp_path}/x.csv")


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({}, "no file"),
        ({"a.csv": BODY, "b.csv": BODY}, "2 files"),
        ({"a.parquet": "PAR1"}, "no text table"),
        ({"a.csv": ""}, "is empty"),
    ],
)
def test_archives_that_are_refused(tmp_path: Path, members: dict[str, str], says: str) -> None:
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(DataError, match=says):
        scan(path)


def test_a_damaged_archive(tmp_path: Path) -> None:
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", BODY * 5_000)
    whole = path.read_bytes()
    path.write_bytes(whole[:60] + bytes(200) + whole[260:])
    with pytest.raises(DataError, match=r"damaged|to its end"):
        scan(path).to_arrow()
    path.write_bytes(whole[:100])
    with pytest.raises(DataError, match="damaged"):
        scan(path)


def test_a_ragged_row_in_an_archive_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", BODY + "3\n")
    with pytest.raises(DataError, match="line 4"):
        scan(path)


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("x.csv.bz2", "bunzip2 -k x.csv.bz2"), ("x.tar.gz", "tar -xf x.tar.gz"), ("x.rds", "readRDS"),
        ("my file.json", "FILE.parquet"), ("x.sqlite", "sqlite:///x.sqlite"), ("x.unheard", ""),
        ("x.mdb", "mdb-export x.mdb"), ("$(touch y).rds", 'readRDS("FILE")'),
    ],
)  # fmt: skip
def test_what_is_not_read_comes_with_a_command(tmp_path: Path, name: str, command: str) -> None:
    assert (command in conversion(name)) if command else conversion(name) == ""
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(DataError, match="unknown kind of file") as caught:
        scan(tmp_path / name)
    assert (command or "known suffixes") in (caught.value.hint or "")
