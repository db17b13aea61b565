"""On which line of a TOML file each entry stands: the standard reader does not tell.

The text has been read before, so it is valid. It is cut into statements (a header, or a key and its value,
which may span lines), and each statement is read by itself for the name it has.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

Place = tuple[str | int, ...]


def line_numbers(text: str) -> dict[Place, int]:
    """The line of each table and entry, by its path; items of an array of tables count from 0."""
    found: dict[Place, int] = {(): 1}
    for number, statement, table in entries(text):
        if statement.startswith("["):
            found.setdefault(table, number)
            if statement.startswith("[["):
                found.setdefault(table[:-1], number)
        else:
            for place in _paths(tomllib.loads(statement)):
                found.setdefault((*table, *place), number)
    return found


def entries(text: str) -> Iterator[tuple[int, str, Place]]:
    """Each statement with the line it begins on and the table it stands in; a header, with its own."""
    arrays: dict[Place, int] = {}
    table: Place = ()
    for number, statement in statements(text):
        if statement.startswith("["):
            table = _numbered(_header(statement), arrays, new=statement.startswith("[["))
        yield number, statement, table


def line_of(place: Place, lines: Mapping[Place, int]) -> int:
    """The line of a place, or of the nearest thing around it."""
    while place not in lines:
        place = place[:-1]
    return lines[place]


def statements(text: str) -> Iterator[tuple[int, str]]:
    """Each statement with the line it begins on, without the comments and empty lines between them."""
    lines = text.split("\n")
    i = 0
    while i < len(lines):
        first, state = i, _State()
        state.read(lines[i])
        while state.open and i + 1 < len(lines):
            i += 1
            state.read(lines[i])
        i += 1
        statement = "\n".join(lines[first:i]).strip()
        if statement and not statement.startswith("#"):
            yield first + 1, statement


class _State:
    """Whether a statement goes on after a line: within brackets, or a string of several lines."""

    def __init__(self) -> None:
        self.depth, self.quote = 0, ""

    @property
    def open(self) -> bool:
        return self.depth > 0 or len(self.quote) == 3

    def read(self, line: str) -> None:
        i = 0
        while i < len(line):
            sign = line[i]
            if self.quote:
                if sign == "\\" and self.quote[0] == '"':
                    i += 2
                    continue
                if line.startswith(self.quote, i):
                    i += len(self.quote)
                    while len(self.quote) == 3 and line[i : i + 1] == self.quote[0]:
                        i += 1  # up to two more quotes belong to the text
                    self.quote = ""
                    continue
            elif sign == "#":
                return
            elif sign in "\"'":
                self.quote = sign * 3 if line.startswith(sign * 3, i) else sign
                i += len(self.quote)
                continue
            else:
                self.depth += (sign in "[{") - (sign in "]}")
            i += 1


def _header(statement: str) -> tuple[str, ...]:
    """The name of a table: read as a header alone, it is a chain of tables with nothing in them."""
    found: Any = tomllib.loads(statement)
    path: list[str] = []
    while isinstance(found, dict) and found:
        name = next(iter(found))
        path.append(name)
        found = found[name]
        if isinstance(found, list):
            break
    return tuple(path)


def _numbered(path: tuple[str, ...], arrays: dict[Place, int], *, new: bool) -> Place:
    """The path with the number of the current item after the name of each array of tables."""
    place: Place = ()
    for i, name in enumerate(path):
        place = (*place, name)
        if new and i == len(path) - 1:
            arrays[place] = arrays.get(place, -1) + 1
        if place in arrays:
            place = (*place, arrays[place])
    return place


def _paths(value: object, at: Place = ()) -> Iterator[Place]:
    """All places within a value."""
    items: Iterator[tuple[str | int, Any]] = iter(())
    if isinstance(value, dict):
        items = iter(value.items())
    elif isinstance(value, list):
        items = iter(enumerate(value))
    for name, inner in items:
        yield (*at, name)
        yield from _paths(inner, (*at, name))
