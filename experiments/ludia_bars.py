"""LUDIA's default on six tables of charges, beside the groups' means (MP), and with 300 known people.

    SFUMATO_DATA=... python experiments/ludia_bars.py

Limits: the error at most 1.02 times MP's; 0.9 intervals with known people hold .88 to .95 of the others, and
their half-width is at most 2.5 times the mean error. Known people are drawn at random, three times.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import sfumato as sf
from sfumato.reconstruction.aggregate import Aggregates
from sfumato.reconstruction.baselines import MoorePenrose
from sfumato.reconstruction.ludia import LUDIA

sys.path.insert(0, str(Path(__file__).parent))
import ludia_charges
import ludia_elsewhere

KNOWN, DRAWS, INTERVAL = 300, 3, 0.9


def tables() -> list[tuple[str, pa.Table]]:
    """Each with its groups in `g` and logs of charges in `y`."""
    found = []
    stays = ludia_charges.stays(None)
    y = pc.ln(stays["total_charges"].cast(pa.float64()))
    for level, column in ludia_charges.LEVELS.items():
        part = stays.select(ludia_charges.KNOWN).append_column("g", stays[column])
        found.append((level, part.append_column("y", y)))
    _, stays, by = ludia_elsewhere.outpatients(None)
    groups = [names[0] for names in by.values()]
    for level, (column,) in by.items():
        part = stays.append_column("g", stays[column]).drop_columns(groups)
        found.append((level, part))
    return found


def measured(level: str, table: pa.Table) -> str:
    truth = table["y"].to_numpy()
    full = sf.Table.from_arrow(table)
    made, people = Aggregates.compute(full, "g", "y"), full.drop(["y"])
    means = np.abs(MoorePenrose().fit(people, made).reconstruct().numbers()[:, 0] - truth).mean()
    alone = np.abs(LUDIA().fit(people, made).reconstruct().numbers()[:, 0] - truth).mean()
    held, width, error = [], [], []
    for draw in range(DRAWS):
        some = np.random.default_rng(draw).permutation(len(truth))[:KNOWN]
        rows = LUDIA().fit(people, made, known=table.take(some)).reconstruct(interval=INTERVAL).to_arrow()
        got, low, high = (rows[n].to_numpy() for n in ("y", "y_low", "y_high"))
        off = np.abs(got - truth)
        held.append(np.delete((low <= truth) & (truth <= high), some).mean())
        width.append((high - low).mean() / 2 / off.mean())
        error.append(off.mean() / means)
    return (
        f"{level}: error / MP {alone / means:.3f}; with {KNOWN} known {np.mean(error):.3f}, intervals hold "
        f"{np.mean(held):.3f} ({min(held):.3f} to {max(held):.3f}), half-width / error {np.mean(width):.2f}"
    )


def main() -> None:
    for level, table in tables():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            print(measured(level, table), flush=True)


if __name__ == "__main__":
    main()
