"""What a column can do to a person: the families of clues, in their order, and what follows from each other.

1. how a survey was made (`design`); 2. who people and records are (`identifiers`); 3. what is known and what
is wanted (`themes`); 4. what columns say of each other (`structure`). The first family that speaks decides,
each by values before names; where none does, its values may lean to a safer role (`fallback`), else the
column is 'other', and said to be unsure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from sfumato.inference import design, fallback, identifiers, structure, themes
from sfumato.inference.clues import LIKELY, SURE, UNSURE, Clue
from sfumato.inference.facts import Facts
from sfumato.inference.known_values import pair_or_time, postcodes
from sfumato.inference.names import Reading, read
from sfumato.inference.surveys import Dictionary, dictionaries, meaning
from sfumato.inference.vocabulary import GENERIC, NEUTRAL, WORDS, word_set
from sfumato.schema import Kind, Role
from sfumato.sources import is_text

_SEVERAL = 8  # columns whose names begin alike
_NEARLY_ALL = 0.85  # of the columns
_LONG_NUMBER = 4  # digits: the number of a question, not of one of several items
_QUESTION = re.compile(r"[A-Za-z]{1,3}_?\d{2,}\w*")  # ER32000, q101a
_SHORTEST_DAY = 5  # signs: 1/1/9
_DAYS = 3  # different values of a day that is not read as one
_EIGHT = 8  # signs
_CODES = 12  # different values of no weight
_LONG = 200  # rows in which codes of a system repeat
_AMOUNT = re.compile(r"[<>~±+-]? ?[$€£]? ?[\d.,' ]+ ?(%|[A-Za-zµ€]{1,3}(/[A-Za-z]{1,2})?)?")
_WORD = re.compile(r"[^\W\d_]{3}")
_LINKS = word_set("in of at by to for per is or de la le du des der die das von di del el")
_COUNTS = word_set("number num count cnt total n anzahl nombre numero aantal")
_OF_COLUMNS = word_set("column columns variable variables field fields spalte colonne columna colonna coluna")
NOTHING_FILLED = "no filled cell to judge by"


def reading_of(name: str, found: Sequence[Dictionary], label: str = "") -> Reading:
    """What a name is about: by the dictionary of a survey if there is one, else by its words or its label."""
    survey, about = meaning(name, found)
    if about:
        return Reading((name.lower(),), dict.fromkeys(about, f"{name} of {survey}"))
    own = read(name)
    # A label is a sentence: it is asked only where the name says nothing, or is the number of a question.
    if not label or len(label) > 80 or (own.about and not _QUESTION.fullmatch(name)):
        return own
    said = read(label)
    return said if said.about else own


def guess_roles(facts: Sequence[Facts], sample: pa.Table | None = None) -> dict[str, Clue]:
    """The role of each column of a table. sample: rows in which columns are held against each other."""
    readings = readings_of(facts)
    found = {f.name: role_of(f, readings[f.name]) for f in facts}
    if sample is None:
        return found
    by_name = {f.name: f for f in facts}
    found = structure.related(sample, by_name, readings, found)
    steady = structure.steady(sample, found)
    return found | fallback.safer(by_name, readings, found, steady)


def readings_of(facts: Iterable[Facts], names: Sequence[str] | None = None) -> Mapping[str, Reading]:
    """What the names are about, together: a survey's dictionary shows in several of them."""
    facts = list(facts)
    several = names if names is not None else [f.name for f in facts]
    known, start = _fitting(dictionaries(several), facts), _shared_start(several)
    return {f.name: _after(start, f.name, reading_of(f.name, known, f.label), f.label) for f in facts}


def _fitting(found: Sequence[Dictionary], facts: Sequence[Facts]) -> list[Dictionary]:
    """The dictionaries that the values do not contradict: V005 is no weight if it is 1 to 6."""
    kept = []
    for survey in found:
        weights = [f for f in facts if f.filled and "weightname" in meaning(f.name, [survey])[1]]
        wrong = sum(f.filled >= _LONG and (f.distinct <= _CODES or not f.is_number) for f in weights)
        if 2 * wrong <= len(weights):
            kept.append(survey)
    return kept


def _shared_start(names: Sequence[str]) -> str:
    """What (nearly) all names begin with: it says nothing of a single column (`w1_a_gen`, `ER30001`)."""
    small = [n.lower() for n in names]
    if len(small) < _SEVERAL:
        return ""
    longest = ""
    for size in range(2, 9):
        seen = Counter(n[:size] for n in small if len(n) > size).most_common(1)
        if not seen or seen[0][1] < _NEARLY_ALL * len(small):
            break
        longest = seen[0][0]
    after = {n[len(longest) : len(longest) + 1] for n in small if n.startswith(longest)}
    if any(sign.isdigit() for sign in after):
        longest = longest.rstrip("0123456789")  # nor is a number
    if longest[-1:].isalpha() and any(sign.isalpha() for sign in after):
        return ""  # a word is not cut: `page` and `patient` share none
    return longest if len(longest) > 1 else ""


def _after(start: str, name: str, own: Reading, label: str) -> Reading:
    """What a name says after what all names begin with; numbers of items alone are no name."""
    rest = name[len(start) :].strip("_.- ") if start and name.lower().startswith(start) else ""
    if (
        not rest
        or (rest.isdigit() and len(rest) < _LONG_NUMBER)
        or any(" of " in w for w in own.about.values())
    ):
        return own
    said = read(rest)
    if set(said.about) <= {"number"} and said.about:
        return own  # the id of what all names begin with
    return said if said.about or not label else own


def role_of(facts: Facts, reading: Reading) -> Clue:
    """The role of one column by itself."""
    if facts.kind is Kind.TEXT:
        return Clue(Role.OTHER, LIKELY, "free text: it may name people")
    if not facts.filled:
        named = themes.theme(facts, reading)
        if named is not None:
            return Clue(named.role, UNSURE, f"{named.why}, but there is {NOTHING_FILLED}")
        return Clue(Role.OTHER, UNSURE, NOTHING_FILLED)
    clue = design.survey_weight(facts, reading)
    if clue is not None:
        return clue
    sampled = design.sampling(facts, reading)
    wanted = sampled or themes.theme(facts, reading)
    named = identifiers.identifier(facts, reading)
    if named is not None and not (
        _outweighed(facts, reading, named, wanted) or (sampled and _by_form(named))
    ):
        return named
    return wanted or _unread_day(facts, reading) or _remark(facts, reading) or _other(reading, facts)


def _remark(facts: Facts, reading: Reading) -> Clue | None:
    """Words under the name of a remark, if not enough for free text: a few of them may name people too."""
    word = reading.first("text")
    if not word or not is_text(facts.levels.type) or not any(len(t.split()) > 2 for t in facts.texts[:200]):
        return None
    return Clue(Role.IDENTIFIER, UNSURE, f"'{word}' in the name: a remark may name people")


def _unread_day(facts: Facts, reading: Reading) -> Clue | None:
    """Text under the name of a day, in a form that is not known: a day may be known, whatever its form."""
    if not reading.first("date") or not is_text(facts.levels.type) or facts.distinct < _DAYS:
        return None
    digits = sum(len(t) >= _SHORTEST_DAY and any(c.isdigit() for c in t) for t in facts.texts[:200])
    if digits < 0.8 * len(facts.texts[:200]):
        return None
    return Clue(
        Role.QUASI_IDENTIFIER, UNSURE, f"'{reading.first('date')}' in the name, in a form that is not known"
    )


def _outweighed(facts: Facts, reading: Reading, named: Clue, wanted: Clue | None) -> bool:
    """Whether values that look like numbers of people are better known as something else."""
    if wanted is None:
        return False
    if named.why.startswith(identifiers.LETTERS_AND_DIGITS) and "the values" not in wanted.why:
        # No measurement and no complaint is a number of five digits with letters at fixed places.
        coded = reading.first("diagnosis", "procedure", "drug", "lab", "site", "insurance", "work", "race")
        measured = wanted.role is Role.SENSITIVE and not coded
        return not (measured and all(sum(c.isdigit() for c in t) >= 5 for t in facts.texts[:200]))
    if named.confidence == UNSURE:
        return not _is_shared_by_few(facts, reading, wanted)
    if named.why.startswith((identifiers.IN_A_ROW, identifiers.NEVER_TWICE)) and (
        (facts.filled >= _LONG and not reading.first("site", "place"))
        or ("number" in reading and wanted.confidence == UNSURE)
    ):
        return False  # 2001, 2002, 2003: so nothing is distributed but the numbers of rows
    if named.why.startswith("numbers of"):
        return "the values look like" in wanted.why  # a code system that is known by its own check digits
    # Every row may have its own value because the table is short or the codes are many.
    by_values = named.why.startswith(("every", "nearly every", "whole numbers"))
    by_name = "the values" not in wanted.why
    if wanted.role is Role.QUASI_IDENTIFIER and by_values and by_name and _is_own_line(facts, reading):
        return False  # nor is a place, or what somebody does
    by_name = by_name and wanted.role is Role.SENSITIVE
    if by_values and by_name and (_is_own_text(facts) or _is_own_number(facts, named)):
        return False  # no diagnosis is another one in every row: whatever its name says, it finds the row
    return by_values and (wanted.role is not Role.OTHER) and not wanted.why.startswith("numbers with cents")


def _is_shared_by_few(facts: Facts, reading: Reading, wanted: Clue) -> bool:
    """Whole numbers of eight digits or more and one length, each in a few rows of a long table.

    The number of a tube is one; nothing that is measured or done is, whatever the name says.
    """
    if "the values" in wanted.why or reading.first(
        "drug", "diagnosis", "lab", "money", "income", "place", "date"
    ):
        return False
    if not facts.is_whole_number or facts.filled < _LONG or facts.share_distinct < 0.2:
        return False
    return len(facts.widths) == 1 and min(facts.widths) >= 8 and not facts.is_day


def _by_form(named: Clue) -> bool:
    """Whether nothing but how its numbers look makes a column one of people."""
    return named.confidence != SURE and named.why.startswith(("numbers of", "whole numbers", "letters and"))


def _is_own_text(facts: Facts) -> bool:
    """Words or codes of which a long table has (nearly) another one in every row; no amounts or results."""
    if facts.filled < _LONG or facts.share_distinct < 0.9 or facts.is_number:
        return False
    if pair_or_time(facts.texts):
        return False
    if len(facts.widths) == 1 and min(facts.widths) >= _EIGHT:
        return True  # as no amounts are
    return sum(_AMOUNT.fullmatch(t) is None for t in facts.texts[:200]) > 0.5 * len(facts.texts[:200])


def _is_own_line(facts: Facts, reading: Reading) -> bool:
    """Letters and digits, another line in nearly every row of a long table, as addresses and plates are."""
    if facts.is_day or not is_text(facts.levels.type) or not _is_own_text(facts):
        return False
    some = facts.texts[:200]
    mixed = sum(any(c.isdigit() for c in t) and (any(c.isalpha() for c in t) or len(t) > 8) for t in some)
    if mixed <= 0.8 * len(some) or postcodes(facts.texts) or max(facts.widths) <= 6:
        return False
    # Postcodes and codes of small areas have no words, addresses do.
    return not reading.first("place") or sum(bool(_WORD.search(t)) for t in some) > 0.8 * len(some)


def _is_own_number(facts: Facts, named: Clue) -> bool:
    """Long numbers of which a long table has another one in every row."""
    long = facts.filled >= _LONG and min(facts.widths, default=0) >= 6
    return long and named.confidence == LIKELY and named.why.startswith("whole numbers")


def _may_be_somebody(facts: Facts, word: str) -> bool:
    """Long numbers of one length and not a few, under a word of two letters: what it says is little."""
    if len(word) > 2 or not facts.is_whole_number or len(facts.widths) > 1 or facts.is_day:
        return False
    return min(facts.widths) >= 5 and facts.distinct >= 20


def _other(reading: Reading, facts: Facts) -> Clue:
    word = reading.first("thing", "count", "stratum", "psu", "date", "body", "weight", "text")
    word = word or next((w for w in reading.words if w in NEUTRAL), "")
    way = reading.first("event", "stay", "record")  # the type of an admission, the status of a claim
    read = [w for w in reading.words if len(w) > 1 and not w.isdigit() and w not in _LINKS]
    word = (
        word if len(word) > 1 or word == "".join(reading.words) else ""
    )  # a letter among others says nothing
    known = " of " in word or all(w in WORDS or w in NEUTRAL for w in read)  # of a survey's dictionary
    bare = word in _COUNTS and reading.only("number", "count", "thing")  # how many of what?
    if word and reading.only("thing") and _OF_COLUMNS.intersection(reading.words):
        word = ""  # column_7 is a name of nothing
    if word and (word not in GENERIC or way) and known and not bare and not _may_be_somebody(facts, word):
        return Clue(Role.OTHER, LIKELY, f"'{word}' in the name, and nothing that others know or want")
    return Clue(Role.OTHER, UNSURE, f"{fallback.NOT_EXPLAINED}: look twice")
