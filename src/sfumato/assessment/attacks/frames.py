"""Files as Anonymeter's attacks see them: numbers as numbers, everything else as names; nothing binned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.assessment.attacks.intruder import Floats, Ints, in_threads
from sfumato.assessment.attacks.success import (
    CONFIDENCE,
    Interval,
    excess,
    mean_interval,
)
from sfumato.assessment.reading.same_values import is_number, same_text
from sfumato.errors import DataError, listed
from sfumato.schema import Kind
from sfumato.score import Score
from sfumato.table import Table


@dataclass(frozen=True, eq=False)
class Frames:
    """Several files over the same columns: cells (columns, rows) as numbers or codes, NaN for missing."""

    columns: tuple[str, ...]
    numeric: NDArray[np.bool_]
    cells: tuple[Floats, ...]

    def at(self, names: Sequence[str]) -> list[int]:
        """Where the named columns stand."""
        return [self.columns.index(n) for n in names]


def frames(tables: Sequence[Table | None], columns: Sequence[str] | None = None) -> Frames:
    """The named columns (default: all shared ones) of the files that are there."""
    given = [t for t in tables if t is not None]
    shared = [c for c in given[0].columns if all(c in t.columns for t in given)]
    names = list(dict.fromkeys(shared if columns is None else columns))
    absent = [repr(c) for c in names if c not in shared]
    if absent or not names:
        raise DataError(
            f"not every file has {listed(absent) or 'a shared column'}.",
            hint=f"they share {listed([repr(c) for c in shared])}",
        )
    arrow = [t.select(names).to_arrow() for t in given]
    if any(not a.num_rows for a in arrow):
        raise DataError("one of the files has no rows.", hint="an attack needs people and records")
    numeric, cells = [], [np.empty((len(names), a.num_rows)) for a in arrow]
    for i, name in enumerate(names):
        parts = [a.column(name) for a in arrow]
        kind = given[0].schema[name].kind  # a zip code is a name, however a file happens to store it
        as_numbers = kind is Kind.NUMERIC and all(is_number(p.type) for p in parts)
        numeric.append(as_numbers)
        if as_numbers:
            numbers = [pc.cast(p, pa.float64(), safe=False) for p in parts]
        else:
            texts = same_text(parts)
            values = pc.unique(
                pa.chunked_array([c for t in texts for c in t.chunks], pa.string())
            ).drop_null()
            numbers = [
                pc.cast(pc.index_in(t, value_set=values, skip_nulls=True), pa.float64()) for t in texts
            ]
        for cell, column in zip(cells, numbers, strict=True):
            cell[i] = column.fill_null(np.nan).to_numpy()
    return Frames(tuple(names), np.array(numeric), tuple(cells))


def neighbours(data: Frames, names: Sequence[str], people: Floats, released: Floats, few: int) -> Ints:
    """The nearest released rows of each person by Gower's distance, numbers scaled to their range."""
    from sfumato.assessment.attacks import _kernels

    at = np.array(data.at(names))
    numbers, codes = at[data.numeric[at]], at[~data.numeric[at]]
    both = np.concatenate([people[numbers], released[numbers]], axis=1)
    low = np.nanmin(both, axis=1, initial=np.inf)[:, None] if len(numbers) else np.zeros((0, 1))
    high = np.nanmax(both, axis=1, initial=-np.inf)[:, None] if len(numbers) else np.zeros((0, 1))
    width = np.where(high > low, high - low, 1.0)

    def parts(cells: Floats) -> tuple[Floats, Ints]:
        scaled = np.ascontiguousarray(((cells[numbers] - low) / width).T)
        return scaled, np.ascontiguousarray(np.nan_to_num(cells[codes], nan=-1).astype(np.int64).T)

    people_numbers, people_codes = parts(people)
    their_numbers, their_codes = parts(released)
    out = np.empty((people.shape[1], few), np.int64)

    def search(part: slice) -> None:
        _kernels.nearest_few(
            people_numbers[part], people_codes[part], their_numbers, their_codes, few, out[part]
        )

    in_threads(search, len(out))
    return out


def wilson(successes: float, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's rate and half-width, as Anonymeter reports them."""
    from scipy.stats import norm

    z = float(norm.ppf((1 + confidence) / 2))
    rate = (successes + z * z / 2) / (trials + z * z)
    half = z / (trials + z * z) * (successes * (trials - successes) / trials + z * z / 4) ** 0.5
    return rate, half


def above_control(
    name: str,
    attack: Floats,
    control: Floats,
    *,
    knowledge: str,
    columns: Sequence[str],
    confidence: float,
) -> Score:
    """(attack - control) / (1 - control), never below 0: what the release adds to what is true of anyone.

    The control is in the value and in the details, not beside it: it must not be taken off a second time.
    """
    both = 1 - (1 - confidence) / 2
    first, second = float(attack.mean()), float(control.mean())
    ends: Interval = mean_interval(control, both)
    found = excess(mean_interval(attack, both), ends, first, second)
    rates = [wilson(float(x.sum()), len(x), confidence) for x in (attack, control)]
    theirs = (rates[0][0] - rates[1][0]) / (1 - rates[1][0])
    value = max(0.0, found["value"])
    return Score(
        name=f"{name}, risk",
        section="attack",
        value=value,
        range=(0.0, 1.0),
        better="lower",
        meaning="How much of what was left to gain the attack gains because people are in the data: success "
        "above the control, divided by what the control fails.",
        low=min(max(0.0, found["low"]), value),
        high=max(0.0, found["high"], value),
        confidence=confidence,
        columns=tuple(columns),
        knowledge=knowledge,
        details={
            "attack": first,
            "control": second,
            "wilson": {"attack": rates[0][0], "control": rates[1][0], "risk": max(0.0, theirs)},
        },
    )
