"""One plan here and on Spark (`local-cluster[2,1,1024]`: two executors, processes of their own).

    python benchmarks/scale.py [rows]
    python benchmarks/scale.py --generalize ROWS ...

Simulated discharges as Parquet in eight files; a plan of two releases, PeGS and PLUGS in four parts. Compared
first: the counts of all pairs of columns, the profiles that both runs kept, and the rows that executors wrote
against those drawn here under the same key. Then the time of the run (without Spark's start) over that
of the local one, and the peak memory of the driver's Python with four times the rows over that with one:
flat is 1. On one machine the executors share its processors, so that Spark is slower: it is for data that
one machine cannot hold.

With --generalize a table of each size is generalized by `optimal` on Spark (five columns, k = 5): processor
time of driver and executors for each million rows, and the peak of the driver's Python. Both should be flat.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import pyarrow.parquet as pq

import sfumato as sf
from sfumato.io.spark import parquet_on_spark
from sfumato.plan import Plan
from sfumato.plan.drift import read as profile
from sfumato.synthesis.lugs.parallel import PLUGS

MASTER = "local-cluster[2,1,1024]"
COLUMNS = sf.samples.DISCHARGE_VARIABLES[:7]
PARTS = 4
SIZES = {"age": 100, "zip": 100, "sex": 2, "month": 12, "ward": 8}  # of the table that is generalized
PLAN = """\
sfumato_plan = 2
[input]
data = "data.parquet"
schema = "schema.toml"
[prepare]
redundant = "ignore"
[[steps]]
name = "pegs"
method = "pegs"
alpha = 1.0
choose = "data"
rows = {pegs}
[[steps]]
name = "plugs"
method = "plugs"
of = "input"
lugs = {{ log_l = 0.05 }}
partitions = {parts}
rows = {plugs}
[assess]
skip = true
"""


def prepared(folder: Path, rows: int) -> Path:
    """Data in eight files, the schema, and the plan."""
    table = sf.samples.discharges(rows, seed=1).select(COLUMNS)
    (folder / "data.parquet").mkdir(parents=True)
    arrow, step = table.to_arrow(), -(-rows // 8)
    for i in range(8):
        pq.write_table(arrow.slice(i * step, step), folder / "data.parquet" / f"part-{i}.parquet")
    (folder / "schema.toml").write_text(sf.samples.signed_schema(table.schema).to_toml())
    (folder / "plan.toml").write_text(PLAN.format(pegs=2 * rows, plugs=rows // 2, parts=PARTS))
    return folder


def one(engine: str, folder: Path) -> None:
    """Run the plan in this process, and print what it took."""
    plan = Plan.read(folder / "plan.toml")
    data = folder / "data.parquet"
    if engine == "here":
        start = time.perf_counter()
        plan.run(folder / engine)
        print(json.dumps({"seconds": time.perf_counter() - start, "peak": _peak()}))
        return
    with parquet_on_spark(str(data), MASTER) as frame:
        frame.count()  # the executors are there
        start = time.perf_counter()
        plan.run(folder / engine, input=frame)
        seconds, peak = time.perf_counter() - start, _peak()
        pairs = list(combinations(COLUMNS, 2))
        there, here = (sf.scan(d, plan.schema).tabulate(pairs) for d in (frame, data))
        same = all((there[p].dense() == here[p].dense()).all() for p in pairs)
    print(json.dumps({"seconds": seconds, "peak": peak, "counts": same, "tables": len(pairs)}))


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(engine: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", engine, str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def same_rows(folder: Path) -> dict[str, bool]:
    """What the executors wrote, against the same drawn here under the key of their release."""
    plan = Plan.read(folder / "plan.toml")
    table = sf.scan(folder / "data.parquet", plan.schema)
    methods = {
        "pegs": sf.PeGS(alpha=1.0, choose="data"),
        "plugs": PLUGS(sf.LUGS(log_l=0.05), PARTS),
    }
    found = {}
    for name, method in methods.items():
        release = sf.Release.load(folder / "spark" / name)
        assert release.internal is not None and sf.verify(folder / "spark" / name).ok
        rows = int(release.internal.plan["rows"])
        drawn = method.fit(table).sample(rows, key=release.internal.key)
        found[name] = drawn.data.to_arrow().equals(release.data.to_arrow())
    return found


def simulated(folder: Path, rows: int) -> Path:
    """Five columns of skewed draws and a charge, in files of a million rows."""
    import numpy as np
    import pyarrow as pa

    data = folder / "data.parquet"
    data.mkdir(parents=True)
    generator = np.random.default_rng(1)
    for i in range(-(-rows // 1_000_000)):
        n = min(1_000_000, rows - i * 1_000_000)
        cells = {c: (m * generator.beta(1.2, 3, n)).astype(np.int64).astype(str) for c, m in SIZES.items()}
        charge = generator.gamma(2, 1_000, n).round(2)
        pq.write_table(pa.table({**cells, "charge": charge}), data / f"part-{i:03}.parquet")
    return data


def generalize(data: Path) -> None:
    """In this process: search here, rows by executors; print what it took."""
    schema = sf.Schema((
        *(sf.Column(c, sf.Kind.NOMINAL, sf.Role.QUASI_IDENTIFIER) for c in SIZES),
        sf.Column("charge", sf.Kind.NUMERIC, type="real"),
    ))  # fmt: skip
    trees = {
        c: sf.Hierarchy.of_rows([[str(v), f"{v // 5 * 5}+", f"{v // 20 * 20} on", "*"] for v in range(m)])
        for c, m in SIZES.items()
    }
    with parquet_on_spark(str(data), MASTER) as frame:
        frame.count()
        before, others = os.times(), _started()
        release = sf.anonymize(
            sf.scan(frame, schema), sf.KAnonymity(5), method=sf.OptimalRecoding(max_suppressed=0.01),
            hierarchies=trees,
        )  # fmt: skip
        release.save(data.parent / "release")
        peak, after, theirs = _peak(), os.times(), _started() - others
        rows = release.internal.extra["rows"]["read"] if release.internal else 0
    own = after.user + after.system - before.user - before.system
    print(json.dumps({"rows": rows, "driver": own, "executors": theirs, "peak": peak}))


def _started() -> float:
    """Processor seconds of all processes below this one, and of those that ended below them (Linux)."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        found[int(stat.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    mine, ticks = {os.getpid()}, 0
    while below := {p for p, (parent, _) in found.items() if parent in mine} - mine:
        mine |= below
        ticks += sum(found[p][1] for p in below)
    return ticks / os.sysconf("SC_CLK_TCK")


def flat(sizes: list[int]) -> None:
    for rows in sizes:
        with tempfile.TemporaryDirectory(prefix="sfumato-scale-") as home:
            data = simulated(Path(home), rows)
            command = [sys.executable, __file__, "--one-generalized", str(data)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            million = found["rows"] / 1e6
            print(f"{found['rows']:,} rows: driver {found['driver'] / million:.2f} s, executors and JVM "
                  f"{found['executors'] / million:.2f} s per million rows; driver's Python at most "
                  f"{found['peak']:.0f} MB", flush=True)  # fmt: skip


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory(prefix="sfumato-scale-") as home:
        small, large = prepared(Path(home) / "small", rows), prepared(Path(home) / "large", 4 * rows)
        here, there, more = measured("here", small), measured("spark", small), measured("spark", large)
        rows_agree = same_rows(small)
        kept = [profile(small / engine / "pegs") for engine in ("here", "spark")]
        files = sorted(p.name for p in (small / "spark" / "pegs" / "public" / "data.parquet").iterdir())
        print(f"{rows:,} rows in, {2 * rows:,} drawn by PeGS and {rows // 2:,} by PLUGS in {PARTS} parts")
        print(f"counts of {there['tables']} pairs equal: {there['counts'] and more['counts']}; "
              f"profiles equal: {kept[0].equals(kept[1])}")  # fmt: skip
        print("rows equal for the same key: " + ", ".join(f"{k} {v}" for k, v in rows_agree.items()))
        print(f"files written by executors: {len(files)}")
        print(f"time on Spark / here: {there['seconds'] / here['seconds']:.1f} "
              f"({there['seconds']:.1f} s, {here['seconds']:.1f} s)")  # fmt: skip
        print(f"driver's peak memory, 4 x the rows / 1 x: {more['peak'] / there['peak']:.2f} "
              f"({more['peak']:.0f} MB, {there['peak']:.0f} MB; here: {here['peak']:.0f} MB)")  # fmt: skip
        agree = there["counts"] and more["counts"] and kept[0].equals(kept[1]) and all(rows_agree.values())
        if not agree:
            sys.exit("what came out is not the same")


if __name__ == "__main__":
    if "--one-generalized" in sys.argv:
        generalize(Path(sys.argv[2]))
    elif "--generalize" in sys.argv:
        flat([int(n) for n in sys.argv[2:]] or [1_000_000, 5_000_000])
    elif "--one" in sys.argv:
        one(sys.argv[2], Path(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
