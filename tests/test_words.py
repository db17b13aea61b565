"""The words that people read: phrases that were hard to understand do not come back.

Looks at every text in the code that is no comment and no docstring, at the pages, and at the README.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# What is not said, and what is said in its place.
BANNED = {
    r"\bbits (it )?(told|tells)\b": "how identifying (bits)",
    r"\b(rows?|people) of nobody\b": "invented rows",
    r"\btakes? the memory away\b": "leaves no memory for the rest",
    r"\bif that are\b": "if there are",
    r"\bthe worse of linking and membership\b": "worst attack, compared with people who are not in the data",
    r"\babove control\b": "compared with people who are not in the data",
    r"\b(its|the) name is no\b": "the name must be",
    r"(?<!there )\b(is|are) no (text|list|table|function|number|whole number|hierarchy|criterion|column"
    r"|folder|release|model|file|class|calendar|date|quasi-identifier)s?\b": "is not a, must be a",
    r"\b(attacker|adversary) (who|that|knows)\b": "intruder",
}
_ANY = re.compile("|".join(f"(?:{pattern})" for pattern in BANNED), re.IGNORECASE)


def texts(source: str) -> Iterator[tuple[int, str]]:
    """The texts of a module that may be shown, with their lines: all but docstrings."""
    every = tuple(ast.walk(ast.parse(source)))
    bare = {id(node.value) for node in every if isinstance(node, ast.Expr)}
    for node in every:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.lineno, node.value


def prose(page: str) -> Iterator[tuple[int, str]]:
    """The paragraphs of a page with their first lines, code left out."""
    line = 1
    for k, part in enumerate(page.split("```")):
        if k % 2 == 0:
            at = line
            for paragraph in part.split("\n\n"):
                yield at, " ".join(paragraph.split())
                at += paragraph.count("\n") + 2
        line += part.count("\n")


def faults(path: Path) -> list[str]:
    """Where a file says what is not said."""
    source = path.read_text(encoding="utf-8")
    found = texts(source) if path.suffix == ".py" else prose(source)
    return [
        f"{path.relative_to(ROOT)}:{line} {hit[0]!r}" for line, text in found for hit in _ANY.finditer(text)
    ]


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = sorted((ROOT / "src").rglob("*.py"))


def test_no_banned_phrase() -> None:
    found = [fault for path in (*PAGES, *MODULES) for fault in faults(path)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "said",
    [
        "12.3 bits told", "draw rows of nobody", "its name is no text of 1 to 500 characters",
        "If that are several", "the worse of linking and membership, above control", "takes the memory away",
        "x is no list of numbers",
    ],
)  # fmt: skip
def test_the_test_can_fail(said: str) -> None:
    assert _ANY.search(said)
    assert not _ANY.search("there is no table; there are no numbers; it is no longer a release")


def test_the_glossary_explains_the_words_of_the_program() -> None:
    """Each role, and each outcome of a verdict, is a word of the glossary."""
    from sfumato.schema import Role

    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").lower()
    named = set(re.findall(r"\| \*\*(.+?)\*\*", page))
    assert {"identifier", "person", "quasi-identifier", "sensitive"} <= {str(r) for r in Role} & named
    assert {
        "intruder",
        "control",
        "gain",
        "limit",
        "verdict",
        "claim",
        "criterion",
        "epsilon",
        "budget",
    } <= named
    assert all(word in page for word in ("met", "not met", "undecided", "not examined"))
    assert len(named) == len(re.findall(r"\| \*\*(.+?)\*\*", page)), "a word is explained twice"
