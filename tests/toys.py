"""Three plain methods and two plain measures, to draw maps with."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.assessment.frontier import Frontier, frontier
from sfumato.assessment.frontier.grid import Candidate
from sfumato.privacy import Guarantee, KAnonymity
from sfumato.release import Release
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table


def people(rows: int = 400, seed: int = 3) -> Table:
    """Ages, sexes and diagnoses of nobody; diagnoses depend on age."""
    draw = Key.from_seed(seed).generator("people")
    age = draw.integers(20, 80, rows)
    sick = (draw.random(rows) < (age - 10) / 100).astype(int)
    data = pa.table(
        {
            "age": pa.array(age),
            "sex": pa.array(np.array(["f", "m"])[draw.integers(0, 2, rows)]),
            "dx": pa.array(np.array(["none", "flu", "gout"])[sick + sick * draw.integers(0, 2, rows)]),
        }
    )
    schema = Schema(
        (
            Column("age", Kind.NUMERIC, Role.QUASI_IDENTIFIER, "integer", edges=tuple(range(20, 81, 10))),
            Column("sex", Kind.NOMINAL, Role.QUASI_IDENTIFIER, levels=("f", "m")),
            Column("dx", Kind.NOMINAL, Role.SENSITIVE, levels=("none", "flu", "gout")),
        )
    )
    return Table.from_arrow(data, schema)


def sampled(table: Table, key: Key, *, share: float) -> Table:
    """A part of the rows."""
    rows = table.to_arrow()
    keep = key.generator("rows").random(rows.num_rows) < share
    return Table.from_arrow(rows.filter(pa.array(keep)), table.schema)


def independent(table: Table, key: Key) -> Table:
    """Each column drawn by itself."""
    rows = table.to_arrow()
    n = rows.num_rows
    columns = {c: rows[c].take(pa.array(key.generator(c).integers(0, n, n))) for c in rows.column_names}
    return Table.from_arrow(pa.table(columns), table.schema)


def coarse(table: Table, key: Key, *, width: int) -> Release:
    """Ages rounded down; promises what it does not count, which is for the map to show, not to check."""
    rows = table.to_arrow()
    ages = [a // width * width for a in rows["age"].to_pylist()]
    changed = rows.set_column(0, "age", pa.array([max(20, a) for a in ages], pa.int64()))
    return Release(Table.from_arrow(changed, table.schema), Guarantee.of(KAnonymity(2, ("age",))))


def slow(table: Table, key: Key, *, share: float, log: str) -> Table:
    """A sample that writes down that it was made. While there is a file `hold` beside, only six are made."""
    with Path(log).open("a") as file:
        file.write(f"{share}\n")
        file.flush()
        os.fsync(file.fileno())
    while Path(log).with_name("hold").exists() and len(Path(log).read_text().splitlines()) > 6:
        time.sleep(0.02)
    return sampled(table, key, share=share)


def distance(original: Table, released: Table, control: Table | None, key: Key) -> Score:
    """Total variation of age and diagnosis together."""
    p, q = (t.counts("age", "dx").dense() for t in (original, released))
    gap = 0.5 * float(np.abs(p / p.sum() - q / q.sum()).sum())
    return Score("distance", "utility", min(1.0, gap), (0, 1), "lower", "How far two columns are off.")


def copies(original: Table, released: Table, control: Table | None, key: Key) -> Score:
    """Share of originals of which an equal row is released."""
    there = set(map(tuple, (r.values() for r in released.to_arrow().to_pylist())))
    mine = [tuple(r.values()) in there for r in original.to_arrow().to_pylist()]
    return Score("copies", "risk", float(np.mean(mine)), (0, 1), "lower", "Originals that are released.")


def grid() -> list[Candidate]:
    """Two settings of two methods, and one without settings."""
    return [
        *(Candidate("sample", sampled, {"share": s}) for s in (0.1, 0.5)),
        *(Candidate("coarse", coarse, {"width": w}) for w in (5, 20)),
        Candidate("independent", independent),
    ]


def drawn(**more: object) -> Frontier:
    options = {
        "risk": copies,
        "utility": distance,
        "repeats": 2,
        "key": Key.from_seed(1),
        "workers": 1,
        "holdout": 0,
    }
    return frontier(people(), grid(), **{**options, **more})  # type: ignore[arg-type]


def values(found: Frontier) -> list[tuple[float, float]]:
    return [(p.risk.value, p.utility.value) for p in found.points]
