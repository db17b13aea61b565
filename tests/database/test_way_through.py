"""describe, init, run, verify, assess at the command line, for a folder of linked tables."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from linked import saved, tables, written
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.cli.exit_codes import NOT_TRUSTED

RUN = CliRunner()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return saved(tmp_path / "hospital", sf.samples.hospital(500))


def ask(*words: str) -> str:
    found = RUN.invoke(app, list(words))
    assert found.exit_code == 0, found.output
    return found.output


@pytest.mark.filterwarnings("ignore:left out, since they identify")
def test_from_a_folder_to_a_judged_release(folder: Path) -> None:
    assert "stay_id -> stays.stay_id" in ask("describe", "hospital")
    ask("init", "hospital", "--out", "work")
    assert "diagnoses.code" in Path("work/plan.toml").read_text()
    drafted = RUN.invoke(app, ["run", "work/plan.toml", "--out", "release"])  # nobody signed, no control
    assert drafted.exit_code == 1 and "DRAFT" in drafted.output
    checked = RUN.invoke(app, ["verify", "release"])
    assert checked.exit_code == NOT_TRUSTED and "keys and links counted again" in checked.output
    saved(Path("others"), sf.samples.hospital(400, 2))
    asked = ("--control", "others", "--max-risk", "0.2", "--report", "report.html")
    judged = RUN.invoke(app, ["assess", "hospital", "release", *asked, "--json"])
    found = json.loads(judged.stdout)
    assert judged.exit_code == 1 and "persons of the original" in Path("report.html").read_text()
    assert next(s for s in found["scores"] if s["name"] == "linking by 2 codes")["control"] is not None
    scores = {s["name"]: s["value"] for s in found["scores"]}
    assert scores["in groups below 5 by 2 codes"] == 0 and scores["stays per row of patients"] == 0
    assert 0 < scores["pairs of diagnoses.code"] <= 1
    signed = (
        Path("work/plan.toml")
        .read_text()
        .replace('by = ""', 'by = "A"')
        .replace('on = ""', "on = 2026-01-01")
        .replace('# accepted = "why', 'accepted = "why')
    )
    Path("work/plan.toml").write_text(signed)
    assert "DRAFT" not in ask("run", "work/plan.toml", "--out", "release", "--overwrite")


def test_every_fault_of_a_plan_is_listed(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text("[database]\ndat = 1\n[codes]\nm = true\n[pseudonyms]\n[odd]\n")
    found = RUN.invoke(app, ["run", str(plan), "--out", str(tmp_path / "out")])
    assert found.exit_code != 0
    said = " ".join(f"{found.output} {found.exception}".split())
    for words in (
        "unknown setting 'dat'",
        "data is not given",
        "m is of the wrong kind",
        "k is not given",
        "[odd]",
    ):
        assert words in said
    assert not (tmp_path / "out").exists()


def test_describe_says_what_dangles(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "bad", tables(stays={"patient_id": ["a", "a", "b", "c"], "stay_id": [1, 2, 3, 3]})
    )
    (folder / "database.toml").write_text(
        'sfumato_database = 1\n[[links]]\nchild = "diagnoses.stay_id"\nparent = "stays.stay_id"\n'
        "[tables.patients]\n[tables.stays]\n[tables.diagnoses]\n"
    )
    found = " ".join(ask("describe", str(folder)).split())
    assert "stays.stay_id: 1 key occurs more than once" in found
    assert "2 rows without a parent" in found


def test_a_folder_of_parts_is_still_one_table(tmp_path: Path) -> None:
    from sfumato.cli.databases import is_database

    rows = tables()["stays"]
    assert not is_database(str(written(tmp_path / "parts", {"a": rows, "b": rows})))
    assert is_database(str(written(tmp_path / "linked", tables())))


def test_a_dictionary_is_proposed_where_the_codes_are_of_one(tmp_path: Path) -> None:
    from sfumato.plan.database_proposal import propose_database

    n = 40
    blocks = (401, 402, 403, 404, 405, 410, 411, 412, 413, "V45")
    old = [f"{blocks[i % 10]}{i // 10}" for i in range(n)]
    new = [f"{'IEJK'[i % 4]}{10 + i % 5}{i % 10}" for i in range(n)]
    streets = [f"Street {i} West" for i in range(n)]
    stays = {
        "stay_id": list(range(n)),
        "patient_id": list("abcd") * 10,
        "old": old,
        "new": new,
        "at": streets,
    }
    people = {"patient_id": list("abcd"), "sex": list("ffmm")}
    folder = written(tmp_path / "h", {"patients": pa.table(people), "stays": pa.table(stays)})
    _, _, plan = propose_database(str(folder), tmp_path)
    assert '"stays.old" = "icd9"' in plan and '"stays.new" = "icd10"' in plan and "stays.at" not in plan
