"""An intruder who knows the search, held against all worlds, one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.assessment.attacks import sharp
from sfumato.assessment.attacks.minimality import minimality
from sfumato.assessment.attacks.success import NothingToAttack
from sfumato.assessment.case import Case, case_of
from sfumato.assessment.checks import attacks as checks
from sfumato.assessment.reading.alignment import Pair
from sfumato.assessment.subject import Subject
from sfumato.seeds import Key
from sfumato.table import Table

FINER = {"town": {"*": ["a1", "a2", "b1", "b2"], "A": ["a1", "a2"], "B": ["b1", "b2"]}}
TOWNS = ["a1", "a2", "b1", "b1", "b2"]  # two go to A and three to B, one level finer
ILL = ["flu", "flu", "flu", "hiv", "flu"]
GIVEN = {"k": 2, "l": 2, "finer": FINER, "everywhere": False}


def pair(towns: list[str] = TOWNS, ill: list[str] = ILL) -> Pair:
    original = pa.table({"town": towns, "ill": ill})
    released = pa.table({"town": ["*"] * len(towns), "ill": sorted(ill)})
    return sharp(*(Table.from_arrow(t) for t in (original, released)), hierarchies=FINER)


def beliefs() -> tuple[float, float]:
    """All worlds in which parting the class would have left a part with one value; and all worlds."""
    parts = [[0, 1], [2, 3, 4]]
    worlds = list(itertools.permutations(ILL))
    left = [w for w in worlds if any(len({w[i] for i in part}) < 2 for part in parts)]

    def belief(some: list[tuple[str, ...]]) -> float:
        return float(np.mean([[w[i] == ILL[i] for i in range(5)] for w in some]))

    return belief(left), belief(worlds)


def test_the_belief_is_that_over_all_worlds_the_search_would_have_left_alone() -> None:
    (score,) = minimality(pair(), ["town"], "ill", key=Key.from_seed(0), **GIVEN)
    known, plain = beliefs()
    assert score.baseline == pytest.approx(plain)
    # Every world of one 'hiv' leaves a part without variety: nothing is ruled out, nothing is learnt.
    assert known == pytest.approx(plain) and abs(score.value - known) < 0.05
    assert score.details["ruled_out"] == 0


def test_worlds_in_which_the_class_would_have_been_parted_are_ruled_out() -> None:
    """Two of six are ill: had one been in each part, both parts were varied. So both are in one part."""
    towns, ill = ["a1", "a1", "a2", "b1", "b1", "b2"], ["hiv", "hiv", "flu", "flu", "flu", "flu"]
    (score,) = minimality(pair(towns, ill), ["town"], "ill", key=Key.from_seed(0), **GIVEN)
    worlds = set(itertools.permutations(ill))
    left = [w for w in worlds if len(set(w[:3])) < 2 or len(set(w[3:])) < 2]
    assert score.details["ruled_out"] == pytest.approx(1 - len(left) / len(worlds), abs=0.06)
    exact = float(np.mean([[w[i] == ill[i] for i in range(6)] for w in left]))
    assert score.value == pytest.approx(exact, abs=0.03)


def test_one_level_for_all_is_explained_by_any_class() -> None:
    towns, ill = ["a1", "a1", "a2", "b1", "b1", "b2"], ["hiv", "hiv", "flu", "flu", "flu", "flu"]
    given_ = {**GIVEN, "everywhere": True}
    (score,) = minimality(pair(towns, ill), ["town"], "ill", key=Key.from_seed(0), **given_)
    assert score.details["ruled_out"] > 0.5  # the only class: the same as by class
    with pytest.raises(NothingToAttack, match="says nothing"):
        minimality(pair(["a1", "b1", "b1"], ["x", "y", "y"]), ["town"], "ill", key=Key.from_seed(0), **given_)


def case(released: object, table: Table) -> Case:
    subject = Subject(original=table, released=released, quasi_identifiers=["town"], sensitive=["ill"])
    return case_of(subject)


def test_the_record_says_which_search_it_was_and_a_plain_file_does_not() -> None:
    rng = np.random.default_rng(0)
    towns = rng.choice(["a1", "a2", "b1", "b2"], 80)
    table = Table.from_arrow(pa.table({"town": towns, "ill": rng.choice(["x", "y", "z"], 80)}))
    levels = sf.Hierarchy.of_rows([[t, t[0].upper(), "*"] for t in ("a1", "a2", "b1", "b2")])
    asked = sf.KAnonymity(3) & sf.LDiversity(2, "ill")
    release = sf.anonymize(
        table, asked, method=sf.Mondrian(), hierarchies={"town": levels}, quasi_identifiers=["town"]
    )
    told = case(release, table)
    assert told.method == "Mondrian" and checks.asked_of_classes(release) == (3, 2)
    assert checks._search_known(told) == ""
    assert "no record says" in checks._search_known(case(release.data, table))
    plain = sf.anonymize(
        table,
        sf.KAnonymity(3),
        method=sf.Mondrian(),
        hierarchies={"town": levels},
        quasi_identifiers=["town"],
    )
    assert "no variety" in checks._search_known(case(plain, table))
