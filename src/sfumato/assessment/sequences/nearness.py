"""Whole sequences: is a released person more like somebody in the data than chance explains?

For each person the released one with the largest evidence s(i, r) is sought over all things at once
(`_kernels.nearest`): log(persons / persons who have it) for each thing that both have, less a cost for each
thing that only one has. Originals and controls are scored alike, without looking at who is who; where
nobody's records were released they stand in random order, and the tail test (`copies.tails`) is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.attacks.success import rate
from sfumato.assessment.sequences.linkage import PersonClasses
from sfumato.assessment.sequences.traces import Ints, Things, Trace
from sfumato.score import Score
from sfumato.seeds import Key

if TYPE_CHECKING:
    from sfumato.assessment.copies.tails import Tail

Floats = NDArray[np.float64]
_COST = 1.0
_FEWEST = 3  # things by which somebody could be recognized
_LEAD = 10  # controls whose evidence says how far the highest may lie above the next


@dataclass(frozen=True)
class Recognition:
    """What whole sequences give away. tail: the exact test; None without a control.

    membership: an intruder who says "was in the data" above a threshold that was set on other people.
    people: who is recognized beyond every control, the clearest first.
    """

    tail: Tail | None
    scores: tuple[Score, ...]
    people: tuple[Mapping[str, Any], ...]


def recognized(
    found: Sequence[Trace], known: PersonClasses, persons: int, alpha: float, key: Key
) -> Recognition:
    """Whole sequences of originals and controls against all released persons."""
    from sfumato.assessment.copies.tails import tail

    if not found:
        return Recognition(None, (), ())
    inside = _nearest(found, known, True, persons, key.derive("in"))
    outside = _nearest(found, known, False, persons, key.derive("out")) if known.control is not None else None
    if outside is None or min(len(inside.best), len(outside.best)) < 4:
        return Recognition(None, (), ())
    seen = tail(inside.best, outside.best)
    low, high = seen.interval(alpha)
    share = Score(
        "people nearly copied", "risk", seen.excess, (0, 1), "lower",
        "The share of people whom a released person is more like, over all records, than chance explains: "
        "beyond the same share of people who are not in the data.",
        min(low, seen.excess), max(high, seen.excess), 1 - 2 * alpha,
        details={"chance of as much": seen.p, "people": len(inside.best), "controls": len(outside.best)},
    )  # fmt: skip
    scores = (share, _membership(inside.best, outside.best))
    return Recognition(seen, scores, _named(inside, outside))


@dataclass(frozen=True)
class _Nearest:
    person: Ints
    best: Floats
    shared: Ints
    things: Ints


def _nearest(found: Sequence[Trace], known: PersonClasses, inside: bool, persons: int, key: Key) -> _Nearest:
    from sfumato.assessment.sequences._kernels import nearest

    group = known.original if inside else known.control
    assert group is not None
    sides = [(t.original if inside else t.control) for t in found]
    many = len(known.released)
    things, nodes, starts, released = [], [], [np.zeros(1, np.int64)], []
    leaf_first = node_first = edge_first = 0
    for trace, side in zip(found, sides, strict=True):
        assert side is not None
        once, after = side.once, trace.released.once
        things.append(Things(once.person, once.item + leaf_first, once.record))
        released.append(Things(after.person, after.item + node_first, after.record))
        nodes.append(trace.nodes + node_first)
        starts.append(trace.start[1:] + edge_first)
        edge_first += len(trace.nodes)
        leaf_first += len(trace.start) - 1
        top = [trace.nodes.max(initial=-1), after.item.max(initial=-1)]
        node_first += int(max(top)) + 1
    own, theirs = _merged(things), _merged(released)
    start = np.append(np.flatnonzero(np.diff(own.person, prepend=-1)), len(own.person))
    able = np.flatnonzero(np.diff(start) >= _FEWEST)
    able = key.generator("draw").permutation(able)[:persons]
    pieces = [own.item[start[u] : start[u + 1]] for u in able]
    ends = np.append(0, np.cumsum([len(p) for p in pieces])).astype(np.int64)
    order = np.lexsort((theirs.person, theirs.item))
    post_start = np.searchsorted(theirs.item[order], np.arange(node_first + 1))
    sizes = np.bincount(theirs.person, minlength=many).astype(np.int64)
    weight = np.log(many / np.maximum(1, np.diff(post_start)))
    person = own.person[start[able]] if len(able) else np.empty(0, np.int64)
    best, shared = np.full(len(able), -np.inf), np.zeros(len(able), np.int64)
    if len(able):
        nearest(
            ends, np.concatenate(pieces), np.concatenate(starts), np.concatenate(nodes),
            post_start.astype(np.int64), theirs.person[order], weight, sizes, group[person], known.released,
            known.fits, _COST, best, shared,
        )  # fmt: skip
    return _Nearest(person, best, shared, np.diff(ends))


def _merged(parts: Sequence[Things]) -> Things:
    return Things.of(np.concatenate([p.person for p in parts]), np.concatenate([p.item for p in parts]))


def _membership(inside: Floats, outside: Floats) -> Score:
    """The threshold with the largest difference on one half of the people, tried on the other."""
    first, second = len(inside) // 2, len(outside) // 2
    cuts = np.unique(np.concatenate([inside[:first], outside[:second]]))
    above = [1 - np.searchsorted(np.sort(s), cuts) / len(s) for s in (inside[:first], outside[:second])]
    cut = cuts[int(np.argmax(above[0] - above[1]))]
    return rate(
        "membership by whole sequences",
        inside[first:] >= cut,
        control=outside[second:] >= cut,
        meaning="The share of people in the data of whom the intruder says so, by how like the most similar "
        "released person is; beside it, the share of people who are not in the data.",
        knowledge="all records of a person, in all tables; the threshold was set on other people",
    )


def _named(inside: _Nearest, outside: _Nearest) -> tuple[Mapping[str, Any], ...]:
    """Who has more evidence than every control, and a lead; at most n / (c + 1) on average by chance."""
    finite = np.sort(outside.best[np.isfinite(outside.best)])[::-1]
    if not len(finite):
        return ()
    lead = float((finite[: _LEAD - 1] - finite[_LEAD - 1]).mean()) if len(finite) >= _LEAD else 0.0
    clear = np.flatnonzero(inside.best > finite[0] + lead)
    order = clear[np.argsort(-inside.best[clear], kind="stable")]
    return tuple(
        {
            "person, by its row among the persons": int(inside.person[i]) + 1,
            "agrees in": f"{int(inside.shared[i])} of {int(inside.things[i])} things",
            "how telling (bits)": round(float(inside.best[i]) / np.log(2), 1),
        }
        for i in order
    )
