"""Keys and links: found with reasons, declared, checked with every difference, and whose row it is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from linked import in_engine, saved, tables, written

import sfumato as sf
from sfumato.database import drawn, drawn_svg
from sfumato.io.declarations import database_toml

ENGINES = ("arrow", "pandas", "polars", "duckdb")


def owners(database: sf.Database, table: str, column: str) -> Counter[tuple[Any, Any]]:
    """(person, value) of every row of a table."""
    people = database.people
    assert people.ids is not None
    ids = people.ids.ids.to_pylist()
    found: Counter[tuple[Any, Any]] = Counter()
    for batch, numbers in people.batches(table, [column]):
        found.update(zip((ids[n] for n in numbers), batch.column(0).to_pylist(), strict=True))
    return found


EXPECTED = Counter(
    {("a", "4019"): 2, ("a", "25000"): 1, ("b", "4019"): 1, ("c", "25000"): 1, ("c", "486"): 1}
)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_table_reaches_its_person(engine: str) -> None:
    db = sf.scan_database(in_engine(tables(), engine))
    assert {str(k) for k in db.links} == {
        "stays.patient_id -> patients.patient_id",
        "diagnoses.stay_id -> stays.stay_id",
    }
    assert db.root == "patients" and db.people.count == 3
    assert owners(db, "diagnoses", "code") == EXPECTED
    assert db["stays"].schema["stay_id"].role is sf.Role.IDENTIFIER  # it repeats below, and is no person


def test_every_table_reaches_its_person_on_spark(spark: Any) -> None:
    db = sf.scan_database(in_engine(tables(), "spark", spark))
    assert owners(db, "diagnoses", "code") == EXPECTED


def test_links_have_reasons() -> None:
    db = sf.scan_database(tables())
    assert all("all its values are keys there" in k.reason for k in db.links)
    assert "every value occurs once" in db["patients"].schema["patient_id"].reason


def test_without_a_table_of_persons() -> None:
    rows = tables()
    del rows["patients"]
    db = sf.scan_database(rows)
    assert db.root == "stays" and db.person_column("stays") == "patient_id"
    assert owners(db, "diagnoses", "code") == EXPECTED


def test_a_person_column_in_every_table_is_compared() -> None:
    torn = tables(diagnoses={"patient_id": ["a", "a", "a", "b", "c", "a"]})
    with pytest.raises(
        sf.DataError, match=r"diagnoses: 1 row reach two persons, by 'patient_id' and 'stay_id'"
    ):
        sf.scan_database(torn)
    whole = sf.scan_database(tables(diagnoses={"patient_id": ["a", "a", "a", "b", "c", "c"]}))
    assert len(whole.parents("diagnoses")) == 2 and not whole.differences


def test_tables_without_persons_stand_apart() -> None:
    rows = tables(stays={"hospital_id": [7, 7, 8, 8]})
    rows["hospitals"] = pa.table({"hospital_id": [7, 8], "town": ["u", "v"]})
    db = sf.scan_database(rows)
    assert db.apart == db.unconfirmed == {"hospitals"} and "(no persons? unconfirmed)" in drawn(db)


def test_all_differences_are_listed_at_once() -> None:
    bad = tables(
        patients={"patient_id": ["a", "b", "b"]},
        stays={"patient_id": ["a", None, "z", "b"], "stay_id": [1, 2, 2, 4]},
        diagnoses={"stay_id": [1, 1, 2, 9, None, 4]},
    )
    links = [("stays.patient_id", "patients.patient_id"), ("diagnoses.stay_id", "stays.stay_id")]
    with pytest.raises(sf.DataError) as told:
        sf.scan_database(bad, links=links)
    message = str(told.value)
    for words in (
        "patients.patient_id: 1 key occurs more than once", "many-to-many", "stays.stay_id: 1 key occurs",
        "stays.patient_id: 1 row without a parent in 'patients'",
        "diagnoses.stay_id: 1 row without a parent in 'stays'",
    ):  # fmt: skip
        assert words in message
    assert "'z'" not in message


def test_rows_of_nobody_are_counted() -> None:
    with pytest.raises(sf.DataError, match=r"stays\.patient_id: 1 row of nobody"):
        sf.scan_database(tables(stays={"patient_id": ["a", None, "b", "c"]}))


@pytest.mark.parametrize(
    ("links", "words"),
    [
        ([("stays.patient", "patients.patient_id")], "table 'stays' has no column 'patient'"),
        ([("stay.patient_id", "patients.patient_id")], "no table 'stay'"),
        ([("stays.stay_id", "patients.patient_id")], "keys of different types"),
        (
            [("stays.patient_id", "patients.patient_id"), ("patients.patient_id", "stays.patient_id")],
            "links go round in a circle: patients, stays",
        ),
        (
            [("stays.patient_id", "patients.patient_id"), ("stays.patient_id", "diagnoses.code")],
            "stays.patient_id points to two parents",
        ),
    ],
)
def test_declared_links_are_checked(links: list[tuple[str, str]], words: str) -> None:
    read = {n: sf.scan(t) for n, t in tables().items()}
    with pytest.raises(sf.SchemaError, match=words):
        sf.Database(read, tuple(sf.Link.of(*k) for k in links))


def test_stays_before_birth_are_said_and_no_obstacle() -> None:
    day = np.array(["2000-01-02", "2000-01-01", "2001-01-01", "2001-01-01"], "datetime64[D]")
    rows = tables(
        patients={"birth_date": pa.array(np.array(["2000-01-02"] * 3, "datetime64[D]"))},
        stays={"admitted": pa.array(day)},
    )
    with pytest.warns(sf.SfumatoWarning, match=r"stays\.admitted: 1 row before the birth of their person"):
        db = sf.scan_database(rows)
    assert [d.fatal for d in db.differences] == [False]


def test_a_table_is_a_database_of_one() -> None:
    db = sf.Database.of(sf.scan(tables()["stays"]))
    assert db.root == "table" and db.people.count in (3, 4)
    assert not [d for d in db.differences if d.fatal]


def test_declared_in_a_file_and_read_back(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", tables())
    db = sf.scan_database(folder)
    names = {n: f"{n}.parquet" for n in db.tables}
    (folder / "database.toml").write_text(database_toml(db, names))
    again = sf.scan_database(folder)
    assert again.links == db.links and dict(again.keys) == dict(db.keys)
    assert all(again[n].schema == db[n].schema for n in db.tables)
    assert owners(again, "diagnoses", "code") == EXPECTED


def test_a_wrong_declaration_lists_its_faults(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", tables())
    (folder / "database.toml").write_text(
        'sfumato_database = 1\nodd = 1\n[tables.patients]\nkeys = "x"\n[tables.stays]\npersons = "no"\n'
        '[[links]]\nchild = "stays"\nparent = "patients.patient_id"\n'
    )
    with pytest.raises(sf.SchemaError) as told:
        sf.scan_database(folder)
    for words in ("unknown key 'odd'", "unknown key 'keys'", "persons must be true or false", "table.column"):
        assert words in str(told.value)


def test_duckdb_file_and_postgres(tmp_path: Path, postgres_url: str) -> None:
    import duckdb

    rows = tables()
    with duckdb.connect(str(tmp_path / "h.duckdb")) as connection:
        for name, table in rows.items():
            connection.register("t", table)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM t")
    db = sf.scan_database(tmp_path / "h.duckdb")
    assert owners(db, "diagnoses", "code") == EXPECTED
    import ibis

    connection = ibis.connect(postgres_url)
    try:
        for name, table in rows.items():
            connection.create_table(f"linked_{name}", table, overwrite=True)
        db = sf.scan_database(postgres_url, tables=[f"linked_{n}" for n in rows])
        assert owners(db, "linked_diagnoses", "code") == EXPECTED
    finally:
        for name in rows:
            connection.drop_table(f"linked_{name}", force=True)


def test_drawings_name_tables_and_columns_and_no_cell(tmp_path: Path) -> None:
    db = sf.samples.hospital(50)
    text, picture = drawn(db), drawn_svg(db)
    assert text.splitlines()[0].startswith("patients") and "stay_id -> stays.stay_id" in text
    assert picture.startswith("<svg") and "diagnoses" in picture and "P0000" not in text + picture
    assert sf.scan_database(saved(tmp_path / "h", db)).root == "patients"


def test_ten_thousand_children_of_one_patient() -> None:
    n = 10_000
    rows = {
        "patients": pa.table({"patient_id": [1]}),
        "stays": pa.table({"stay_id": np.arange(n), "patient_id": np.ones(n, np.int64)}),
    }
    db = sf.scan_database(rows)
    assert (db.people.numbers("stays") == 0).all()


def test_a_shorter_hospital_is_the_beginning_of_a_longer_one() -> None:
    short, long = sf.samples.hospital(20, 3), sf.samples.hospital(40, 3)
    for name in short.tables:
        a, b = short[name].to_arrow(), long[name].to_arrow()
        assert a.equals(b.slice(0, a.num_rows))
    assert sf.samples.hospital(20, 4)["stays"].to_arrow() != short["stays"].to_arrow()
