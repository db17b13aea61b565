"""Recipes for hierarchies: applied to the values of a column, each gives a `Hierarchy`.

A recipe is a value of its own: it is checked when it is made, can be kept with a plan, and is applied with
`.over(levels)` once the column's values are known. Values it has no place for are refused, all at once.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Protocol

from sfumato.errors import ParameterError
from sfumato.hierarchy._numbers import number, said
from sfumato.hierarchy._values import placed
from sfumato.hierarchy.classifications import icd9_groups, icd10_groups
from sfumato.hierarchy.levels import ROOT, Hierarchy

_LONGEST = 100  # characters of a code


class Recipe(Protocol):
    """What gives a hierarchy once the values of a column are known; a `Hierarchy` does so too."""

    def over(self, levels: Sequence[object]) -> Hierarchy:
        """The hierarchy of a column with these values; missing ones are not looked at."""
        ...


@dataclass(frozen=True)
class Intervals:
    """Numbers in bands, from narrow to wide.

    widths: the width of the bands of each level; each a multiple of the one before, so that bands nest.
    low: where a band starts. edges: instead, the edges of each level, [e0, e1), [e1, e2), ...; those of a
    level are among those of the level below.
    bottom, top: values below `bottom` share one band, and values from `top` on another, on all levels from
    the first on (the leaf itself stays: ask for level 1 at least where it must not be told). With edges,
    values outside need these, or `open`: then what lies beyond the outer edges of a level is a band of it.
    Bands of whole numbers are written 0-4, others [0, 2.5); the outer ones <18 and 90+.
    """

    widths: tuple[float, ...] = ()
    low: float = 0
    edges: tuple[tuple[float, ...], ...] = ()
    bottom: float | None = None
    top: float | None = None
    open: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", tuple(self.widths))
        object.__setattr__(self, "edges", tuple(tuple(e) for e in self.edges))
        given = [*self.widths, self.low, *(e for edges in self.edges for e in edges)]
        given += [x for x in (self.bottom, self.top) if x is not None]
        faults = []
        if any(number(x) is None for x in given):
            raise ParameterError("widths, edges and ends must be numbers.")
        if bool(self.widths) == bool(self.edges):
            faults.append("give either widths or edges")
        if any(w <= 0 for w in self.widths):
            faults.append("widths must be above 0")
        elif any(_exact(b) % _exact(a) or a == b for a, b in pairwise(self.widths)):
            faults.append("each width must be a multiple of the one before")
        fewest = 1 if self.open else 2
        if any(len(e) < fewest or any(a >= b for a, b in pairwise(e)) for e in self.edges):
            faults.append(f"edges must be ascending, {'one' if self.open else 'two'} or more")
        if self.open and not self.edges:
            faults.append("open goes with edges")
        if any(not set(map(_exact, b)) <= set(map(_exact, a)) for a, b in pairwise(self.edges)):
            faults.append("the edges of a level must be among those of the level below")
        if self.bottom is not None and self.top is not None and self.bottom >= self.top:
            faults.append("bottom must lie below top")
        if faults:
            raise ParameterError(
                f"these are not intervals: {'; '.join(faults)}.", hint="as widths=(5, 10, 20)"
            )

    def over(self, levels: Sequence[object]) -> Hierarchy:
        """The hierarchy of a column with these values: the value, its bands, and *."""
        numbers = placed(levels, self._inside, "not numbers within the edges")
        whole = self._whole(numbers.values())
        rows = [(text, *self._bands(x, whole), ROOT) for text, x in numbers.items()]
        return Hierarchy.of_rows(rows, name="the column")

    def _inside(self, value: object) -> Fraction | None:
        x = number(value)
        if x is None or self._coded(x) is not None or not self.edges or self.open:
            return x
        first, last = max(e[0] for e in self.edges), min(e[-1] for e in self.edges)
        return x if _exact(first) <= x < _exact(last) else None

    def _coded(self, x: Fraction) -> str | None:
        """The outer band of a number, if it is in one."""
        if self.bottom is not None and x < _exact(self.bottom):
            return f"<{said(_exact(self.bottom))}"
        if self.top is not None and x >= _exact(self.top):
            return f"{said(_exact(self.top))}+"
        return None

    def _whole(self, numbers: object) -> bool:
        ends = [self.low, *self.widths, *(e for edges in self.edges for e in edges), self.bottom, self.top]
        found = [*numbers, *(_exact(e) for e in ends if e is not None)]  # type: ignore[misc]
        return all(x.denominator == 1 for x in found) and min(found) >= 0

    def _bands(self, x: Fraction, whole: bool) -> list[str]:
        outer = self._coded(x)
        if outer is not None:
            return [outer] * (len(self.widths) + len(self.edges))
        bands: list[tuple[Fraction | None, Fraction | None]] = []
        for width in map(_exact, self.widths):
            start = _exact(self.low) + (x - _exact(self.low)) // width * width
            bands.append(self._cut(start, start + width))
        for edges in self.edges:
            exact = [_exact(e) for e in edges]
            i = bisect_right(exact, x)
            if 0 < i < len(exact):
                bands.append(self._cut(exact[i - 1], exact[i]))
            else:
                bands.append((exact[-1], None) if i else (None, exact[0]))
        return [_written(start, end, whole) for start, end in bands]

    def _cut(self, start: Fraction, end: Fraction) -> tuple[Fraction, Fraction]:
        """A band without what belongs to the outer ones."""
        if self.bottom is not None:
            start = max(start, _exact(self.bottom))
        if self.top is not None:
            end = min(end, _exact(self.top))
        return start, end


def _exact(x: float) -> Fraction:
    found = number(x)
    assert found is not None
    return found


def _written(start: Fraction | None, end: Fraction | None, whole: bool) -> str:
    if start is None or end is None:
        return f"<{said(end)}" if end is not None else f"{said(start or Fraction(0))}+"
    if not whole:
        return f"[{said(start)}, {said(end)})"
    return said(start) if end - start == 1 else f"{said(start)}-{said(end - 1)}"


def ages(
    widths: Sequence[float] = (1, 5, 10, 20), *, top: float = 90, bottom: float | None = None
) -> Intervals:
    """Ages in years, those from 90 on pooled (as HIPAA's Safe Harbor asks), bands from narrow to wide.

    Level 0 still has every single age, so level 1 is the least that a release may show.
    """
    return Intervals(widths=tuple(widths), top=top, bottom=bottom)


@dataclass(frozen=True)
class Prefixes:
    """Codes by their first characters: ZIP, PLZ, ICD.

    keep: how many characters each level keeps, falling. A level's name is the prefix and stars: one for each
    character cut where all codes are equally long (0213*, 021**), else a single one (427*).
    width: codes are filled with zeros to this width first (a ZIP code read as a number has lost its own).
    ignored: characters that do not count, such as the dot of 427.89.
    above: levels above the prefixes, by the shortest prefix: {"427": ("Heart disease", "Circulatory")}.
    """

    keep: tuple[int, ...]
    width: int = 0
    ignored: str = ""
    above: Mapping[str, Sequence[str]] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", tuple(self.keep))
        faults = []
        if not self.keep or any(k < 1 for k in self.keep) or any(a <= b for a, b in pairwise(self.keep)):
            faults.append("keep must be falling numbers of characters, 1 at least")
        if not 0 <= self.width <= _LONGEST:
            faults.append(f"width must lie between 0 and {_LONGEST}")
        if self.above is not None and len({len(up) for up in self.above.values()}) != 1:
            faults.append("above must have the same levels for each prefix")
        if faults:
            raise ParameterError(f"these are not prefixes: {'; '.join(faults)}.", hint="as keep=(4, 3)")

    def over(self, levels: Sequence[object]) -> Hierarchy:
        """The hierarchy of a column with these codes."""
        codes = placed(levels, self._code, "empty, or not in the table of what is above")
        lengths = {len(code) for code in codes.values()}
        size = lengths.pop() if len(lengths) == 1 else 0
        rows = [
            (text, *(self._masked(code, k, size) for k in self.keep), *self._up(code), ROOT)
            for text, code in codes.items()
        ]
        return Hierarchy.of_rows(rows, name="the column")

    def _code(self, value: object) -> str | None:
        text = str(value).strip().translate({ord(c): None for c in self.ignored})
        text = text.zfill(self.width)
        if not text or (self.above is not None and self._category(text) not in self.above):
            return None
        return text

    def _length(self, code: str, kept: int) -> int:
        """How many characters a level keeps of this code."""
        return kept

    def _category(self, code: str) -> str:
        return code[: self._length(code, self.keep[-1])]

    def _up(self, code: str) -> Sequence[str]:
        return () if self.above is None else self.above[self._category(code)]

    def _masked(self, code: str, kept: int, size: int) -> str:
        """The name depends on the prefix alone: a code that ends there shares it with those that go on."""
        length = self._length(code, kept)
        if len(code) < length:
            return code
        stars = (size - length) if size else 1
        return code[:length] + ROOT * max(0, stars)


@dataclass(frozen=True)
class Icd9(Prefixes):
    """ICD-9-CM: the category has three characters, that of external causes (E800) four; dots do not count.

    above: sub-chapter, chapter or the like by category, from a table. chapters: those of the classification
    itself, block and chapter. Zeros that a spreadsheet has taken from a category (8 for 008) are put back.
    """

    keep: tuple[int, ...] = (4, 3)
    ignored: str = "."
    chapters: bool = False

    def __post_init__(self) -> None:
        _with_chapters(self, icd9_groups)
        super().__post_init__()

    def _code(self, value: object) -> str | None:
        text = str(value).strip().upper()
        head, dot, rest = text.partition(".")
        return super()._code((head.zfill(3) if head.isdigit() else head) + dot + rest)

    def _length(self, code: str, kept: int) -> int:
        return kept + code[:1].upper().startswith("E")


@dataclass(frozen=True)
class Icd10(Prefixes):
    """ICD-10 and its national forms: the category has three characters (I48); dots do not count.

    above: block, chapter or the like by category, from a table. chapters: those of the classification itself.
    """

    keep: tuple[int, ...] = (4, 3)
    ignored: str = ".-+*!"
    chapters: bool = False

    def __post_init__(self) -> None:
        _with_chapters(self, icd10_groups)
        super().__post_init__()

    def _code(self, value: object) -> str | None:
        return super()._code(str(value).upper())


def _with_chapters(recipe: Icd9 | Icd10, groups: Callable[[], Mapping[str, tuple[str, str]]]) -> None:
    if not recipe.chapters:
        return
    if recipe.above is not None:
        raise ParameterError("chapters are given twice.", hint="chapters, or a table of what is above")
    if recipe.keep[-1:] != (3,):
        raise ParameterError("blocks are made of categories of three characters.", hint="as keep=(4, 3)")
    object.__setattr__(recipe, "above", groups())


@dataclass(frozen=True)
class BritishPostcodes:
    """Postcodes of the United Kingdom: sector (SW1A 1), district (SW1A), area (SW)."""

    def over(self, levels: Sequence[object]) -> Hierarchy:
        """The hierarchy of a column with these postcodes, or with their first halves."""
        codes = placed(levels, _british, "no British postcodes")
        return Hierarchy.of_rows([(text, *above, ROOT) for text, above in codes.items()], name="the column")


_BRITISH = re.compile(r"([A-Z]{1,2})(\d[A-Z\d]?)\s*(?:(\d)[A-Z]{2})?")


def _british(value: object) -> tuple[str, str, str] | None:
    found = _BRITISH.fullmatch(str(value).strip().upper())
    if found is None:
        return None
    area, district, sector = found.groups()
    # Marked with a star, so that no level is written as a postcode that stands in the data.
    within = f"{area}{district} {sector}*" if sector else f"{area}{district} *"
    return within, f"{area}{district} *", f"{area}*"


def zip_codes(keep: Sequence[int] = (4, 3, 2, 1), *, width: int = 5) -> Prefixes:
    """US ZIP codes or German PLZ: five digits, leading zeros put back."""
    return Prefixes(keep=tuple(keep), width=width)


@dataclass(frozen=True)
class LevelTable:
    """A table of levels: rows of value, group, wider group, ..., root, most specific first.

    Unlike `Hierarchy.of_rows` it keeps only the rows of values that occur, so that shares and losses are
    counted among those.
    """

    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(tuple(map(str, row)) for row in self.rows))
        Hierarchy.of_rows(self.rows)

    def over(self, levels: Sequence[object]) -> Hierarchy:
        """The rows of these values."""
        return Hierarchy.of_rows(self.rows).restricted(levels)
