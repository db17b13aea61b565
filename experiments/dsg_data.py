"""The tables of `dsg.py`: real patients, simulated members, independent columns, and their hierarchies."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf
from sfumato.anonymization.problem import Problem, compress
from sfumato.hierarchy import Hierarchy
from sfumato.table import Table


@dataclass(frozen=True)
class Data:
    """used: columns the model reads. extra: those it does not. high: from which outcome on it is high."""

    name: str
    rows: pa.Table
    used: tuple[str, ...]
    extra: tuple[str, ...]
    outcome: str
    high: float
    hierarchies: Mapping[str, Hierarchy]


def by_width(values: Sequence[str], widths: Sequence[int]) -> Hierarchy:
    """Whole numbers in wider and wider ranges."""
    return Hierarchy.of_rows(
        [(v, *(f"{int(v) // w * w}-{int(v) // w * w + w - 1}" for w in widths), "*") for v in values]
    )


def by_group(values: Sequence[str], group: Callable[[str], str] | None = None) -> Hierarchy:
    return Hierarchy.of_rows([(v, "*") if group is None else (v, group(v), "*") for v in values])


def prepared(
    name: str, table: pa.Table, used: Sequence[str], extra: Sequence[str], outcome: str, high: float,
    wide: Mapping[str, Sequence[int]], groups: Mapping[str, Callable[[str], str]],
) -> Data:  # fmt: skip
    columns = (*used, *extra)
    cells = {c: [str(v) for v in table[c].to_pylist()] for c in columns}
    values = {c: sorted(set(cells[c]), key=lambda v: (len(v), v)) for c in columns}
    hierarchies = {
        c: by_width(values[c], wide[c]) if c in wide else by_group(values[c], groups.get(c)) for c in columns
    }
    rows = pa.table({**cells, outcome: table[outcome].cast(pa.float64())})
    return Data(name, rows, tuple(used), tuple(extra), outcome, high, hierarchies)


def diabetes(folder: Path) -> Data:
    t = pq.read_table(folder / "diabetes130" / "diabetes130_categorical16.parquet")
    decade = {c: c[1:].split("-")[0] for c in set(t["age"].to_pylist())}
    t = t.set_column(t.column_names.index("age"), "age", pa.array([decade[v] for v in t["age"].to_pylist()]))
    return prepared(
        "diabetes130: days in hospital", t,
        ("age", "gender", "diag1_chapter", "diag2_chapter", "number_diagnoses", "insulin", "A1Cresult"),
        ("race", "payer_code", "medical_specialty", "admission_type_id", "admission_source_id"),
        "los_days", 7.0, {"age": (20, 40), "number_diagnoses": (3, 6)},
        {
            "insulin": lambda v: "none" if v == "No" else "some",
            "A1Cresult": lambda v: v if v == "None" else "tested",
        },
    )  # fmt: skip


def meps(folder: Path) -> Data:
    t = pq.read_table(folder / "meps" / "meps2004_adults.parquet")
    for c in ("use_disch", "use_rx", "pcs12"):
        t = t.set_column(t.column_names.index(c), c, pa.array(np.nan_to_num(t[c].to_numpy()).astype(int)))
    return prepared(
        "MEPS: cost of a year", t,
        ("age", "sex", "any_limitation", "pcs12", "ins_medicare", "ins_medicaid", "ins_uninsured",
         "use_disch", "use_rx"),
        ("race", "hispanic", "region", "famsize", "education", "income_category"),
        "exp_tot", 10_000.0,
        {"age": (5, 20), "pcs12": (5, 20), "use_disch": (2,), "use_rx": (5, 25), "famsize": (2,)},
        {"education": lambda v: "higher" if v in ("college", "post-college") else "other"},
    )  # fmt: skip


def simulated(rows: int = 4_000) -> Data:
    t = sf.samples.members(rows, seed=1).to_arrow()
    return prepared(
        "simulated members: cost of a year", t,
        ("age", "sex", "limitation", "insurance", "hypertension", "diabetes", "heart_disease"),
        ("race", "region", "education", "family_size"),
        "cost", 10_000.0, {"age": (5, 20), "family_size": (2,)}, {},
    )  # fmt: skip


def independent(rows: int, seed: int) -> Problem:
    """Figure 19: a place in four levels, an age, and five yes-or-no columns, all drawn apart."""
    draw = sf.Key.from_seed(seed).generator("figure 19")
    places = Hierarchy.of_rows([(f"b{i}", f"g{i // 4}", f"t{i // 16}", "*") for i in range(64)])
    ages = by_width([str(i) for i in range(90)], (5, 20))
    flag = by_group(["no", "yes"])
    columns = {"block": places, "age": ages, **{f"flag{i}": flag for i in range(5)}}
    cells = {c: [h.leaves[x] for x in draw.integers(0, len(h.leaves), rows)] for c, h in columns.items()}
    return compress(Table.from_arrow(pa.table(cells)), tuple(columns), columns)


def adult(folder: Path) -> Problem:
    table = sf.scan(folder / "adult" / "adult_arx_30162.parquet")
    hierarchies = {}
    for c in table.columns:
        with (folder / "adult" / "hierarchies_arx" / f"adult_hierarchy_{c}.csv").open() as file:
            hierarchies[c] = Hierarchy.of_rows(list(csv.reader(file, delimiter=";")))
    return compress(table, table.columns, hierarchies)
