"""Choosing from the map: a new draw, and the choice is an assumption of every claim."""

from __future__ import annotations

import pytest
from toys import drawn, people, sampled

from sfumato.assessment.frontier.map import CHOSEN_ON_THE_DATA
from sfumato.errors import ParameterError
from sfumato.privacy import KAnonymity, NoGuarantee
from sfumato.release import Release


def test_the_choice_is_an_assumption_of_every_claim() -> None:
    found = drawn()
    chosen = found.choose(2)
    assert isinstance(chosen, Release)
    assert [type(c) for c in chosen.guarantee] == [KAnonymity]
    assert all(CHOSEN_ON_THE_DATA in c.assumptions for c in chosen.guarantee)
    assert "chosen by looking" in chosen.guarantee.text()
    plain = found.choose(found.points[0])
    assert isinstance(plain.guarantee.claims[0], NoGuarantee)
    assert CHOSEN_ON_THE_DATA in plain.guarantee.claims[0].assumptions


def test_a_chosen_release_is_a_new_draw() -> None:
    found = drawn(key=None)
    one, two = (found.choose(0).data.to_arrow() for _ in range(2))
    assert not one.equals(two)
    seeded = drawn()
    assert seeded.choose(0).data.to_arrow().equals(seeded.choose(0).data.to_arrow())
    same = sampled(people(), seeded._grid.key_of(0, 0), share=0.1).to_arrow()
    assert not seeded.choose(0).data.to_arrow().equals(same)  # none of the runs that were judged


def test_settings_from_a_stand_in_rest_on_nothing() -> None:
    found = drawn(stand_in="simulated people")
    real = people(300, seed=8)
    chosen = found.choose(2, table=real)
    assert chosen.data.rows() == 300
    assert not any(c.assumptions for c in chosen.guarantee)
    with pytest.raises(ParameterError, match="stand-in"):
        found.choose(2)
    with pytest.raises(ParameterError, match="stand-in"):
        drawn().choose(2, table=real)
    with pytest.raises(ParameterError, match="no point"):
        drawn().choose(17)
