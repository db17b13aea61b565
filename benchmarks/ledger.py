"""What a debit costs: a grant against one bare commit of the same database, as durable as the ledger's.

The bare commit inserts a line of the same length into a file whose connection is open already. Both wait for
the disk, so that the ratio depends on the disk: CPU time is shown beside. Medians of grants and commits
taken in turn. With SFUMATO_POSTGRES_URL the same is measured there.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROUNDS = 150


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def compare(name: str, grant: Callable[[], object], bare: Callable[[], object]) -> None:
    for work in (grant, bare):
        work()
    pairs = [(timed(grant), timed(bare)) for _ in range(ROUNDS)]
    wall, cpu, bare_wall, bare_cpu = (
        statistics.median(pair[i][j] for pair in pairs) for i in (0, 1) for j in (0, 1)
    )
    print(
        f"{name:12} grant {wall * 1e3:6.2f} ms (CPU {cpu * 1e3:5.2f}), "
        f"bare commit {bare_wall * 1e3:6.2f} ms (CPU {bare_cpu * 1e3:5.2f}): ratio {wall / bare_wall:.2f}"
    )


def rate(name: str, grant: Callable[[], object], threads: int = 8, each: int = 25) -> None:
    """Debits a second of several threads at once."""
    work = [threading.Thread(target=lambda: [grant() for _ in range(each)]) for _ in range(threads)]
    start = time.perf_counter()
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    print(
        f"{name:12} {threads} threads: {threads * each / (time.perf_counter() - start):.0f} grants a second"
    )


def main() -> None:
    with tempfile.TemporaryDirectory(dir=".") as folder:  # on a disk: where /tmp is memory, nothing waits
        os.environ["SFUMATO_STATE"] = str(Path(folder) / "state")
        from sfumato.privacy import Ledger

        ledger = Ledger.open(Path(folder) / "x.ledger", 1000.0)
        ledger.set_client("ward", 1000.0)
        bare = sqlite3.connect(Path(folder) / "bare", isolation_level=None)
        bare.executescript("PRAGMA synchronous = EXTRA; PRAGMA fullfsync = ON; CREATE TABLE t (line TEXT)")

        def commit() -> None:
            bare.execute("BEGIN IMMEDIATE")
            bare.execute("INSERT INTO t VALUES (?)", ("x" * 300,))
            bare.execute("COMMIT")

        def grant() -> None:
            ledger.grant(epsilon=0.01, purpose="score", client="ward")

        compare("SQLite", grant, commit)
        rate("SQLite", grant)
        if url := os.environ.get("SFUMATO_POSTGRES_URL"):
            postgres(url)


def postgres(url: str) -> None:
    import psycopg

    from sfumato.privacy import Ledger

    name = f"bench_{secrets.token_hex(4)}"
    ledger = Ledger.open(f"{url}#{name}", 1000.0)
    ledger.set_client("ward", 1000.0)

    def grant() -> None:
        ledger.grant(epsilon=0.01, purpose="score", client="ward")

    with psycopg.connect(url, autocommit=True) as bare:
        bare.execute(f"CREATE TABLE sfumato_{name}.bare (line TEXT)")

        def commit() -> None:
            bare.execute("BEGIN")
            bare.execute(f"INSERT INTO sfumato_{name}.bare VALUES (%s)", ("x" * 300,))
            bare.execute("COMMIT")

        try:
            compare("PostgreSQL", grant, commit)
            rate("PostgreSQL", grant)
        finally:
            bare.execute(f"DROP SCHEMA sfumato_{name} CASCADE")


if __name__ == "__main__":
    main()
