"""What a column can do to a person: the families of clues, in their order, and what follows from each other.

1. how a survey was made (`design`); 2. who people and records are (`identifiers`); 3. what is known and what
is wanted (`themes`); 4. what columns say of each other (`structure`). The first family that speaks decides,
each by values before names; where none does, its values may lean to a safer role (`fallback`), else the
column is 'other', and said to be unsure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from sfumato.inference import design, fallback, identifiers, structure, themes
from sfumato.inference.clues import LIKELY, UNSURE, Clue
from sfumato.inference.facts import Facts
from sfumato.inference.names import Reading, read
from sfumato.inference.surveys import Dictionary, dictionaries, meaning
from sfumato.inference.vocabulary import GENERIC, NEUTRAL, WORDS
from sfumato.schema import Kind, Role

_LONG = 200  # rows in which codes of a system repeat
_AMOUNT = re.compile(r"[<>~±+-]? ?[$€£]? ?[\d.,' ]+ ?(%|[A-Za-zµ€]{1,3}(/[A-Za-z]{1,2})?)?")
NOTHING_FILLED = "no filled cell to judge by"


def reading_of(name: str, found: Sequence[Dictionary], label: str = "") -> Reading:
    """What a name is about: by the dictionary of a survey if there is one, else by its words or its label."""
    survey, about = meaning(name, found)
    if about:
        return Reading((name.lower(),), dict.fromkeys(about, f"{name} of {survey}"))
    own = read(name)
    # A label is a sentence: it is asked only where the name says nothing.
    return read(label) if label and not own.about and len(label) <= 80 else own


def guess_roles(facts: Sequence[Facts], sample: pa.Table | None = None) -> dict[str, Clue]:
    """The role of each column of a table. sample: rows in which columns are held against each other."""
    readings = readings_of(facts)
    found = {f.name: role_of(f, readings[f.name]) for f in facts}
    if sample is None:
        return found
    by_name = {f.name: f for f in facts}
    found = structure.related(sample, by_name, readings, found)
    return found | fallback.safer(by_name, readings, found)


def readings_of(facts: Iterable[Facts], names: Sequence[str] | None = None) -> Mapping[str, Reading]:
    """What the names are about, together: a survey's dictionary shows in several of them."""
    facts = list(facts)
    known = dictionaries(names if names is not None else [f.name for f in facts])
    return {f.name: reading_of(f.name, known, f.label) for f in facts}


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
    if named is not None and not _outweighed(facts, named, wanted):
        return named
    return wanted or _other(reading)


def _outweighed(facts: Facts, named: Clue, wanted: Clue | None) -> bool:
    """Whether values that look like numbers of people are better known as something else."""
    if wanted is None:
        return False
    if named.confidence == UNSURE:
        return True
    if named.why.startswith("numbers of"):
        return "the values look like" in wanted.why  # a code system that is known by its own check digits
    # Every row may have its own value because the table is short or the codes are many.
    by_values = named.why.startswith(("every", "nearly every", "whole numbers"))
    by_name = wanted.role is Role.SENSITIVE and "the values" not in wanted.why
    if by_values and by_name and (_is_own_text(facts) or _is_own_number(facts, named)):
        return False  # no diagnosis is another one in every row: whatever its name says, it finds the row
    return by_values and (wanted.role is not Role.OTHER) and not wanted.why.startswith("numbers with cents")


def _is_own_text(facts: Facts) -> bool:
    """Words or codes of which a long table has (nearly) another one in every row; no amounts or results."""
    if facts.filled < _LONG or facts.share_distinct < 0.9 or facts.is_number:
        return False
    return sum(_AMOUNT.fullmatch(t) is None for t in facts.texts[:200]) > 0.5 * len(facts.texts[:200])


def _is_own_number(facts: Facts, named: Clue) -> bool:
    """Long numbers of which a long table has another one in every row."""
    long = facts.filled >= _LONG and min(facts.widths, default=0) >= 6
    return long and named.confidence == LIKELY and named.why.startswith("whole numbers")


def _other(reading: Reading) -> Clue:
    word = reading.first("thing", "count", "stratum", "psu", "date", "body", "weight", "text")
    word = word or next((w for w in reading.words if w in NEUTRAL), "")
    way = reading.first("event", "stay", "record")  # the type of an admission, the status of a claim
    read = [w for w in reading.words if len(w) > 2 and not w.isdigit()]
    if word and (word not in GENERIC or way) and all(w in WORDS or w in NEUTRAL for w in read):
        return Clue(Role.OTHER, LIKELY, f"'{word}' in the name, and nothing that others know or want")
    return Clue(Role.OTHER, UNSURE, f"{fallback.NOT_EXPLAINED}: look twice")
