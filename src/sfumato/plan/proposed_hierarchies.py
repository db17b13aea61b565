"""How the values of a column could become more general, guessed from the values: a recipe, and why.

Ages by their unit, days by the calendar, years in decades, postcodes by their first signs as they are, ICD
codes by the classification, bands put together, other numbers at rounded quantiles of the data. What is
left has no known order: the value, or nothing. Columns that nest in each other are `nesting`'s.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import SfumatoError
from sfumato.inference import names
from sfumato.inference.codes import code_system
from sfumato.plan.recipes import band, recipe
from sfumato.schema import Column, Kind, Role

Recipe = str | dict[str, Any]
SUPPRESS = "suppress"
OLD = {"years": 90, "months": 90 * 12, "days": 90 * 365}  # Safe Harbor: from here on ages are one category
_DIAGNOSIS = frozenset({"diag", "diagnosis", "diagnoses", "dx", "icd", "icd9", "icd10", "dgns", "diagnose"})
_POSTCODE = frozenset(
    [
        "zip",
        "zipcode",
        "zcta",
        "plz",
        "postleitzahl",
        "postcode",
        "postal",
        "postalcode",
        "postale",
        "codepostal",
        "codpost",
        "postdist",
        "cp",
        "cap",
    ]
)
_ICD9 = re.compile(r"(\d{1,3}(\.\d{1,2})?|\d{4,5}|V\d{2}\.?\d{0,2}|E\d{3}\.?\d?)", re.IGNORECASE)
_ICD10 = re.compile(r"[A-Z]\d[0-9A-Z]\.?[0-9A-Z]{0,4}[-+*!]?", re.IGNORECASE)
_COMPACT_DAY = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])([0-2]\d|3[01])")
_CODE = re.compile(r"[A-Za-z0-9.-]{2,10}")
_DIGITS = re.compile(r"\d{2,10}")
_BRITISH = re.compile(r"[A-Z]{1,2}\d[A-Z\d]?\s*\d[A-Z]{2}", re.IGNORECASE)
_CANADIAN = re.compile(r"[A-Z]\d[A-Z] ?(\d[A-Z]\d)?", re.IGNORECASE)
_DUTCH = re.compile(r"\d{4} ?[A-Z]{2}", re.IGNORECASE)
_WITH_DASH = re.compile(r"\d{2,5}[- ]\d{3,4}|\d{3} \d{2}")
_MOSTLY = 0.95
_FIRST_YEAR, _LAST_YEAR = 1850, 2100
_BANDS = (16, 8, 4, 2)  # of about as many rows each


@dataclass(frozen=True)
class Values:
    """The values of a column, and how many rows have each."""

    levels: Sequence[Any]
    n: Sequence[int] = ()

    @cached_property
    def texts(self) -> list[str]:
        """As they are written."""
        return [str(v) for v in self.levels]

    @cached_property
    def numbers(self) -> list[float]:
        """As numbers; none if one of them is no number."""
        try:
            found = [float(v) for v in self.levels]
        except (TypeError, ValueError):
            return []
        return found if all(map(math.isfinite, found)) else []

    def all(self, pattern: re.Pattern[str], least: float = 1.0) -> bool:
        """Whether so many of the different values have a form."""
        hits = sum(pattern.fullmatch(t.strip()) is not None for t in self.texts)
        return bool(self.texts) and hits >= least * len(self.texts)


def proposed(column: Column, values: Values) -> tuple[Recipe | None, str]:
    """A recipe and why; for what is not made more general only where a better one than * is known."""
    known = column.role is Role.QUASI_IDENTIFIER
    for found, why in _candidates(column, values, known):
        effective = _effective(found, values)
        if effective is not None:
            return effective, why
    return (SUPPRESS, "values without a known order: the value, or nothing") if known else (None, "")


def alternatives(column: Column, values: Values) -> list[tuple[Recipe, str]]:
    """Every recipe that fits the values, and why; the one that is proposed first, "suppress" last."""
    found: list[tuple[Recipe, str]] = []
    known = replace(column, role=Role.QUASI_IDENTIFIER)
    for given, why in (*_candidates(known, values, True), *_further(column, values)):
        effective = _effective(given, values)
        if effective is not None and all(effective != other for other, _ in found):
            found.append((effective, why))
    return [*found, (SUPPRESS, "the value, or nothing")]


def _further(column: Column, values: Values) -> Iterator[tuple[Recipe, str]]:
    """Recipes that fit by form, though nothing says that they are meant."""
    if values.numbers and column.kind in (Kind.NUMERIC, Kind.ORDINAL):
        span = max(values.numbers) - min(values.numbers)
        if span > 0:
            step = 10.0 ** (math.floor(math.log10(span)) - 1)
            widths = [
                int(w) if w >= 1 else float(f"{w:.10g}") for w in (step, 5 * step, 10 * step, 50 * step)
            ]
            yield {"recipe": "intervals", "widths": widths}, "numbers, rounded to bands of equal width"
        yield from _amounts(values)
    lengths = {len(t) for t in values.texts}
    if column.kind is Kind.NOMINAL and len(lengths) == 1 and values.all(_CODE):
        keep = list(range(lengths.pop() - 1, 0, -1))
        if keep:
            yield {"recipe": "prefixes", "keep": keep}, "codes of equal length, by their first characters"


def age_unit(column: Column) -> str:
    """'years', 'months' or 'days' of a column of ages; nothing if it is none. A stay has days too."""
    about = column.kind is Kind.NUMERIC and "age" in names.read(column.name)
    return (column.unit if column.unit in OLD else "years") if about else ""


def _candidates(column: Column, values: Values, known: bool) -> Iterator[tuple[Recipe, str]]:
    """Recipes that the values may fit, the best first."""
    if column.kind is Kind.DATE or (column.kind is Kind.NOMINAL and values.all(_COMPACT_DAY)):
        yield {"recipe": "calendar", "steps": ["month", "quarter", "year", 5, 10]}, "days"
    yield from _diagnoses(column, values)
    if not known:
        return
    yield from _postcodes(column, values)
    unit = age_unit(column)
    if unit:
        yield _ages(unit, values), f"ages in {unit}"
    if values.numbers and column.kind in (Kind.NUMERIC, Kind.ORDINAL):
        if _are_years(values.numbers):
            yield {"recipe": "intervals", "widths": [5, 10, 20]}, "years, by five, decade and two"
        if column.kind is Kind.NUMERIC:
            yield from _amounts(values)
    if len(values.texts) > 2 and all(band(t) is not None for t in values.texts):
        yield "bands", "bands of numbers"


def _effective(found: Recipe, values: Values) -> Recipe | None:
    """A recipe without the levels that change nothing in these values; None where nothing is left of it."""
    key = next((k for k in ("steps", "widths", "keep") if isinstance(found, dict) and k in found), "")
    try:
        if not key or not isinstance(found, dict):
            over = recipe(found, Path()).over(values.levels)
            return found if len(over.labels) > 2 else None
        kept: list[Any] = []
        before = len(values.levels)
        for step in found[key]:
            nodes = len(
                recipe({**found, key: [*kept, step]}, Path()).over(values.levels).labels[len(kept) + 1]
            )
            if 1 < nodes < before:
                kept, before = [*kept, step], nodes
        return {**found, key: kept} if kept else None
    except SfumatoError:
        return None


# -- one kind of value after the other --------------------------------------------------------------------


def _diagnoses(column: Column, values: Values) -> Iterator[tuple[Recipe, str]]:
    if column.kind not in (Kind.NOMINAL, Kind.FLAG):
        return
    system = code_system(values.texts, alone=True)
    named = bool(names.is_about(column.name, _DIAGNOSIS))
    for recipe_name, form, title in (("icd9", _ICD9, "ICD-9"), ("icd10", _ICD10, "ICD-10")):
        if (named or system == f"{title} codes") and values.all(form, _MOSTLY):
            yield {"recipe": recipe_name, "chapters": True}, f"codes that look like {title}"


def _postcodes(column: Column, values: Values) -> Iterator[tuple[Recipe, str]]:
    """As they are: no zeros are put in front, unless reading them as numbers has taken some away."""
    named = bool(names.is_about(column.name, _POSTCODE))
    if values.all(_BRITISH):
        yield "british_postcodes", "British postcodes"
    if not named:
        return
    if values.all(_CANADIAN):
        yield {"recipe": "prefixes", "keep": [3, 1], "ignored": " "}, "Canadian postcodes"
    if values.all(_DUTCH):
        yield {"recipe": "prefixes", "keep": [4, 3, 2, 1], "ignored": " "}, "Dutch postcodes"
    if values.all(_WITH_DASH):
        yield {"recipe": "prefixes", "keep": [5, 4, 3, 2, 1], "ignored": " -"}, "postal codes"
    if values.all(_DIGITS):
        lengths = {len(t) for t in values.texts}
        most = max(lengths)
        lost = column.type == "integer" and len(lengths) > 1  # 601 was 00601
        width = {"width": most} if lost else {}
        why = f"postal codes of {most} digits" + ", leading zeros put back" * lost
        yield {"recipe": "prefixes", "keep": list(range(most - 1, 0, -1)), **width}, why


def _ages(unit: str, values: Values) -> Recipe:
    """Bands of a unit that people use: years by five; months by quarter, year, five years; days by week."""
    most = max(values.numbers, default=0.0)
    if unit == "months":
        widths = [3, 6, 12] if most <= 36 else [12, 60, 120, 240]
    elif unit == "days":
        widths = [7, 28, 84] if most <= 366 else [365, 1_825, 3_650, 7_300]
    else:
        widths = [5, 10, 20]
    top = {} if unit == "years" else {"top": OLD[unit]}
    return {"recipe": "ages", "widths": widths, **top}


def _are_years(numbers: Sequence[float]) -> bool:
    inside = all(_FIRST_YEAR <= x <= _LAST_YEAR and x.is_integer() for x in numbers)
    return inside and len(numbers) > 2


def _amounts(values: Values) -> Iterator[tuple[Recipe, str]]:
    """Bands with about as many rows each, at numbers rounded so that no edge is a person's own amount."""
    edges = quantile_edges(values.numbers, values.n or [1] * len(values.numbers))
    if edges:
        yield {"recipe": "quantiles", "edges": edges}, "numbers, in bands at rounded quantiles of this data"


def quantile_edges(numbers: Sequence[float], n: Sequence[int]) -> list[list[float]]:
    """Edges of levels with 16, 8, 4 and 2 bands of about as many rows, rounded to as few digits as keep them.

    Those of a level are among those of the level below. Levels that say what the one below says are left out.
    """
    order = np.argsort(numbers)
    values, rows = np.asarray(numbers, float)[order], np.cumsum(np.asarray(n, float)[order])
    if len(values) < 3 or rows[-1] <= 0:
        return []
    whole = bool(np.all(values == np.round(values)))

    def at(share: float) -> float:
        return float(values[min(int(np.searchsorted(rows, share * rows[-1], side="right")), len(values) - 1)])

    marks = {i: _round(at(i / _BANDS[0]), whole, float(values[-1] - values[0])) for i in range(1, _BANDS[0])}
    levels: list[list[float]] = []
    for bands in _BANDS:
        step = _BANDS[0] // bands
        level = sorted({marks[i] for i in range(step, _BANDS[0], step) if values[0] < marks[i] <= values[-1]})
        if level and len(level) + 1 < len(values) and (not levels or len(level) < len(levels[-1])):
            levels.append([int(x) if whole else x for x in level])
    assert all(set(b) <= set(a) for a, b in pairwise(levels))
    return levels


def _round(value: float, whole: bool, span: float) -> float:
    """To two digits, or to a hundredth of the span where the numbers lie far from 0."""
    if value == 0 or span <= 0:
        return value
    step = 10.0 ** (math.floor(math.log10(min(abs(value), span))) - 1)
    rounded = round(value / step) * step
    return float(round(rounded)) if whole else float(f"{rounded:.10g}")
