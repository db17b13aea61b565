"""An intruder who knows the search: it generalizes no more than it must (Wong et al. 2007).

Whoever knows everybody's quasi-identifiers sees how a class would fall apart one level finer. Where every
part would still have k rows, and the class was not parted, there can be one reason only: some part would have
had fewer than l different sensitive values. So worlds in which all parts are varied are ruled out, and in
those that are left the sensitive values are no longer dealt out evenly.

The intruder deals the values of a class out to its people at random, keeps the deals that the search would
not have parted, and believes in each value as often as it is dealt to a person in these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.attacks.beliefs import check_secret, released_nodes, secrets
from sfumato.assessment.attacks.intruder import Ints, View, knows, look
from sfumato.assessment.attacks.success import NothingToAttack
from sfumato.assessment.reading.alignment import Pair
from sfumato.schema import Value
from sfumato.score import Score
from sfumato.seeds import Key

_DEALS = 1_000  # of the values of each class
_CLASSES = 400  # that are looked at, drawn by the key
_LARGEST = 400  # people of a class: in larger ones no part lacks variety

Finer = Mapping[str, Mapping[str, Sequence[Value]]]


@dataclass(frozen=True, eq=False)
class _Class:
    """people: who is in it; values: what the release says they have; parts: per column, who goes where."""

    people: Ints
    values: Ints
    parts: tuple[Ints, ...]


def minimality(
    pair: Pair,
    known: Sequence[str],
    sensitive: str,
    *,
    k: int,
    l: int,  # noqa: E741  (the letter is the name of the criterion)
    finer: Finer,
    everywhere: bool,
    key: Key,
) -> list[Score]:
    """How strongly an intruder believes in people's true values who knows that the search does what it must.

    k, l: what was asked: k rows, and l different values. finer: the hierarchies, value -> its leaves.
    everywhere: whether all rows share one level of each column, so that a single part anywhere that lacks
        variety is reason enough; else each class is parted for itself.
    Only classes whose people are known for sure are looked at: exactly they fit it, and no other one.
    """
    check_secret(known, sensitive)
    view = look(pair, known)
    nodes = released_nodes(pair, sensitive)
    found = _classes(pair, view, pair.spread[sensitive].argmax(axis=1)[nodes], finer, k, everywhere)
    if not found or (everywhere and len(found) > _CLASSES):
        raise NothingToAttack(
            "no class could have been parted one level finer, or any of very many could be the reason why "
            "none was: knowing the search says nothing.",
            hint="see minimality",
        )
    if len(found) > _CLASSES:
        chosen = np.sort(key.generator("classes").choice(len(found), _CLASSES, replace=False))
        found = [found[i] for i in chosen]
    truth = secrets(pair, sensitive)
    random = key.generator("deals")
    dealt = [random.permuted(np.tile(c.values, (_DEALS, 1)), axis=1) for c in found]
    kept = _possible(found, dealt, l, everywhere)
    belief, plain = [], []
    for one, deals, possible in zip(found, dealt, kept, strict=True):
        true = truth[one.people]
        even = (one.values[None, :] == true[:, None]).mean(axis=1)
        some = deals[possible]
        # What nobody could have dealt is not what happened: the search was not as thought, nothing is learnt.
        belief.append((some == true[None, :]).mean(axis=0) if len(some) else even)
        plain.append(even)
    outcomes, even_share = np.concatenate(belief), float(np.concatenate(plain).mean())
    return [
        Score(
            name=f"minimality, {sensitive}",
            section="attack",
            value=float(outcomes.mean()),
            range=(0.0, 1.0),
            better="lower",
            meaning="How strongly, on average, an intruder who knows the search believes in the true "
            f"{sensitive} of people in classes that could have been finer. The baseline is the belief of one "
            "who does not know the search: the share of the value in the class. No interval: the beliefs are "
            "those about this file, and nobody was drawn.",
            knowledge=knows(known, ", and how it was made, and everybody else's true values of these", pair),
            columns=(*known, sensitive),
            baseline=even_share,
            details={
                "people": len(outcomes),
                "classes": len(found),
                "ruled_out": float(1 - np.mean([p.mean() for p in kept])),
                "surer": float((outcomes > np.concatenate(plain) + 0.05).mean()),
            },
        )
    ]


def _possible(
    found: list[_Class],
    dealt: list[Ints],
    l: int,  # noqa: E741
    everywhere: bool,
) -> list[NDArray[np.bool_]]:
    """Per class, which deals the search would have left as it is: no way to part the class would do."""
    if not everywhere:
        out = []
        for one, deals in zip(found, dealt, strict=True):
            possible = np.ones(len(deals), bool)
            for part in (p for p in one.parts if p[0] >= 0):
                possible &= _lacks(deals, part, l)
            out.append(possible)
        return out
    possible = np.ones(_DEALS, bool)
    for c in range(len(found[0].parts)):
        reasons = [
            _lacks(deals, one.parts[c], l)
            for one, deals in zip(found, dealt, strict=True)
            if one.parts[c][0] >= 0
        ]
        if reasons:
            possible &= np.logical_or.reduce(reasons)
    return [possible] * len(found)


def _lacks(deals: Ints, part: Ints, l: int) -> NDArray[np.bool_]:  # noqa: E741
    """Whether some part has fewer than l different values, per deal.  deals: (deals, people)."""
    lacks = np.zeros(len(deals), bool)
    for group in range(int(part.max()) + 1):
        ordered = np.sort(deals[:, part == group], axis=1)
        lacks |= (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1) + 1 < l
    return lacks


def _classes(pair: Pair, view: View, values: Ints, finer: Finer, k: int, everywhere: bool) -> list[_Class]:
    """The classes whose people are known, and that fall into parts of k rows in some column."""
    sure = settled(view, _LARGEST)
    children = [finer_values(pair, name, finer.get(name, {})) for name in view.columns]
    out, refused = [], np.zeros(len(children), bool)
    for number, people, rows in sure:
        parts = []
        for c, table in enumerate(children):
            below = table[view.classes.rows[number, c], view.people[people, c]]
            part = np.unique(below, return_inverse=True)[1]
            sizes = np.bincount(part)
            refused[c] = refused[c] or sizes.min() < k
            fine = len(sizes) > 1 and int(sizes.min()) >= k
            parts.append(part if fine else np.full(len(people), -1))
        if any(p[0] >= 0 for p in parts):
            out.append(_Class(people, values[rows], tuple(parts)))
    if not everywhere:
        return out
    if len(sure) < len(view.classes.rows):  # a class nobody can look into may be why a level is as it is
        return []
    for one in out:  # one class with too few rows is reason enough
        for c in np.flatnonzero(refused).tolist():
            one.parts[c][:] = -1
    return [one for one in out if any(p[0] >= 0 for p in one.parts)]


def settled(view: View, largest: int) -> list[tuple[int, Ints, Ints]]:
    """Classes whose people are known for sure, of at most so many: number, people, and released rows.

    Exactly they fit it, and no other class.
    """
    fits = np.zeros(len(view.classes.rows), np.int64)  # people who fit each class
    home = np.full(len(view.persons.rows), -1, np.int64)
    for rows, matrix in view.compatible():
        fits += np.rint(matrix.T @ view.persons.sizes[rows].astype(np.float64)).astype(np.int64)
        alone = np.diff(matrix.indptr) == 1
        home[np.arange(rows.start, rows.stop)[alone]] = matrix.indices[matrix.indptr[:-1][alone]]
    of = home[view.persons.of]
    at_home = np.bincount(of[of >= 0], minlength=len(fits))
    sure = (fits == view.classes.sizes) & (at_home == view.classes.sizes) & (view.classes.sizes <= largest)
    order, released = np.argsort(of, kind="stable"), np.argsort(view.classes.of, kind="stable")
    ends = np.searchsorted(of[order], np.arange(len(fits) + 1))
    marks = np.searchsorted(view.classes.of[released], np.arange(len(fits) + 1))
    return [
        (int(n), order[ends[n] : ends[n + 1]], released[marks[n] : marks[n + 1]])
        for n in np.flatnonzero(sure)
    ]


def finer_values(pair: Pair, name: str, finer: Mapping[str, Sequence[Value]]) -> Ints:
    """(nodes, leaves + 1): for a leaf under a node, the value one level below the node that it goes to."""
    book = pair.leaves[name]
    leaves = {str(v): i for i, v in enumerate(book.levels.to_pylist())}
    sets = [frozenset(leaves[str(v)] for v in below if str(v) in leaves) for below in finer.values()]
    covered = pair.spread[name] > 0
    out = np.tile(np.arange(book.size + 1), (len(covered), 1))
    largest = sorted({s for s in sets if len(s) > 1}, key=len)
    for node, line in enumerate(covered):
        own = frozenset(np.flatnonzero(line).tolist())
        for number, below in enumerate(largest):  # the larger come later and win
            if below < own:
                out[node, list(below)] = book.size + 1 + number
    return out
