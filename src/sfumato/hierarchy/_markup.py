"""XML read without trusting it: no document types, no entities, bounded size and depth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from sfumato.errors import DataError

MOST_BYTES = 256 * 1024 * 1024
_MOST_ELEMENTS = 1_000_000
_MOST_DEPTH = 16


@dataclass
class Element:
    """One element: its name, attributes, the elements in it, and the line it starts on."""

    tag: str
    attributes: Mapping[str, str]
    line: int
    inside: list[Element] = field(default_factory=list)


class _Refused(Exception):
    pass


def parse(text: str, name: str) -> Element:
    """The root of a document.

    A document type is refused before anything in it is looked at, so there are no entities to expand, inside
    or outside. The parser opens no file and no connection.
    """
    if len(text) > MOST_BYTES:
        raise DataError(f"{name} is too large: more than {MOST_BYTES >> 20} MB.")
    parser = expat.ParserCreate()
    around: list[Element] = []
    root: list[Element] = []
    seen = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal seen
        seen += 1
        if seen > _MOST_ELEMENTS:
            raise _Refused(f"it has more than {_MOST_ELEMENTS:,} elements")
        if len(around) >= _MOST_DEPTH:
            raise _Refused(f"elements lie more than {_MOST_DEPTH} deep")
        element = Element(tag.rpartition(":")[2], attributes, parser.CurrentLineNumber)
        (around[-1].inside if around else root).append(element)
        around.append(element)

    def end(_: str) -> None:
        around.pop()

    def refuse(*_: object) -> int:
        raise _Refused("it has a document type, and entities are not read")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    try:
        parser.Parse(text.encode("utf-8"), True)
    except _Refused as reason:
        raise DataError(f"{name} is not read: {reason}.", hint="remove it") from None
    except expat.ExpatError as problem:
        raise DataError(
            f"{name} is not well-formed XML (line {problem.lineno}).", hint="correct that line"
        ) from None
    except (ValueError, UnicodeEncodeError):
        raise DataError(f"{name} is not text.", hint="give an XML file in UTF-8") from None
    return root[0]


def attribute(value: str) -> str:
    """A value in quotes, escaped; what XML cannot hold is refused."""
    if any(not _allowed(c) for c in value):
        raise DataError(
            "a name holds a control character, which XML cannot.", hint="write levels as CSV", values=[value]
        )
    return quoteattr(value)


def _allowed(c: str) -> bool:
    n = ord(c)
    return n in (0x9, 0xA, 0xD) or 0x20 <= n <= 0xD7FF or 0xE000 <= n <= 0xFFFD or n >= 0x10000
