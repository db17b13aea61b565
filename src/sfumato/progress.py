"""Long work says how far it is, to whoever listens.

The library reports rows done; the command line draws a bar from it. Nobody listens by default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

Listener = Callable[[str, int, int | None], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call `listener(label, rows done, rows in all or None)` while the block runs."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def track(
    batches: Iterable[pa.RecordBatch], label: str, total: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The same batches, reported as they pass."""
    listener = _listener.get()
    done = 0
    for batch in batches:
        yield batch
        done += batch.num_rows
        if listener is not None:
            listener(label, done, total)


def report(label: str, done: int, total: int | None = None) -> None:
    """Say how far work is that is not counted in rows of a source: runs, attacks, parts of a page."""
    listener = _listener.get()
    if listener is not None:
        listener(label, done, total)
