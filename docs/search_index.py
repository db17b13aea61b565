"""Writes what the pages' search looks through: every section with its text, as a script.

mkdocs calls it while it builds (`hooks` in mkdocs.yml). A browser that opened a page from a folder may
neither fetch a file nor start a worker, but it runs scripts: so the index is one, and `search.js` does the
rest.
"""

from __future__ import annotations

import json
import re
import tomllib
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

COMMON = {"data", "privacy", "of", "a", "the"}  # words of a synonym that alone mean something else
WORD = re.compile(r"[a-z][a-z-]+(?![\w/])")
BRACKETS = re.compile(r"\(([^()]+)\)")

# What newcomers call what a page is about: a line for each page.
NEWCOMERS: dict[str, str] = tomllib.loads(Path(__file__).with_name("search_words.toml").read_text("utf-8"))

_sections: list[dict[str, str]] = []
_synonyms: dict[str, list[str]] = {}


class Sections(HTMLParser):
    """Cuts a page at its headings: title, anchor, text."""

    def __init__(self, of_words: bool = False) -> None:
        super().__init__()
        self.found: list[dict[str, str]] = []
        self._of_words = of_words  # a glossary: each word is a section
        self._in_heading = False
        self._skipped = 0
        self._marked = 0  # what stands out: a row's first cell, bold words
        self._cell = 0
        self._open("")

    def _open(self, anchor: str) -> None:
        self.found.append({"anchor": anchor, "title": "", "text": "", "marked": ""})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A heading opens a section; the sign that links to it is no text of it."""
        values = dict(attrs)
        if tag in HEADINGS:
            self._open(values.get("id") or "")
            self._in_heading = True
        elif tag == "strong" and self._of_words:
            self._open(self.found[-1]["anchor"])
            self._in_heading = True
        elif tag == "a" and values.get("class") == "headerlink":
            self._skipped += 1
        elif tag in APART:
            self.handle_data(" ")
        if tag in ("tr", "td"):
            self._cell = self._cell + 1 if tag == "td" else 0
        self._marked += tag == "strong" or (tag == "td" and self._cell == 1)

    def handle_endtag(self, tag: str) -> None:
        """A heading ends, or the sign beside it."""
        if tag in HEADINGS or (tag == "strong" and self._of_words):
            self._in_heading = False
        elif tag == "a" and self._skipped:
            self._skipped -= 1
        elif tag in APART:
            self.handle_data(" ")
        self._marked -= tag == "strong" or (tag == "td" and self._cell == 1)

    def handle_data(self, data: str) -> None:
        """Text, of the heading or below it."""
        if not self._skipped:
            self.found[-1]["title" if self._in_heading else "text"] += data
            if self._marked and not self._in_heading:
                self.found[-1]["marked"] += data + " "


def on_pre_build(**_: Any) -> None:
    """A second build in one process starts with nothing."""
    _sections.clear()
    _synonyms.clear()


def synonyms(sections: list[dict[str, str]]) -> dict[str, list[str]]:
    """What others call the words of the glossary, in brackets there: each of their words, and ours for it."""
    ours = {word for s in sections for word in s["title"].lower().split()}
    found: dict[str, list[str]] = {}
    for section in sections:
        for theirs in (term for inside in BRACKETS.findall(section["text"]) for term in inside.split(",")):
            for word in sorted(set(WORD.findall(theirs.lower())) - ours - COMMON):
                found.setdefault(word, []).append(section["title"])
    return found


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Every page, once its Markdown is HTML."""
    reader = Sections(of_words=page.url == "glossary.html")
    reader.feed(html)
    if page.url == "glossary.html":
        _synonyms.update(synonyms(reader.found))
    words = NEWCOMERS.get(page.url.removesuffix(".html"), "")
    for section in reader.found:
        text = " ".join(section["text"].split())
        title = " ".join(section["title"].split())
        if text or title:
            place = page.url + (f"#{section['anchor']}" if section["anchor"] else "")
            marked = " ".join(section["marked"].split())
            found = {"page": page.title, "title": title or page.title, "place": place}
            _sections.append({**found, "text": text, "marked": marked, "words": words})
            words = ""  # they are the page's: its beginning has them
    return reachable(html)


def reachable(html: str) -> str:
    """Tables and code that may be wider than the screen: what scrolls can be reached by key."""
    html = html.replace("<table>", '<div class="wy-table-responsive" tabindex="0"><table class="docutils">')
    return html.replace("</table>", "</table></div>").replace("<pre", '<pre tabindex="0"')


def on_post_build(config: Any, **_: Any) -> None:
    """All sections, in the order of the pages: the same pages give the same file."""
    lines = ",\n".join(json.dumps(s, ensure_ascii=False, sort_keys=True) for s in _sections)
    meant = json.dumps(_synonyms, ensure_ascii=False, sort_keys=True)
    Path(config["site_dir"], "search_index.js").write_text(
        f"var searchIndex = [\n{lines}\n];\nvar searchSynonyms = {meant};\n", encoding="utf-8"
    )
