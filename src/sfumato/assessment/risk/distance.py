"""Distance to the closest record, against people who were not in the data.

Weak evidence: a release can lie far from every record and still give one away, and near all of them
and give away nothing. It shows crude copying, and that is all. Attacks say more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import DTypeLike, NDArray

from sfumato.assessment.reading.same_values import same_text
from sfumato.assessment.risk.intervals import exact_interval
from sfumato.assessment.risk.records import shared_columns
from sfumato.errors import DataError, ParameterError
from sfumato.schema import Kind
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

Matrix = tuple[NDArray[Any], NDArray[Any]]
Ranges = dict[str, tuple[float, float]]

WARNING = (
    "this proves little alone: it sees crude copying, and a release that passes can still give people away"
)
_WORK = 4_000_000_000  # row pairs times numeric columns that are compared at most: some seconds
_ORDERED = {Kind.NUMERIC, Kind.DATE}


def closest(
    original: Table,
    released: Table,
    *,
    control: Table | None = None,
    columns: Sequence[str] | None = None,
    rows: int = 2_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> list[Score]:
    """How near released records lie to the original, beside how near people do who were not in it.

    The distance of two records is the mean over columns: |difference| over the original's range for
    numbers and dates, 0 or 1 for everything else; missing equals missing only.
    rows: so many released records are drawn. Original and control are cut, at random, to the same number of
    records: the nearest of more records is nearer, whoever they are.
    """
    if rows < 1 or not 0 < confidence < 1:
        raise ParameterError("rows is at least 1, and confidence lies between 0 and 1.", hint="rows=2000")
    files = [original, released] if control is None else [original, released, control]
    names = shared_columns(files, columns)
    lengths = [f.rows() for f in files]
    if not all(lengths):
        raise DataError("a file has no rows.", hint="give files with rows")
    if control is None:
        return [_alone(files, names, lengths, rows, seed, confidence)]
    return _compared(files, names, lengths, rows, seed, confidence)


def _alone(
    files: Sequence[Table], names: list[str], lengths: list[int], rows: int, seed: int, confidence: float
) -> Score:
    drawn = min(rows, lengths[1])
    others = min(lengths[0], _room(files[0], names, drawn))
    first, second = as_matrices(
        files, names, [_draw(lengths[0], others, seed, 0), _draw(lengths[1], drawn, seed, 1)]
    )
    return _median(
        _nearest(second, first) / len(names),
        None,
        names,
        confidence,
        "; no control was given to compare with",
    )


def _compared(
    files: Sequence[Table], names: list[str], lengths: list[int], rows: int, seed: int, confidence: float
) -> list[Score]:
    drawn = min(rows, lengths[1])
    others = min(lengths[0], lengths[2], _room(files[0], names, 3 * drawn))
    chosen = [
        _draw(lengths[0], others, seed, 0),
        _draw(lengths[1], drawn, seed, 1),
        _draw(lengths[2], others, seed, 2),
    ]
    real, made, apart = as_matrices(files, names, chosen)
    few = _draw(others, min(others, rows), seed, 3)  # at random: a file may be sorted
    to_real, to_apart = _nearest(made, real), _nearest(made, apart)
    control = _nearest((apart[0][:, few], apart[1][:, few]), real)
    nearer, ties = int((to_real < to_apart).sum()), int((to_real == to_apart).sum())
    decided = drawn - ties
    low, high = exact_interval(nearer, decided, confidence)
    share = Score(
        "closer to the original than to the control",
        "risk",
        nearer / decided if decided else 0.5,
        (0.0, 1.0),
        "lower",
        "share of released records whose closest record is an original rather than one of as many people who "
        f"were not in the data; half is what no copying gives; {WARNING}",
        low,
        high,
        confidence,
        columns=tuple(names),
        baseline=0.5,
        details={
            "closer": nearer,
            "ties left out": ties,
            "released": drawn,
            "originals": others,
            "controls": others,
        },
    )
    note = f"; the control is how near people lie who were not in the data; {WARNING}"
    return [share, _median(to_real / len(names), control / len(names), names, confidence, note)]


def _median(
    made: NDArray[Any], control: NDArray[Any] | None, names: Sequence[str], confidence: float, note: str
) -> Score:
    low, middle, high = _quantiles(made, confidence)
    return Score(
        "distance to the closest original, median",
        "risk",
        middle,
        (0.0, 1.0),
        "higher",
        "how far a released record lies from the closest original, from 0 (equal) to 1 (different in every "
        f"column){note}",
        low,
        high,
        confidence,
        columns=tuple(names),
        control=None if control is None else float(np.median(control)),
        details={
            "quantiles": _spread(made),
            "control quantiles": None if control is None else _spread(control),
            "equal": float((made == 0).mean()),
        },
    )


def _quantiles(x: NDArray[Any], confidence: float) -> tuple[float, float, float]:
    """The median with its exact interval: the order statistics that a fair coin puts around it.

    So few numbers that not even their ends would do leave it open: anything from 0 to 1.
    """
    from scipy.stats import binom

    ordered, n = np.sort(x), len(x)
    below = int(binom.ppf((1 - confidence) / 2, n, 0.5))
    low, high = (ordered[below - 1], ordered[n - below]) if below else (0.0, 1.0)
    return float(low), float(np.median(ordered)), float(high)


def _spread(x: NDArray[Any]) -> dict[str, float]:
    return {f"{q:g}": float(np.quantile(x, q)) for q in (0.01, 0.05, 0.25, 0.5, 0.75, 0.95)}


def _room(original: Table, names: Sequence[str], rows: int) -> int:
    """How many records each of the drawn ones can be compared with."""
    numeric = sum(original.schema[n].kind in (Kind.NUMERIC, Kind.DATE) for n in names)
    return max(1, _WORK // (rows * (1 + numeric)))


def _draw(rows: int, wanted: int, seed: int, file: int) -> NDArray[np.int64]:
    if wanted >= rows:
        return np.arange(rows)
    return np.sort(Key.from_seed(seed).generator("closest", file).choice(rows, wanted, replace=False))


def _nearest(made: Matrix, real: Matrix) -> NDArray[np.float64]:
    """Shared out among the threads."""
    from sfumato.assessment.risk import _kernels
    from sfumato.counts.accumulator import threads

    rows = made[1].shape[1]
    step = max(1, math.ceil(rows / threads()))

    def part(first: int) -> NDArray[np.float64]:
        piece = slice(first, first + step)
        return np.asarray(_kernels.nearest(made[0][:, piece], made[1][:, piece], real[0], real[1]))

    with ThreadPoolExecutor(threads()) as pool:
        return np.concatenate(list(pool.map(part, range(0, rows, step))))


# -- drawn rows of several files as numbers and codes that mean the same, read in one pass each -----------


def as_matrices(
    files: Sequence[Table], names: Sequence[str], rows: Sequence[NDArray[np.int64]]
) -> list[Matrix]:
    """The chosen rows of each file: numbers scaled to the first file's range, and codes; one row per column.

    A column is numbers where every file holds it as numbers, or dates, of one type; else codes.
    """
    measured = [n for n in names if _measured(files, n)]
    ranges: Ranges = {}
    cells = [
        _read(f, names, chosen, measured, ranges if i == 0 else None)
        for i, (f, chosen) in enumerate(zip(files, rows, strict=True))
    ]
    numbers: list[list[NDArray[np.float32]]] = [[] for _ in files]
    codes: list[list[NDArray[np.uint32]]] = [[] for _ in files]
    widest = 0
    for name in names:
        columns = [c.column(name).combine_chunks() for c in cells]
        if name in measured:
            low, high = ranges.get(name, (0.0, 1.0))
            for out, column in zip(numbers, columns, strict=True):
                out.append(
                    ((_numbers(column) - low) / (high - low if high > low else 1.0)).astype(np.float32)
                )
            continue
        text = same_text(columns)
        every = pc.unique(pa.concat_arrays(text)).drop_null()
        widest = max(widest, len(every))
        for coded, column in zip(codes, text, strict=True):
            places = pc.index_in(column, value_set=every).fill_null(len(every))
            coded.append(places.to_numpy(zero_copy_only=False).astype(np.uint32))
    narrow = np.uint16 if widest < 2**16 else np.uint32
    return [
        (_stacked(x, len(chosen), np.float32), _stacked(c, len(chosen), narrow))
        for x, c, chosen in zip(numbers, codes, rows, strict=True)
    ]


def _measured(files: Sequence[Table], name: str) -> bool:
    columns = [f.schema[name] for f in files]
    return all(c.kind in _ORDERED for c in columns) and len({c.type for c in columns}) == 1


def _read(
    file: Table,
    names: Sequence[str],
    chosen: NDArray[np.int64],
    measured: Sequence[str],
    ranges: Ranges | None,
) -> pa.Table:
    """The chosen rows, by number; in one pass: an engine may give rows in another order the next time."""
    kept, seen = [], 0
    for batch in file.batches(names):
        first, last = np.searchsorted(chosen, [seen, seen + batch.num_rows])
        kept.append(batch.take(pa.array(chosen[first:last] - seen)))
        seen += batch.num_rows
        if ranges is not None:
            for name in measured:
                _widen(ranges, name, _numbers(batch.column(name)))
    return pa.Table.from_batches(kept)


def _widen(ranges: Ranges, name: str, numbers: NDArray[np.float64]) -> None:
    finite = numbers[np.isfinite(numbers)]
    if len(finite):
        low, high = ranges.get(name, (np.inf, -np.inf))
        ranges[name] = min(low, float(finite.min())), max(high, float(finite.max()))


def _numbers(cells: pa.Array) -> NDArray[np.float64]:
    if pa.types.is_date32(cells.type):
        cells = cells.cast(pa.int32())
    elif pa.types.is_timestamp(cells.type):
        cells = cells.cast(pa.int64())
    out: NDArray[np.float64] = cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return out


def _stacked(columns: list[Any], rows: int, kind: DTypeLike) -> NDArray[Any]:
    return np.stack(columns).astype(kind) if columns else np.empty((0, rows), kind)
