from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import risk_oracles
from hypothesis import given
from hypothesis import strategies as st
from releases import alter, cover_up, every_type, released

from sfumato import criteria
from sfumato.errors import DataError, ParameterError, VerificationError
from sfumato.privacy import (
    AlphaK,
    ApproxDP,
    BoundedReidentification,
    Claim,
    DiverseLaw,
    Guarantee,
    KAmbiguity,
    KAnonymity,
    KMap,
    LDiversity,
    NoGuarantee,
    Pseudonymous,
    PureDP,
    TCloseness,
    Unit,
)
from sfumato.release import InternalRecord, Outcome, Release, Verification, verify
from sfumato.release.claims import check_claim
from sfumato.schema import Column, Kind, Role, Schema
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
    assert str(found).endswith("Verified.")
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
    "name", ["..", "", "../internal", "*.parquet", "a" * 5_000, "/etc/passwd", "\0", ["x"]]
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
    assert failed(verify(target)) == {"data", "k-anonymity with k = 3 rows"}


# -- claims --------------------------------------------------------------------------------------


def _table(**columns: list[Any]) -> Table:
    person = [Column("person", Kind.NOMINAL, Role.PERSON)] if "person" in columns else []
    rest = [Column(n, Kind.NOMINAL) for n in columns if n != "person"]
    data = pa.table({n: pa.array(cells, pa.string()) for n, cells in columns.items()})
    return Table.from_arrow(data, Schema((*rest, *person)))


def _outcome(claim: Claim, table: Table) -> Outcome:
    return check_claim(claim, table).outcome


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["x", None])), max_size=12), st.integers(1, 6)
)
def test_k_anonymity_is_the_smallest_class(rows: list[tuple[str, str | None]], k: int) -> None:
    table = _table(q=[q for q, _ in rows], r=[r for _, r in rows])
    smallest = min((rows.count(row) for row in rows), default=None)
    expected = Outcome.PASSED if smallest is None or smallest >= k else Outcome.FAILED
    assert _outcome(KAnonymity(k, ("q", "r")), table) is expected


@given(st.lists(st.tuples(*[st.sampled_from(["x", "y", "*", None])] * 2), min_size=1, max_size=12))
def test_empty_cells_that_match_anything(rows: list[tuple[str | None, str | None]]) -> None:
    least = min(risk_oracles.sizes(rows, (0, 1), wild=True))
    table = _table(q=[q for q, _ in rows], r=[r for _, r in rows])
    for k, outcome in ((least, Outcome.PASSED), (least + 1, Outcome.FAILED)):
        found = check_claim(KAnonymity(k, ("q", "r"), matching="anything"), table)
        assert found.outcome is outcome and found.detail.endswith(f"fits {least} rows")


def test_k_anonymity_of_persons_counts_persons() -> None:
    table = _table(q=["a"] * 4 + ["b"] * 3, person=["1", "1", "2", "6", "3", "4", "5"])
    persons = Unit.person(2)
    assert _outcome(KAnonymity(3, ("q",), unit=persons), table) is Outcome.PASSED
    assert _outcome(KAnonymity(4, ("q",), unit=persons), table) is Outcome.FAILED
    assert _outcome(KAnonymity(3, ("q",)), table) is Outcome.PASSED
    nobody = check_claim(KAnonymity(2, ("q",), unit=persons), table.drop(["person"]))
    assert nobody.outcome is Outcome.UNSEEN and "same person" in nobody.detail


def test_shares_of_persons_are_those_of_the_class() -> None:
    """Everyone has both values: two persons, not four, and each value is everyone's."""
    table = _table(q=["a"] * 4, s=["x", "y", "x", "y"], person=["1", "1", "2", "2"])
    persons = Unit.person(2)
    assert _outcome(AlphaK(2, ("q",), 1.0, ("s",), unit=persons), table) is Outcome.PASSED
    assert _outcome(AlphaK(3, ("q",), 1.0, ("s",), unit=persons), table) is Outcome.FAILED
    assert _outcome(AlphaK(2, ("q",), 0.5, ("s",), unit=persons), table) is Outcome.FAILED
    assert _outcome(AlphaK(4, ("q",), 0.5, ("s",)), table) is Outcome.PASSED


def test_a_row_without_a_person_may_be_that_of_one_already_counted() -> None:
    table = _table(q=["a", "a", "a", "b", "b"], person=["1", None, "2", None, None])
    assert _outcome(KAnonymity(1, ("q",), unit=Unit.person(2)), table) is Outcome.PASSED
    found = check_claim(KAnonymity(2, ("q",), unit=Unit.person(2)), table)
    assert found.outcome is Outcome.FAILED and "smallest of 2 classes has 1 persons" in found.detail
    one = _table(q=["a", "a", "a"], person=["1", None, "2"])
    assert _outcome(KAnonymity(2, ("q",), unit=Unit.person(2)), one) is Outcome.PASSED
    assert _outcome(KAnonymity(3, ("q",), unit=Unit.person(2)), one) is Outcome.FAILED
    assert _outcome(KAnonymity(3, ("q",), unit=Unit.person(2)), _table(q=[], person=[])) is Outcome.PASSED


@pytest.mark.parametrize(
    ("kind", "cells", "codes"),
    [(Kind.NOMINAL, ["f", "m"], ("f", "m")), (Kind.CODES, ["A;B", "B;A"], ())],
)
def test_no_schema_makes_different_cells_alike(kind: Kind, cells: list[str], codes: tuple[str, ...]) -> None:
    schema = Schema((Column("q", kind, missing_codes=codes),))
    table = Table.from_arrow(pa.table({"q": cells}), schema)
    assert _outcome(KAnonymity(2, ("q",)), table) is Outcome.FAILED
    assert _outcome(Pseudonymous(("q",)), table) is Outcome.FAILED


def test_l_diversity_in_its_three_kinds() -> None:
    table = _table(q=["a"] * 4 + ["b"] * 3, s=["1", "1", "2", None, "1", "2", "3"])

    def claim(l: float, kind: str, c: float | None = None) -> Claim:  # noqa: E741
        return LDiversity(l, ("q",), ("s",), kind, c)

    assert _outcome(claim(3, "distinct"), table) is Outcome.PASSED
    assert _outcome(claim(4, "distinct"), table) is Outcome.FAILED
    # The class of a has shares 1/2, 1/4, 1/4: the exponential of its entropy is 2 ** 1.5.
    assert _outcome(claim(2**1.5, "entropy"), table) is Outcome.PASSED
    assert _outcome(claim(2.84, "entropy"), table) is Outcome.FAILED
    # Recursive: the most frequent 2 times against c times the tail from the second on (2).
    assert _outcome(claim(2, "recursive", 1.01), table) is Outcome.PASSED
    assert _outcome(claim(2, "recursive", 1.0), table) is Outcome.FAILED
    assert _outcome(claim(3, "distinct"), _table(q=[], s=[])) is Outcome.PASSED


def test_t_closeness_is_the_farthest_class() -> None:
    table = _table(q=["a", "a", "b", "b"], s=["1", "1", "1", "2"])
    assert _outcome(TCloseness(0.25, ("q",), ("s",)), table) is Outcome.PASSED
    assert _outcome(TCloseness(0.24, ("q",), ("s",)), table) is Outcome.FAILED
    assert _outcome(TCloseness(0.1, ("q",), ("s",), "ordered"), table) is Outcome.UNSEEN


def test_a_claim_about_columns_the_file_lacks_fails() -> None:
    found = check_claim(KAnonymity(2, ("q", "z")), _table(q=["a", "a"]))
    assert found.outcome is Outcome.FAILED and "lacks 'z'" in found.detail


@pytest.mark.parametrize(
    "claim",
    [
        PureDP(1.0),
        ApproxDP(1.0, 1e-9),
        KMap(2, ("q",), "the county"),
        KAmbiguity(2, ("q",)),
        BoundedReidentification(2, ("q",)),
        DiverseLaw(2, ("q",)),
        NoGuarantee("a test"),
        KAnonymity(2, ("q",), scope="release 1 of 2"),
    ],
)
def test_what_a_file_cannot_show_is_said_with_its_reason(tmp_path: Path, claim: Claim) -> None:
    table = _table(q=["a"])
    found = check_claim(claim, table)
    assert found.outcome is Outcome.UNSEEN and found.detail.startswith("because ")
    target = Release(table, Guarantee.of(claim), InternalRecord()).save(tmp_path / "out")
    (recorded,) = verify(target).claims
    if isinstance(claim, NoGuarantee):
        assert recorded == found
    else:
        # The record says the same, which proves nothing: no line may read as if it had been recounted.
        assert recorded.outcome is Outcome.RECORDED and recorded.how == "as the internal record says"
        assert recorded.detail.startswith("not recounted, because ")
    whole = verify(target)
    assert whole.ok and whole.unproven == (recorded,)
    assert str(whole).endswith("Verified, but for what a file cannot show: 1 of 1 claims.")


def test_a_column_said_to_be_pseudonyms_must_look_like_them() -> None:
    good = "A" * 31 + "7"
    assert _outcome(Pseudonymous(("q",)), _table(q=[good, None])) is Outcome.PASSED
    found = check_claim(Pseudonymous(("q",)), _table(q=[good, "Jane Doe", good.lower()]))
    assert found.outcome is Outcome.FAILED and "'q' (2)" in found.detail and "Jane" not in str(found)


# -- the criterion -------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, -1, True, 2.0, "5"])
def test_k_is_a_whole_number_from_one(k: Any) -> None:
    with pytest.raises(ParameterError):
        criteria.KAnonymity(k)


def test_the_criterion_measures_the_smallest_class() -> None:
    counts = _table(q=["a", "a", "b", None, None]).counts("q")
    asked = criteria.KAnonymity(2)
    assert asked.measure(counts) == 1 and not asked.holds(counts) and criteria.KAnonymity(1).holds(counts)
    nobody = _table(q=[]).counts("q")
    assert asked.measure(nobody) == 0 and asked.holds(nobody)
    assert isinstance(asked.measure(counts), int) and not isinstance(asked.measure(counts), np.integer)
