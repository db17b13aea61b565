"""Does the judge find what is copied, and leave other people's rows alone? Real tables, many seeds.

python benchmarks/verdict.py [--seeds 40] [--jobs 2] [--effort normal] [--data adult] [--case other,one]
                             [--out runs.jsonl]

An original, as many people outside it as the control, and a file that is judged: other people's rows, some of
them replaced by copies; or the original itself in disguise. `risk <= 0.05` must be met at least 38 of 40
times for other people, at most 4 of 40 times with 2% copies, and never for all others. Real data by
SFUMATO_DATA. With --out every run is a line of a file, and what is there already is not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd

import sfumato as sf
from sfumato.seeds import Key

FILES = {
    "adult": "adult/adult_arx_30162.parquet",
    "desynpuf": "desynpuf/desynpuf_beneficiary2008_s1.parquet",
    "diabetes130": "diabetes130/diabetic_data.parquet",
}
IDS = {"desynpuf": ["DESYNPUF_ID"], "diabetes130": ["encounter_id", "patient_nbr"]}
ROWS = 10_000
Made = tuple[pd.DataFrame, int | None]


def other(original: pd.DataFrame, rest: pd.DataFrame, rng: np.random.Generator) -> Made:
    return rest, None


def copied(share: float) -> Callable[..., Made]:
    def make(original: pd.DataFrame, rest: pd.DataFrame, rng: np.random.Generator) -> Made:
        some = original.iloc[rng.choice(len(original), round(share * len(original)), replace=False)]
        return pd.concat([some, rest.iloc[len(some) :]]), None

    return make


def one(original: pd.DataFrame, rest: pd.DataFrame, rng: np.random.Generator) -> Made:
    """One of the fifty most unusual people, by the shares of their values."""
    told = sum(
        -np.log(c.map(c.value_counts(normalize=True)).astype(float)) for _, c in original.astype(str).items()
    )
    person = int(np.argsort(-np.asarray(told))[rng.integers(50)])
    return pd.concat([original.iloc[[person]], rest.iloc[1:]]), person


def renamed(original: pd.DataFrame, rest: pd.DataFrame, rng: np.random.Generator) -> Made:
    return original.rename(columns={c: f"v{i}" for i, c in enumerate(original.columns)}), None


def recased(original: pd.DataFrame, rest: pd.DataFrame, rng: np.random.Generator) -> Made:
    return original.map(lambda v: v.upper() + " " if isinstance(v, str) else v), None


def recoded(original: pd.DataFrame, rest: pd.DataFrame, rng: np.random.Generator) -> Made:
    out = original.copy()
    for name in out.columns:
        if not pd.api.types.is_numeric_dtype(out[name]) and out[name].nunique() < 60:
            values = rng.permutation(out[name].dropna().unique())
            out[name] = out[name].map({v: i + 1 for i, v in enumerate(values)})
    return out, None


def _numbers(frame: pd.DataFrame) -> list[str]:
    out = []
    for name in frame.columns:
        numbers = pd.to_numeric(frame[name], errors="coerce")
        if numbers.notna().sum() >= 0.99 * frame[name].notna().sum() and numbers.nunique() > 8:
            out.append(name)
    return out


def jittered(original: pd.DataFrame, rest: pd.DataFrame, rng: np.random.Generator) -> Made:
    out = original.copy()
    for name in _numbers(out):
        out[name] = pd.to_numeric(out[name], errors="coerce") + rng.choice([-1, 1], len(out))
    return out, None


def rounded(original: pd.DataFrame, rest: pd.DataFrame, rng: np.random.Generator) -> Made:
    out = original.copy()
    for name in _numbers(out):
        numbers = pd.to_numeric(out[name], errors="coerce")
        step = max(1.0, 10.0 ** np.floor(np.log10(max(float(numbers.std()), 1.0))))
        out[name] = (numbers / step).round() * step
    return out, None


def shifted(original: pd.DataFrame, rest: pd.DataFrame, rng: np.random.Generator) -> Made:
    """Dates, or what is most like them, moved by another number of days for each person."""
    out = original.copy()
    dates = [c for c in out.columns if c.endswith("_DT")] or [c for c in out.columns if c == "age"]
    for name in dates:
        if name == "age" and not pd.api.types.is_numeric_dtype(out[name]):
            out[name] = rng.permutation(out[name])
        elif name == "age":
            out[name] = out[name] + rng.integers(-10, 11, len(out))
        else:
            days = pd.to_datetime(out[name], format="%Y%m%d", errors="coerce")
            moved = days + pd.to_timedelta(rng.integers(-180, 181, len(out)), unit="D")
            out[name] = moved.dt.strftime("%Y%m%d")
    return out, None


def numbered(original: pd.DataFrame, rest: pd.DataFrame, rng: np.random.Generator) -> Made:
    """Nothing but the number of the record is left."""
    ids = [c for c in original.columns if c in ("record", "DESYNPUF_ID", "encounter_id")][:1]
    out = pd.DataFrame("*", original.index, original.columns)
    out[ids] = original[ids]
    return out, None


CASES: dict[str, Callable[..., Made]] = {
    "other": other, "copied 1%": copied(0.01), "copied 2%": copied(0.02), "copied 5%": copied(0.05),
    "copied 20%": copied(0.2), "copied 100%": copied(1.0), "one": one, "renamed": renamed, "recased": recased,
    "recoded": recoded, "jittered": jittered, "rounded": rounded, "shifted": shifted, "numbered": numbered,
}  # fmt: skip


def load(folder: str, name: str, case: str) -> pd.DataFrame:
    frame = pd.read_parquet(Path(folder) / FILES[name])
    if case != "numbered":
        return frame.drop(columns=IDS.get(name, []))
    if name == "adult":
        frame.insert(0, "record", [f"A{i * 7919 % 100_003:06d}" for i in range(len(frame))])
    return frame


def run(name: str, case: str, effort: str, seed: int) -> dict[str, object]:
    frame = load(os.environ["SFUMATO_DATA"], name, case)
    rng = np.random.default_rng(seed)
    frame = frame.iloc[rng.permutation(len(frame))].reset_index(drop=True)
    rows = min(ROWS, len(frame) // 3)
    original, control, rest = (frame[i * rows : (i + 1) * rows].reset_index(drop=True) for i in range(3))
    made, person = CASES[case](original, rest, rng)
    made = made.iloc[rng.permutation(len(made))].reset_index(drop=True)
    # One person decides no share of people: there the search for copies alone is asked, and whom it names.
    limits = {"copied rows": 0.05} if case == "one" else {"risk": 0.05}
    start = time.process_time()
    found = sf.assess(
        original, made, control=control, thresholds=limits, effort=effort, key=Key.from_seed(seed),
        scope="outcome",
    )  # fmt: skip
    named = [p["row of the original"] for p in found.people]
    return {
        "outcome": found.thresholds[0].outcome,
        "sentence": found.thresholds[0].sentence,
        "because": found.because,
        "share": found["copied rows"].value if "copied rows" in found.names else float("nan"),
        "named": len(named),
        "found": bool(person in named) if person is not None else None,
        "seconds": time.process_time() - start,
    }


Runs = dict[tuple[str, str, str, int], dict[str, object]]


def read(path: Path | None) -> Runs:
    """The runs that are in a file already."""
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {(r["file"], r["case"], r["effort"], r["seed"]): r for r in lines}


def line(name: str, case: str, runs: list[dict[str, object]]) -> str:
    """What came of one case."""
    outcomes = [r["outcome"] for r in runs]
    met, unmet = outcomes.count("met"), outcomes.count("not met")
    found = "" if runs[0]["found"] is None else f"{sum(bool(r['found']) for r in runs)}/{len(runs)}"
    share, named, seconds = (
        float(np.nanmean([float(str(r[k])) for r in runs])) for k in ("share", "named", "seconds")
    )
    cells = (met, unmet, len(runs) - met - unmet, f"{share:.3f}", f"{named:.1f}", found, f"{seconds:.1f}")
    return f"{name:<13}{case:<13}" + "".join(f"{c:>8}" for c in cells)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--effort", default="normal")
    parser.add_argument("--data", default=",".join(FILES))
    parser.add_argument("--case", default=",".join(CASES))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--verbose", action="store_true")
    asked = parser.parse_args()
    if not os.environ.get("SFUMATO_DATA"):
        print("SFUMATO_DATA is not set: no real data here")
        return
    heads = ("met", "not", "open", "share", "named", "found", "CPU s")
    print(f"{'file':<13}{'case':<13}" + "".join(f"{h:>8}" for h in heads))
    seeds = range(asked.first, asked.first + asked.seeds)
    runs = read(asked.out)
    with ProcessPoolExecutor(asked.jobs, get_context("spawn")) as pool:
        for name, case in [(n, c) for n in asked.data.split(",") for c in asked.case.split(",")]:
            left = [s for s in seeds if (name, case, asked.effort, s) not in runs]
            for seed, found in zip(left, pool.map(partial(run, name, case, asked.effort), left), strict=True):
                one = {"file": name, "case": case, "effort": asked.effort, "seed": seed, **found}
                runs[name, case, asked.effort, seed] = one
                if asked.out is not None:
                    with asked.out.open("a") as lines:
                        lines.write(json.dumps(one) + "\n")
            here = [runs[name, case, asked.effort, s] for s in seeds]
            print(line(name, case, here), flush=True)
            if asked.verbose:
                print("   ", here[0]["sentence"], "|", here[0]["because"], flush=True)


if __name__ == "__main__":
    main()
