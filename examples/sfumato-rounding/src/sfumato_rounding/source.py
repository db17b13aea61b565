"""An address of its own: made-up://12 is a table of twelve people of nobody."""

from __future__ import annotations

import pyarrow as pa

from sfumato.errors import DataError


def open_made_up(address: str, table: str | None) -> pa.Table:
    """What Sfumato's `scan` asks for: the whole address, and what was said of a table in it."""
    rows = address.partition("://")[2]
    if not rows.isdecimal() or not 0 < int(rows) <= 100_000:
        raise DataError("a made-up address names how many rows there are.", hint="made-up://100")
    ages = [20 + (7 * n) % 60 for n in range(int(rows))]
    return pa.table({"age": ages, "sex": [("female", "male")[n % 2] for n in range(int(rows))]})
