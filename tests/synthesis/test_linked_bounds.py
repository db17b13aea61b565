"""What one person changes, by counting everything with and without them: all lives of a small world."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from lives import BOUNDS, lives, private, public

from sfumato.privacy import Unit
from sfumato.synthesis.people.bounds import PersonBounds, Sensitivity, SetBounds
from sfumato.synthesis.people.noisy_sets import tree_classes
from sfumato.synthesis.people.sets import CodeSets
from sfumato.synthesis.people.structure import TableTree

S, D, CODES = 3, 2, 4
CLASSES = np.array([0, 1, 1, 1])
OTHERS = [((0, 1), (1,)), ((2, 3),), ((0, 2), (0, 2), (1, 3))]  # three persons who are always there
Life = tuple[tuple[int, ...], ...]


def all_lives() -> Iterator[Life]:
    """Every person of at most S sets of at most D codes."""
    sets = [c for n in range(D + 1) for c in itertools.combinations(range(CODES), n)]
    for n in range(S + 1):
        yield from itertools.product(sets, repeat=n)


def counted(persons: list[Life], levels: bool) -> dict[str, np.ndarray]:
    """All that is counted of sets. levels: a variable above that every other set has another level of."""
    rows = [(p, r, codes) for p, life in enumerate(persons) for r, codes in enumerate(life)]
    parent = np.repeat(np.arange(len(rows)), [len(c) for *_, c in rows]).astype(np.int64)
    codes = np.array([c for *_, held in rows for c in held], np.int64)
    sets = CodeSets.of(parent, codes, len(rows), np.array([p for p, *_ in rows], np.int64), D)
    above = np.array([[r % 2 if levels else 0 for _, r, _ in rows]], np.uint16).reshape(1, len(rows))
    tables = sets.classed(CLASSES).tables(2, above, (2,))
    held = np.zeros(2)
    for *_, own in rows:
        np.add.at(held, np.unique(CLASSES[list(own)]), 1)
    return {
        "codes": np.bincount(codes, minlength=CODES), "groups": np.bincount(CLASSES[codes], minlength=2),
        "held": held, "above": tables.above, "both": tables.both, "again": tables.again[:2],
        "again_in_all": tables.again[2:], "repeated": sets.repeated(CLASSES, 2)[1].sum(keepdims=True),
        "twice": tables.twice[:2], "twice_in_all": tables.twice[2:],
        "codes twice": sets.tables(CODES, above, (2,)).twice[:CODES],
    }  # fmt: skip


def test_no_life_changes_more_than_is_said_and_some_as_much() -> None:
    bounds = SetBounds(S, D)
    said: dict[str, Sensitivity] = {
        "codes": bounds.held(CODES), "groups": bounds.groups, "held": bounds.held(2),
        "above": bounds.held(2), "both": bounds.both(2), "again": bounds.again(2),
        "again_in_all": bounds.again_in_all(2), "repeated": bounds.again_in_all(2),
        "twice": bounds.twice(2), "twice_in_all": bounds.twice_in_all(2), "codes twice": bounds.twice(CODES),
    }  # fmt: skip
    reached = dict.fromkeys(said, 0.0)
    without = {levels: counted(OTHERS, levels) for levels in (True, False)}
    for number, life in enumerate(all_lives()):
        levels = bool(number % 2)
        more = counted([*OTHERS, life], levels)
        for name, most in said.items():
            change = more[name] - without[levels][name]
            assert np.abs(change).sum() <= most.taxi and (change**2).sum() <= most.squared, (name, life)
            reached[name] = max(reached[name], float((change**2).sum() / most.squared))
    assert all(share == 1.0 for share in reached.values()), reached


def test_the_rows_of_a_person_are_the_product_of_the_bounds_on_the_way() -> None:
    tree = TableTree.of(lives(40))
    bounds = PersonBounds(tree, BOUNDS)
    assert [bounds.rows(n) for n in ("people", "visits", "tests")] == [1, 3, 6]
    assert bounds.later_rows("visits") == 2 and bounds.first_rows("tests") == 3
    assert bounds.all_rows == 10 and bounds.sets("tests") == SetBounds(3, 2)
    assert private().budget(public(lives(40))).unit == Unit.person(10)


@pytest.mark.parametrize("fewest", [0.0, 5.0, 40.0, 1e9])
def test_classes_follow_the_tree_and_are_large_enough(fewest: float) -> None:
    rng = np.random.default_rng(0)
    counts = np.floor(rng.pareto(0.7, 400))
    tree = (np.arange(400) // 100, np.arange(400) // 10)
    found = tree_classes(tree, counts, fewest)
    assert found.min() == 0 and found.max() < 128 and len(np.unique(found)) == found.max() + 1
    for g in range(found.max()):  # the last one is the rest
        inside = found == g
        assert counts[inside].sum() >= fewest
        assert inside.sum() == 1 or any(len(np.unique(level[inside])) == 1 for level in tree)
