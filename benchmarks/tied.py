"""Detailed codes within chapters: Diabetes 130-US hospitals, 24 columns, with constraints and without.

Real data by SFUMATO_DATA. Three diagnoses at three digits (about 700 levels each) within their chapters, row
as unit, epsilon 1, delta 1e-9. Single columns should be as good with `Within` as without: --rows, --seeds.
"""

from __future__ import annotations

import argparse
import os
import time
from itertools import combinations
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf

WANTED = {"chapters": 0.01, "codes": 0.045}
DIAGNOSES = ("diag_1", "diag_2", "diag_3")
OTHERS = (
    "race", "gender", "age", "admission_type_id", "discharge_disposition_id", "admission_source_id",
    "time_in_hospital", "max_glu_serum", "A1Cresult", "metformin", "glipizide", "glyburide", "pioglitazone",
    "rosiglitazone", "insulin", "change", "diabetesMed", "readmitted",
)  # fmt: skip
LAST = (139, 239, 279, 289, 319, 389, 459, 519, 579, 629, 679, 709, 739, 759, 779, 799, 999)


def chapter(code: str) -> str:
    """The chapter of a three-digit code of ICD-9."""
    if not code.isdigit():
        return code[0]
    return f"chapter {1 + next(i for i, last in enumerate(LAST) if int(code) <= last)}"


def case(folder: Path, rows: int) -> tuple[sf.Table, list[sf.Within]]:
    """The table, and which code belongs to which chapter."""
    data = pq.read_table(folder / "diabetes130" / "diabetic_data.parquet")
    cells: dict[str, list[str | None]] = {}
    rules = []
    for name in DIAGNOSES:
        codes = [None if c in (None, "?") else c.split(".")[0] for c in data[name].to_pylist()]
        members: dict[str, list[str]] = {}
        for code in sorted({c for c in codes if c is not None}):
            members.setdefault(chapter(code), []).append(code)
        cells[f"{name}_chapter"] = [None if c is None else chapter(c) for c in codes]
        cells[name] = codes
        rules.append(sf.Within(name, f"{name}_chapter", members))
    for name in OTHERS:
        cells[name] = [None if c is None else str(c) for c in data[name].to_pylist()]
    by = sf.Provenance.declared("the benchmark", "the code book of ICD-9 and the data's own")
    columns = tuple(
        sf.Column(n, sf.Kind.NOMINAL, levels=tuple(sorted(set(c) - {None})), missing=True, provenance=by)  # type: ignore[type-var]
        for n, c in cells.items()
    )
    some = np.sort(np.random.default_rng(0).permutation(len(data))[:rows])
    return sf.Table.from_arrow(pa.table(cells).take(some), sf.Schema(columns)), rules


def distance(truth: Any, rows: Any, *size: int) -> float:
    """Total variation of one column, or of two."""
    shares = [
        np.bincount(np.ravel_multi_index(list(x), size), minlength=int(np.prod(size))) / x.shape[1]
        for x in (truth, rows)
    ]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def main() -> None:
    """Fit with constraints and without, and print how far single columns and pairs are from the data."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=101_766)
    options.add_argument("--seeds", type=int, default=1)
    asked = options.parse_args()
    folder = os.environ.get("SFUMATO_DATA", "")
    if not folder:
        print("  SFUMATO_DATA is not set: no real data here")
        return
    table, rules = case(Path(folder), asked.rows)
    truth, sizes = table.encode().codes.astype(np.int64), [c.size for c in table.schema]
    sizes = [int(s or 0) for s in sizes]
    short = [j for j, size in enumerate(sizes) if size < 100]
    print(f"  {truth.shape[1]:,} rows x {len(sizes)} columns; at most {WANTED['chapters']} for chapters, "
          f"{WANTED['codes']} for codes")  # fmt: skip
    for label, constraints in (("without constraints", ()), ("codes within chapters", tuple(rules))):
        figures = []
        for _ in range(asked.seeds):
            start = time.process_time()
            method = sf.PrivateSynthesizer(1.0, 1e-9, target="readmitted", constraints=constraints)
            rows = method.fit(table).sample().data.encode().codes.astype(np.int64)
            seconds = time.process_time() - start
            one = [distance(truth[[j]], rows[[j]], sizes[j]) for j in range(len(sizes))]
            two = [
                distance(truth[[a, b]], rows[[a, b]], sizes[a], sizes[b]) for a, b in combinations(short, 2)
            ]
            figures.append((max(one[0:6:2]), max(one[1:6:2]), np.mean(one[6:]), np.mean(two), seconds))
        chapters, codes, others, pairs, seconds = np.mean(figures, axis=0)
        print(f"  {label:22s} chapters {chapters:.4f}  codes {codes:.4f}  other columns {others:.4f}  "
              f"pairs {pairs:.4f}   {seconds:.1f} CPU s", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
