"""Linked tables: DE-SynPUF and diabetes130 as three tables each, pseudonymized, dated and under k^m.

    python benchmarks/linked.py [--m 2] [--skip-codes] [--engine files|duckdb|spark] [--only NAME]
    python benchmarks/linked.py --giant 10000000

Prints processor seconds, then what was counted: dangling keys, persons whose dates moved by more than one
number of days; people in groups below five by known codes, with sex and age band, before and after, by brute
force on a sample of people; codes dropped, levels raised, and what dropping alone costs. With --giant: one of
2,000 simulated patients has so many stays, the others five each; processor seconds and the peak of memory.

Spark's workers must find Sfumato: PYSPARK_PYTHON names the Python that has it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sfumato as sf

DATA = Path(os.environ.get("SFUMATO_DATA", "data"))


def desynpuf(folder: Path) -> Path:
    """Patients of 2008, their inpatient stays, the diagnoses of each stay."""
    people = pd.read_parquet(DATA / "desynpuf/desynpuf_beneficiary2008_s1.parquet")
    claims = pd.read_parquet(DATA / "desynpuf/desynpuf_inpatient_claims_2008_2010_s1.parquet")
    born = pd.to_datetime(people.BENE_BIRTH_DT, format="%Y%m%d")
    bands = [0, 64, 69, 74, 79, 84, 200]
    age = pd.cut(2008 - born.dt.year, bands, labels=["<65", "65-69", "70-74", "75-79", "80-84", "85+"])
    patients = pd.DataFrame({
        "patient_id": people.DESYNPUF_ID, "birth_date": born.dt.date, "sex": people.BENE_SEX_IDENT_CD,
        "age_band": age.astype(str),
    })  # fmt: skip
    claims = claims[(claims.SEGMENT == "1") & claims.DESYNPUF_ID.isin(set(patients.patient_id))]
    claims = claims.drop_duplicates("CLM_ID")

    def day(column: str) -> pd.Series:
        return pd.to_datetime(claims[column], format="%Y%m%d", errors="coerce").dt.date

    stays = pd.DataFrame({
        "stay_id": claims.CLM_ID, "patient_id": claims.DESYNPUF_ID, "admitted": day("CLM_ADMSN_DT"),
        "discharged": day("NCH_BENE_DSCHRG_DT"),
    })  # fmt: skip
    return _written(folder, patients, stays, claims, "CLM_ID", [f"ICD9_DGNS_CD_{i}" for i in range(1, 11)])


def diabetes130(folder: Path) -> Path:
    """Patients, encounters, and up to three diagnoses of each."""
    rows = pd.read_parquet(DATA / "diabetes130/diabetic_data.parquet")
    patients = rows.groupby("patient_nbr", as_index=False).first()[["patient_nbr", "race", "gender", "age"]]
    stays = rows[["encounter_id", "patient_nbr", "time_in_hospital", "readmitted"]]
    return _written(folder, patients, stays, rows, "encounter_id", ["diag_1", "diag_2", "diag_3"])


def _written(
    folder: Path, patients: pd.DataFrame, stays: pd.DataFrame, wide: pd.DataFrame, key: str, codes: list[str]
) -> Path:
    folder.mkdir(parents=True)
    long = pd.concat([pd.DataFrame({stays.columns[0]: wide[key], "code": wide[c]}) for c in codes])
    long = long[long.code.notna() & ~long.code.isin(["", "?"])]
    for name, frame in (("patients", patients), ("stays", stays), ("diagnoses", long)):
        frame.to_parquet(folder / f"{name}.parquet", index=False)
    return folder


def unequal_shifts(before: sf.Database, release: sf.DatabaseRelease, out: Path) -> int:
    """Persons whose dates of birth, admission and discharge moved by different numbers of days."""
    key = sf.DatabaseRelease.load(out).internal
    assert key is not None
    again = sf.pseudonymize(before, key=out, shift_dates=365, shuffle=False).data
    found: dict[int, set[int]] = {}
    for name, columns in (("patients", ["birth_date"]), ("stays", ["admitted", "discharged"])):
        numbers = before.people.numbers(name)
        old, new = before[name].to_arrow(), again[name].to_arrow()
        for column in columns:
            moved = np.asarray(new[column].cast("int32")) - np.asarray(old[column].cast("int32"))
            for person, days in zip(numbers, moved, strict=True):
                found.setdefault(int(person), set()).add(int(days))
    return sum(len(days) != 1 or 0 in days for days in found.values())


def main() -> None:
    """Run both data sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--m", type=int, default=2)
    parser.add_argument("--skip-codes", action="store_true")
    parser.add_argument("--engine", choices=("files", "duckdb", "spark"), default="files")
    parser.add_argument("--only", choices=("DE-SynPUF", "diabetes130"))
    parser.add_argument("--giant", type=int, help="stays of one patient")
    asked = parser.parse_args()
    if asked.giant:
        giant(asked.giant)
        return
    warnings.simplefilter("ignore", sf.SfumatoWarning)
    with tempfile.TemporaryDirectory() as name:
        for title, make in (("DE-SynPUF", desynpuf), ("diabetes130", diabetes130)):
            if asked.only not in (None, title):
                continue
            folder = make(Path(name) / title)
            dated = {"shift_dates": 365} if title == "DE-SynPUF" else {}
            start = time.process_time()
            database = sf.scan_database(in_engine(folder, asked.engine))
            found = time.process_time()
            release = sf.pseudonymize(database, **dated)
            out = release.save(Path(name) / f"{title}-out")
            end = time.process_time()
            rows = " / ".join(f"{database[n].rows():,}" for n in ("patients", "stays", "diagnoses"))
            loaded = sf.DatabaseRelease.load(out).data
            print(f"{title}: {rows}")
            print(f"  found and checked {found - start:.1f} s, pseudonymized and written {end - found:.1f} s")
            print(f"  differences in the release: {len(loaded.differences)}")
            if dated:
                print(f"  persons with unequal shifts: {unequal_shifts(database, release, out)}")
            if not asked.skip_codes:
                codes(database, asked.m, ["sex", "age_band"] if dated else ["gender", "age"])


def giant(stays: int) -> None:
    """One patient with nearly all rows: found, checked, pseudonymized, written, verified."""
    import resource

    import duckdb

    with tempfile.TemporaryDirectory() as name:
        data, out = Path(name) / "data", Path(name) / "out"
        data.mkdir()
        duckdb.sql(
            f"COPY (SELECT i AS patient_id, i % 2 AS sex FROM range(2000) t(i)) TO '{data}/patients.parquet'"
        )
        duckdb.sql(
            f"COPY (SELECT i AS stay_id, if(i < {stays}, 0, 1 + i % 1999) AS patient_id, DATE '2010-01-01' + "
            f"CAST(hash(i) % 3000 AS INT) AS admitted FROM range({stays + 10_000}) t(i)) "
            f"TO '{data}/stays.parquet'"
        )
        steps = {
            "pseudonymized": lambda: sf.pseudonymize(sf.scan_database(data), shift_dates=365).save(out),
            "verified": lambda: sf.verify(out),
        }
        for title, step in steps.items():
            start = time.process_time()
            step()
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
            print(f"{stays:,} stays {title}: {time.process_time() - start:.0f} s, up to here {peak:,.0f} MB")


def in_engine(folder: Path, engine: str) -> Any:
    """The folder itself, or its tables as relations of DuckDB or frames of Spark."""
    if engine == "files":
        return folder
    files = {p.stem: p for p in sorted(folder.glob("*.parquet"))}
    if engine == "duckdb":
        import duckdb

        connection = duckdb.connect()
        return {n: connection.read_parquet(str(p)) for n, p in files.items()}
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    return {n: spark.read.parquet(str(p)) for n, p in files.items()}


def codes(database: sf.Database, m: int, columns: list[str]) -> None:
    """k^m with sex and age band, held against dropping alone."""
    start = time.process_time()
    release = sf.anonymize_database(
        database, sf.KMAnonymity(5, m), codes=["diagnoses.code"], hierarchies={"diagnoses.code": "icd9"},
        columns=columns,
    )  # fmt: skip
    seconds = time.process_time() - start
    assert release.internal is not None
    numbers = release.internal.extra["code_sets"]
    share = numbers["dropped"] / numbers["codes"]
    alone = numbers["dropped_by_dropping_alone"]
    print(f"  k = 5, m = {m}: {seconds:.0f} s; dropped {share:.2%}, loss {numbers['loss']:.4f}")
    print(f"  levels raised {numbers['levels_raised']:.2f}; dropping alone takes {alone:.1%} of the codes, "
          f"{alone / max(share, 1e-9):.1f} times as many")  # fmt: skip
    for title, tables in (("before", database), ("after", release.data)):
        small, least = by_brute_force(tables, m, columns)
        print(
            f"  {title}: {small:.1%} of people with {m} codes are in groups below 5; smallest of all {least}"
        )


def by_brute_force(database: sf.Database, m: int, columns: list[str], people: int = 400) -> tuple[float, int]:
    """Of a sample of people, plainly: who shares m of their codes drawn at random, and the columns.

    Then the smallest group of any subset of up to m of the first 40 of them, by going through everybody.
    """
    held: dict[str, set[str]] = {}
    stays = database["stays"].to_arrow()
    owner = dict(zip(*(stays[c].to_pylist() for c in stays.column_names[:2]), strict=True))
    rows = database["diagnoses"].to_arrow()
    for stay, code in zip(rows[stays.column_names[0]].to_pylist(), rows["code"].to_pylist(), strict=True):
        if code is not None:
            held.setdefault(owner[stay], set()).add(code)
    patients = database["patients"].to_arrow()
    names = patients[patients.column_names[0]].to_pylist()
    group = dict(zip(names, zip(*(patients[c].to_pylist() for c in columns), strict=True), strict=True))
    having: dict[tuple[object, str], set[str]] = {}
    for person, codes_ in held.items():
        for code in codes_:
            having.setdefault((group[person], code), set()).add(person)
    rng = np.random.default_rng(1)
    able = sorted(p for p, codes_ in held.items() if len(codes_) >= m)
    drawn = [able[i] for i in rng.choice(len(able), min(people, len(able)), replace=False)]
    small, least = 0, len(held)
    for i, person in enumerate(drawn):
        chosen = rng.choice(sorted(held[person]), m, replace=False)
        small += len(set.intersection(*(having[group[person], c] for c in chosen))) < 5
        for size in range(1, m + 1) if i < 40 else ():
            for some in combinations(sorted(held[person]), size):
                least = min(least, len(set.intersection(*(having[group[person], c] for c in some))))
    return small / len(drawn), least


if __name__ == "__main__":
    main()
