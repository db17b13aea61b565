"""Guarantees compose where theory allows it, say so where it does not, and survive being written."""

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import DataError, ParameterError, SfumatoError
from sfumato.privacy import (
    ZCDP,
    ApproxDP,
    BoundedReidentification,
    Claim,
    DiverseLaw,
    Guarantee,
    KAnonymity,
    Neighbours,
    NoGuarantee,
    Pseudonymous,
    PureDP,
    Unit,
)
from sfumato.privacy.differential import zcdp_epsilon
from sfumato.privacy.rounding import exact

of = Guarantee.of
K5 = KAnonymity(5, ("age",))
amounts = st.floats(min_value=1e-9, max_value=50)
texts = st.text(min_size=1, max_size=20).filter(lambda t: t.encode("utf-8", "ignore").decode() == t)
units = st.one_of(st.just(Unit.row()), st.integers(1, 9).map(Unit.person))
shared = {
    "unit": units,
    "assumptions": st.lists(texts, max_size=3).map(tuple),
    "scope": st.one_of(st.just(""), texts),
}
both = st.sampled_from(Neighbours)
claims = st.one_of(
    st.builds(PureDP, amounts, neighbours=both, **shared),
    st.builds(ZCDP, amounts, neighbours=both, **shared),
    st.builds(ApproxDP, amounts, st.floats(0, 0.1), neighbours=both, **shared),
    st.builds(KAnonymity, st.integers(1, 99), st.lists(texts, min_size=1, max_size=3, unique=True), **shared),
    st.builds(NoGuarantee, texts.filter(str.strip), texts, **shared),
)
guarantees = st.lists(claims, max_size=4).map(lambda c: Guarantee(tuple(c)))


def dp(guarantee: Guarantee) -> list[Claim]:
    return [c for c in guarantee if c.differential and not c.scope]


@given(st.lists(amounts, min_size=2, max_size=8))
def test_pure_adds_up_outward_in_any_order(epsilons):
    parts = [of(PureDP(e)) for e in epsilons]
    (total,) = parts[0].compose(*parts[1:])
    spent = sum(map(exact, epsilons), Fraction(0))
    assert spent <= exact(total.epsilon) <= spent * (1 + Fraction(1, 10**14))
    assert parts[-1].compose(*parts[-2::-1]) == of(total)


@given(st.lists(amounts, min_size=2, max_size=8))
def test_zcdp_adds_up(rhos):
    parts = [of(ZCDP(r)) for r in rhos]
    (total,) = parts[0].compose(*parts[1:])
    assert exact(total.rho) >= sum(map(exact, rhos), Fraction(0))


@given(amounts, amounts)
def test_pure_and_zcdp_meet_in_zcdp(epsilon, rho):
    (total,) = of(PureDP(epsilon)).compose(of(ZCDP(rho)))
    assert type(total) is ZCDP and exact(total.rho) >= exact(epsilon) ** 2 / 2 + exact(rho)


def test_approximate_adds_both():
    assert of(ApproxDP(0.1, 1e-9)).compose(of(ApproxDP(0.2, 2e-9))) == of(ApproxDP(0.3, 3e-9))
    assert of(ApproxDP(0.1, 1e-9)).compose(of(PureDP(0.2))) == of(ApproxDP(0.3, 1e-9))


def test_zcdp_meets_approximate_at_a_delta():
    parts = of(ZCDP(0.1)), of(ZCDP(0.1)), of(ApproxDP(1.0, 1e-9))
    with pytest.raises(ParameterError, match="delta"):
        parts[0].compose(*parts[1:])
    (total,) = parts[0].compose(*parts[1:], delta=1e-9)
    # converted once, after adding: not twice
    assert total.epsilon == pytest.approx(1.0 + zcdp_epsilon(0.2, 1e-9)) and total.delta == 2e-9


def test_both_forms_of_a_claim_compose_side_by_side():
    part = of(PureDP(1.0), ZCDP(0.1))
    assert set(part.compose(part)) == {PureDP(2.0), ZCDP(0.2)}
    assert set(part.compose(of(PureDP(1.0)))) == {PureDP(2.0), ZCDP(0.6)}


def test_many_parts_with_many_forms_compose_in_no_time():
    part = of(PureDP(0.01), ZCDP(0.001))
    total = of(ApproxDP(0.1, 1e-9)).compose(*[part] * 200, delta=1e-9)
    assert any(type(c) is ApproxDP for c in total)


@pytest.mark.parametrize(
    "other",
    [PureDP(1.0, unit=Unit.person(2)), PureDP(1.0, neighbours="replace"), K5],
    ids=["unit", "nb", "k"],
)
def test_what_does_not_agree_is_not_added(other):
    total = of(PureDP(1.0)).compose(of(other))
    assert not dp(total)
    assert [c for c in total if isinstance(c, NoGuarantee) and c.reason == "not composed"]
    assert PureDP(1.0, scope="release 1 of 2") in total.claims


def test_deltas_that_reach_one_promise_nothing():
    total = of(ApproxDP(1, 0.6)).compose(of(ApproxDP(1, 0.6)))
    assert not dp(total) and any(isinstance(c, NoGuarantee) for c in total)


def test_counted_claims_do_not_compose():
    total = of(K5).compose(of(KAnonymity(7, ("zip",))))
    first, second, refusal = total.claims
    assert (first.scope, second.scope) == ("release 1 of 2", "release 2 of 2")
    assert refusal.reason == "not composed" and "intersect" in refusal.text()
    # and composing again never brings a claim about the whole back
    again = total.compose(of(PureDP(1)))
    assert not dp(again) and all(c.scope or isinstance(c, NoGuarantee) for c in again)


def test_parallel_counts_the_largest_and_states_the_rule():
    parts = of(PureDP(1.0)), of(PureDP(2.0)), of(PureDP(0.5))
    (total,) = parts[0].compose(*parts[1:], disjoint="by year of birth")
    assert total.epsilon == 2.0
    assert any("by year of birth" in a and "no row" in a for a in total.assumptions)
    person = [of(ZCDP(r, unit=Unit.person(3))) for r in (0.1, 0.3)]
    (total,) = person[0].compose(person[1], disjoint="by hospital")
    assert total.rho == 0.3 and any("all rows of a person" in a for a in total.assumptions)


def test_parallel_is_refused_under_replace():
    part = of(PureDP(1.0, neighbours="replace"))
    with pytest.raises(ParameterError, match="move"):
        part.compose(part, disjoint="by hospital")


def test_parallel_keeps_counted_claims_of_different_persons():
    rows, persons = of(K5), of(KAnonymity(5, ("age",), unit=Unit.person(3)))
    assert not any(isinstance(c, NoGuarantee) for c in persons.compose(persons, disjoint="by hospital"))
    assert any(isinstance(c, NoGuarantee) for c in rows.compose(rows, disjoint="by hospital"))


@given(st.lists(guarantees, min_size=2, max_size=4))
@settings(deadline=None)
def test_composition_never_gains(parts):
    """No part's loss is above the total's, and what no part had does not appear."""
    total = parts[0].compose(*parts[1:], delta=1e-9)
    for claim in dp(total):
        ground = [c for p in parts for c in dp(p) if (c.unit, c.neighbours) == (claim.unit, claim.neighbours)]
        assert all(any(c in ground for c in dp(p)) for p in parts)
        same = [[c for c in dp(p) if c in ground and type(c) is type(claim)] for p in parts]
        for found in same:
            if found:
                name = "rho" if isinstance(claim, ZCDP) else "epsilon"
                assert getattr(claim, name) >= min(getattr(c, name) for c in found)
    assert all(c.scope or c.differential or isinstance(c, NoGuarantee) for c in total)


@given(guarantees)
def test_json_gives_back_an_equal_guarantee(guarantee):
    text = guarantee.to_json()
    again = Guarantee.from_json(text)
    assert again == guarantee and again.to_json() == text


@given(guarantees)
def test_post_processing_keeps_differential_privacy_only(guarantee):
    after = guarantee.post_processed()
    assert [c for c in after if c.differential] == [c for c in guarantee if c.differential]
    assert all(c.differential or isinstance(c, NoGuarantee) for c in after)
    assert after.post_processed() == after


def test_a_seed_ends_what_rests_on_it():
    drawn = [PureDP(1), ZCDP(1), ApproxDP(1, 0.1), BoundedReidentification(5, ("a",)), DiverseLaw(2, ("a",))]
    seeded = of(K5, *drawn, Pseudonymous(("id",))).seeded()
    assert seeded.claims[0] == K5
    assert [c.reason for c in seeded.claims[1:]] == ["seeded"] * 6
    assert seeded.seeded() == seeded
    assert "known seed" in seeded.text()


def test_for_person_and_at_delta():
    guarantee = of(K5, ZCDP(0.1)).for_person(3).at_delta(1e-9)
    assert guarantee.claims[0] == K5
    assert guarantee.claims[1].epsilon == zcdp_epsilon(0.9, 1e-9)
    assert guarantee.claims[1].unit == Unit.person(3)


def test_composing_one_release_changes_nothing():
    assert of(K5, PureDP(1)).compose() == of(K5, PureDP(1))


def test_it_prints_and_escapes():
    evil = of(KAnonymity(5, ("<script>alert(1)</script>",)), NoGuarantee("<b>x</b>"))
    html = evil._repr_html_()
    assert "<script>" not in html and "<b>x</b>" not in html and "&lt;script&gt;" in html
    assert str(evil) == evil.text()
    assert "Nothing is promised" in str(Guarantee()) and "Nothing is promised" in Guarantee()._repr_html_()


def changed(**changes):
    document = json.loads(of(K5).to_json())
    document["claims"][0] |= changes
    return json.dumps(document)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        "not json",
        "[" * 100_000,
        '{"sfumato_guarantee": 2, "claims": []}',
        '{"sfumato_guarantee": true, "claims": []}',
        '{"sfumato_guarantee": 1}',
        '{"sfumato_guarantee": 1, "claims": {}}',
        '{"sfumato_guarantee": 1, "claims": [3]}',
        '{"sfumato_guarantee": 1, "claims": [], "more": 1}',
        changed(claim="Claim"),
        changed(claim="SuperPrivacy"),
        changed(claim=["KAnonymity"]),
        changed(k=0),
        changed(k="5"),
        changed(k=None),
        changed(columns="age"),
        changed(columns=[["age"]]),
        changed(columns={"age": 1}),
        changed(unit="row"),
        changed(unit={"of": "row", "more": 1}),
        changed(unit={"of": ["row"]}),
        changed(unit={"of": "person", "max_rows": 0}),
        changed(unit={"of": "house"}),
        changed(more=1),
        changed(assumptions=[3]),
        changed(scope=3),
        '{"sfumato_guarantee": 1, "claims": [{"claim": "PureDP", "epsilon": NaN}]}',
        '{"sfumato_guarantee": 1, "claims": [{"claim": "PureDP", "epsilon": 1e999}]}',
        '{"sfumato_guarantee": 1, "claims": [{"claim": "PureDP"}]}',
        '{"sfumato_guarantee": 1, "claims": [{"claim": "PureDP", "epsilon": 1, "unit": {"of": "person"}}]}',
        '{"sfumato_guarantee": 1, "claims": [{"claim": "PureDP", "epsilon": 1, "neighbours": ["a"]}]}',
    ],
)
def test_what_cannot_be_read_is_refused(text):
    with pytest.raises(SfumatoError):
        Guarantee.from_json(text)


def test_all_faults_of_all_claims_are_named():
    document = {"sfumato_guarantee": 1, "claims": [{"claim": "PureDP"}, {"claim": "Odd"}]}
    with pytest.raises(DataError, match=r"claim 1.*claim 2"):
        Guarantee.from_json(json.dumps(document))


def test_only_claims_make_a_guarantee():
    class Stranger(KAnonymity):
        """A claim that no reader of a guarantee knows."""

    with pytest.raises(TypeError):
        Claim()  # says nothing, so it cannot be made
    for bad in [("k",), (Stranger(5, ("age",)),), (3,)]:
        with pytest.raises(ParameterError):
            Guarantee(bad)
    assert Guarantee((K5, K5)) == of(K5) and of(K5) & of(PureDP(1)) == of(K5, PureDP(1))


def test_disjoint_persons_are_an_assumption_of_what_is_counted() -> None:
    part = Guarantee.of(KAnonymity(5, ("age",), unit=Unit.person(3)))
    whole = part.compose(part, disjoint="by year of birth")
    assert all(any("by year of birth" in a for a in claim.assumptions) for claim in whole)
