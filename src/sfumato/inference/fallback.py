"""Columns that neither their names nor their values explain: the safer role, always said to be unsure.

Of 1,970 labelled columns, read without their names, nine of ten that hold yes and no, the usual codes of
surveys, or measurements are about health. Columns about one thing stand together, so the others follow those
on both sides of them; where these differ, few words or small codes are taken for what others know.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from sfumato.inference.clues import UNSURE, Clue
from sfumato.inference.facts import Facts
from sfumato.inference.vocabulary import word_set
from sfumato.schema import Kind, Role
from sfumato.sources import is_text

NOT_EXPLAINED = "neither name nor values say what it is"
_YES_NO = word_set("0 1 y n u j o s yes no ja nein nee oui non si nao sim unknown true false nej vet ikke")
_ANSWERS = word_set("1 2 3 7 8 9 -1 -2 -7 -8 -9")
_NO_ANSWER = word_set("7 8 9 -1 -2 -7 -8 -9")  # don't know, refused, not asked
_MEASURED = 20  # different numbers that are not whole
_CODES = 12  # different whole numbers up to which they are codes rather than numbers
_TELLING = (Role.QUASI_IDENTIFIER, Role.SENSITIVE)
_ABOUT_PEOPLE = 3  # explained columns that make a table one about people
_MOST = 20  # more columns that nobody explained cannot all be made more general


def safer(facts: Mapping[str, Facts], clues: Mapping[str, Clue]) -> dict[str, Clue]:
    """The safer role of each column that nothing explains, as far as its values or its place lean to one."""
    order = [(name, clue.role) for name, clue in clues.items() if clue.role in _TELLING]
    place = {name: i for i, name in enumerate(clues)}
    told = [place[name] for name, _ in order]
    if len(told) < _ABOUT_PEOPLE:
        return {}
    found: dict[str, Clue] = {}
    for name, clue in clues.items():
        if not clue.why.startswith(NOT_EXPLAINED) or facts[name].distinct < 2:
            continue
        at = bisect_left(told, place[name])
        sides = {role for _, role in order[max(0, at - 1) : at + 1]}
        leaning = _leaning(facts[name], sides.pop() if len(sides) == 1 else None)
        if leaning is not None:
            found[name] = leaning
    known = [name for name, clue in found.items() if clue.role is Role.QUASI_IDENTIFIER]
    return found if len(known) <= _MOST else {n: c for n, c in found.items() if n not in known}


def _leaning(facts: Facts, beside: Role | None) -> Clue | None:
    """beside: the role of the next columns that are explained, if those on both sides have the same."""
    texts = {t.lower() for t in facts.texts[: _CODES + 1]}
    if facts.distinct <= 4 and (texts <= _YES_NO or facts.type == "boolean"):
        return _unsure(Role.SENSITIVE, "yes or no, mostly about health")
    if facts.distinct <= 8 and texts <= _ANSWERS and texts & _NO_ANSWER:
        return _unsure(Role.SENSITIVE, "answers to a question")
    if facts.is_number and not facts.is_whole_number and facts.distinct >= _MEASURED:
        return _unsure(Role.SENSITIVE, "it may be a measurement")
    if beside is Role.SENSITIVE:
        return _unsure(Role.SENSITIVE, "it stands among columns about health")
    words = facts.kind in (Kind.NOMINAL, Kind.FLAG) and is_text(facts.levels.type)
    if words or beside is Role.QUASI_IDENTIFIER or (facts.is_whole_number and facts.distinct <= _CODES):
        return _unsure(Role.QUASI_IDENTIFIER, "others may know it")
    return None


def _unsure(role: Role, why: str) -> Clue:
    return Clue(role, UNSURE, f"{NOT_EXPLAINED}: {why}: look twice")
