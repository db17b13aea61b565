"""What a released model may be asked: its features, and a row of plain values as codes.

Pure Python on purpose: a service scores with it and needs neither a data frame nor a compiler. A row that
breaks a rule is refused by field and rule; no message ever holds a value.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar

from sfumato.errors import SchemaError, SfumatoError, listed

KINDS = ("number", "category", "flag")
_SHOWN = 100  # characters of a field's name that an error repeats

Fault = tuple[int, str, str]
Level = str | int | float | bool


class FeatureError(SfumatoError):
    """Rows that a model cannot score.

    faults: (row, field, rule) of each, rows counted from 0. Names and rules only, never a value.
    """

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = list(faults)
        rules = sorted({f"{name}: {rule}" if name else rule for _, name, rule in self.faults})
        super().__init__(
            f"{len(self.faults)} fault{'s' * (len(self.faults) != 1)} in the rows to score: {listed(rules)}.",
            hint="the model's features say what each field may hold",
        )


@dataclass(frozen=True)
class Feature:
    """One input of a model, as everybody may know it.

    kind: number, category or flag (two levels).
    low, high: the public bounds of a number; what lies outside is clamped. None where there is no bound.
    levels: of a category or flag, all that are allowed.
    thresholds: of a number, where one bin ends and the next begins; a value on a threshold is above it.
    missing_allowed: None (or no such field) is a category of its own.
    """

    name: str
    kind: str
    low: float | None = None
    high: float | None = None
    levels: tuple[Level, ...] = ()
    thresholds: tuple[float, ...] = ()
    unit: str = ""
    label: str = ""
    missing_allowed: bool = True

    levels_told: ClassVar[bool] = True  # to who asks what a row may hold

    def __post_init__(self) -> None:
        faults = _faults(self)
        if faults:
            raise SchemaError(f"a feature: {'; '.join(faults)}.", hint="bounds and levels are public")

    @property
    def bins(self) -> int:
        """How many bins or levels there are, missing not counted."""
        return len(self.thresholds) + 1 if self.kind == "number" else len(self.levels)

    @property
    def size(self) -> int:
        """How many codes there are: missing, if allowed, is the last."""
        return self.bins + self.missing_allowed

    def named(self, code: int) -> str:
        """The bin or level of a code in words."""
        if code == self.bins:
            return "missing"
        if self.kind != "number":
            return str(self.levels[code])
        marks = (self.low, *self.thresholds, self.high)
        low, high = marks[code], marks[code + 1]
        left = "below" if low is None else f"{low:g} to below"
        if high is None:
            return "any" if low is None else f"{low:g} and above"
        last = code == self.bins - 1 and low is not None
        return f"{low:g} to {high:g}" if last else f"{left} {high:g}"


def _faults(feature: Feature) -> list[str]:
    faults = []
    if not isinstance(feature.name, str) or not feature.name or len(feature.name) > 500:
        faults.append("the name must be text of 1 to 500 characters")
    if feature.kind not in KINDS:
        faults.append(f"its kind is none of {', '.join(KINDS)}")
    if not all(isinstance(t, str) for t in (feature.unit, feature.label)):
        faults.append("unit and label are texts")
    if not isinstance(feature.missing_allowed, bool):
        faults.append("missing_allowed is true or false")
    if feature.kind == "number":
        marks = [m for m in (feature.low, *feature.thresholds, feature.high) if m is not None]
        if not all(_finite(m) for m in marks):
            faults.append("its bounds and thresholds are finite numbers")
        elif any(a >= b for a, b in pairwise(marks)):
            faults.append("its bounds and thresholds must increase")
        if feature.levels:
            faults.append("a number has no levels")
        return faults
    kinds = {
        "text" if isinstance(v, str) else "flag" if isinstance(v, bool) else "number" for v in feature.levels
    }
    if not feature.levels or len(set(feature.levels)) < len(feature.levels):
        faults.append("its levels are empty or repeat")
    elif len(kinds) > 1 or not all(isinstance(v, str) or _finite(v) for v in feature.levels):
        faults.append("its levels are all texts, all numbers, or true and false")
    if feature.kind == "flag" and len(feature.levels) > 2:
        faults.append("a flag has at most two levels")
    if feature.thresholds or feature.low is not None or feature.high is not None:
        faults.append("only a number has bounds and thresholds")
    return faults


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


class Inputs:
    """Rows of plain values to codes: bins and levels by number, missing last."""

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = tuple(features)
        self._known = frozenset(f.name for f in self.features)
        self._plans = [
            (
                f.name, f.kind == "number", f.thresholds,
                -math.inf if f.low is None else f.low, math.inf if f.high is None else f.high,
                {v: i for i, v in enumerate(f.levels)}, _type_of(f), f.bins if f.missing_allowed else None,
            )
            for f in self.features
        ]  # fmt: skip

    def codes(self, row: Mapping[str, Any], clamped: list[str]) -> list[int]:
        """The codes of one row; names of clamped numbers are added to `clamped`.

        Raises FeatureError, with 0 for the row, if anything is wrong with it.
        """
        out = []
        found = 0
        try:
            for name, number, thresholds, low, high, table, kind, missing in self._plans:
                value = row.get(name)
                if value is None:
                    if missing is None:
                        return self._refuse(row)
                    found += name in row
                    out.append(missing)
                    continue
                found += 1
                if number:
                    if type(value) is not float and type(value) is not int:
                        value = _number(value)
                        if value is None:
                            return self._refuse(row)
                    if value - value != 0:  # NaN, or infinite
                        return self._refuse(row)
                    if value < low:
                        clamped.append(name)
                        value = low
                    elif value > high:
                        clamped.append(name)
                        value = high
                    elif type(value) is not float:
                        float(value)  # what no float can hold has no bound here that would clamp it
                    out.append(bisect_right(thresholds, value))
                    continue
                code = table.get(value) if _fits(value, kind) else None
                if code is None:
                    return self._refuse(row)
                out.append(code)
            if found != len(row):
                return self._refuse(row)
        except (AttributeError, TypeError, ValueError, ArithmeticError):
            return self._refuse(row)
        return out

    def _refuse(self, row: object) -> list[int]:
        raise FeatureError(self.faults(row, 0) or [(0, "", "the row cannot be read")])

    def faults(self, row: object, place: int) -> list[Fault]:
        """Everything wrong with a row."""
        if not isinstance(row, Mapping):
            return [(place, "", "a row is a table of fields and values")]
        faults = []
        for name in row:
            if name not in self._known:
                shown = name[:_SHOWN] if isinstance(name, str) else ""
                faults.append((place, shown, "the model has no such feature"))
        for feature in self.features:
            rule = _broken(feature, row.get(feature.name))
            if rule:
                faults.append((place, feature.name, rule))
        return faults


def _broken(feature: Feature, value: object) -> str:
    """The rule that a value breaks, or nothing."""
    if value is None:
        return "" if feature.missing_allowed else "a value is required"
    if feature.kind == "number":
        number = _number(value)
        if number is None:
            return "must be a number"
        try:
            return "" if math.isfinite(number) else "must be a finite number"
        except OverflowError:  # a whole number beyond all floats: clamped if there is a bound on its side
            bound = feature.high if number > 0 else feature.low
            return "" if bound is not None else "must be a finite number"
    if not _fits(value, _type_of(feature)):
        return f"must be {_WORDS[_type_of(feature)]}"
    try:
        return "" if value in feature.levels else f"must be one of {len(feature.levels)} declared levels"
    except TypeError:
        return "must be a plain value"


_WORDS = {str: "text", bool: "true or false", float: "a number"}


def _type_of(feature: Feature) -> type:
    first = feature.levels[0] if feature.levels else 0.0
    return str if isinstance(first, str) else bool if isinstance(first, bool) else float


def _fits(value: object, kind: type) -> bool:
    if kind is float:
        return _number(value) is not None
    return isinstance(value, kind)


def _number(value: object) -> Any:
    """A real number, or None for anything else (True is not a number here)."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    return value
