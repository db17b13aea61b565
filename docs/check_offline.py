"""Fail if a built page would load anything from another machine. Links to follow are fine.

Usage: python docs/check_offline.py site
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

LOADING = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}
ELSEWHERE = re.compile(r"^(?:https?:)?//", re.IGNORECASE)
IN_STYLE = re.compile(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", re.IGNORECASE)
NOT_LOADED = {"canonical", "alternate", "author", "license", "next", "prev"}


class Loads(HTMLParser):
    """Collects the addresses on other machines that a browser would fetch by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One opening tag."""
        values = {name: value or "" for name, value in attrs}
        if tag == "link" and values.get("rel", "") in NOT_LOADED:
            return
        self.found += [v for n, v in values.items() if (tag, n) in LOADING and ELSEWHERE.match(v)]


def faults(site: Path) -> list[str]:
    """`page: address` for all that is fetched from elsewhere."""
    found = []
    for page in sorted(site.rglob("*.html")):
        loads = Loads()
        text = page.read_text(encoding="utf-8")
        loads.feed(text)
        found += [f"{page}: {address}" for address in loads.found]
        found += [f"{page}: in a style" for _ in IN_STYLE.findall(text)]
    for sheet in sorted(site.rglob("*.css")):
        found += [f"{sheet}: in a style" for _ in IN_STYLE.findall(sheet.read_text(encoding="utf-8"))]
    return found


if __name__ == "__main__":
    problems = faults(Path(sys.argv[1]))
    if problems:
        sys.exit("Pages must work offline:\n" + "\n".join(problems))
