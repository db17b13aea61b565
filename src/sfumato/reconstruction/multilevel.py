"""Random intercepts and slopes after LUDIA (dissertation, section 4.4.1).

    v_a = ((A G)' W A G)^+ (A G)' W (s - A U v_y),   y = U v_y + G v_a

Each published group gives one equation, so slopes by the groups themselves are never determined: the
pseudo-inverse takes the smallest ones, in standard deviations of X. Where effects differ by something
coarser than the aggregates (hospitals within counties), each county has as many equations as hospitals.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.reconstruction.fitted_model import Effects
from sfumato.reconstruction.groups import Grouping, Place, flat
from sfumato.reconstruction.problem import LinearProblem
from sfumato.table import Table

Real = NDArray[np.float64]


def effects_of(
    table: Table,
    grouping: Grouping,
    problem: LinearProblem,
    ax: Real,
    rest: Real,
    kind: Literal["intercepts", "slopes"],
    by: str | None,
) -> tuple[Effects, Real]:
    """The effects and what they add to the aggregates, (p, k). rest: (p, k), s - A U v_y."""
    if len(grouping.places) > 1:
        raise ParameterError(
            "effects by group need one level of aggregates.", hint="leave out the other levels"
        )
    place, block = _blocks(table, grouping, by)
    z = np.column_stack([np.ones(len(rest)), problem.ax])
    if kind == "intercepts":
        z[:, 1:] = 0.0
    gamma = np.zeros((int(block.max()) + 1, z.shape[1], rest.shape[1]))
    root = np.sqrt(grouping.sizes)[:, None]  # W of a partition is its sizes
    for group in range(len(gamma)):
        mine = block == group
        gamma[group] = np.linalg.lstsq(root[mine] * z[mine], root[mine] * rest[mine], rcond=1e-10)[0]
    # Coefficients of X as it is, from those of standardized columns.
    own = gamma[:, 1:] / problem.scale[None, :, None]
    start = gamma[:, :1] - np.einsum("d,gdk->gk", problem.mean, own)[:, None]
    raw = np.concatenate([start, own], axis=1)
    return Effects(place, raw), np.einsum("pd,pdk->pk", ax, raw[block])


def _blocks(table: Table, grouping: Grouping, by: str | None) -> tuple[Place, NDArray[np.int64]]:
    """From people to groups of effects, and from rows of A to them, (p,)."""
    own = grouping.places[0]
    if by is None or (by,) == own.by:
        return own, np.arange(len(grouping.sizes))
    table.schema.require([by])
    counts = table.counts(*own.by, by)
    rows = own.of_codes(counts.codes[:, :-1])
    groups, block = np.unique(counts.codes[:, -1], return_inverse=True)
    where = np.full(len(grouping.sizes), -1, np.int64)
    where[rows[rows >= 0]] = block[rows >= 0]
    if len(np.unique(rows[rows >= 0])) < int((rows >= 0).sum()):
        raise ParameterError(
            f"the groups of the aggregates are not nested in '{by}'.",
            hint="effects_by names a coarser column",
        )
    books = counts.codebooks[-1:]
    place = Place((by,), books, flat(groups[:, None], books), np.arange(len(groups)))
    return place, where
