"""Tables that were published before: what they show is known to every reader."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.cells.layout import Layout, read_layouts
from sfumato.errors import DataError, ParameterError
from sfumato.privacy import HiddenCells
from sfumato.release import Release
from sfumato.tabulation.contents import CellContents
from sfumato.tabulation.problem import HidingProblem, merge

COUNT = "count"
_NEAR = 1e-6

Cell = tuple[tuple[str, str], ...]  # its labels, without totals
Earlier = Release | tuple[Release, Mapping[str, str]]  # of all people, or of those with these labels


@dataclass(frozen=True)
class Shown:
    """An earlier release. cells: what stands there, None where it is withheld.  people: what they have in
    common of whom it was.  layouts: of its tables, beside tables of everybody else."""

    cells: Mapping[Cell, object]
    people: frozenset[tuple[str, str]]
    layouts: tuple[Layout, ...]


def earlier_tables(releases: Sequence[Earlier]) -> tuple[list[Layout], list[Shown]]:
    """The layouts of earlier releases, and of each cell what was shown."""
    layouts: list[Layout] = []
    shown: list[Shown] = []
    for one in releases:
        release, people = one if isinstance(one, tuple) else (one, {})
        claims = [c for c in release.guarantee if isinstance(c, HiddenCells)]
        if not claims:
            raise ParameterError("an earlier release holds no tables.", hint="give what sf.tabulate returned")
        own = tuple((name,) for name in people)
        tables = tuple(Layout((*own, *layout.axes)) for layout in read_layouts(claims[0].layout))
        layouts += tables
        rows = release.data.to_arrow()
        names = [n for n in rows.column_names if n in claims[0].columns]
        lists = [rows[n].to_pylist() for n in names]
        cells = {
            tuple(
                sorted([*people.items(), *((n, v) for n, v in zip(names, labels, strict=True) if v != "_T")])
            ): value
            for labels, value in zip(zip(*lists, strict=True), rows[COUNT].to_pylist(), strict=True)
        }
        shown.append(Shown(cells, frozenset(people.items()), tables))
    return layouts, shown


def with_earlier(
    problem: HidingProblem, contents: CellContents, shown: Sequence[Shown]
) -> tuple[HidingProblem, int]:
    """What was shown stays shown, what was withheld stays withheld.

    An earlier release of some people is part of a table of everybody, the rest of which nobody asked for:
    that is withheld.
    """
    if not shown:
        return problem, 0
    labels = {name: values.to_pylist() for name, values in contents.labels().items()}
    kept, hidden = problem.kept.copy(), problem.sensitive.copy()
    cells = [
        tuple(sorted((n, labels[n][i]) for n in contents.columns if labels[n][i] != "_T"))
        for i in range(problem.size)
    ]
    _require_same(problem, cells, shown)
    asked = contents.layouts[: len(contents.layouts) - sum(len(s.layouts) for s in shown)]
    kinds = {kind for layout in asked for kind in _kinds(layout)}
    rest = np.zeros(problem.size, bool)  # what nobody asked for
    for i, key in enumerate(cells):
        rest[i] = frozenset(name for name, _ in key) not in kinds
        for earlier in shown:
            if key in earlier.cells:
                rest[i] = False
                kept[i] |= earlier.cells[key] is not None
                hidden[i] |= earlier.cells[key] is None
    if rest.any():  # but for cells that are equal to one that is shown
        same = merge(problem).of
        hidden |= rest & ~np.isin(same, same[kept])
    told = kept & problem.sensitive
    if told.any():
        raise DataError(
            f"{int(told.sum())} cells are sensitive, and an earlier release shows them.",
            hint="what is published cannot be taken back; leave these cells out",
        )
    low = np.where(problem.sensitive, problem.low, problem.values)
    high = np.where(problem.sensitive, problem.high, problem.values)
    known = int((kept & hidden).sum())
    if known:
        raise DataError(
            f"{known} cells were shown once and withheld once.", hint="give releases of the same data"
        )
    aside = hidden & ~problem.sensitive
    return replace(problem, kept=kept, sensitive=hidden, low=low, high=high, aside=aside), int(kept.sum())


def _kinds(layout: Layout) -> set[frozenset[str]]:
    """Which columns the cells of a table name, those of its totals, too."""
    chains = [[axis[:level] for level in range(len(axis) + 1)] for axis in layout.axes]
    return {frozenset(itertools.chain(*kept)) for kept in itertools.product(*chains)}


def _require_same(problem: HidingProblem, cells: Sequence[Cell], shown: Sequence[Shown]) -> None:
    """Refuse an earlier release whose cells are others now: relations between the two would not hold, and the
    difference of a cell then and now is a group of people whom nobody looked at."""
    there = set(cells)
    wrong = 0
    for earlier in shown:
        kinds = {tuple(name for name, _ in key) for key in earlier.cells}
        wrong += len(earlier.cells.keys() - there)
        for key, value in zip(cells, problem.values.tolist(), strict=True):
            if key in earlier.cells:
                wrong += _differs(earlier.cells[key], value)
            else:
                wrong += tuple(name for name, _ in key) in kinds and earlier.people <= set(key)
    if wrong:
        raise DataError(
            f"{wrong} cells of an earlier release are others now: these are not the same people.",
            hint="if it was of some of them alone, say of whom: (release, {'quarter': 'q1'}), or "
            "'first where quarter=q1' in commands and plans",
        )


def _differs(told: object, now: float) -> bool:
    """Whether a cell that was shown holds another number now; a range that was shown is looked at
    elsewhere."""
    try:
        then = float(str(told)) if told is not None else now
    except ValueError:
        return False
    return abs(then - now) > _NEAR * (1 + abs(now))
