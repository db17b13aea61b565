"""The private synthesizer against AIM and MST: distances of pairs and triples, AUC, CPU seconds.

Real data by SFUMATO_DATA; AIM and MST run on mbi's estimator in an environment of its own (make peers
PEERS=mbi), one seed at epsilon 1, each for at most --limit seconds of the clock (AIM takes about 400 CPU
seconds); one that takes longer is said to have been stopped. --seeds N, --quick (one seed, no peers),
--peers mst,aim (or none), --only adult|diabetes130|brfss.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import peers
import sfumato as sf

WANTED = {
    ("adult", 0.1): (0.082, 0.140, 0.83),
    ("adult", 1.0): (0.0225, 0.051, 0.893),
    ("adult", 10.0): (0.0055, 0.023, 0.905),
    ("diabetes130", 1.0): (0.0205, 0.047, 0.60),
}
DELTA = 1e-9


class Case:
    """Training rows, test rows, sizes; the last column is the label."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        if name == "brfss":
            self._brfss(folder / "brfss" / "brfss2015_diabetes_indicators.parquet")
            return
        base = folder / {"adult": "adult/bench13", "diabetes130": "diabetes130/bench14"}[name]
        domain = json.loads((base / "domain.json").read_text())
        self.levels = {n: tuple(map(str, levels)) for n, levels in domain.items()}
        self.train, self.test = (self._read(pq.read_table(base / f"{p}.parquet")) for p in ("train", "test"))

    def _brfss(self, path: Path) -> None:
        data = pq.read_table(path)
        names = [n for n in data.column_names if n not in ("BMI", "MentHlth", "PhysHlth")]
        names = [*(n for n in names if not n.startswith("Diabetes")), names[0]]
        cells = {n: pa.array(data[n].cast(pa.int64()).to_numpy().astype(str)) for n in names}
        self.levels = {n: tuple(sorted(set(c.to_pylist()))) for n, c in cells.items()}
        whole = pa.table(cells)
        places = np.random.default_rng(0).permutation(len(whole))
        self.train, self.test = (self._read(whole.take(p)) for p in (places[20_000:], places[:20_000]))

    def _read(self, data: pa.Table) -> sf.Table:
        columns = tuple(
            sf.Column(
                n,
                sf.Kind.NOMINAL,
                levels=levels,
                missing=False,
                provenance=sf.Provenance.declared("the benchmark", "its domain.json"),
            )
            for n, levels in self.levels.items()
        )
        text = {n: data[n].cast(pa.string()).fill_null("None") for n in self.levels}
        return sf.Table.from_arrow(pa.table(text), sf.Schema(columns))

    @property
    def sizes(self) -> list[int]:
        return [len(levels) for levels in self.levels.values()]


def codes_of(table: sf.Table) -> Any:
    return table.encode().codes.astype(np.int64)


def distance(truth: Any, rows: Any, sizes: list[int], ways: int) -> float:
    """The mean total variation over all tables of so many columns."""
    found = []
    for columns in itertools.combinations(range(len(sizes)), ways):
        shape = [sizes[j] for j in columns]
        shares = [
            np.bincount(np.ravel_multi_index(x[list(columns)], shape), minlength=int(np.prod(shape)))
            / x.shape[1]
            for x in (truth, rows)
        ]
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


def area(rows: Any, test: Any) -> float:
    """AUC of gradient boosting trained on the rows, tested on real ones."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    if len(np.unique(rows[-1])) < 2:
        return 0.5
    learnt = HistGradientBoostingClassifier(random_state=0).fit(rows[:-1].T, rows[-1])
    chance = learnt.predict_proba(test[:-1].T)
    if chance.shape[1] > 2:
        return float(roc_auc_score(test[-1], chance, multi_class="ovr"))
    return float(roc_auc_score(test[-1], chance[:, 1]))


def line(name: str, figures: Any, wanted: Any = None) -> None:
    pairs, triples, auc, seconds = figures
    target = f"  (wanted: {wanted[0]}/{wanted[1]}/{wanted[2]}, 4 s)" if wanted else ""
    print(f"  {name:24s} {pairs:.4f} / {triples:.4f} / {auc:.3f}   {seconds:6.1f} CPU s{target}", flush=True)


def ours(case: Case, epsilon: float, seeds: int) -> float:
    truth, test = codes_of(case.train), codes_of(case.test)
    method = sf.PrivateSynthesizer(epsilon, DELTA, target=list(case.levels)[-1])
    figures = []
    for _ in range(seeds):
        start = time.process_time()
        release = method.fit(case.train).sample()
        seconds = time.process_time() - start
        rows = codes_of(release.data)
        figures.append((*(distance(truth, rows, case.sizes, w) for w in (2, 3)), area(rows, test), seconds))
    mean = np.mean(figures, axis=0)
    line(f"ours, epsilon {epsilon:g}", mean, WANTED.get((case.name, epsilon)))
    return float(mean[3])


def theirs(case: Case, method: str, seconds: float, limit: float) -> None:
    truth, test = codes_of(case.train), codes_of(case.test)
    with tempfile.TemporaryDirectory() as folder:
        question = {
            "codes": f"{folder}/codes.npy", "sizes": case.sizes, "method": method, "seed": 0,
            "rho": sf.PrivateSynthesizer(1.0, DELTA).rho, "out": f"{folder}/out.npy",
        }  # fmt: skip
        np.save(question["codes"], truth.T)
        try:
            answer = peers.ask("mbi", question, seconds=limit)
        except subprocess.TimeoutExpired:
            print(f"  {method.upper()}, epsilon 1: stopped after {limit:g} seconds (--limit)", flush=True)
            return
        rows = np.load(question["out"]).T
    figures = (*(distance(truth, rows, case.sizes, w) for w in (2, 3)), area(rows, test), answer["seconds"])
    line(f"{method.upper()}, epsilon 1", figures)
    print(f"    {answer['seconds'] / seconds:.0f} times our CPU time")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--only", default="")
    options.add_argument("--peers", default="mst,aim")
    options.add_argument("--limit", type=float, default=1800.0)
    asked = options.parse_args()
    folder = os.environ.get("SFUMATO_DATA", "")
    if not folder:
        print("  SFUMATO_DATA is not set: no real data here")
        return
    warm = Case("adult", Path(folder))
    sf.PrivateSynthesizer(1.0).fit(warm.train).sample()
    print("  mean distance of pairs / of triples / AUC")
    for name in ("adult", "diabetes130", "brfss"):
        if asked.only not in ("", name):
            continue
        case = Case(name, Path(folder))
        print(f"{name}: {case.train.rows():,} rows x {len(case.sizes)} columns")
        spent = 0.0
        for epsilon in (0.1, 1.0, 10.0) if name == "adult" else (1.0,):
            took = ours(case, epsilon, 1 if asked.quick or name == "brfss" else asked.seeds)
            spent = took if epsilon == 1.0 else spent
        if peers.python_of("mbi") is None:
            print("  mbi was not built here: make peers PEERS=mbi")
        elif not asked.quick:
            for method in asked.peers.split(","):
                if method in (("mst",) if name == "brfss" else ("mst", "aim")):
                    theirs(case, method, spent, asked.limit)


if __name__ == "__main__":
    main()
