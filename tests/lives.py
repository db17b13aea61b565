"""Persons with birth and death, their visits, and tests of each visit: linked tables, public or not."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.schema import Provenance

DAY = date(2020, 1, 1)
PERIOD = ("2020-01-01", "2021-12-31")
BOUNDS = {"visits": 3, "tests": 2}
SAID = Provenance.declared("a test", "made up for it")
_YEARS = tuple(date(y, 1, 1) for y in range(1990, 2031, 4))
_DOMAINS: dict[str, dict[str, dict[str, Any]]] = {
    "people": {
        "birth_date": {"edges": _YEARS, "clamp": True}, "death_date": {"edges": _YEARS, "clamp": True},
        "sex": {"levels": ("f", "m")},
    },
    "visits": {"ward": {"levels": ("a", "b", "c")}},
    "tests": {"test": {"levels": tuple(f"T{i}" for i in range(9))}},
}  # fmt: skip


def lives(persons: int = 60, seed: int = 0, **more: Any) -> sf.Database:
    """Persons with birth and death, some born in the study and some dead in it; visits, and tests of each."""
    rng = np.random.default_rng(seed)
    born = [DAY + timedelta(int(d)) for d in rng.integers(-9000, 300, persons)]
    died = [
        b + timedelta(int(max((DAY - b).days, 0) + d)) if d < 500 else None
        for b, d in zip(born, rng.integers(30, 2500, persons), strict=True)
    ]
    visits: dict[str, list[Any]] = {n: [] for n in ("visit_id", "person_id", "from_date", "to_date", "ward")}
    tests: dict[str, list[Any]] = {n: [] for n in ("visit_id", "person_id", "test")}
    for p in range(persons):
        at = max(DAY, born[p])
        last = min(died[p] or date(2021, 12, 31), date(2021, 12, 31))
        for _ in range(int(rng.integers(0, 5))):
            at += timedelta(int(rng.integers(0, 120)))
            if at > last:
                break
            visit = len(visits["visit_id"]) + 1
            end = at + timedelta(int(rng.integers(0, 5)))
            row = (visit, f"P{p}", at, min(end, last), "abc"[int(rng.integers(0, 3))])
            for column, value in zip(visits, row, strict=True):
                visits[column].append(value)
            for t in rng.choice(9, int(rng.integers(0, 4)), replace=False):
                for column, value in zip(tests, (visit, f"P{p}", f"T{t}"), strict=True):
                    tests[column].append(value)
    people = {
        "person_id": [f"P{p}" for p in range(persons)], "birth_date": born, "death_date": died,
        "sex": ["fm"[int(s)] for s in rng.integers(0, 2, persons)],
    }  # fmt: skip
    return sf.scan_database(
        {"people": pa.table(people), "visits": pa.table(visits), "tests": pa.table(tests)}, **more
    )


def public(database: sf.Database) -> sf.Database:
    """The same, all domains of which somebody has declared."""
    out = {}
    for name, table in database.tables.items():
        schema = table.schema
        for column, domain in _DOMAINS[name].items():
            schema = schema.with_(column, **domain, provenance=SAID)
        out[name] = table.with_schema(schema)
    return database.with_tables(out)


def private(epsilon: float = 1.0, **more: Any) -> sf.LinkedSynthesizer:
    """The method with an epsilon, and all that it needs for these tables."""
    return sf.LinkedSynthesizer(epsilon, **{"max_children": BOUNDS, "period": PERIOD, **more})
