"""Linear programs over cells, solved by HiGHS. The only module that knows the solver."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from highspy import Highs
    from scipy.sparse import csr_matrix

    from sfumato.cells.publication import Published, Relations

Real = NDArray[np.float64]

_NEAR = 1e-6
_WHOLE_NODES = 200  # of branch and bound, for a filling in whole numbers


def solver() -> Any:
    """HiGHS, silent, on one thread."""
    try:
        import highspy
    except ImportError:
        raise MissingExtraError("looking into tables", "tables") from None
    make: Any = highspy.Highs
    found = make()
    found.silent()
    found.setOptionValue("threads", 1)
    return found


def load(
    highs: Highs,
    matrix: csr_matrix,
    cost: Real,
    low: Real,
    high: Real,
    least: Real,
    most: Real,
    whole: NDArray[np.bool_] | None = None,
) -> None:
    """Pass a program: minimize cost x, low <= x <= high, least <= matrix x <= most."""
    import highspy

    columns = matrix.tocsc()
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = columns.shape[1], columns.shape[0]
    program.col_cost_, program.col_lower_, program.col_upper_ = cost, low, high
    program.row_lower_, program.row_upper_ = least, most
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = columns.indptr
    program.a_matrix_.index_ = columns.indices
    program.a_matrix_.value_ = columns.data
    if whole is not None:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        program.integrality_ = [kinds[int(w)] for w in whole]
    highs.passModel(program)


def solved(highs: Highs) -> str:
    """Run it, and say how it ended: optimal, infeasible, unbounded or stopped."""
    import highspy

    highs.run()
    status = highs.getModelStatus()
    kinds = highspy.HighsModelStatus
    return {
        kinds.kOptimal: "optimal",
        kinds.kInfeasible: "infeasible",
        kinds.kUnbounded: "unbounded",
        kinds.kUnboundedOrInfeasible: "unbounded",  # callers start from a filling, so it is not the latter
    }.get(status, "stopped")


def values(highs: Highs) -> Real:
    """The solution's cells."""
    return np.array(highs.getSolution().col_value, np.float64)


def feasible(published: Published) -> Real:
    """Values that fit all that was published."""
    relations = published.relations
    program = (relations.matrix, np.zeros(relations.cells), published.low, published.high)
    highs = solver()
    load(highs, *program, relations.least, relations.most)
    if solved(highs) != "optimal":
        wrong = published.impossible()
        what = "no cells fit everything that was published"
        if wrong:
            what = "1 total is not" if wrong == 1 else f"{wrong} totals are not"
            what += " the sum of its parts" if wrong == 1 else " the sums of their parts"
        raise DataError(
            f"the tables do not add up: {what}.",
            hint="see whether totals are the sums of their parts, and whether cells were rounded",
        )
    found = values(highs)
    if not published.whole.any():
        return found
    if not is_whole(found[published.whole]):
        load(highs, *program, relations.least, relations.most, published.whole)
        highs.setOptionValue("mip_max_nodes", _WHOLE_NODES)
        status = solved(highs)
        if status == "infeasible":
            raise DataError(
                "the tables do not add up: no whole counts fit everything that was published.",
                hint="see whether totals are the sums of their parts, and whether cells were rounded",
            )
        if status != "optimal":
            return found
        found = values(highs)
    found[published.whole] = np.rint(found[published.whole])
    return found


def whole_near(relations: Relations, near: Real, *, seconds: float = 60.0) -> NDArray[np.int64] | None:
    """Whole numbers from 0 up that keep all relations, next to numbers that do: each goes up or down.

    Where that cannot be, as it may not in tables of three and more ways, by one more, or two, and so on. None
    if nothing is found in this many seconds: such programs can be hard, and which are hangs on the numbers.
    """
    whole = np.ones(len(near), bool)
    part = near - np.floor(near)
    end = time.monotonic() + seconds
    for more, kinds in itertools.product((0, 1, 2, 4, 8), (None, whole)):
        # most often the corner that is found is whole by itself; else any whole numbers so near will do
        left = end - time.monotonic()
        if left <= 0:
            break
        low = np.maximum(np.floor(near + _NEAR) - more, 0.0)
        high = np.maximum(np.ceil(near - _NEAR) + more, low)
        highs = solver()
        load(highs, relations.matrix, 1 - 2 * part, low, high, relations.least, relations.most, kinds)
        highs.setOptionValue("time_limit", left)
        highs.setOptionValue("mip_max_nodes", _WHOLE_NODES)
        highs.setOptionValue("mip_max_improving_sols", 1)
        solved(highs)
        found = values(highs)
        if len(found) and is_whole(found) and _keeps(relations, np.rint(found), low, high):
            return np.rint(found).astype(np.int64)
    return None


def _keeps(relations: Relations, numbers: Real, low: Real, high: Real) -> bool:
    """Whether a search that may have been stopped found whole numbers that fit, to the last one."""
    sums = relations.matrix @ numbers
    inside = np.all((numbers >= low) & (numbers <= high))
    return bool(inside and np.all((sums >= relations.least) & (sums <= relations.most)))


def is_whole(numbers: Real) -> bool:
    """Whether all of them are whole, but for what reckoning adds."""
    return bool(np.all(np.abs(numbers - np.rint(numbers)) <= _NEAR * (1 + np.abs(numbers))))
