"""Released rows that several people share: generalized until nobody stands alone, and so no one's copy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.copies.cells import Cells
from sfumato.table import Table

Ints = NDArray[np.int64]

_CLASS = 3  # rows with generalized cells that so many share are not one person's
_WAYS = 100  # in which rows may be generalized, for it to be counted whom they fit
_MADE = 0.1  # of the rows that are generalized, from which on others were left as they are on purpose


def smallest_class(table: Table, known: Sequence[str]) -> int:
    """In all rows: where some are drawn, classes look smaller than they are."""
    shown = [k for k in known if k in table.schema]
    return int(table.counts(*shown).n.min()) if shown and table.rows() else 0


def protected(
    found: Cells, known: Sequence[int], least: tuple[int, int], *, everybody: bool
) -> NDArray[np.bool_]:
    """Released rows with generalized quasi-identifiers that they share with others: no copy of one person.

    Rows that were left as they are count as well, where every class has several rows because the release made
    them so: of an original that had them anyway, a few stars make no anonymous file. Nor does it help to
    write a row several times: as many people must fit it.

    least: the smallest class of the whole release, and of the original. everybody: whether all originals are
    there; where some were drawn, nobody can say how many fit.
    """
    codes = found.files[1]
    at = list(known) or list(range(len(codes)))
    stars = np.array([found.general[found.first[c] + codes[c]] for c in at])
    general: NDArray[np.bool_] = np.asarray(stars.any(axis=0))
    _, inverse, sizes = np.unique(codes[at], axis=1, return_inverse=True, return_counts=True)
    made = least[1] < _CLASS or general.mean() >= _MADE if len(general) else False
    if known and general.any() and made and max(least[0], int(sizes.min())) >= _CLASS:
        shared = np.ones(codes.shape[1], bool)
    else:
        shared = np.asarray(general & (sizes[inverse.ravel()] >= _CLASS))
    if not everybody or not shared.any():
        return shared
    return np.asarray(shared & (_fitting(found.files[0][at], codes[at], stars) >= _CLASS))


def _fitting(people: NDArray[np.int32], rows: NDArray[np.int32], stars: NDArray[np.bool_]) -> Ints:
    """How many people have each row's values where it has any: all for a star, and for an interval too.

    people, rows: codes (columns, rows); stars: which cells of the rows are general.
    """
    out = np.full(rows.shape[1], people.shape[1], np.int64)
    ways, way = np.unique(stars, axis=1, return_inverse=True)
    if ways.shape[1] > _WAYS:
        return out
    for i, starred in enumerate(ways.T):
        mine = np.flatnonzero(way.ravel() == i)
        if starred.all():
            continue
        both = np.concatenate([people[~starred], rows[~starred][:, mine]], axis=1)
        _, kind = np.unique(both, axis=1, return_inverse=True)
        kind = kind.ravel()
        out[mine] = np.bincount(kind[: people.shape[1]], minlength=int(kind.max()) + 1)[
            kind[people.shape[1] :]
        ]
    return out
