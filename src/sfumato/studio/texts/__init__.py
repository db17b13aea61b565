"""All words of the studio's pages, in one place: a dictionary for each language, English where one lacks a word.

Words of the plan (roles, kinds, names of settings) are shown as they stand in the plan, with a translation
beside them. Sentences of the library itself, such as verdicts, are those of its own catalogue (`said`); what
that lacks stays English.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.languages import speaking, tried
from sfumato.studio.texts.english import ENGLISH
from sfumato.studio.texts.german import GERMAN

LANGUAGES: Mapping[str, Mapping[str, str]] = {"en": ENGLISH, "de": GERMAN}


@dataclass(frozen=True)
class Words:
    """The words of one language."""

    language: str = "en"

    def __call__(self, name: str, /, **numbers: object) -> str:
        """A sentence by its name, with what belongs in it; a number decides between `name` and `name.one`."""
        if numbers.get("n") == 1 and (one := self._find(f"{name}.one")) is not None:
            return one.format(**numbers)
        found = self._find(name)
        shown = {k: self.number(v) if isinstance(v, int | float) else v for k, v in numbers.items()}
        return name if found is None else found.format(**shown)

    def said(self, words: str) -> str:
        """A sentence of the library in this language, as far as its catalogue has it."""
        with speaking(self.language):
            return tried(words)

    def edit(self, said: str) -> str:
        """The name of an edit as the journal keeps it, in this language."""
        try:
            name, numbers = json.loads(said)
            return self(str(name), **numbers)
        except (ValueError, TypeError, KeyError):
            return said

    def has(self, name: str) -> bool:
        """Whether there is such a sentence."""
        return self._find(name) is not None

    def _find(self, name: str) -> str | None:
        return LANGUAGES[self.language].get(name, ENGLISH.get(name))

    def number(self, value: float) -> str:
        """A number as it is written in the language."""
        said = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
        if self.language == "de":
            return said.replace(",", "\0").replace(".", ",").replace("\0", ".")
        return said

    def share(self, value: float) -> str:
        """A share as a percentage; never rounded to none or all."""
        sign = "\u00a0%" if self.language == "de" else "%"
        if 0 < value < 0.001:
            return f"< {self._decimal('0.1')}{sign}"
        if 0.999 < value < 1:
            return f"> {self._decimal('99.9')}{sign}"
        return f"{self._decimal(f'{100 * value:.1f}'.removesuffix('.0'))}{sign}"

    def _decimal(self, said: str) -> str:
        return said.replace(".", ",") if self.language == "de" else said


def preferred(header: str) -> str:
    """The first language of Accept-Language that there are words of."""
    for part in header.split(",")[:20]:
        name = part.split(";")[0].strip().lower()[:2]
        if name in LANGUAGES:
            return name
    return "en"
