"""What pages, cards and terminals say, in the reader's language.

Everything is made in English: scores, promises and verdicts, and what programs read stays so. Whoever writes
something for a person's eyes passes it through `say`, which finds the same text in the catalogue of the
language, one file beside this one (`de.toml`), and puts numbers and dates into its form. What a catalogue
lacks is said in English. `speaking` sets the language for what is written within it; English is the default.

Start with `speech`; `catalogue` reads a file and finds a text in it. It knows no other room.
"""

from sfumato.languages.speech import (
    ENGLISH,
    LANGUAGES,
    Verbatim,
    current,
    form,
    known,
    listening,
    locale,
    say,
    say_lines,
    speaking,
    tried,
)

__all__ = [
    "ENGLISH",
    "LANGUAGES",
    "Verbatim",
    "current",
    "form",
    "known",
    "listening",
    "locale",
    "say",
    "say_lines",
    "speaking",
    "tried",
]
