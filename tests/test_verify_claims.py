"""Each claim, counted again from a table as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import risk_oracles
from hypothesis import given
from hypothesis import strategies as st

from sfumato import criteria
from sfumato.errors import ParameterError
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
    KnownSearch,
    LDiversity,
    NoGuarantee,
    Pseudonymous,
    PureDP,
    TCloseness,
    Unit,
)
from sfumato.release import InternalRecord, Outcome, Release, verify
from sfumato.release.claims import check_claim
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table


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
        KnownSearch(("q",), hides="places"),
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
    recorded, *unpaid = verify(target).claims  # an epsilon that no ledger paid for says so beside it
    assert [c.subject for c in unpaid] == ["unaccounted"] * isinstance(claim, PureDP | ApproxDP)
    if isinstance(claim, NoGuarantee):
        assert recorded == found
    else:
        # The record says the same, which proves nothing: no line may read as if it had been recounted.
        assert recorded.outcome is Outcome.RECORDED and recorded.how == "as the internal record says"
        assert recorded.detail.startswith("not recounted, because ")
    whole = verify(target)
    assert whole.ok and whole.unproven == (recorded, *unpaid)
    assert f"{1 + len(unpaid)} of {1 + len(unpaid)} claims cannot be seen in a file." in whole.verdict
    assert [c.subject for c in whole.warnings] == ["domain of 'q'"] * len(unpaid)  # nobody answers for it


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
