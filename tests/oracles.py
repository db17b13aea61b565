"""The slow, obvious versions. What the kernels do is compared with these."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any


def plain(value: Any) -> Any:
    """A cell as the codebook means it: one kind of missing, no minus zero."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return 0.0 if value == 0 and isinstance(value, float) else value


def counts(rows: Sequence[Sequence[Any]]) -> dict[tuple[Any, ...], int]:
    """How often each combination occurs."""
    return dict(Counter(tuple(plain(v) for v in row) for row in rows))


def as_dict(counted: Any) -> dict[tuple[Any, ...], Any]:
    """`Counts` in the form of the oracle."""
    rows = [tuple(row.values()) for row in counted.to_arrow().to_pylist()]
    return {row[:-1]: row[-1] for row in rows}
