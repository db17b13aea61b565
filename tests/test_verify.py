"""Is a saved release what it says: every change of a file, a cell or a list shows, and nothing is trusted."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from releases import alter, cover_up, every_type, released

from sfumato.errors import DataError, VerificationError
from sfumato.privacy import Guarantee, KAnonymity, LDiversity, PureDP, TCloseness
from sfumato.release import InternalRecord, Outcome, Release, Standing, Verification, verification, verify
from sfumato.release.claims import check_claim
from sfumato.release.core import read_data
from sfumato.schema import Schema
from sfumato.sources import BatchSource
from sfumato.table import Table


def failed(found: Verification) -> set[str]:
    assert found.ok == (not found.failures)
    return {check.subject for check in found.failures}


# -- a sound release -----------------------------------------------------------------------------


def test_a_release_passes_its_own_guarantee(tmp_path: Path) -> None:
    found = verify(released().save(tmp_path / "out"))
    assert found.ok
    found.require()
    (claim,) = found.claims
    assert claim.how == "recounted from the file" and "smallest of 4 classes has 3 rows" in claim.detail
    assert found.standing is Standing.WHOLE
    assert "WHOLE, BUT NOT SIGNED BY ANYONE YOU TRUST (there is no signature)" in str(found).splitlines()[-1]
    assert all(len(row) == 4 and all(isinstance(cell, str) for cell in row) for row in found.rows())


def test_every_type_passes(tmp_path: Path) -> None:
    assert verify(Release(every_type(), Guarantee(), InternalRecord()).save(tmp_path / "out")).ok


def test_a_public_copy_passes_and_says_what_it_cannot_see(tmp_path: Path) -> None:
    shutil.copytree(released().save(tmp_path / "out") / "public", tmp_path / "copy")
    found = verify(tmp_path / "copy")
    assert found.ok
    assert [c.subject for c in found.checks if c.outcome is Outcome.UNSEEN] == ["internal/"]


def test_what_is_no_release_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no release"):
        verify(tmp_path)


# -- one altered cell ----------------------------------------------------------------------------


def test_one_altered_cell_fails(tmp_path: Path) -> None:
    target = released().save(tmp_path / "out")
    alter(target, "stay", 0, 99)
    assert failed(verify(target)) == {"data.parquet", "public/data.parquet"}
    with pytest.raises(VerificationError, match=r"data\.parquet \(altered"):
        verify(target).require()


def test_one_altered_cell_with_a_matching_manifest_fails_for_the_owner(tmp_path: Path) -> None:
    target = released().save(tmp_path / "out")
    alter(target, "stay", 0, 99)
    cover_up(target)
    assert "public/data.parquet" in failed(verify(target))
    shutil.rmtree(target / "internal")
    assert verify(target).ok  # no claim is about stays: without the record nobody can tell


@pytest.mark.parametrize("has_record", [True, False])
def test_an_altered_cell_that_breaks_the_claim_fails_on_the_recount(tmp_path: Path, has_record: bool) -> None:
    target = released().save(tmp_path / "out")
    alter(target, "age", 0, 31)  # the same bin of the schema, another value: a class of one
    cover_up(target)
    if not has_record:
        shutil.rmtree(target / "internal")
    found = verify(target)
    (claim,) = (c for c in found.claims if c.outcome is Outcome.FAILED)
    assert "smallest of 5 classes has 1 rows" in claim.detail


@pytest.mark.parametrize(("column", "value"), [("sex", "q"), ("age", 121), ("age", -1)])
def test_a_cell_outside_the_schema_fails(tmp_path: Path, column: str, value: object) -> None:
    target = released(k=1).save(tmp_path / "out")
    alter(target, column, 0, value)
    cover_up(target)
    shutil.rmtree(target / "internal")
    found = verify(target)
    assert failed(found) == {f"column '{column}'"}
    assert str(value) not in " ".join(c.detail for c in found.data)


def test_an_altered_guarantee_with_a_matching_manifest_fails_for_the_owner(tmp_path: Path) -> None:
    release = replace(released(), guarantee=Guarantee.of(PureDP(5.0)))
    target = release.save(tmp_path / "out")
    (target / "public" / "guarantee.json").write_text(Guarantee.of(PureDP(0.1)).to_json())
    cover_up(target)
    assert {"public/guarantee.json", "guarantee.json"} <= failed(verify(target))


# -- files ---------------------------------------------------------------------------------------


def _truncate(target: Path) -> None:
    path = target / "public" / "data.parquet"
    path.write_bytes(path.read_bytes()[:-20])


def _extra(target: Path) -> None:
    (target / "public" / "notes.txt").write_text("who is who")


def _extra_folder(target: Path) -> None:
    (target / "public" / "more").mkdir()


def _link(target: Path) -> None:
    path = target / "public" / "card.md"
    path.rename(target / "card.md")
    path.symlink_to("../card.md")


def _other_sums(target: Path) -> None:
    path = target / "public" / "SHA256SUMS"
    path.write_text(path.read_text().replace("a", "b"))


def _unlisted(target: Path) -> None:
    path = target / "public" / "manifest.json"
    document = json.loads(path.read_text())
    del document["files"]["card.md"]
    path.write_text(json.dumps(document))


def _without(name: str) -> Callable[[Path], None]:
    return lambda target: (target / name).unlink()


def _garbage(name: str, content: bytes = b"\xff\x00") -> Callable[[Path], None]:
    def spoil(target: Path) -> None:
        (target / name).write_bytes(content)

    return spoil


_DEEP = b"[" * 100_000  # more than a parser of JSON goes down
_LISTS = b'{"files": {"%s": {"sha256": "0", "bytes": %s}}}'


@pytest.mark.parametrize(
    ("damage", "names"),
    [
        (_truncate, {"data.parquet", "public/data.parquet"}),
        (_without("public/data.parquet"), {"data.parquet", "public/data.parquet"}),
        (_without("public/card.md"), {"card.md", "public/card.md"}),
        (_without("public/schema.toml"), {"schema.toml", "public/schema.toml", "data"}),
        (_without("public/SHA256SUMS"), {"SHA256SUMS", "public/SHA256SUMS"}),
        (_without("public/manifest.json"), {"manifest.json", "public/manifest.json"}),
        (_without("public/guarantee.json"), {"guarantee.json", "public/guarantee.json"}),
        (_garbage("public/guarantee.json"), {"guarantee.json", "public/guarantee.json"}),
        (_garbage("public/manifest.json"), {"manifest.json", "public/manifest.json"}),
        (_garbage("public/schema.toml"), {"schema.toml", "public/schema.toml"}),
        (_garbage("public/SHA256SUMS"), {"SHA256SUMS", "public/SHA256SUMS"}),
        (_extra, {"notes.txt", "public/notes.txt"}),
        (_extra_folder, {"more", "public/more"}),
        (_link, {"card.md", "public/card.md"}),
        (_other_sums, {"SHA256SUMS", "public/SHA256SUMS"}),
        (_unlisted, {"card.md", "public/manifest.json"}),
        (_without("internal/release.key"), {"internal/release.key"}),
        (_garbage("internal/release.key"), {"internal/release.key"}),
        (_without("internal/record.json"), {"internal/record.json"}),
        (_garbage("internal/record.json"), {"internal/record.json"}),
        (_without("internal/manifest.json"), {"internal/manifest.json"}),
        (_garbage("internal/manifest.json"), {"internal/manifest.json"}),
        (_garbage("public/manifest.json", _DEEP), {"manifest.json", "public/manifest.json"}),
        (_garbage("public/manifest.json", _LISTS % (b"a", b"1e999")), {"manifest.json"}),
        (_garbage("public/manifest.json", _LISTS % (b"a" * 5_000, b"1")), {"a" * 5_000}),
        (_garbage("internal/release.key", _DEEP), {"internal/release.key"}),
        (_garbage("internal/record.json", _DEEP), {"internal/record.json"}),
        (_garbage("internal/manifest.json", _DEEP), {"internal/manifest.json"}),
    ],
)
def test_damage_is_named_and_never_a_traceback(
    tmp_path: Path, damage: Callable[[Path], None], names: set[str]
) -> None:
    target = released().save(tmp_path / "out")
    damage(target)
    found = failed(verify(target))
    assert names <= found


def test_a_report_may_be_added_to_the_internal_part(tmp_path: Path) -> None:
    target = released().save(tmp_path / "out")
    (target / "internal" / "report.html").write_text("<p>risk</p>")
    found = verify(target)
    assert found.ok
    assert [c.subject for c in found.files if c.outcome is Outcome.UNSEEN] == ["internal/report.html"]


def test_a_rewritten_seal_fails_without_the_key(tmp_path: Path) -> None:
    target = released().save(tmp_path / "out")
    alter(target, "stay", 0, 99)
    cover_up(target)
    path = target / "internal" / "manifest.json"
    document = json.loads(path.read_text())
    public = json.loads((target / "public" / "manifest.json").read_text())["files"]
    document["files"] |= {f"public/{name}": entry for name, entry in public.items()}
    path.write_text(json.dumps(document))
    assert failed(verify(target)) == {"internal/manifest.json"}


def test_a_manifest_cannot_lead_out_of_its_folder(tmp_path: Path) -> None:
    target = released().save(tmp_path / "out")
    path = target / "public" / "manifest.json"
    document = json.loads(path.read_text())
    document["files"]["../../secret"] = {"sha256": "0", "bytes": 1}
    path.write_text(json.dumps(document))
    assert "manifest.json" in failed(verify(target))


@pytest.mark.parametrize(
    "name", ["..", "", "../internal", "*.parquet", "a" * 5_000, "/etc/passwd", "\0", ["x", "../y"]]
)
def test_the_data_lie_in_the_folder_under_a_plain_name(tmp_path: Path, name: object) -> None:
    target = released().save(tmp_path / "out")
    path = target / "public" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "data": name}))
    assert "data" in failed(verify(target))
    with pytest.raises(DataError, match="outside its folder"):
        Release.load(target)


def test_columns_must_be_those_of_the_schema(tmp_path: Path) -> None:
    target = released().save(tmp_path / "out")
    path = target / "public" / "schema.toml"
    path.write_text(Schema.read(path).drop(["stay"]).to_toml())
    cover_up(target)
    shutil.rmtree(target / "internal")
    assert failed(verify(target)) == {"card.md", "data", "k-anonymity with k = 3 rows"}


def test_an_internal_record_that_others_may_read_is_said(tmp_path: Path) -> None:
    saved = released().save(tmp_path / "out")
    assert not verify(saved).warnings
    (saved / "internal").chmod(0o755)
    for path in (saved / "internal").iterdir():
        path.chmod(0o644 if path.suffix != ".key" else 0o600)
    found = verify(saved)
    assert found.ok and [c.subject for c in found.warnings] == ["internal/"]
    assert "WARNING: internal/ can be read" in found.verdict
    (saved / "internal").chmod(0o700)
    assert not verify(saved).warnings  # nobody gets as far as the file


# -- one reading ---------------------------------------------------------------------------------


def test_the_rows_are_decoded_once_whatever_is_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Domains and every claim from one reading, with the same answers as from as many as there are claims."""
    release = released()
    claims = (
        KAnonymity(3, ("sex", "age")), KAnonymity(3, ("age",)), LDiversity(3, ("sex", "age"), ("stay",)),
        TCloseness(1.0, ("sex",), ("stay",)),
    )  # fmt: skip
    saved = replace(release, guarantee=Guarantee.of(*claims)).save(tmp_path / "out")
    readings: list[tuple[str, ...]] = []

    def counted(public: Path) -> Table:
        table = read_data(public)
        assert isinstance(table.source, BatchSource)
        genuine = table.source.open

        def open_(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
            readings.append(tuple(columns))
            return genuine(columns)

        return table.with_source(replace(table.source, open=open_))

    monkeypatch.setattr(verification, "read_data", counted)
    found = verify(saved)
    assert readings == [("sex", "age", "stay")]
    assert found.ok and list(found.claims) == [check_claim(c, read_data(saved / "public")) for c in claims]


def test_values_are_counted_as_they_stand_whatever_the_schema_says(tmp_path: Path) -> None:
    """A missing code in the schema of a forged copy must not merge two values into one class."""
    target = released().save(tmp_path / "out")
    path = target / "public" / "schema.toml"
    schema = Schema.read(path)
    columns = [replace(c, missing_codes=("f",), levels=("m",)) if c.name == "sex" else c for c in schema]
    path.write_text(Schema(tuple(columns)).to_toml())
    cover_up(target)
    (claim,) = verify(target / "public").claims
    assert "smallest of 4 classes has 3 rows" in claim.detail
