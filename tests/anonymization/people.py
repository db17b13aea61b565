"""People by age and place, with a diagnosis and a charge."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import sfumato as sf

AGES = sf.Hierarchy.of_rows([[str(v), f"{v // 2 * 2}+", f"{v // 4 * 4}+", "*"] for v in range(8)])
PLACES = sf.Hierarchy.of_rows([["n1", "n", "*"], ["n2", "n", "*"], ["s1", "s", "*"], ["s2", "s", "*"]])
BOTH = {"age": AGES, "place": PLACES}


def table(n: int = 400, seed: int = 1, persons: bool = False, first: int = 0) -> sf.Table:
    g = np.random.default_rng(seed)
    data = {
        "age": [str(v) for v in g.integers(0, 8, n)],
        "place": g.choice(["n1", "n2", "s1", "s2"], n),
        "dx": g.choice(["a", "b", "c"], n),
        "charge": g.gamma(2, 100, n),
    }
    roles = {"age": sf.Role.QUASI_IDENTIFIER, "place": sf.Role.QUASI_IDENTIFIER}
    columns = [
        sf.Column(c, sf.Kind.NUMERIC if c == "charge" else sf.Kind.NOMINAL, roles.get(c, sf.Role.OTHER))
        for c in data
    ]
    if persons:
        data = {"id": [f"P{first + i}" for i in range(n)], **data}
        columns = [sf.Column("id", sf.Kind.NOMINAL, sf.Role.PERSON), *columns]
    return sf.Table.from_arrow(pa.table(data), sf.Schema(tuple(columns)))
