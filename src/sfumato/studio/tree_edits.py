"""What a person does to a tree of values: nodes moved, put together, split, named. One tree becomes another.

A node that stands above one other alone and is written the same is one thing on the page: a chain. Whatever
is done to it is done on the level of the chain that fits.

Guarantee: what comes out is a hierarchy over the same values, each under one root, no name on a level twice,
           no value written as a node over others; anything else is refused, with nothing changed.
Because:   every edit ends in `Hierarchy.of_rows`, which checks this, after the faults that have words of
           their own here.
Tested by: tests/studio/test_tree_edits.py
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy import Hierarchy

MISSING = "(missing)"
_TAKEN = ("*", MISSING)
_LONGEST = 200
_Rows = list[list[str]]


def chain(found: Hierarchy, node: int) -> range:
    """The levels on which a node stands alone and is written the same, its own among them."""
    level, label = int(found.level_of[node]), found.label(node)
    leaf, size = int(found.first_leaf[node]), int(found.leaf_counts[node])

    def same(at: int) -> bool:
        other = int(found.nodes[at, leaf])
        return int(found.leaf_counts[other]) == size and found.label(other) == label

    low, high = level, level
    while low > 0 and same(low - 1):
        low -= 1
    while high < found.height - 1 and same(high + 1):
        high += 1
    return range(low, high + 1)


def children(found: Hierarchy, node: int) -> list[int]:
    """The nodes one step below, each shown by the highest of its chain."""
    low = chain(found, node).start if node != found.root else found.height
    if low == 0:
        return []
    return [int(n) for n in np.unique(found.nodes[low - 1][leaves(found, node)])]


def leaves(found: Hierarchy, node: int) -> NDArray[np.intp]:
    """The values under a node."""
    return np.flatnonzero(found.nodes[int(found.level_of[node])] == node)


# -- edits ---------------------------------------------------------------------------------------------


def renamed(found: Hierarchy, node: int, name: str) -> Hierarchy:
    """A node under another name. Values keep theirs: the data has it."""
    _require(found, [node])
    levels = [level for level in chain(found, node) if level > 0]
    if not levels:
        raise ParameterError("a value keeps its name: it is the data's.", hint="group it, and name the group")
    label, rows = _named(name), _rows(found)
    for leaf in leaves(found, node):
        for level in levels:
            rows[leaf][level] = label
    return _checked(found, rows, leaves(found, node), dict.fromkeys(levels, label))


def moved(found: Hierarchy, nodes: Sequence[int], target: int) -> Hierarchy:
    """Nodes put under another one; what they leave behind empty is gone."""
    _require(found, nodes)
    if not 0 <= target < found.size:
        raise ParameterError("there is no such node.", hint="load the page again")
    above, rows = int(found.level_of[target]), _rows(found)
    pattern = rows[int(found.first_leaf[target])]
    lowest = chain(found, target).start if target != found.root else above
    for node in nodes:
        if node == target or found.leq(target, node):
            raise ParameterError(
                "a node cannot be moved below itself: that would be a cycle.", hint="choose another place"
            )
        levels = [level for level in chain(found, node) if level < above]
        if lowest == 0:
            raise ParameterError("a value holds no others.", hint="group the two under a new name")
        if not levels:
            raise ParameterError(
                "a node can be moved under one that is more general only.", hint="or merge the two"
            )
        start = levels[-1]
        fitting = max(start + 1, lowest)
        for leaf in leaves(found, node):
            for level in range(start + 1, found.height):
                rows[leaf][level] = pattern[level] if level >= fitting else rows[leaf][start]
    if rows == _rows(found):
        raise ParameterError("it is there already.", hint="choose another place")
    return _checked(found, rows, _under(found, nodes), {})


def merged(found: Hierarchy, nodes: Sequence[int], name: str) -> Hierarchy:
    """Nodes of one level as one, under what the first of them lies under."""
    _require(found, nodes, least=2)
    levels = [level for level in _common(found, nodes) if level > 0]
    if not levels:
        raise ParameterError(
            "only groups of one level are merged; values are grouped.", hint="tick groups side by side"
        )
    return _gathered(found, nodes, levels[-1], _named(name))


def grouped(found: Hierarchy, nodes: Sequence[int], name: str) -> Hierarchy:
    """Nodes of one level under a new one; where there is no level between them and *, one is put in."""
    _require(found, nodes)
    label, levels = _named(name), _common(found, nodes)
    if not levels:
        raise ParameterError("only nodes of one level are grouped.", hint="tick nodes side by side")
    level = levels[0] + 1
    if level == found.height:
        rows = [(*row[:level], row[level - 1], *row[level:]) for row in found.rows()]
        found, before = Hierarchy.of_rows(rows), found
        nodes = [int(found.nodes[level - 1, before.first_leaf[n]]) for n in nodes]
    return _gathered(found, nodes, level, label)


def split(found: Hierarchy, node: int) -> Hierarchy:
    """What is one step below a node in its place, each by itself."""
    _require(found, [node])
    levels = chain(found, node)
    if levels.start == 0:
        raise ParameterError("a value cannot be split.", hint="split the group it is in")
    rows = _rows(found)
    for leaf in leaves(found, node):
        for level in levels:
            rows[leaf][level] = rows[leaf][levels.start - 1]
    return _checked(found, rows, leaves(found, node), {})


def without_level(found: Hierarchy, level: int) -> Hierarchy:
    """The hierarchy without one of the levels between the values and *."""
    if not 0 < level < found.height:
        raise ParameterError("values and * stay.", hint="leave out a level between them")
    return Hierarchy.of_rows([(*row[:level], *row[level + 1 :]) for row in found.rows()])


def with_values(found: Hierarchy, values: Sequence[str]) -> Hierarchy:
    """The hierarchy with further values, each by itself below *."""
    new = [(*[value] * found.height, found.labels[-1][0]) for value in values]
    return Hierarchy.of_rows([*found.rows(), *new])


# -- parts ---------------------------------------------------------------------------------------------


def _gathered(found: Hierarchy, nodes: Sequence[int], level: int, label: str) -> Hierarchy:
    """All values under some nodes under one of a level, and what is above the first that has something."""
    inside = _under(found, nodes)
    rows = _rows(found)
    held = set(inside.tolist())

    def above(leaf: int) -> int:
        """The first level on which a node holds more than what is gathered."""
        return next(
            (
                at
                for at in range(level + 1, found.height)
                if not held.issuperset(
                    np.flatnonzero(found.ancestors[at] == found.ancestors[at, leaf]).tolist()
                )
            ),
            found.height,
        )

    firsts = [int(found.first_leaf[n]) for n in nodes]
    guide = min(firsts, key=above)
    start = above(guide)
    pattern = list(rows[guide])
    for leaf in inside:
        for at in range(level, found.height):
            rows[leaf][at] = pattern[at] if at >= start else label
    return _checked(found, rows, inside, dict.fromkeys(range(level, start), label))


def _rows(found: Hierarchy) -> _Rows:
    return [list(row) for row in found.rows()]


def _under(found: Hierarchy, nodes: Sequence[int]) -> NDArray[np.intp]:
    return np.unique(np.concatenate([leaves(found, n) for n in nodes]))


def _common(found: Hierarchy, nodes: Sequence[int]) -> list[int]:
    """The levels that all nodes, or their chains, stand on."""
    shared = set(range(found.height))
    for node in nodes:
        shared &= set(chain(found, node))
    return sorted(shared)


def _require(found: Hierarchy, nodes: Sequence[int], least: int = 1) -> None:
    if len(set(nodes)) < least:
        raise ParameterError(f"tick {'a node' if least == 1 else 'two nodes'} first.", hint="in the tree")
    if any(not 0 <= n < found.size for n in nodes):
        raise ParameterError("there is no such node.", hint="load the page again")
    if found.root in nodes:
        raise ParameterError("* stays as it is: it is every value.", hint="choose nodes below it")


def _named(name: str) -> str:
    """A name as it will be written in released cells."""
    label = name.strip()
    if not label:
        raise ParameterError("a group needs a name: it is written in released cells.", hint="type one")
    if len(label) > _LONGEST or not label.isprintable():
        raise ParameterError(
            f"a name has at most {_LONGEST} signs, and none that cannot be seen.", hint="choose another"
        )
    if label in _TAKEN:
        raise ParameterError("this name has a meaning already.", hint="choose another")
    return label


def _checked(found: Hierarchy, rows: _Rows, inside: NDArray[np.intp], named: dict[int, str]) -> Hierarchy:
    """The rows as a hierarchy. named: the name that is new on each level, for the values `inside`."""
    own = set(inside.tolist())
    for level, label in named.items():
        if any(row[level] == label for leaf, row in enumerate(rows) if leaf not in own):
            raise ParameterError(
                "this name is another node's of the same level.", hint="choose another, or merge the two"
            )
    label = next(iter(named.values()), "")
    if label in found.places and own != {found.places[label]}:
        raise ParameterError(
            "this name is a value of the column: a released cell could mean either.", hint="choose another"
        )
    try:
        return Hierarchy.of_rows(rows, name="the tree")
    except DataError as error:
        raise ParameterError(
            f"that would be no hierarchy any more: {error.message.partition(': ')[2] or error.message}",
            hint="rename a node first",
        ) from None
