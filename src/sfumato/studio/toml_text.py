"""One entry of a TOML text changed, with everything else as it stands: comments, order, other people's lines.

Guarantee: what is read from the new text is what is read from the old one with that entry changed, and
           nothing else; a text that is written in a way for which this does not hold is refused, not
           guessed at.
Because:   both are parsed and compared before the new one is given back (`_checked`).
Tested by: tests/studio/test_toml_text.py
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping
from typing import Any

import tomli_w

from sfumato.errors import PlanError
from sfumato.plan.lines import Place, entries
from sfumato.plan.proposal_text import value

_GONE = object()


def with_entry(text: str, place: Place, given: object) -> str:
    """The text with an entry set; tables it stands in are made where they are missing."""
    return _checked(text, place, given)


def without_entry(text: str, place: Place) -> str:
    """The text without an entry; the same text where it is not there."""
    return _checked(text, place, _GONE)


def entry(document: Mapping[str, Any], place: Place) -> object:
    """What stands at a place of a parsed text; None if nothing does."""
    found: object = document
    for part in place:
        if isinstance(found, Mapping) and part in found:
            found = found[str(part)]
        elif isinstance(found, list) and isinstance(part, int) and part < len(found):
            found = found[part]
        else:
            return None
    return found


def _checked(text: str, place: Place, given: object) -> str:
    ends = "\r\n" if "\r\n" in text else "\n"
    plain = text.replace("\r\n", "\n")
    wanted = _changed(tomllib.loads(plain), place, given)
    after = _edited(plain, place, given)
    try:
        same = tomllib.loads(after) == wanted
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise PlanError(
            "this part of the plan is written in a way that cannot be changed by a click.",
            hint="change it in an editor; the window shows it at once",
        )
    return after.replace("\n", ends)


def _changed(document: dict[str, Any], place: Place, given: object) -> dict[str, Any]:
    """The parsed text with the entry changed."""
    whole = copy.deepcopy(document)
    inside: Any = whole
    for part in place[:-1]:
        if isinstance(inside, dict):
            if part not in inside and given is _GONE:
                return whole
            inside = inside.setdefault(part, {})
        elif isinstance(inside, list) and isinstance(part, int) and part < len(inside):
            inside = inside[part]
        else:
            return whole
    if isinstance(inside, dict):
        if given is _GONE:
            inside.pop(place[-1], None)
        else:
            inside[str(place[-1])] = given
    return whole


def _edited(text: str, place: Place, given: object) -> str:
    lines = text.split("\n")
    tables: dict[Place, int] = {(): 0}  # the last line of each table that is written out
    for number, statement, table in entries(text):
        last = number + statement.count("\n")
        tables[table] = last
        if statement.startswith("["):
            continue
        said = tomllib.loads(statement)
        path = _path(said)
        at = (*table, *path)
        if place[: len(at)] == at:
            return _replaced(lines, number, last, statement, (said, path), place[len(at) :], given)
    if given is _GONE:
        return text
    home = max((t for t in tables if place[: len(t)] == t and len(t) < len(place)), key=len)
    rest = place[len(home) :]
    if len(rest) > 1 and not home and all(isinstance(p, str) for p in rest):
        header = ".".join(key(str(p)) for p in rest[:-1])
        end = "" if text.endswith("\n") or not text else "\n"
        return f"{text}{end}\n[{header}]\n{key(str(rest[-1]))} = {value(given)}\n"
    inner = given
    for part in reversed(rest[1:]):
        inner = {str(part): inner}
    lines.insert(tables[home], f"{key(str(rest[0]))} = {value(inner)}")
    return "\n".join(lines)


def _path(said: Mapping[str, Any]) -> tuple[str, ...]:
    """The name of the one entry of a statement, which may be dotted: its own name, then what is forced."""
    return (next(iter(said)),)


def _replaced(
    lines: list[str], number: int, last: int, statement: str,
    said: tuple[Mapping[str, Any], tuple[str, ...]], rest: Place, given: object,
) -> str:  # fmt: skip
    """The lines with one statement written anew, or gone."""
    document, path = said
    if not rest and given is _GONE:
        return "\n".join(lines[: number - 1] + lines[last:])
    name = path[0]
    new = given if not rest else _changed({name: copy.deepcopy(document[name])}, (name, *rest), given)[name]
    indent = lines[number - 1][: len(lines[number - 1]) - len(lines[number - 1].lstrip())]
    line = f"{indent}{key(name)} = {value(new)}"
    comment = _comment(statement.rsplit("\n", 1)[-1])
    if comment:
        line = f"{line:<28} {comment}"
    return "\n".join([*lines[: number - 1], line, *lines[last:]])


def _comment(line: str) -> str:
    """What stands behind the value on its last line, from the sign on; a sign in a text is none."""
    quote = ""
    i = 0
    while i < len(line):
        sign = line[i]
        if quote:
            if sign == "\\" and quote == '"':
                i += 1
            elif sign == quote:
                quote = ""
        elif sign in "\"'":
            quote = sign
        elif sign == "#":
            return line[i:]
        i += 1
    return ""


def key(name: str) -> str:
    """A name as a key of TOML."""
    return tomli_w.dumps({name: 1}).rpartition(" = ")[0]


def with_item(text: str, name: str, given: Mapping[str, object]) -> str:
    """The text with one more item of an array of tables, such as a step, behind the last one."""
    plain = text.replace("\r\n", "\n")
    lines, ends = plain.split("\n"), [0]
    for number, statement, table in entries(plain):
        if table[:1] == (name,):
            ends.append(number + statement.count("\n"))
    item = ["", f"[[{key(name)}]]", *(f"{key(k)} = {value(v)}" for k, v in given.items())]
    at = max(ends) or len(lines) - (not lines[-1])
    after = "\n".join([*lines[:at], *item, *lines[at:]])
    wanted = tomllib.loads(plain)
    wanted[name] = [*wanted.get(name, ()), dict(given)]
    if tomllib.loads(after) != wanted:
        raise PlanError("the plan is written in a way that cannot be added to by a click.", hint="an editor")
    return after.replace("\n", "\r\n" if "\r\n" in text else "\n")


def without_part(text: str, name: str, item: int | None = None) -> str:
    """The text without a table, or without one item of an array of tables: header, entries, all within."""
    plain = text.replace("\r\n", "\n")
    wanted = tomllib.loads(plain)
    if item is None:
        wanted.pop(name, None)
    else:
        kept = [one for i, one in enumerate(wanted.get(name, ())) if i != item]
        wanted = {k: v for k, v in wanted.items() if k != name} | ({name: kept} if kept else {})
    place: Place = (name,) if item is None else (name, item)
    lines, gone, first = plain.split("\n"), set[int](), 0
    for number, statement, table in entries(plain):
        if table[: len(place)] != place:
            first = 0
            continue
        first = first or number  # comments between the entries of a part go with it
        gone |= set(range(first, number + statement.count("\n") + 1))
    for number in sorted(gone):
        if number - 1 not in gone and number > 1 and not lines[number - 2].strip():
            gone.add(number - 1)  # the empty line before it
    after = "\n".join(line for i, line in enumerate(lines, 1) if i not in gone)
    if tomllib.loads(after) != wanted:
        raise PlanError("this part of the plan cannot be taken away by a click.", hint="use an editor")
    return after.replace("\n", "\r\n" if "\r\n" in text else "\n")
