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


# -- copies --------------------------------------------------------------------------------------------


def copy_evidence(cells: Any, person: Any, rows: Any) -> list[float]:
    """Of each row: the sum over columns of the log likelihood ratio that it is a copy of the person."""
    out = [0.0] * rows.shape[1]
    for c, own in enumerate(person):
        low = cells.first[c]
        for j, other in enumerate(rows[c]):
            a, b = low + own, low + other
            if cells.general[a] or cells.general[b]:
                continue
            if a == b:
                out[j] += math.log(0.95 / cells.shares[a] + 0.05)
            elif cells.numeric[c] and cells.place[a] >= 0 and cells.place[b] >= 0:
                steps = min(
                    1024, abs(int(cells.place[a] - cells.place[b])), abs(int(cells.scale[a] - cells.scale[b]))
                )
                near = 0.125 * min(1.0, (2 * steps + 1) / 1024) ** -0.75
                out[j] += math.log(0.05 if steps == 1024 else max(0.05, near))
            else:
                out[j] += math.log(0.05)
    return out
