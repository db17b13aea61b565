"""Saying a text in the reader's language: the language is set once, around what is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from sfumato.errors import ParameterError
from sfumato.languages.catalogue import Catalogue

ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "de": "Deutsch"}
_language: ContextVar[str] = ContextVar("language", default=ENGLISH)
_heard: ContextVar[list[str] | None] = ContextVar("heard", default=None)


class Verbatim(str):
    """Words of a person, or a name from the data: said as they are in every language."""

    __slots__ = ()


def current() -> str:
    """The code of the language that is spoken now."""
    return _language.get()


def known(language: str | None) -> str:
    """The code of a language there are texts of; the one spoken now if none is named."""
    if language is None:
        return current()
    code = language.strip().lower() if isinstance(language, str) else ""
    if code not in LANGUAGES:
        there = ", ".join(f"{code} ({name})" for code, name in LANGUAGES.items())
        raise ParameterError(f"there are no texts in the language {language!r}.", hint=f"one of {there}")
    return code


@contextmanager
def speaking(language: str | None) -> Iterator[None]:
    """What is written within it is in this language; None changes nothing."""
    before = _language.set(known(language))
    try:
        yield
    finally:
        _language.reset(before)


@contextmanager
def listening() -> Iterator[list[str]]:
    """The texts that were said within it and that the catalogue lacks, for tests and for translators."""
    heard: list[str] = []
    before = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(before)


def say(text: str) -> str:
    """A text in the language; in English where the catalogue lacks it."""
    return _said(text, note=True)


def tried(text: str) -> str:
    """A text that may be a name from the data: in the language if it is known, else as it is."""
    return _said(text, note=False)


def say_lines(text: str) -> str:
    """A text of several lines, each said for itself."""
    return text if current() == ENGLISH else "\n".join(say(line) for line in text.split("\n"))


def form(number: str) -> str:
    """A number, written in English, in the form of the language."""
    return number if current() == ENGLISH else _catalogue(current()).number(number)


def locale() -> dict[str, Any] | None:
    """The form of numbers as drawings take it; None in English."""
    if current() == ENGLISH:
        return None
    own = _catalogue(current()).form
    marks = {"decimal": own["decimal"], "thousands": own["thousands"], "percent": own["percent"]}
    return {**marks, "grouping": [3], "currency": ["", ""]}


def _said(text: str, *, note: bool) -> str:
    language = current()
    if language == ENGLISH or isinstance(text, Verbatim) or not text.strip():
        return text
    bare = text.strip()
    found = _catalogue(language).find(bare)
    heard = _heard.get()
    if note and heard is not None:
        heard += found.missing
    return text if found.text == bare else text.replace(bare, found.text)


@cache
def _catalogue(language: str) -> Catalogue:
    return Catalogue.read(language)
