"""Hierarchies as a plan names them: a recipe and its settings, or a table of levels in a file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy import (
    BritishPostcodes,
    Calendar,
    Hierarchy,
    Icd9,
    Icd10,
    Intervals,
    Nested,
    Prefixes,
    ages,
    read_levels,
    zip_codes,
)
from sfumato.methods.shapes import Either, Flag, ListOf, Number, Record, Tagged, Text

_ROOT = "*"
_KEEP = ListOf(Number("", 1, 100, whole=True), "How many characters each level keeps, falling.", least=1)
_WIDTHS = ListOf(
    Number("", 0, above=True), "Widths of the bands, each a multiple of the one before.", least=1
)
_TOP = Number("Values from here on share one band.")
_BOTTOM = Number("Values below share one band.")
_CHAPTERS = Flag("Blocks and chapters of the classification above the category.")
_WIDTH = Number("Codes are filled with zeros to this width first.", 0, 100, whole=True)

RECIPES: dict[str, Record] = {
    "suppress": Record({}, "The value, or nothing."),
    "ages": Record({"widths": _WIDTHS, "top": _TOP, "bottom": _BOTTOM}, "Years, pooled from 90 on."),
    "intervals": Record(
        {"widths": _WIDTHS, "low": Number("Where a band starts."), "top": _TOP, "bottom": _BOTTOM,
         "edges": ListOf(ListOf(Number()), "Edges of each level instead of widths.")},
        "Numbers in bands."),
    "bands": Record(
        {"by": Number("How many bands are put together each time.", 2, 10, whole=True)},
        "Text that is bands already, such as [0-10), put together step by step."),
    "zip": Record({"keep": _KEEP, "width": _WIDTH}, "US ZIP codes, German PLZ: first digits."),
    "prefixes": Record(
        {"keep": _KEEP, "width": _WIDTH, "ignored": Text("Characters that do not count.", empty=True)},
        "Codes by their first characters.", ("keep",)),
    "icd9": Record({"keep": _KEEP, "chapters": _CHAPTERS}, "ICD-9-CM: subcategory, category, chapters."),
    "icd10": Record({"keep": _KEEP, "chapters": _CHAPTERS}, "ICD-10: subcategory, category, chapters."),
    "british_postcodes": Record({}, "Sector, district, area."),
    "quantiles": Record(
        {"edges": ListOf(ListOf(Number(), least=1), "Edges of each level, finest first.", least=1)},
        "Numbers in bands whose edges were read off the data, about as many rows in each; never after a "
        "step with an epsilon.", ("edges",)),
    "calendar": Record(
        {"steps": ListOf(Either((Text("", ("day", "month", "quarter", "year")), Number("", 2, whole=True)),
                                "day, month, quarter, year, or a number of years"),
                         "From short to long.", 1)},
        "Days by month, quarter, year, bands of years; also days written as 20190314."),
    "columns": Record(
        {"above": ListOf(Text(), "The other columns, from fine to coarse.", least=1)},
        "Other columns that this one nests in, as county and region above a hospital; they go with it.",
        ("above",)),
    "levels": Record(
        {"file": Text("A table of levels, most specific value first, as ARX writes them.")},
        "A table of levels from a file.", ("file",)),
}  # fmt: skip

HIERARCHY = Either(
    (
        Text("A recipe without settings.", tuple(n for n in RECIPES if not RECIPES[n].required)),
        Tagged("recipe", RECIPES),
    ),
    f"a recipe ({', '.join(RECIPES)}), or a table with 'recipe' and its settings",
    "How values become more general.",
)


@dataclass(frozen=True)
class Suppress:
    """The value, or nothing."""

    def over(self, levels: Sequence[object]) -> Hierarchy:
        """Every value directly below the root."""
        return Hierarchy.of_rows([(str(v), _ROOT) for v in levels], name="the column")


_BAND = re.compile(r"\s*[\[(]?\s*(-?\d+(?:\.\d+)?)\s*(?:-|–|,|to|;)\s*(-?\d+(?:\.\d+)?)\s*([\])]?)\s*")
_OPEN = re.compile(r"\s*(?:>=?\s*(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)\s*\+)\s*")


@dataclass(frozen=True)
class Bands:
    """Text that is bands already, put together by twos, again and again, in the order of their numbers."""

    by: int = 2

    def over(self, levels: Sequence[object]) -> Hierarchy:
        """Every band, the two it is put together with, the four, ..., and *."""
        found = {str(v): band(str(v)) for v in levels}
        odd = [v for v, b in found.items() if b is None]
        if odd:
            raise DataError(
                f"{len(odd)} of {len(found)} values are not bands of numbers.",
                hint="recipe = 'suppress'",
                values=odd,
            )
        names = sorted(found, key=lambda v: found[v] or ("", ""))
        rows = [[v] for v in names]
        size = self.by
        while size < len(names):
            for first in range(0, len(names), size):
                part = names[first : first + size]
                label = part[0] if len(part) == 1 else f"{_start(part[0])} to {_end(part[-1])}"
                for i in range(first, first + len(part)):
                    rows[i].append(label)
            size *= self.by
        return Hierarchy.of_rows([(*row, _ROOT) for row in rows], name="the column")


def band(text: str) -> tuple[float, float] | None:
    """The ends of a band such as [10-20), 10 to 19, 90+ or >90; None if it is none."""
    found = _BAND.fullmatch(text)
    if found:
        return float(found[1]), float(found[2])
    found = _OPEN.fullmatch(text)
    return (float(found[1] or found[2]), float("inf")) if found else None


def _start(text: str) -> str:
    found = band(text)
    assert found is not None
    return f"{found[0]:g}"


def _end(text: str) -> str:
    found = band(text)
    assert found is not None
    if found[1] == float("inf"):
        return "more"
    return f"{found[1]:g}"


def recipe(given: str | Mapping[str, Any], folder: Path) -> Any:
    """The recipe or hierarchy that an entry of a plan means; files are looked for from the plan's folder."""
    settings = {"recipe": given} if isinstance(given, str) else dict(given)
    name = settings.pop("recipe")
    match name:
        case "suppress":
            return Suppress()
        case "bands":
            return Bands(**settings)
        case "ages":
            return ages(**settings)
        case "intervals":
            return Intervals(**settings)
        case "quantiles":
            return Intervals(**settings, open=True)
        case "british_postcodes":
            return BritishPostcodes()
        case "zip":
            return zip_codes(**settings)
        case "prefixes":
            return Prefixes(**settings)
        case "icd9":
            return Icd9(**settings)
        case "icd10":
            return Icd10(**settings)
        case "calendar":
            return Calendar(**settings)
        case "columns":
            return Nested(**settings)
        case "levels":
            return read_levels(folder / settings["file"])
    raise ParameterError("no such recipe.", hint=f"one of {', '.join(RECIPES)}")
