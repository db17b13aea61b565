"""sign, verify --trusted, trust: what a person types to sign a release, and a stranger to check it."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pytest
from cli_support import Sfumato
from releases import alter, cover_up, released

from sfumato.cli.exit_codes import BAD_INPUT, NOT_TRUSTED
from sfumato.privacy.signatures import SigningKey


@pytest.fixture
def signed(tmp_path: Path, sfumato: Sfumato) -> Path:
    """A release that the officer has signed, with a log."""
    released().save(tmp_path / "release")
    made = sfumato("trust", "key", "officer.key")
    assert made.code == 0 and (tmp_path / "officer.pub").exists(), made.all
    done = sfumato("sign", "release", "--key", "officer.key", "--name", "A. Miller", "--log", "log")
    assert done.code == 0 and "signed by A. Miller" in done.out, done.all
    return tmp_path / "release"


def test_three_answers_and_three_exit_codes(signed: Path, sfumato: Sfumato) -> None:
    found = sfumato("verify", "release", "--trusted", "officer.pub")
    assert found.code == 0 and "AUTHENTIC: signed by A. Miller" in found.out
    shutil.copytree(signed / "public", signed.parent / "received")
    assert sfumato("verify", "received", "--trusted", "officer.pub", "--log", "log").code == 0
    sfumato("trust", "key", "other.key")
    for more in ((), ("--trusted", "other.pub")):
        found = sfumato("verify", "received", *more)
        assert found.code == NOT_TRUSTED and "NOT SIGNED BY ANYONE YOU TRUST" in found.out
    alter(signed, "stay", 0, 99)
    cover_up(signed)
    shutil.rmtree(signed / "internal")
    for more in ((), ("--trusted", "officer.pub")):
        found = sfumato("verify", "release", *more)
        assert found.code == 1 and "ALTERED" in found.out
    told = json.loads(sfumato("verify", "release", "--trusted", "officer.pub", "--json").out)
    assert told["standing"] == "altered" and told["ok"] is False and told["signers"] == []


def test_what_is_not_in_the_log_does_not_count(signed: Path, sfumato: Sfumato) -> None:
    released(2).save(signed.parent / "second")
    sfumato("sign", "second", "--key", "officer.key", "--name", "A. Miller")
    assert sfumato("verify", "second", "--trusted", "officer.pub").code == 0
    found = sfumato("verify", "second", "--trusted", "officer.pub", "--log", "log")
    assert found.code == NOT_TRUSTED and "it is not in the log" in " ".join(found.out.split())
    assert sfumato("verify", "second", "--trusted", "officer.pub", "--log", "nowhere").code == BAD_INPUT
    shown = sfumato("trust", "log", "log", "--json")
    assert shown.code == 0 and len(json.loads(shown.out)) == 1
    (signed.parent / "log").write_text("x\n")
    for command in (
        ("trust", "log", "log"),
        ("verify", "release", "--trusted", "officer.pub", "--log", "log"),
    ):
        assert sfumato(*command).code == BAD_INPUT


def test_the_trust_file_rotates_and_revokes(
    signed: Path, sfumato: Sfumato, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_TRUST", str(signed.parent / "trust.toml"))
    assert sfumato("trust", "list").code == 0
    assert sfumato("verify", "release").code == BAD_INPUT  # named, and not there
    added = sfumato("trust", "add", "officer.pub", "--name", "Officer Miller", "--signs", "release")
    assert added.code == 0, added.all
    assert stat.S_IMODE((signed.parent / "trust.toml").stat().st_mode) == 0o644
    found = sfumato("verify", "release")
    assert found.code == 0 and "signed by Officer Miller" in found.out
    listed = json.loads(sfumato("trust", "list", "--json").out)
    assert [k["state"] for k in listed] == ["trusted"] and listed[0]["signs"] == ["release"]
    assert sfumato("trust", "retire", "Officer Miller").code == 0
    assert sfumato("verify", "release").code == 0  # signed before it was retired
    assert sfumato("trust", "retire", "Officer Miller", "--on", "2020-01-01").code == 0
    assert "retired on 2020-01-01" in " ".join(sfumato("verify", "release").out.split())
    assert sfumato("trust", "revoke", listed[0]["public"][:10], "--reason", "lost").code == 0
    found = sfumato("verify", "release")
    assert found.code == NOT_TRUSTED and "revoked" in found.out
    for wrong in (
        ("trust", "add", "officer.pub", "--name", "Again"), ("trust", "revoke", "nobody"),
        ("trust", "add", "officer.key", "--name", "Secret"), ("trust", "add", "nowhere", "--name", "None"),
        ("trust", "retire", "Officer Miller", "--on", "soon"),
        ("trust", "add", "00" * 32, "--name", "X", "--signs", "all"),
    ):  # fmt: skip
        assert sfumato(*wrong).code == BAD_INPUT, wrong


def test_what_cannot_be_signed(signed: Path, sfumato: Sfumato) -> None:
    (signed.parent / "open.key").write_text((signed.parent / "officer.key").read_text())
    (signed.parent / "open.key").chmod(0o644)
    for wrong, why in (
        (("sign", "release", "--name", "A"), "signed with a key"),
        (("sign", "release", "--name", "A", "--key", "officer.pub"), "holds a public key"),
        (("sign", "release", "--name", "A", "--key", "open.key"), "can be read by others"),
        (("sign", "release", "--name", "A", "--key", "none.key"), "there is none"),
        (("sign", "release", "--name", "", "--key", "officer.key"), "name"),
        (("sign", "release", "--name", "A", "--key", "officer.key", "--all"), "for plans"),
        (("sign", "plan.toml", "--name", "A", "--key", "officer.key"), "signed by name"),
        (("sign", ".", "--name", "A", "--key", "officer.key"), "no release"),
        (("trust", "key", "officer.key"), "exists"),
        (("verify", "release", "--trusted", "officer.key"), "holds a secret key"),
    ):
        answer = sfumato(*wrong)
        assert answer.code == BAD_INPUT and why in " ".join(answer.err.split()), (wrong, answer.all)


def test_a_determination_is_signed_by_itself(signed: Path, sfumato: Sfumato) -> None:
    page = signed.parent / "determination.html"
    page.write_text("<p>It may leave.</p>")
    assert sfumato("verify", page, "--trusted", "officer.pub").code == NOT_TRUSTED
    done = sfumato("sign", page, "--key", "officer.key", "--name", "A. Miller", "--log", "log")
    assert done.code == 0, done.all
    found = sfumato("verify", page, "--trusted", "officer.pub", "--log", "log")
    assert found.code == 0 and "AUTHENTIC: signed by A. Miller" in found.out
    assert sfumato("verify", page, "--trusted", "officer.pub", "--as", "claim").code == 1
    assert sfumato("verify", page, "--trusted", "officer.pub", "--as", "release").code == BAD_INPUT
    copy = signed.parent / "other.html"
    copy.write_text(page.read_text())
    shutil.copy(f"{page}.intoto.jsonl", f"{copy}.intoto.jsonl")
    assert sfumato("verify", copy, "--trusted", "officer.pub").code == 1  # signed under another name
    page.write_text("<p>It must not leave.</p>")
    assert sfumato("verify", page, "--trusted", "officer.pub").code == 1
    assert sfumato("sign", page, "--name", "A. Miller").code == BAD_INPUT
    assert sfumato("sign", "nowhere.html", "--key", "officer.key", "--name", "A").code == BAD_INPUT
    assert sfumato("sign", page, "--key", "officer.key", "--name", "A. Miller").code == 0
    assert sfumato("verify", page, "--trusted", "officer.pub").code == 0
    assert len(Path(f"{page}.intoto.jsonl").read_text().splitlines()) == 1


def test_a_model_is_signed_again_with_the_new_key(sfumato, tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    from score_tables import mixed

    from sfumato.prediction.additive import AdditiveScore

    monkeypatch.setenv("SFUMATO_TRUST", str(tmp_path / "trust.toml"))
    for name in ("old", "new"):
        assert sfumato("trust", "key", f"{name}.key").code == 0
        assert sfumato("trust", "add", f"{name}.pub", "--name", name).code == 0
    AdditiveScore(5.0).fit(mixed(300), "sick").save(tmp_path / "m.sfm", SigningKey.load("old.key"))
    assert sfumato("model", "verify", "m.sfm").code == 0
    assert sfumato("trust", "retire", "old", "--on", "2020-01-01").code == 0
    assert sfumato("model", "verify", "m.sfm").code == 1
    assert sfumato("sign", "m.sfm").code == 2
    assert sfumato("sign", "m.sfm", "--key", "new.key", "--name", "me").code == 2
    assert sfumato("sign", "release", "--key", "new.key").code == 2
    done = sfumato("sign", "m.sfm", "--key", "new.key", "--json")
    assert done.code == 0 and json.loads(done.out)["public_key"] == SigningKey.load("new.key").public, (
        done.err
    )
    assert sfumato("model", "verify", "m.sfm").code == 0
    assert sfumato("trust", "revoke", "new").code == 0
    assert sfumato("trust", "key", "third.key").code == 0
    refused = sfumato("sign", "m.sfm", "--key", "third.key")
    assert refused.code == 2 and "does not count for models any more" in refused.err
