"""Keys, envelopes and the trust file: what strangers' tools read, and what is refused."""

from __future__ import annotations

import base64
import json
import os
import pickle
import shutil
import stat
import subprocess
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError, OutputError, ParameterError
from sfumato.privacy.signatures import (
    Envelope,
    Purpose,
    SigningKey,
    Statement,
    Trust,
    TrustedKey,
    canonical,
    pae,
    signed,
    strict_json,
)
from sfumato.privacy.signatures.trust import usual_place

KEY = SigningKey(bytes(range(32)))
OTHER = SigningKey(bytes(range(1, 33)))
DAY = date(2026, 3, 31)
HASH = "0" * 64


def statement(**changes: Any) -> Statement:
    given = {"purpose": Purpose.RELEASE, "subjects": {"a.csv": HASH}, "signer": "A. Miller", "on": DAY}
    return Statement(**given | changes)


# -- what strangers read -------------------------------------------------------------------------


def test_the_encoding_is_that_of_the_specification() -> None:
    """The example of the DSSE specification, and its signature over it by a few lines of another library."""
    assert pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )
    assert pae("ü", b"") == b"DSSEv1 2 \xc3\xbc 0 "  # lengths are of bytes


def test_an_envelope_is_checked_by_a_few_lines_of_another_library() -> None:
    line = statement().signed(KEY).to_line()
    envelope = json.loads(line)
    payload = base64.b64decode(envelope["payload"])
    kind = envelope["payloadType"].encode()
    message = b"DSSEv1 " + b" ".join([str(len(kind)).encode(), kind, str(len(payload)).encode(), payload])
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(KEY.public))
    public.verify(base64.b64decode(envelope["signatures"][0]["sig"]), message)  # raises if it does not fit
    said = json.loads(payload)
    assert said["_type"] == "https://in-toto.io/Statement/v1"
    assert said["subject"] == [{"name": "a.csv", "digest": {"sha256": HASH}}]
    assert said["predicate"] == {"on": "2026-03-31", "signer": {"name": "A. Miller"}}


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not here")
def test_openssl_checks_it_and_its_keys_sign(tmp_path: Path) -> None:
    envelope = statement().signed(KEY)
    KEY.save_public(tmp_path / "k.pub")
    (tmp_path / "message").write_bytes(pae("application/vnd.in-toto+json", envelope.payload))
    (tmp_path / "sig").write_bytes(envelope.signatures[0].value)
    ask = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "k.pub", "-rawin", "-in", "message"]
    found = subprocess.run([*ask, "-sigfile", "sig"], cwd=tmp_path, capture_output=True)
    assert found.returncode == 0, found.stderr
    made = ["openssl", "genpkey", "-algorithm", "ed25519", "-out", "theirs.key"]
    subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "theirs.key").chmod(0o600)
    theirs = SigningKey.load(tmp_path / "theirs.key")
    assert signed(theirs.public, theirs.sign(b"x"), b"x")


@given(st.dictionaries(st.text("abcü. -", min_size=1, max_size=5), st.just(HASH), min_size=1, max_size=3))
def test_a_statement_comes_back_as_it_was(subjects: dict[str, str]) -> None:
    try:
        said = statement(subjects=subjects, says={"guarantee": [1.5, "ü"]})
    except ParameterError:
        return
    envelope = Envelope.from_line(said.signed(KEY).to_line())
    assert envelope.signed_by(KEY.public) and not envelope.signed_by(OTHER.public)
    assert Statement.from_payload(envelope.payload) == said


# -- hostile envelopes ---------------------------------------------------------------------------


def test_of_several_signatures_each_is_looked_at() -> None:
    payload = statement().payload()
    both = Envelope.sign(payload, KEY, OTHER)
    assert both.signers == (KEY.public, OTHER.public) and both.broken == 0
    first, second = both.signatures
    forged = Envelope(payload, (first, type(second)(OTHER.public, first.value)))
    assert forged.signers == (KEY.public,) and forged.broken == 1
    nameless = Envelope(payload, (type(first)("", first.value),))
    assert nameless.signed_by(KEY.public) and nameless.signers == () and nameless.broken == 0
    assert Envelope.sign(payload + b" ", KEY).signatures[0].value != first.value


def _changed(change: Any) -> str:
    document = json.loads(statement().signed(KEY).to_line())
    change(document)
    return canonical(document).decode()


@pytest.mark.parametrize(
    "line",
    [
        "", "{}", "[]", "null", "[" * 100_000, "\0", '{"payload":"","payloadType":"x","signatures":[]}',
        statement().signed(KEY).to_line().replace(",", ", ", 1),
        statement().signed(KEY).to_line().replace('{"payload":', '{"payload":"QQ==","payload":', 1),
        statement().signed(KEY).to_line().strip() + "{}",
        _changed(lambda d: d.update(payloadType="text/plain")),
        _changed(lambda d: d.update(more=1)),
        _changed(lambda d: d.update(signatures=[])),
        _changed(lambda d: d.update(signatures=d["signatures"] * 17)),
        _changed(lambda d: d["signatures"][0].update(cert="x")),
        _changed(lambda d: d["signatures"][0].update(keyid=1)),
        _changed(lambda d: d["signatures"][0].update(sig="!")),
        _changed(lambda d: d["signatures"][0].update(sig=d["signatures"][0]["sig"] + "\n")),
        _changed(lambda d: d.update(payload=d["payload"].rstrip("=") + "A==")),
        _changed(lambda d: d.update(payload=5)),
    ],
)  # fmt: skip
def test_what_is_no_envelope_in_its_one_spelling_is_refused(line: str) -> None:
    with pytest.raises(DataError, match="not a signature"):
        Envelope.from_line(line)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(_type="https://in-toto.io/Statement/v0.1"),
        lambda d: d.update(predicateType="urn:sfumato:release:99"),
        lambda d: d.update(extra=1),
        lambda d: d.update(subject=[]),
        lambda d: d.update(subject=d["subject"] * 2),
        lambda d: d["subject"][0].update(name="../../etc/passwd"),
        lambda d: d["subject"][0].update(name="/etc/passwd"),
        lambda d: d["subject"][0].update(name="a\\..\\b"),
        lambda d: d["subject"][0].update(name="e\u0301.csv"),
        lambda d: d["subject"][0].update(name="a\x1b[2J"),
        lambda d: d["subject"][0].update(digest={"sha256": HASH, "md5": "0"}),
        lambda d: d["subject"][0].update(digest={"sha256": "A" * 64}),
        lambda d: d["predicate"].update(on="31.3.2026"),
        lambda d: d["predicate"].update(on="20260331"),
        lambda d: d["predicate"].update(signer={"name": "two\nlines"}),
        lambda d: d["predicate"].update(signer={"name": "A", "role": "root"}),
        lambda d: d["predicate"].pop("signer"),
        lambda d: d.update(predicate=[]),
    ],
)
def test_what_is_no_statement_is_refused_even_if_it_is_signed(change: Any) -> None:
    document = json.loads(statement().payload())
    change(document)
    with pytest.raises(DataError, match="not a statement"):
        Statement.from_payload(canonical(document))


@pytest.mark.parametrize("payload", [b"", b"\xff", b"[" * 100_000, b"{}", b"1", b'{"a":1,"a":1}', b"NaN"])
def test_garbage_is_no_statement(payload: bytes) -> None:
    with pytest.raises(DataError, match="not a statement"):
        Statement.from_payload(payload)


def test_two_names_of_one_file_are_not_signed() -> None:
    for names in (("a", "A"), ("ﬁ", "fi")):
        with pytest.raises(ParameterError, match="differ in spelling"):
            statement(subjects=dict.fromkeys(names, HASH))
    for faulty in ({"subjects": {}}, {"subjects": {"a": "0"}}, {"signer": ""}, {"signer": "x" * 201}):
        with pytest.raises(ParameterError):
            statement(**faulty)
    with pytest.raises(ParameterError, match="SigningKey"):
        statement().signed("key")  # type: ignore[arg-type]


def test_a_key_that_occurs_twice_is_refused() -> None:
    assert strict_json(b'{"a":{"b":1}}') == {"a": {"b": 1}}
    for text in ('{"a":{"b":1,"b":2}}', "NaN", "[Infinity]", "[" * 100_000):
        with pytest.raises(ValueError):
            strict_json(text)


# -- key files -----------------------------------------------------------------------------------


def test_a_key_file_is_for_its_owner_alone_and_never_replaced(tmp_path: Path) -> None:
    path = KEY.save(tmp_path / "k.key")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SigningKey.load(path).public == KEY.public
    assert KEY.public in repr(KEY) and bytes(range(32)).hex() not in repr(KEY)
    for again in (KEY.save, KEY.save_public):
        with pytest.raises(OutputError, match="exists"):
            again(path)
    with pytest.raises(OutputError):
        KEY.save(tmp_path / "no" / "folder")
    with pytest.raises(ParameterError):
        pickle.dumps(KEY)
    for mode in (0o640, 0o604, 0o620):
        path.chmod(mode)
        with pytest.raises(DataError, match="can be read by others"):
            SigningKey.load(path)


def test_public_and_secret_are_not_taken_for_each_other(tmp_path: Path) -> None:
    secret, public = KEY.save(tmp_path / "k.key"), KEY.save_public(tmp_path / "k.pub")
    (tmp_path / "k.hex").write_text(f"{KEY.public.upper()}\n")
    with pytest.raises(DataError, match="holds a public key"):
        SigningKey.load(public)
    (tmp_path / "k.hex").write_text(f"{KEY.public}\n")
    with pytest.raises(DataError, match="holds a public key"):
        SigningKey.load(tmp_path / "k.hex")
    with pytest.raises(DataError, match="holds a secret key") as error:
        Trust.of(secret)
    assert bytes(range(32)).hex() not in str(error.value)
    for way in (
        KEY.public,
        KEY.public.upper(),
        public,
        str(public),
        [tmp_path / "k.hex"],
        [KEY.public] * 2,
    ):
        assert [k.public for k in Trust.of(way).keys] == [KEY.public]


def test_a_key_whose_halves_do_not_belong_together_is_refused(tmp_path: Path) -> None:
    document = json.loads(KEY.save(tmp_path / "k.key").read_text())
    (tmp_path / "k.key").write_text(json.dumps({**document, "public": OTHER.public}))
    with pytest.raises(DataError, match="not a signing key"):
        SigningKey.load(tmp_path / "k.key")


def test_keys_of_another_kind_are_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization as pem
    from cryptography.hazmat.primitives.asymmetric import ec

    other = ec.generate_private_key(ec.SECP256R1())
    sealed = Ed25519PrivateKey.generate()
    form = (pem.Encoding.PEM, pem.PrivateFormat.PKCS8)
    texts = {
        "ec.key": other.private_bytes(*form, pem.NoEncryption()),
        "sealed.key": sealed.private_bytes(*form, pem.BestAvailableEncryption(b"word")),
        "broken.key": b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        "large.key": b"x" * 100_000,
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
        (tmp_path / name).chmod(0o600)
        with pytest.raises(DataError, match=r"not a signing key|too large"):
            SigningKey.load(tmp_path / name)
    spki = other.public_key().public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "ec.pub").write_bytes(spki)
    with pytest.raises(DataError, match="not a public key of Ed25519"):
        Trust.of(tmp_path / "ec.pub")
    os.mkfifo(tmp_path / "pipe", 0o600)
    for what in (tmp_path / "pipe", tmp_path, tmp_path / "none", Path("a\0b")):
        with pytest.raises(DataError):
            SigningKey.load(what)
        with pytest.raises(DataError):
            Trust.of(what)


# -- the trust file ------------------------------------------------------------------------------


def test_days_of_a_key(tmp_path: Path) -> None:
    key = TrustedKey(KEY.public, "A", start=date(2026, 1, 1), end=date(2026, 6, 30))
    today = date(2026, 12, 1)
    assert not key.refusal(Purpose.RELEASE, DAY, today)
    assert "retired" in key.refusal(Purpose.RELEASE, date(2026, 7, 1), today)
    assert "from 2026-01-01" in key.refusal(Purpose.RELEASE, date(2025, 12, 31), today)
    assert "not come yet" in key.refusal(Purpose.RELEASE, today + timedelta(days=2), today)
    assert "retired" in key.refusal(Purpose.MODEL, None, today)  # bears no day: counts while the key does
    assert not key.refusal(Purpose.MODEL, None, DAY)
    only = TrustedKey(KEY.public, signs=(Purpose.MODEL,))
    assert "for model only" in only.refusal(Purpose.RELEASE, DAY, today)
    assert Trust((key, TrustedKey(OTHER.public, end=date(2020, 1, 1)))).without_day(Purpose.MODEL) in [
        (KEY.public,), (),
    ]  # fmt: skip


def test_a_revoked_key_counts_for_nothing_whatever_the_day() -> None:
    key = TrustedKey(KEY.public, revoked=date(2026, 11, 2), reason="laptop stolen")
    for on in (None, date(2020, 1, 1), DAY, date(2026, 11, 2)):
        assert "revoked on 2026-11-02 (laptop stolen)" in key.refusal(Purpose.RELEASE, on, date(2026, 12, 1))


def test_the_trust_file_comes_back_and_is_changed_by_name(tmp_path: Path) -> None:
    trust = Trust((TrustedKey(KEY.public, "A. Müller", (Purpose.RELEASE,), DAY), TrustedKey(OTHER.public)))
    path = tmp_path / "trust.toml"
    path.write_text(trust.to_toml(), encoding="utf-8")
    assert Trust.of(path) == Trust.read(path) == trust
    after = trust.changed("A. Müller", revoked=DAY).changed(OTHER.public[:8], end=DAY)
    assert [k.revoked for k in after.keys] == [DAY, None] and after.keys[1].end == DAY
    path.write_text(after.to_toml(), encoding="utf-8")
    assert Trust.read(path) == after and Trust.of([path, path]) == after
    for name in ("nobody", ""):
        with pytest.raises(ParameterError, match="no key"):
            trust.changed(name, end=DAY)
    with pytest.raises(ParameterError, match="there already"):
        trust.with_key(TrustedKey(KEY.public))
    with pytest.raises(ParameterError, match="twice"):  # one of the two says less
        Trust.of([path, KEY.public])


@pytest.mark.parametrize(
    "text",
    [
        "keys = 1", "more = 1", "[[keys]]\nname = 'A'", "[[keys]]\npublic = 'xyz'", "\xff", "[[keys",
        f"[[keys]]\npublic = '{KEY.public}'\n" * 2,
        *(
            f"[[keys]]\npublic = '{KEY.public}'\n{line}\n"
            for line in (
                "signs = ['everything']", "signs = 'release'", "signs = []", "signs = 1", "from = '2026-01'",
                "from = 2026-01-01T00:00:00", "until = 1", "revoked = true", "load = 'os.system'", "name = 1",
                "name = \"two\\nlines\"", "reason = 5", "from = 2026-02-01\nuntil = 2026-01-01",
            )
        ),
    ],
)  # fmt: skip
def test_a_trust_file_with_faults_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trust.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=r"trust\.toml"):
        Trust.read(path)


def test_a_trust_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trust.toml"
    path.write_text(Trust((TrustedKey(KEY.public),)).to_toml())
    for mode in (0o622, 0o664, 0o602):
        path.chmod(mode)
        with pytest.raises(DataError, match="changed by others"):
            Trust.read(path)


def test_where_the_trust_file_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SFUMATO_TRUST", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert usual_place() == tmp_path / "sfumato" / "trust.toml" and not Trust.of(None)
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert usual_place() == Path.home() / ".config" / "sfumato" / "trust.toml"
    monkeypatch.setenv("SFUMATO_TRUST", str(tmp_path / "mine.toml"))
    with pytest.raises(DataError, match="there is none"):  # named and not there: nobody is to guess
        Trust.default()
    (tmp_path / "mine.toml").write_text(Trust((TrustedKey(KEY.public),)).to_toml())
    assert Trust.of(None).find(KEY.public) and Trust.of([]) == Trust() and Trust.of(Trust()) == Trust()
