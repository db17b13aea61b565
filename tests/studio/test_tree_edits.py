"""A tree taken apart and put together by hand is always a hierarchy over the same values, or refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy import Hierarchy, parse_levels, write_levels
from sfumato.studio import tree_edits as edits

CODES = Hierarchy.of_rows(
    [("a", "A", "AB", "*"), ("b", "A", "AB", "*"), ("c", "B", "AB", "*"), ("d", "d", "d", "*")]
)
FLAT = Hierarchy.of_rows([(value, "*") for value in "abcd"])


def node(found: Hierarchy, label: str, level: int = -1) -> int:
    """The highest node of a name, as the page shows it; or that of a level."""
    places = [at for at in range(found.height + 1) if label in found.labels[at]]
    at = places[level] if level < 0 else level
    return int(found.offsets[at]) + found.labels[at].index(label)


def written(found: Hierarchy) -> list[str]:
    return [" ".join(row) for row in found.rows()]


def test_moving_takes_the_place_and_what_is_left_empty_goes() -> None:
    after = edits.moved(CODES, [node(CODES, "c")], node(CODES, "A"))
    assert written(after) == ["a A AB *", "b A AB *", "c A AB *", "d d d *"]
    after = edits.moved(CODES, [node(CODES, "d"), node(CODES, "a")], node(CODES, "B"))
    assert written(after) == ["a B AB *", "b A AB *", "c B AB *", "d B AB *"]
    after = edits.moved(CODES, [node(CODES, "B")], CODES.root)
    assert written(after) == ["a A AB *", "b A AB *", "c B B *", "d d d *"]


def test_grouping_merging_splitting_renaming() -> None:
    first = edits.grouped(FLAT, [node(FLAT, "a"), node(FLAT, "b")], "AB")
    assert written(first) == ["a AB *", "b AB *", "c c *", "d d *"]  # a level was put in
    both = edits.grouped(first, [node(first, "c"), node(first, "d")], "CD")
    assert written(both) == ["a AB *", "b AB *", "c CD *", "d CD *"]
    assert written(edits.merged(both, [node(both, "AB"), node(both, "CD")], "all")) == [
        f"{v} all *" for v in "abcd"
    ]
    higher = edits.grouped(both, [node(both, "AB"), node(both, "CD")], "all")
    assert written(higher) == ["a AB all *", "b AB all *", "c CD all *", "d CD all *"]
    assert written(edits.split(higher, node(higher, "all"))) == [
        "a AB AB *",
        "b AB AB *",
        "c CD CD *",
        "d CD CD *",
    ]
    assert written(edits.split(both, node(both, "AB"))) == ["a a *", "b b *", "c CD *", "d CD *"]
    assert written(edits.renamed(CODES, node(CODES, "d"), "other")) == [
        "a A AB *", "b A AB *", "c B AB *", "d other other *",
    ]  # fmt: skip
    assert written(edits.without_level(CODES, 1)) == ["a AB *", "b AB *", "c AB *", "d d *"]
    mixed = edits.grouped(CODES, [node(CODES, "d"), node(CODES, "c")], "CD")
    assert written(mixed) == ["a A AB *", "b A AB *", "c CD AB *", "d CD AB *"]


@pytest.mark.parametrize(
    ("edit", "about"),
    [
        (lambda: edits.renamed(CODES, node(CODES, "A"), "  "), "needs a name"),
        (lambda: edits.renamed(CODES, node(CODES, "A"), "B"), "another node's"),
        (lambda: edits.renamed(CODES, node(CODES, "A"), "d"), "another node's"),
        (lambda: edits.renamed(CODES, node(CODES, "A"), "c"), "a value of the column"),
        (lambda: edits.renamed(CODES, node(CODES, "A"), "*"), "a meaning already"),
        (lambda: edits.renamed(CODES, node(CODES, "A"), "x\u202ey"), "cannot be seen"),
        (lambda: edits.renamed(CODES, node(CODES, "a"), "x"), "keeps its name"),
        (lambda: edits.renamed(CODES, CODES.root, "x"), "stays as it is"),
        (lambda: edits.moved(CODES, [node(CODES, "AB")], node(CODES, "A")), "a cycle"),
        (lambda: edits.moved(CODES, [node(CODES, "A")], node(CODES, "A")), "a cycle"),
        (lambda: edits.moved(CODES, [node(CODES, "A")], node(CODES, "d")), "holds no others"),
        (lambda: edits.moved(CODES, [node(CODES, "AB")], node(CODES, "B", 1)), "a cycle"),
        (lambda: edits.moved(CODES, [node(CODES, "a")], node(CODES, "A")), "there already"),
        (lambda: edits.moved(CODES, [999], CODES.root), "no such node"),
        (lambda: edits.moved(CODES, [node(CODES, "a")], 999), "no such node"),
        (lambda: edits.merged(CODES, [node(CODES, "A")], "x"), "two nodes"),
        (lambda: edits.merged(FLAT, [0, 1], "x"), "are grouped"),
        (lambda: edits.merged(CODES, [node(CODES, "A"), node(CODES, "AB")], "x"), "one level"),
        (lambda: edits.grouped(CODES, [node(CODES, "a"), node(CODES, "AB")], "x"), "one level"),
        (lambda: edits.grouped(FLAT, [0, 1], "c"), "another node's"),
        (lambda: edits.split(CODES, node(CODES, "d")), "cannot be split"),
        (lambda: edits.without_level(CODES, 3), "stay"),
    ],
)  # fmt: skip
def test_what_makes_no_tree_is_refused(edit: Callable[[], Hierarchy], about: str) -> None:
    with pytest.raises(ParameterError, match=about):
        edit()


@given(st.data())
def test_any_edits_in_any_order_leave_a_tree_over_the_same_values(data: st.DataObject) -> None:
    found = data.draw(st.sampled_from([CODES, FLAT]))
    values = sorted(found.leaves)
    for number in range(data.draw(st.integers(1, 6))):
        nodes = data.draw(st.lists(st.integers(0, found.size - 1), min_size=1, max_size=3, unique=True))
        target = data.draw(st.integers(0, found.size - 1))
        name = data.draw(st.sampled_from(["a", "A", f"new {number}"]))
        edit = data.draw(st.integers(0, 4))
        try:
            match edit:
                case 0:
                    found = edits.moved(found, nodes, target)
                case 1:
                    found = edits.grouped(found, nodes, name)
                case 2:
                    found = edits.merged(found, nodes, name)
                case 3:
                    found = edits.renamed(found, nodes[0], name)
                case _:
                    found = edits.split(found, nodes[0])
        except ParameterError:
            continue
        assert sorted(found.leaves) == values and found.labels[-1] == ("*",)
        assert parse_levels(write_levels(found), separator=";") == found
        for n in range(found.size):  # what the page shows: every value once, below its node
            below = edits.children(found, n)
            under = [leaf for child in below for leaf in edits.leaves(found, child)]
            assert not below or sorted(under) == sorted(edits.leaves(found, n))


def test_values_that_a_table_lacks_are_put_below_the_root() -> None:
    assert written(edits.with_values(FLAT, ["e"]))[-1] == "e *"
    with pytest.raises(DataError):
        edits.with_values(CODES, ["A"])  # the name of a group
