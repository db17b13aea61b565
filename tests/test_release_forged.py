"""More ways to forge a signed release: spellings, numbers, links, other formats, signatures of others.

They extend the catalogue of tests/test_release_altered.py and are judged as it is: against a trusted key none
is authentic, on `public/` alone and on the whole, as it is and with every list rewritten to fit.
"""

from __future__ import annotations

import base64
import os
import shutil
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from alterations import (
    CARD,
    DATA,
    FORGER,
    GUARANTEE,
    OFFICER,
    SCHEMA,
    TRUST,
    Case,
    W,
    enclosed,
    envelope,
    listing,
    raw,
    rows,
    said,
    signed_pair,
    text,
    tried,
)
from releases import released

from sfumato.errors import SfumatoError, VerificationError
from sfumato.privacy.signatures import Purpose, SigningKey, Statement, Trust, TrustedKey, canonical
from sfumato.release import Outcome, Standing, manifest, sign, verify
from sfumato.release.document import sign_document, signatures_of, verify_document

SIGNATURES = manifest.SIGNATURES


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return signed_pair(tmp_path_factory.mktemp("signed"))


def renamed(name: str, new: str) -> Callable[[Path], None]:
    """A file under a name that some disks take for the same; the lists follow where they are rewritten."""

    def do(public: Path) -> None:
        (public / name).rename(public / new)

    return do


def field_note(public: Path) -> None:
    """The same cells, with a promise written into the description of a column."""
    table = pq.read_table(public / DATA)
    noted = table.schema.field(2).with_metadata({"epsilon": "0.01"})
    pq.write_table(table.cast(table.schema.set(2, noted)), public / DATA)


def hidden_column(public: Path) -> None:
    """A column more in the file than the schema knows."""
    table = pq.read_table(public / DATA)
    pq.write_table(table.append_column("name", pa.array(["x"] * table.num_rows)), public / DATA)


def after_the_footer(public: Path) -> None:
    """Parquet is read from its end; what stands before its magic is not looked at by readers."""
    body = (public / DATA).read_bytes()
    (public / DATA).write_bytes(body[:4] + b"junk" + body[4:])


def older_statement(document: dict[str, object]) -> None:
    document["_type"] = "https://in-toto.io/Statement/v0.1"


def bare_signature(public: Path) -> None:
    """A signature as a file by itself, as other tools write it, in place of the envelope."""
    document = envelope(public)
    (public / SIGNATURES).unlink()
    (public / "manifest.json.sig").write_text(document["signatures"][0]["sig"])


def no_payload_type(document: dict[str, object]) -> None:
    del document["payloadType"]


def signed_payload_as_text(document: dict[str, object]) -> None:
    """The payload in other letters of base64, which decodes to the same bytes."""
    document["payload"] = base64.urlsafe_b64encode(base64.b64decode(str(document["payload"]))).decode() + "\n"


def many_signatures(document: dict[str, list[object]]) -> None:
    document["signatures"] = document["signatures"] * 40


def without_signatures(document: dict[str, list[object]]) -> None:
    document["signatures"] = []


def public_is_a_link(public: Path) -> None:
    away = public.parent / "away"
    public.rename(away)
    shutil.copy(away / CARD, away / "copy.md")
    public.symlink_to("away")


def hard_linked_card(public: Path) -> None:
    """The card is another name of a file that somebody can still change."""
    (public / CARD).unlink()
    (public.parent.parent / "outside.md").write_text("epsilon = 0.01\n")
    os.link(public.parent.parent / "outside.md", public / CARD)


def other_parts(public: Path) -> None:
    """Data as a folder of parts, of which the signed file is one."""
    (public / DATA).rename(public / "part-0.parquet")
    (public / DATA).mkdir()
    (public / "part-0.parquet").rename(public / DATA / "part-0.parquet")
    shutil.copy(public.parent.parent / "two" / "public" / DATA, public / DATA / "part-1.parquet")


def sums_of(change: Callable[[str], str]) -> Callable[[Path], None]:
    return raw("SHA256SUMS", lambda b: change(b.decode()).encode())


def infinite(document: dict[str, object]) -> None:
    document["files"][CARD]["bytes"] = 10**400  # type: ignore[index]


FORGED = [
    Case("a name in capitals", renamed(CARD, "Card.md")),
    Case("a name in other letters", renamed(CARD, unicodedata.normalize("NFKD", "cárd.md"))),
    Case("a name with a space behind", renamed(CARD, "card.md ")),
    Case("a name with a zero-width space", renamed(CARD, "car\u200bd.md")),
    Case("a promise in the description of a column", field_note),
    Case("a column that the schema does not know", hidden_column),
    Case("bytes where no reader looks", after_the_footer),
    Case("bytes behind the card", raw(CARD, lambda b: b + b"\0" * 64)),
    Case("bytes behind the guarantee", raw(GUARANTEE, lambda b: b + b"\n{}\n")),
    Case("bytes behind the manifest", raw("manifest.json", lambda b: b + b"\0"), cover=False),
    Case("a mark of byte order before the guarantee", raw(GUARANTEE, lambda b: b"\xef\xbb\xbf" + b)),
    Case("NaN promised", text(GUARANTEE, '"k": 3', '"k": NaN')),
    Case("no end promised", text(GUARANTEE, '"k": 3', '"k": 1e999')),
    Case("a number of five thousand digits", text(GUARANTEE, '"k": 3', f'"k": {"9" * 5000}')),
    Case("a number as text", text(GUARANTEE, '"k": 3', '"k": "3"')),
    Case("lists without end", text(GUARANTEE, '"k": 3', f'"k": {"[" * 9000}{"]" * 9000}')),
    Case("the size of a file without end", listing(infinite), cover=False),
    Case("NaN in the manifest", text("manifest.json", '_release": 2', '_release": NaN'), cover=False),
    Case("a later format", text("manifest.json", '_release": 2', '_release": 3'), cover=False),
    Case("a format with a point", text("manifest.json", '_release": 2', '_release": 2.0'), cover=False),
    Case("data named by a path out", text("manifest.json", f'"data": "{DATA}"', '"data": "../two/data"')),
    Case("data named by an absolute path", text("manifest.json", f'"data": "{DATA}"', '"data": "/etc/x"')),
    Case("data named by nothing", text("manifest.json", f'"data": "{DATA}"', '"data": []')),
    Case("data as the card", text("manifest.json", f'"data": "{DATA}"', f'"data": "{CARD}"')),
    Case("data in parts, one of another release", other_parts),
    Case("a key twice in the schema", raw(SCHEMA, lambda b: b + b"\n[columns.sex]\nkind = 'nominal'\n")),
    Case("a column twice in the schema, in quotes", raw(SCHEMA, lambda b: b + b'\n[columns."stay"]\n')),
    Case("sums with other letters", sums_of(str.upper), cover=False),
    Case("sums that lead out", sums_of(lambda s: s + s.splitlines()[0].replace(" ", " ../", 1)), cover=False),
    Case("sums twice", sums_of(lambda s: s + s), cover=False),
    Case("an older statement", said(older_statement)),
    Case("no type of payload", enclosed(no_payload_type)),
    Case("a payload spelt otherwise", enclosed(signed_payload_as_text)),
    Case("forty signatures", enclosed(many_signatures)),
    Case("no signature in the envelope", enclosed(without_signatures)),
    Case("a signature by itself in place of the envelope", bare_signature),
    Case("a signature as a list", raw(SIGNATURES, lambda b: b"[" + b.strip() + b"]\n")),
    Case("a line of nothing behind the signature", raw(SIGNATURES, lambda b: b + b"\n")),
    Case("a line of text behind the signature", raw(SIGNATURES, lambda b: b + b"{}\n")),
    Case("a signature of zeros", enclosed(lambda d: d["signatures"][0].update(sig="A" * 86 + "=="))),
    Case("another file for the card, linked", hard_linked_card),
    Case("public as a link", public_is_a_link),
    Case("a cell as null", rows(lambda t: t.set_column(2, "stay", pa.array([None, *t["stay"].to_pylist()[1:]],
                                                                            pa.int64())))),
]  # fmt: skip


def test_the_ways_are_others() -> None:
    from test_release_altered import CASES

    names = [case.name for case in (*CASES, *FORGED)]
    assert len(set(names)) == len(names) >= 100


@pytest.mark.parametrize("case", FORGED, ids=lambda case: case.name)
def test_no_forgery_is_authentic(tmp_path: Path, saved: Path, case: Case) -> None:
    for found, _, covered in tried(case, saved, tmp_path):
        if case.left is Standing.ALTERED and not covered:
            assert found.standing is Standing.ALTERED, str(found)


def test_what_lies_beside_public_is_nobodys(tmp_path: Path, saved: Path) -> None:
    """A reader may open the nearest file: what lies beside the signed folder is named, and two lists are one
    too many."""
    folder = shutil.copytree(saved / "one", tmp_path / "received")
    (folder / "data.csv").write_text("sex,age,stay\n")
    found = verify(folder, trusted=TRUST)
    (beside,) = (c for c in found.files if c.subject == "data.csv")
    assert beside.outcome is Outcome.WARNED and "nobody signed it" in beside.detail
    for name in (DATA, "manifest.json"):
        shutil.copy(folder / "public" / name, folder / name)
    found = verify(folder, trusted=TRUST)
    assert found.standing is Standing.ALTERED and not found.ok


# -- whose signature -------------------------------------------------------------------------------


def test_a_trust_file_of_nobody_makes_nothing_authentic(tmp_path: Path, saved: Path) -> None:
    for content in ("", "keys = []\n", "# nobody yet\n"):
        (tmp_path / "trust.toml").write_text(content)
        found = verify(saved / "one", trusted=tmp_path / "trust.toml")
        assert found.standing is W and not found.ok
    assert verify(saved / "one", trusted=Trust()).standing is W


def test_two_signatures_of_which_one_is_trusted(tmp_path: Path, saved: Path) -> None:
    """A stranger who signs the same files beside takes nothing away; one who signs others does."""
    folder = shutil.copytree(saved / "one", tmp_path / "both")
    sign(folder, FORGER, "B. Forger")
    assert verify(folder, trusted=TRUST).standing is Standing.AUTHENTIC
    path = folder / "public" / SIGNATURES
    theirs = (saved / "two" / "public" / SIGNATURES).read_text()
    path.write_text(path.read_text() + theirs)
    assert verify(folder, trusted=TRUST).standing is Standing.ALTERED
    in_one = envelope(saved / "one" / "public")
    in_one["signatures"].append({"keyid": FORGER.public, "sig": in_one["signatures"][0]["sig"]})
    path.write_bytes(canonical(in_one) + b"\n")
    assert verify(folder, trusted=TRUST).standing is Standing.ALTERED


@pytest.mark.parametrize(
    ("entries", "counts"),
    [
        ({"revoked": date(2026, 3, 30)}, False),  # before the day it bears
        ({"revoked": date(2026, 4, 30)}, False),  # and after: whoever has the key writes any day
        ({"end": date(2026, 3, 30)}, False),
        ({"end": date(2026, 3, 31)}, True),
        ({"start": date(2026, 4, 1)}, False),
        ({"signs": (Purpose.MODEL, Purpose.DECLARATION, Purpose.CLAIM, Purpose.DETERMINATION)}, False),
    ],
)
def test_days_of_the_key(saved: Path, entries: dict[str, object], counts: bool) -> None:
    trust = Trust((replace(TRUST.keys[0], **entries),))  # type: ignore[arg-type]
    assert (verify(saved / "one", trusted=trust).standing is Standing.AUTHENTIC) == counts


def test_a_day_that_has_not_come_and_a_key_twice_in_a_trust_file(tmp_path: Path) -> None:
    folder = released(3).save(tmp_path / "one")
    sign(folder, OFFICER, "A. Miller", on=date.today() + timedelta(days=9))
    assert verify(folder, trusted=TRUST).standing is W
    entry = f'[[keys]]\npublic = "{OFFICER.public}"\n'
    (tmp_path / "t.toml").write_text(f"{entry}{entry}revoked = 2026-01-01\n")
    with pytest.raises(SfumatoError, match="twice"):
        verify(folder, trusted=tmp_path / "t.toml")


PRIME = 2**255 - 19
CURVE = -121665 * pow(121666, -1, PRIME) % PRIME


def added(p: tuple[int, int], q: tuple[int, int]) -> tuple[int, int]:
    """Addition on the curve of Ed25519."""
    (x1, y1), (x2, y2) = p, q
    k = CURVE * x1 * x2 * y1 * y2 % PRIME
    x = (x1 * y2 + x2 * y1) * pow(1 + k, -1, PRIME) % PRIME
    return x, (y1 * y2 + x1 * x2) * pow(1 - k, -1, PRIME) % PRIME


def of_small_order() -> set[int]:
    """The second coordinates of all points that are nothing eight times over, found by multiplying points
    with the order of the large group."""
    order, found = 2**252 + 27742317777372353535851937790883648493, set()
    for y in range(2, 90):
        square = (y * y - 1) * pow(CURVE * y * y + 1, -1, PRIME) % PRIME
        x = pow(square, (PRIME + 3) // 8, PRIME)
        x = x if x * x % PRIME == square else x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
        if x * x % PRIME != square:
            continue
        point, total, n = (x, y), (0, 1), order
        while n:
            total = added(total, point) if n & 1 else total
            point, n = added(point, point), n >> 1
        found.add(total[1])
    return found


def test_a_key_that_signs_anything_is_no_key(tmp_path: Path, saved: Path) -> None:
    """For points of small order anybody can make signatures: they are nobody's keys, trusted or not."""
    points = of_small_order()
    assert len(points) == 5  # of the eight points, four share theirs by sign
    spelt = {y.to_bytes(32, "little") for y in (*points, PRIME, PRIME + 1)}  # those below 19 in two ways
    public = shutil.copytree(saved / "one" / "public", tmp_path / "received")
    for point in (*spelt, *(s[:31] + bytes([s[31] | 0x80]) for s in spelt)):
        with pytest.raises(SfumatoError, match="a key of somebody"):
            TrustedKey(point.hex(), "nobody")
        forged = {"keyid": point.hex(), "sig": base64.b64encode(point + bytes(32)).decode()}
        enclosed(lambda d, forged=forged: d.update(signatures=[forged]))(public)
        assert verify(public, trusted=TRUST).standing is not Standing.AUTHENTIC


def test_a_signing_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    pem = ec.generate_private_key(ec.SECP256R1()).public_key()
    (tmp_path / "p256.pub").write_bytes(pem.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    with pytest.raises(SfumatoError, match="Ed25519"):
        Trust.of(tmp_path / "p256.pub")
    assert SigningKey.fresh().public != SigningKey.fresh().public


# -- files that are made to stop or deceive who checks --------------------------------------------------


@pytest.mark.parametrize("name", [CARD, GUARANTEE, SCHEMA, "manifest.json", "SHA256SUMS"])
def test_a_file_too_large_to_be_read_is_not_read(tmp_path: Path, saved: Path, name: str) -> None:
    """Sparse, so that it takes no room here; to read it would take all memory there is."""
    public = shutil.copytree(saved / "one" / "public", tmp_path / "received")
    with (public / name).open("r+b") as file:
        file.truncate(1 << 40)
    found = verify(public, trusted=TRUST)
    assert found.standing is Standing.ALTERED and [c.subject for c in found.failures] == [name]


@pytest.mark.parametrize("trusted", ["", "keys = []\n"])
def test_a_document_is_not_passed_by_a_trust_file_of_nobody(tmp_path: Path, trusted: str) -> None:
    document = tmp_path / "determination.html"
    document.write_text("<p>It is anonymous.</p>")
    (tmp_path / "trust.toml").write_text(trusted)
    found = verify_document(document, trusted=tmp_path / "trust.toml")
    assert found.standing is W and not found.ok
    sign_document(document, FORGER, "B. Forger")
    assert not verify_document(document, trusted=tmp_path / "trust.toml").ok
    assert not verify_document(document, trusted=Trust()).ok


def test_signatures_in_a_pipe_keep_nobody_waiting(tmp_path: Path) -> None:
    document = tmp_path / "determination.html"
    document.write_text("<p>It is anonymous.</p>")
    os.mkfifo(signatures_of(document))
    assert verify_document(document, trusted=TRUST).standing is Standing.ALTERED
    with pytest.raises(SfumatoError, match="no ordinary file"):
        sign_document(document, OFFICER, "A. Miller")


@pytest.mark.parametrize("name", ["original.csv", "data.parquet.bak", ".data.parquet"])
def test_a_file_that_no_claim_is_about_is_neither_signed_nor_authentic(tmp_path: Path, name: str) -> None:
    """Listed, with its hash, but not as data: whoever signs the list would sign rows that nobody counted."""
    folder = released(3).save(tmp_path / "one")
    public = shutil.move(folder / "public", tmp_path / "received")
    shutil.copy(public / DATA, public / name)
    details, _ = manifest.read_manifest(public / "manifest.json")
    manifest.write_public(public, details)
    with pytest.raises(VerificationError, match="not those of the manifest"):
        sign(public, OFFICER, "A. Miller")
    subjects = {p.name: manifest.measure(p).sha256 for p in public.iterdir()}
    says = {"guarantee": manifest.read_json(public / GUARANTEE)}
    line = (
        Statement(Purpose.RELEASE, subjects, "A. Miller", date(2026, 3, 31), says).signed(OFFICER).to_line()
    )
    (public / SIGNATURES).write_text(line)
    found = verify(public, trusted=TRUST)
    assert found.standing is Standing.ALTERED and name in {c.subject for c in found.failures}


@pytest.mark.parametrize("name", ["_raw.parquet", ".raw.parquet", "more/_part.parquet"])
def test_files_that_who_reads_a_folder_leaves_out_are_not_signed(tmp_path: Path, name: str) -> None:
    folder = released(3).save(tmp_path / "one")
    public = shutil.move(folder / "public", tmp_path / "received")
    (public / DATA).rename(public / "whole.parquet")
    (public / DATA / "more").mkdir(parents=True)
    (public / "whole.parquet").rename(public / DATA / "part-0.parquet")
    shutil.copy(public / DATA / "part-0.parquet", public / DATA / name)
    details, _ = manifest.read_manifest(public / "manifest.json")
    manifest.write_public(public, details)
    with pytest.raises(VerificationError, match="not those of the manifest"):
        sign(public, OFFICER, "A. Miller")
    assert not verify(public, trusted=[]).ok


# -- what the reader's own trust file and the log know --------------------------------------------------


@pytest.fixture
def own_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Writes the reader's own trust file: one entry for the officer's key."""

    def write(entry: str) -> None:
        path = tmp_path / "own.toml"
        path.write_text(f'[[keys]]\nname = "A. Miller"\npublic = "{OFFICER.public}"\n{entry}\n')
        path.chmod(0o644)
        monkeypatch.setenv("SFUMATO_TRUST", str(path))

    return write


def test_a_revoked_key_counts_under_no_other_name(tmp_path: Path, saved: Path, own_trust) -> None:  # type: ignore[no-untyped-def]
    """Named by its digits, its file, or another trust file: who was told that it is stolen is not untold."""
    OFFICER.save_public(tmp_path / "officer.pub")
    other = tmp_path / "other.toml"
    other.write_text(f'[[keys]]\nname = "The new officer"\npublic = "{OFFICER.public}"\n')
    other.chmod(0o644)
    ways = (OFFICER.public, tmp_path / "officer.pub", other, [OFFICER.public.upper()])
    for way in ways:
        assert verify(saved / "one", trusted=way).standing is Standing.AUTHENTIC
    own_trust('revoked = 2026-11-02\nreason = "laptop stolen"')
    for way in ways:
        found = verify(saved / "one", trusted=way)
        assert found.standing is W and not found.ok and "laptop stolen" in found.verdict


def test_what_the_trust_file_says_of_a_key_holds_where_it_is_named(saved: Path, own_trust) -> None:  # type: ignore[no-untyped-def]
    own_trust("until = 2026-03-30")
    assert verify(saved / "one", trusted=OFFICER.public).standing is W
    own_trust('signs = ["model"]')
    assert verify(saved / "one", trusted=OFFICER.public).standing is W
    own_trust("until = 2026-03-31")
    assert verify(saved / "one", trusted=OFFICER.public).standing is Standing.AUTHENTIC


def test_the_log_tells_a_signature_that_bears_an_earlier_day(tmp_path: Path) -> None:
    """A key was retired; who still has it signs today, under a day when it was good."""
    folder, log = released(3).save(tmp_path / "one"), tmp_path / "log"
    today = datetime.now(UTC).date()
    sign(folder, OFFICER, "A. Miller", on=today - timedelta(days=60), log=log)
    retired = Trust((replace(TRUST.keys[0], end=today - timedelta(days=30)),))
    assert verify(folder, trusted=retired).standing is Standing.AUTHENTIC  # its word
    found = verify(folder, trusted=retired, log=log)
    assert found.standing is W and not found.ok and "by the log it was released" in found.verdict
    assert verify(folder, trusted=TRUST, log=log).standing is Standing.AUTHENTIC
