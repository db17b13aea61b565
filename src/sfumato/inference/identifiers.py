"""Numbers and names of people and records: by check digits, forms, names, and by how seldom values repeat.

An identifier has (nearly) a value of its own in every row; a person column says which rows are one person's.
Both never leave as they are, so where it is unsure whether a column is one of them, it is taken for one.
"""

from __future__ import annotations

import re

import numpy as np

from sfumato.inference import known_values, person_names, shapes
from sfumato.inference.check_digits import BIRTH_NUMBERS, checked_numbers
from sfumato.inference.clues import LIKELY, SURE, UNSURE, Clue, share
from sfumato.inference.codes import code_system
from sfumato.inference.facts import Facts
from sfumato.inference.issued_numbers import (
    given_out,
    in_blocks,
    like_numbers,
    never_twice,
    too_long_to_count,
    too_many_to_count,
)
from sfumato.inference.names import Reading
from sfumato.inference.ranges import written_days
from sfumato.inference.staff import of_staff
from sfumato.inference.vocabulary import word_set
from sfumato.schema import Kind, Role
from sfumato.sources import is_text

_NEARLY = 0.95  # different values per filled cell, from which on a column numbers its rows
_FEW = 20  # values: a number of so few things names nobody
_MANY = 50
_SAME = 4
_SHORT_NAME = 3
_DIGITS = 8  # of a number with letters or signs at fixed places
_DIGIT = re.compile(r"\d")
_LONG = 7  # digits of a number that is no quantity, if all values have as many
_QUANTITY = word_set("no num number nbr n nombre numero nmbr total")  # also 'how many'
_COUNTED = _QUANTITY | word_set("nr nummer")  # of a hospital: whom it treats, rather than which it is
_NUMBERED = word_set("id ids nmbr numer identifier ident matricule matricola")
_ELSEWHERE = (
    "thing",
    "site",
    "place",
    "drug",
    "lab",
    "diagnosis",
    "procedure",
    "insurance",
    "disease",
    "work",
)
_CODED = ("site", "place", "drug", "lab", "diagnosis", "procedure", "insurance", "work")
_MEASURED = (
    "money", "income", "lab", "vital", "body", "weight", "weightname", "replicate", "age", "stay",
    "count", "days", "months", "symptom", "health",
)  # fmt: skip
NEVER_TWICE = "whole numbers of which none occurs twice"
IN_A_ROW = "whole numbers one after the other"
LETTERS_AND_DIGITS = "letters and digits of one length that repeat"
_NAME = word_set("name names nm nom noms nombre nome naam navn namn")
_ADDRESS = word_set("address adresse adres direccion indirizzo endereco morada domicilio domicile addr")
_POSTCODE = word_set("postcode zip zipcode plz postal postalcode cep cap pincode postnummer postleitzahl")
_HOUSE = re.compile(r"(?=.*\d)(?=.*[^\W\d_]{3}).*[ ,.].*")  # words and a number: a street and a house
_INITIALS = word_set("initials initialen initiales iniciales iniziali iniciais initialer inicialy")
_HASH = re.compile(r"(?=[0-9A-Fa-f]*[A-Fa-f])(?=[0-9A-Fa-f]*\d)[0-9A-Fa-f]{12,}")
_ID_LIKE = re.compile(r"(?=.*\d)[A-Za-z0-9][A-Za-z0-9_./ -]{4,}")
_IP = re.compile(r"((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)")


def identifier(facts: Facts, reading: Reading) -> Clue | None:
    """Why a column names people or records, if it does."""
    if not facts.filled or facts.kind in (Kind.TEXT, Kind.CODES) or facts.is_day or written_days(facts):
        return None
    return (
        _by_form(facts, reading)
        or of_staff(facts, reading)
        or _by_direct_name(facts, reading)
        or _by_number(facts, reading)
    )


def _by_form(facts: Facts, reading: Reading) -> Clue | None:
    """What the values are by themselves: addresses of mail, numbers with check digits, hashes."""
    texts = facts.texts
    if is_text(facts.levels.type):
        shape = shapes.identifying_shape(facts.levels)
        if shape == "universally unique identifiers":
            return _numbered(facts, reading, f"the values look like {shape}", SURE)
        if shape:
            return Clue(Role.IDENTIFIER, SURE, f"the values look like {shape}")
        if _share(_IP, texts[:200]) >= _NEARLY:
            return Clue(Role.IDENTIFIER, SURE, "the values look like internet addresses")
        if (
            facts.distinct >= 5
            and _share(_HASH, texts[:500]) >= 0.9
            and facts.distinct >= 0.0005 * facts.filled
        ):
            return _numbered(facts, reading, "the values look like hashes", SURE)
    if (
        facts.distinct >= _FEW
        and (is_text(facts.levels.type) or facts.is_whole_number)
        and min(facts.widths) >= 8
    ):
        what, passing = checked_numbers(texts)
        if what:
            why = f"{share(passing)} of the values have the check digit of {what}"
            if what == BIRTH_NUMBERS:
                why = f"the values are {what}, as numbers of people are"
            return _numbered(facts, reading, why, SURE)
    if _one_long_form(facts, reading):
        why = f"numbers of one form with {_DIGITS} digits or more"
        return _numbered(facts, reading, why, LIKELY)
    return None


def _one_long_form(facts: Facts, reading: Reading) -> bool:
    """Many digits, with letters or signs always at the same places: 99-999999999-9, as on a card.

    No day, no postcode, no code of a drug or a place of care: what is left is the number of somebody.
    """
    if not is_text(facts.levels.type) or facts.is_number or facts.distinct < _FEW:
        return False
    some = facts.texts[:300]
    forms = {_DIGIT.sub("9", t) for t in some}
    if len(forms) > 1 or sum(c.isdigit() for c in some[0]) < _DIGITS or some[0].isdigit():
        return False
    if reading.first("drug", "diagnosis", "procedure", "lab", "site") or facts.share_distinct < 0.02:
        return False
    if "place" in reading and some[0].isalnum():
        return False  # codes of small areas have no signs between
    return not known_values.postcodes(facts.texts) and not code_system(facts.texts, alone=True)


def _by_direct_name(facts: Facts, reading: Reading) -> Clue | None:
    word = reading.first("direct")
    elsewhere = reading.first(*(c for c in _ELSEWHERE if c != "place"))
    # The name of a county, the code of an address.
    coded = word in _ADDRESS and "code" in reading.words
    of_place = coded or ("place" in reading and word in _NAME | _ADDRESS)
    of_place = of_place and (facts.share_distinct < 0.2 or reading.about["place"] in _POSTCODE)
    of_place = of_place and not (word in _ADDRESS and _share(_HOUSE, facts.texts[:500]) >= 0.6)
    long = len(facts.widths) == 1 and min(facts.widths) >= (6 if facts.share_distinct > 0.02 else _DIGITS)
    own = word not in _NAME and facts.distinct >= _FEW and (facts.share_distinct > 0.5 or long)
    if (
        word
        and (own or not elsewhere)
        and not of_place
        and facts.kind is not Kind.FLAG
        and ("count" not in reading or too_many_to_count(facts))
    ):
        varied = facts.distinct >= _FEW and max(facts.widths) >= 5
        # Four names, or twenty codes, are not of 500 people.
        few = (
            _FEW
            if all((len(t) < _SHORT_NAME and t.isascii()) or any(c.isdigit() for c in t) for t in facts.texts)
            else _SAME
        )
        few = 2 if word in _INITIALS else few
        people = facts.distinct > few or facts.filled < _MANY * 10
        if (facts.type == "text" and people) or (facts.is_whole_number and varied):
            return Clue(Role.IDENTIFIER, SURE, f"'{word}' in the name leads straight to a person")
    if not is_text(facts.levels.type) or facts.kind is not Kind.NOMINAL:
        return None
    if known_values.addresses(facts.texts):
        return Clue(Role.IDENTIFIER, LIKELY, "the values look like streets with numbers")
    if person_names.initials(facts.texts):
        return Clue(Role.IDENTIFIER, LIKELY, "the values look like the initials of people")
    if not (elsewhere or "place" in reading) and person_names.by_surname(facts.texts) and facts.distinct >= 5:
        return Clue(Role.IDENTIFIER, LIKELY, "the values are surnames before first names")
    if person_names.titled(facts.texts[:500]):
        return Clue(Role.IDENTIFIER, LIKELY, "most values begin with the title of a person")
    called = word in _NAME  # the name of a supporter of a treatment
    if (word or not (elsewhere or "place" in reading)) and person_names.given_names(
        facts.texts, facts.text_counts
    ):
        return Clue(Role.IDENTIFIER, LIKELY, "many of the values are common names of people")
    if person_names.eastern(facts.texts):
        return Clue(Role.IDENTIFIER, LIKELY, "the values look like East Asian names of people")
    named = reading.first("site", "place", "drug", "diagnosis", "procedure", "disease", "thing")
    if person_names.people(facts.texts, facts.share_distinct) and not named:
        return Clue(Role.IDENTIFIER, LIKELY, "the values look like names of people, and many differ")
    why = "each first word of the values goes with several last ones, as names of people do"
    if person_names.known_pairs(facts.texts):
        return Clue(Role.IDENTIFIER, LIKELY, why)
    places = named in (reading.about.get("place"), reading.about.get("site"))  # whose names are no such grid
    if (called or places or not named) and person_names.paired_words(facts.texts):
        return Clue(Role.IDENTIFIER, LIKELY if called or named else UNSURE, why)
    return None


def _by_number(facts: Facts, reading: Reading) -> Clue | None:
    """A name that numbers something, or values that only numbers of people and records have."""
    word = reading.first("personnumber", "number")
    noun = reading.first("person", "household", "record", "personnumber")
    alone = bool(noun) and reading.only("person", "record", "household", "number")
    elsewhere = reading.first(*_ELSEWHERE)
    if not word and "code" in reading.words and reading.first("person", "household"):
        like = _share(_ID_LIKE, facts.texts[:500]) >= _NEARLY or facts.is_whole_number
        word = "code" if like and facts.distinct >= 2 * _MANY else ""
        elsewhere = "" if word else elsewhere
    if facts.kind is Kind.FLAG or facts.distinct < 2 or facts.type == "boolean":
        return None
    if reading.about.get("place") in _POSTCODE and facts.share_distinct < 0.99:
        return None  # of somebody, and of a thousand neighbours
    if facts.is_number and not facts.is_whole_number:
        return None
    unique = facts.distinct == facts.filled or (facts.share_distinct >= _NEARLY and facts.filled >= _FEW)
    if (word or alone) and not ("date" in reading and not noun):
        clue = _named(facts, reading, word, noun, elsewhere, alone, unique)
        if clue is not None:
            return clue
    return _by_values(facts, reading, unique)


def _named(
    facts: Facts, reading: Reading, word: str, noun: str, elsewhere: str, alone: bool, unique: bool
) -> Clue | None:
    person = reading.first("person", "personnumber", "household") if word or alone else ""
    said = " and ".join(f"'{w}'" for w in dict.fromkeys((noun, word)) if w)
    if _at_work(facts, reading, word):
        role = Role.PERSON if facts.share_distinct >= 0.02 and not unique else Role.IDENTIFIER
        return Clue(role, LIKELY, f"'{word}' and '{reading.first('work')}' in the name, and long numbers")
    places = reading.first("site", "place")  # a long table has no hospital of its own in every row
    own = "place" not in reading and facts.filled >= (_FEW * 5 if word in _COUNTED else 1_000)
    by_rows = unique and ("record" in reading or not places or own)
    if elsewhere and not person and not by_rows:
        return _of_the_insured(facts, reading, word)
    last = next((w for w in reversed(reading.words) if not w.isdigit()), "") == word
    if word in _QUANTITY and not noun and not (unique and like_numbers(facts)) and not last:
        return None
    if unique:
        return Clue(Role.IDENTIFIER, SURE, f"{said} in the name, and {_different(facts)}")
    if elsewhere and "personnumber" not in reading and not (person and facts.share_distinct > 0.02):
        return None
    enough = facts.distinct >= _FEW or facts.rows < 200
    how_many = word in _QUANTITY and _before(reading, word, noun) and not like_numbers(facts)
    if person and enough and not how_many:
        return Clue(Role.PERSON, SURE, f"{said} in the name, and values repeat: {_different(facts)}")
    if last and reading.only("number") and facts.distinct >= _FEW:
        return Clue(
            Role.PERSON, LIKELY, f"{said} is all its name says, and values repeat: {_different(facts)}"
        )
    if noun or not elsewhere:
        many = facts.distinct >= _MANY and facts.share_distinct >= 0.05
        many = many and (like_numbers(facts) or (last and facts.distinct >= 2 * _MANY))
        if many:
            return Clue(Role.PERSON, LIKELY, f"{said} in the name, and values repeat: {_different(facts)}")
    return None


def _of_the_insured(facts: Facts, reading: Reading, word: str) -> Clue | None:
    """The number of an insurance that many different ones have: it is the member's, not the insurer's."""
    insurer = reading.first("insurance")
    if not insurer or reading.first(*(c for c in _ELSEWHERE if c not in ("insurance", "thing"))):
        return None
    like = facts.is_whole_number or _share(_ID_LIKE, facts.texts[:500]) >= _NEARLY
    if not like or min(facts.widths) < 6 or facts.distinct < 2 * _MANY or facts.share_distinct < 0.05:
        return None
    why = (
        f"'{word}' and '{insurer}' in the name, and more of them than there are insurers: {_different(facts)}"
    )
    return Clue(Role.PERSON, LIKELY, why)


def _at_work(facts: Facts, reading: Reading, word: str) -> bool:
    """The number of somebody who works: long, of one length, and no code of what is done."""
    if not reading.first("work") or word not in _COUNTED | _NUMBERED or reading.first(*_ELSEWHERE[:-1]):
        return False
    return facts.distinct >= _FEW and min(facts.widths) >= 5 and len(facts.widths) == 1


def _before(reading: Reading, word: str, noun: str) -> bool:
    """'number of patients', not 'patient number'."""
    places = [reading.words.index(w) if w in reading.words else 0 for w in (word, noun)]
    return places[0] < places[1]


def _by_values(facts: Facts, reading: Reading, unique: bool) -> Clue | None:
    if facts.is_whole_number:
        numbers = facts.numbers
        if facts.filled < _FEW or facts.kind is Kind.ORDINAL:
            return None
        numbered = reading.only("count", "person", "record", "number", "direct", "thing")
        numbered = numbered and too_many_to_count(facts)
        measured = reading.first(*(c for c in _MEASURED if c != "count" or not numbered))
        many = unique or (facts.distinct >= _MANY and facts.share_distinct >= 0.01)
        if measured and not (many and too_long_to_count(facts, reading)):
            return None
        if unique and np.ptp(numbers) <= 1.5 * facts.distinct and "date" not in reading:
            return Clue(Role.IDENTIFIER, LIKELY, f"{IN_A_ROW}, {_different(facts)}")
        if never_twice(facts) and "date" not in reading:
            why = f"{NEVER_TWICE}, where chance would repeat many: {_different(facts)}"
            return Clue(Role.IDENTIFIER, LIKELY, why)
        one_width = len(facts.widths) == 1 or (numbers.min() > 0 and numbers.max() < 10 * numbers.min())
        short = max(facts.widths) < 6 and facts.distinct < facts.filled  # some repeat, as measurements do
        if unique and facts.filled >= 100 and not short and (max(facts.widths) >= 5 or one_width):
            sure = LIKELY if one_width else UNSURE
            return Clue(Role.IDENTIFIER, sure, f"whole numbers that hardly repeat: {_different(facts)}")
        if (
            one_width
            and min(facts.widths) >= _LONG
            and facts.distinct >= _MANY
            and facts.share_distinct >= 0.01
        ):
            digits = max(facts.widths)
            why = f"numbers of {digits} digits that repeat, as those of people do: {_different(facts)}"
            return Clue(Role.PERSON, UNSURE if reading.first(*_CODED) else LIKELY, why)
        if facts.in_order and in_blocks(facts) and not reading.first("date", "stratum", "psu", *_CODED):
            why = f"whole numbers that rise from row to row, as those of groups of rows: {_different(facts)}"
            return Clue(Role.PERSON, UNSURE, why)
        coded = reading.words[-1:] in (("cd",), ("code",), ("kode",), ("cod",))  # of something, not somebody
        if (
            facts.distinct >= 3 * _MANY
            and facts.share_distinct >= 0.05
            and given_out(facts, one_width)
            and not coded
        ):
            why = f"whole numbers spread as evenly as numbers of people are: {_different(facts)}"
            return Clue(Role.PERSON, UNSURE, why)
        return None
    if facts.kind is not Kind.NOMINAL or facts.is_number or not is_text(facts.levels.type):
        return None
    if facts.filled >= _FEW and facts.distinct == facts.filled:
        where = "every row" if facts.filled == facts.rows else "every filled row"
        return Clue(Role.IDENTIFIER, LIKELY, f"{where} has its own value: {_different(facts)}")
    if facts.filled >= _MANY and facts.share_distinct >= 0.9:
        return Clue(Role.IDENTIFIER, LIKELY, f"nearly every row has its own value: {_different(facts)}")
    like = _share(_ID_LIKE, facts.texts[:500]) >= _NEARLY and len(facts.widths) <= 3
    if like and facts.distinct >= _MANY and facts.share_distinct >= 0.05 and "place" not in reading:
        why = f"{LETTERS_AND_DIGITS}, as numbers of people do: {_different(facts)}"
        return Clue(Role.PERSON, UNSURE, why)
    return None


def _numbered(facts: Facts, reading: Reading, why: str, confidence: str) -> Clue | None:
    """An identifier where values hardly repeat; else a person, or what the name says they are numbers of."""
    if facts.share_distinct >= 0.9:
        return Clue(Role.IDENTIFIER, confidence, f"{why}, {_different(facts)}")
    staff = of_staff(facts, reading)
    if staff is not None:
        return Clue(Role.IDENTIFIER, confidence, f"{why}, and '{reading.first('staff')}' says of whom")
    site = reading.first("site")
    if site:
        return Clue(Role.QUASI_IDENTIFIER, LIKELY, f"{why}, and '{site}' says of what: a place of care")
    few = facts.distinct <= _MANY or facts.share_distinct < 0.001
    if few and reading.first("insurance", "thing") and not reading.first("person", "personnumber"):
        word = reading.first("insurance", "thing")
        return Clue(Role.QUASI_IDENTIFIER, UNSURE, f"{why}, and '{word}' in the name, {_different(facts)}")
    role = Role.PERSON if facts.distinct >= _FEW or facts.rows < 200 else Role.IDENTIFIER
    return Clue(role, confidence, f"{why}, and they repeat: {_different(facts)}")


def _different(facts: Facts) -> str:
    return f"{facts.distinct:,} different values {facts.of_rows}"


def _share(form: re.Pattern[str], texts: list[str]) -> float:
    return sum(form.fullmatch(t) is not None for t in texts) / len(texts) if texts else 0.0
