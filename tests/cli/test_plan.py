"""init, run, sign, plan check and plan schema through the real entry point."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_support import Sfumato, environment, everything
from planned import CANARY, PLAN, rows, unjudged, written

from sfumato.cli.exit_codes import NOT_TRUSTED
from sfumato.plan import Plan
from sfumato.plan.spec import json_schema_text

SECRET = "hunter2-zebra"
QUICK = PLAN.replace("skip = true", 'effort = "quick"')


def parsed(text: str) -> Any:
    return json.loads(text)


def test_from_a_file_to_a_signed_release(tmp_path: Path, sfumato: Sfumato) -> None:
    (tmp_path / "visits.csv").write_text(rows(200), encoding="utf-8")
    answer = sfumato("init", tmp_path / "visits.csv", "--out", tmp_path, "--k", "3")
    assert answer.code == 0 and "3 quasi-identifier" in answer.out and CANARY not in answer.all
    plan = tmp_path / "plan.toml"
    plan.write_text(unjudged(plan.read_text(encoding="utf-8")), encoding="utf-8")
    assert sfumato("plan", "check", plan).code == 0
    answer = sfumato("run", plan, "--out", tmp_path / "release")
    assert answer.code == 0 and "DRAFT release written" in answer.out and CANARY not in answer.all
    assert "6 guesses about columns are not reviewed" in answer.err
    refused = sfumato("sign", plan, "--name", "A. Miller")
    assert refused.code == 2 and "--all" in refused.err
    assert sfumato("sign", plan, "--name", "A. Miller", "--all").code == 0
    answer = sfumato("run", plan, "--out", tmp_path / "release", "--json")
    assert answer.code == 0
    said = parsed(answer.out)
    assert said["draft"] is None and said["met"] and said["resumed"] == ["step-1"]
    assert said["guarantees"]["step-1"]["claims"][0]["k"] >= 3
    assert sfumato("verify", tmp_path / "release").code == NOT_TRUSTED
    again = sfumato("run", plan, "--out", tmp_path / "release", "--quiet")
    assert again.code == 0 and "is there already" in again.out and again.err == ""


def thresholds_of(plan: Path) -> dict[str, Any]:
    return dict(Plan.read(plan).table("thresholds"))


K, HIGHEST = "k, the smallest class", "prosecutor risk, highest"


def test_who_receives_the_file_decides_the_limits(tmp_path: Path, sfumato: Sfumato) -> None:
    (tmp_path / "visits.csv").write_text(rows(200), encoding="utf-8")

    def asked(*more: object) -> Any:
        answer = sfumato("init", tmp_path / "visits.csv", "--out", tmp_path, "--force", *more)
        assert answer.code == 0, answer.err
        return answer

    assert "limits are those for the public" in asked().err  # nobody was there to ask
    text = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    assert thresholds_of(tmp_path / "plan.toml") == {
        "recipient": "public",
        K: 11,
        HIGHEST: 0.091,
        "risk": 0.09,
    }
    assert "CMS" in text and "policy 0070" in text and "\nk = 11 " in text
    assert "for the public" not in asked("--recipient", "agreement").err
    assert thresholds_of(tmp_path / "plan.toml") == {
        "recipient": "agreement",
        K: 5,
        HIGHEST: 0.2,
        "risk": 0.2,
    }
    assert "El Emam" in (tmp_path / "plan.toml").read_text(encoding="utf-8")
    asked("--k", "3", "--recipient", "public")
    assert thresholds_of(tmp_path / "plan.toml") == {
        "recipient": "public",
        K: 3,
        HIGHEST: 0.334,
        "risk": 0.09,
    }
    misspelt = sfumato("init", tmp_path / "visits.csv", "--out", tmp_path / "no", "--recipient", "agrement")
    assert (
        misspelt.code == 2 and "did you mean 'agreement'" in misspelt.err and not (tmp_path / "no").exists()
    )
    plan = tmp_path / "plan.toml"
    plan.write_text(text.replace('recipient = "public"', 'recipient = "pubic"'), encoding="utf-8")
    answer = sfumato("plan", "check", plan)
    assert answer.code == 1 and "did you mean 'public'" in " ".join(answer.out.split())


def test_at_a_terminal_init_asks_who_receives_the_file(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text(rows(200), encoding="utf-8")
    pid, screen = pty.fork()
    if not pid:
        os.chdir(tmp_path)
        os.execve(sys.executable, [sys.executable, "-m", "sfumato", "init", "visits.csv"], environment())
    said, answers = b"", [b"everybody\n", b"agreement\n"]
    while True:
        try:
            more = os.read(screen, 4096)
        except OSError:  # it has ended
            break
        said += more
        if answers and said.count(b"[public]:") > 2 - len(answers):
            os.write(screen, answers.pop(0))
        if not more:
            break
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, said
    assert b"Who receives the file?" in said and b"please write public or agreement" in said
    assert thresholds_of(tmp_path / "plan.toml")["recipient"] == "agreement"


def test_a_default_run_is_judged_by_those_held_back(tmp_path: Path, sfumato: Sfumato) -> None:
    """As a newcomer would: init and run. What it says of itself is a draft, and who was held back."""
    (tmp_path / "visits.csv").write_text(rows(2_400), encoding="utf-8")
    assert sfumato("init", tmp_path / "visits.csv", "--out", tmp_path).code == 0
    plan = tmp_path / "plan.toml"
    text = plan.read_text(encoding="utf-8")
    assert "\nhold_back = 0.1 " in text
    quick = re.sub(
        r"work_limit = \d+", "work_limit = 1000", text.replace('effort = "normal"', 'effort = "quick"')
    )
    assert quick.count("work_limit = 1000") == text.count("work_limit")
    plan.write_text(quick, encoding="utf-8")
    answer = sfumato("run", plan, "--out", tmp_path / "release", "--json")
    said = parsed(answer.out)
    assert answer.code == (0 if said["met"] else 1) and CANARY not in answer.all
    outcomes = {t["name"]: t["outcome"] for t in said["assessments"]["step-1"]["thresholds"]}
    assert outcomes[K] == outcomes[HIGHEST] == "met" and set(outcomes) == {K, HIGHEST, "risk"}
    held = said["held_back"]
    assert held["of"] == 2_400 and 100 < held["held_back"] < 400 and held["unit"] == "row"
    assert said["assessments"]["step-1"]["rows"]["original"] == 2_400 - held["held_back"]


def test_a_reason_is_said_where_limits_are_missed(tmp_path: Path, sfumato: Sfumato) -> None:
    reason = "agreed with the board, A. Miller"
    path = written(tmp_path, QUICK + f'\n[thresholds]\nutility = 0.999\naccepted = "{reason}"\n')
    signed = sfumato("sign", path, "--name", "A. Miller")
    assert signed.code == 0 and reason in " ".join(signed.out.split())
    answer = sfumato("run", path, "--out", tmp_path / "release")
    assert answer.code == 0 and "elease written" not in answer.out
    assert reason in " ".join(answer.out.split()) and "not met: utility" in answer.out
    again = sfumato("run", path, "--out", tmp_path / "release")
    assert again.code == 0 and reason in " ".join(again.out.split())
    assert sfumato("verify", tmp_path / "release").code == NOT_TRUSTED


def test_init_keeps_what_is_there(tmp_path: Path, sfumato: Sfumato) -> None:
    (tmp_path / "visits.csv").write_text(rows(60), encoding="utf-8")
    (tmp_path / "schema.toml").write_text("mine", encoding="utf-8")
    answer = sfumato("init", tmp_path / "visits.csv", "--out", tmp_path)
    assert answer.code == 2 and "--force" in answer.err
    assert everything(tmp_path) == {"visits.csv", "schema.toml"}
    said = parsed(sfumato("init", tmp_path / "visits.csv", "--out", tmp_path, "--force", "--json").out)
    assert said["hierarchies"]["age"] == {"recipe": "ages", "widths": [5, 10, 20]}


def test_every_fault_on_its_own_line(tmp_path: Path, sfumato: Sfumato) -> None:
    path = written(tmp_path, PLAN.replace("k = 3", "k = 1\nspeed = 9"))
    answer = sfumato("plan", "check", path)
    assert answer.code == 1 and "line 15" in answer.out and "line 16" in answer.out
    said = parsed(sfumato("plan", "check", path, "--json").out)
    assert [f["line"] for f in said["faults"]] == [15, 16]
    run = sfumato("run", path, "--out", tmp_path / "release")
    assert run.code == 2 and "2 faults" in run.err and "Hint:" in run.err


def test_the_schema_for_editors(sfumato: Sfumato) -> None:
    plain, asked = sfumato("plan", "schema").out, sfumato("plan", "schema", "--json").out
    assert plain == json_schema_text() and parsed(asked) == parsed(plain)


def test_thresholds_and_exit_codes(tmp_path: Path, sfumato: Sfumato) -> None:
    path = written(tmp_path, QUICK + "\n[thresholds]\nutility = 0.999\n")
    refusing = path.read_text(encoding="utf-8") + '\n[outputs]\nunmet = "refuse"\n'
    (tmp_path / "refuse.toml").write_text(refusing, encoding="utf-8")
    answer = sfumato("run", tmp_path / "refuse.toml", "--out", tmp_path / "none")
    assert answer.code == 1 and "Nothing was released" in answer.out and not (tmp_path / "none").exists()
    assert (tmp_path / "none-refused.html").exists()
    answer = sfumato("run", path, "--out", tmp_path / "release")
    assert answer.code == 1 and "elease written" not in answer.out
    assert "NOT RELEASED" in answer.out and "A draft was written to release" in answer.out
    assert "utility at least 0.999" in answer.out
    for again in (("run", path, "--out", tmp_path / "release"), ("verify", tmp_path / "release" / "public")):
        answer = sfumato(*again)
        assert answer.code == (1 if again[0] == "run" else NOT_TRUSTED)
        assert "DRAFT" in answer.out and "not meet" in " ".join(answer.out.split())
    assert "not meet the limits" in parsed(sfumato("verify", tmp_path / "release", "--json").out)["draft"]
    path.write_text(QUICK + "\n[thresholds]\nutility = 0.01\n", encoding="utf-8")
    answer = sfumato("run", path, "--out", tmp_path / "release")
    assert answer.code == 0 and "met: utility at least 0.01" in answer.out and "report" in answer.out


def test_the_next_quarter(tmp_path: Path, sfumato: Sfumato) -> None:
    path = written(tmp_path)
    assert sfumato("run", path, "--out", tmp_path / "release").code == 0
    (tmp_path / "next.csv").write_text(rows(150, seed=4), encoding="utf-8")
    more = ("--input", tmp_path / "next.csv", "--previous", tmp_path / "release", "--out", tmp_path / "q2")
    answer = sfumato("run", path, *more)
    assert answer.code == 0 and "150 rows, 120 before" in answer.out
    (tmp_path / "next.csv").write_text(rows(150, seed=4).replace(CANARY, "okapi5521"), encoding="utf-8")
    answer = sfumato("run", path, *more[:-1], tmp_path / "q3")
    assert answer.code == 2 and "okapi" not in answer.all and "unlisted level" in answer.err


def test_the_shell_completes_the_commands(tmp_path: Path) -> None:
    for typed, wanted in (
        ("sfumato r", "run"),
        ("sfumato plan sch", "schema"),
        ("sfumato run --prev", "--previous"),
    ):
        words = {
            "_SFUMATO_COMPLETE": "complete_bash",
            "COMP_WORDS": typed,
            "COMP_CWORD": str(typed.count(" ")),
        }
        done = subprocess.run(
            [sys.executable, "-m", "sfumato"], env={**environment(), **words}, capture_output=True, text=True,
            cwd=tmp_path,
        )  # fmt: skip
        assert wanted in done.stdout.split()
    home = {
        **environment(),
        "HOME": str(tmp_path),
        "SHELL": "/bin/bash",
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }
    command = [sys.executable, "-m", "sfumato", "--install-completion", "bash"]
    done = subprocess.run(command, env=home, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "sfumato" in (tmp_path / ".bash_completions" / "sfumato.sh").read_text(encoding="utf-8")


def test_no_file_and_no_message_holds_a_password(
    tmp_path: Path, sfumato: Sfumato, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "visits.duckdb")) as connection:
        (tmp_path / "visits.csv").write_text(rows(200), encoding="utf-8")
        connection.execute(f"CREATE TABLE stays AS FROM '{tmp_path / 'visits.csv'}'")
    url = f"duckdb://ann:{SECRET}@/{tmp_path / 'visits.duckdb'}?token={SECRET}"
    answer = sfumato("init", url, "--out", tmp_path / "plan", "--k", "3", "--json")
    assert answer.code == 0 and parsed(answer.out)["variables"] == ["SFUMATO_PASSWORD", "SFUMATO_TOKEN"]
    plan = tmp_path / "plan" / "plan.toml"
    text = unjudged(plan.read_text(encoding="utf-8"))
    plan.write_text(text, encoding="utf-8")
    unset = sfumato("run", plan, "--out", tmp_path / "release")
    assert unset.code == 2 and "$SFUMATO_PASSWORD" in unset.err
    monkeypatch.setenv("SFUMATO_PASSWORD", SECRET)
    monkeypatch.setenv("SFUMATO_TOKEN", SECRET)
    done = sfumato("run", plan, "--out", tmp_path / "release", "--json")
    assert done.code == 0
    kept = tmp_path / "kept.toml"
    kept.write_text(text.replace("${SFUMATO_PASSWORD}", SECRET), encoding="utf-8")
    refused = sfumato("plan", "check", kept)
    kept.unlink()
    assert refused.code == 1 and "holds a password" in " ".join(refused.out.split())
    for said in (answer, unset, done, refused):
        assert SECRET not in said.all
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()


def test_a_database_in_a_file_is_meant_from_the_plans_folder(
    tmp_path: Path, sfumato: Sfumato, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As every other path of a plan, wherever it is run from; `init` writes it so."""
    import duckdb

    (tmp_path / "some where").mkdir()
    (tmp_path / "plans").mkdir()
    with duckdb.connect(str(tmp_path / "some where" / "visits.duckdb")) as connection:
        (tmp_path / "visits.csv").write_text(rows(200), encoding="utf-8")
        connection.execute(f"CREATE TABLE stays AS FROM '{tmp_path / 'visits.csv'}'")
    monkeypatch.chdir(tmp_path / "some where")
    assert sfumato("init", "duckdb:///visits.duckdb", "--out", "../plans", "--k", "3").code == 0
    plan = tmp_path / "plans" / "plan.toml"
    text = unjudged(plan.read_text(encoding="utf-8"))
    assert '"duckdb:///../some%20where/visits.duckdb"' in text
    plan.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = sfumato("run", plan, "--out", tmp_path / "release", "--quiet")
    assert done.code == 0, done.err
    monkeypatch.setenv("PLACE", str(tmp_path / "some where"))
    plan.write_text(text.replace("../some%20where", "${PLACE}"), encoding="utf-8")
    again = sfumato("run", plan, "--out", tmp_path / "release", "--json")
    assert again.code == 0, again.err
