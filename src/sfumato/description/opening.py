"""Open data under a schema that may not fit it: to compare the two, neither may refuse the other."""

from __future__ import annotations

import warnings
from typing import Any

from sfumato.errors import SfumatoWarning
from sfumato.io import scan
from sfumato.schema import Schema
from sfumato.table import Table


def scan_as(data: Any, schema: Schema | None, **options: Any) -> Table:
    """The data with the types of the schema where it names a column, and guesses for the rest.

    All columns are kept, free text too; names of the schema that the data lacks are left out.
    """
    guessed = scan(data, keep_text=True, **options)
    if schema is None or not any(name in guessed.schema for name in schema.names):
        return guessed
    known = {c.name: c for c in schema}
    merged = Schema(tuple(known.get(c.name, c) for c in guessed.schema))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)  # said at the first look
        return scan(data, merged, keep_text=True, **options)
