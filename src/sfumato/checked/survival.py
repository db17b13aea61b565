"""Kaplan and Meier's curve, at times between which enough people had the event.

The curve of a textbook falls at each person's time. Here it is told at the ends of steps. In each step and
group there are at least `threshold` people with the event, and nobody or at least `threshold` people who were
seen no longer; what is left at the end is one last step, whose curve hangs on the last few and is not told.
Between two ends it is not told either, and it is rounded to three digits, as more would tell in which order
people left.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.checked.frames import aligned, column_of
from sfumato.checked.rows import RowBook
from sfumato.checked.tables import DraftTable, TableBlock, cross_table
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

Index = NDArray[np.int64]
Real = NDArray[np.float64]

_DIGITS = 3
_OTHER_STEPS = "an earlier curve of the same times ends its steps elsewhere: both may tell of a few"


def survival_steps(book: RowBook, time: object, status: object, by: object, threshold: int) -> DraftTable:
    """The curve at the ends of steps: who was there, who had the event, who was seen no longer."""
    import pandas as pd

    given = [column_of(time, "time"), column_of(status, "status")]
    given += [] if by is None else [column_of(by, "group")]
    columns = aligned(given)
    there = ~np.any([c.isna().to_numpy() for c in columns], axis=0)
    columns = [c[there] for c in columns]
    if not len(columns[0]):
        raise ParameterError("there are no people with a time and a status.", hint="give both")
    when = columns[0].to_numpy(np.float64)
    seen = columns[1].to_numpy(np.float64)
    if not np.isin(seen, (0, 1)).all() or not np.isfinite(when).all() or (when < 0).any():
        raise ParameterError("times are numbers from 0, a status is 0 or 1.", hint="surv_func(days, died)")
    groups = pd.Series("all", index=columns[0].index) if by is None else columns[2].astype(str)
    parts, labels = [], pd.Series("", index=columns[0].index, dtype=object)
    for group in sorted(groups.unique()):
        inside = (groups == group).to_numpy()
        table, step = _steps(when[inside], seen[inside].astype(np.int64), threshold)
        ends = [f"{group}, {name}" for name in table.index]
        labels[inside] = np.array(ends, dtype=object)[step]
        table.index = pd.Index(ends, name="step")
        parts.append(table)
    frame = pd.concat(parts)
    events = columns[1].map({0: "seen no longer", 1: "event"})
    title = f"{columns[0].name} in steps" + ("" if by is None else f" by {columns[2].name}")
    start = f"{columns[0].name} in steps"
    others = any(a.name.startswith(start) and a.name != title for a in book.axes)
    counts = cross_table(
        book, labels.rename(title), events.rename(f"{columns[1].name}"), None, None, None, None, False, "All",
        True, False,
    )  # fmt: skip
    notes = (*counts.notes, _OTHER_STEPS) if others else counts.notes
    return DraftTable(frame, (_placed(counts, frame),), notes, False, together=True)


def _placed(counts: DraftTable, frame: pd.DataFrame) -> TableBlock:
    """The counts of steps that are not empty, where they stand in the frame."""
    block = counts.blocks[0]
    filled = counts.frame.to_numpy() > 0
    used = [k for k, place in enumerate(block.places) if filled[place]]
    rows, columns = list(frame.index), list(frame.columns)
    down = [rows.index(label) for label in counts.frame.index]
    across = [columns.index({"event": "events"}.get(c, c)) for c in counts.frame.columns]
    places = tuple((down[block.places[k][0]], across[block.places[k][1]]) for k in used)
    shape = replace(block.shape, shown=tuple(block.shape.shown[k] for k in used))
    return TableBlock(block.layer, shape, places)


def _steps(when: Real, seen: Index, threshold: int) -> tuple[pd.DataFrame, Index]:
    """The table of steps of one group, and the step of each person."""
    import pandas as pd

    times = np.unique(when)
    at = np.searchsorted(times, when)
    events: Real = np.bincount(at, seen, len(times)).astype(np.float64)
    gone: Real = np.bincount(at, 1 - seen, len(times)).astype(np.float64)
    there = len(when) - np.concatenate([[0], np.cumsum(events + gone)[:-1]])
    curve = np.cumprod(1 - events / there)
    ends = _ends(events, gone, threshold)
    step = np.searchsorted(ends, at)
    n = len(ends)
    table = pd.DataFrame(
        {
            "at risk": there[np.concatenate([[0], ends[:-1] + 1])].astype(int),
            "events": np.bincount(step, seen, n).astype(int),
            "seen no longer": np.bincount(step, 1 - seen, n).astype(int),
            "survival": np.append(np.round(curve[ends[:-1]], _DIGITS), np.nan),
        },
        index=[f"until {times[e]:g}" for e in ends[:-1]] + ["to the end"],
    )
    return table, step


def _ends(events: Real, gone: Real, threshold: int) -> Index:
    """The last time of each step, as short as they may be; the last one takes what is left over."""
    ends, e, g = [], 0.0, 0.0
    for i in range(len(events)):
        e, g = e + events[i], g + gone[i]
        rest = events[i + 1 :].sum(), gone[i + 1 :].sum()
        enough = e >= threshold and (g == 0 or g >= threshold)
        after = rest[0] >= threshold and (rest[1] == 0 or rest[1] >= threshold)
        if enough and after:
            ends.append(i)
            e = g = 0.0
    return np.array([*ends, len(events) - 1], np.int64)
