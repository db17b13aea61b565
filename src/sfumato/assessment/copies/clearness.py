"""Who is given away by a single released row, and how many people are by chance.

Both directions must speak, the person for the row and the row for the person. Whoever is named

- has more evidence s(i, r) than every person outside, r the released row that speaks most for person i. Where
  the row differs from theirs in some column, the lead must exceed that of the ten best controls over the
  tenth, c_1 >= ... >= c_10, on average: people of many columns are often a little alike, and never the same;
- is clearer than all but two people outside. A row is the clearer for somebody, the less evidence there is
  for the next person i' of both files: clearness = s(i, r) + (s(i, r) - s(i', r)). Many a row of a rare kind
  speaks for several people; a copy of somebody unusual speaks for one;
- is the one for whom the row speaks most: a row is one person's.

In a release that holds nobody, originals and controls are in random order by either measure. So a person has
more evidence than every control with a chance of 1 / (controls + 1), and what else is asked only takes people
away: at most n / (c + 1) people are named on average, whatever the evidence looks like. By the lead it is
about half as many. Evidence is a log likelihood ratio, and its upper tail falls about as an exponential; then
c_i - c_(i+1) = E_i / i with independent exponential E_i (Renyi 1953), the lead is the mean of E_1 to E_(k-1),
and (n / c) k prod over i < k of 1 / (1 + 1 / i + 1 / (k - 1)) people are expected, 0.47 for k = 10, n = c.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.copies.cells import Cells
from sfumato.assessment.copies.nearness import CopyEvidence, evidence

Floats = NDArray[np.float64]

_BEST = 10  # k: people outside by whom the lead is measured
_CLEARER = 2  # people outside who may be clearer than somebody who is named
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


def named(
    found: tuple[CopyEvidence, CopyEvidence],
    clear: tuple[Floats, Floats] | None,
    equal: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """The originals who are named, those with the most evidence first.

    found, clear: of originals and controls; without clearness, evidence alone decides. equal: whether the
    row of an original is the same in all columns.
    """
    (inside, outside), score = found, found[0].score
    top = outside.score.max(initial=-np.inf)
    able = score > np.where(equal, top, top + lead(outside.score))
    if clear is not None and len(clear[1]) > _CLEARER:
        able &= clear[0] > np.sort(clear[1])[::-1][_CLEARER]
    at = np.flatnonzero(able)
    rows, of = np.unique(inside.row[at], return_inverse=True)
    most = np.full(len(rows), -np.inf)
    np.maximum.at(most, of, score[at])
    own = at[score[at] == most[of]]
    return np.asarray(own[np.argsort(-score[own], kind="stable")])


def lead(outside: Floats) -> float:
    """How far the best of the people outside lead the tenth, on average; whom no row is near has none, 0."""
    best = np.sort(outside)[::-1][:_BEST]
    best = np.append(np.maximum(0.0, best), np.zeros(_BEST - len(best)))
    return float((best[:-1] - best[-1]).mean())


def by_chance(originals: int, controls: int) -> float:
    """How many people are named on average, at most, in a release that holds nobody."""
    return originals / (controls + 1)
