"""Outputs against each other: what a new table may show beside the others, and what all of them tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.checked.limits import OutputLimits
from sfumato.checked.outputs import CheckedOutput, GivenBlock
from sfumato.checked.protection import TableDemands, demands, opened_cells, withheld_cells
from sfumato.checked.rows import MISSING, RowBook
from sfumato.checked.system import LinkedTables, TableShape, link
from sfumato.checked.tables import COUNTS, TableBlock

Flags = NDArray[np.bool_]
Real = NDArray[np.float64]


def withhold(
    book: RowBook, limits: OutputLimits, earlier: Sequence[CheckedOutput], blocks: Sequence[TableBlock]
) -> tuple[list[Flags], int]:
    """Which cells of each block of a new table are to be withheld, given what others show; and how many small
    cells follow from those others already.

    A cell that is withheld in one statistic of a column is withheld in all of them: a count and a mean
    together tell the sum.
    """
    found: list[Flags] = [np.zeros(len(b.shape.shown), bool) for b in blocks]
    told = 0
    for layer in dict.fromkeys(b.layer for b in blocks):
        before = [g for o in earlier for g in o.blocks if g.block.layer == layer]
        new = [i for i, b in enumerate(blocks) if b.layer == layer]
        shapes = [g.block.shape for g in before] + [blocks[i].shape for i in new]
        system = link(book, shapes)
        asked = demands(system, limits, _lowest(layer, shapes))
        kept, hidden = _shown_before(system, before)
        withheld, n = withheld_cells(system, asked, kept, hidden)
        told += n
        for i, cells in zip(new, system.of_table[len(before) :], strict=True):
            found[i] |= withheld[cells]
    by_place: dict[tuple[int, ...], bool] = {}
    for block, flags in zip(blocks, found, strict=True):
        for key, flag in zip(_keys(block), flags.tolist(), strict=True):
            by_place[key] = by_place.get(key, False) or flag
    return [np.array([by_place[key] for key in _keys(block)], bool) for block in blocks], told


def entangled_columns(book: RowBook, given: Sequence[GivenBlock], new: Sequence[GivenBlock]) -> list[str]:
    """Columns of which sums are shown beside counts of the same values, where these follow from one another.

    A sum is its values times their counts: one equation more for whoever looks for a count that is withheld,
    or for the few whom one of two tables is not about. Counts and sums are judged each by itself, so a person
    must look at both.
    """
    found: list[str] = []
    every = [*given, *new]
    for sums in (g for g in every if g.block.layer != COUNTS):
        for counts in (g for g in every if g.block.layer == COUNTS and (g in new or sums in new)):
            whole = np.array_equal(np.sort(sums.block.shape.rows), np.sort(counts.block.shape.rows))
            if whole and not counts.withheld.any() and not sums.withheld.any():
                continue
            axes = {a for cell_axes, _ in counts.block.shape.shown for a in cell_axes}
            if any(_follows(book, sums.block.shape, a) for a in sorted(axes)):
                found.append(sums.block.layer)
    return list(dict.fromkeys(found))


def _follows(book: RowBook, sums: TableShape, axis: int) -> bool:
    """The summed value of each row follows from its group of an axis."""
    assert sums.values is not None
    codes = book.groups(axis)[sums.rows]
    known = (codes > MISSING) & ~np.isnan(sums.values)
    groups, values = codes[known], sums.values[known]
    pairs = np.unique(np.stack([groups.astype(np.float64), values], axis=1), axis=0)
    return len(np.unique(values)) > 1 and len(pairs) == len(np.unique(groups))


def _keys(block: TableBlock) -> list[tuple[int, ...]]:
    """Cells by what is asked of a row or a column of the frame, not by what is counted there."""
    fixed = set.intersection(*(set(axes) for axes in block.shape.headed))
    found = []
    for axes, groups in block.shape.shown:
        pairs = [(a, g) for a, g in zip(axes, groups, strict=True) if a not in fixed]
        found.append(tuple(x for pair in pairs for x in pair))
    return found


def _lowest(layer: str, shapes: Sequence[object]) -> float | None:
    if layer == COUNTS:
        return None
    return float(min(np.nanmin(s.values, initial=0.0) for s in shapes))  # type: ignore[attr-defined]


def _shown_before(system: LinkedTables, before: Sequence[GivenBlock]) -> tuple[Flags, Flags]:
    kept, hidden = np.zeros(len(system.kinds), bool), np.zeros(len(system.kinds), bool)
    for given, cells in zip(before, system.of_table, strict=False):
        kept[cells[~given.withheld]] = True
        hidden[cells[given.withheld]] = True
    return kept, hidden & ~kept


def judge(book: RowBook, limits: OutputLimits, outputs: Sequence[CheckedOutput]) -> dict[str, int]:
    """For each output: how many small cells of it can be told from all outputs together."""
    found: dict[str, int] = {}
    layers = dict.fromkeys(g.block.layer for o in outputs for g in o.blocks)
    for layer in layers:
        given = [(o, g) for o in outputs for g in o.blocks if g.block.layer == layer]
        system = link(book, [g.block.shape for _, g in given])
        asked = demands(system, limits, _lowest(layer, [g.block.shape for _, g in given]))
        low, high = _said(system, asked, [g for _, g in given])
        bases = [g.base for _, g in given if g.base is not None]
        room = None if not bases else (min(bases) + 1) // 2
        if room is not None:
            asked = replace(asked, sensitive=asked.sensitive & (system.people > 0))
        opened = opened_cells(system, asked, low, high, room)
        for (output, _), cells in zip(given, system.of_table, strict=True):
            if own := int(opened[np.unique(cells)].sum()):
                found[output.name] = max(found.get(output.name, 0), own)
        if (apart := opened & ~system.shown).any() and not (opened & system.shown).any():
            # Groups that no table shows follow from a difference: the last table of such people makes it.
            parts = {p for c in np.flatnonzero(apart) for p in system.kinds[c][0]}
            last = [o for (o, _), people in zip(given, system.populations, strict=True) if parts & people][-1]
            found[last.name] = max(found.get(last.name, 0), int(apart.sum()))
    return found


def _said(system: LinkedTables, asked: TableDemands, given: Sequence[GivenBlock]) -> tuple[Real, Real]:
    """What outputs say of each cell: exactly, rounded, or nothing but that it is not below `least`."""
    low, high = asked.least.copy(), np.full(len(asked.values), np.inf)
    for part, cells in zip(given, system.of_table, strict=True):
        shown = cells[~part.withheld]
        true = asked.values[shown]
        if part.base is None:
            low[shown] = high[shown] = true
            continue
        near = part.base * np.round(true / part.base)
        half = (part.base - 1) // 2 if part.base % 2 else part.base / 2
        low[shown] = np.maximum(low[shown], np.maximum(near - half, 0.0))
        high[shown] = np.minimum(high[shown], near + half)
    return low, high
