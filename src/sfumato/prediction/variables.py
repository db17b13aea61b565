"""From columns to binary features: Section 5's X = Binarize(Z), and the words of a test.

A number is asked whether it is above a threshold, as in "bmi > 26.84" (cumulative, not bins: so the chapter's
figures have it); levels in order likewise; a category whether it is one level. Where a column can be missing,
each threshold may send missing either way, and missing is a test of its own. All tests of one column compete
as one variable: the best of each is what the variable offers.

Thresholds lie within stated bounds: the inner edges of the schema, or equal steps between bounds. Where
nothing is stated they are quantiles of the data, which then tell of the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError, listed
from sfumato.features.columns import PLAIN, telling
from sfumato.features.numbers import numbers
from sfumato.features.thresholds import quantiles, steps
from sfumato.schema import Column, Kind, Schema

Codes: TypeAlias = NDArray[np.int32]
Bounds: TypeAlias = Mapping[str, tuple[float, float]] | tuple[float, float] | None

STEPS = 19  # thresholds between bounds, where the schema says no more: twentieths
QUANTILES = 31  # thresholds where nothing is stated
_MOST_LEVELS = 1000
_KINDS = {**PLAIN, Kind.ORDINAL: "ordered"}


@dataclass(frozen=True)
class TreeVariable:
    """One column and the tests it offers.

    kind: number, ordered (levels in order), category or flag.
    thresholds: of a number, increasing; levels: of the others. missing: whether missing is offered as a test.
    public: thresholds and levels were stated, not read off the data.
    """

    name: str
    kind: str
    thresholds: tuple[float, ...] = ()
    levels: tuple[Any, ...] = ()
    missing: bool = False
    low: float | None = None
    high: float | None = None
    unit: str = ""
    label: str = ""
    public: bool = False

    def __post_init__(self) -> None:
        faults = []
        if self.kind not in _KINDS.values():
            faults.append("kind must be number, ordered, category or flag")
        if not all(math.isfinite(t) for t in self.thresholds):
            faults.append("thresholds must be finite")
        if list(self.thresholds) != sorted(set(self.thresholds)):
            faults.append("thresholds must increase")
        if (self.kind == "number") == bool(self.levels):
            faults.append("a number has thresholds, every other kind has levels")
        if len(set(map(repr, self.levels))) < len(self.levels):
            faults.append("levels repeat")
        if faults:
            raise ParameterError(f"variable '{self.name}': {'; '.join(faults)}.", hint="check the schema")

    @property
    def ordered(self) -> bool:
        """Whether tests are of the kind "above"."""
        return self.kind in ("number", "ordered")

    @property
    def cuts(self) -> int:
        """Bins or levels, less one; the code after the last one is missing."""
        return len(self.thresholds) if self.kind == "number" else len(self.levels) - 1

    @property
    def tests(self) -> int:
        """How many binary features the column gives."""
        if self.ordered:
            return 2 * self.cuts + 1 if self.missing else self.cuts
        return self.cuts + 1 + self.missing

    def passes(self, code: int, test: int) -> bool:
        """Whether a row with this code goes right: `_kernels.passes`, without a compiler."""
        if not self.ordered:
            return code == test
        if test < self.cuts:
            return test < code <= self.cuts
        return code > test - self.cuts if test < 2 * self.cuts else code == self.cuts + 1

    def words(self, test: int, *, negated: bool = False) -> str:
        """The test as a reader would say it: "bmi > 26.84", "sex = male", "hba1c missing"."""
        if test == self.tests - 1 and self.missing:
            return f"{self.name} {'not ' if negated else ''}missing"
        if not self.ordered:
            return f"{self.name} {'≠' if negated else '='} {self.levels[test]}"
        place, lost = test % self.cuts, test >= self.cuts
        if self.kind == "number":
            words = f"{self.name} {'≤' if negated else '>'} {self.thresholds[place]:.6g}"
        else:
            words = f"{self.name} {'up to' if negated else 'above'} {self.levels[place]}"
        return words + (" or missing" if self.missing and lost != negated else "")

    def codes(self, values: pa.Array) -> Codes:
        """Bins or levels of the cells, cuts + 1 where missing, -1 for a level that nobody declared."""
        if self.kind == "number":
            found = numbers(values)
            codes = np.searchsorted(np.asarray(self.thresholds), found, side="left")
            return np.where(np.isnan(found), self.cuts + 1, codes).astype(np.int32)
        known = pa.array(self.levels)
        found = pc.index_in(values.cast(known.type), known)
        codes = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int32)
        gone = pc.is_null(values).to_numpy(zero_copy_only=False)
        return np.where(gone, np.int32(self.cuts + 1), codes)

    def to_dict(self) -> dict[str, Any]:
        """The variable for JSON."""
        return {
            "name": self.name, "kind": self.kind, "thresholds": list(self.thresholds),
            "levels": list(self.levels), "missing": self.missing, "low": self.low, "high": self.high,
            "unit": self.unit, "label": self.label, "public": self.public,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class KernelLayout:
    """What the kernels need to know of the variables."""

    cuts: NDArray[np.int64]
    ordered: NDArray[np.bool_]
    missing: NDArray[np.bool_]

    @classmethod
    def of(cls, variables: Iterable[TreeVariable]) -> KernelLayout:
        """The layout of these variables, in order."""
        all_ = tuple(variables)
        return cls(
            np.array([v.cuts for v in all_], np.int64),
            np.array([v.ordered for v in all_], np.bool_),
            np.array([v.missing for v in all_], np.bool_),
        )


def variables_of(
    rows: pa.Table, schema: Schema, thresholds: int | None, bounds: Bounds
) -> tuple[TreeVariable, ...]:
    """The variables of a table; identifiers, weights, dates, texts and lists of codes give none."""
    usable = [c for c in telling(schema) if c.kind in _KINDS]
    if not usable:
        raise DataError("no column can be used as a feature.", hint="numbers, flags and categories can")
    _check_bounds(bounds, [c.name for c in usable])
    return tuple(_variable(c, rows[c.name].combine_chunks(), thresholds, bounds) for c in usable)


def _variable(column: Column, values: pa.Array, thresholds: int | None, bounds: Bounds) -> TreeVariable:
    shared: dict[str, Any] = {
        "name": column.name, "unit": column.unit, "label": column.description,
        "missing": bool(column.missing if column.public else values.null_count),
    }  # fmt: skip
    if column.kind is not Kind.NUMERIC:
        if column.levels is not None:
            return TreeVariable(
                kind=_KINDS[column.kind], levels=column.levels, public=column.public, **shared
            )
        found = pc.unique(values.drop_null()).to_pylist()
        if len(found) > _MOST_LEVELS:
            raise DataError(
                f"'{column.name}' has more than {_MOST_LEVELS} levels.",
                hint="leave it out, or declare its levels",
            )
        levels = tuple(sorted(found, key=lambda level: (str(type(level)), level))) or ("",)
        return TreeVariable(kind=_KINDS[column.kind], levels=levels, **shared)
    given = bounds.get(column.name) if isinstance(bounds, Mapping) else bounds
    edges = tuple(float(e) for e in column.edges or ())  # type: ignore[arg-type]
    finite = tuple(e for e in edges if math.isfinite(e))
    if given is None and len(finite) >= 2:
        low, high = finite[0], finite[-1]
        inner = finite[1:-1] if len(edges) == len(finite) else finite
        cuts = inner if thresholds is None and inner else steps(low, high, thresholds or STEPS)
        return TreeVariable(
            kind="number", thresholds=cuts, low=low, high=high, public=column.public, **shared
        )
    found = numbers(values)
    if given is None:
        cuts = quantiles(found[~np.isnan(found)], thresholds or QUANTILES)
        return TreeVariable(kind="number", thresholds=cuts, **shared)
    low, high = map(float, given)
    cuts = steps(low, high, thresholds or STEPS)
    return TreeVariable(kind="number", thresholds=cuts, low=low, high=high, public=True, **shared)


def _check_bounds(bounds: Bounds, names: Sequence[str]) -> None:
    """All faults of all bounds at once."""
    pairs = dict(bounds) if isinstance(bounds, Mapping) else {} if bounds is None else {"": bounds}
    faults = [f"'{name}' is not a column with numbers" for name in pairs if name and name not in names]
    for name, pair in pairs.items():
        try:
            low, high = (float(b) for b in pair)
            wrong = not (math.isfinite(low) and math.isfinite(high) and low < high)
        except (TypeError, ValueError):
            wrong = True
        if wrong:
            faults.append(f"'{name}'" if name else "the pair given for all columns")
    if faults:
        raise ParameterError(
            f"bounds are two finite numbers, the lower one first: {listed(faults)}.",
            hint='bounds={"bmi": (0, 70)}',
        )
