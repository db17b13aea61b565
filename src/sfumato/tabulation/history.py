"""Tables that were published before: what they show is known to every reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sfumato.cells.layout import Layout, read_layouts
from sfumato.errors import DataError, ParameterError
from sfumato.privacy import HiddenCells
from sfumato.release import Release
from sfumato.tabulation.contents import CellContents
from sfumato.tabulation.problem import HidingProblem

COUNT = "count"

Shown = Mapping[tuple[tuple[str, str], ...], bool]


def earlier_tables(releases: Sequence[Release]) -> tuple[list[Layout], list[Shown]]:
    """The layouts of earlier releases, and of each cell whether it was shown."""
    layouts: list[Layout] = []
    shown: list[Shown] = []
    for release in releases:
        claims = [c for c in release.guarantee if isinstance(c, HiddenCells)]
        if not claims:
            raise ParameterError("an earlier release holds no tables.", hint="give what sf.tabulate returned")
        layouts += read_layouts(claims[0].layout)
        rows = release.data.to_arrow()
        names = [n for n in rows.column_names if n in claims[0].columns]
        lists = [rows[n].to_pylist() for n in names]
        there = [v is not None for v in rows[COUNT].to_pylist()]
        shown.append(
            {
                tuple(sorted((n, v) for n, v in zip(names, labels, strict=True) if v != "_T")): flag
                for labels, flag in zip(zip(*lists, strict=True), there, strict=True)
            }
        )
    return layouts, shown


def with_earlier(
    problem: HidingProblem, contents: CellContents, shown: Sequence[Shown]
) -> tuple[HidingProblem, int]:
    """What was shown stays shown, what was withheld stays withheld."""
    if not shown:
        return problem, 0
    labels = {name: values.to_pylist() for name, values in contents.labels().items()}
    kept, hidden = problem.kept.copy(), problem.sensitive.copy()
    for i in range(problem.size):
        key = tuple(sorted((n, labels[n][i]) for n in contents.columns if labels[n][i] != "_T"))
        for earlier in shown:
            if key in earlier:
                kept[i] |= earlier[key]
                hidden[i] |= not earlier[key]
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
    return replace(problem, kept=kept, sensitive=hidden, low=low, high=high), int(kept.sum())
