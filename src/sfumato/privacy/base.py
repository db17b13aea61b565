"""What every claim has: whom it protects, what it rests on, and a stable written form."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, ClassVar, Self

from sfumato.errors import DataError, ParameterError
from sfumato.privacy.rounding import down, exact, up


@dataclass(frozen=True)
class Unit:
    """Whom a claim protects: one row, or one person with at most `max_rows` rows (a public number).

    max_rows: declared, never counted in the data, as a claim is published. None: any number of rows, which
        is enough where persons are counted in a file, and never for differential privacy.
    """

    of: str = "row"
    max_rows: int | None = None

    def __post_init__(self) -> None:
        if self.of not in ("row", "person"):
            raise ParameterError("a unit is a row or a person.", hint="Unit.row() or Unit.person(max_rows)")
        if self.of == "row" and self.max_rows is not None:
            raise ParameterError("a row has no number of rows.", hint="Unit.person(max_rows)")
        if self.of == "person" and self.max_rows is not None:
            rows = _whole(self.max_rows)
            if rows is None or rows < 1:
                raise ParameterError(
                    "the largest number of rows a person may have is a whole number from 1 up.",
                    hint="declare a public number and drop rows beyond it; do not count it in the data",
                )
            object.__setattr__(self, "max_rows", rows)

    @classmethod
    def row(cls) -> Unit:
        """One row."""
        return cls()

    @classmethod
    def person(cls, max_rows: int | None = None) -> Unit:
        """All rows of one person, at most `max_rows` if a number is declared."""
        return cls("person", max_rows)

    def __str__(self) -> str:
        if self.of == "row":
            return "one row"
        if self.max_rows is None:
            return "one person"
        return f"one person (with at most {self.max_rows} row{'s' * (self.max_rows != 1)})"

    def to_dict(self) -> dict[str, Any]:
        """The unit for JSON."""
        return {"of": self.of} if self.max_rows is None else {"of": self.of, "max_rows": self.max_rows}

    @classmethod
    def from_dict(cls, entry: object) -> Unit:
        """Read back what `to_dict` wrote."""
        if not isinstance(entry, Mapping) or not set(entry) <= {"of", "max_rows"} or "of" not in entry:
            raise DataError(
                "a claim's unit cannot be read.", hint="the file was changed or is not a guarantee"
            )
        return cls(entry["of"], entry.get("max_rows"))


class Neighbours(StrEnum):
    """Which two data sets differential privacy makes hard to tell apart."""

    ADD_REMOVE = "add/remove"  # one of the unit is there or not: even the number of rows is protected
    REPLACE = "replace"  # one of the unit has other values: the number of rows is public


ROW = Unit()
ONE_ID = "Each person has one id: who has two counts as two persons."
_LISTS = ("columns", "sensitive", "capped", "assumptions")
_AMOUNTS = ("epsilon", "delta", "rho", "l", "t", "c", "alpha", "total")


@dataclass(frozen=True)
class Claim(ABC):
    """One promise, with the unit it protects and what it rests on.

    scope: empty when the claim is about the whole release; otherwise the part it is about.
    """

    unit: Unit = field(default=ROW, kw_only=True)
    assumptions: tuple[str, ...] = field(default=(), kw_only=True)
    scope: str = field(default="", kw_only=True)

    rests_on_secret: ClassVar[bool] = False  # a disclosed seed or key ends it
    differential: ClassVar[bool] = False  # composes, and survives post-processing

    def __post_init__(self) -> None:
        faults = [fault for f in fields(self) if (fault := self._normalise(f))]
        if not isinstance(self.unit, Unit):
            faults.append("the unit must be a Unit")
        faults = faults or self._faults()
        if faults:
            raise ParameterError(
                f"{type(self).__name__}: {'; '.join(faults)}.", hint="a claim must be possible to keep"
            )

    def _normalise(self, f: Field[Any]) -> str:
        """Bring one field to its plain type, or say what is wrong with it."""
        value = getattr(self, f.name)
        if f.name in _LISTS:
            names = _items(value)
            if not all(isinstance(v, str) and v for v in names):
                return f"{f.name} must be a list of texts"
            object.__setattr__(self, f.name, names)
        elif f.name == "k":
            if _whole(value) is None:
                return "k must be a whole number"
            object.__setattr__(self, "k", _whole(value))
        elif f.name in _AMOUNTS and value is not None:
            try:
                # A larger l promises more, all other amounts promise less: round to the weaker side.
                object.__setattr__(self, f.name, (down if f.name == "l" else up)(exact(value)))
            except ParameterError:
                return f"{f.name} must be a finite number"
        elif f.type == "str" and not isinstance(value, str):
            return f"{f.name} must be text"
        return ""

    def _faults(self) -> list[str]:
        """Everything that makes the claim impossible, as sentences."""
        return []

    # -- words -------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def title(self) -> str:
        """The claim in a few words."""

    @abstractmethod
    def promise(self) -> str:
        """What is promised, and against whom."""

    @abstractmethod
    def limits(self) -> str:
        """What is not promised."""

    def text(self) -> str:
        """The whole claim in plain words: promise, limits, scope and assumptions."""
        parts = [f"{self.title[0].upper()}{self.title[1:]}.", self.promise(), self.limits()]
        if self.scope:
            parts.append(f"This is about {self.scope} alone.")
        if self.assumptions:
            parts.append("It rests on this: " + " ".join(map(_sentence, self.assumptions)))
        return " ".join(part for part in parts if part)

    def __str__(self) -> str:
        return self.text()

    # -- changes -----------------------------------------------------------------------------------

    def assuming(self, *sentences: str) -> Self:
        """The same claim with further assumptions; those already there are not repeated."""
        return replace(self, assumptions=tuple(dict.fromkeys((*self.assumptions, *sentences))))

    def about(self, scope: str) -> Self:
        """The same claim about a part of a larger release; a part of a part keeps both names."""
        return replace(self, scope=f"{self.scope} within {scope}" if self.scope else scope)

    # -- JSON --------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The claim for JSON; empty scope and assumptions are left out."""
        entry: dict[str, Any] = {"claim": type(self).__name__}
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name == "unit":
                entry["unit"] = value.to_dict()
            elif f.kw_only and value in ((), ""):
                continue
            else:
                entry[f.name] = list(value) if isinstance(value, tuple) else value
        # Own fields first, what all claims share last.
        shared = ("unit", "neighbours", "assumptions", "scope")
        return {k: entry[k] for k in sorted(entry, key=lambda k: k in shared)}


def _items(value: object) -> tuple[Any, ...]:
    """A list as a tuple; what is no list (a single text is none) as one item that no check lets pass."""
    return tuple(value) if isinstance(value, (list, tuple)) else (None,)


def _whole(value: object) -> int | None:
    """A whole number, or None for anything else (True is not a number here)."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
