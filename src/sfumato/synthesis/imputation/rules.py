"""What cannot be, and rows that stand for many: constraints and survey weights for models of columns.

A row of the data that breaks a constraint is left out before anything is learnt. A drawn row that breaks one
is drawn again, as a whole: what comes out is the law of the models given that the constraints hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import Codebook, canonical_type
from sfumato.errors import DataError, ParameterError, SchemaError, listed
from sfumato.schema import Kind, Schema
from sfumato.synthesis.constraints import Conditions, Constraint, Implies, Never, Ordered, Within
from sfumato.synthesis.imputation.chain import ColumnLaw
from sfumato.synthesis.imputation.copies import Guard
from sfumato.synthesis.imputation.draws import Draw, Floats
from sfumato.synthesis.imputation.variables import Frame, ModelVariable, Variables, rows_of
from sfumato.table import Table

Bools = NDArray[np.bool_]
_TRIES = 500


@dataclass(frozen=True, eq=False)
class Rules:
    """Constraints on columns as models see them."""

    constraints: tuple[Constraint, ...]
    variables: Variables

    def __post_init__(self) -> None:
        names = self.variables.names
        unknown = sorted({repr(n) for c in self.constraints for n in c.columns if n not in names})
        if unknown:
            raise SchemaError(
                f"constraints name columns that no model looks at: {listed(unknown)}.",
                hint=f"there are {listed([repr(n) for n in names])}",
            )
        nobody = {v.name: np.empty(0) for v in self.variables.columns}
        for constraint in self.constraints:  # values that a column does not have are said now
            self._broken(constraint, nobody)

    def broken(self, frame: Mapping[str, Floats], unknown: Mapping[str, Bools] | None = None) -> Bools:
        """Which rows break a constraint. unknown: cells that count as nothing, not as missing either."""
        out = np.zeros(rows_of(frame), bool)
        for constraint in self.constraints:
            open_ = [unknown[n] for n in constraint.columns if unknown is not None and n in unknown]
            known = ~np.logical_or.reduce(open_) if open_ else True
            out |= self._broken(constraint, frame) & known
        return out

    def _broken(self, constraint: Constraint, frame: Mapping[str, Floats]) -> Bools:
        if isinstance(constraint, Never):
            return self._all(constraint.combination, frame)
        if isinstance(constraint, Implies):
            return self._all(constraint.when, frame) & ~self._all(constraint.then, frame)
        if isinstance(constraint, Ordered):
            first, second = (
                _numbers(self.variables[n], frame[n]) for n in (constraint.first, constraint.second)
            )
            return np.asarray(first > second)  # not-a-number is above nothing
        return self._outside(constraint, frame)

    def _all(self, wanted: Conditions, frame: Mapping[str, Floats]) -> Bools:
        found = [_has(self.variables[n], frame[n], values) for n, values in wanted.items()]
        return np.asarray(np.logical_and.reduce(found), np.bool_)

    def _outside(self, rule: Within, frame: Mapping[str, Floats]) -> Bools:
        group, detail = self.variables[rule.group], self.variables[rule.column]
        if group.book is None or detail.book is None:
            raise SchemaError("details and their groups are levels, not numbers.", hint="declare levels")
        possible = rule.possible(group.book, detail.book)
        codes = (frame[rule.group].astype(np.int64), frame[rule.column].astype(np.int64))
        return np.asarray(~possible[codes], np.bool_)


def _has(variable: ModelVariable, values: Floats, wanted: object) -> Bools:
    """Which cells hold one of the values; a number stands for the bin it lies in, where there are bins."""
    several = list(wanted) if isinstance(wanted, (list, tuple, set, frozenset)) else [wanted]
    book = variable.book
    if book is None and variable.column.edges is not None:
        book = Codebook.declared(variable.column)
        values = book.encode(variable.arrow(values)).astype(np.float64)
    if book is not None:
        return np.isin(values, [float(book.code_of(one)) for one in several])
    filled = [one for one in several if one is not None]
    numbers = variable.numbers(pa.array(filled, canonical_type(variable.column))) if filled else np.empty(0)
    found = np.isin(values, numbers)
    return found | np.isnan(values) if len(filled) < len(several) else found


def _numbers(variable: ModelVariable, values: Floats) -> Floats:
    if variable.book is None:
        return values
    if variable.column.kind is not Kind.ORDINAL or variable.column.type in ("text", "boolean"):
        raise SchemaError(f"column '{variable.name}' has no numbers to be ordered by.", hint="declare edges")
    levels = np.append(np.array(variable.book.levels.to_pylist(), np.float64), np.nan)
    return np.asarray(levels[np.minimum(values.astype(np.int64), len(levels) - 1)])


def without(frame: Frame, broken: Bools) -> Frame:
    """The rows that keep the constraints."""
    if broken.all():
        raise DataError("every row breaks a constraint.", hint="correct the constraints")
    return {n: v[~broken] for n, v in frame.items()} if broken.any() else frame


def draw_rows(
    laws: Sequence[ColumnLaw],
    rules: Rules,
    given: Mapping[str, Floats],
    rows: int,
    draw: Draw,
    guard: Guard | None = None,
) -> Frame:
    """Columns one after the other for so many rows, again where a constraint is broken or the guard says."""
    frame: Frame = {n: v.copy() for n, v in given.items()}
    todo = np.arange(rows)
    for attempt in range(_TRIES):
        part: Frame = {n: v[todo] for n, v in given.items()}
        for law in laws:
            part[law.target.name] = law.draw(rules.variables, part, len(todo), draw)
        for law in laws:
            name = law.target.name
            frame.setdefault(name, np.empty(rows))[todo] = part[name]
        again = rules.broken(part) if rules.constraints else np.zeros(len(todo), bool)
        if guard is not None:
            again |= guard.refused(part, draw, attempt)
        todo = todo[again]
        if not len(todo):
            return frame
    raise ParameterError(
        f"{len(todo)} of {rows:,} rows broke a constraint each of {_TRIES} times they were drawn.",
        hint="fewer constraints, or an order in which they are met more often",
    )


def refuse(constraints: object, weight: str | None, schema: Schema) -> None:
    """A weight that is none, before any data are read."""
    if weight is not None and schema[weight].kind is not Kind.NUMERIC:
        raise SchemaError(f"weight column '{weight}' is not a number.", hint="kind = 'numeric'")


def checked_weights(table: Table, weight: str | None) -> Floats | None:
    """The weights of rows as they are."""
    if weight is None:
        return None
    found = checked(table.select([weight]).to_arrow().column(weight).combine_chunks(), weight)
    if not found.sum() > 0:
        raise DataError(f"every weight in '{weight}' is 0.", hint="nobody would count: correct the weights")
    return found


def checked(array: pa.Array, weight: str) -> Floats:
    """Weights as numbers, none of them missing or negative."""
    found = np.asarray(array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
    wrong = int((~np.isfinite(found) | (found < 0)).sum())
    if wrong:
        raise DataError(
            f"{wrong} rows of weight column '{weight}' are missing or negative.",
            hint="leave these rows out, or correct them",
        )
    return found


def weights_of(table: Table, weight: str | None) -> Floats | None:
    """The weights of rows, scaled so that they sum to the effective number of rows (Kish)."""
    found = checked_weights(table, weight)
    return None if found is None else effective(found)


def effective(weights: Floats) -> Floats:
    """Weights scaled to sum to the effective number of rows, (sum w)^2 / sum w^2."""
    return np.asarray(weights * (weights.sum() / (weights**2).sum())) if len(weights) else weights


def faults(constraints: object, weight: object) -> list[str]:
    """Parameters that are no constraints or no name."""
    out = []
    if not isinstance(constraints, (list, tuple)) or not all(isinstance(c, Constraint) for c in constraints):
        out.append("constraints must be Never, Implies, Ordered or Within")
    if weight is not None and not isinstance(weight, str):
        out.append("weight must be the name of a column")
    return out
