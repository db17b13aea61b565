"""Files as Anonymeter's attacks see them: numbers as numbers, everything else as names; nothing binned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True, eq=False)
class Rows:
    """The different rows of some cells: scaled numbers and codes, each (columns, rows).

    of: for each cell column (a person, a record) its row; sizes: how many share a row. members: those that
    share row g are members[starts[g] : starts[g + 1]].
    """

    numbers: Floats
    codes: Ints
    of: Ints
    sizes: Ints
    members: Ints
    starts: Ints


def rows(data: Frames, names: Sequence[str], cells: Floats) -> Rows:
    """The named columns of some people or records, numbers divided by their range over all files.

    One scale for all files: who is attacked does not change how far others are.
    """
    at = np.array(data.at(names))
    numbers, codes = at[data.numeric[at]], at[~data.numeric[at]]
    scaled = np.empty((len(numbers), cells.shape[1]))
    for i, c in enumerate(numbers):
        known = np.concatenate([file[c][~np.isnan(file[c])] for file in data.cells])
        low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
        scaled[i] = (cells[c] - low) / (high - low if high > low else 1.0)
    whole = np.nan_to_num(cells[codes], nan=-1).astype(np.int64)
    first, of, sizes = _distinct([*scaled, *whole], cells.shape[1])
    members = np.argsort(of, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Rows(
        np.ascontiguousarray(scaled[:, first]), np.ascontiguousarray(whole[:, first]), of, sizes, members,
        starts,
    )  # fmt: skip


def _distinct(columns: Sequence[NDArray[Any]], n: int) -> tuple[Ints, Ints, Ints]:
    """One place of each different row, the row of each place, and how often each row comes."""
    key = np.zeros(n, np.int64)
    for column in columns:
        levels, code = np.unique(column, return_inverse=True)  # NaN is one value here
        key = np.unique(key * len(levels) + code, return_inverse=True)[1]
    _, first, of, sizes = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    return first, of, sizes.astype(np.int64)


def linked(
    data: Frames, halves: tuple[Sequence[str], Sequence[str]], people: Floats, records: Floats, few: int
) -> Floats:
    """For each person the chance that the `few` nearest records of both halves have one in common.

    Equally near records are taken at random, in each half by itself; the chance is computed, not drawn.
    """
    from sfumato.assessment.attacks import _record_kernels

    first, second = (rows(data, half, records) for half in halves)
    one, two = (rows(data, half, people) for half in halves)
    there = (
        first.numbers, first.codes, first.sizes, first.starts, second.of[first.members],
        second.numbers, second.codes, second.sizes,
    )  # fmt: skip
    place, of, _ = _distinct([one.of, two.of], people.shape[1])
    mine, other = one.of[place], two.of[place]
    out = np.empty(len(place))

    def work(part: slice) -> None:
        a, b = mine[part], other[part]
        halves_ = (one.numbers[:, a], one.codes[:, a], two.numbers[:, b], two.codes[:, b])
        _record_kernels.linked(*there, *halves_, few, out[part])

    in_threads(work, len(out))
    return out[of]


def guessed(
    data: Frames,
    known: Sequence[str],
    people: Floats,
    records: Floats,
    secrets: Sequence[int],
    within: Sequence[float],
) -> Floats:
    """The share of a person's nearest records whose value in a column is right: (secrets, people).

    Right is what is off by at most `within` of the guess. So it is the chance of somebody who takes one of
    the nearest at random. Who is nearest is looked for once, whatever is then to be guessed.
    """
    from sfumato.assessment.attacks import _record_kernels

    there, persons = rows(data, known, records), rows(data, known, people)
    wanted = people[list(secrets)]
    order = np.stack([np.lexsort((values, persons.of)) for values in wanted])
    guesses = np.ascontiguousarray(records[list(secrets)][:, there.members])
    out = np.empty(wanted.shape)

    def work(part: slice) -> None:
        their = (persons.numbers[:, part], persons.codes[:, part], persons.starts[part.start : part.stop + 1])
        _record_kernels.guessed(
            there.numbers, there.codes, there.sizes, there.starts, guesses, *their, order, wanted,
            np.asarray(within, np.float64), out,
        )  # fmt: skip

    in_threads(work, len(persons.sizes))
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
