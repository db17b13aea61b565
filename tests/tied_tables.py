"""A table whose columns constraints tie in every way, for the tests of synthesizers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from declared import PUBLIC

import sfumato as sf
from sfumato.synthesis.constraints import Constraint, Implies, Never, Ordered, Within

GROUPS = {f"g{i}": [f"g{i}c{j}" for j in range(12)] for i in range(5)}
BINS = tuple(range(0, 41, 4))


def column(name: str, **more: Any) -> sf.Column:
    kind = sf.Kind.NUMERIC if "edges" in more else sf.Kind.NOMINAL
    return sf.Column(name, kind, **{"missing": False, "provenance": PUBLIC, **more})


SCHEMA = sf.Schema(
    (
        column("group", levels=tuple(GROUPS)),
        column("code", levels=tuple(c for codes in GROUPS.values() for c in codes), missing=True),
        column("first", type="integer", edges=BINS),
        column("last", type="integer", edges=BINS),
        column("ward", levels=tuple("abcd")),
        column("floor", levels=tuple("ABCD")),
        column("sex", levels=("f", "m")),
    )
)
TIED: tuple[Constraint, ...] = (
    Within("code", "group", GROUPS),
    Ordered("first", "last"),
    *(Implies({"ward": w}, {"floor": w.upper()}) for w in "abcd"),
    Never({"sex": "m", "group": "g4"}),
)


def people(rows: int, seed: int) -> sf.Table:
    """Codes by a steep law, stays of a few days, and more old codes in men."""
    random = np.random.default_rng(seed)
    sex = random.choice(["f", "m"], rows)
    group = np.where(sex == "m", random.integers(0, 4, rows), random.integers(0, 5, rows))
    code = np.minimum(random.geometric(0.3, rows) - 1, 11)
    first = random.integers(0, 38, rows)
    ward = random.choice(list("abcd"), rows, p=[0.6, 0.2, 0.15, 0.05])
    data = {
        "group": [f"g{g}" for g in group],
        "code": [None if c == 11 else f"g{g}c{c}" for g, c in zip(group, code, strict=True)],
        "first": first,
        "last": np.minimum(first + random.poisson(3, rows), 40),
        "ward": ward,
        "floor": [w.upper() for w in ward],
        "sex": sex,
    }
    return sf.Table.from_arrow(pa.table(data), SCHEMA)


def shares(table: sf.Table, name: str) -> Any:
    counts = table.counts(name).dense()
    return counts / counts.sum()
