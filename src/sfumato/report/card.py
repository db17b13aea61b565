"""The card as a page: what may go with the public part, and nothing that was computed from the original.

Its words are those of the `card.md` that every release writes; this reads that text and lays it out, so
the two cannot differ.
"""

from __future__ import annotations

import re

from sfumato.languages import speaking
from sfumato.privacy import Guarantee
from sfumato.release.dictionary import card as card_text
from sfumato.release.dictionary import own_words
from sfumato.report.contents import Block, DataTable, Promises, Section
from sfumato.report.page import Page
from sfumato.schema import Schema

_ABOUT = "about"
_ESCAPED = re.compile(r"\\([\\|])")
_CELLS = re.compile(r"(?<!\\)\|")


def card(schema: Schema, guarantee: Guarantee, *, about: str = "", data: str = "data.parquet") -> Page:
    """The card of a release as a public page.

    schema: the *public* schema, as `public/schema.toml` holds it. No data and no score comes in here.
    """
    # What a person wrote may hold any sign; it is put back after the text was taken apart.
    with speaking("en"):  # it is said when it is written
        text = card_text(schema, guarantee, about=_ABOUT if about else "", data=data)
    title, *parts = re.split(r"^#{1,2} ", text, flags=re.MULTILINE)[1:]
    heading, _, opening = title.partition("\n")
    sections = [Section("The data", [about if p == _ABOUT else p for p in _paragraphs(opening)])]
    for part in parts:
        name, _, body = part.partition("\n")
        sections.append(_section(name.strip(), body.strip(), guarantee))
    return Page(heading.strip(), "", sections, audience="public")


def _section(name: str, body: str, guarantee: Guarantee) -> Section:
    blocks: list[Block] = []
    if body.startswith(">"):
        blocks.append(Promises(guarantee))
        body = ""
    elif body.startswith("|"):
        head, _, *rows = (_cells(line) for line in body.splitlines())
        own = [(*row[:-1], own_words(row[-1])) for row in rows]
        blocks.append(DataTable(head, own, "What each column holds", words=(1, 2), mixed=(3, 4)))
        body = ""
    return Section(name, _paragraphs(body), blocks)


def _paragraphs(text: str) -> tuple[str, ...]:
    return tuple(p.strip().replace("`", "") for p in text.split("\n\n") if p.strip())


def _cells(line: str) -> tuple[str, ...]:
    inner = _CELLS.split(line.strip().removeprefix("|").removesuffix("|"))
    return tuple(_ESCAPED.sub(r"\1", c.strip()) for c in inner)
