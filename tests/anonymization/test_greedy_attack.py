"""Literal Greedy is k-ambiguous and gives people away all the same; closed Greedy does not.

Every released row of both covers at least k = 3 people. The intruder knows all people's quasi-identifiers and
matches everybody with all rows at once (assessment.attacks.perfect_matching).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymization.problem import compress
from sfumato.anonymization.recoding import Recoding
from sfumato.assessment.attacks import perfect_matching, smallest_cover
from sfumato.assessment.reading.alignment import Pair, align
from sfumato.criteria import KAnonymity
from sfumato.hierarchy import Hierarchy
from sfumato.table import Table

K = 3
COLUMNS = ("x", "y", "z")


def hierarchy() -> Hierarchy:
    """Twelve names, pooled by two, by four, and all; written as sets, which any reader of files knows."""
    names = [f"n{i:02d}" for i in range(12)]

    def pool(i: int, width: int) -> str:
        first = i // width * width
        return "{" + ", ".join(names[first : first + width]) + "}"

    return Hierarchy.of_rows([(name, pool(i, 2), pool(i, 4), "*") for i, name in enumerate(names)])


def people(seed: int, rows: int) -> Table:
    cells = np.random.default_rng(seed).integers(0, 12, (rows, len(COLUMNS)))
    return Table.from_arrow(pa.table({c: [f"n{v:02d}" for v in cells[:, j]] for j, c in enumerate(COLUMNS)}))


def released(table: Table, found: Recoding) -> Table:
    """Row i of the release is row i of the table, as the search released it."""
    p = found.problem
    pieces: dict[tuple[int, ...], list[int]] = {}
    for i in range(len(found.of)):
        pieces.setdefault(tuple(p.leaves[found.of[i]]), []).extend([i] * int(found.n[i]))
    cells: dict[str, list[str]] = {c: [] for c in COLUMNS}
    for row in table.to_arrow().to_pylist():
        leaves = tuple(h.places[row[c]] for c, h in zip(COLUMNS, p.hierarchies, strict=True))
        piece = pieces[leaves].pop()
        for j, c in enumerate(COLUMNS):
            cells[c].append(p.hierarchies[j].label(int(found.nodes[piece, j])))
    return Table.from_arrow(pa.table(cells))


def attacked(search: object, seed: int, rows: int = 150) -> tuple[Pair, float, float]:
    table = people(seed, rows)
    p = compress(table, COLUMNS, {c: hierarchy() for c in COLUMNS})
    pair = align(table, released(table, search.search(p, KAnonymity(K))))
    (cover,) = smallest_cover(pair, COLUMNS)
    found, guessed = perfect_matching(pair, COLUMNS)
    assert cover.value >= K
    return pair, found.value, guessed.value


@pytest.mark.parametrize("seed", range(3))
def test_matching_finds_people_in_what_literal_greedy_releases(seed: int) -> None:
    _, found, guessed = attacked(sf.Greedy(closed=False), seed)
    assert found > 0.02  # left with one single row, their own; 1/k promises none
    assert guessed > 1 / K


@pytest.mark.parametrize(
    "search", [sf.Greedy(), sf.Beam(), sf.Partition()], ids=["greedy", "beam", "partition"]
)
def test_matching_finds_nobody_in_classes(search: object) -> None:
    for seed in range(3):
        pair, found, guessed = attacked(search, seed)
        assert found == 0.0 and guessed <= 1 / K + 1e-9
        assert pair.released.counts(*COLUMNS).n.min() >= K
