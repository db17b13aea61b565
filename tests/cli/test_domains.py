"""schema declare, schema find, schema standards at the terminal."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

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
    assert Schema.read(schema)["sex"].origin == "declared by R. Weiss (form F12)"
    Ledger.open(visits / "l.ledger", Budget(epsilon=3, delta=1e-8))
    paid = ("--ledger", str(visits / "l.ledger"), "--other-people")
    done = sfumato("schema", "find", schema, data, "--epsilon", "1", *paid, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert set(found["found"]) == {"dx", "age"} and found["guarantee"]["claims"][0]["epsilon"] == 2.0
    after = Schema.read(schema)
    assert after["dx"].levels == ("E11", "I10", "other") and all(c.public for c in after)
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
