"""What each command does when all is well."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from cli_support import CANARY, PATIENCE, SOURCE, Sfumato, environment, environment_of, everything, process
from declared import PUBLIC

import sfumato as sf
from sfumato.cli.demo.steps import STEPS
from sfumato.cli.exit_codes import NOT_TRUSTED
from sfumato.privacy import Budget, Ledger
from sfumato.schema import Kind, Schema


def parsed(text: str) -> Any:
    return json.loads(text)


# -- the frame -------------------------------------------------------------------------------------


def test_the_module_and_the_version(tmp_path: Path) -> None:
    answer = process("--version", cwd=tmp_path)
    assert (answer.code, answer.out) == (0, f"sfumato {sf.__version__}\n")


def test_help_names_every_command(sfumato: Sfumato) -> None:
    text = sfumato("--help").out
    for name in (
        "describe",
        "schema",
        "counts",
        "convert",
        "pseudonymize",
        "verify",
        "sample",
        "ledger",
        "demo",
    ):
        assert name in text
    for command in (["describe"], ["schema", "check"], ["schema", "update"], ["ledger", "show"], ["convert"]):
        assert "--json" in sfumato(*command, "--help").out


def test_shell_completion_is_there(tmp_path: Path) -> None:
    ask = {"_SFUMATO_COMPLETE": "complete_bash", "COMP_WORDS": "sfumato de", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "sfumato"],
        env={**environment(), **ask},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert {"describe", "demo"} <= set(done.stdout.split())


# -- describe --------------------------------------------------------------------------------------


def test_describe_shows_roles_and_dialect_and_no_value(visits: Path, sfumato: Sfumato) -> None:
    answer = sfumato("describe", visits)
    assert answer.code == 0
    for word in ("200 rows, 5 columns", "separator ','", "quasi-identifier", "patient_id", "Together"):
        assert word in answer.out
    assert CANARY not in answer.all


def test_describe_as_json_and_as_a_page(visits: Path, sfumato: Sfumato) -> None:
    answer = sfumato("describe", visits, "--json", "--html", "page.html")
    found = parsed(answer.out)
    assert found["rows"] == 200 and found["columns"][0]["name"] == "patient_id"
    assert found["dialect"].startswith("separator")
    page = (visits.parent / "page.html").read_text()
    assert "patient_id" in page and CANARY not in page + answer.all


def test_what_was_detected_can_be_overruled(tmp_path: Path, sfumato: Sfumato) -> None:
    path = tmp_path / "german.csv"
    path.write_bytes("größe;tag\n1,5;03.04.2020\n2,5;05.06.2020\n-9;01.02.2020\n".encode("cp1252"))
    said = ["--separator", ";", "--decimal", ",", "--encoding", "cp1252", "--dates", "MDY", "--missing", "-9"]
    found = parsed(sfumato("describe", path, *said, "--json").out)
    assert {c["name"]: (c["type"], c["levels"]) for c in found["columns"]} == {
        "größe": ("real", 2),
        "tag": ("date", 3),
    }
    assert "month first" in found["dialect"] and "'-9'" in found["dialect"]
    tab = tmp_path / "tab.txt"
    tab.write_text("a\tb\n1\t2\n3\t4\n")
    assert len(parsed(sfumato("describe", tab, "--separator", "tab", "--json").out)["columns"]) == 2


def test_notes_go_to_stderr_and_can_be_silenced(tmp_path: Path, sfumato: Sfumato) -> None:
    path = tmp_path / "ambiguous.csv"
    path.write_text("k,day\na,03/04/2020\nb,05/06/2020\n")
    loud, quiet = sfumato("describe", path, "--json"), sfumato("describe", path, "--json", "--quiet")
    assert loud.err.startswith("note: ") and "--dates MDY" in loud.err
    assert quiet.err == "" and quiet.out == loud.out


def test_a_database_is_described(tmp_path: Path, sfumato: Sfumato) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "study.sqlite") as database:
        database.execute("create table visits (dx text, age integer)")
        database.executemany("insert into visits values (?, ?)", [(CANARY, i) for i in range(5)])
    found = sfumato("describe", "sqlite:///study.sqlite", "--table", "visits")
    assert found.code == 0 and "5 rows, 2 columns" in found.out and "Read with" not in found.out
    assert CANARY not in found.all
    unknown = sfumato("describe", "sqlite:///study.sqlite", "--table", "nothing")
    assert unknown.code == 2 and "Hint: " in unknown.err and "Traceback" not in unknown.err


# -- schema ----------------------------------------------------------------------------------------


def test_update_writes_a_schema_that_the_data_passes(visits: Path, sfumato: Sfumato) -> None:
    made = sfumato("schema", "update", "s.toml", visits)
    assert made.code == 0 and "added" in made.out and CANARY not in made.all
    schema = Schema.read(visits.with_name("s.toml"))
    assert not any(c.confirmed for c in schema)
    assert schema["patient_id"].levels is None and CANARY in (schema["dx"].levels or ())
    assert "safe as the data" in visits.with_name("s.toml").read_text()
    checked = sfumato("schema", "check", "s.toml", visits)
    assert checked.code == 0 and "is what s.toml says" in checked.out
    bytes_ = visits.with_name("s.toml").read_bytes()
    again = sfumato("schema", "update", "s.toml", visits)
    assert "not touched" in again.out and visits.with_name("s.toml").read_bytes() == bytes_
    assert everything(visits.parent) == {"visits.csv", "s.toml"}


def test_update_extends_only_when_asked(visits: Path, sfumato: Sfumato) -> None:
    path = visits.with_name("s.toml")
    sfumato("schema", "update", path, visits)
    declared = Schema.read(path).with_("dx", levels=("D0", "D1"), provenance=PUBLIC)
    path.write_text("# my remark\n" + declared.to_toml())
    assert sfumato("schema", "check", path, visits).code == 1
    sfumato("schema", "update", path, visits)
    assert Schema.read(path) == declared
    shown = sfumato("schema", "update", path, visits, "--extend", "--dry-run")
    assert "would change" in shown.out and Schema.read(path) == declared
    done = sfumato("schema", "update", path, visits, "--extend", "--json")
    assert parsed(done.out)["changes"] == [{"column": "dx", "what": "4 levels added, now read off the data"}]
    assert not Schema.read(path)["dx"].public
    assert "# my remark" in path.with_name("s.toml.bak").read_text() and "s.toml.bak" in done.err
    assert sfumato("schema", "check", path, visits).code == 0
    assert CANARY not in shown.all + done.all


def at_a_terminal(*arguments: object, cwd: Path) -> str:
    """What a person sees on stderr, which is then a terminal."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "sfumato", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=environment(),
        cwd=cwd,
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # Linux says so at the end
            break
        if not piece:
            break
        seen += piece
    running.wait(PATIENCE)
    os.close(ours)
    return seen.decode()


def test_values_are_shown_to_a_person_who_asks_and_to_nobody_else(visits: Path, sfumato: Sfumato) -> None:
    path = visits.with_name("s.toml")
    sfumato("schema", "update", path, visits)
    path.write_text(Schema.read(path).with_("dx", levels=("D0", "D1", "D2", "D3", "D4")).to_toml())
    command = ("schema", "check", path, visits)
    piped = sfumato(*command, "--show-values")
    assert CANARY not in piped.all and "at a terminal only" in piped.err
    assert CANARY not in at_a_terminal(*command, cwd=visits.parent)
    assert CANARY in at_a_terminal(*command, "--show-values", cwd=visits.parent)


# -- counts, convert, sample -----------------------------------------------------------------------


def test_counts(visits: Path, sfumato: Sfumato) -> None:
    shown = sfumato("counts", visits, "sex")
    assert "100" in shown.out and "2 cells; total 200" in shown.out
    found = parsed(sfumato("counts", visits, "sex", "dx", "--json").out)
    assert found["total"] == 200 and sum(c["n"] for c in found["cells"]) == 200
    weighted = parsed(sfumato("counts", visits, "sex", "--weight", "age", "--json").out)
    assert weighted["total"] == sum(20 + i % 60 for i in range(200))
    few = sfumato("counts", visits, "dx", "--limit", "2")
    assert "4 smaller ones not shown" in few.out and CANARY not in few.out
    written = sfumato("counts", visits, "sex", "dx", "--out", "counts.parquet")
    assert written.code == 0 and sum(pq.read_table(visits.parent / "counts.parquet")["n"].to_pylist()) == 200


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv.gz", "xlsx", "sav", "dta"])
def test_convert_there_and_back(suffix: str, visits: Path, sfumato: Sfumato) -> None:
    assert sfumato("convert", visits, f"new.{suffix}").code == 0
    assert sfumato("convert", f"new.{suffix}", "back.csv").code == 0
    before, after = sf.scan(visits), sf.scan(visits.with_name("back.csv"))
    assert after.counts("sex", "dx").to_arrow() == before.counts("sex", "dx").to_arrow()
    assert sfumato("convert", visits, f"new.{suffix}").code == 2
    assert sfumato("convert", visits, f"new.{suffix}", "--overwrite", "--json").code == 0


def test_free_text_is_left_out_loudly(tmp_path: Path, sfumato: Sfumato) -> None:
    path = tmp_path / "notes.csv"
    words = "the patient came in on foot and said that the pain was worse than it had been before"
    path.write_text("k,remark\n" + "".join(f"{i % 3},{words} {i} {CANARY}\n" for i in range(40)))
    assert sfumato("describe", path).err == ""
    answer = sfumato("convert", path, "new.parquet")
    assert "note: " in answer.err and "'remark'" in answer.err and "--keep-text" in answer.err
    assert CANARY not in answer.all
    assert pq.read_schema(tmp_path / "new.parquet").names == ["k"]
    sfumato("convert", path, "all.parquet", "--keep-text")
    assert pq.read_schema(tmp_path / "all.parquet").names == ["k", "remark"]


@pytest.mark.parametrize("what", ["discharges", "members"])
def test_samples_are_the_same_for_the_same_seed(what: str, tmp_path: Path, sfumato: Sfumato) -> None:
    for name in ("a", "b"):
        done = sfumato("sample", what, 300, "--seed", 7, "--out", f"{name}.csv", "--schema", f"{name}.toml")
        assert done.code == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert sfumato("schema", "check", "a.toml", "b.csv").code == 0


# -- releases and ledgers --------------------------------------------------------------------------


def test_pseudonymize_then_verify_then_alter(visits: Path, sfumato: Sfumato) -> None:
    done = sfumato("pseudonymize", visits, "--out", "release", "--columns", "patient_id")
    assert done.code == 0 and "Pseudonymous" in done.out, done.all
    data = visits.parent / "release" / "public" / "data.parquet"
    table = pq.read_table(data)
    assert not set(table["patient_id"].to_pylist()) & {f"P{i:04}" for i in range(100)}
    good = sfumato("verify", "release")
    assert good.code == NOT_TRUSTED and "WHOLE, BUT NOT SIGNED" in good.out and "erified" not in good.out
    assert len(sfumato("verify", "release", "--all").out.splitlines()) > len(good.out.splitlines())
    assert parsed(sfumato("verify", "release", "--json").out)["ok"] is True
    ages = table["age"].to_pylist()
    ages[0] += 1
    place = table.column_names.index("age")
    pq.write_table(table.set_column(place, table.schema.field("age"), [ages]), data)
    bad = sfumato("verify", "release")
    assert bad.code == 1 and "ALTERED" in bad.out and "data.parquet" in bad.out
    assert parsed(sfumato("verify", "release", "--json").out)["ok"] is False


def test_two_releases_with_one_key_can_be_joined(visits: Path, sfumato: Sfumato) -> None:
    one = ("pseudonymize", visits, "--columns", "patient_id", "--out")
    assert sfumato(*one, "first").code == 0
    assert sfumato(*one, "second", "--key", "first").code == 0
    assert sfumato(*one, "third", "--json").code == 0
    ids = [
        pq.read_table(visits.parent / n / "public" / "data.parquet")["patient_id"].to_pylist()
        for n in ("first", "second", "third")
    ]
    assert sorted(ids[0]) == sorted(ids[1]) and not set(ids[0]) & set(ids[2])


def test_dates_are_moved_when_asked(tmp_path: Path, sfumato: Sfumato) -> None:
    sfumato("sample", "discharges", 400, "--out", "d.parquet", "--schema", "d.toml")
    done = sfumato(
        "pseudonymize",
        "d.parquet",
        "-s",
        "d.toml",
        "--out",
        "r",
        "--no-shuffle",
        "--shift-dates",
        "30",
        "--drop",
        "zip",
    )
    assert done.code == 0 and "moved by 1 to 30 days" in " ".join(done.out.split())
    before, after = pq.read_table("d.parquet"), pq.read_table("r/public/data.parquet")
    assert "zip" not in after.column_names
    moved = [
        a != b for a, b in zip(before["admitted"].to_pylist(), after["admitted"].to_pylist(), strict=True)
    ]
    assert all(moved)


def test_ledger_show(tmp_path: Path, sfumato: Sfumato) -> None:
    ledger = Ledger.open(tmp_path / "study.ledger", Budget(epsilon=1.0))
    assert "Left   1" in sfumato("ledger", "show", "study.ledger").out
    ledger.grant(epsilon=0.25, purpose="discharges by sex [bold]")
    shown = sfumato("ledger", "show", "study.ledger")
    assert "discharges by sex [bold]" in shown.out and "Left   0.75" in shown.out
    found = parsed(sfumato("ledger", "show", "study.ledger", "--json").out)
    assert (found["spent"], found["left"], found["entries"][0]["amount"]) == (0.25, 0.75, 0.25)


# -- demo ------------------------------------------------------------------------------------------


def test_demo_cleans_up(tmp_path: Path, sfumato: Sfumato, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("sfumato.cli.demo.steps.STEPS", STEPS[:2])
    answer = sfumato("demo", "--rows", "2000")
    assert answer.code == 0, answer.all
    assert everything(tmp_path) == set()


@pytest.mark.soak
def test_demo_runs_every_step_and_keeps_its_files(tmp_path: Path) -> None:
    """With nothing but its own lock installed, as `make demo` has it on a new machine."""
    light = environment_of(SOURCE.parent / "requirements-demo.lock", tmp_path / "light")
    for module, there in (("starlette", True), ("pandas", False), ("pytest", False)):
        asked = subprocess.run([sys.executable, "-c", f"import {module}"], env=light, capture_output=True)
        assert (asked.returncode == 0) == there, module  # the finder does hide, and only what it should
    answer = process("demo", "--rows", "2000", "--out", "kept", cwd=tmp_path, variables=light)
    assert answer.code == 0, answer.all
    for word in (
        "What you have seen",
        "$ sfumato describe discharges.csv",
        "AUTHENTIC",
        "ALTERED",
        "epsilon = 0.5",
    ):
        assert word in answer.out
    kept = {p.name for p in (tmp_path / "kept").iterdir()}
    assert {"discharges.csv", "study.ledger", "release", "report.html", "map.html"} <= kept
    assert "map.html" in answer.out
    assert sf.scan(tmp_path / "kept" / "discharges.csv").rows() == 2000
    assert Schema.read(tmp_path / "kept" / "guessed.toml")["sex"].kind in (Kind.FLAG, Kind.NOMINAL)


def test_demo_sums_up_as_json(sfumato: Sfumato, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"Keep the shape", "Use it elsewhere"} <= {step.title for step in STEPS}
    monkeypatch.setattr("sfumato.cli.demo.steps.STEPS", STEPS[:2])
    found = parsed(sfumato("demo", "--rows", "2000", "--json").out)
    assert found["mishaps"] == [] and [s["title"] for s in found["steps"]] == [s.title for s in STEPS[:2]]
