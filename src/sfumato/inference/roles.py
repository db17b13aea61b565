"""What a column can do to a person: the families of clues, in their order, and what follows from each other.

1. how a survey was made (`design`); 2. who people and records are (`identifiers`); 3. what is known and what
is wanted (`themes`); 4. what columns say of each other (`structure`). The first family that speaks decides,
each by values before names; where none does, the column is 'other', and said to be unsure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from sfumato.inference import design, identifiers, structure, themes
from sfumato.inference.clues import LIKELY, UNSURE, Clue
from sfumato.inference.facts import Facts
from sfumato.inference.names import Reading, read
from sfumato.inference.surveys import Dictionary, dictionaries, meaning
from sfumato.schema import Kind, Role

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
    return structure.related(sample, {f.name: f for f in facts}, readings, found)


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
    if named is not None and not _outweighed(named, wanted):
        return named
    return wanted or _other(reading)


def _outweighed(named: Clue, wanted: Clue | None) -> bool:
    """Whether values that look like numbers of people are better known as something else."""
    if wanted is None:
        return False
    if named.confidence == UNSURE:
        return True
    if named.why.startswith("numbers of"):
        return "the values look like" in wanted.why  # a code system that is known by its own check digits
    # Every row may have its own value because the table is short or the codes are many.
    by_values = named.why.startswith(("every", "nearly every", "whole numbers", "the values look like names"))
    return by_values and (wanted.role is not Role.OTHER) and not wanted.why.startswith("numbers with cents")


def _other(reading: Reading) -> Clue:
    word = reading.first("thing", "count", "stratum", "psu", "date", "body", "text")
    if word:
        return Clue(Role.OTHER, LIKELY, f"'{word}' in the name, and nothing that others know or want")
    return Clue(Role.OTHER, UNSURE, "neither name nor values say what it is: look twice")
