"""Pictures of the pages that are kept in `docs/pictures`, each with its words beside it in a text file.

`make pictures` draws them anew. Who takes a picture holds its words against those of the page: a picture that
shows what is no longer so is found.
"""

from __future__ import annotations

import os
import re

import chromium
import small_png
from architecture import ROOT

PICTURES = ROOT / "docs" / "pictures"
DRAWN_ANEW = bool(os.environ.get("SFUMATO_PICTURES"))


def in_words(text: str) -> str:
    """The words that a page shows, each once: numbers, versions and the order differ with every draw."""
    text = re.sub(r"\b[0-9a-f]{16}\b", " ", text)
    return " ".join(sorted(set(re.findall(r"[^\W\d_]{3,}", text)))) + "\n"


def held(
    browser: chromium.Browser, name: str, selector: str, steady: str = "", *, window: bool = False,
    colours: int = 0,
) -> None:  # fmt: skip
    """The picture and its words; drawn anew where that is asked, compared where it is not.

    steady: what says the same whatever was drawn, where the rest of the picture does not.
    window: the picture is what is in the window, not all of the element. colours: so many at most, which
    makes the file small; 0 leaves it as it is.
    """
    said = in_words(
        browser.evaluate(
            f"[...document.querySelectorAll({steady!r})].map(e => e.innerText).join(' ')"
            if steady
            else f"document.querySelector({selector!r}).innerText"
        )
    )
    assert len(said) > 40
    picture, words = PICTURES / f"{name}.png", PICTURES / f"{name}.txt"
    if DRAWN_ANEW:
        PICTURES.mkdir(exist_ok=True)
        browser.screenshot(picture, selector, window=window)
        if colours:
            picture.write_bytes(small_png.smaller(picture.read_bytes(), colours))
        words.write_text(said, encoding="utf-8")
    assert picture.read_bytes()[:4] == b"\x89PNG" and picture.stat().st_size < 150_000
    assert said == words.read_text(encoding="utf-8"), f"{name}.png is out of date: make pictures"
