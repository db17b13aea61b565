"""Tables in a file, attacked by nothing but what the file shows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.cells import Attacker, Findings, Published, Relations, Target, recovered
from sfumato.cells.layout import certain_cells, coded, read_layouts, relations_of
from sfumato.cells.written import told_bounds
from sfumato.errors import DataError, SfumatoError
from sfumato.privacy import ConsistentTotals, HiddenCells
from sfumato.table import Table

_COUNT = "count"
_MEAN = "mean "
_NEAR = 1e-6

Real = NDArray[np.float64]
Index = NDArray[np.int64]


def recount_cells(claim: HiddenCells, table: Table) -> tuple[bool, str]:
    """Whether every withheld cell that must be small is hidden as promised, and no sum gives itself away.

    Which cells are sensitive is not in the file: one that may be k or more is not held against the claim.
    """
    rows = table.to_arrow()
    absent = [n for n in (_COUNT, *claim.columns, claim.summed) if n and n not in rows.column_names]
    if absent:
        return False, f"the data lacks {', '.join(repr(n) for n in absent)}"
    codes, _ = coded([rows[name].to_pylist() for name in claim.columns])
    try:
        layouts = read_layouts(claim.layout)
        relations = relations_of(layouts, claim.columns, codes)
        if claim.weight:
            counts = _numbers(table, _COUNT)
            fine, detail = _sums_hide(relations, counts)
        else:
            low, high = told_bounds(rows[_COUNT].to_pylist(), _COUNT)
            counts = np.where(low == high, low, np.nan)
            zeros_of = claim.homogeneous or None
            inner = certain_cells(layouts, claim.columns, codes, high == 0, zeros_of).astype(np.float64)
            fine, detail = _counts_hide(claim, codes, relations, low, high, inner)
        if fine and claim.summed:
            sums = _numbers(table, claim.summed)
            sums = sums * counts if claim.summed.startswith(_MEAN) else sums
            fine, more = _sums_hide(relations, sums)
            detail = f"{detail}; {more}"
    except SfumatoError as error:
        return False, error.message
    return fine, detail


def totals_add_up(claim: ConsistentTotals, table: Table) -> tuple[bool, str]:
    """Whether every total is the sum of its parts, and no count is below 0."""
    rows = table.to_arrow()
    absent = [n for n in (_COUNT, *claim.columns) if n not in rows.column_names]
    if absent:
        return False, f"the data lacks {', '.join(repr(n) for n in absent)}"
    codes, _ = coded([rows[name].to_pylist() for name in claim.columns])
    try:
        relations = relations_of(read_layouts(claim.layout), claim.columns, codes)
        counts = _numbers(table, _COUNT)
    except SfumatoError as error:
        return False, error.message
    wrong, below = len(relations.broken(counts)), int((~(counts >= 0)).sum())
    if wrong or below:
        return False, f"{wrong} totals are not the sums of their parts, {below} counts are below 0"
    return True, f"{len(relations.least)} totals, each the sum of its parts"


def _counts_hide(
    claim: HiddenCells, codes: Index, relations: Relations, low: Real, high: Real, inner: Real
) -> tuple[bool, str]:
    told = low == high
    published = Published(
        relations, np.where(told, low, np.maximum(low, inner)), high, np.ones(len(low), bool)
    )
    cells = np.flatnonzero(~told)
    ends = np.minimum(np.maximum(claim.k, inner + 1), high)
    found = Attacker(published).judge([Target(int(c), inner[c], float(ends[c])) for c in cells])
    small = told & (low > 0) & (low < claim.k)
    if small.any():
        return False, f"{int(small.sum())} counts below {claim.k} are shown"
    # A cell that may be k or more need not be sensitive; of one that must be smaller, all must be possible.
    enough = np.maximum(claim.k - 1, inner[cells] + 1)
    hidden = (found.low <= inner[cells] + _NEAR) & (found.high >= enough - _NEAR)
    opened = ~hidden & (found.high < claim.k - _NEAR)
    if opened.any():
        return False, f"{int(opened.sum())} of {len(cells)} withheld cells can be narrowed too far"
    if claim.homogeneous:
        fixed = _groups_of_one(claim, codes, low, high, found)
        if fixed:
            return False, f"{fixed} groups are known to be in one category of '{claim.homogeneous}'"
    return True, f"{len(cells)} withheld cells, none can be narrowed too far"


def _groups_of_one(claim: HiddenCells, codes: Index, low: Real, high: Real, found: Findings) -> int:
    """How many shown groups are known to be in one category of a column."""
    least = low.copy()
    least[[t.cell for t in found.targets]] = found.low
    number = {tuple(row): i for i, row in enumerate(codes.tolist())}
    told = 0
    for layout in read_layouts(claim.layout):
        axis = next((a for a in layout.axes if claim.homogeneous in a), ())
        own = [claim.columns.index(name) for name in axis]
        if not own:
            continue
        inner = np.flatnonzero(codes[:, claim.columns.index(claim.homogeneous)] >= 0)
        above = codes[inner].copy()
        above[:, own] = -1
        group = [number.get(tuple(row), -1) for row in above.tolist()]
        told += sum(
            g >= 0 and low[g] == high[g] and least[i] >= low[g] - _NEAR
            for i, g in zip(inner.tolist(), group, strict=True)
        )
    return told


def _sums_hide(relations: Relations, values: Real) -> tuple[bool, str]:
    """Whether no withheld number follows from sums alone."""
    withheld = np.isnan(values)
    published = Published.of_values(relations, np.nan_to_num(values), withheld, least=-np.inf, whole=False)
    found = recovered(published)
    if found is None:
        return False, "whether sums alone tell a withheld number could not be examined"
    if found.any():
        return False, f"{int(found.sum())} withheld numbers follow from sums"
    return True, f"{int(withheld.sum())} withheld numbers, none follows from sums"


def _numbers(table: Table, name: str) -> Real:
    try:
        return np.asarray(table.to_arrow()[name].to_numpy(zero_copy_only=False), np.float64)
    except ValueError:  # its words quote a cell
        raise DataError(f"column '{name}' holds cells that are not numbers.") from None
