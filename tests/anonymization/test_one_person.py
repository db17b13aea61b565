"""Who is counted as one person, and one value, by everything that promises something about them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymization.microaggregation import microaggregate
from sfumato.errors import DataError, ParameterError, SfumatoWarning
from sfumato.privacy import Guarantee, KAnonymity, NoGuarantee, Pseudonymous, Unit
from sfumato.privacy.base import ONE_ID
from sfumato.release import Outcome, Release, verify
from sfumato.release.claims import check_claim

SPELLED = ["P1", "P1 ", "P1\u200b", "\uff301"]
FLU = ["flu", "flu ", "flu\u200b", "\ufb02u"]
HIERARCHY = {"age": sf.Hierarchy.of_rows([["1", "*"], ["2", "*"]])}


def table(ids: list[str], values: list[str], ages: list[str] | None = None, **how: object) -> sf.Table:
    data = {"id": ids, "age": ages or ["1"] * len(ids), "dx": values}
    columns = (
        sf.Column("id", sf.Kind.NOMINAL, sf.Role.PERSON, **how),  # type: ignore[arg-type]
        sf.Column("age", sf.Kind.NOMINAL, sf.Role.QUASI_IDENTIFIER),
        sf.Column("dx", sf.Kind.NOMINAL, sf.Role.SENSITIVE, **how),  # type: ignore[arg-type]
    )
    return sf.Table.from_arrow(pa.table(data), sf.Schema(columns))


def test_four_spellings_of_one_id_are_one_person() -> None:
    with pytest.raises(ParameterError, match="cannot hold"):
        sf.anonymize(table(SPELLED, ["a"] * 4), sf.KAnonymity(2), hierarchies=HIERARCHY)
    people = table([*SPELLED, "P2"], ["a"] * 5)
    release = sf.anonymize(people, sf.KAnonymity(2), hierarchies=HIERARCHY)
    persons = next(c for c in release.guarantee if c.unit.of == "person")
    assert persons.k == 2 and ONE_ID in persons.assumptions  # type: ignore[attr-defined]


def test_case_counts_unless_the_schema_says_otherwise() -> None:
    with pytest.warns(SfumatoWarning, match="2 ids of 'id' differ from another one only in case") as warned:
        sf.anonymize(table(["P1", "p1"], ["a", "b"]), sf.KAnonymity(2), hierarchies=HIERARCHY)
    assert "P1" not in str(warned[0].message) and "p1" not in str(warned[0].message)
    with pytest.raises(ParameterError, match="cannot hold"):
        both = table(["P1", "p1"], ["a", "b"], ignore_case=True)
        sf.anonymize(both, sf.KAnonymity(2), hierarchies=HIERARCHY)


@pytest.mark.parametrize(
    "criterion",
    [
        sf.LDiversity(2, "dx"),
        sf.LDiversity(1.5, "dx", "entropy"),
        sf.LDiversity(2, "dx", "recursive", c=9),
        sf.AlphaK(0.7, 2, "dx"),
    ],
)
def test_four_spellings_of_one_value_are_no_variety(criterion: sf.Criterion) -> None:
    asked = sf.KAnonymity(2) & criterion
    with pytest.raises(ParameterError, match="cannot hold"):
        sf.anonymize(table(list("abcd"), FLU), asked, hierarchies=HIERARCHY)
    mixed = sf.anonymize(table(list("abcdef"), [*FLU, "gout", "gout"]), asked, hierarchies=HIERARCHY)
    assert mixed.guarantee.claims


def test_a_spelling_is_no_distance_to_the_whole(tmp_path: Path) -> None:
    """The two classes hold the same values, spelled differently: their distance is nothing."""
    people = table(list("abcd"), ["flu", "gout", "flu ", "gout\u200b"], ["1", "1", "2", "2"])
    asked = sf.KAnonymity(2) & sf.TCloseness(0.0, "dx")
    release = sf.anonymize(people, asked, hierarchies=HIERARCHY)
    assert len(set(release.data.to_arrow()["age"].to_pylist())) == 2
    found = verify(release.save(tmp_path / "r"))
    assert found.ok and any("distance 0" in c.detail for c in found.claims)


def test_verify_is_not_taken_in_by_spellings() -> None:
    data = table(SPELLED, FLU)
    persons = check_claim(KAnonymity(2, ("age",), unit=Unit.person()), data)
    assert persons.outcome is Outcome.FAILED and "1 persons" in persons.detail
    for claim in (
        sf.privacy.LDiversity(2, ("age",), ("dx",)),
        sf.privacy.LDiversity(1.5, ("age",), ("dx",), "entropy"),
        sf.privacy.AlphaK(2, ("age",), 0.6, ("dx",)),
    ):
        assert check_claim(claim, data).outcome is Outcome.FAILED


def test_how_many_rows_a_person_has_is_not_published() -> None:
    people = table(["P1"] * 7 + ["P2"], ["a", "b"] * 4)
    release = sf.anonymize(people, sf.KAnonymity(2), hierarchies=HIERARCHY)
    said = json.loads(release.guarantee.to_json())
    assert [c["unit"] for c in said["claims"]] == [{"of": "person"}, {"of": "row"}]
    again = Guarantee.from_json(release.guarantee.to_json())
    assert again == release.guarantee and "at most" not in str(again.claims[0].unit)


def test_exchange_sees_one_person_in_two_spellings() -> None:
    people = table(["P1", "P1 ", "P2", "P3"], list("abab"), ["1", "2", "1", "2"])
    with pytest.raises(DataError, match="1 persons have several rows"):
        sf.anonymize(people, sf.KAnonymity(2), method=sf.ClusterResample())


def test_one_person_has_one_pseudonym_and_a_blank_id_none() -> None:
    people = table([*SPELLED, "p1", "", " "], ["a"] * 7)
    names = sf.pseudonymize(people, key=sf.Key.fresh(), shuffle=False).data.to_arrow()["id"].to_pylist()
    assert len(set(names[:4])) == 1 and names[4] != names[0] and names[5:] == [None, None]
    folded = sf.pseudonymize(table(["P1", "p1"], ["a", "a"], ignore_case=True), shuffle=False)
    assert len(set(folded.data.to_arrow()["id"].to_pylist())) == 1


# -- what may leave ------------------------------------------------------------------------------


def test_a_release_refuses_a_column_of_persons_that_no_claim_allows() -> None:
    people = table(["P1", "P2"], ["a", "b"])
    for promised in (Guarantee(), Guarantee.of(KAnonymity(2, ("age",)), NoGuarantee("nothing"))):
        with pytest.raises(ParameterError, match="'id' says whose rows they are") as raised:
            Release(people, promised)
        assert "P1" not in str(raised.value)
    assert Release(people, Guarantee.of(Pseudonymous(("id",)))).columns == ("id", "age", "dx")
    seeded = sf.pseudonymize(people, key=sf.Key.from_seed(1))
    assert isinstance(seeded.guarantee.claims[0], NoGuarantee) and "id" in seeded.columns


# -- microaggregation ----------------------------------------------------------------------------


def numbers(persons: list[str]) -> sf.Table:
    n = len(persons)
    data = {"id": persons, "case": [str(i) for i in range(n)], "age": [float(i) for i in range(n)],
            "zip": ["1"] * n, "dx": ["a"] * n, "note": ["x"] * n}  # fmt: skip
    roles = {"id": sf.Role.PERSON, "case": sf.Role.IDENTIFIER, "age": sf.Role.QUASI_IDENTIFIER,
             "zip": sf.Role.QUASI_IDENTIFIER}  # fmt: skip
    kinds = {"age": sf.Kind.NUMERIC, "note": sf.Kind.TEXT}
    columns = [sf.Column(c, kinds.get(c, sf.Kind.NOMINAL), roles.get(c, sf.Role.OTHER)) for c in data]
    return sf.Table.from_arrow(pa.table(data), sf.Schema(tuple(columns)))


def test_groups_hold_k_persons_and_nothing_that_names_them() -> None:
    ids = [f"P{i // 3}" + " " * (i % 3) for i in range(30)]
    with pytest.warns(SfumatoWarning, match="'zip'"):
        release = microaggregate(numbers(ids), ["age"], 3, seed=1)
    assert release.columns == ("age", "dx")
    claims = {c.unit.of: c.k for c in release.guarantee}  # type: ignore[attr-defined]
    assert claims["person"] >= 3 and claims["row"] >= 5
    groups: dict[float, int] = {}
    for value in release.data.to_arrow()["age"].to_pylist():
        groups[value] = groups.get(value, 0) + 1
    assert min(groups.values()) == claims["row"]


def test_too_few_persons_are_refused_however_many_rows_they_have() -> None:
    with pytest.warns(SfumatoWarning), pytest.raises(DataError, match="fewer than k = 3 persons"):
        microaggregate(numbers(["P1", "P2"] * 10), ["age"], 3)
    with pytest.raises(ParameterError, match="not numeric columns of the table"):
        microaggregate(numbers(["P1", "P2"]), ["id"], 1)
    with pytest.warns(SfumatoWarning):
        kept = microaggregate(numbers(list("abcdef")), ["age"], 2, drop=["dx"], keep_text=True)
    assert kept.columns == ("age", "note")
