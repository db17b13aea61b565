"""What is printed, in the reader's language: the words of texts and of the cells of tables."""

from __future__ import annotations

from itertools import pairwise

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from sfumato.languages import ENGLISH, current, say, tried


class NameText(Text):
    """A name from the data: it is printed as it is."""


def said(part: RenderableType) -> RenderableType:
    """The same in the reader's language; as it is in English, and what is no text."""
    if current() == ENGLISH or isinstance(part, NameText):
        return part
    if isinstance(part, str):
        return say_text(part)
    if isinstance(part, Text):
        return _text(part)
    if isinstance(part, Padding):
        return Padding(said(part.renderable), (part.top, part.right, part.bottom, part.left))
    if isinstance(part, Grid):
        for column in part.columns:
            column.header = _cell(column.header)
            column._cells[:] = [_cell(cell) for cell in column.cells]
    return part


def say_text(text: str) -> str:
    """A text of one line or more; each line is said for itself."""
    return "\n".join(say(line) for line in text.split("\n"))


def _cell(cell: RenderableType) -> RenderableType:
    """A cell may hold a sign or a number as well as words."""
    if isinstance(cell, Text) and not isinstance(cell, NameText) and not cell.spans:
        return Text(tried(cell.plain), cell.style)
    return tried(cell) if isinstance(cell, str) else said(cell)


def _text(text: Text) -> Text:
    """A text with its styles: what is styled otherwise than the rest is said for itself."""
    if not text.spans:
        return Text(say_text(text.plain), text.style)
    ends = sorted({0, len(text.plain), *(e for s in text.spans for e in (s.start, s.end))})
    out = Text(style=text.style)
    for start, end in pairwise(ends):
        style = next((s.style for s in text.spans if s.start <= start < s.end), "")
        out.append(tried(text.plain[start:end]), style)
    return out
