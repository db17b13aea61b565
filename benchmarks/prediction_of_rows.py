"""An intruder who predicts against the 1/k of resampling: records that are found more often than that.

python benchmarks/prediction_of_rows.py [plays [keep] [join] [apart]]

Adult, 2,000 rows, k = 10, relationship kept (SFUMATO_DATA). By their quasi-identifiers alone no record is
found more often than 1/k; `relationship` follows from sex, marital status and age, and gives some away.
Wanted: some twenty records above 1/k beyond doubt; with the mend (join, apart) none.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf
from sfumato.assessment.attacks import by_key, sharp
from sfumato.assessment.attacks.prediction import played
from sfumato.assessment.reading.alignment import Pair
from sfumato.table import Table

KNOWN = ("age", "sex", "race", "marital-status", "education-num", "hours-per-week")
ROWS, K = 2_000, 10


def people(folder: Path) -> Table:
    """2,000 adults, each with a number that is kept."""
    rows = pq.read_table(folder / "adult" / "adult_uci_48842.parquet")
    chosen = np.sort(np.random.default_rng(0).choice(len(rows), ROWS, replace=False))
    some = rows.take(pa.array(chosen)).select([*KNOWN, "relationship"])
    return Table.from_arrow(some.append_column("number", pa.array(np.arange(ROWS))))


def plays(table: Table, rounds: int, predicted: str) -> Iterator[tuple[Pair, np.ndarray]]:
    """Releases made anew, each with whose row is whose."""
    columns = [*KNOWN, "relationship"]
    for seed in range(rounds):
        method = sf.ClusterResample(columns=KNOWN, predicted=predicted)
        release = sf.anonymize(table, sf.KAnonymity(K), method=method, key=sf.Key.from_seed(seed))
        own = by_key(table, release.data, "number")
        yield sharp(table.select(columns), release.data.select(columns)), own


def main(rounds: int, predicted: str) -> None:
    table = people(Path(os.environ["SFUMATO_DATA"]))
    start = time.process_time()
    found = played(plays(table, rounds, predicted), KNOWN, key=sf.Key.from_seed(0), k=K, rounds=rounds)
    work = time.process_time() - start
    print(f"{rounds} plays, {ROWS:,} records, k = {K}: {work / rounds:.2f} s of work a play")
    print(f"found on average: {found.chance.mean():.4f} (1/k is {1 / K})")
    print(f"found most often: {found.found.max()} of {rounds}")
    wanted = "some 20" if predicted == "keep" else "none"
    print(f"{predicted}: records above 1/k beyond doubt: {found.proven()} (wanted: {wanted})")


if __name__ == "__main__":
    if "SFUMATO_DATA" not in os.environ:
        print("SFUMATO_DATA is not set: nothing to measure")
    else:
        rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
        for one in sys.argv[2:] or ("keep", "join", "apart"):
            main(rounds, one)
