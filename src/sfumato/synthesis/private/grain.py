"""Numbers and days finer than their bins: a public grid, and the cells of it that enough people have.

Bins are declared by a person, and few: values drawn evenly within them have no zero, no 999, no rounding and
no long tail. So each bin is cut along a grid that is public, as it follows from the declared edges alone:
round numbers, each apart from what lies between it and the next; every day. The grid is far too fine to be
measured cell by cell. It is measured from above, depth by depth, and only what enough people are in is cut
further (`finer`). Where many have the very same value, as zero, it ends up as a cell of its own. The edges of
the cells are thus found with the budget, quantiles of a kind.

What is measured at a depth is a table of cells that do not overlap, each row in one of them, chosen by
earlier answers alone: points 1, 3 and 4 of purse.py are its proof.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import Codebook
from sfumato.schema import Draw, Kind
from sfumato.synthesis.bin_values import ends
from sfumato.synthesis.private.layout import Floats, Ints

PARTS = 8  # that a cell is cut into
_DIGITS = (3, 2)
_DECADES = 6  # of numbers of so many digits; what is smaller is one cell
_STEPS = 10_000  # multiples of a power of ten in the range of a column, at most
_TWELFTHS = 240
_MOST = 2**16 - 2  # cells of a grid
_FINEST = 1000  # of the rows, one in so many is not cut further
_NOISES = 3.0  # standard deviations of a cell's noise that are worth a cut
_DAY = 86_400_000_000  # microseconds

Ends = tuple[NDArray[Any], NDArray[Any]]  # the smallest and the largest value of each cell


def grid(book: Codebook) -> tuple[Ends, Ints] | None:
    """The cells of a column, and the bin of each; None where nothing is finer than the bins."""
    column = book.column
    if column.edges is None or column.draw not in (Draw.UNIFORM, Draw.INTEGER):
        return None
    low, high, whole = ends(book)
    if (low[1:] <= high[:-1]).any():
        return None  # bins without a whole number
    first, last = low[0], high[-1]
    if column.kind is Kind.DATE:
        step = 1 if column.type == "date" else _DAY
        step *= max(1, math.ceil((int(last) - int(first)) / step / _MOST))
        marks: NDArray[Any] = np.arange(first, last + 1, step)
    else:
        marks = _marks(first, last, whole)
    starts = np.union1d(low, marks[(marks >= first) & (marks <= last)])
    bins = np.searchsorted(low, starts, side="right") - 1
    starts, bins = starts[starts <= high[bins]], bins[starts <= high[bins]]
    if len(starts) <= len(low) + 1 or len(starts) > _MOST:
        return None  # no finer but for the closed end of the last bin, or too many bins already
    stops = starts[1:] - 1 if whole else np.nextafter(starts[1:], -math.inf)
    return (starts, np.minimum(np.append(stops, last), high[bins])), bins.astype(np.int64)


def _marks(first: Any, last: Any, whole: bool) -> NDArray[Any]:
    """Where many people may have the very same number, and right after each where what lies between begins.

    Numbers of three digits (or two), multiples of a power of ten, twelfths of a small number; of real
    numbers also what single precision makes of them.
    """
    largest = max(abs(float(first)), abs(float(last)))
    if first == last or (not whole and not 1e-280 < largest < 1e300):
        return np.array([first])
    top = math.floor(math.log10(max(largest, 1e-300)))
    span = max(float(last) - float(first), 1e-12 * largest)
    step = max(math.ceil(math.log10(span / _STEPS)), 0 if whole else -300)
    multiples = np.arange(math.ceil(first / 10.0**step), math.floor(last / 10.0**step) + 1)
    small = np.arange(-1000, 1001) if whole else np.arange(-_TWELFTHS, _TWELFTHS + 1) / 12
    found = [_shifted(multiples, step), small]
    for digits in _DIGITS:
        leading = np.arange(10 ** (digits - 1), 10**digits)
        decades = [d - digits + 1 for d in range(top - _DECADES + 1, top + 1)]
        few = np.concatenate([_shifted(leading, d) for d in decades if d >= 0 or not whole] or [leading[:0]])
        marks = np.unique(np.concatenate([np.zeros(1), few, -few, *found]))
        if not whole:
            with np.errstate(over="ignore"):
                marks = np.union1d(marks, marks.astype(np.float32).astype(np.float64))
        marks = marks[(marks >= first) & (marks <= last)]
        if 2 * len(marks) < _MOST:
            break
    if whole:
        marks = marks.astype(np.int64)
    return np.union1d(marks, marks + 1 if whole else np.nextafter(marks, math.inf))


def _shifted(numbers: NDArray[Any], by: int) -> Floats:
    """Times a power of ten; dividing gives the very number that its digits are read as."""
    with np.errstate(over="ignore"):
        return np.asarray(numbers * 10.0**by if by >= 0 else numbers / 10.0**-by)


def depths(cells: int, bins: int) -> int:
    """How many tables it takes from the bins down to single cells, if all are cut."""
    return 1 + math.ceil(math.log(max(cells / bins, 1), PARTS))


def finer(cells: Ints, counts: Floats, noise: float) -> Ints | None:
    """The cells of the next depth; None where none is cut.

    cells: (G,) of each cell of the grid, the one it lies in now; counts: people in those, as estimated;
    noise: the standard deviation of a count. A cut into parts that only noise tells apart does harm.
    """
    size = np.bincount(cells)
    fewest = max(_NOISES * noise, counts.sum() / _FINEST)
    parts = np.where(counts >= fewest, np.minimum(size, PARTS), 1)
    if parts.max() == 1:
        return None
    place = np.arange(len(cells)) - (np.cumsum(size) - size)[cells]
    return np.asarray((np.cumsum(parts) - parts)[cells] + place * parts[cells] // size[cells])
