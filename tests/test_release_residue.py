"""What nobody is shown is not signed: notes, comments and spellings in a release that somebody prepared.

Here the one who prepares the folder is hostile, or careless with other tools, and the one who signs is not:
every list fits, and the signature is genuine.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from alterations import CARD, DATA, GUARANTEE, OFFICER, SCHEMA, TRUST, raw, rows
from releases import released

from sfumato.errors import VerificationError
from sfumato.privacy import Guarantee, PureDP
from sfumato.privacy.signatures import Purpose, Statement
from sfumato.release import Standing, manifest, sign, verify
from sfumato.release.core import card_of
from sfumato.schema import Schema
from sfumato.table import Table

RAW = "John Doe, 1970, HIV"


def prepared(place: Path, do: Callable[[Path], object], **options: str) -> Path:
    """A public folder, changed before anybody signed it, with every list and the card made to fit."""
    public = Path(shutil.move(released(3).save(place / "one", **options) / "public", place / "public"))
    do(public)
    details, _ = manifest.read_manifest(public / manifest.MANIFEST)
    (public / CARD).write_text(card_of(public, details), encoding="utf-8")
    manifest.write_public(public, details)
    return public


def signed_all_the_same(public: Path) -> None:
    """By a tool that does not look."""
    names = [p for p in public.rglob("*") if p.is_file() and p.name != manifest.SIGNATURES]
    files = {p.relative_to(public).as_posix(): manifest.measure(p).sha256 for p in names}
    says = {"guarantee": json.loads((public / GUARANTEE).read_text())}
    line = Statement(Purpose.RELEASE, files, "A. Miller", date(2026, 3, 31), says).signed(OFFICER).to_line()
    (public / manifest.SIGNATURES).write_text(line)


# -- places where nothing belongs ------------------------------------------------------------------


def noted_columns(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([f.with_metadata({"raw": RAW}) for f in table.schema]))


def between_columns(content: bytes) -> bytes:
    """Parquet reads its columns by their places, and skips what lies between them and the footer."""
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    return content[:footer] + RAW.encode() + content[footer:]


def in_a_folder(inner: str) -> Callable[[Path], None]:
    def do(public: Path) -> None:
        (public / DATA).rename(public / "rows")
        (public / DATA / inner).parent.mkdir(parents=True)
        (public / "rows").rename(public / DATA / inner)

    return do


def of_columns(**changes: object) -> Callable[[Path], None]:
    def do(public: Path) -> None:
        path = public / SCHEMA
        path.write_text(Schema.read(path).with_("stay", **changes).to_toml(), encoding="utf-8")

    return do


HIDDEN: dict[str, Callable[[Path], object]] = {
    "a note in the file": rows(lambda t: t.replace_schema_metadata({"raw": RAW})),
    "what pandas writes": lambda public: pq.read_table(public / DATA).to_pandas().to_parquet(public / DATA),
    "a note on a column": rows(noted_columns),
    "bytes between the columns and the footer": raw(DATA, between_columns),
    "a comment in the schema": raw(SCHEMA, lambda b: b + f"# {RAW}\n".encode()),
    "lines that end otherwise in the schema": raw(SCHEMA, lambda b: b.replace(b"\n", b"\r\n")),
    "spaces in the schema": raw(SCHEMA, lambda b: b.replace(b" = ", b"  =  ", 1)),
    "spaces in the guarantee": raw(GUARANTEE, lambda b: b.replace(b": ", b":  ", 1)),
    "escapes in the guarantee": raw(GUARANTEE, lambda b: b.replace(b"KAnonymity", b"K\\u0041nonymity", 1)),
    "a part that is named after somebody": in_a_folder("John Doe.parquet"),
    "a folder that is named after somebody": in_a_folder("patient=John Doe/part-0.parquet"),
    "why a column was guessed": of_columns(reason=RAW),
    "codes of the original": of_columns(missing_codes=(19_700_101,)),
}  # fmt: skip


@pytest.mark.parametrize("way", HIDDEN)
def test_what_nobody_is_shown_is_neither_signed_nor_authentic(tmp_path: Path, way: str) -> None:
    public = prepared(tmp_path, HIDDEN[way])
    with pytest.raises(VerificationError, match="where no release has anything"):
        sign(public, OFFICER, "A. Miller")
    signed_all_the_same(public)
    assert verify(public, trusted=TRUST).standing is Standing.ALTERED


@pytest.mark.parametrize("entry", [False, True])
def test_a_manifest_has_no_other_keys(tmp_path: Path, entry: bool) -> None:
    public = prepared(tmp_path, lambda _: None)
    path = public / manifest.MANIFEST
    document = json.loads(path.read_text())
    (document["files"][CARD] if entry else document)["note"] = RAW
    path.write_text(json.dumps(document, indent=2) + "\n")
    sums = {
        **{n: e["sha256"] for n, e in document["files"].items()},
        path.name: manifest.measure(path).sha256,
    }
    (public / manifest.SUMS).write_text("".join(f"{h}  {n}\n" for n, h in sorted(sums.items())))
    with pytest.raises(VerificationError, match="keys that no manifest has"):
        sign(public, OFFICER, "A. Miller")
    signed_all_the_same(public)
    assert verify(public, trusted=TRUST).standing is Standing.ALTERED


@pytest.mark.parametrize("format", ["parquet", "csv", "csv.gz"])
def test_what_we_write_is_all_there_is(tmp_path: Path, format: str) -> None:
    public = prepared(tmp_path, lambda _: None, format=format)
    sign(public, OFFICER, "A. Miller")
    found = verify(public, trusted=TRUST)
    assert found.standing is Standing.AUTHENTIC and not found.warnings, str(found)


def test_an_empty_release_has_no_residue(tmp_path: Path) -> None:
    """Parquet writes pages of nothing for it, in another way."""
    one = released(3)
    rows = Table.from_arrow(one.data.to_arrow().slice(0, 0), one.schema)
    folder = replace(one, data=rows, guarantee=Guarantee()).save(tmp_path / "empty")
    sign(folder, OFFICER, "A. Miller")
    assert verify(folder, trusted=TRUST).standing is Standing.AUTHENTIC


# -- levels and labels of nobody -------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [{"levels": ("f", "m", RAW), "provenance": None}, {"labels": {RAW: "HIV"}}],
    ids=["level", "label"],
)
def test_no_level_and_no_label_leaves_that_no_row_has(tmp_path: Path, change: dict[str, object]) -> None:
    """A domain that nobody answers for holds what occurs in the release; more can only be the original's."""

    def do(public: Path) -> None:
        path = public / SCHEMA
        path.write_text(Schema.read(path).with_("sex", **change).to_toml(), encoding="utf-8")

    public = prepared(tmp_path, do)
    sign(public, OFFICER, "A. Miller")
    found = verify(public, trusted=TRUST)
    (fault,) = found.failures
    assert found.standing is Standing.ALTERED and fault.subject == "column 'sex'"
    assert "that no released row shows" in fault.detail and RAW not in str(found)


def test_labels_leave_with_their_levels_only(tmp_path: Path) -> None:
    one = released(3)
    labelled = one.data.with_schema(one.schema.with_("sex", labels={"f": "female", RAW: "HIV"}))
    replace(one, data=labelled).save(tmp_path / "one")
    text = (tmp_path / "one" / "public" / SCHEMA).read_text()
    assert "female" in text and RAW not in text


def test_a_promise_of_an_epsilon_names_the_domains_that_nobody_answers_for(tmp_path: Path) -> None:
    def do(public: Path) -> None:
        (public / GUARANTEE).write_text(Guarantee.of(PureDP(0.1)).to_json(), encoding="utf-8")

    found = verify(prepared(tmp_path, do), trusted=[])
    assert {c.subject for c in found.warnings} == {"domain of 'stay'"}
    assert "would end the promise" in found.verdict


# -- one value, written in several ways --------------------------------------------------------------


def cells(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda content: content.replace(old, new, 1)


def named(content: bytes) -> bytes:
    out = BytesIO()
    with gzip.GzipFile(RAW, "wb", 6, out, mtime=0) as sink:
        sink.write(gzip.decompress(content))
    return out.getvalue()


SPELT: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "a zero before": ("csv", cells(b",30,", b",030,")),
    "a plus": ("csv", cells(b",30,", b",+30,")),
    "a space": ("csv", cells(b",30,", b", 30,")),
    "in quotes": ("csv", cells(b",30,", b',"30",')),
    "not in quotes": ("csv", cells(b'\n"f"', b"\nf")),
    "a mark of byte order": ("csv", lambda b: b"\xef\xbb\xbf" + b),
    "lines that end otherwise": ("csv", lambda b: b.replace(b"\n", b"\r\n")),
    "empty lines": ("csv", lambda b: b + b"\n\n"),
    "a second part of nothing": ("csv.gz", lambda b: b + gzip.compress(b"")),
    "a name inside": ("csv.gz", named),
    "a zero before, packed": (
        "csv.gz",
        lambda b: gzip.compress(cells(b",30,", b",030,")(gzip.decompress(b))),
    ),
}


@pytest.mark.parametrize("way", SPELT)
def test_rows_that_are_told_apart_by_their_spelling_are_named(tmp_path: Path, way: str) -> None:
    """k counts values; who reads letters could find the one row that is written otherwise."""
    format, change = SPELT[way]
    public = prepared(tmp_path, raw(f"data.{format}", change), format=format)
    sign(public, OFFICER, "A. Miller")
    found = verify(public, trusted=TRUST)
    assert [c.subject for c in found.warnings] == [f"data.{format}"], str(found)
    assert "WARNING" in found.verdict


@pytest.mark.parametrize("more", [b"# a remark\n", b'"f",30,1,"John"\n', b"\0" * 9, b"\x1aJohn"])
def test_a_text_file_has_no_other_lines(tmp_path: Path, more: bytes) -> None:
    public = prepared(tmp_path, raw("data.csv", lambda b: b + more), format="csv")
    sign(public, OFFICER, "A. Miller")
    assert verify(public, trusted=TRUST).standing is Standing.ALTERED
