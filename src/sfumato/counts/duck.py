"""DuckDB as a tool: private connections that stay on this machine and spill to disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sfumato._interrupts import heed, interruptible
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    import duckdb

# Hospitals are offline: an extension is never fetched, nor loaded from somebody's home directory.
OFFLINE: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}


@contextmanager
def connect(memory_limit: str | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """An in-memory database with a spill directory that is removed afterwards."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="sfumato-") as spill:
        try:
            connection = duckdb.connect(
                config={**OFFLINE, "temp_directory": spill, "preserve_insertion_order": "false"}
            )
            if memory_limit is not None:
                connection.execute("SET memory_limit = ?", [memory_limit])
        except (duckdb.ParserException, duckdb.InvalidInputException):
            raise ParameterError("memory_limit is not a size.", hint="such as '2GB' or '500MB'") from None
        try:
            heed(connection)
            with interruptible():
                yield connection
        except duckdb.OutOfMemoryException:
            raise DataError(
                "the count needs more memory than its limit, even with the disk's help.",
                hint="raise memory_limit, free disk space, or count fewer columns",
            ) from None
        finally:
            connection.close()
