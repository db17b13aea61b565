"""What an entry of a plan may be: one description from which the check and the JSON Schema both come."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Protocol

Path_ = tuple[str | int, ...]
Fault = tuple[Path_, str]


class Shape(Protocol):
    """Something an entry may be. doc: for the reader of the JSON Schema."""

    @property
    def doc(self) -> str:
        """In a sentence, what the entry says."""
        ...

    def faults(self, value: object, at: Path_) -> Iterator[Fault]:
        """Everything wrong with a value, each with the place it is at."""
        ...

    def json(self) -> dict[str, Any]:
        """The same as JSON Schema."""
        ...

    def words(self) -> str:
        """The same in a few words, for a table."""
        ...


def described(shape: Shape) -> dict[str, Any]:
    """The JSON Schema of a shape with its words."""
    return {**shape.json(), **({"description": shape.doc} if shape.doc else {})}


@dataclass(frozen=True)
class Text:
    """A text; `choices` are the only ones allowed."""

    doc: str = ""
    choices: tuple[str, ...] = ()
    empty: bool = False

    def faults(self, value: object, at: Path_) -> Iterator[Fault]:
        """No text, an empty one, or none of the choices."""
        if not isinstance(value, str):
            yield at, f"must be {_one_of(self.choices) if self.choices else 'text'}"
        elif self.choices and value not in self.choices:
            near = difflib.get_close_matches(value, self.choices, 1)
            yield at, f"must be {_one_of(self.choices)}" + (f" (did you mean '{near[0]}'?)" if near else "")
        elif not self.empty and not value.strip():
            yield at, "is empty"

    def words(self) -> str:
        """The same in a few words, for a table."""
        return _one_of(self.choices).removeprefix("one of ") if self.choices else "text"

    def json(self) -> dict[str, Any]:
        """A string."""
        return {"type": "string", **({"enum": list(self.choices)} if self.choices else {})}


def _one_of(choices: tuple[str, ...]) -> str:
    return f"one of {', '.join(choices)}" if len(choices) > 1 else f"'{choices[0]}'"


@dataclass(frozen=True)
class Number:
    """A number within bounds; `whole` for whole ones, `above` excludes the lower bound."""

    doc: str = ""
    least: float | None = None
    most: float | None = None
    whole: bool = False
    above: bool = False

    def faults(self, value: object, at: Path_) -> Iterator[Fault]:
        """No number, or one out of bounds."""
        kinds = (int,) if self.whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or not math.isfinite(value):
            yield at, f"must be a {'whole ' * self.whole}number{self._bounds()}"
        elif (self.least is not None and (value < self.least or (self.above and value == self.least))) or (
            self.most is not None and value > self.most
        ):
            yield at, f"must be{self._bounds().replace(',', '', 1)}"

    def _bounds(self) -> str:
        low = "" if self.least is None else f" {'above' if self.above else 'at least'} {self.least:g}"
        high = "" if self.most is None else f" at most {self.most:g}"
        return f",{low}{' and' if low and high else ''}{high}" if low or high else ""

    def words(self) -> str:
        """The same in a few words, for a table."""
        return f"{'whole ' * self.whole}number{self._bounds()}"

    def json(self) -> dict[str, Any]:
        """A number or integer with its bounds."""
        out: dict[str, Any] = {"type": "integer" if self.whole else "number"}
        if self.least is not None:
            out["exclusiveMinimum" if self.above else "minimum"] = self.least
        if self.most is not None:
            out["maximum"] = self.most
        return out


@dataclass(frozen=True)
class Flag:
    """True or false."""

    doc: str = ""

    def faults(self, value: object, at: Path_) -> Iterator[Fault]:
        """Neither of the two."""
        if not isinstance(value, bool):
            yield at, "must be true or false"

    def words(self) -> str:
        """The same in a few words, for a table."""
        return "true or false"

    def json(self) -> dict[str, Any]:
        """A boolean."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class Plain:
    """Any text, number or truth value, or a list of such: values of cells, whose column decides."""

    doc: str = ""

    def faults(self, value: object, at: Path_) -> Iterator[Fault]:
        """A table, or a number that is none."""
        several = value if isinstance(value, list) else [value]
        if not all(isinstance(v, (str, int, float, bool, date)) for v in several) or any(
            isinstance(v, float) and not math.isfinite(v) for v in several
        ):
            yield at, "must be a value, or a list of values"

    def words(self) -> str:
        """The same in a few words, for a table."""
        return "a value, or a list of values"

    def json(self) -> dict[str, Any]:
        """Anything but a table."""
        return {"type": ["string", "number", "boolean", "array"]}


@dataclass(frozen=True)
class Day:
    """A day, as TOML writes it (2026-03-01) or the same as text."""

    doc: str = ""

    def faults(self, value: object, at: Path_) -> Iterator[Fault]:
        """No day."""
        if as_day(value) is None and value != "":
            yield at, "must be a day, as 2026-03-01"

    def words(self) -> str:
        """The same in a few words, for a table."""
        return "a day"

    def json(self) -> dict[str, Any]:
        """A date; editors see TOML's own dates as strings."""
        return {"type": "string"}


def as_day(value: object) -> date | None:
    """A day of TOML, or a text that spells one."""
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


@dataclass(frozen=True)
class ListOf:
    """A list of one kind of thing. whole_items: commas belong to an item, and do not divide a list."""

    of: Shape
    doc: str = ""
    least: int = 0
    whole_items: bool = False

    def faults(self, value: object, at: Path_) -> Iterator[Fault]:
        """No list, too short a one, or wrong items."""
        if not isinstance(value, list):
            yield at, "must be a list"
            return
        if len(value) < self.least:
            yield at, f"must have at least {self.least} item{'s' * (self.least > 1)}"
        for i, item in enumerate(value):
            yield from self.of.faults(item, (*at, i))

    def words(self) -> str:
        """The same in a few words, for a table."""
        return f"list of {self.of.words()}"

    def json(self) -> dict[str, Any]:
        """An array."""
        least = {"minItems": self.least} if self.least else {}
        return {"type": "array", "items": described(self.of), **least}


@dataclass(frozen=True)
class TableOf:
    """A table with names of the user's own, such as columns, and one kind of thing under each.

    known: entries with a meaning of their own beside them.
    """

    of: Shape
    doc: str = ""
    known: Mapping[str, Shape] = field(default_factory=dict)

    def faults(self, value: object, at: Path_) -> Iterator[Fault]:
        """No table, or wrong entries."""
        if not isinstance(value, Mapping):
            yield at, "must be a table"
            return
        for name, item in value.items():
            yield from self.known.get(name, self.of).faults(item, (*at, name))

    def words(self) -> str:
        """The same in a few words, for a table."""
        return f"table: {self.of.words()}"

    def json(self) -> dict[str, Any]:
        """An object with any names."""
        own = {"properties": {n: described(s) for n, s in self.known.items()}} if self.known else {}
        return {"type": "object", **own, "additionalProperties": described(self.of)}


@dataclass(frozen=True)
class Record:
    """A table with known entries, some of which must be there."""

    entries: Mapping[str, Shape]
    doc: str = ""
    required: tuple[str, ...] = ()

    def faults(self, value: object, at: Path_) -> Iterator[Fault]:
        """No table, entries nobody knows, entries that are missing, and what is wrong with the others."""
        if not isinstance(value, Mapping):
            yield at, "must be a table"
            return
        for name, item in value.items():
            if name in self.entries:
                yield from self.entries[name].faults(item, (*at, name))
            else:
                near = difflib.get_close_matches(name, self.entries, 1)
                yield (*at, name), "is not known here" + (f" (did you mean '{near[0]}'?)" if near else "")
        for name in self.required:
            if name not in value:
                yield at, f"needs '{name}'"

    def words(self) -> str:
        """The same in a few words, for a table."""
        return f"table of {', '.join(self.entries)}" if self.entries else "an empty table"

    def json(self) -> dict[str, Any]:
        """An object that has these properties and no others."""
        out: dict[str, Any] = {
            "type": "object",
            "properties": {name: described(shape) for name, shape in self.entries.items()},
            "additionalProperties": False,
        }
        return {**out, "required": list(self.required)} if self.required else out


@dataclass(frozen=True)
class Either:
    """One of several shapes; a value is held against the one whose JSON type it has."""

    shapes: tuple[Shape, ...]
    choice: str
    doc: str = ""

    def faults(self, value: object, at: Path_) -> Iterator[Fault]:
        """What is wrong under the shape of the value's own type; or that there is none."""
        fitting = [shape for shape in self.shapes if isinstance(value, _TYPES[type(shape)])]
        if isinstance(value, bool) or not fitting:
            yield at, f"must be {self.choice}"
            return
        yield from fitting[0].faults(value, at)

    def words(self) -> str:
        """The same in a few words, for a table."""
        return self.choice

    def json(self) -> dict[str, Any]:
        """Any of them."""
        return {"anyOf": [described(shape) for shape in self.shapes]}


@dataclass(frozen=True)
class Tagged:
    """A table whose entry `tag` says which others it may have, such as a method and its settings."""

    tag: str
    kinds: Mapping[str, Record]
    shared: Mapping[str, Shape] = field(default_factory=dict)
    doc: str = ""

    def faults(self, value: object, at: Path_) -> Iterator[Fault]:
        """What is wrong with the tag, or with what goes with it."""
        if not isinstance(value, Mapping):
            yield at, "must be a table"
            return
        tag = value.get(self.tag)
        if tag is None:
            yield at, f"needs '{self.tag}'"
            return
        if isinstance(tag, str) and tag in self.kinds:
            yield from self._record(tag).faults(value, at)
        else:
            others = tuple(kind for kind in self.kinds if kind != tag)  # listed, but it cannot be loaded
            yield from Text(choices=others).faults(tag, (*at, self.tag))

    def _record(self, tag: str) -> Record:
        kind = self.kinds[tag]
        own = {self.tag: Text(kind.doc, choices=(tag,)), **kind.entries, **self.shared}
        return Record(own, required=(self.tag, *kind.required))

    def words(self) -> str:
        """The same in a few words, for a table."""
        return f"table of {self.tag} and its settings"

    def json(self) -> dict[str, Any]:
        """One branch for each tag; the list of tags first, so that editors offer them."""
        tags = tuple(tag for tag in self.kinds if tag in self.kinds)  # it may list some it cannot load
        return {
            "type": "object",
            "required": [self.tag],
            "properties": {self.tag: Text(choices=tags).json()},
            "oneOf": [self._record(tag).json() for tag in tags],
        }


_TYPES: dict[type, Any] = {
    Text: str, Number: (int, float), ListOf: list, TableOf: Mapping, Record: Mapping, Tagged: Mapping
}  # fmt: skip
