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
from datetime import date
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
from sfumato.privacy.signatures import Purpose, Statement, Trust
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
