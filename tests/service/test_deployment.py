"""What deploy/ has: rules for the image, the compose file and the unit; backup and restore, rehearsed."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from architecture import ROOT
from cli_support import PATIENCE, environment
from serving import WHOLE, running

from sfumato.privacy import Ledger
from sfumato.service.installation import Installation

DEPLOY = ROOT / "deploy"
SCORE, NOISY = "/v1/models/diabetes/score", "/v1/models/dpat/score"


def test_the_image_has_no_root_and_nothing_that_is_not_pinned() -> None:
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Containerfile").read_text())
    steps = [line.split(" ", 1) for line in text.splitlines() if line and not line.startswith("#")]
    words = [w for w, _ in steps]
    assert words[0] == "ARG" and words.count("FROM") == 2
    base = next(rest for w, rest in steps if w == "ARG").partition("=")[2]
    assert ":" in base.rpartition("/")[2] and not base.endswith(":latest")
    assert set(words) <= {
        "ARG", "FROM", "ENV", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK",
        "ENTRYPOINT", "CMD",
    }  # fmt: skip
    assert [rest for w, rest in steps if w == "USER"] == ["10001:10001"]
    assert words.index("USER") < words.index("ENTRYPOINT")
    installs = [rest for w, rest in steps if w == "RUN" and "pip install" in rest]
    assert "--require-hashes -r requirements-service.lock" in installs[0] and "--no-deps" in installs[1]
    assert all(rest.startswith("[") for w, rest in steps if w in ("ENTRYPOINT", "CMD", "VOLUME"))
    assert not re.search(r"apt-get|curl |wget |sudo|chmod 777|PASSWORD|SECRET", text)
    for _, rest in (s for s in steps if s[0] == "COPY"):
        for name in rest.split()[:-1]:
            assert name.startswith("--from=") or name.startswith("/opt") or (ROOT / name).exists(), name
    if hadolint := shutil.which("hadolint"):
        done = subprocess.run([hadolint, str(DEPLOY / "Containerfile")], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_the_locks_agree() -> None:
    def pins(name: str) -> set[str]:
        return set(re.findall(r"^([a-zA-Z0-9._-]+==[^ ;\\]+)", (ROOT / name).read_text(), re.MULTILINE))

    service = pins("requirements-service.lock")
    assert service <= pins("requirements.lock") | pins("requirements-demo.lock")
    assert {p.split("==")[0] for p in service} >= {
        "starlette",
        "uvicorn",
        "pyjwt",
        "fhir-resources",
        "psycopg",
    }
    assert not {p.split("==")[0] for p in service} & {"pytest", "pyspark", "schemathesis"}


def test_the_compose_file_gives_nothing_away() -> None:
    content = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    scores = content["services"]["scores"]
    assert scores["read_only"] is True and scores["cap_drop"] == ["ALL"] and scores["user"] == "10001:10001"
    assert scores["security_opt"] == ["no-new-privileges:true"]
    assert all(port.startswith("127.0.0.1:") for port in scores["ports"])
    assert "./models:/models:ro" in scores["volumes"]
    environments = [v for s in content["services"].values() for v in s.get("environment", {})]
    assert not [name for name in environments if "PASSWORD" in name and not name.endswith("_FILE")]
    assert "ports" not in content["services"]["database"]
    for service in content["services"].values():
        assert not service["image"].endswith(":latest") and ":" in service["image"]


def test_the_unit_is_shut_in() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(DEPLOY / "sfumato.service")
    service = unit["Service"]
    for name, value in {
        "DynamicUser": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "NoNewPrivileges": "yes",
        "PrivateTmp": "yes", "CapabilityBoundingSet": "", "StateDirectoryMode": "0700",
    }.items():  # fmt: skip
        assert service[name] == value, name
    assert int(service["TimeoutStopSec"]) > 15  # longer than requests under way are given


def script(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    made = {**environment(), "SFUMATO": f"{sys.executable} -m sfumato", "PYTHON": sys.executable}
    return subprocess.run(
        [str(DEPLOY / name), *map(str, arguments)],
        env=made, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip


@pytest.mark.soak
def test_kill_restore_rotate_activate_and_roll_back(tmp_path: Path, released: Path, noisy: Path) -> None:
    state, models, copy = tmp_path / "state", tmp_path / "models", tmp_path / "copy"
    state.mkdir()
    shutil.copytree(released, models)
    shutil.copy(noisy, models)
    Ledger.open(state / "study.ledger", budget=20.0).set_client("clinic", 10.0)
    with closing(Installation(state / "sfumato.keys", create=True)) as installation:
        _, key = installation.create_key("clinic", ("score", "admin"), rate=1e5, burst=100_000)
        gone, _ = installation.create_key("gone")
        installation.revoke_key(gone.id)
    options = (models, "--ledger", "study.ledger", "--allow-unproved")
    with running(state, *options) as service:
        about = service.ask("GET", "/v1/models/diabetes", key=key).json
        other = next(v for v in about["versions"] if v != about["current"])
        scores = {
            v: service.ask("POST", f"{SCORE}?version={v}", WHOLE, key=key).json["risk_score"]
            for v in about["versions"]
        }
        assert service.ask("POST", "/v1/models/diabetes/activate", {"version": other}, key=key).status == 200
        paid = service.ask("POST", NOISY, WHOLE, key=key)
        assert paid.status == 200
        done = script("backup", state, models, state / "study.ledger", copy)
        assert done.returncode == 0, done.stderr
        assert oct(copy.stat().st_mode & 0o777) == "0o700"
        after = service.ask("POST", NOISY, {**WHOLE, "age": 50}, key=key)  # spent after the backup
        assert after.status == 200
        service.process.kill()
        service.process.wait(PATIENCE)
    spent = Ledger.look(state / "study.ledger").spent
    shutil.rmtree(state)
    shutil.rmtree(models)

    damaged = tmp_path / "damaged"
    shutil.copytree(copy, damaged)
    with open(damaged / "sfumato.keys", "ab") as file:
        file.write(b"x")
    assert script("restore", damaged, tmp_path / "no", tmp_path / "no", "").returncode == 1
    assert not (tmp_path / "no").exists()

    done = script("restore", copy, state, models, state / "study.ledger")
    assert done.returncode == 0, done.stderr
    assert Ledger.look(state / "study.ledger").spent >= spent  # what came after the backup counts as spent
    assert script("restore", copy, state, models, "").returncode == 2  # nothing is overwritten
    with closing(Installation(state / "sfumato.keys")) as installation:
        assert [s.did for s in installation.history()].count("revoked key") == 1
        new, fresh = installation.rotate_key(key.split("_")[1], 0)
    with running(state, *options) as service:
        assert service.ask("POST", SCORE, WHOLE, key=key).status == 401
        answer = service.ask("POST", SCORE, WHOLE, key=fresh).json
        assert (answer["version"], answer["risk_score"]) == (other, scores[other])
        assert (
            service.ask("POST", "/v1/models/diabetes/rollback", key=fresh).json["current"] == about["current"]
        )
        answer = service.ask("POST", SCORE, WHOLE, key=fresh).json
        assert (answer["version"], answer["risk_score"]) == (about["current"], scores[about["current"]])
        again = service.ask("POST", "/v1/models/diabetes/activate", {"version": other}, key=fresh)
        assert again.json["current"] == other
        assert service.ask("POST", SCORE, WHOLE, key=fresh).json["risk_score"] == scores[other]
        assert service.ask("POST", NOISY, WHOLE, key=fresh).status == 200
    assert os.path.exists(state / "sfumato.keys") and new.client == "clinic"


@pytest.mark.parametrize("name", ["backup", "restore"])
def test_the_scripts_say_how_they_are_used(name: str) -> None:
    done = script(name)
    assert done.returncode == 2 and name in done.stderr
