"""Who is given away by a single released row, and how many people are by chance.

Both directions must speak. A released row r is the clearer for person i, the more evidence s(i, r) there is
and the less there is for the next person i' in both files:

    clearness = s(i, r) + (s(i, r) - s(i', r)),

r the row that speaks most for i. Whoever is named leads every person outside by more than the ten clearest
of these, c_1 >= ... >= c_k, lead the tenth on average. And a row is one person's: of several the clearest.

Standing above every control has a chance of 1 / (controls + 1) for a person of whom nothing was copied, as
originals and controls are in random order then, and what else is asked only takes people away. So in a
release that holds nobody at most n / (c + 1) people are named on average, whatever the evidence looks like:
one, where the files are equally large. The lead makes it fewer. Evidence is a log likelihood ratio, and its
upper tail falls about as an exponential. Then c_i - c_(i+1) = E_i / i with independent exponential E_i
(Renyi 1953), the lead asked for is the mean of E_1 ... E_(k-1), and as many originals are expected above the
k-th control as there are controls, so that

    E[named] = (n / c) k prod over i < k of 1 / (1 + 1 / i + 1 / (k - 1)),

which is 0.47 for k = 10 and n = c. A tail that is lighter names fewer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.copies.cells import Cells
from sfumato.assessment.copies.nearness import CopyEvidence, evidence

Floats = NDArray[np.float64]

PLACE = 10  # k: so many of the clearest controls make the lead that is asked for
_LOOKED_AT = 1_000  # of the control, those with the most evidence, and all originals with as much


def clearness(
    cells: Cells, people: tuple[NDArray[np.int32], NDArray[np.int32]], rows: NDArray[np.int32],
    found: tuple[CopyEvidence, CopyEvidence],
) -> tuple[Floats, Floats]:  # fmt: skip
    """Of originals and controls (codes and evidence of each); -inf for those who are not looked at."""
    score = np.concatenate([f.score for f in found])
    row = np.concatenate([f.row for f in found])
    outside = np.sort(found[1].score)[::-1]
    least = outside[min(_LOOKED_AT, len(outside)) - 1]
    at = np.flatnonzero(np.isfinite(score) & (score >= least))
    out = np.full(len(score), -np.inf)
    if len(at):
        everyone = np.concatenate(people, axis=1)
        following = evidence(cells, rows[:, row[at]], everyone, itself=at).score
        out[at] = 2 * score[at] - np.maximum(0.0, following)
    return out[: len(found[0].score)], out[len(found[0].score) :]


def named(inside: Floats, row: NDArray[np.int64], outside: Floats) -> NDArray[np.int64]:
    """The people who are named, the clearest first; row: the released row of each. All by their clearness."""
    clear = np.flatnonzero(inside > bar(outside))
    rows, of = np.unique(row[clear], return_inverse=True)
    most = np.full(len(rows), -np.inf)
    np.maximum.at(most, of, inside[clear])
    own = clear[inside[clear] == most[of]]
    return np.asarray(own[np.argsort(-inside[own], kind="stable")])


def bar(outside: Floats) -> float:
    """What must be exceeded. A control without a row that is near is not clear at all, which is 0."""
    if not np.isfinite(outside).any():
        return -np.inf
    best = np.zeros(PLACE)
    there = np.sort(outside)[::-1][:PLACE]
    best[: len(there)] = np.maximum(0.0, there)
    return float(best[0] + (best[:-1] - best[-1]).mean())


def by_chance(originals: int, controls: int) -> float:
    """How many people are named on average in a release that holds nobody, as derived above."""
    i = np.arange(1, PLACE)
    return float(originals / (controls + 1) * PLACE * np.prod(1 / (1 + 1 / i + 1 / (PLACE - 1))))
