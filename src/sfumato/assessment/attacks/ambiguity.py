"""Perfect matching against k-ambiguous releases: everybody has one record, and each record one person.

A release is k-ambiguous if each released record covers at least k people. That bounds what one record
gives away by itself. But the intruder who knows all the people also knows that they share the records
out among themselves without remainder: a link that no such sharing uses is impossible. At k = 3 this
re-identifies a good part of what literal Greedy releases, where classes are not closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.attacks.intruder import Ints, View, correspondence, knows, look
from sfumato.assessment.attacks.success import CONFIDENCE, rate
from sfumato.assessment.reading.alignment import Pair
from sfumato.errors import DataError
from sfumato.score import Score

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_EDGES = 20_000_000  # links between distinct persons and distinct records: about 1 GB while solving


def perfect_matching(
    pair: Pair,
    known: Sequence[str],
    *,
    truth: str | Sequence[int] | Ints | None = "rows",
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """Remove the links that no perfect matching uses; then see who is left with a single record.

    The intruder knows the known columns of everyone in the data, and that each of them has one record. The
    people may be fewer than the records (some are then strangers'); where not everyone can have a record,
    the release was not made by generalizing these people and the largest matchings are used.
    The baseline is the same count before pruning.
    """
    view = look(pair, known)
    own = correspondence(pair, truth)
    links = _links(view)
    allowed, matched = _usable(links, view.persons.sizes, view.classes.sizes)
    sizes = view.classes.sizes
    before = np.rint(links @ sizes).astype(np.int64)[view.persons.of]
    after = np.rint(allowed @ sizes).astype(np.int64)[view.persons.of]
    everyone = int(view.persons.sizes.sum())
    fits = right = np.ones(len(after), bool)
    if own is not None:
        fits = view.may_be(own)
        mine = np.asarray(allowed[view.persons.of, view.classes.of[own]]).ravel() > 0
        right = (own >= 0) & mine
    found = right & (after == 1)
    knowledge = (
        f"{knows(known, pair=pair)}; the people attacked are everyone in the data, and each of them has one "
        "released record"
    )
    gone = 1 - allowed.nnz / links.nnz if links.nnz else 0.0
    chance = np.where(right & (after > 0), 1 / np.maximum(after, 1), 0.0)
    details = {
        "matched": matched,
        "perfect": matched == everyone,
        "links": int(links.nnz),
        "links_removed": float(gone),
        "records_that_fit": _spread(before),
        "records_left": _spread(after),
    }
    return [
        rate(
            "perfect matching, re-identified",
            found,
            meaning="Share of people left with one single record, their own, once links that no complete "
            "sharing out of the records uses are removed; the baseline is the share before that.",
            knowledge=knowledge,
            columns=known,
            baseline=float((fits & (before == 1)).mean()),
            confidence=confidence,
            details=details,
        ),
        rate(
            "perfect matching, guessed",
            chance,
            meaning="Share of people found, on average, by picking at random among the records left.",
            knowledge=knowledge,
            columns=known,
            baseline=float(np.where(fits & (before > 0), 1 / np.maximum(before, 1), 0.0).mean()),
            confidence=confidence,
        ),
    ]


def smallest_cover(pair: Pair, known: Sequence[str]) -> list[Score]:
    """The k of k-ambiguity: how many people the most telling released record may be, at least."""
    view = look(pair, known)
    covered = np.zeros(len(view.classes.rows))
    for part, matrix in view.compatible():
        covered += matrix.T @ view.persons.sizes[part]
    per_record = covered[view.classes.of]
    return [
        Score(
            name="ambiguity",
            section="attack",
            value=float(per_record.min()),
            range=(0.0, float(len(view.people))),
            better="higher",
            meaning="The smallest number of people a released record may be; that alone does not stop "
            "matching.",
            columns=tuple(known),
            knowledge=knows(known, pair=pair),
            details={"records_that_fit_nobody": int((per_record == 0).sum())},
        )
    ]


def _links(view: View) -> csr_matrix:
    """All compatible (distinct person, class) links as one sparse matrix."""
    from scipy import sparse

    parts, edges = [], 0
    for _, matrix in view.compatible():
        edges += matrix.nnz
        if edges > _EDGES:
            raise DataError(
                f"more than {_EDGES:,} links fit: the matching would not fit in memory.",
                hint="let the intruder know more columns, or attack a region of the data at a time",
            )
        parts.append(matrix)
    return sparse.vstack(parts, format="csr")


def _usable(links: csr_matrix, people: Ints, records: Ints) -> tuple[csr_matrix, int]:
    """The links that some largest matching uses, and how many people it serves.

    Because: two largest flows differ by a circulation in the residual network. So a link is used by some
    largest matching if and only if the found flow uses it, or its two ends lie on a common cycle of the
    residual network: in one strongly connected component (Dulmage and Mendelsohn; Berge). Equal people
    and equal records are one node with a capacity, which changes nothing but the size.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components, maximum_flow

    if not links.nnz:
        return links, 0
    persons, classes = links.shape
    nodes = persons + classes + 2
    source, sink = persons + classes, persons + classes + 1
    coo = links.tocoo()
    row, column = coo.row.astype(np.int64), coo.col.astype(np.int64) + persons
    heads = np.concatenate([row, np.full(persons, source), np.arange(persons, source)])
    tails = np.concatenate([column, np.arange(persons), np.full(classes, sink)])
    # A link carries whatever its ends allow, so that it is never full on its own.
    free = np.full(len(row), int(people.sum()) + 1)
    capacity = np.concatenate([free, people, records]).astype(np.int32)
    network = sparse.csr_matrix((capacity, (heads, tails)), (nodes, nodes))
    result = maximum_flow(network, source, sink, method="dinic")
    left = sparse.csr_matrix(network - result.flow)
    left.data = np.where(left.data > 0, left.data, 0)
    left.eliminate_zeros()
    _, component = connected_components(left, directed=True, connection="strong")
    flow: NDArray[np.int64] = np.asarray(result.flow[row, column]).ravel()
    kept = (flow > 0) | (component[row] == component[column])
    shape = links.shape
    usable = sparse.csr_matrix((np.ones(int(kept.sum())), (row[kept], column[kept] - persons)), shape)
    return usable, int(result.flow_value)


def _spread(counts: Ints) -> list[dict[str, float]]:
    return [{"share": q, "records": float(np.quantile(counts, q))} for q in (0.0, 0.25, 0.5, 0.75, 1.0)]
