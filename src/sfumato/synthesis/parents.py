"""Which variables a variable is drawn given: declared, read off the data, or chosen privately.

The paper takes the m variables of most mutual information with x_i. That is a function of the data which no
noise covers, so a release with such parents is not differentially private, and says so. The private choice
pays for each pick.

Guarantee: `privately` is epsilon-DP in its neighbours.
Because:   the score of a pair is the whole part of f = sum over the cells of |t_ab - t_a t_b / n|. Adding a
           row (a, b) changes t - t_a t_b / n by n/(n+1) (e_a - p)(e_b - q)', with p, q the two shares
           before; its sum of absolute values is n/(n+1) * 2 (1 - p_a) * 2 (1 - q_b) < 4. So f changes by less
           than 4 and its whole part by at most 4; replacing a row is two such steps, 8. Scores are computed
           in whole numbers without rounding. Each pick is one noisy maximum (permute-and-flip) for its share
           of epsilon, and the shares add up to it; the noised n of the rule for m has a share too.
Assumes:   the domain is public.
Tested by: tests/synthesis/test_blocks.py::test_the_score_moves_by_less_than_its_sensitivity
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import Counts
from sfumato.errors import ParameterError, listed
from sfumato.measures import mutual_information
from sfumato.privacy import Budget, Ledger, Neighbours
from sfumato.privacy.grants import UNIT
from sfumato.privacy.noise import laplace, noisy_max
from sfumato.privacy.rounding import down, exact
from sfumato.synthesis.domain import Domain

Parents = dict[str, tuple[str, ...]]
Pairs = Mapping[tuple[str, ...], Counts]

PER_CELL = 30  # rows that a cell should have: the paper's rule of thumb for m
MOST = 3  # parents by that rule
SENSITIVITY = 4  # of `dependence`, for one row more or less


def pairs_of(domain: Domain) -> list[tuple[str, ...]]:
    """The pairs of columns that parents are chosen by."""
    return [p for p in combinations(domain.names, 2) if not set(p) <= set(domain.details)]


def declared(domain: Domain, given: Mapping[str, Iterable[str]]) -> Parents:
    """Parents as declared; all faults at once. A detailed column gets its group where it is not named."""
    faults = []
    names, details = set(domain.names), domain.details
    unknown = sorted({repr(n) for n in [*given, *(p for ps in given.values() for p in ps)] if n not in names})
    if unknown:
        faults.append(f"no such column: {listed(unknown)}")
    out: Parents = {}
    for name in domain.names:
        wanted = tuple(given.get(name, ()))
        if name in details and details[name].group not in wanted:
            wanted = (details[name].group, *wanted)
        if name in wanted or len(set(wanted)) < len(wanted):
            faults.append(f"'{name}' has itself or a column twice among its parents")
        if set(wanted) & set(details):
            faults.append(f"'{name}' has a detailed column among its parents")
        out[name] = wanted
    if faults:
        raise ParameterError(
            f"parents: {'; '.join(faults)}.", hint="{column: [parents]}, columns of the domain"
        )
    return out


def of_variables(domain: Domain, given: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """Declared parents where columns that constraints tie are one: it has those of all its parts."""
    names = domain.renamed
    out: dict[str, tuple[str, ...]] = {}
    for name, wanted in given.items():
        own = names.get(name, name)
        here = [names.get(p, p) for p in wanted]
        tied = own not in given  # a column that is one with others: what it is given may be part of it
        both = [*out.get(own, ()), *(p for p in here if p != own or not tied)]
        out[own] = tuple(dict.fromkeys(both)) if tied else tuple(both)
    return out


def by_information(domain: Domain, pairs: Pairs, m: int | None, rows: int) -> Parents:
    """Section 3.2 of the paper: the m variables of most mutual information. It reads the data openly."""
    scores = {pair: mutual_information(pairs[pair].dense()) for pair in pairs}

    def best(_: str, open_: Sequence[str], score: Sequence[float]) -> str:
        return open_[int(np.argmax(score))]

    return _picked(domain, scores, m, rows, best)


def privately(
    domain: Domain,
    pairs: Pairs,
    m: int | None,
    rows: int | None,
    epsilon: float,
    neighbours: Neighbours,
    count: int,
) -> Parents:
    """Parents by noisy maxima of `dependence`; see the top of this file.

    m: how many, or None for the rule of thirty rows a cell, on `rows` as declared or, without it, on the
    noised `count` of rows.
    """
    ledger = Ledger.in_memory(Budget(epsilon=epsilon, neighbours=neighbours))
    factor = 2 if neighbours is Neighbours.REPLACE else 1
    picks = Fraction(exact(epsilon))
    if m == 0:
        return dict.fromkeys(domain.names, ())
    if m is None and rows is None:
        grant = ledger.grant(epsilon=whole_units(exact(epsilon) / 10), purpose="number of rows")
        rows = max(1, int(laplace(np.array([count]), factor, grant).values[0]))
        picks -= exact(epsilon) / 10
    share = whole_units(picks / (len(domain.names) * (m or MOST)))
    scores = {pair: dependence(pairs[pair].dense()) for pair in pairs}

    def noisy(name: str, open_: Sequence[str], score: Sequence[float]) -> str:
        grant = ledger.grant(epsilon=share, purpose=f"a parent of {name}")
        whole = np.array(score, np.int64)
        return open_[noisy_max(whole, SENSITIVITY * factor, grant)]

    return _picked(domain, scores, m, rows or 0, noisy)


def whole_units(amount: Fraction) -> float:
    """In whole units of the ledger, rounded down: the shares must fit the budget."""
    return down(Fraction(math.floor(amount * UNIT), UNIT))


def dependence(table: NDArray[np.int64]) -> int:
    """The whole part of sum |t_ab - t_a t_b / n|: 0 for independent columns, 2n at most."""
    n = int(table.sum())
    if n == 0:
        return 0
    t = table.astype(object)  # Python's whole numbers: n t_ab may need more than 64 bits
    spread = n * t - np.outer(t.sum(axis=1), t.sum(axis=0))
    return int(np.abs(spread).sum()) // n


Pick = Callable[[str, Sequence[str], Sequence[float]], str]


def _picked(
    domain: Domain, scores: Mapping[tuple[str, ...], float], m: int | None, rows: int, pick: Pick
) -> Parents:
    """One parent after the other; by the rule of thirty rows a cell only those that leave that many."""
    sizes, details = dict(zip(domain.names, domain.sizes, strict=True)), domain.details
    out: Parents = {}
    for name in domain.names:
        mine = [details[name].group] if name in details else []
        while len(mine) < (MOST if m is None else m):
            open_ = [n for n in domain.names if n not in (name, *mine) and n not in details]
            if m is None:
                held = math.prod([sizes[name], *(sizes[p] for p in mine)])
                open_ = [n for n in open_ if held * sizes[n] * PER_CELL <= rows]
            if not open_:
                break
            mine.append(pick(name, open_, [scores[_pair(domain, name, n)] for n in open_]))
        out[name] = tuple(mine)
    return out


def _pair(domain: Domain, a: str, b: str) -> tuple[str, ...]:
    return (a, b) if domain.place(a) < domain.place(b) else (b, a)
