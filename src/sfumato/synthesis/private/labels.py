"""What was measured, as a table to be read: every number with its cell and its noise."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import Codebook
from sfumato.synthesis.bin_values import Drawn
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.private.layout import Ints
from sfumato.synthesis.private.measurement import Measured
from sfumato.synthesis.private.purse import Measurement
from sfumato.synthesis.private.variables import Variable


def name_of(domain: Domain, variable: Variable) -> str:
    """The name of a variable: its column's, or those of all its columns."""
    return " + ".join(domain.names[j] for j in variable.columns)


def states_of(domain: Domain, variable: Variable) -> pa.Array:
    """What each state is called; a missing value of a single column has no name."""
    if variable.ends is not None:
        return _spans(domain.books[variable.columns[0]], *variable.ends, variable.size)
    names = [
        domain.books[j].decode(codes).cast(pa.string())
        for j, codes in zip(variable.columns, variable.states, strict=True)
    ]
    if len(names) == 1:
        return names[0]
    rows = zip(*(n.fill_null("missing").to_pylist() for n in names), strict=True)
    return pa.array([" / ".join(row) for row in rows], pa.string())


def _spans(book: Codebook, low: NDArray[Any], high: NDArray[Any], size: int) -> pa.Array:
    """Of cells finer than bins: the only value of each, or from which to which."""
    drawn = [Drawn.of(book, ends).arrow().cast(pa.string()).to_pylist() for ends in (low, high)]
    names: list[str | None] = [a if a == b else f"[{a}, {b}]" for a, b in zip(*drawn, strict=True)]
    return pa.array(names + [None] * (size - len(names)), pa.string())


def cells_of(states: pa.Array, cells: Ints | None) -> pa.Array:
    """What merged states are called: the only one of a cell, or from which to which, and how many."""
    if cells is None:
        return states
    order = np.argsort(cells, kind="stable")
    ends = np.searchsorted(cells[order], np.arange(int(cells.max()) + 2))
    names = states.fill_null("missing").to_pylist()
    out = []
    for first, last in pairwise(ends):
        few = [names[s] for s in order[first:last]]
        out.append(few[0] if len(few) == 1 else f"{few[0]} to {few[-1]} ({len(few)})")
    return pa.array(out, pa.string())


def measurements(domain: Domain, measured: Measured) -> pa.Table:
    """Every noisy number, one a row."""
    variables, seen = measured.variables.all, [0] * len(measured.variables.all)
    states = [states_of(domain, v) for v in variables]
    parts = []
    for what, m in measured.everything():
        names = [name_of(domain, variables[j]) for j in m.columns]
        if what == "level":
            (j,) = m.columns
            labels = [cells_of(states[j], variables[j].levels[seen[j]])]
            seen[j] += 1
        elif what == "pair":
            labels = [cells_of(states[j], measured.classes[j]) for j in m.columns]
        else:
            labels = [states[j] for j in m.columns]
        parts.append(_rows(what, m, names, labels))
    return pa.concat_tables(parts)


def _rows(what: str, m: Measurement, names: list[str], labels: list[pa.Array]) -> pa.Table:
    places = np.indices(m.values.shape).reshape(m.values.ndim, -1)
    number, empty = m.values.size, pa.nulls(m.values.size, pa.string())
    levels = [label.take(pa.array(place)) for label, place in zip(labels, places, strict=False)]
    return pa.table(
        {
            "what": pa.array([what] * number),
            "first": pa.array([names[0]] * number) if names else empty,
            "second": pa.array([names[1]] * number) if len(names) > 1 else empty,
            "level": levels[0] if levels else empty,
            "other_level": levels[1] if len(levels) > 1 else empty,
            "value": pa.array(m.values.ravel() / m.factor),
            "sigma": pa.array(np.full(number, m.sigma)),
            "law": pa.array([m.law] * number),
            "cost": pa.array(np.full(number, m.amount)),
        }
    )


def classes(domain: Domain, measured: Measured) -> pa.Table:
    """Which states were seen as one in pairs: variable, state, class."""
    out: dict[str, list[pa.Array]] = {"columns": [], "state": [], "class": []}
    for variable, merged in zip(measured.variables.every, measured.classes, strict=True):
        if merged is None:
            continue
        states = states_of(domain, variable)
        out["columns"].append(pa.array([name_of(domain, variable)] * variable.size))
        out["state"].append(states)
        out["class"].append(cells_of(states, merged).take(pa.array(merged)))
    return pa.table({n: pa.chunked_array(c, pa.string()) for n, c in out.items()})
