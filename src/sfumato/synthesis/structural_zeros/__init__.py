"""PeGS where laws are restricted or tables are hashed: slower, and with no other law.

`packed` lays structural zeros out as `_kernels` reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.synthesis.constraints import Zero

if TYPE_CHECKING:
    from sfumato.synthesis.structural_zeros import _kernels


def packed(zeros: Sequence[Zero], places: Sequence[int]) -> _kernels.Zeros:
    """Structural zeros as kernels read them. places: for each column of the domain, which variable it is."""
    from sfumato.synthesis.structural_zeros import _kernels

    columns = [int(places[c]) for z in zeros for c in z.columns]
    masks = [mask for z in zeros for mask in z.masks]
    first = np.cumsum([0, *(len(z.columns) for z in zeros)])
    cell = np.cumsum([0, *map(len, masks)])[:-1]
    flat = np.concatenate([*masks, np.empty(0, bool)])
    return _kernels.Zeros(first, np.array(columns, np.int64), cell.astype(np.int64), flat)
