"""Greedy and Partition: 1,000 rows x 10 columns against a second, all of Adult against minutes, and n.

CPU seconds after warm-up, one thread. The obvious version of literal Greedy (tests/greedy_tables.py) is run
on a small table and compared first. Adult needs the folder SFUMATO_DATA; else a simulated table stands in.
"""

from __future__ import annotations

import csv
import os
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import greedy_tables as gt

import sfumato as sf
from sfumato.anonymization.problem import Problem, compress
from sfumato.criteria import KAnonymity
from sfumato.hierarchy import Hierarchy

SEARCHES = {
    "Greedy": sf.Greedy(),
    "Greedy, literal": sf.Greedy(closed=False),
    "Beam of 5": sf.Beam(),
    "Partition": sf.Partition(),
    "Partition, printed": sf.Partition(rule="printed"),
}


def seconds(search: object, p: Problem) -> tuple[float, object]:
    """Of one search. A short one is repeated: processor time may be told in hundredths of a second."""
    start, times = time.process_time(), 0
    while not times or time.process_time() - start < 0.05:
        found, times = search.search(p, KAnonymity(5)), times + 1
    return (time.process_time() - start) / times, found


def adult() -> Problem:
    folder = os.environ.get("SFUMATO_DATA", "")
    if not folder:
        return gt.drawn(1, 20_000, 9)
    table = sf.scan(Path(folder) / "adult" / "adult_arx_30162.parquet")
    hierarchies = {}
    for c in table.columns:
        with (Path(folder) / "adult" / "hierarchies_arx" / f"adult_hierarchy_{c}.csv").open() as file:
            hierarchies[c] = Hierarchy.of_rows(list(csv.reader(file, delimiter=";")))
    return compress(table, table.columns, hierarchies)


def main() -> None:
    small = gt.drawn(0, 120, 4)
    for search in SEARCHES.values():
        search.search(small, KAnonymity(5))  # compiled kernels are not what is measured
    start = time.process_time()
    costs = sf.Height().cost(small)
    slow = [gt.bound(small, gt.greedy_set(small, costs, t, 5)) for t in range(small.combinations)]
    obvious = time.process_time() - start
    quick, found = seconds(SEARCHES["Greedy, literal"], small)
    assert [tuple(row) for row in found.nodes] == slow
    print(f"literal Greedy, {small.combinations} rows x 4: {obvious / quick:,.0f} times the obvious version")
    ten = gt.drawn(3, 1_000, 10)
    print(f"{ten.rows:,} rows x 10 columns, k = 5 (wanted: under a second)")
    for name, search in SEARCHES.items():
        used, found = seconds(search, ten)
        print(f"  {name}: {used:.3f} s, {1 / used:.0f} times below; height {sf.Height().score(found):.3f}")
    whole = adult()
    order = np.random.default_rng(0).permutation(whole.combinations)
    print(f"cost against n, of {whole.combinations:,} combinations; k = 5 (wanted: minutes)")
    for size in (1_000, 5_000, whole.combinations):
        some = np.sort(order[:size])
        part = Problem(whole.columns, whole.hierarchies, whole.leaves[some], whole.n[some])
        parts = []
        for name, search in SEARCHES.items():
            used, found = seconds(search, part)
            parts.append(f"{name} {used:.2f} s (loss {found.loss():.4f})")
        print(f"  {size:>6,}: {', '.join(parts)}")


if __name__ == "__main__":
    main()
