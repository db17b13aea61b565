"""schema declare, schema find, schema standards at the terminal."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.privacy import Budget, Ledger
from sfumato.privacy.signatures import Purpose, SigningKey, Trust, TrustedKey
from sfumato.schema import Column, Kind, Provenance, Schema

SCHEMA = """\
[columns.dx]
kind = "nominal"
[columns.age]
kind = "numeric"
type = "integer"
[columns.sex]
kind = "flag"
levels = ["f", "m"]
confirmed = true
[columns.state]
standard = "us-states"
"""


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    (tmp_path / "visits.toml").write_text(SCHEMA, encoding="utf-8")
    lines = [f"{'I10' if i % 3 else 'E11'},{20 + i % 60},{'fm'[i % 2]},NY" for i in range(900)]
    lines[7] = "zebra-7319,33,f,NY"
    (tmp_path / "visits.csv").write_text("dx,age,sex,state\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_who_answers_is_written_and_stated(visits: Path, sfumato) -> None:  # type: ignore[no-untyped-def]
    schema, data = str(visits / "visits.toml"), str(visits / "visits.csv")
    done = sfumato("schema", "declare", schema, "--by", "R. Weiss", "--reason", "form F12", "--json")
    assert done.code == 0 and json.loads(done.out)["declared"] == ["sex"]
    assert "no promise of differential privacy rests on it" in done.err and "--key" in done.err
    assert Schema.read(schema)["sex"].origin.endswith("as the file says, but nobody signed that")
    SigningKey.fresh().save(visits / "weiss.key")
    key = ("--key", str(visits / "weiss.key"))
    done = sfumato("schema", "declare", schema, "--by", "R. Weiss", "--reason", "form F12", *key, "--json")
    assert done.code == 0 and json.loads(done.out)["declared"] == ["sex"] and "no promise" not in done.err
    assert Schema.read(schema)["sex"].origin == "declared by R. Weiss (form F12)"
    Ledger.open(visits / "l.ledger", Budget(epsilon=3, delta=1e-8))
    paid = ("--ledger", str(visits / "l.ledger"), "--other-people")
    done = sfumato("schema", "find", schema, data, "--epsilon", "1", *paid, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert set(found["found"]) == {"dx", "age"} and found["guarantee"]["claims"][0]["epsilon"] == 2.0
    after = Schema.read(schema)
    assert after["dx"].levels == ("E11", "I10", "other") and all(c.stated for c in after)
    assert all(c.public for c in after.trusting(Trust(), Ledger.look(visits / "l.ledger")))
    assert "zebra" not in (visits / "visits.toml").read_text(encoding="utf-8")
    out = ("--epsilon", "1", "--delta", "0", "--out", str(visits / "out"))
    done = sfumato("synthesize", data, "--schema", schema, *out, *paid)
    assert done.code == 0, done.err
    card = (visits / "out" / "public" / "guarantee.json").read_text(encoding="utf-8")
    assert "R. Weiss" in card and "us-states" in card and "found in the data" in card
    assert Ledger.open(visits / "l.ledger").spent == pytest.approx(3.0)


def test_what_cannot_be_is_refused(visits: Path, sfumato) -> None:  # type: ignore[no-untyped-def]
    schema, data = str(visits / "visits.toml"), str(visits / "visits.csv")
    before = (visits / "visits.toml").read_bytes()
    for words in (
        ("schema", "declare", schema, "--by", " ", "--reason", "x"),
        ("schema", "declare", schema, "--by", "me", "--reason", "x", "-c", "dx"),
        ("schema", "declare", schema, "--by", "me", "--reason", "x", "-c", "none"),
        ("schema", "find", schema, data, "--epsilon", "0"),
        ("schema", "find", schema, data, "--grid", "a,b"),
        ("schema", "find", schema, data, "-c", "none"),
    ):
        assert sfumato(*words).code == 2, words
    assert (visits / "visits.toml").read_bytes() == before


def test_the_public_lists_are_listed(sfumato) -> None:  # type: ignore[no-untyped-def]
    done = sfumato("schema", "standards", "--json")
    assert done.code == 0 and {"months", "us-states"} <= {
        s["name"] for s in json.loads(done.out)["standards"]
    }
    assert "countries-iso-3166" in sfumato("schema", "standards").out


def test_what_was_read_off_is_declared_with_a_signature(
    sfumato, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    """Read off, refused; signed by a stranger, refused where a trust file is; signed by who may, released."""
    sex = Column("sex", Kind.NOMINAL, levels=("f", "m"), missing=False, provenance=Provenance.read_off())
    ward = Column("ward", Kind.NOMINAL, levels=("a", "b"), missing=False, provenance=Provenance.read_off())
    schema = Schema((sex, ward))
    key, other = SigningKey.fresh(), SigningKey.fresh()
    trust = Trust((TrustedKey(key.public, "R. Weiss", (Purpose.DECLARATION,)),))
    (tmp_path / "s.toml").write_text(schema.to_toml())
    (tmp_path / "d.csv").write_text("sex,ward\n" + "f,a\nm,b\n" * 40)
    key.save(tmp_path / "weiss.key")
    other.save(tmp_path / "other.key")
    declare = ["schema", "declare", "s.toml", "--by", "R. Weiss", "--reason", "form F12", "-c", "sex"]
    declare += ["-c", "ward"]
    made = ["synthesize", "d.csv", "--schema", "s.toml", "-m", "marginals", "--epsilon", "1", "--rows", "9"]
    refused = sfumato(*declare)
    assert refused.code == 2 and "nobody signed" in refused.err
    done = sfumato(*declare, "--key", "other.key", "--json")
    assert done.code == 0 and json.loads(done.out)["signed"] is True
    done = sfumato(*made, "--out", "one", "--json")
    assert f"signed with key {other.public[:8]}" in json.dumps(json.loads(done.out)["guarantee"])
    (tmp_path / "trust.toml").write_text(trust.to_toml())
    (tmp_path / "trust.toml").chmod(0o644)
    monkeypatch.setitem(os.environ, "SFUMATO_TRUST", str(tmp_path / "trust.toml"))
    refused = sfumato(*made, "--out", "two")
    assert refused.code != 0 and "trust file" in refused.err and not (tmp_path / "two").exists()
    assert sfumato(*declare, "--key", "weiss.key").code == 0
    assert sfumato(*made, "--out", "two").code == 0
    monkeypatch.delitem(os.environ, "SFUMATO_TRUST")


def test_found_is_not_what_a_file_says(visits: Path, sfumato) -> None:  # type: ignore[no-untyped-def]
    """Edited, under another ledger or under none, what `schema find` wrote carries no promise."""
    schema, data = str(visits / "visits.toml"), str(visits / "visits.csv")
    SigningKey.fresh().save(visits / "weiss.key")
    declared = ("schema", "declare", schema, "--by", "R. Weiss", "--reason", "form F12")
    assert sfumato(*declared, "--key", str(visits / "weiss.key")).code == 0
    for name in ("a", "b"):
        Ledger.open(visits / f"{name}.ledger", Budget(epsilon=9, delta=1e-8))
    done = sfumato("schema", "find", schema, data, "--ledger", str(visits / "a.ledger"), "--other-people")
    assert done.code == 0, done.err
    genuine = (visits / "visits.toml").read_text(encoding="utf-8")

    def synthesized(*options: str):  # type: ignore[no-untyped-def]
        fixed = ("--epsilon", "1", "--delta", "0", "--out", str(visits / "out"), "--other-people")
        return sfumato("synthesize", data, "--schema", schema, *fixed, *options)

    for options in ((), ("--ledger", str(visits / "b.ledger"))):
        done = synthesized(*options)
        assert done.code == 2 and "neither its ledger nor a signature" in done.err, done.err
    assert Ledger.look(visits / "b.ledger").spent == 0
    for before, after in (('"I10"', '"I10", "zebra-7319"'), ("epsilon = 0.5", "epsilon = 0.1")):
        edited = Schema.from_toml(genuine.replace(before, after))
        rebound = [
            (c.provenance and replace(c, provenance=c.provenance.about(c.domain))) or c for c in edited
        ]
        (visits / "visits.toml").write_text(Schema(tuple(rebound)).to_toml(), encoding="utf-8")
        assert synthesized("--ledger", str(visits / "a.ledger")).code == 2
    assert Ledger.look(visits / "a.ledger").spent == 1.0 and not (visits / "out").exists()
    (visits / "visits.toml").write_text(genuine, encoding="utf-8")
    assert synthesized("--ledger", str(visits / "a.ledger")).code == 0


def test_what_was_found_can_be_signed(  # type: ignore[no-untyped-def]
    visits: Path, sfumato, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema, data = str(visits / "visits.toml"), str(visits / "visits.csv")
    sfumato("schema", "declare", schema, "--by", "R. Weiss", "--reason", "form F12")
    key = SigningKey.fresh()
    key.save(visits / "weiss.key")
    assert sfumato("schema", "find", schema, data, "--key", str(visits / "weiss.key")).code == 2
    done = sfumato("schema", "find", schema, data, "-c", "dx")
    assert done.code == 0 and "no promise rests on it" in done.err
    done = sfumato(
        "schema", "find", schema, data, "-c", "dx", "-c", "age", "--by", "R. Weiss",
        "--key", str(visits / "weiss.key"),
    )  # fmt: skip
    assert done.code == 0, done.err
    fixed = ("--epsilon", "1", "--delta", "0", "--out", str(visits / "out"))
    assert sfumato("synthesize", data, "--schema", schema, *fixed).code == 2
    trust = visits / "trust.toml"
    trust.write_text(Trust((TrustedKey(key.public, "R. Weiss", (Purpose.DECLARATION,)),)).to_toml())
    monkeypatch.setenv("SFUMATO_TRUST", str(trust))
    sfumato("schema", "declare", schema, "--by", "R. Weiss", "--reason", "form F12", "-c", "sex",
            "--key", str(visits / "weiss.key"))  # fmt: skip
    done = sfumato("synthesize", data, "--schema", schema, *fixed)
    assert done.code == 0, done.err
    checked = {c.subject: c for c in sf.verify(visits / "out").data}
    assert "signed by R. Weiss" in checked["domain of 'dx'"].detail
