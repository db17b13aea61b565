"""A Ctrl-C stops a count that an engine computes, wherever the engine was."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato._interrupts import interruptible
from sfumato.counts.duck import connect
from sfumato.io.engines import from_duckdb

_ENDLESS = "SELECT sum(a.range * b.range % 7) AS x FROM range(3000000) a, range(100000) b"


@contextmanager
def ringing() -> Iterator[None]:
    """One Ctrl-C, after a while."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's "&" leaves it ignored
    bell = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    try:
        bell.start()
        yield
    finally:
        bell.cancel()
        bell.join()
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("ask", ["sql", "execute"])
def test_ctrl_c_during_a_query_is_ctrl_c(ask: str) -> None:
    """DuckDB may not hear it at all, or make a RuntimeError of it that a driver would swallow."""
    with pytest.raises(KeyboardInterrupt), connect() as connection, ringing():
        getattr(connection, ask)(_ENDLESS).fetchall()


def test_ctrl_c_while_rows_are_handed_to_duckdb() -> None:
    """Python raises it within the reader, which DuckDB reports as a source that failed."""
    schema = pa.schema([("x", pa.int64())])
    endless = (pa.record_batch([pa.array(range(1_000))], schema=schema) for _ in itertools.count())
    with pytest.raises(KeyboardInterrupt), connect() as connection, ringing():
        reader = pa.RecordBatchReader.from_batches(schema, endless)
        connection.from_arrow(reader).aggregate("x, count(*) AS n", "x").to_arrow_table()


def test_ctrl_c_during_a_count_in_a_database_file(tmp_path: Path) -> None:
    path = tmp_path / "long.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute(f"CREATE VIEW long AS {_ENDLESS}")
    with pytest.raises(KeyboardInterrupt), ringing():
        sf.scan(f"duckdb:///{path}").counts("x")


def test_ctrl_c_during_a_count_of_a_relation() -> None:
    connection = duckdb.connect()
    with pytest.raises(KeyboardInterrupt), ringing():
        sf.scan(connection.sql(_ENDLESS)).counts("x")


def test_listening_to_ctrl_c_leaves_no_trace() -> None:
    """Whoever listened before still hears; nothing stays open; another thread is left alone."""
    ear, mouth = socket.socketpair()
    mouth.setblocking(False)
    before = signal.set_wakeup_fd(mouth.fileno())
    try:
        with pytest.raises(KeyboardInterrupt), interruptible(), ringing():
            time.sleep(60)
        assert ear.recv(1)[0] == signal.SIGINT
        assert signal.set_wakeup_fd(mouth.fileno()) == mouth.fileno()
        threads = threading.active_count()
        with interruptible(), interruptible():
            assert threading.active_count() == threads + 2
        assert threading.active_count() == threads
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(lambda: list(_entered())).result() == ["in"]
    finally:
        signal.set_wakeup_fd(before)
        ear.close()
        mouth.close()


def _entered() -> Iterator[str]:
    with interruptible():
        yield "in"


def test_to_show_a_source_neither_asks_the_engine_nor_shows_a_cell() -> None:
    endless = duckdb.connect().sql(_ENDLESS)
    assert "duckdb" in repr(from_duckdb(endless))  # it would take for ever
    told = sf.scan(pa.table({"x": ["SECRET"]}).to_pandas()).source
    assert "SECRET" not in repr(told) and "pandas" in repr(told)
