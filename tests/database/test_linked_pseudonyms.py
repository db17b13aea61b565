"""Pseudonyms and dates over linked tables: no key dangles, one shift per person, nothing half-written."""

from __future__ import annotations

import os
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from linked import in_engine, tables

import sfumato as sf
from sfumato.pseudonyms.numbers import most_id, number_pseudonyms

DAY = date(2020, 3, 4)


def dated() -> dict[str, pa.Table]:
    """Dates in the last table only, which names no person."""
    days = [DAY + timedelta(i) for i in (0, 1, 40, 2, 5, 6)]
    return tables(
        patients={"born": [date(1950, 1, 2), date(1960, 1, 2), date(1970, 1, 2)]}, diagnoses={"seen": days}
    )


@pytest.mark.parametrize("engine", ["arrow", "pandas", "polars", "duckdb"])
def test_keys_join_and_every_date_of_a_person_moves_alike(engine: str, tmp_path: Path) -> None:
    db = sf.scan_database(in_engine(dated(), engine))
    release = sf.pseudonymize(db, shift_dates=100)
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok
    out = sf.DatabaseRelease.load(tmp_path / "out").data.check()
    assert out.people.count == 3
    # a code and a ward name each row, so rows of both sides can be laid side by side
    diagnoses = out["diagnoses"].to_arrow().join(out["stays"].to_arrow(), "stay_id")
    patients = out["patients"].to_arrow()
    born = dict(zip(patients["patient_id"].to_pylist(), patients["born"].to_pylist(), strict=True))
    years = {1950: [0, 1, 40], 1960: [2], 1970: [5, 6]}
    for person, when in born.items():
        seen = diagnoses.filter(pc.equal(diagnoses["patient_id"], person))["seen"].to_pylist()
        true = min(((when - date(y, 1, 2)).days, y) for y in years if abs((when - date(y, 1, 2)).days) <= 100)
        moved = sorted((s - DAY).days - true[0] for s in seen)
        assert moved == years[true[1]] and 1 <= abs(true[0]) <= 100
    text = (tmp_path / "out" / "public" / "guarantee.json").read_text()
    assert "Gaps in days are as they were" in text


def test_the_same_on_spark(spark: Any) -> None:
    options: dict[str, Any] = {"shift_dates": 100, "key": sf.Key.from_seed(7), "shuffle": False}
    here = sf.pseudonymize(sf.scan_database(dated()), **options)
    there = sf.pseudonymize(sf.scan_database(in_engine(dated(), "spark", spark)), **options)
    for name in here.data.tables:
        keys = [(c, "ascending") for c in here.data[name].columns]
        assert here.data[name].to_arrow().sort_by(keys).equals(there.data[name].to_arrow().sort_by(keys))


def test_the_same_on_postgresql(postgres_url: str) -> None:
    import ibis

    rows = dated()
    connection = ibis.connect(postgres_url)
    try:
        for name, table in rows.items():
            connection.create_table(f"moved_{name}", table, overwrite=True)
        there = sf.scan_database({n: sf.scan(postgres_url, table=f"moved_{n}") for n in rows})
        options: dict[str, Any] = {"shift_dates": 100, "key": sf.Key.from_seed(7), "shuffle": False}
        with_them = sf.pseudonymize(there, **options)
        here = sf.pseudonymize(sf.scan_database(rows), **options)
        for name in rows:
            keys = [(c, "ascending") for c in here.data[name].columns]
            assert (
                here.data[name].to_arrow().sort_by(keys).equals(with_them.data[name].to_arrow().sort_by(keys))
            )
    finally:
        for name in rows:
            connection.drop_table(f"moved_{name}", force=True)


def test_rows_are_redrawn_and_ids_gone(tmp_path: Path) -> None:
    db = sf.samples.hospital(300)
    release = sf.pseudonymize(db, shift_dates=365)
    ids = set(db["patients"].to_arrow()["patient_id"].to_pylist())
    out = release.data["patients"].to_arrow()["patient_id"].to_pylist()
    assert len(set(out)) == len(ids) and not ids & set(out)
    assert release.data["stays"].to_arrow()["ward"] != db["stays"].to_arrow()["ward"]
    again = release.data["stays"].to_arrow()
    assert again.equals(release.data["stays"].to_arrow())  # any reading gives the same rows


def test_stays_and_patients_of_one_number_have_unrelated_pseudonyms() -> None:
    rows = tables(
        patients={"patient_id": ["1", "2", "3"]},
        stays={"patient_id": ["1", "1", "2", "3"], "stay_id": ["1", "2", "3", "4"]},
        diagnoses={"stay_id": ["1", "1", "2", "3", "4", "4"]},
    )
    out = sf.pseudonymize(sf.scan_database(rows)).data
    people = set(out["patients"].to_arrow()["patient_id"].to_pylist())
    assert not people & set(out["stays"].to_arrow()["stay_id"].to_pylist())


def test_whole_numbers_stay_whole_numbers(tmp_path: Path) -> None:
    db = sf.samples.hospital(200)
    release = sf.pseudonymize(db, integers=32)
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok
    stays = sf.DatabaseRelease.load(tmp_path / "out").data["stays"].to_arrow()["stay_id"]
    assert stays.type == pa.int64() and pc.count_distinct(stays).as_py() == len(stays)
    assert pc.min(stays).as_py() >= 1 and pc.max(stays).as_py() <= 2**31 - 1


@pytest.mark.parametrize("width", [32, 64])
def test_numbers_are_permuted(width: int) -> None:
    key = sf.Key.from_seed(3)
    ids = pa.array([0, 1, 2, most_id(width), None, 5, 5])
    out = number_pseudonyms(ids, key, width, domain="x").to_pylist()
    assert out[4] is None and out[5] == out[6] and len(set(out)) == 6
    assert all(1 <= v <= most_id(width) + 1 for v in out if v is not None)
    assert out != number_pseudonyms(ids, key, width, domain="y").to_pylist()
    many = number_pseudonyms(pa.array(np.arange(20_000)), key, width, domain="x").to_numpy()
    assert len(np.unique(many)) == 20_000
    # spread evenly: 16 parts of 1,250 each; a count beyond 6 deviations comes once in 10^8
    parts = np.bincount((many.astype(object) * 16 // (most_id(width) + 2)).astype(int), minlength=16)
    assert abs(parts - 1250).max() < 6 * 1250**0.5
    with pytest.raises(sf.DataError, match="1 ids are not whole numbers"):
        number_pseudonyms(pa.array([-1]), key, width, domain="x")


def test_weeks_and_months(tmp_path: Path) -> None:
    db = sf.samples.hospital(100)
    out = sf.pseudonymize(db, shift_dates=300, coarsen_dates="week").data["stays"].to_arrow()
    assert {d.weekday() for d in out["admitted"].to_pylist()} == {0}
    assert pc.all(pc.less_equal(out["admitted"], out["discharged"])).as_py()
    months = sf.pseudonymize(db, coarsen_dates="month").data["stays"].to_arrow()
    assert {d.day for d in months["admitted"].to_pylist()} == {1}


def test_a_second_shift_under_the_same_key_is_refused(tmp_path: Path) -> None:
    db = sf.samples.hospital(20)
    sf.pseudonymize(db, shift_dates=100).save(tmp_path / "a")
    sf.pseudonymize(db, shift_dates=100, key=tmp_path / "a")
    for other in ({"shift_dates": 200}, {"shift_dates": 100, "coarsen_dates": "week"}):
        with pytest.raises(sf.ParameterError, match="moved dates by up to 100 days"):
            sf.pseudonymize(db, key=tmp_path / "a", **other)  # type: ignore[call-overload]
    with pytest.raises(sf.ParameterError, match="moved dates by up to 100 days"):
        sf.pseudonymize(db["stays"], key=tmp_path / "a", shift_dates=90)


def test_a_person_column_is_not_left_out_without_a_word() -> None:
    with pytest.warns(sf.SfumatoWarning, match="'patient_id', which say whose rows they are"):
        sf.pseudonymize(sf.samples.hospital(20)["stays"], columns=["stay_id"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shift_dates": 0}, "shift_dates must be"),
        ({"coarsen_dates": "decade"}, "coarsen_dates must be one of week, month"),
        ({"integers": 16}, "integers must be 32 or 64"),
        ({"drop": ["stays.no"]}, r"no column stays\.no"),
        ({"drop": ["stays.stay_id"]}, "joined by"),
        ({"columns": ["x"]}, "cannot be said of a database"),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(sf.ParameterError, match=words):
        sf.pseudonymize(sf.samples.hospital(20), **options)


def test_a_broken_database_and_days_that_tell_the_shift_are_refused() -> None:
    links = [("stays.patient_id", "patients.patient_id"), ("diagnoses.stay_id", "stays.stay_id")]
    db = sf.scan_database(tables(stays={"patient_id": ["a", "a", "b", "z"]}), links=links, check=False)
    with pytest.raises(sf.DataError, match="without a parent"):
        sf.pseudonymize(db)
    days = [date(1900, 1, 1), DAY, DAY, DAY]
    with pytest.raises(sf.DataError, match=r"stays: dates within .* 'admitted' \(1 cells\)"):
        sf.pseudonymize(sf.scan_database(tables(stays={"admitted": days})), shift_dates=10)


def test_a_changed_file_and_a_dangling_key_are_found(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    sf.pseudonymize(sf.samples.hospital(50)).save(tmp_path / "out")
    path = tmp_path / "out" / "public" / "patients.parquet"
    pq.write_table(pq.read_table(path).slice(3), path)
    found = sf.verify(tmp_path / "out")
    assert not found.ok and any(c.subject == "links" for c in found.failures)


def test_stopped_in_the_middle_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = sf.pseudonymize(sf.samples.hospital(50))
    from sfumato.release import database

    genuine = database.write_data

    def stop(path: Path, table: sf.Table) -> Any:
        if path.name == "stays.parquet":
            raise KeyboardInterrupt
        return genuine(path, table)

    monkeypatch.setattr(database, "write_data", stop)
    with pytest.raises(KeyboardInterrupt):
        release.save(tmp_path / "out")
    assert os.listdir(tmp_path) == []


def test_a_database_of_one() -> None:
    out = sf.pseudonymize(sf.Database.of(sf.samples.hospital(20)["stays"], "stays"), shift_dates=10)
    assert out.data["stays"].columns == ("patient_id", "admitted", "discharged", "ward")
