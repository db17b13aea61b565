"""A simulated OMOP CDM of many persons: checked, pseudonymized, saved and verified.

    python benchmarks/omop.py [--persons 100000 [400000 ...]] [--sources parquet csv duckdb postgresql]
                              [--held 16]

Prints rows, processor seconds and the peak of memory of each step, each in a process of its own; then holds
the release against the input: no key dangles, and every person's gap from observation to first visit stays.
No step may take more than a gigabyte, nor, of several numbers of persons, half as much again as with the
first. --held 16 divides by 16 what may be held at once of rows, keys and persons: then few persons reach
all bounds, what still grows is bounded by nothing, and a quarter more is allowed.

The same CDM may lie in Parquet or text files, in DuckDB and in PostgreSQL (SFUMATO_POSTGRES_URL names one
that may be written to): under one key the releases must be the same, row for row in any order. Processor
seconds are those of Sfumato's process; a server has its own.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

import sfumato as sf
from sfumato.samples._omop import omop_blocks, omop_lists

_SEED = 25
_SCHEMA = "sfumato_benchmark"
SOURCES = ("parquet", "csv", "duckdb", "postgresql")
MOST_MB = 1_000
MOST_GROWTH = 1.5  # of the memory of a step, with four or with ten times the persons
MOST_BEYOND = 1.25  # the same where all bounds are reached; the most of several tries differs by a tenth


def written(persons: int, folder: Path) -> int:
    """The CDM as files, block by block; its rows."""
    folder.mkdir()
    writers: dict[str, pq.ParquetWriter] = {}
    rows = 0
    for block in omop_blocks(persons, _SEED):
        for name, table in block.items():
            if name not in writers:
                writers[name] = pq.ParquetWriter(folder / f"{name}.parquet", table.schema)
            writers[name].write_table(table)
            rows += table.num_rows
    for writer in writers.values():
        writer.close()
    for name, table in omop_lists().items():
        pq.write_table(table, folder / f"{name}.parquet")
    return rows


def loaded(folder: Path, source: str) -> None:
    """The files as tables of a database."""
    files = sorted((folder / "cdm").glob("*.parquet"))
    if source == "csv":
        (folder / "cdm-csv").mkdir()
        for file in files:
            _as_text(file, folder / "cdm-csv" / f"{file.stem}.csv")
    elif source == "duckdb":
        with duckdb.connect(str(folder / "cdm.duckdb"), config={"memory_limit": "500MB"}) as database:
            for file in files:
                database.execute(f"CREATE TABLE {file.stem} AS SELECT * FROM '{file}'")
    elif source == "postgresql":
        import psycopg

        with psycopg.connect(_server()) as server, server.cursor() as cursor:
            cursor.execute(f"DROP SCHEMA IF EXISTS {_SCHEMA} CASCADE")
            cursor.execute(f"CREATE SCHEMA {_SCHEMA}")
            for file in files:
                _copied(cursor, file)


def _as_text(file: Path, target: Path) -> None:
    """One table, a row group at a time."""
    import pyarrow.csv as csv

    stored = pq.ParquetFile(file)
    with csv.CSVWriter(target, stored.schema_arrow) as writer:
        for batch in stored.iter_batches(65_536):
            writer.write_batch(batch)


def _copied(cursor: object, file: Path) -> None:
    """One table, a row group at a time."""
    import io

    import pyarrow as pa
    import pyarrow.csv as csv

    stored = pq.ParquetFile(file)
    kinds = {"int64": "bigint", "double": "double precision", "date32[day]": "date", "string": "text"}
    columns = ", ".join(f"{f.name} {kinds[str(f.type)]}" for f in stored.schema_arrow)
    cursor.execute(f"CREATE TABLE {_SCHEMA}.{file.stem} ({columns})")  # type: ignore[attr-defined]
    plain = csv.WriteOptions(include_header=False)
    with cursor.copy(f"COPY {_SCHEMA}.{file.stem} FROM STDIN (FORMAT csv)") as copy:  # type: ignore[attr-defined]
        for batch in stored.iter_batches(65_536):
            text = io.BytesIO()
            csv.write_csv(pa.Table.from_batches([batch]), text, plain)
            copy.write(text.getvalue())


def _server() -> str:
    return os.environ["SFUMATO_POSTGRES_URL"]


def place(folder: Path, source: str) -> str:
    """What `scan_database` is given."""
    return {
        "parquet": str(folder / "cdm"), "csv": str(folder / "cdm-csv"), "duckdb": str(folder / "cdm.duckdb"),
        "postgresql": f"{os.environ.get('SFUMATO_POSTGRES_URL', '')}?options=-csearch_path%3D{_SCHEMA}",
    }[source]  # fmt: skip


def checked(folder: Path, source: str) -> None:
    """Read, and every key held against every link."""
    assert not sf.scan_database(place(folder, source)).differences


def pseudonymized(folder: Path, source: str) -> None:
    """Read, checked, under pseudonyms, dates moved."""
    db = sf.scan_database(place(folder, source))
    sf.pseudonymize(db, shift_dates=365, key=sf.Key.from_seed(1)).save(folder / f"release-{source}")


def verified(folder: Path, source: str) -> None:
    """As whoever receives it does."""
    assert not sf.verify(folder / f"release-{source}").failures


def counted(folder: Path, source: str) -> None:
    """Start of the first visit against start of observation: the gap of every person stays."""

    def gaps(where: Path) -> list[tuple[int, int]]:
        first = (
            f"SELECT person_id, min(visit_start_date) AS v FROM '{where}/visit_occurrence.parquet' GROUP BY 1"
        )
        return duckdb.sql(
            f"SELECT o.observation_period_start_date - f.v, count(*) FROM ({first}) f JOIN "
            f"'{where}/observation_period.parquet' o USING (person_id) GROUP BY 1 ORDER BY 1"
        ).fetchall()

    released = folder / f"release-{source}" / "public"
    assert gaps(folder / "cdm") == gaps(released)
    out = sf.scan_database(released, check=False)
    assert not [d for d in out.differences if d.fatal]


def digest(folder: Path, source: str) -> dict[str, tuple[int, int]]:
    """By table, the number of rows and a sum over rows that hangs on every cell, in whatever order."""
    files = sorted((folder / f"release-{source}" / "public").glob("*.parquet"))
    found = {}
    for file in files:
        columns = ", ".join(sorted(pq.read_schema(file).names))
        query = f"SELECT count(*), sum(hash({columns})::HUGEINT) FROM '{file}'"
        found[file.stem] = duckdb.sql(query).fetchall()[0]
    return found  # type: ignore[return-value]


def held(part: int) -> None:
    """Bounds of this process divided: what it holds at once, and what then goes to files."""
    from sfumato.database import keys, people, person_days
    from sfumato.release import shuffle

    bounds = {keys: ("_MOST_HELD", "_AT_ONCE", "_LOOK"), people: ("_ROWS",),
              person_days: ("_MOST_HELD", "_LOOK"), shuffle: ("_WHOLE", "_PART")}  # fmt: skip
    for module, names in bounds.items():
        for name in names:
            setattr(module, name, getattr(module, name) // part)


STEPS = {f.__name__: f for f in (checked, pseudonymized, verified, counted)}


def step(name: str, folder: Path, source: str, part: int) -> float:
    """One step in a process of its own; the most memory that it, or one it started, held, in MB."""
    command = [sys.executable, __file__, "--step", name, "--folder", str(folder), "--sources", source]
    command += ["--held", str(part)]
    child = os.spawnv(os.P_NOWAIT, sys.executable, command)
    _, status, used = os.wait4(child, 0)
    if status:
        sys.exit(f"{name} failed")
    return used.ru_maxrss / 2**10


def measured(persons: int, sources: list[str], folder: Path, part: int) -> dict[tuple[str, str], float]:
    """All steps of all sources; the memory of each."""
    began = time.process_time()
    rows = written(persons, folder / "cdm")
    print(f"{persons:,} persons, {rows:,} rows: made in {time.process_time() - began:.1f} CPU s", flush=True)
    digests, found = [], {}
    for source in sources:
        loaded(folder, source)
        found |= {(source, name): step(name, folder, source, part) for name in STEPS}
        digests.append(digest(folder, source))
    assert all(d == digests[0] for d in digests), "releases differ"
    if len(digests) > 1:
        rows = sum(n for n, _ in digests[0].values())
        print(f"the same release from {', '.join(sources)}: {rows:,} rows", flush=True)
    return found


def main() -> None:
    """Write it, then one process for each step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, nargs="+", default=[100_000])
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=["parquet"])
    parser.add_argument("--held", type=int, default=1)
    parser.add_argument("--step", choices=list(STEPS))
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    if asked.step:
        held(asked.held)
        began = time.process_time()
        STEPS[asked.step](asked.folder, asked.sources[0])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        took = time.process_time() - began
        print(f"{asked.sources[0]:10} {asked.step:14} {took:8.1f} CPU s  {peak:8.0f} MB at most", flush=True)
        return
    first: dict[tuple[str, str], float] = {}
    for persons in asked.persons:
        with tempfile.TemporaryDirectory() as name:
            found = measured(persons, asked.sources, Path(name), asked.held)
        found = {key: mb for key, mb in found.items() if key[1] != "counted"}  # that is no step of ours
        first = first or found
        _held_to(persons, asked.persons[0], found, first, asked.held > 1)


def _held_to(
    persons: int, fewer: int, found: dict[tuple[str, str], float], first: dict[tuple[str, str], float],
    reached: bool,
) -> None:  # fmt: skip
    """The memory of the steps against that with fewer persons. reached: whether no bound is left to reach."""
    growth, most = max(found[key] / first[key] for key in found), max(found.values())
    print(f"{persons:,} persons: {most:.0f} MB at most, {growth:.2f} times those of {fewer:,}", flush=True)
    allowed = MOST_BEYOND if reached else MOST_GROWTH
    if most > MOST_MB or growth > allowed:
        sys.exit(f"more than {MOST_MB} MB, or than {allowed} times the memory")
    if persons > fewer:
        each = {key: (found[key] - first[key]) * 2**20 / (persons - fewer) for key in found}
        for (source, name), more in each.items():
            print(f"  {source} {name}: {more:.0f} bytes more for each person more", flush=True)


if __name__ == "__main__":
    main()
