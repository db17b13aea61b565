"""Columns whose values alone look like those of people: many words, letters of names, long numbers, signs.

Asked where neither name nor values say what a column is, or only a short word does. Unsure all of it, and the
safer role: who is left out by mistake is missed, who is left in by mistake is not noticed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sfumato.inference.clues import SURE, UNSURE, Clue
from sfumato.inference.evidence import CODES
from sfumato.inference.facts import Facts
from sfumato.inference.known_values import is_area
from sfumato.inference.letters import name_like
from sfumato.inference.names import Reading
from sfumato.inference.vocabulary import NEUTRAL, WORDS, word_set
from sfumato.schema import Kind, Role
from sfumato.sources import is_text

_TELLING = (Role.QUASI_IDENTIFIER, Role.SENSITIVE)
_PEOPLE = (Role.IDENTIFIER, Role.PERSON)
_WORDS, _OFTEN = 100, 0.2  # different words, and per filled cell, from which on they may be names
_LONG, _DIGITS, _NUMBERS = 5, 7, 20  # of a number, and different ones
_ENDS = ("no", "nr", "num", "nbr", "id")  # of a number's name, whatever stands before
_CALLED, _SINGLE = 5, 8  # names
_ALIKE, _VERY_MUCH = 1.5, 2.5  # log odds of letters, a word
_MOSTLY = 0.8
_SIGNS = 15  # of people
_HARDLY = 0.1
_VOWELS = 0.3  # of the letters of initials at most; words have more
_TONGUES = word_set(
    "en de fr es it pt nl pl sv fi da nb nn no ru uk ar so et lv lt cs sk hu ro bg el tr sq hr sr zh ja ko "
    "vi hi ur fa"
)
_DIGIT, _LETTER = re.compile(r"\d"), re.compile(r"[^\W\d_]")
_CODE = word_set("code codes cod kod kodu kode cd codigo codice kodas kods sifra")


def suspected(
    facts: Mapping[str, Facts], readings: Mapping[str, Reading], clues: Mapping[str, Clue], names: list[str]
) -> dict[str, str]:
    """Of these columns those that may name people, and why. Twice through: names stand beside names."""
    found: dict[str, str] = {}
    for _ in range(2):
        for name in names:
            why = _why(facts[name], readings[name], _beside_people(name, clues, found))
            if why:
                found[name] = why
    return found


def _why(facts: Facts, reading: Reading, beside: bool) -> str:
    if _may_name(facts):
        return "so many different words may name people"
    if _may_number(facts, reading):
        return "numbers so long may be those of people"
    if _may_call(facts, beside):
        return "words with the letters of names of people"
    if _may_sign(facts):
        return "so many short signs may be those of people"
    return "so many codes of one form may be those of people" if _may_code(facts, reading) else ""


def weakly_named(
    facts: Mapping[str, Facts],
    readings: Mapping[str, Reading],
    clues: Mapping[str, Clue],
    known: Mapping[str, str],
) -> dict[str, Clue]:
    """Columns that a short word explains, though values look like those of people: `med`, six digits."""
    out: dict[str, Clue] = {}
    for name, clue in clues.items():
        if clue.role not in _TELLING or clue.confidence == SURE or "in the name" not in clue.why:
            continue
        own, reading = facts[name], readings[name]
        if "the values" in clue.why or reading.first("place", "site", "diagnosis"):
            continue
        why = "letters of names of people" if _may_call(own, _beside_people(name, clues, known)) else ""
        if clue.confidence == UNSURE and not why and (_may_number(own, reading) or _may_code(own, reading)):
            why = "form of the numbers of people"
        if why:
            said = f"{clue.why}, but the values have the {why}: look twice"
            out[name] = Clue(Role.IDENTIFIER, UNSURE, said)
    return out


def _beside_people(name: str, clues: Mapping[str, Clue], found: Mapping[str, str]) -> bool:
    """Whether the column right before or after names people, or may."""
    order = list(clues)
    at = order.index(name)
    beside = order[max(0, at - 1) : at] + order[at + 1 : at + 2]
    return any(clues[n].role in _PEOPLE or n in found for n in beside)


def _may_name(facts: Facts) -> bool:
    """So many different words that they hardly name anything but people, or what people say."""
    some = facts.texts[:200]
    spelt = sum(not any(c.isdigit() for c in t) for t in some) > 0.5 * len(some)  # codes have digits
    return in_words(facts) and spelt and facts.distinct >= _WORDS and facts.share_distinct >= _OFTEN


def _may_call(facts: Facts, beside: bool) -> bool:
    """Words with capitals, five or more, whose letters are those of surnames and first names (`letters`).

    Beside a column that names people less will do, and of single words, eight or more, that they look no more
    like other words than like names.
    """
    if not in_words(facts) or facts.distinct < _CALLED:
        return False
    some = facts.texts[:300]
    called = [t for t in some if t[:1].isupper() and len(t) > 2 and not any(c.isdigit() for c in t)]
    alike = name_like(some) if len(called) >= 0.95 * len(some) else None
    if alike is None or sum(len(t) > 3 for t in some) < 0.8 * len(some):
        return False
    single = sum(" " not in t for t in some) >= _MOSTLY * len(some)
    if beside and len(some) >= _SINGLE and single and not any(map(_is_known, some)):
        return alike >= 0
    return alike >= (_ALIKE if beside or facts.distinct > CODES else _VERY_MUCH)


def _is_known(text: str) -> bool:
    """Whether it is a word that says something."""
    return text.lower() in WORDS or text.lower() in NEUTRAL


def _may_number(facts: Facts, reading: Reading) -> bool:
    """Whole numbers of one length, seven digits or more (four if the name ends as a number's), and not a few.

    Five digits, where the name says no code.
    """
    if not facts.is_whole_number or len(facts.widths) > 1 or facts.distinct < _NUMBERS or facts.is_day:
        return False
    ends = "".join(w for w in reading.words if not w.isdigit()).endswith(_ENDS)
    digits = 4 if "number" in reading or ends else _DIGITS
    coded = not _CODE.isdisjoint(reading.words)
    if min(facts.widths) >= digits:
        return True
    return min(facts.widths) >= _LONG and not coded


def _may_sign(facts: Facts) -> bool:
    """Two or three letters, as people sign: JT, KM, ALB.

    In capitals where there are more of them than kinds of most things; fewer, where all are of one length and
    vowels are rare, as in initials (codes are cut from words: MED, SUR, OBS); or in small letters.
    """
    if not in_words(facts) or facts.distinct < _CALLED:
        return False
    some = facts.texts[:300]
    if not all(2 <= len(t) <= 4 and t.isalpha() and t.isascii() for t in some):
        return False
    small = {t.lower() for t in some}
    if not all(t.isupper() for t in some):
        plain = sum(t.title() == t or t in WORDS or t in NEUTRAL for t in some)
        return facts.distinct < _SIGNS and plain < 0.4 * len(some) and len(small & _TONGUES) < 0.6 * len(some)
    if facts.distinct >= _SIGNS:
        return all(len(t) <= 3 for t in some)
    signs = "".join(small)
    vowels = sum(c in "aeiou" for c in signs) / len(signs)
    if is_area(some) or max(facts.widths) > 3:
        return False
    return vowels <= (_VOWELS if len(facts.widths) == 1 else _HARDLY)


def _may_code(facts: Facts, reading: Reading) -> bool:
    """Letters and four digits or more, always at the same places, and not a few.

    Two digits, where the name ends as a number's.
    """
    if not in_words(facts) or facts.distinct < _NUMBERS:
        return False
    some = facts.texts[:300]
    if all(t.isdigit() for t in some):
        return False  # with zeros in front, as codes of places have
    ends = "".join(w for w in reading.words if not w.isdigit()).endswith(_ENDS)
    forms = {_LETTER.sub("a", _DIGIT.sub("9", t)) for t in some}
    return len(forms) <= max(1, 0.1 * len(some)) and all(
        sum(c.isdigit() for c in t) >= (2 if ends else 4) for t in some
    )


def in_words(facts: Facts) -> bool:
    """Words, no numbers or days stored as text."""
    named = is_text(facts.levels.type) and facts.kind is Kind.NOMINAL
    return named and not facts.is_number and not facts.is_day
