"""LUGS against the number of rows: time of fit and sample per row, and of a neighbour search.

    python benchmarks/lugs.py [largest] [--out DIR]      # --out: the same as a picture, lugs_time.svg

Simulated discharges, 7 columns, as many rows drawn as learnt from. CPU seconds, one thread, after warm-up.
The last figure is the time that one unseen key takes to find its nearest rows: if it grew with n as a scan
does, it would grow a hundredfold from 1e4 to 1e6.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np

import sfumato as sf
from sfumato._compilation import compiled
from sfumato.synthesis.lugs import _kernels

COLUMNS = sf.samples.DISCHARGE_VARIABLES[:7]
SEARCHES = 20_000


@compiled
def search(rows: np.ndarray, words: np.ndarray, index: _kernels.Index) -> int:
    """How many rows have a neighbour within reach."""
    found = 0
    for r in range(len(rows)):
        if _kernels.neighbour(rows[r], 0, index, words[r]) >= 0:
            found += 1
    return found


def searched(codes: np.ndarray, index: _kernels.Index, sizes: tuple[int, ...]) -> tuple[float, float]:
    """Microseconds to find a neighbour of a row with two values changed at random; how often one is found."""
    draw = np.random.default_rng(0)
    rows = codes[draw.integers(0, len(codes), SEARCHES)].copy()
    for _ in range(2):
        j = draw.integers(0, len(sizes), SEARCHES)
        rows[np.arange(SEARCHES), j] = draw.integers(0, np.array(sizes)[j])
    words = draw.integers(0, 2**63, SEARCHES).astype(np.uint64)
    search(rows[:1], words, index)
    start = time.process_time()
    found = search(rows, words, index)
    return (time.process_time() - start) / SEARCHES * 1e6, found / SEARCHES


def measure(n: int, hashes: int) -> tuple[float, float, float, float]:
    table = sf.samples.discharges(n, seed=1).select(COLUMNS)
    encoded = table.encode(COLUMNS).codes.T.astype(np.uint16)
    method = sf.LUGS(log_l=0.1, hashes=hashes, columns=COLUMNS, cap=True)
    start = time.process_time()
    fitted = method.fit(table, key=sf.Key.from_seed(1))
    learnt = time.process_time() - start
    for _ in fitted.codes(n, sf.Key.from_seed(2)):
        pass
    drawn = time.process_time() - start - learnt
    return learnt, drawn, *searched(np.ascontiguousarray(encoded), fitted.learnt.index, fitted.domain.sizes)


def picture(lines: list[dict[str, Any]], out: Path) -> None:
    """Seconds of fit and sample, and microseconds of a search, against the number of rows, in powers.

    Dashed: what it would be if it grew with the rows, from the first point on.
    """
    import vl_convert

    def panel(field: str, title: str) -> dict[str, Any]:
        x = {"field": "rows", "type": "quantitative", "scale": {"type": "log"}, "title": "rows"}
        y = {"field": field, "type": "quantitative", "scale": {"type": "log"}, "title": title}
        colour = {"field": "keys", "type": "nominal", "title": None}
        scan = {"field": f"{field} if linear", "type": "quantitative"}
        dashes = {"type": "line", "strokeDash": [4, 4]}
        return {"width": 260, "height": 220, "layer": [
            {"mark": {"type": "line", "point": True}, "encoding": {"x": x, "y": y, "color": colour}},
            {"mark": dashes, "encoding": {"x": x, "y": scan, "color": colour}},
        ]}  # fmt: skip

    whole = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json", "data": {"values": lines},
        "hconcat": [panel("seconds", "fit and sample, CPU seconds"), panel("search", "a search, us")],
    }  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    (out / "lugs_time.svg").write_text(vl_convert.vegalite_to_svg(json.dumps(whole)))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("largest", type=float, nargs="?", default=1e6)
    options.add_argument("--out", type=Path)
    asked = options.parse_args()
    largest, lines = int(asked.largest), []
    sizes = [n for n in (10_000, 100_000, 1_000_000) if n <= largest]
    if asked.out is not None:
        sizes = sorted({*sizes, *(n for n in (30_000, 300_000) if n <= largest)})
    measure(2_000, 2), measure(2_000, 0)
    for hashes in (2, 0):
        print(f"  {f'{hashes} min-hashes' if hashes else 'exact keys'}, 7 columns")
        first: tuple[float, float] | None = None
        for n in sizes:
            learnt, drawn, search, share = measure(n, hashes)
            each = (learnt + drawn) / n * 1e6
            first = first or (each, search)
            grown = n / sizes[0]
            lines.append({"rows": n, "keys": f"{hashes} min-hashes" if hashes else "exact keys",
                          "seconds": learnt + drawn, "seconds if linear": first[0] * 1e-6 * n,
                          "search": search, "search if linear": first[1] * grown})  # fmt: skip
            print(
                f"    {n:9,} rows: fit {learnt:6.2f} s, sample {drawn:6.2f} s, {each:5.2f} us a row "
                f"({each / first[0]:.2f} times the first); a search {search:5.1f} us "
                f"({search / first[1]:.2f} times, rows {n // sizes[0]} times; {share:.0%} found)",
                flush=True,
            )
    if asked.out is not None:
        picture(lines, asked.out)


if __name__ == "__main__":
    main()
