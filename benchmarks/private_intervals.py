"""Intervals of a private model on Adult: how often they hold the full table's own cells and coefficients.

Real data by SFUMATO_DATA. Epsilon 1, delta 1e-9: each repeat measures the table anew. 200 cells of single
columns and measured pairs, 21 coefficients of three regressions. Wanted of 90% intervals over 50 repeats: 87
to 93% of the cells, 85 to 95% of the coefficients. --repeats N, --epsilon E.
"""

from __future__ import annotations

import argparse
import os
import time
from itertools import combinations
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from private import DELTA, Case

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.privacy import Budget, Ledger
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.private.exact_counts import count
from sfumato.synthesis.private.intervals import noisy_table, reach_of
from sfumato.synthesis.private.linear_models import least_squares, regression
from sfumato.synthesis.private.measurement import measure
from sfumato.synthesis.private.purse import Purse
from sfumato.synthesis.private.variables import DomainVariables

CELLS = 200


def main() -> None:
    """Measure again and again, and count."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=50)
    options.add_argument("--epsilon", type=float, default=1.0)
    asked = options.parse_args()
    folder = os.environ.get("SFUMATO_DATA", "")
    if not folder:
        print("  SFUMATO_DATA is not set: no real data here")
        return
    table = Case("adult", Path(folder)).train
    domain = Domain.of(table.schema)
    variables, codes = DomainVariables.of(domain), table.encode().codes.astype(np.int64)
    counted = count(table, domain, variables, 1)
    label = domain.names[-1]
    models = [(label, ["relationship", "sex"]), (label, ["hours"]), (label, ["sex"])]
    truths = []
    for outcome, columns in models:
        features, y = regression(domain, outcome, columns, [])
        x = np.array([f.values[codes[f.column]] if f.column is not None else np.ones(codes.shape[1])
                      for f in [*features, y]])  # fmt: skip
        truths.append((features, y, np.linalg.lstsq(x[:-1].T, x[-1], rcond=None)[0]))
    rho = sf.PrivateSynthesizer(asked.epsilon, DELTA).rho
    random, cells, coefficients, refused = np.random.default_rng(0), [], [], 0
    reach, started = reach_of(0.9, "Gaussian"), time.process_time()
    sets = [*((j,) for j in range(len(domain.sizes))), *combinations(range(len(domain.sizes)), 2)]
    for _ in range(asked.repeats):
        ledger = Ledger.in_memory(Budget(rho=rho))
        grant = ledger.grant(rho=ledger.budget.amount, purpose="benchmark")
        measured = measure(counted, Purse(grant, 1), variables)
        z = []
        for places in sets:
            try:
                found = noisy_table(domain, measured, places)
            except ParameterError:
                continue  # not measured
            shape = [domain.sizes[j] for j in places]
            truth = np.bincount(np.ravel_multi_index(codes[list(places)], shape), minlength=found.counts.size)
            z += ((found.counts.ravel() - truth) / found.errors.ravel()).tolist()
        cells.append(np.abs(random.choice(z, CELLS, replace=False)) <= reach)
        for features, y, truth in truths:
            try:
                b = least_squares(domain, measured, features, y, "data", codes.astype(np.uint16))
            except ParameterError:
                refused += 1
                continue
            coefficients.append(np.abs(b.estimates - truth) <= reach * b.errors)
    spent = (time.process_time() - started) / asked.repeats
    number = sum(len(f) for f, _, _ in truths)
    print(f"  {CELLS} cells: {np.mean(cells):.1%} of {np.size(cells):,} held (wanted: 87% to 93%)")
    share = np.mean(np.concatenate(coefficients)) if coefficients else float("nan")
    print(f"  {number} coefficients of {label}: {share:.1%} held (wanted: 85% to 95%), {refused} of "
          f"{len(models) * asked.repeats} regressions refused; {spent:.1f} CPU s a repeat")  # fmt: skip


if __name__ == "__main__":
    main()
