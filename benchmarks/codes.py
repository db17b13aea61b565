"""Local recoding beside diagnosis codes: t-closeness and l-diversity on SPARCS and DE-SynPUF, and its gap.

The loss with k alone is printed beside: what the codes cost. The bound is that of k rows, which holds for
every stronger criterion too.
"""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import sfumato as sf
from sfumato.anonymization.problem import Problem, compress
from sfumato.criteria import Criterion
from sfumato.hierarchy import Hierarchy, Suppression

DATA = Path(os.environ.get("SFUMATO_DATA", ""))
LIMIT = 60.0  # CPU seconds


def sparcs() -> tuple[Problem, str]:
    """36,631 musculoskeletal stays: county under its service area, 87 diagnosis groups."""
    plain = ["gender", "race", "ethnicity", "age", "payment_typology_1", "disposition"]
    code = "ccsr_diagnosis_code"
    table = sf.scan(DATA / "sparcs" / "sparcs2020_musculoskeletal_charges.parquet")
    both = table.counts("hospital_county", "hospital_service_area").to_arrow().to_pydict()
    counties = dict(zip(both["hospital_county"], both["hospital_service_area"], strict=True))
    books = table.codebooks([*plain, "hospital_county", "los"])
    found = {c: Suppression().over(books[c].levels.to_pylist()) for c in plain}
    names = [str(v) for v in books["hospital_county"].levels.to_pylist()]
    found["hospital_county"] = Hierarchy.of_rows([[v, f"area {counties[v]}", "*"] for v in names])
    days = [str(v) for v in books["los"].levels.to_pylist()]
    found["los"] = Hierarchy.of_rows([[v, *_weeks(int(float(v))), "*"] for v in days])
    return compress(table, list(found), found, sensitive=[code]), code


def _weeks(days: int) -> tuple[str, str]:
    week = min((days - 1) // 7, 4)
    return (f"{days} d" if days < 8 else f"week {week + 1}", f"{'up to two weeks' if week < 2 else 'longer'}")


def main() -> None:
    """One line per criterion and effort."""
    if not DATA.name:
        print("SFUMATO_DATA is not set: nothing to measure on")
        return
    problem, code = sparcs()
    asked: list[tuple[str, Criterion]] = [
        ("k = 5", sf.KAnonymity(5)),
        ("k = 5, l = 3", sf.KAnonymity(5) & sf.LDiversity(3, code)),
        ("k = 5, t = .3", sf.KAnonymity(5) & sf.TCloseness(0.3, code)),
    ]
    sf.LocalRecoding("fast", work_limit=1_000).search(problem, sf.KAnonymity(3))  # compiles
    print(f"SPARCS: {problem.rows:,} rows, {problem.combinations:,} combinations, "
          f"{problem.sensitive[code].levels} codes")  # fmt: skip
    print("effort    asked            loss    start   bound   gap     CPU s   peak MB")
    for effort in ("fast", "thorough"):
        for name, criterion in asked:
            began = time.process_time()
            found = sf.LocalRecoding(effort).search(problem, criterion).about  # type: ignore[arg-type]
            spent = time.process_time() - began
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(
                f"{effort:9} {name:15}  {found['score']:.4f}  {found['start']:.4f}  {found['bound']:.4f}  "
                f"{found['gap']:.4f}  {spent:5.1f}   {memory}",
                flush=True,
            )


if __name__ == "__main__":
    main()
