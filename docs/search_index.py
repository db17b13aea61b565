"""Writes what the pages' search looks through: every section with its text, as a script.

mkdocs calls it while it builds (`hooks` in mkdocs.yml). A browser that opened a page from a folder may
neither fetch a file nor start a worker, but it runs scripts: so the index is one, and `search.js` does the
rest.
"""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

HEADINGS = {"h1", "h2", "h3", "h4"}
APART = HEADINGS | {
    "p",
    "li",
    "td",
    "th",
    "pre",
    "tr",
    "div",
    "br",
}  # where one word ends, whatever the markup

_sections: list[dict[str, str]] = []


class Sections(HTMLParser):
    """Cuts a page at its headings: title, anchor, text."""

    def __init__(self, of_words: bool = False) -> None:
        super().__init__()
        self.found: list[dict[str, str]] = [{"anchor": "", "title": "", "text": ""}]
        self._of_words = of_words  # a glossary: each word is a section
        self._in_heading = False
        self._skipped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A heading opens a section; the sign that links to it is no text of it."""
        values = dict(attrs)
        if tag in HEADINGS:
            self.found.append({"anchor": values.get("id") or "", "title": "", "text": ""})
            self._in_heading = True
        elif tag == "strong" and self._of_words:
            self.found.append({"anchor": self.found[-1]["anchor"], "title": "", "text": ""})
            self._in_heading = True
        elif tag == "a" and values.get("class") == "headerlink":
            self._skipped += 1
        elif tag in APART:
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        """A heading ends, or the sign beside it."""
        if tag in HEADINGS or (tag == "strong" and self._of_words):
            self._in_heading = False
        elif tag == "a" and self._skipped:
            self._skipped -= 1
        elif tag in APART:
            self.handle_data(" ")

    def handle_data(self, data: str) -> None:
        """Text, of the heading or below it."""
        if not self._skipped:
            self.found[-1]["title" if self._in_heading else "text"] += data


def on_pre_build(**_: Any) -> None:
    """A second build in one process starts with nothing."""
    _sections.clear()


def on_page_content(html: str, page: Any, **_: Any) -> None:
    """Every page, once its Markdown is HTML."""
    reader = Sections(of_words=page.url == "glossary.html")
    reader.feed(html)
    for section in reader.found:
        text = " ".join(section["text"].split())
        title = " ".join(section["title"].split())
        if text or title:
            place = page.url + (f"#{section['anchor']}" if section["anchor"] else "")
            _sections.append({"page": page.title, "title": title or page.title, "place": place, "text": text})


def on_post_build(config: Any, **_: Any) -> None:
    """All sections, in the order of the pages: the same pages give the same file."""
    lines = ",\n".join(json.dumps(s, ensure_ascii=False, sort_keys=True) for s in _sections)
    Path(config["site_dir"], "search_index.js").write_text(
        f"var searchIndex = [\n{lines}\n];\n", encoding="utf-8"
    )
