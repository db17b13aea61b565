"""The classes a recoding makes, counted for criteria."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.problem import MISSING, Problem, Sparse
from sfumato.criteria import Classes, Spread

_PAIRS = 8_000_000  # comparisons made at once


def classes_of(
    problem: Problem,
    label: NDArray[np.int64],
    nodes: NDArray[np.int32] | None = None,
    *,
    matching: bool = False,
) -> Classes:
    """The classes when combination i goes to class label[i], numbered from 0; -1: to none.

    nodes: (classes, columns), how each class is released: needed where a population is counted, or where
    missing cells match anything (matching=True; slow, every class is held against every other). The whole
    that t-closeness compares with is what all classes hold.
    """
    kept = label >= 0
    count = int(label.max(initial=-1)) + 1
    sizes = np.bincount(label[kept], problem.n[kept], count).astype(np.int64)
    tables = {name: _spread(sparse, label, count) for name, sparse in problem.sensitive.items()}
    persons = persons_in(problem.persons, label, count) if problem.persons is not None else None
    survey = {
        name: np.bincount(label[kept], weight[kept], count).astype(np.float64)
        for name, weight in problem.survey.items()
    }
    population = alike = None
    if nodes is not None:
        if problem.population is not None:
            population = fitting(problem, nodes)
        alike = matching_rows(problem, nodes, sizes) if matching else None
    return Classes(sizes, persons, tables, survey, population, alike)


def paired(classes: Classes, a: NDArray[np.int64], b: NDArray[np.int64]) -> Classes:
    """What classes a[i] and b[i] would be as one, for each i; persons and populations do not add up so.

    The whole stays that of all classes.
    """
    both = np.concatenate([a, b])
    tables = {name: _paired(table, both, len(a)) for name, table in classes.tables.items()}
    weights = {name: weight[a] + weight[b] for name, weight in classes.weights.items()}
    return Classes(classes.sizes[a] + classes.sizes[b], tables=tables, weights=weights)


def _paired(table: Spread, both: NDArray[np.int64], pairs: int) -> Spread:
    cells = np.diff(table.start)[both]
    before = np.cumsum(cells) - cells
    place = np.arange(int(cells.sum())) + np.repeat(table.start[both] - before, cells)
    pair = np.repeat(np.arange(2 * pairs) % max(pairs, 1), cells)
    code, n = table.code[place], table.n[place]
    return Spread.of(pair, code, n, pairs, table.levels, table.whole, table.names)


def _cells(sparse: Sparse) -> NDArray[np.int64]:
    """(cells,): the combination of each."""
    return np.repeat(np.arange(len(sparse.start) - 1), np.diff(sparse.start))


def _spread(sparse: Sparse, label: NDArray[np.int64], count: int) -> Spread:
    of = label[_cells(sparse)]
    kept = of >= 0
    names = (*sparse.names, MISSING) if sparse.missing else sparse.names
    code = sparse.code[kept].astype(np.int64)
    return Spread.of(of[kept], code, sparse.n[kept], count, sparse.levels, names=names)


def persons_in(sparse: Sparse, label: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """(classes,): different persons. A person in two combinations of a class counts once.

    Rows that name nobody may be those of a person who is there already: they count as one, and only in
    a class where nobody is named.
    """
    of = label[_cells(sparse)]
    kept = of >= 0
    nobody = sparse.levels - 1 if sparse.missing else -1
    key = np.unique(of[kept] * np.int64(sparse.levels) + sparse.code[kept])
    group, person = key // sparse.levels, key % sparse.levels
    named = np.bincount(group[person != nobody], minlength=count)
    some = np.bincount(group, minlength=count) > 0
    return np.where(named > 0, named, some).astype(np.int64)


def fitting(problem: Problem, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
    """(classes,): the members of the population that each class fits."""
    assert problem.population is not None
    levels = np.stack([h.level_of[nodes[:, j]] for j, h in enumerate(problem.hierarchies)], axis=1)
    found = np.zeros(len(nodes), np.int64)
    kinds, of = np.unique(levels, axis=0, return_inverse=True)
    for i, kind in enumerate(kinds):  # classes on the same levels are told apart by their nodes
        mine = np.flatnonzero(of.ravel() == i)
        theirs = np.stack(
            [h.nodes[kind[j]][problem.population.leaves[:, j]] for j, h in enumerate(problem.hierarchies)],
            axis=1,
        )
        _, back = np.unique(np.concatenate([nodes[mine], theirs]), axis=0, return_inverse=True)
        back = back.ravel()
        total = np.bincount(back[len(mine) :], problem.population.n, int(back.max(initial=-1)) + 1)
        found[mine] = total[back[: len(mine)]].astype(np.int64)
    return found


def matching_rows(
    problem: Problem, nodes: NDArray[np.int32], sizes: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """(classes,): rows of all classes that agree where neither is missing or a *; None if nothing is."""
    free = np.stack(
        [_wildcards(h.node_labels)[nodes[:, j]] for j, h in enumerate(problem.hierarchies)], axis=1
    )
    if not free.any():
        return None
    found = np.empty(len(nodes), np.int64)
    step = max(1, _PAIRS // max(nodes.size, 1))
    for i in range(0, len(nodes), step):
        part, open_ = nodes[i : i + step, None, :], free[i : i + step, None, :]
        agree = ((part == nodes[None]) | open_ | free[None]).all(axis=2)
        found[i : i + step] = agree @ sizes
    return found


def _wildcards(labels: tuple[str, ...]) -> NDArray[np.bool_]:
    """Empty cells and *, as whoever holds the file reads it: a root of another name is a value to them."""
    return np.array([label in (MISSING, "*") for label in labels])
