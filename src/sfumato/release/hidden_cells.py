"""Tables in a file, attacked by nothing but what the file shows."""

from __future__ import annotations

import numpy as np

from sfumato.cells import Attacker, Published, Target
from sfumato.cells.layout import coded, inner_cells, read_layouts, relations_of
from sfumato.errors import SfumatoError
from sfumato.privacy import HiddenCells
from sfumato.table import Table

_COUNT = "count"
_NEAR = 1e-6


def recount_cells(claim: HiddenCells, table: Table) -> tuple[bool, str]:
    """Whether every withheld cell that must be small is hidden as promised.

    Which cells are sensitive is not in the file: one that may be k or more is not held against the claim.
    """
    rows = table.to_arrow()
    if _COUNT not in rows.column_names:
        return False, "the data lacks 'count'"
    codes, _ = coded([rows[name].to_pylist() for name in claim.columns])
    values = rows[_COUNT].to_numpy(zero_copy_only=False).astype(np.float64)
    withheld = np.isnan(values)
    try:
        layouts = read_layouts(claim.layout)
        relations = relations_of(layouts, claim.columns, codes)
        inner = inner_cells(layouts, claim.columns, codes, values == 0).astype(np.float64)
        published = Published.of_values(relations, np.nan_to_num(values), withheld, least=inner)
        cells = np.flatnonzero(withheld)
        targets = [Target(int(c), inner[c], max(claim.k, inner[c] + 1)) for c in cells]
        found = Attacker(published).judge(targets)
    except SfumatoError as error:
        return False, error.message
    small = (values > 0) & (values < claim.k)
    if small.any():
        return False, f"{int(small.sum())} counts below {claim.k} are shown"
    # A cell that may be k or more need not be sensitive; of one that must be smaller, all must be possible.
    enough = np.maximum(claim.k - 1, inner[cells] + 1)
    hidden = (found.low <= inner[cells] + _NEAR) & (found.high >= enough - _NEAR)
    opened = ~hidden & (found.high < claim.k - _NEAR)
    if opened.any():
        return False, f"{int(opened.sum())} of {len(cells)} withheld cells can be narrowed too far"
    return True, f"{len(cells)} withheld cells, none can be narrowed too far"
