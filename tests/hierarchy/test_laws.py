"""The laws of every poset: an order, and least upper bounds that depend on the members alone."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from posets import KINDS, least

from sfumato.errors import ParameterError
from sfumato.hierarchy import loss_of

kinds = pytest.mark.parametrize("kind", KINDS)
few = settings(max_examples=40)


@kinds
@few
@given(data=st.data())
def test_the_least_upper_bounds_are_those_of_brute_force(kind: str, data: st.DataObject) -> None:
    poset, nodes = data.draw(KINDS[kind])
    members = data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=4))
    assert poset.lub(*members) == least(poset, nodes, members)


@kinds
@few
@given(data=st.data())
def test_no_order_and_no_repetition_matters(kind: str, data: st.DataObject) -> None:
    poset, nodes = data.draw(KINDS[kind])
    members = data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=3))
    found = poset.lub(*members)
    assert all(poset.lub(*order) == found for order in permutations(members))
    assert poset.lub(*members, *members) == found
    assert poset.lub(members[0]) == {members[0]}


@kinds
@few
@given(data=st.data())
def test_folding_in_pairs_is_never_lower(kind: str, data: st.DataObject) -> None:
    poset, nodes = data.draw(KINDS[kind])
    members = data.draw(st.lists(st.sampled_from(nodes), min_size=3, max_size=4))
    found = poset.lub(*members)
    folded = members[0]
    for m in members[1:]:
        folded = data.draw(st.sampled_from(sorted(poset.lub(folded, m), key=repr)))
    assert any(poset.leq(bound, folded) for bound in found)


@kinds
@few
@given(data=st.data())
def test_it_is_an_order_with_one_top(kind: str, data: st.DataObject) -> None:
    poset, nodes = data.draw(KINDS[kind])
    a, b, c = (data.draw(st.sampled_from(nodes)) for _ in range(3))
    assert poset.leq(a, a)
    assert not (poset.leq(a, b) and poset.leq(b, a)) or a == b
    assert not (poset.leq(a, b) and poset.leq(b, c)) or poset.leq(a, c)
    assert poset.leq(a, poset.top)
    assert poset.leq(poset.top, a) == (a == poset.top)


@kinds
@few
@given(data=st.data())
def test_rank_and_share_never_fall_on_the_way_up(kind: str, data: st.DataObject) -> None:
    poset, nodes = data.draw(KINDS[kind])
    a, b = (data.draw(st.sampled_from(nodes)) for _ in range(2))
    (bound, *_) = poset.lub(a, b)
    assert poset.rank(a) <= poset.rank(bound) <= poset.rank(poset.top) == pytest.approx(poset.height)
    assert poset.share(a) <= poset.share(bound) <= poset.share(poset.top) == 1
    assert -1e-12 <= loss_of(poset, a) <= loss_of(poset, bound) + 1e-12 <= 1 + 2e-12


@kinds
@few
@given(data=st.data())
def test_different_nodes_are_written_differently(kind: str, data: st.DataObject) -> None:
    poset, nodes = data.draw(KINDS[kind])
    if kind in ("hierarchy", "sparse codes"):  # levels may repeat a name; numbers at or under, see below
        return
    assert len({poset.label(n) for n in nodes}) == len(nodes)


@kinds
@given(data=st.data())
@settings(max_examples=5)
def test_nothing_has_no_bound(kind: str, data: st.DataObject) -> None:
    poset, _ = data.draw(KINDS[kind])
    with pytest.raises(ParameterError, match="at least one member"):
        poset.lub()
