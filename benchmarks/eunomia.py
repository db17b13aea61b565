"""OHDSI's small CDM all the way at the command line: init, pseudonyms, k^m, synthesis, verify, assess.

    python benchmarks/eunomia.py [--keep FOLDER]

Eunomia (2,694 persons by Synthea, CDM 5.3, in DuckDB) comes from its own environment (make peers
PEERS=eunomia). Its keys do not hold, so it is refused first, with every difference, and then mended. Each
command is a process of its own; prints its exit code, processor seconds and peak of memory. Exit code 1 if
anything is not as expected.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import peers
import sfumato as sf

_PERSONS = 2_694
_CODES = (
    "condition_occurrence.CONDITION_CONCEPT_ID",
    "drug_exposure.DRUG_CONCEPT_ID",
    "procedure_occurrence.PROCEDURE_CONCEPT_ID",
)
_PLAN = f"""
[codes]
k = 5
m = 2
codes = {json.dumps(_CODES)}
columns = ["GENDER_CONCEPT_ID"]
"""


def command(*words: str, codes: tuple[int, ...] = (0,)) -> str:
    """Run `sfumato` and say what it took; what it printed."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        os.dup2(write, 1), os.dup2(write, 2)
        os.execv(sys.executable, [sys.executable, "-m", "sfumato", *words])
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as stream:
        said = stream.read()
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 2**10
    print(f"  {code}  {cpu:6.1f} CPU s  {peak:6.0f} MB  sfumato {' '.join(words)}", flush=True)
    if code not in codes:
        print(said)
        sys.exit(1)
    return " ".join(said.split())


def expected(holds: bool, what: str) -> None:
    if not holds:
        print(f"not as expected: {what}")
        sys.exit(1)


def run() -> dict[str, Any]:
    """All commands in this folder, on `cdm.duckdb`; some figures."""
    said = command("init", "cdm.duckdb", "--out", "work")
    expected("2,649 rows without a parent in 'person'" in said, "dangling periods are counted")
    expected("4,384 keys occur more than once" in said, "repeated keys are counted")
    refused = command("run", "work/plan.toml", "--out", "refused", codes=(2,))
    expected("mend" in refused and not Path("refused").exists(), "refused, with a way out")
    plan = Path("work/plan.toml")
    plan.write_text(plan.read_text().replace("# mend = true", "mend = true"))
    coded, tail = plan.read_text().split("[pseudonyms]", 1)
    tail = tail[tail.index("# Attacks") :]
    Path("work/codes.toml").write_text(f"{coded}{_PLAN}\n{tail}".replace("# known = 2", "known = 2"))
    draft = (0, 1)  # 1: nobody has signed, or a limit is missed
    command("run", "work/plan.toml", "--out", "pseudonyms", codes=draft)
    command("run", "work/codes.toml", "--out", "codes", codes=draft)
    asked = ("--method", "linked", "--persons", str(_PERSONS), "--mend")
    command("synthesize", "cdm.duckdb", *asked, "--out", "drawn")
    command("pseudonymize", "cdm.duckdb", "--shift-dates", "365", "--mend", "--out", "moved")
    found: dict[str, Any] = {}
    for name in ("pseudonyms", "codes", "drawn", "moved"):
        command("verify", name, codes=(0, 3))  # 3: it holds, and nobody has signed it
        expected(not sf.verify(name).failures, f"{name} verifies")
        again = sf.scan_database(f"{name}/public")
        expected(
            again.form == "omop 5.3" and not [d for d in again.differences if d.fatal], f"{name} is a CDM"
        )
        found[name] = {n: t.rows() for n, t in again.tables.items() if again.route(n)}
    judged = command("assess", "cdm.duckdb", "drawn", "--mend", "--json", codes=draft)
    scores = json.loads(judged[judged.index("{") : judged.rindex("}") + 1])["scores"]
    found["scores"] = {s["name"]: s["value"] for s in scores if s["section"] == "utility"}
    return found


def main() -> None:
    """In a folder that is removed, or kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path)
    kept = parser.parse_args().keep
    if peers.python_of("eunomia") is None:
        print("not built here: make peers PEERS=eunomia")
        return
    with contextlib.ExitStack() as stack:
        folder = kept or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        peers.ask("eunomia", {"out": str(folder.resolve() / "cdm.duckdb")})
        stack.enter_context(contextlib.chdir(folder))
        print("  exit code, processor seconds, peak of memory, command")
        found = run()
    for name, value in found.items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
