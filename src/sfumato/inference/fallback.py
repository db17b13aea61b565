"""Columns that neither their names nor their values explain: the safer role, always said to be unsure.

Counted on 2,200 labelled columns, three of ten read without their names. Columns about one thing stand
together: between two that others know nine of ten are known too, between two about health nine of ten are
about health, whatever their values are. Where the two sides differ, values decide (below: how often the role
would be right); where these are open, the nearer side does. Several columns of one stem with the same few
values are the items of a questionnaire.

    values                                       sensitive   quasi-identifier
    0 and 1, yes and no, two words                     .82                .33
    codes from 0, or with 'no answer'                  .90                .20
    numbers that are not whole, or more than 30        .76                .25
    as many as there are ages, if there are none yet   .24                .72
    codes from 1 to 6 and more, or of three digits     .27                .80
    a few words, codes 1 to 5, 13 to 30 numbers        .55                .56
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from sfumato.inference.clues import UNSURE, Clue
from sfumato.inference.facts import Facts
from sfumato.inference.known_values import age_bands, answers
from sfumato.inference.names import Reading, words
from sfumato.inference.vocabulary import word_set
from sfumato.schema import Kind, Role
from sfumato.sources import is_text

NOT_EXPLAINED = "neither name nor values say what it is"
_YES_NO = word_set("y n u j o s t f k e h i yes no true false")  # in one language or another
_NO_ANSWER = word_set(
    "7 8 9 77 85 88 89 91 93 94 97 98 99 -1 -2 -3 -7 -8 -9 -77 -88 -99"
)  # don't know, refused, not asked
_ITEMS = 3  # columns of one stem and with the same values: a questionnaire
_MEASURED = 30  # different whole numbers from which on they measure or count
_NEAR = 2  # columns: what stands further away says little
_CODES = 12  # different whole numbers up to which they are codes rather than numbers
_TELLING = (Role.QUASI_IDENTIFIER, Role.SENSITIVE)
_MOST = 20  # more columns that nobody explained cannot all be made more general
_NUMBERED = re.compile(r"([A-Za-z]{1,3})_?\d")  # the letters of a section, and a number
_STEM = re.compile(r"[\d_.\- ]*[a-zA-Z]?[\d_.\- ]*$")  # what numbers an item: q4_1, h02a, v.7


def safer(
    facts: Mapping[str, Facts], readings: Mapping[str, Reading], clues: Mapping[str, Clue]
) -> dict[str, Clue]:
    """The safer role of each column that nothing explains; nothing where no column is about people."""
    open_ = [n for n, c in clues.items() if c.why.startswith(NOT_EXPLAINED) and _tells(facts[n])]
    if all(clue.role is Role.OTHER for clue in clues.values()) and not _asks_people(facts, open_):
        return {}
    about_who = _about_who(facts, readings, clues, open_)
    items = (_items(facts, open_) | _sections(facts, open_)) - about_who
    aged = _has("age", readings, clues) or _has("birth", readings, clues)
    sexed = _has("sex", readings, clues)
    beside, kin = _neighbours(clues), _kin(clues)
    found: dict[str, Clue] = {}
    for name in open_:
        if name in items or _is_answer(facts[name]):
            found[name] = _unsure(Role.SENSITIVE, "answers to a question")
            continue
        agreed, nearest = beside[name]
        bare = not readings[name].about  # a name that says something else is not searched for these
        role, why = _leaning(facts[name], aged or not bare, sexed or not bare)
        aged, sexed = aged or why == _AGES, sexed or why == _SEXES
        related = next((kin[key] for key in _ends(name) if key in kin), None)
        if related is not None and why not in (_AGES, _SEXES):
            role, why = related, "columns whose names begin or end like its name are known"
        elif name in about_who:
            role, why = Role.QUASI_IDENTIFIER, _SAME_SECTION if why not in (_AGES, _SEXES) else why
        elif agreed is not None and why not in (_AGES, _SEXES):
            role, why = agreed, _BESIDE[agreed]
        role = role or nearest
        found[name] = _unsure(role, why or _BESIDE[role])
    known = [name for name, clue in found.items() if clue.role is Role.QUASI_IDENTIFIER]
    many = known if len(known) > _MOST else []
    return found | {name: _unsure(Role.SENSITIVE, "one of many such columns") for name in many}


def _tells(facts: Facts) -> bool:
    """Whether rows differ: in their values, or in that some have one and others none."""
    return facts.distinct >= 2 or 0 < facts.filled < facts.rows


_AGES = "numbers as ages are, and no other column says them"
_SEXES = "two values, and no other column says the sex"
_SAME_SECTION = "codes in the section that asks for the age or the year of birth"
_BESIDE = {
    Role.SENSITIVE: "it stands beside columns about health",
    Role.QUASI_IDENTIFIER: "it stands beside columns that others know",
}


def _leaning(facts: Facts, aged: bool, sexed: bool) -> tuple[Role | None, str]:
    """What values of this form are mostly about; nothing where that is open.

    aged, sexed: the table says ages and sexes already; else they are looked for.
    """
    texts = {t.lower().removesuffix(".0") for t in facts.texts[: _CODES + 1]}
    if facts.is_number and not facts.is_whole_number:
        return Role.SENSITIVE, "it may be a measurement"
    if facts.is_whole_number and not (facts.kind is Kind.NOMINAL and min(facts.widths) >= 3):
        numbers = facts.numbers
        low, high = float(numbers.min()), float(numbers.max())
        if facts.distinct <= _CODES and _has_no_answer(texts):
            return Role.SENSITIVE, "answers to a question"
        if facts.distinct <= _CODES:
            if facts.distinct == 2 and low == 1 and high == 2 and not sexed:
                return Role.QUASI_IDENTIFIER, _SEXES
            if low <= 0:
                return Role.SENSITIVE, "yes or no, or a score: mostly about health"
            if high >= 6:
                return Role.QUASI_IDENTIFIER, "codes of something others may know"
            return None, ""
        if _like_ages(facts) and not aged:
            return Role.QUASI_IDENTIFIER, _AGES
        return (Role.SENSITIVE, "it may be a measurement") if facts.distinct > _MEASURED else (None, "")
    if facts.is_whole_number:
        return Role.QUASI_IDENTIFIER, "codes of something others may know"
    if age_bands(facts.texts):
        return (Role.SENSITIVE, "ranges of numbers") if aged else (Role.QUASI_IDENTIFIER, _AGES)
    said = facts.type == "boolean" or texts <= _YES_NO or answers(facts.texts, facts.text_counts)
    if facts.distinct == 1:
        return Role.SENSITIVE, "a mark in some rows: mostly about health"
    if facts.distinct == 2 and not sexed and not said and min(facts.counts) > 0.3 * facts.filled:
        return Role.QUASI_IDENTIFIER, _SEXES
    if said or facts.distinct == 2:
        return Role.SENSITIVE, "yes or no, or how much: mostly about health"
    return None, ""


def _is_answer(facts: Facts) -> bool:
    """How much, how often, how well, in words; not yes and no alone."""
    return is_text(facts.levels.type) and facts.distinct >= 3 and answers(facts.texts, facts.text_counts)


def _has_no_answer(texts: set[str]) -> bool:
    """Whether some codes stand for 'no answer': apart from the others, as the 9 of 1, 2, 3, 9."""
    codes, none = {int(t) for t in texts - _NO_ANSWER}, {int(t) for t in texts & _NO_ANSWER}
    if not codes or not none or len(codes) > 6:
        return False
    return min(none) < 0 <= min(codes) or min(none) > max(codes) + 1


def _has(concept: str, readings: Mapping[str, Reading], clues: Mapping[str, Clue]) -> bool:
    """Whether a column is known to be about this, by its name or its values."""
    return any(
        clue.role is Role.QUASI_IDENTIFIER and (concept in readings[name] or f"are {concept}es" in clue.why)
        for name, clue in clues.items()
    )


def _neighbours(clues: Mapping[str, Clue]) -> dict[str, tuple[Role | None, Role]]:
    """Of each column the role of the explained ones on both sides, if it is one; and that of the nearer."""
    roles = [clue.role if clue.role in _TELLING else None for clue in clues.values()]
    before, after = _last_seen(roles), _last_seen(roles[::-1])[::-1]
    found: dict[str, tuple[Role | None, Role]] = {}
    for name, (far, role), (further, other) in zip(clues, before, after, strict=True):
        nearest = role if far < further else other if further < far or role is other else None
        near = _NEAR if role is Role.SENSITIVE else 1  # what others know has well-known names mostly
        agreed = role if role is other and far <= near and further <= near else None
        found[name] = agreed, nearest or Role.QUASI_IDENTIFIER
    return found


def _ends(name: str) -> list[tuple[str, int]]:
    """The first and the last word of a name of several: `co_` of co_asthma, `_dx` of asthma_dx."""
    parts = [w for w in words(name) if not w.isdigit()]
    return [(parts[0], 0), (parts[-1], -1)] if len(parts) > 1 else []


def _kin(clues: Mapping[str, Clue]) -> dict[tuple[str, int], Role]:
    """Of first and last words that several explained columns share the role of nine of ten of them."""
    seen: dict[tuple[str, int], Counter[Role]] = {}
    for name, clue in clues.items():
        if clue.role in _TELLING:
            for key in _ends(name):
                seen.setdefault(key, Counter())[clue.role] += 1
    best = {key: count.most_common(1)[0] for key, count in seen.items()}
    shared = {key for key, n in Counter(k for n in clues for k in _ends(n)).items() if n > 0.8 * len(clues)}
    return {
        key: role
        for key, (role, n) in best.items()
        if n >= _ITEMS and n >= 0.9 * seen[key].total() and key not in shared
    }


def _last_seen(roles: list[Role | None]) -> list[tuple[int, Role | None]]:
    """Of each place how far back the last role is, and which."""
    out: list[tuple[int, Role | None]] = []
    far, last = len(roles), None
    for role in roles:
        far, last = (0, role) if role is not None else (far + 1, last)
        out.append((far, last))
    return out


def _items(facts: Mapping[str, Facts], names: list[str]) -> set[str]:
    """Columns of one stem with the same few values."""
    keys = {
        n: (_STEM.sub("", n), frozenset(facts[n].texts))
        for n in names
        if facts[n].distinct <= _CODES and (facts[n].is_number or is_text(facts[n].levels.type))
    }
    count = Counter(keys.values())
    return {name for name, key in keys.items() if count[key] >= _ITEMS}


def _sections(facts: Mapping[str, Facts], names: list[str]) -> set[str]:
    """Columns of a section of a questionnaire (da001, da007, da041) most of which hold answers."""
    stems: dict[str, list[str]] = {}
    for name in names:
        hit = _NUMBERED.match(name)
        if hit:
            stems.setdefault(hit.group(1).lower(), []).append(name)
    found: set[str] = set()
    several = [stem for stem in stems.values() if len(stem) >= _ITEMS]
    for stem in several if len(several) > 1 else []:  # V1 to V80 are all columns, not a section
        leaning = Counter(_leaning(facts[n], True, True)[0] for n in stem)
        if leaning[Role.SENSITIVE] > max(len(stem) / 3, leaning[Role.QUASI_IDENTIFIER]):
            found.update(stem)
    return found


def _asks_people(facts: Mapping[str, Facts], names: list[str]) -> bool:
    """Whether a table of codes that nothing explains is a survey of people: ages, and several questions."""
    codes = sum(facts[n].is_whole_number and facts[n].distinct <= _CODES for n in names)
    return codes >= 2 * _ITEMS and any(_like_ages(facts[n]) for n in names)


def _about_who(
    facts: Mapping[str, Facts], readings: Mapping[str, Reading], clues: Mapping[str, Clue], names: list[str]
) -> set[str]:
    """Codes of the section of a questionnaire that asks for age or birth: it asks who somebody is.

    Where names are numbers of several sections (C006 and C008 beside Q092), or of one and next to the age.
    """
    stems = {n: hit.group(1).lower() for n in clues if (hit := _NUMBERED.match(n))}
    several = [stem for stem, n in Counter(stems.values()).items() if n >= _ITEMS]
    found: set[str] = set()
    order = list(clues)
    for i, name in enumerate(order):
        known = clues[name].role is Role.QUASI_IDENTIFIER and bool(readings[name].first("age", "birth"))
        born = "as of births" in clues[name].why or "years of births" in clues[name].why
        if name not in stems or not (known or born or (name in names and _like_ages(facts[name]))):
            continue
        reach = len(order) if len(several) > 1 else _NEAR
        beside = order[max(0, i - reach) : i + reach + 1]
        found.update(n for n in beside if stems.get(n) == stems[name] and n in names and _is_code(facts[n]))
    return found


def _like_ages(facts: Facts) -> bool:
    """Whole numbers from youth to old age, most of them."""
    if not facts.is_whole_number or facts.distinct < 40:
        return False
    low, high = float(facts.numbers.min()), float(facts.numbers.max())
    return low >= 0 and 60 <= high <= 110 and high - low >= 45


def _is_code(facts: Facts) -> bool:
    """A few whole numbers from 1 on: which one, not how much."""
    return facts.is_whole_number and facts.distinct <= 2 * _CODES and float(facts.numbers.min()) >= 1


def _unsure(role: Role, why: str) -> Clue:
    return Clue(role, UNSURE, f"{NOT_EXPLAINED}: {why}: look twice")
