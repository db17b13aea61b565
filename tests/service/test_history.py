"""The history of an installation: every change has its line, and a changed line is noticed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.cli import main
from sfumato.errors import VerificationError
from sfumato.service.installation import Installation


def changed(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(sql)
    connection.commit()
    connection.close()


def test_every_change_has_its_line_and_says_who(serve: Callable) -> None:
    ask, service = serve()
    installation = service.installation
    owner, admin = installation.create_key("owner", ("admin",))
    versions = service.registry.versions("diabetes")
    current = ask("GET", "/v1/models/diabetes").json["current"]
    other = next(v for v in versions if v != current)
    assert ask("POST", "/v1/models/diabetes/activate", {"version": other}, key=admin).status == 200
    assert ask("POST", "/v1/models/diabetes/rollback", key=admin).status == 200
    refused = ask("POST", "/v1/models/diabetes/activate", {"version": "nothing"}, key=admin)
    assert refused.status == 404
    new, _ = installation.rotate_key(owner.id, 60)
    installation.revoke_key(new.id)
    steps = [(s.who, s.did, s.what) for s in installation.history()]
    assert (owner.id, "activated", f"diabetes {other}") in steps
    assert (owner.id, "rolled back", f"diabetes to {current}") in steps
    assert ("service", "activated", f"diabetes {current}, as nobody had chosen") in steps
    assert [s[1] for s in steps[-2:]] == ["rotated key", "revoked key"]
    assert steps[-1][0].startswith("terminal:") and steps[-1][2] == f"{new.id} of owner"
    assert not any(admin.split("_", 2)[2] in json.dumps(s) for s in steps)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE history SET who = 'terminal:nobody' WHERE number = 2",
        "UPDATE history SET at = '2020-01-01T00:00:00Z' WHERE number = 1",
        "DELETE FROM history WHERE number = 2",
        "DELETE FROM history WHERE number = 1",
        "INSERT INTO history SELECT number + 1, at, who, did, what, hash FROM history WHERE number = 3",
        "UPDATE history SET hash = replace(hash, 'a', 'b')",
    ],
)
def test_a_changed_history_is_noticed(tmp_path: Path, sql: str) -> None:
    installation = Installation(tmp_path / "keys", create=True)
    for client in ("a", "b", "c"):
        installation.create_key(client)
    installation.close()
    changed(tmp_path / "keys", sql)
    with pytest.raises(VerificationError, match="history was changed"):
        Installation(tmp_path / "keys").history()


def test_a_shortened_history_is_noticed_by_who_noted_its_head(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sfumato.keys"
    installation = Installation(path, create=True)
    key, _ = installation.create_key("a")
    installation.revoke_key(key.id)
    head = installation.history()[-1].hash
    installation.close()
    assert main(["keys", "history", "--keys", str(path), "--seen", head]) == 0
    shown = capsys.readouterr().out
    assert "revoked key" in shown and head in shown.replace("\n", "")
    changed(path, "DELETE FROM history WHERE number = 2")
    assert main(["keys", "history", "--keys", str(path)]) == 0  # a sound chain
    assert main(["keys", "history", "--keys", str(path), "--seen", head]) != 0
