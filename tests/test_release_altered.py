"""A catalogue of ways to alter a signed release, tried by somebody who has all of it but the signer's key.

Each is tried on `public/` alone and on the whole folder, as it is and with every list rewritten to fit, the
owner's seal included, whose key lies in `internal/`. Against a trusted key none of them is authentic.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

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
    other,
    raw,
    rows,
    said,
    signed_anew,
    signed_pair,
    text,
    tried,
)
from releases import alter, released

from sfumato.errors import SfumatoError
from sfumato.privacy import Guarantee, KAnonymity, PureDP
from sfumato.privacy.signatures import Purpose, Trust, TrustedKey
from sfumato.release import Outcome, Standing, manifest, sign, verify
from sfumato.schema import Schema


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return signed_pair(tmp_path_factory.mktemp("signed"))


# -- the data ------------------------------------------------------------------------------------


def drop_column(public: Path) -> None:
    rows(lambda t: t.drop_columns(["stay"]))(public)
    path = public / SCHEMA
    path.write_text(Schema.read(path).drop(["stay"]).to_toml())


def renamed_data(public: Path) -> None:
    (public / DATA).rename(public / "rows.parquet")
    text("manifest.json", f'"data": "{DATA}"', '"data": "rows.parquet"')(public)


def second_data(public: Path) -> None:
    shutil.copy(public / DATA, public / "more.parquet")
    text("manifest.json", f'"data": "{DATA}"', f'"data": ["{DATA}", "more.parquet"]')(public)


# -- what is promised ----------------------------------------------------------------------------


def promise(guarantee: Guarantee) -> Callable[[Path], None]:
    return lambda public: (public / GUARANTEE).write_text(guarantee.to_json()) and None


def promise_and_card(public: Path) -> None:
    """A consistent lie: the card as this version words it."""
    from sfumato.release.core import card_of

    promise(Guarantee.of(PureDP(0.01)))(public)
    details, _ = manifest.read_manifest(public / manifest.MANIFEST)
    (public / CARD).write_text(card_of(public, details))


def forged_wording(public: Path) -> None:
    text("manifest.json", '"wording": "', '"wording": "9')(public)
    text(CARD, "k = 3", "k = 30")(public)


def schema(change: Callable[[str], str]) -> Callable[[Path], None]:
    return raw(SCHEMA, lambda content: change(content.decode()).encode())


# -- lists and files -----------------------------------------------------------------------------


def link(name: str) -> Callable[[Path], None]:
    def do(public: Path) -> None:
        shutil.move(public / name, public.parent / f"away-{name}")
        (public / name).symlink_to(f"../away-{name}")

    return do


def spelt_otherwise(public: Path) -> None:
    """A name that looks the same: the letters of another width."""
    (public / CARD).rename(public / "ｃard.md")


def pipe(public: Path) -> None:
    (public / GUARANTEE).unlink()
    os.mkfifo(public / GUARANTEE)


def endless(public: Path) -> None:
    (public / GUARANTEE).unlink()
    (public / GUARANTEE).symlink_to("/dev/zero")


# -- signatures ----------------------------------------------------------------------------------


def under_the_officers_name(public: Path) -> None:
    signed_anew(FORGER)(public)
    enclosed(lambda d: d["signatures"][0].update(keyid=OFFICER.public))(public)


def one_good_one_bad(public: Path) -> None:
    enclosed(lambda d: d["signatures"].append({**d["signatures"][0], "keyid": FORGER.public}))(public)


CASES = [
    Case("a cell", lambda public: alter(public.parent, "stay", 0, 99)),
    Case("a row less", rows(lambda t: t.slice(1))),
    Case("a row twice", rows(lambda t: pa.concat_tables([t, t.slice(0, 1)]))),
    Case("another order", rows(lambda t: t.take(list(range(t.num_rows - 1, -1, -1))))),
    Case("a column renamed", rows(lambda t: t.rename_columns(["sex", "age", "cost"]))),
    Case("a column dropped, from the schema too", drop_column),
    Case("columns exchanged", rows(lambda t: t.select(["stay", "age", "sex"]))),
    Case("another type", rows(lambda t: t.set_column(2, "stay", t["stay"].cast(pa.float64())))),
    Case("no rows", rows(lambda t: t.slice(0, 0))),
    Case("the same rows, packed otherwise", rows(lambda t: t, compression="gzip")),
    Case("a note in the file", rows(lambda t: t.replace_schema_metadata({"by": "me"}))),
    Case("data cut off", raw(DATA, lambda b: b[:-20])),
    Case("data emptied", raw(DATA, lambda _: b"")),
    Case("one bit", raw(DATA, lambda b: bytes([*b[:40], b[40] ^ 1, *b[41:]]))),
    Case("data removed", lambda public: (public / DATA).unlink()),
    Case("data of another release", other(DATA)),
    Case("data under another name", renamed_data),
    Case("a second file of data", second_data),
    Case("a smaller epsilon on the card", raw(CARD, lambda b: b + b"\nepsilon = 0.01\n")),
    Case("a larger k on the card", text(CARD, "k = 3", "k = 30")),
    Case("the card of another release", other(CARD)),
    Case("no card", lambda public: (public / CARD).unlink()),
    Case("a card in the words of another version", forged_wording),
    Case("a larger k promised", promise(Guarantee.of(KAnonymity(30, ("sex", "age"))))),
    Case("a smaller k promised", promise(Guarantee.of(KAnonymity(2, ("sex", "age"))))),
    Case("an epsilon promised", promise(Guarantee.of(KAnonymity(3, ("sex", "age")), PureDP(0.01)))),
    Case("an epsilon promised, the card with it", promise_and_card),
    Case("nothing promised", promise(Guarantee())),
    Case("the guarantee of another release", other(GUARANTEE)),
    Case("guarantee and card of another release", other(GUARANTEE, CARD)),
    Case("a key twice in the guarantee", text(GUARANTEE, '"k": 3', '"k": 30, "k": 3')),
    Case("a space in the guarantee", raw(GUARANTEE, lambda b: b + b" ")),
    Case("another role", schema(lambda s: s.replace('"sensitive"', '"other"'))),
    Case("another domain", schema(lambda s: s.replace("120", "150"))),
    Case("a comment in the schema", schema(lambda s: s + "# public\n")),
    Case("another sentence about it", text("manifest.json", "Simulated", "Genuine")),
    Case("an older format", text("manifest.json", '"sfumato_release": 2', '"sfumato_release": 1')),
    Case("a file taken from the list", listing(lambda d: d["files"].pop(CARD)), cover=False),
    Case("a file too many listed", listing(lambda d: d["files"].update(x=d["files"][CARD])), cover=False),
    Case("a path leading out", listing(lambda d: d["files"].update({"../x": d["files"][CARD]})), cover=False),
    Case("a key twice in the list", text("manifest.json", '"about"', '"data": 1, "about"'), cover=False),
    Case("the sums changed", raw("SHA256SUMS", lambda b: b.replace(b"a", b"b")), cover=False),
    Case("no sums", lambda public: (public / "SHA256SUMS").unlink(), cover=False),
    Case("no manifest", lambda public: (public / "manifest.json").unlink(), cover=False),
    Case("a file more", lambda public: (public / "notes.txt").write_text("x") and None),
    Case("a hidden file more", lambda public: (public / ".notes").write_text("x") and None),
    Case("a folder more", lambda public: (public / "more").mkdir()),
    Case("a draft", lambda public: (public / "DRAFT.txt").write_text("DRAFT") and None),
    Case("a link for the card", link(CARD)),
    Case("a link for the data", link(DATA)),
    Case("a link for the signatures", link(manifest.SIGNATURES)),
    Case("a name spelt otherwise", spelt_otherwise),
    Case("a pipe", pipe, cover=False),
    Case("a file without end", endless, cover=False),
    Case("no signature", lambda public: (public / manifest.SIGNATURES).unlink(), W),
    Case("the signature of another release", other(manifest.SIGNATURES)),
    Case("all of another release but the data", other(manifest.SIGNATURES, GUARANTEE, CARD, "manifest.json")),
    Case("an empty signature", raw(manifest.SIGNATURES, lambda _: b"")),
    Case("a signature cut off", raw(manifest.SIGNATURES, lambda b: b[:-9])),
    Case("a signature without its end", raw(manifest.SIGNATURES, lambda b: b[:-1])),
    Case("a space in the signature", raw(manifest.SIGNATURES, lambda b: b.replace(b",", b", ", 1))),
    Case("a payload twice", text(manifest.SIGNATURES, '{"payload":', '{"payload":"QQ==","payload":')),
    Case("another day", said(lambda s: s["predicate"].update(on="2020-01-01"))),
    Case("another signer's name", said(lambda s: s["predicate"]["signer"].update(name="B. Miller"))),
    Case("a file less in what was signed", said(lambda s: s["subject"].pop())),
    Case("another promise in what was signed", said(lambda s: s["predicate"].update(guarantee={}))),
    Case("another type of payload", enclosed(lambda d: d.update(payloadType="text/plain"))),
    Case("one signature good and one not", one_good_one_bad),
    Case("altered and signed by a stranger", signed_anew(FORGER), W),
    Case("altered, a stranger's signature beside the true one", signed_anew(FORGER, keep=True)),
    Case("altered and signed under the officer's name", under_the_officers_name),
    Case("signed by a stranger as it is", signed_anew(FORGER, cell=False), W),
    Case("signed by a stranger, but for one file", signed_anew(FORGER, subjects={CARD: "0" * 64})),
    Case("signed for another purpose", signed_anew(OFFICER, cell=False, purpose=Purpose.DETERMINATION)),
]  # fmt: skip


def test_the_catalogue_has_its_forty_ways() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 40


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_alteration_is_authentic(tmp_path: Path, saved: Path, case: Case) -> None:
    results = list(tried(case, saved, tmp_path))
    assert len(results) == 2 * (1 + case.cover) or case.name == "no manifest"
    for found, whole, covered in results:
        if case.left is Standing.ALTERED or covered or not whole:
            wanted = (case.left, Standing.WHOLE) if case.left is Standing.WHOLE else (case.left,)
            assert found.standing in wanted, str(found)


# -- what is authentic ---------------------------------------------------------------------------


def test_a_signed_release_is_authentic_with_and_without_its_record(tmp_path: Path, saved: Path) -> None:
    public = shutil.copytree(saved / "one" / "public", tmp_path / "received")
    for folder in (saved / "one", public):
        found = verify(folder, trusted=TRUST)
        assert found.standing is Standing.AUTHENTIC and found.ok
        assert found.signers == ("signed by A. Miller, 2026-03-31",)
        assert found.verdict.startswith("AUTHENTIC: signed by A. Miller, 2026-03-31.")
        assert verify(folder, trusted=[]).standing is Standing.WHOLE
        assert verify(folder, trusted=FORGER.public).doubts[0].endswith("is not among those you trust")
        found.require()


def test_what_is_signed_holds_nothing_internal(saved: Path) -> None:
    statement = json.loads(base64.b64decode(envelope(saved / "one" / "public")["payload"]))
    names = {s["name"] for s in statement["subject"]}
    assert names == {DATA, CARD, GUARANTEE, SCHEMA, "manifest.json", "SHA256SUMS"}
    assert set(statement["predicate"]) == {"guarantee", "on", "signer"}
    record = (saved / "one" / "internal" / "record.json").read_text()
    for digest in (json.loads(record)["fingerprint"] or "none", "internal", "fingerprint", "plan"):
        assert digest not in json.dumps(statement)


def test_days_purposes_and_revocation(saved: Path) -> None:
    def standing(**entries: Any) -> tuple[Standing, str]:
        found = verify(saved / "one", trusted=Trust((TrustedKey(OFFICER.public, **entries),)))
        return found.standing, "; ".join(found.doubts)

    assert standing(start=date(2026, 1, 1), end=date(2026, 3, 31)) == (Standing.AUTHENTIC, "")
    for entries, why in (
        ({"end": date(2026, 3, 30)}, "retired on 2026-03-30"),
        ({"start": date(2026, 4, 1)}, "trusted from 2026-04-01"),
        ({"signs": (Purpose.MODEL,)}, "for model only"),
        ({"revoked": date(2026, 6, 1), "reason": "stolen"}, "revoked on 2026-06-01 (stolen)"),  # back-dated
    ):
        found, doubts = standing(**entries)
        assert found is Standing.WHOLE and why in doubts


def test_two_people_sign_and_each_replaces_only_their_own(tmp_path: Path, saved: Path) -> None:
    folder = shutil.copytree(saved / "one", tmp_path / "one")
    sign(folder, FORGER, "B. Weaver")
    both = Trust((*TRUST.keys, TrustedKey(FORGER.public)))
    assert len(verify(folder, trusted=both).signers) == 2
    found = verify(folder, trusted=TRUST)
    assert found.standing is Standing.AUTHENTIC and len(found.doubts) == 1
    sign(folder, OFFICER, "A. Miller")
    assert len((folder / "public" / manifest.SIGNATURES).read_text().splitlines()) == 2
    assert len(verify(folder, trusted=both).signers) == 2


def test_a_signature_whose_key_is_not_named_still_counts(tmp_path: Path, saved: Path) -> None:
    """DSSE: the key's name is a hint, and other tools leave it out."""
    folder = shutil.copytree(saved / "one", tmp_path / "one")
    enclosed(lambda d: d["signatures"][0].pop("keyid"))(folder / "public")
    assert verify(folder, trusted=TRUST).standing is Standing.AUTHENTIC
    found = verify(folder, trusted=FORGER.public)
    assert found.standing is Standing.WHOLE and "neither named nor among" in found.doubts[0]


def test_a_false_claim_is_not_made_true_by_a_signature(tmp_path: Path) -> None:
    folder = released(k=5).save(tmp_path / "lie")  # its smallest class has 3
    sign(folder, OFFICER, "A. Miller")
    found = verify(folder, trusted=TRUST)
    assert found.standing is Standing.ALTERED and found.verdict.startswith(
        "NOT WHAT IT SAYS, although signed by"
    )


def test_only_a_whole_release_that_is_no_draft_is_signed(tmp_path: Path, saved: Path) -> None:
    draft = replace(released(), draft="nobody has signed its plan").save(tmp_path / "draft")
    with pytest.raises(SfumatoError, match="draft is not signed"):
        sign(draft, OFFICER, "A. Miller")
    for case in ("a cell", "a file more", "a link for the card", "data removed", "a name spelt otherwise",
                 "no sums", "the sums changed", "a key twice in the guarantee"):  # fmt: skip
        folder = shutil.copytree(saved, tmp_path / case)
        next(c for c in CASES if c.name == case).do(folder / "one" / "public")
        with pytest.raises(SfumatoError):
            sign(folder / "one", OFFICER, "A. Miller")
    with pytest.raises(SfumatoError, match="name"):
        sign(saved / "two", OFFICER, "\x1b[2J")
    with pytest.raises(SfumatoError, match="SigningKey"):
        sign(saved / "two", OFFICER.public, "A. Miller")  # type: ignore[arg-type]
    broken = shutil.copytree(saved, tmp_path / "broken") / "one"
    (broken / "public" / manifest.SIGNATURES).write_text("x\n")
    with pytest.raises(SfumatoError, match="not a signature"):
        sign(broken, OFFICER, "A. Miller")


def test_the_seal_does_not_mind_a_signature_and_a_signature_not_a_report(saved: Path) -> None:
    found = verify(saved / "one", trusted=TRUST)
    assert [c.subject for c in found.files if c.outcome is not Outcome.PASSED] == []


def test_data_in_several_files_are_all_signed(tmp_path: Path) -> None:
    folder = released().save(tmp_path / "several")
    public = folder / "public"
    table = pq.read_table(public / DATA)
    for number in range(3):
        pq.write_table(table.slice(5 * number, 5), public / f"data-{number}.parquet")
    (public / DATA).unlink()
    details, _ = manifest.read_manifest(public / manifest.MANIFEST)
    details["data"] = [f"data-{number}.parquet" for number in range(3)]
    from sfumato.release.core import Release, card_of

    (public / CARD).write_text(card_of(public, details))
    manifest.write_public(public, details)
    shutil.rmtree(folder / "internal")
    sign(folder, OFFICER, "A. Miller")
    assert verify(folder, trusted=TRUST).standing is Standing.AUTHENTIC
    assert Release.load(folder).data.rows() == 15
    pq.write_table(table.slice(0, 5), public / "data-1.parquet")
    assert verify(folder, trusted=TRUST).standing is Standing.ALTERED


# -- the format before ---------------------------------------------------------------------------


def test_a_release_of_the_first_format_is_read_checked_and_can_be_signed(tmp_path: Path) -> None:
    from sfumato.release import Release

    files = json.loads(Path(__file__).with_name("release_format_1.json").read_text(encoding="utf-8"))
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, mode=0o700)
        (tmp_path / name).write_text(content, encoding="utf-8")
        (tmp_path / name).chmod(0o600)
    assert Release.load(tmp_path).data.rows() == 15
    found = verify(tmp_path)
    assert found.standing is Standing.WHOLE and found.ok and "there is no signature" in found.verdict
    assert verify(tmp_path, trusted=TRUST).standing is Standing.WHOLE
    sign(tmp_path, OFFICER, "A. Miller")
    assert verify(tmp_path, trusted=TRUST).standing is Standing.AUTHENTIC
    text("data.csv", '"f",30', '"m",30')(tmp_path / "public")
    assert verify(tmp_path, trusted=TRUST).standing is Standing.ALTERED


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    folder = released().save(tmp_path / "later")
    text("manifest.json", '"sfumato_release": 2', '"sfumato_release": 3')(folder / "public")
    found = verify(folder)
    assert any("later version" in c.detail for c in found.failures)
