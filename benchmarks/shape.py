"""k-member clustering and dithering: time, and the distortion of blocks against the exact algorithm.

python benchmarks/shape.py
"""

from __future__ import annotations

import time

import numpy as np

from sfumato.anonymization.shape.cluster import Clustering, k_member
from sfumato.anonymization.shape.draws import Draws
from sfumato.anonymization.shape.gaussian import GaussianDither
from sfumato.seeds import Key


def people(rows: int, seed: int = 1) -> np.ndarray:
    """Four coarse columns and a skewed cost, standardized."""
    draw = np.random.default_rng(seed)
    age = np.clip(draw.normal(3.5, 2, rows).round(), 0, 7)
    education = np.clip(draw.normal(2.5 + 0.2 * (age - 3), 1.3, rows).round(), 0, 5)
    income = np.clip(draw.normal(1.5 + 0.4 * education, 1.2, rows).round(), 0, 4)
    cost = np.exp(draw.normal(5 + 0.3 * age, 1.5))
    values = np.column_stack([draw.integers(0, 2, rows), age, education, income, cost])
    return (values - values.mean(axis=0)) / values.std(axis=0)


def main() -> None:
    points = people(15_000)
    for how in (Clustering(block=None), Clustering()):
        k_member(points[:2_000], 5, how)  # compiles
    start = time.process_time()
    k_member(points, 5, Clustering(block=None))
    print(f"15,000 rows x 5, k = 5, exact: {time.process_time() - start:.2f} s of work (wanted: .15)")
    for name, table in (
        ("coarse and skewed", people(40_000)),
        ("normal", np.random.default_rng(0).normal(size=(40_000, 5))),
    ):
        for k in (5, 20):
            exact = k_member(table, k, Clustering(block=None)).distortion
            cut = k_member(table, k).distortion
            print(f"40,000 rows, {name}, k = {k}: {cut / exact:.3f} of the exact distortion (wanted: 1.10)")
    start, work = time.perf_counter(), time.process_time()
    found = k_member(people(1_000_000), 5)
    taken = time.perf_counter() - start
    print(
        f"1,000,000 rows, k = 5: {taken:.1f} s ({time.process_time() - work:.1f} s of work), "
        f"{len(found.sizes):,} clusters (wanted: 4 s of work)"
    )
    label = k_member(points, 5).label
    law = GaussianDither().fit(points[:, :4], label, np.ones(len(points)))
    start, work = time.perf_counter(), time.process_time()
    law.uniforms(law.draw(label, Draws(Key.from_seed(1))))
    print(
        f"Gaussian dither of 15,000 rows, k = 5: {time.perf_counter() - start:.1f} s "
        f"({time.process_time() - work:.1f} s of work; wanted: within a minute)"
    )


if __name__ == "__main__":
    main()
