"""Five public files, untouched: one command from file to draft, what it lost before and now, and its price.

python benchmarks/plans.py [--rows N] [--once] [--pictures FOLDER] [name ...]

For each file `sfumato anonymize FILE --k 5 --out release` is run, then `sfumato run` of the plan that
it left, as if its hierarchies had been written by hand: the first may take at most 1.5 times the
processor time and the memory of the second, and both must have made the same classes. Losses of quasi-
identifiers stand beside those of the plans that `sfumato init` wrote before (plans_before.json);
columns that nest may lose at most a third of that. With --pictures each file gets a picture of both.
Needs the data folder (SFUMATO_DATA); --rows takes the first rows of each file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from html import escape
from pathlib import Path

import pyarrow.parquet as pq

FILES = {
    "SPARCS": "sparcs/sparcs2020_musculoskeletal_charges.parquet",
    "MEPS 2004": "meps/meps2004_adults.parquet",
    "BRFSS 2015": "brfss/brfss2015_diabetes_indicators.parquet",
    "DE-SynPUF inpatient": "desynpuf/desynpuf_inpatient_claims_2008_2010_s1.parquet",
    "diabetes130": "diabetes130/diabetic_data.parquet",
}
NESTED = {"SPARCS": ("permanent_facility_id", "hospital_county", "hospital_service_area")}
MOST_TIME, MOST_LOSS = 1.5, 1 / 3
BEFORE = json.loads(Path(__file__).with_name("plans_before.json").read_text())["files"]


def run(*arguments: str | Path) -> tuple[dict, float, float]:
    """What a command answers, its processor seconds and its largest memory in MB."""
    with tempfile.TemporaryFile() as out:
        command = [sys.executable, "-m", "sfumato", *map(str, arguments), "--json", "--quiet"]
        process = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        answer = out.read()
    if process.returncode not in (0, 1):  # 1: a draft, as a limit is missed
        raise SystemExit(f"{' '.join(command)} failed")
    return json.loads(answer), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def losses(release: Path) -> dict[str, float]:
    """The loss of each quasi-identifier, from the internal record."""
    record = json.loads((release / "internal" / "record.json").read_text())
    return {c["name"]: c["loss"] for c in record["extra"]["explanation"]["columns"]}


def measure(title: str, folder: Path, rows: int | None, once: bool) -> dict:
    """One file: the command, then its plan. once: take the time of the plan of before."""
    data = Path(os.environ["SFUMATO_DATA"]) / FILES[title]
    if rows is not None:
        pq.write_table(pq.read_table(data).slice(0, rows), folder / "data.parquet")
        data = folder / "data.parquet"
    answer, own, memory = run("anonymize", data, "--k", 5, "--out", folder / "release")
    if once:
        by_hand, its_memory = BEFORE[title]["cpu_seconds"], BEFORE[title]["megabytes"]
        again = folder / "release"
    else:
        again = folder / "again"
        _, by_hand, its_memory = run("run", folder / "release-plan" / "plan.toml", "--out", again)
    (judged,) = answer["assessments"].values()
    return {
        "method": answer["method"],
        "met": answer["met"],
        "limits": {t["name"]: t["outcome"] for t in judged["thresholds"]},
        "because": judged.get("because", ""),
        "advice": (judged.get("advice") or [""])[0],
        "losses": losses(folder / "release"),
        "same": losses(folder / "release").keys() == losses(again).keys(),
        "cpu_seconds": own,
        "by_hand": by_hand,
        "megabytes": memory,
        "megabytes_by_hand": its_memory,
    }


def report(title: str, found: dict, whole: bool) -> bool:
    """Print a file's figures; whether it keeps to the limits."""
    before = BEFORE[title]
    ratio = found["cpu_seconds"] / found["by_hand"]
    print(f"\n{title}: {found['method']}; {'meets its limits' if found['met'] else 'a draft'}")
    for name, outcome in found["limits"].items():
        print(f"  {outcome}: {name}")
    if not found["met"]:
        print(f"  why: {found['because']}\n  what to change: {found['advice']}")
    print(f"  {'column':<24} before   now")
    for name, loss in found["losses"].items():
        old = before["losses"].get(name)
        print(f"  {name:<24} {'' if old is None else f'{old:6.3f}':>6} {loss:6.3f}")
    price = f"{found['cpu_seconds']:.0f} CPU s and {found['megabytes']:.0f} MB in one command"
    room = found["megabytes"] / found["megabytes_by_hand"]
    alone = f"its plan alone {found['by_hand']:.0f} CPU s and {found['megabytes_by_hand']:.0f} MB"
    print(f"  {price}; {alone}: {ratio:.2f} and {room:.2f} times (at most {MOST_TIME})")
    good = ratio <= MOST_TIME and room <= MOST_TIME and found["same"]
    if whole and title in NESTED:
        old = sum(before["losses"][n] for n in NESTED[title]) / len(NESTED[title])
        new = sum(found["losses"][n] for n in NESTED[title]) / len(NESTED[title])
        good &= new <= MOST_LOSS * old
        print(f"  columns that nest lose {new:.3f} on average, {old:.3f} before: {new / old:.2f} of it")
    return good


def picture(title: str, before: Mapping[str, float], now: Mapping[str, float]) -> str:
    """Bars of what each column lost, before (pale) and now."""
    names = [n for n in now if n in before]
    height = 54 + 30 * len(names)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{height}" font-family="sans-serif" '
        f'font-size="12"><rect width="640" height="{height}" fill="#fff"/>',
        f'<text x="8" y="20" font-size="15">{escape(title)}: what quasi-identifiers lost</text>',
        '<text x="8" y="38" fill="#777">pale: before; dark: now; 0 nothing, 1 all</text>',
    ]
    for i, name in enumerate(names):
        y = 50 + 30 * i
        out.append(f'<text x="190" y="{y + 15}" text-anchor="end">{escape(name[:28])}</text>')
        for at, value, fill in ((y, before[name], "#c9b8a4"), (y + 11, now[name], "#4a3c2f")):
            out.append(f'<rect x="200" y="{at}" width="{360 * value + 1:.0f}" height="10" fill="{fill}"/>')
            out.append(f'<text x="{206 + 360 * value:.0f}" y="{at + 9}" font-size="10">{value:.3f}</text>')
    return "\n".join([*out, "</svg>\n"])


def main() -> int:
    """Measure every file, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[], help=f"some of {', '.join(FILES)}")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--once", action="store_true", help="do not run the plan again")
    given = parser.parse_args()
    if "SFUMATO_DATA" not in os.environ:
        print("SFUMATO_DATA names no folder: nothing is measured.")
        return 0
    with tempfile.TemporaryDirectory() as folder:  # loops are compiled once in an installation: not timed
        measure("SPARCS", Path(folder), 2_000, once=True)
    good, start = True, time.time()
    for title in given.names or FILES:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(title, Path(folder), given.rows, given.once)
        good &= report(title, found, given.rows is None)
        sys.stdout.flush()
        if given.pictures is not None:
            given.pictures.mkdir(parents=True, exist_ok=True)
            path = given.pictures / f"{title.lower().replace(' ', '-')}.svg"
            path.write_text(picture(title, BEFORE[title]["losses"], found["losses"]))
    print(
        f"\n{'all within the limits' if good else 'LIMITS MISSED'}; {time.time() - start:.0f} s by the clock"
    )
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
