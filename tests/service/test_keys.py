"""Keys: who gets in, for what, how often; and that a key is found nowhere."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli_support import process
from hypothesis import given
from hypothesis import strategies as st
from serving import WHOLE, Inside

from sfumato.cli import main
from sfumato.errors import DataError, OutputError, ParameterError
from sfumato.service import keys
from sfumato.service.app import build
from sfumato.service.installation import Installation
from sfumato.service.limits import Limits

SCORE = "/v1/models/diabetes/score"


def test_a_key_opens_what_it_is_for(serve: Callable) -> None:
    ask, service = serve()
    _, scoped = service.installation.create_key("lab", ("score:septic-shock",))
    _, admin = service.installation.create_key("owner", ("admin",))
    _, watcher = service.installation.create_key("watcher", ("metrics",))
    assert [m["name"] for m in ask("GET", "/v1/models").json["models"]] == ["diabetes", "septic-shock"]
    assert [m["name"] for m in ask("GET", "/v1/models", key=scoped).json["models"]] == ["septic-shock"]
    # A model that the key is not for looks like one that is not there.
    hidden, absent = (
        ask("POST", f"/v1/models/{n}/score", WHOLE, key=scoped) for n in ("diabetes", "nothing")
    )
    assert (hidden.status, hidden.body) == (absent.status, absent.body) == (404, absent.body)
    assert ask("POST", SCORE, WHOLE, key=admin).status == 200
    assert ask("GET", "/metrics").code == "not_allowed"
    ask("GET", "/")
    counted = ask("GET", "/metrics", key=watcher)
    assert counted.status == 200
    assert b'sfumato_requests_total{route="page",status="200"} 1\n' in counted.body
    assert ask("POST", SCORE, WHOLE, key=watcher).status == 404
    assert ask("POST", "/v1/models/diabetes/rollback").code == "not_allowed"


def test_what_is_no_key_opens_nothing(serve: Callable) -> None:
    ask, service = serve()
    kind, identity, secret = ask.key.split("_", 2)
    wrong = secret[:-1] + ("A" if secret[-1] != "A" else "B")
    others = service.installation.create_key("other")[1].split("_", 2)
    for header in (
        "", "Bearer", "Bearer ", ask.key, f"Basic {ask.key}", f"Bearer {ask.key} ", f"Bearer {ask.key}x",
        f"Bearer {kind}_{identity}_{wrong}", f"Bearer {kind}_{identity}_{others[2]}",
        f"Bearer {kind}_{identity}_",
        f"Bearer {kind}_{'0' * 12}_{secret}", f"Bearer {ask.key.upper()}", f"Bearer  {ask.key}",
        f"Bearer {kind}_{identity}_{'é' * 43}", "Bearer sfm_' OR 1=1 --_" + secret,
    ):  # fmt: skip
        answer = ask("POST", SCORE, WHOLE, headers={"authorization": header})
        assert (answer.status, answer.code) == (401, "no_key"), header
        assert answer.headers["www-authenticate"] == "Bearer"
    twice = [("authorization", f"Bearer {ask.key}"), ("authorization", f"Bearer {ask.key}")]
    assert ask("POST", SCORE, WHOLE, headers=twice).status == 401
    assert ask("POST", SCORE, WHOLE, headers={"x-api-key": ask.key, "authorization": "x"}).status == 401
    assert ask("POST", SCORE, WHOLE, headers={"authorization": f"bearer {ask.key}"}).status == 200


@given(st.text(max_size=80))
def test_no_text_is_mistaken_for_a_key(text: str) -> None:
    found = keys.parse(f"Bearer {text}")
    assert found is None or f"sfm_{found[0]}_{found[1]}" == text


def test_an_unknown_id_is_compared_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    monkeypatch.setattr(keys.hmac, "compare_digest", lambda a, b: compared.append((len(a), len(b))) or False)
    assert not keys.opens(None, "x" * 43, time.time())
    assert compared == [(32, 32)]


def test_a_revoked_key_is_refused_at_once_in_other_processes(serve: Callable, tmp_path: Path) -> None:
    ask, service = serve()
    assert ask("POST", SCORE, WHOLE).status == 200
    identity = ask.key.split("_")[1]
    done = process("keys", "revoke", identity, "--keys", tmp_path / "keys", cwd=tmp_path)
    assert done.code == 0
    assert ask("POST", SCORE, WHOLE).code == "no_key"
    with pytest.raises(ParameterError):
        service.installation.rotate_key(identity, 60)


def test_rotation_overlaps_and_ends(serve: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    ask, service = serve()
    key, text = service.installation.rotate_key(ask.key.split("_")[1], 3600)
    assert key.client == "clinic" and key.scopes == ("score",)
    assert {ask("POST", SCORE, WHOLE).status, ask("POST", SCORE, WHOLE, key=text).status} == {200}
    later = time.time() + 3601
    monkeypatch.setattr("sfumato.service.installation.time.time", lambda: later)
    assert ask("POST", SCORE, WHOLE).status == 401
    assert ask("POST", SCORE, WHOLE, key=text).status == 200


def test_the_file_holds_no_key_and_is_the_owners(tmp_path: Path) -> None:
    installation = Installation(tmp_path / "keys", create=True)
    _, text = installation.create_key("clinic")
    installation.close()
    secret = text.split("_", 2)[2].encode()
    for path in tmp_path.iterdir():
        assert secret not in path.read_bytes()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


def test_files_of_others_are_refused_and_not_changed(tmp_path: Path) -> None:
    import sqlite3

    text = tmp_path / "text"
    text.write_text("this is my diary, and no database " * 100)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    for path in (text, other):
        before = path.read_bytes()
        with pytest.raises(DataError):
            Installation(path, create=True)
        assert path.read_bytes() == before
    with pytest.raises((DataError, OutputError)):
        Installation(tmp_path / "absent")
    assert not (tmp_path / "absent").exists()


# -- rates -------------------------------------------------------------------------------------------------


def test_a_rate_is_kept_and_says_when(serve: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.service.limits.time", SimpleNamespace(monotonic=lambda: 1000.0))
    ask, service = serve()
    _, slow = service.installation.create_key("slow", rate=0.5, burst=3)
    answers = [ask("POST", SCORE, WHOLE, key=slow) for _ in range(5)]
    assert [a.status for a in answers] == [200, 200, 200, 429, 429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 2
    assert ask("POST", SCORE, WHOLE).status == 200  # another key's rate is its own


def test_a_rate_holds_over_all_workers(tmp_path: Path) -> None:
    installation = Installation(tmp_path / "keys", create=True)
    key, _ = installation.create_key("clinic", rate=0.001, burst=40)
    passed = 0
    readers = []
    for _ in range(4):
        read, write = os.pipe()
        if os.fork() == 0:  # a worker: its own view of the shared file
            limits = Limits(tmp_path / "limits")
            os.write(write, bytes([sum(limits.wait(key) == 0 for _ in range(30))]))
            os._exit(0)
        os.close(write)
        readers.append(read)
    for read in readers:
        passed += os.read(read, 1)[0]
        os.close(read)
        os.wait()
    installation.close()
    assert passed == 40


def test_a_rate_refills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installation = Installation(tmp_path / "keys", create=True)
    key, _ = installation.create_key("clinic", rate=10, burst=5)
    limits = Limits(tmp_path / "limits")
    now = [1000.0]
    monkeypatch.setattr("sfumato.service.limits.time.monotonic", lambda: now[0])
    assert [limits.wait(key) == 0 for _ in range(6)] == [True] * 5 + [False]
    now[0] += 0.2
    assert [limits.wait(key) == 0 for _ in range(3)] == [True, True, False]
    now[0] += 100
    assert sum(limits.wait(key) == 0 for _ in range(20)) == 5
    limits.close()
    installation.close()


# -- the commands ------------------------------------------------------------------------------------------


def test_the_commands_make_list_rotate_and_revoke(
    tmp_path: Path, serve: Callable, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def run(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        assert main(["keys", *words]) == code
        return capsys.readouterr().out

    made = json.loads(run("create", "ward-3", "--scope", "score:diabetes", "--json"))
    assert made["key"].startswith(f"sfm_{made['id']}_")
    new = json.loads(run("rotate", made["id"], "--overlap", "12h", "--json"))
    listed = run("list", "--json")
    assert [k["state"] for k in json.loads(listed)] == ["ending", "active"]
    assert made["key"] not in listed and new["key"] not in run("list")
    run("revoke", new["id"])
    run("create", "no such name!", code=2)
    run("create", "x", "--scope", "everything", code=2)
    run("rotate", new["id"], "--overlap", "soon", code=2)
    run("revoke", "0" * 12, code=2)
    run("list", "--keys", "absent", code=2)
    ask, _ = serve(keys=str(tmp_path / "sfumato.keys"))
    assert ask("POST", SCORE, WHOLE, key=made["key"]).status == 200  # within its overlap
    assert ask("POST", SCORE, WHOLE, key=new["key"]).status == 401


def test_many_threads_may_change_the_file(tmp_path: Path) -> None:
    installation = Installation(tmp_path / "keys", create=True)
    threads = [threading.Thread(target=installation.create_key, args=(f"c{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({k.id for k in installation.listed()}) == 8
    installation.close()


def test_a_file_that_is_gone_closes_the_door(serve: Callable) -> None:
    ask, service = serve()
    service.installation._connection.close()
    assert Inside(build(service), ask.key)("POST", SCORE, WHOLE).status == 503
