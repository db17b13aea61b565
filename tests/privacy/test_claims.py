"""Each claim checks itself, reads as plain words, and says what it does not promise."""

import json
import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.privacy import (
    ZCDP,
    Accounted,
    AlphaK,
    ApproxDP,
    BoundedReidentification,
    ConsistentTotals,
    DiverseLaw,
    Guarantee,
    HiddenCells,
    JAnonymity,
    KAmbiguity,
    KAnonymity,
    KMAnonymity,
    KMap,
    KnownSearch,
    LDiversity,
    Neighbours,
    NoGuarantee,
    Pseudonymous,
    PureDP,
    TCloseness,
    Unaccounted,
    Unit,
)
from sfumato.privacy.differential import for_person
from sfumato.privacy.guarantee import KINDS

PERSON = Unit.person(3)
EXAMPLES = [
    Accounted("0" * 32, "f" * 32, "epsilon", 2.5),
    Accounted("0" * 32, "f" * 32, "rho", 0.5, 1e-9, unit=PERSON),
    Unaccounted(),
    KAnonymity(5, ("age", "sex")),
    KAnonymity(5, ("age",), unit=PERSON, assumptions=("Rows beyond three were dropped",)),
    KMap(5, ("age",), "adults of the county"),
    JAnonymity(5, ("age",), 0.05, "Poisson counts"),
    LDiversity(3, ("age",), ("diagnosis",)),
    LDiversity(2.5, ("age",), ("diagnosis",), "entropy"),
    LDiversity(3, ("age",), ("diagnosis",), "recursive", 2.0),
    TCloseness(0.2, ("age",), ("cost",), "ordered"),
    KAmbiguity(3, ("age",)),
    AlphaK(5, ("age", "sex"), 0.5, ("diagnosis",)),
    KAnonymity(5, ("age",), matching="anything"),
    KnownSearch(("age", "sex"), ("diagnosis",)),
    KnownSearch(("age",), hides="places"),
    KMAnonymity(5, 3, ("dx.icd9",), ("patients.sex",), unit=PERSON),
    ConsistentTotals(("county", "age"), "county,age"),
    HiddenCells(5, ("area", "county", "age"), "area>county,age"),
    HiddenCells(3, ("age",), "age", "charge", contributors=False),
    BoundedReidentification(10, ("age", "zip")),
    DiverseLaw(2.5, ("a", "b"), ("b",)),
    PureDP(1.0),
    PureDP(1.0, unit=PERSON, neighbours=Neighbours.REPLACE),
    ApproxDP(1.0, 1e-9),
    ZCDP(0.5, neighbours="replace"),
    Pseudonymous(("patient",)),
    NoGuarantee("seeded", "Lost: something."),
    NoGuarantee("parents were read off the data"),
]


def test_every_kind_has_an_example():
    assert {type(c).__name__ for c in EXAMPLES} == set(KINDS)


@pytest.mark.parametrize("claim", EXAMPLES, ids=lambda c: type(c).__name__)
def test_a_claim_reads_as_sentences(claim):
    text = claim.text()
    assert text[0].isupper() and text.endswith(".")
    assert "  " not in text and ".." not in text and " ." not in text and "None" not in text
    assert claim.limits() in text
    assert all(a in text for a in claim.assumptions)
    assert "alone" in claim.about("release 1 of 2").text()
    for column in getattr(claim, "columns", ()):
        assert f"'{column}'" in text


@pytest.mark.parametrize("claim", EXAMPLES, ids=lambda c: type(c).__name__)
def test_a_claim_is_the_same_after_json(claim):
    guarantee = Guarantee.of(claim)
    assert Guarantee.from_json(guarantee.to_json()) == guarantee
    json.loads(guarantee.to_json(), parse_constant=pytest.fail)


@pytest.mark.parametrize(
    "make",
    [
        lambda: KAnonymity(0, ("a",)),
        lambda: KAnonymity(2.0, ("a",)),
        lambda: KAnonymity(True, ("a",)),
        lambda: KAnonymity(5, ()),
        lambda: KAnonymity(5, "age"),
        lambda: KAnonymity(5, ("a", "a")),
        lambda: KAnonymity(5, ("a", 3)),
        lambda: KAnonymity(5, None),
        lambda: KAnonymity(5, ("a",), unit="row"),
        lambda: KAnonymity(5, ("a",), assumptions="one text"),
        lambda: KMap(5, ("a",), ""),
        lambda: JAnonymity(5, ("a",), 1.0, "m"),
        lambda: JAnonymity(5, ("a",), 0.1, ""),
        lambda: LDiversity(0.5, ("a",), ("s",)),
        lambda: LDiversity(2.5, ("a",), ("s",)),
        lambda: LDiversity(2, ("a",), ()),
        lambda: LDiversity(2, ("a",), ("s",), "odd"),
        lambda: LDiversity(2, ("a",), ("s",), "recursive"),
        lambda: LDiversity(2, ("a",), ("s",), "distinct", 1.0),
        lambda: TCloseness(1.5, ("a",), ("s",)),
        lambda: TCloseness(0.5, ("a",), ("s",), "odd"),
        lambda: DiverseLaw(0.9, ("a",)),
        lambda: DiverseLaw(2, ("a",), ("b",)),
        lambda: PureDP(-0.1),
        lambda: PureDP(math.nan),
        lambda: PureDP(math.inf),
        lambda: PureDP("1"),
        lambda: PureDP(1.0, neighbours="both"),
        lambda: ApproxDP(1.0, 1.0),
        lambda: ApproxDP(1.0, -1e-9),
        lambda: ZCDP(-1.0),
        lambda: Pseudonymous(()),
        lambda: NoGuarantee(" "),
        lambda: NoGuarantee(3),
        lambda: Unit("house"),
        lambda: Unit("row", 3),
        lambda: Unit.person(0),
        lambda: Unit.person(2.5),
        lambda: PureDP(1.0, unit=Unit("person")),
        lambda: for_person(PureDP(1.0), None),
    ],
)
def test_an_impossible_claim_is_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_all_faults_are_named_at_once():
    with pytest.raises(ParameterError, match=r"k must.*columns must"):
        KAnonymity(0, ())


def test_claims_do_not_change():
    with pytest.raises(FrozenInstanceError):
        PureDP(1.0).epsilon = 0.1


def test_plain_types_are_kept():
    claim = KAnonymity(np.int64(5), ["age"])
    assert type(claim.k) is int and claim.columns == ("age",) and claim == KAnonymity(5, ("age",))
    assert type(PureDP(np.float64(1)).epsilon) is float and PureDP(1) == PureDP(1.0)


def test_the_words_are_exact():
    assert "2.72 times" in PureDP(1.0).text()
    assert "left out" in PureDP(1.0).text() and "any other values" in PureDP(1.0, neighbours="replace").text()
    assert "number of rows is not protected" in PureDP(1.0, neighbours="replace").text()
    assert "at most 3 rows" in PureDP(1.0, unit=PERSON).text()
    assert "promises little" in PureDP(20).text() and "promises little" not in PureDP(1).text()
    for huge in (PureDP(1000), ApproxDP(1000, 1e-9)):
        assert "10^" not in huge.text() and "no promise" in huge.text()
    assert "protects nobody" in KAnonymity(1, ("a",)).text()
    assert "5 different persons" in KAnonymity(5, ("a",), unit=PERSON).text()
    assert "may belong to the same person" in KAnonymity(5, ("a",)).text()
    assert "not anonymity" in Pseudonymous(("a",)).text()
    assert "not differential privacy" in DiverseLaw(2, ("a",)).text()


def test_no_claim_shows_less_than_it_spent():
    assert "epsilon = 0.333334" in PureDP(1 / 3).title
    assert "l = 2.33333" in LDiversity(7 / 3, ("a",), ("s",), "entropy").title
