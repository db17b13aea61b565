"""Linked synthesis judged by SDMetrics' report of several tables, beside two real halves and SDV's HMA.

    python benchmarks/linked_peers.py [--persons 5000] [--seed 0] [--letters 1] [--hma 0]

DE-SynPUF: fitted to some persons, held against as many others. "Real" is what those it was fitted to get from
the same report. --letters N: codes and DRGs are judged by their first letters (0: as they are), since of
thousands of levels two real halves differ most. --hma N: SDV's HMA on the first N of these persons, and ours
on the same N, both held against N others; HMA takes minutes of processor time. Both peers run in environments
of their own, on files (make peers PEERS="sdmetrics hma"). Processor seconds, compiled loops loaded before.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import linked_synthesis as data_sets

import peers
import sfumato as sf

LIMITS = {"Overall": 0.96, "Intertable Trends": 0.90}
_NUMBERS, _KEYS, _CODES = {"payment"}, {"patient_id", "stay_id"}, {"code", "drg"}


def metadata(database: sf.Database) -> dict[str, Any]:
    """What SDMetrics and SDV want to be told."""
    tables: dict[str, Any] = {}
    for name, table in database.tables.items():
        columns: dict[str, Any] = {}
        for column in table.schema:
            if column.name in _KEYS:
                columns[column.name] = {"sdtype": "id"}
            elif column.type == "date":
                columns[column.name] = {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}
            else:
                sort = "numerical" if column.name in _NUMBERS else "categorical"
                columns[column.name] = {"sdtype": sort}
        key = database.keys.get(name)
        tables[name] = {"columns": columns, **({"primary_key": key} if key else {})}
    links = [
        {
            "parent_table_name": k.parent, "parent_primary_key": k.key, "child_table_name": k.child,
            "child_foreign_key": k.column,
        }
        for k in database.links
    ]  # fmt: skip
    return {"tables": tables, "relationships": links}


def written(database: sf.Database, folder: Path, letters: int = 0) -> dict[str, str]:
    """Its tables as Parquet files; of codes the first letters."""
    folder.mkdir(parents=True)
    for name, table in database.tables.items():
        rows = table.to_arrow()
        for column in _CODES & set(rows.column_names) if letters else ():
            short = pc.utf8_slice_codeunits(rows[column].cast("string"), 0, letters)
            rows = rows.set_column(rows.column_names.index(column), column, short)
        pq.write_table(rows, folder / f"{name}.parquet")
    return {name: str(folder / f"{name}.parquet") for name in database.tables}


def drawn(data: sf.Database, seed: int) -> tuple[sf.Database, float]:
    """As many persons as the data have, and the processor seconds."""
    start = time.process_time()
    rows = sf.LinkedSynthesizer().fit(data).sample(seed=seed).data
    for table in rows.tables.values():
        table.rows()
    return rows, time.process_time() - start


def judged(original: dict[str, str], released: dict[str, str], said: dict[str, Any]) -> dict[str, float]:
    """The overall score and that of each property."""
    answer = peers.ask(
        "sdmetrics", {"original": original, "released": released, "metadata": said}, seconds=3600
    )
    return {"Overall": answer["score"], **answer["properties"]}


def show(title: str, seconds: float | None, found: dict[str, float]) -> None:
    took = "" if seconds is None else f"{seconds:8.1f} s"
    print(f"  {title:12} {took:10} " + "  ".join(f"{n} {v:.3f}" for n, v in found.items()), flush=True)


def beside(
    frames: dict[str, Any], persons: int, seed: int, letters: int, folder: Path, *, hma: bool
) -> dict[str, float]:
    """Real halves, ours and perhaps HMA's; what ours got."""
    data, others = data_sets.halves(frames, persons, seed)
    said = metadata(data)
    files = {n: written(d, folder / n, letters) for n, d in (("data", data), ("others", others))}
    by = f", codes by {letters} letter{'s' * (letters > 1)}" if letters else ""
    print(f"{persons:,} persons of DE-SynPUF against {persons:,} others{by}")
    show("real", None, judged(files["others"], files["data"], said))
    rows, seconds = drawn(data, seed)
    ours = judged(files["others"], written(rows, folder / "drawn", letters), said)
    show("ours", seconds, ours)
    if hma:
        out = {n: str(folder / f"hma_{n}.parquet") for n in files["data"]}
        question = {"tables": files["data"], "metadata": said, "out": out}
        try:
            answer = peers.ask("hma", question, seconds=7200)
        except RuntimeError as error:
            print(f"  HMA does not run here: {str(error).strip().splitlines()[-1]}")
        else:
            show("SDV's HMA", answer["cpu_seconds"], judged(files["others"], out, said))
    return ours


def main() -> None:
    """One run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--letters", type=int, default=1, help="of codes that are judged; 0: all")
    parser.add_argument("--hma", type=int, default=0, metavar="N", help="persons that HMA is given")
    asked = parser.parse_args()
    missing = [n for n in ("sdmetrics", *(["hma"] if asked.hma else [])) if peers.python_of(n) is None]
    if missing:
        print(f'not built here: make peers PEERS="{" ".join(missing)}"')
        return
    warnings.simplefilter("ignore", sf.SfumatoWarning)
    sf.LinkedSynthesizer().fit(sf.samples.hospital(100)).sample(50).data["diagnoses"].rows()
    frames, _ = data_sets.desynpuf()
    with tempfile.TemporaryDirectory() as folder:
        both = asked.hma == asked.persons
        ours = beside(frames, asked.persons, asked.seed, asked.letters, Path(folder) / "all", hma=both)
        if asked.hma and not both:
            beside(frames, asked.hma, asked.seed, asked.letters, Path(folder) / "some", hma=True)
    for name, limit in LIMITS.items():
        print(f"{name}: {ours[name]:.3f}, asked at least {limit:.2f}")


if __name__ == "__main__":
    main()
