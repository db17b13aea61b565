"""Cells made finer again by one who knows the search, held against all ways to deal finer values out."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.assessment.attacks import sharp
from sfumato.assessment.attacks.downcoding import _known_search, _not_all_one, downcoding
from sfumato.assessment.attacks.success import NothingToAttack
from sfumato.assessment.case import case_of
from sfumato.assessment.checks import attacks as checks
from sfumato.assessment.subject import Subject
from sfumato.seeds import Key
from sfumato.table import Table

FINER = {"town": {"*": ["a1", "b1"]}}


def worlds(chances: np.ndarray, k: int) -> np.ndarray:
    """The belief about each row, over all deals that the search would have left as they are."""
    rows, values = chances.shape
    belief, total = np.zeros_like(chances), 0.0
    for deal in itertools.product(range(values), repeat=rows):
        counts = np.bincount(deal, minlength=values)
        if (counts > 0).sum() < 2 or (k and not ((counts > 0) & (counts < k)).any()):
            continue
        weight = float(np.prod([chances[r, j] for r, j in enumerate(deal)]))
        total += weight
        belief[np.arange(rows), list(deal)] += weight
    return belief / total


@pytest.mark.parametrize("k", [0, 2])
def test_the_belief_is_that_over_all_deals_the_search_would_have_left_alone(k: int) -> None:
    rng = np.random.default_rng(1)
    chances = rng.dirichlet([1.0, 1.0, 1.0], size=4)
    found, ruled_out = _known_search(chances, k, np.random.default_rng(2))
    # 500 deals: an error of five standard errors, one in a million.
    assert np.abs(found - worlds(chances, k)).max() < 5 * 0.5 / np.sqrt(500 * (1 - ruled_out))


def test_few_deals_left_are_computed_instead() -> None:
    chances = np.array([[0.999, 0.001], [0.998, 0.002], [0.999, 0.001]])
    assert _not_all_one(chances) == pytest.approx(worlds(chances, 0), abs=1e-9)
    found, _ = _known_search(chances, 0, np.random.default_rng(0))
    assert found == pytest.approx(worlds(chances, 0), abs=1e-9)


def test_a_row_that_shows_its_town_gives_its_companion_away() -> None:
    """Pairs of two towns: where the kept column tells one of them, the other must be the other one's."""
    people, released = [], []
    for i in range(60):  # what the towns look like, where they are written
        people += [("a1", 0, "x"), ("b1", 0, "y"), ("a1", 0, "z"), ("b1", 0, "z")]
        released += people[-4:]
        people += (
            [("a1", i + 1, "x"), ("b1", i + 1, "z")] if i % 2 else [("b1", i + 1, "y"), ("a1", i + 1, "z")]
        )
        released += [("*", street, mark) for _, street, mark in people[-2:]]
    names = ("town", "street", "mark")
    tables = [
        Table.from_arrow(pa.table({n: [str(r[i]) for r in rows] for i, n in enumerate(names)}))
        for rows in (people, released)
    ]
    pair = sharp(*tables, hierarchies=FINER)
    (score,) = downcoding(
        pair, ["town", "street"], k=2, finer=FINER, parts=False, key=Key.from_seed(0), truth="rows"
    )
    assert score.baseline is not None and score.baseline < 0.85
    assert score.value > score.baseline + 0.1
    assert 0.2 < score.details["ruled_out"] < 0.8


def test_the_record_says_that_classes_got_the_least_general_values() -> None:
    rng = np.random.default_rng(0)
    table = Table.from_arrow(
        pa.table({"town": rng.choice(["a1", "b1"], 80), "ill": rng.choice(["x", "y", "z"], 80)})
    )
    levels = sf.Hierarchy.of_rows([["a1", "*"], ["b1", "*"]])
    release = sf.anonymize(
        table,
        sf.KAnonymity(3),
        method=sf.Mondrian(),
        hierarchies={"town": levels},
        quasi_identifiers=["town"],
    )
    subject = {
        "original": table,
        "quasi_identifiers": ["town"],
        "sensitive": ["ill"],
        "key": Key.from_seed(0),
    }
    told = case_of(Subject(released=release, **subject))  # type: ignore[arg-type]
    assert checks._classes_known(told) == ""
    with pytest.raises(
        NothingToAttack, match="could be finer"
    ):  # both towns have enough rows: none is general
        checks._downcoding(told)
    plain = case_of(Subject(released=release.data, **subject))  # type: ignore[arg-type]
    assert "no record says" in checks._classes_known(plain)
