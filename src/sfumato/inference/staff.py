"""Those who treat, write or ask: their names and numbers name people too, though many patients share each.

A hospital is a place and may be made more general; a surgeon is a person. Where a name says somebody of the
staff and the values are names, signs or long numbers, the column is left out. A speciality, or how many there
were, is not.
"""

from __future__ import annotations

import re

from sfumato.inference import person_names
from sfumato.inference.clues import LIKELY, Clue
from sfumato.inference.facts import Facts
from sfumato.inference.morphology import family_of
from sfumato.inference.names import Reading, words
from sfumato.inference.vocabulary import GENERIC, WORDS, word_set
from sfumato.schema import Kind, Role
from sfumato.sources import is_text

_NUMBERS = 20  # different numbers: fewer may be codes of a kind
_DIGITS = 4
_SIGNS = 5  # different signs of people
_PART = word_set("prov")  # of provider
_BY = word_set(  # validated by, erfasst von
    "by von par por door av przez sign signed signature init initials kuerzel kurzzeichen handzeichen "
    "paraphe paraaf rubrica firma podpis"
)
_SIGN = re.compile(r"[^\W\d_]{1,4}|[^\W\d_]\.? ?[^\W\d_]\.?")  # MUE, M.K.
_TRADE = re.compile(  # embriologo, kardioloog, pediatra, fysioterapeut; no science of theirs
    r"\w{3,}(olog|ologo|ologa|ologe|ologin|ologist|ologue|oloog|iatra|iater|iatre|iatrist|icien|terapeut|ist[ae]?)"
)
_CODES = word_set("code")
_SCIENCES = (
    "logy",
    "logie",
    "logia",
    "logi",
    "logija",
    "ics",
    "ie",
    "rgia",
    "rgie",
    "rgija",
    "rgery",
    "medicine",
)
_KIND = GENERIC | word_set(
    "specialty speciality specialite specialita especialidad especialidade specialism specialisme "
    "fachrichtung specialitet erikoisala odbornost brans fach count visits contacts days hours sex gender "
    "age years"
)


def of_staff(facts: Facts, reading: Reading) -> Clue | None:
    """Names, signs or numbers of those who treat, if the name of the column says so."""
    last = next((w for w in reversed(reading.words) if not w.isdigit()), "")
    word = reading.first("staff") or (last if last in _BY and len(reading.words) > 1 else "")
    word = word or next((w for w in reading.words if _TRADE.fullmatch(w)), "")
    if not word or facts.kind in (Kind.FLAG, Kind.CODES, Kind.TEXT) or _is_elsewhere(facts, reading):
        return None
    why = f"'{word}' in the name says somebody of the staff"
    if word == "provider" and not reading.first("number"):  # somebody, or an institution
        named = is_text(facts.levels.type) and person_names.by_surname(facts.texts[:500])
        return Clue(Role.IDENTIFIER, LIKELY, f"{why}, and the values are surnames first") if named else None
    if facts.is_whole_number:
        least = _SIGNS if min(facts.widths) > _DIGITS and len(facts.widths) == 1 else _NUMBERS
        long = facts.distinct >= least and min(facts.widths) >= _DIGITS
        return Clue(Role.IDENTIFIER, LIKELY, f"{why}, and long numbers") if long else None
    if facts.is_number or not is_text(facts.levels.type):
        return None
    texts = facts.texts[:500]
    names = person_names.people(texts, 1.0) or person_names.paired_words(texts) or person_names.titled(texts)
    names = names or person_names.by_surname(texts)
    if names or person_names.given_names(facts.texts, facts.text_counts):
        return Clue(Role.IDENTIFIER, LIKELY, f"{why}, and the values look like names of people")
    if _many_codes(facts):
        return Clue(Role.IDENTIFIER, LIKELY, f"{why}, and codes of many of them")
    called = reading.first("direct") and person_names.spelt(texts)  # the last name of a doctor
    if (_spelt(texts) and facts.distinct >= _SIGNS) or (called and facts.distinct >= _SIGNS - 1):
        return Clue(Role.IDENTIFIER, LIKELY, f"{why}, and the values may be their names or signs")
    if person_names.spelt(texts) and facts.distinct >= _SIGNS and not _are_kinds(texts):
        return Clue(Role.IDENTIFIER, LIKELY, f"{why}, and the values may be their names")
    return None


def _many_codes(facts: Facts) -> bool:
    """Codes with digits, four signs or more, of more people than there are kinds of anything."""
    if not is_text(facts.levels.type):
        return False
    texts = facts.texts[:500]
    coded = sum(any(c.isdigit() for c in t) and len(t) >= _DIGITS for t in texts)
    return coded > 0.9 * len(texts) and facts.distinct >= _NUMBERS


def _are_kinds(texts: list[str]) -> bool:
    """Words of medicine, of places of care or of trades: a speciality, or who somebody is at work."""
    told = ("staff", "site", "place", "work", "disease", "procedure", "diagnosis", "drug", "education")
    hits = sum(
        any(WORDS.get(w, frozenset()).intersection(told) or family_of(w) for w in words(t)) for t in texts
    )
    ending = sum(t.lower().endswith(_SCIENCES) for t in texts)
    return hits + ending > 0.2 * len(texts)


def _is_elsewhere(facts: Facts, reading: Reading) -> bool:
    """Whether the name is about a place, a kind of staff or how often they were seen."""
    named = [w for w in reading.words if len(w) > 2 and "staff" not in WORDS.get(w, ()) and w not in _PART]
    kinds = _KIND - _CODES if _many_codes(facts) else _KIND
    return bool(kinds.intersection(reading.words)) or any(
        WORDS.get(w, frozenset()) & {"site", "place", "date", "diagnosis", "drug", "money"} for w in named
    )


def _spelt(texts: list[str]) -> bool:
    """Signs of one to four letters, or two or more words that begin with capitals."""
    signs = sum(_SIGN.fullmatch(t) is not None for t in texts)
    words = sum(
        len(t.split()) > 1 and all(not w[:1].islower() for w in (t.split()[0], t.split()[-1])) for t in texts
    )
    return max(signs, words) >= 0.9 * len(texts)
