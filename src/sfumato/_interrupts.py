"""Ctrl-C for queries of DuckDB, which at times never looks for a signal while it computes (seen in 2.0.0).

Python notes a signal in C at once but raises it only between two steps of Python, and there is none before
the query ends. `signal.set_wakeup_fd` writes a byte at that first moment; a thread reads it and tells every
query under way to stop.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_connections: weakref.WeakSet[Any] = weakref.WeakSet()
_DONE = b"\0"  # no signal has this number


def heed(connection: object) -> None:
    """A Ctrl-C is to stop the queries of this connection to DuckDB, as long as it lives."""
    if hasattr(connection, "interrupt"):
        with _lock:
            _connections.add(connection)


@contextmanager
def interruptible() -> Iterator[None]:
    """While this lasts a Ctrl-C stops the queries of every connection heeded; it is a KeyboardInterrupt.

    Only the main thread hears signals, as everywhere in Python: a query of another thread is stopped
    if the main one is in here as well. Whoever listened to signals before still does.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    rung = threading.Event()
    ear, mouth = socket.socketpair()
    mouth.setblocking(False)
    before = signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)
    listener = threading.Thread(target=_listen, args=(ear, before, rung), daemon=True)
    listener.start()
    failed: Exception | None = None
    try:
        yield
    except Exception as error:  # the engine's own word for it, or that of a library in between
        failed = error
    finally:
        signal.set_wakeup_fd(before)
        mouth.setblocking(True)
        mouth.send(_DONE)
        listener.join()  # it has now read every signal that came
        ear.close()
        mouth.close()
    if failed is not None and rung.is_set():
        raise KeyboardInterrupt
    if failed is not None:
        raise failed


def each_interruptible(items: Iterator[T]) -> Iterator[T]:
    """The items; a Ctrl-C stops the query that makes the next one."""
    while True:
        with interruptible():
            found = list(islice(items, 1))
        if not found:
            return
        yield found[0]


def _listen(ear: socket.socket, before: int, rung: threading.Event) -> None:
    while (heard := ear.recv(1)) not in (b"", _DONE):
        if before != -1:
            with suppress(OSError):
                os.write(before, heard)
        if heard[0] == signal.SIGINT:
            rung.set()
            with _lock:
                connections = list(_connections)
            for connection in connections:
                with suppress(Exception):  # closed in the meantime: nothing left to stop
                    connection.interrupt()
